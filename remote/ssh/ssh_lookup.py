"""Evaluation of OpenSSH's client configuration for one host: the first value of each setting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from remote.errors import ConnectError, ConnectOutcome
from remote.ssh.ssh_config import Entry, Tokens, expand, expand_for_shell, local_user, matches_list

MATCH_EXEC = ("d", "h", "i", "k", "L", "l", "n", "p", "r", "u", "C")
"""Tokens of a Match exec. Source: ssh_config(5), TOKENS."""

_SEVERAL = frozenset({"identityfile", "certificatefile"})
"""Settings that may be given several times."""

_PROXY_SETTINGS = frozenset({"proxyjump", "proxycommand"})

Consult = Callable[[Entry, str], bool | None]
"""Decides a Match exec: whether the expanded command succeeds; None if it is not allowed to run."""


def never(_entry: Entry, _command: str) -> None:
    """Allow no command."""


@dataclass(slots=True)
class Lookup:
    """The settings of one host. Explicit `given_host_name`, `port` and `user` override the configuration."""

    name: str
    user: str | None = None
    given_host_name: str | None = None
    port: int | None = None
    consult: Consult = never
    found: dict[str, Entry] = field(default_factory=dict)
    several: dict[str, list[Entry]] = field(default_factory=dict)
    _final: bool = False
    _final_requested: bool = False
    _first_pass_name: str = ""  # host name after the first pass; the final pass does not change it

    def run(self, entries: Sequence[Entry]) -> None:
        """Evaluate `entries`; twice if a line contains `Match final`."""
        self._walk(entries, active=True)
        if self._final_requested:
            self._first_pass_name = self.host_name()
            self._final = True
            self._walk(entries, active=True)

    def _walk(self, entries: Sequence[Entry], *, active: bool) -> None:
        applies = active
        for entry in entries:
            if entry.keyword == "host":
                # In the final pass OpenSSH matches the name that it will connect to. Source: ssh.c, main.
                name = self._first_pass_name if self._final else self.name
                applies = active and matches_list(entry.arguments, name)
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
        if entry.keyword not in _PROXY_SETTINGS or not self._blocked(entry):
            self.found.setdefault(entry.keyword, entry)

    def _blocked(self, entry: Entry) -> bool:
        """Return whether an earlier line prevails. Source: ssh_config(5), ProxyJump; readconf.c."""
        jump, command = self.found.get("proxyjump"), self.found.get("proxycommand")
        if entry.keyword == "proxyjump":
            return command is not None
        return jump is not None and jump.arguments[0].lower() != "none"  # `ProxyJump none` allows a ProxyCommand

    def first(self, keyword: str) -> str | None:
        """Return the first argument of the setting, or None if it is not set."""
        entry = self.found.get(keyword)
        return None if entry is None else entry.arguments[0]

    def host_name(self) -> str:
        """Return the name to connect to: HostName with %h expanded, or the given name."""
        if self.given_host_name is not None or self._first_pass_name:
            return self.given_host_name or self._first_pass_name
        entry = self.found.get("hostname")
        return self.name if entry is None else expand(entry, entry.arguments[0], {"h": self.name})

    def user_name(self) -> str:
        """Return the user on the host."""
        return self.user or self.first("user") or local_user()

    def tokens(self) -> Tokens:
        """Return the values of the tokens of ssh_config(5) by the settings known so far."""
        return Tokens(
            name=self.name,
            host_name=self.host_name(),
            port=str(self.port or self.first("port") or 22),
            user=self.user_name(),
            alias=self.first("hostkeyalias") or "",
        )

    def _matches(self, entry: Entry) -> bool:
        """Return whether a Match line applies. Commands are evaluated last, only if all other criteria match."""
        arguments = list(entry.arguments)
        commands: list[tuple[str, bool]] = []
        unknown: list[str] = []
        while arguments:
            argument = arguments.pop(0).lower()
            wanted, criterion = not argument.startswith("!"), argument.removeprefix("!")
            if criterion in {"all", "canonical", "final"}:
                holds: bool | None = self._keyword_matches(criterion)
            elif not arguments:
                raise entry.error(f"Match {criterion} has no value.")
            elif criterion == "exec":
                commands.append((arguments.pop(0), wanted))
                continue
            else:
                holds = self._criterion_matches(criterion, arguments.pop(0).split(","))
            if holds is None:
                unknown.append(criterion)
            elif holds is not wanted:
                return False
        if unknown:
            raise _not_evaluated(entry, f"Match {unknown[0]} is not supported.")
        return all(self._succeeds(entry, command) is wanted for command, wanted in commands)

    def _succeeds(self, entry: Entry, command: str) -> bool:
        result = self.consult(entry, expand_for_shell(entry, command, self.tokens().chosen(MATCH_EXEC)))
        if result is None:
            raise _not_evaluated(
                entry, f"Match exec was not allowed to run a command on this computer: {command[:200]}"
            )
        return result

    def _keyword_matches(self, criterion: str) -> bool:
        if criterion == "final":
            self._final_requested = True
        return self._final or criterion == "all"  # OpenSSH's final pass matches `canonical`, too

    def _criterion_matches(self, criterion: str, patterns: Sequence[str]) -> bool | None:
        """Return whether a criterion matches, or None if it is not supported."""
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
        ConnectOutcome.NOT_ALLOWED,
        f"{entry.path}, line {entry.number}: {what}",
        "Allow it, or add a Host block for the host before that line.",
    )
