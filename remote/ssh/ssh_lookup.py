"""What OpenSSH's client configuration says about one host: of each setting the first line that applies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from remote.errors import ConnectError, Outcome
from remote.ssh.patterns import matches_list
from remote.ssh.ssh_config import Entry, local_user
from remote.ssh.ssh_tokens import Tokens, expand, expand_for_shell

MATCH_EXEC = ("d", "h", "i", "k", "L", "l", "n", "p", "r", "u", "C")
"""Tokens of a Match exec. Source: ssh_config(5), TOKENS."""

_SEVERAL = frozenset({"identityfile", "certificatefile"})
"""Settings of which every line counts, not only the first."""

_WAYS = frozenset({"proxyjump", "proxycommand"})

Consult = Callable[[Entry, str], bool | None]
"""Asked of a Match exec: whether its command, given with its tokens filled in, succeeds; None where it may not run."""


def never(_entry: Entry, _command: str) -> None:
    """Let no command run."""


@dataclass(slots=True)
class Lookup:
    """The settings of one host. What was given explicitly comes before any line: `host_name`, `port` and `user`."""

    name: str
    user: str | None = None
    given_host_name: str | None = None
    port: int | None = None
    consult: Consult = never
    found: dict[str, Entry] = field(default_factory=dict)
    several: dict[str, list[Entry]] = field(default_factory=dict)
    _final: bool = False
    _asks_for_final: bool = False
    _settled: str = ""  # the host name after the first pass; a final one does not change it

    def run(self, entries: Sequence[Entry]) -> None:
        """Take every setting of `entries` that applies; once more where a line asks for a final pass."""
        self._walk(entries, active=True)
        if self._asks_for_final:
            self._settled = self.host_name()
            self._final = True
            self._walk(entries, active=True)

    def _walk(self, entries: Sequence[Entry], *, active: bool) -> None:
        applies = active
        for entry in entries:
            if entry.keyword == "host":
                # In its final pass OpenSSH compares with the name it will connect to. Source: ssh.c, main.
                applies = active and matches_list(entry.arguments, self._settled if self._final else self.name)
            elif entry.keyword == "match":
                applies = active and self._matches(entry)
            elif entry.keyword == "include":
                for file in entry.files:
                    self._walk(file, active=applies)
            elif applies:
                self._take(entry)

    def _take(self, entry: Entry) -> None:
        if entry.keyword in _SEVERAL:
            known = self.several.setdefault(entry.keyword, [])
            if entry.arguments[0] not in [earlier.arguments[0] for earlier in known]:
                known.append(entry)
            return
        if entry.keyword not in _WAYS or not self._blocked(entry):
            self.found.setdefault(entry.keyword, entry)

    def _blocked(self, entry: Entry) -> bool:
        """Return whether an earlier line says how the host is reached. Source: ssh_config(5), ProxyJump; readconf.c."""
        jump, command = self.found.get("proxyjump"), self.found.get("proxycommand")
        if entry.keyword == "proxyjump":
            return command is not None
        return jump is not None and jump.arguments[0].lower() != "none"  # which blocks only other jumps

    def first(self, keyword: str) -> str | None:
        """Return the first argument of the setting, or None where no line sets it."""
        entry = self.found.get(keyword)
        return None if entry is None else entry.arguments[0]

    def host_name(self) -> str:
        """Return the name to connect to: HostName with %h filled in, or the host's own name."""
        if self.given_host_name is not None or self._settled:
            return self.given_host_name or self._settled
        entry = self.found.get("hostname")
        return self.name if entry is None else expand(entry, entry.arguments[0], {"h": self.name})

    def user_name(self) -> str:
        """Return who signs in on the host."""
        return self.user or self.first("user") or local_user()

    def tokens(self) -> Tokens:
        """Return what the tokens of ssh_config(5) stand for, as far as the settings are known."""
        return Tokens(
            name=self.name,
            host_name=self.host_name(),
            port=str(self.port or self.first("port") or 22),
            user=self.user_name(),
            alias=self.first("hostkeyalias") or "",
        )

    def _matches(self, entry: Entry) -> bool:
        """Return whether a Match line applies. What is harmless comes first: a command matters if all else holds."""
        words = list(entry.arguments)
        commands: list[tuple[str, bool]] = []
        unknown: list[str] = []
        while words:
            word = words.pop(0).lower()
            wanted, criterion = not word.startswith("!"), word.removeprefix("!")
            if criterion in {"all", "canonical", "final"}:
                holds: bool | None = self._holds_alone(criterion)
            elif not words:
                raise entry.error(f"Match {criterion} has no value.")
            elif criterion == "exec":
                commands.append((words.pop(0), wanted))
                continue
            else:
                holds = self._holds(criterion, words.pop(0).split(","))
            if holds is None:
                unknown.append(criterion)
            elif holds is not wanted:
                return False
        if unknown:
            raise _not_evaluated(entry, f"Match {unknown[0]} is not understood here.")
        return all(self._succeeds(entry, command) is wanted for command, wanted in commands)

    def _succeeds(self, entry: Entry, command: str) -> bool:
        result = self.consult(entry, expand_for_shell(entry, command, self.tokens().chosen(MATCH_EXEC)))
        if result is None:
            raise _not_evaluated(
                entry,
                f"Match exec would run a command on this computer, which was not allowed: {command[:200]}",
            )
        return result

    def _holds_alone(self, criterion: str) -> bool:
        if criterion == "final":
            self._asks_for_final = True
        return self._final or criterion == "all"  # OpenSSH takes its final pass for the canonical one as well

    def _holds(self, criterion: str, patterns: Sequence[str]) -> bool | None:
        """Return whether a criterion holds, or None where it is not known."""
        if criterion not in {"host", "originalhost", "user", "localuser"}:
            return None
        subject = {
            "host": self.host_name,
            "originalhost": lambda: self.name,
            "user": self.user_name,
            "localuser": local_user,
        }[criterion]()
        return matches_list(patterns, subject)


def _not_evaluated(entry: Entry, what: str) -> ConnectError:
    return ConnectError(
        Outcome.NOT_ALLOWED,
        f"{entry.path}, line {entry.number}: {what}",
        "Allow it, or give the host a Host block of its own before that line.",
    )
