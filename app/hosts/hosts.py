"""The user's hosts: this computer, saved hosts, and the aliases of ~/.ssh/config."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from app.hosts.credentials import CredentialCache, key_account, password_account
from app.natural_order import natural_key
from app.output import WriteError, write_whole
from app.plans.context import LOOPBACK
from app.plans.plan import LOCAL
from app.user_texts import checked_text
from remote.errors import ConnectError, ConnectOutcome, outcome_of
from remote.local_file import FileStamp, parse_toml, read_file, stamp_of
from remote.locked_file import locked
from remote.questions import Asker, RefusingAsker
from remote.session import Session
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from remote.ssh.target import SshTarget


class Origin(StrEnum):
    """Source of a host entry."""

    THIS_COMPUTER = "this computer"
    SAVED = "saved"
    SSH_CONFIG = "ssh config"


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One host of the user. For None, ~/.ssh/config and OpenSSH's defaults apply.

    `jump` has the syntax of OpenSSH's ProxyJump: ``user@host:port``, several separated by commas.
    """

    name: str
    origin: Origin = Origin.SAVED
    host_name: str | None = None
    port: int | None = None
    user: str | None = None
    identity_file: str | None = None
    jump: str | None = None


def ssh_address(entry: HostEntry) -> str:
    """Return the address of a host in ssh notation: ``ann@192.0.2.14:2222 via bastion``."""
    user = f"{entry.user}@" if entry.user else ""
    port = f":{entry.port}" if entry.port else ""
    jump = f" via {entry.jump}" if entry.jump else ""
    return f"{user}{entry.host_name or entry.name}{port}{jump}"


def target_text(target: "SshTarget") -> str:
    """Return a target in ssh notation: ``ann@192.0.2.14:2222 via ops@198.51.100.7``; port 22 is left out."""
    port = "" if target.port == SSH_PORT else f":{target.port}"
    user = f"{target.user}@" if target.user else ""
    via = f" via {', '.join(map(target_text, target.jumps))}" if target.jumps else ""
    host = f"[{target.host_name}]" if port and ":" in target.host_name else target.host_name
    return f"{user}{host}{port}{via}"


SSH_PORT = 22


THIS_COMPUTER = HostEntry(LOCAL, Origin.THIS_COMPUTER)


@dataclass(frozen=True, slots=True)
class ConnectReport:
    """Result of a connection test; `seconds` is its duration."""

    host: str
    outcome: ConnectOutcome
    message: str
    remedy: str = ""
    seconds: float = 0.0

    @property
    def severity(self) -> str:
        """Severity for the user: good, info if the user cancelled it, or error."""
        if self.outcome is ConnectOutcome.CONNECTED:
            return "good"
        return "info" if self.outcome in {ConnectOutcome.CANCELLED, ConnectOutcome.NOT_ALLOWED} else "error"


LARGEST = 2**23
"""Size limit of the file of saved hosts, in bytes: some 400 for each of 20,000, the limit of an inventory."""

LONGEST_TEXT = 1000
"""Of a saved host, in characters."""

_KEYS = ("host_name", "port", "user", "identity_file", "jump")


class HostsError(BenchwrightError):
    """The file of saved hosts cannot be read or written, or a host is unknown."""


class SavedHosts:
    """The saved hosts, in a TOML file without secrets. Other processes may change it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> list[HostEntry]:
        """Return the saved hosts by name; raise HostsError for a damaged file."""
        return self._read()

    def save(self, *entries: HostEntry, instead: Collection[str] = ()) -> list[HostEntry]:
        """Add `entries`, replacing those with the same name and those named in `instead`; return what was replaced.

        Nothing is changed if one is invalid.
        """
        for entry in entries:
            if not entry.name or entry.name == LOCAL:
                raise HostsError(f"A host cannot be named “{entry.name}”.", "Choose another name.")
            if " " in entry.name or not entry.name.isprintable() or entry.name.startswith("-"):
                raise HostsError(
                    f"Invalid host name “{entry.name}”.", "Remove spaces, hidden characters, leading dashes."
                )
            for key in ("name", *_KEYS):
                text = str(getattr(entry, key) or "")
                checked_text(f"The {key} of {entry.name[:60]}", text, LONGEST_TEXT, HostsError)
        names = {entry.name for entry in entries} | set(instead)
        with self._locked():
            known = self._read()
            self._write([*(entry for entry in known if entry.name not in names), *entries])
            return [entry for entry in known if entry.name in names]

    def restore(self, *before: HostEntry, after: Sequence[HostEntry] = ()) -> None:
        """Put `before` in the place of `after`; raise HostsError if the hosts of these names are not `after` now."""
        names = {entry.name for entry in (*before, *after)}
        with self._locked():
            known = self._read()
            if {entry.name: entry for entry in known if entry.name in names} != {entry.name: entry for entry in after}:
                raise HostsError(
                    f"Not undone: {', '.join(sorted(names))} changed since.", "Edit or add the hosts instead."
                )
            self._write([*(entry for entry in known if entry.name not in names), *before])

    def remove(self, name: str) -> list[HostEntry]:
        """Remove the host `name` and return it; raise HostsError if it is not saved."""
        with self._locked():
            entries = self._read()
            others = [entry for entry in entries if entry.name != name]
            if len(others) == len(entries):
                raise HostsError(f"“{name}” is not a saved host.", "Remove hosts of ~/.ssh/config in that file.")
            self._write(others)
            return [entry for entry in entries if entry.name == name]

    def stamp(self) -> FileStamp | None:
        """Return the stamp of the file, None without one."""
        return stamp_of(self._path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the file, so that changes of two processes do not overwrite each other."""
        try:
            with locked(self._path):
                yield
        except OSError as error:
            reason = "another process holds it" if isinstance(error, BlockingIOError) else error.strerror
            raise HostsError(
                f"{self._path} was not changed: {reason}.", "Check its permissions, or try again."
            ) from error

    def _read(self) -> list[HostEntry]:
        try:
            return read_file(self._path, LARGEST, HostsError, "Fix or move the file.", _entries)
        except HostsError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return []
            raise

    def _write(self, entries: list[HostEntry]) -> None:
        import tomlkit  # takes time, and is only needed to save

        document = {
            entry.name: {key: getattr(entry, key) for key in _KEYS if getattr(entry, key) is not None}
            for entry in sorted(entries, key=lambda entry: natural_key(entry.name))
        }
        try:
            write_whole(self._path, tomlkit.dumps(document).encode(), private=True)
        except WriteError as error:
            raise HostsError(f"Cannot save the hosts: {error.message}", error.remedy) from error


def _entries(text: str) -> list[HostEntry]:
    content = parse_toml(text, HostsError, "Fix or move the file.")
    return [_entry(name, content[name]) for name in sorted(content, key=natural_key)]


def _entry(name: str, table: object) -> HostEntry:
    if not isinstance(table, dict):
        raise HostsError(f"“{name}” is not a table.", "Fix or move the file.")
    for key, value in table.items():
        if key not in _KEYS or not isinstance(value, int if key == "port" else str):
            raise HostsError(f"{name}.{key} is {value!r}.", "Fix or move the file.")
    return HostEntry(name, Origin.SAVED, **table)


class Hosts:
    """All hosts of the user, and connections to them."""

    def __init__(self, saved: SavedHosts, memory: CredentialCache | None = None) -> None:
        self.saved = saved
        self.memory = memory or CredentialCache()
        self._unsaved: dict[str, HostEntry] = {}

    def use_unsaved(self, entries: Iterable[HostEntry]) -> None:
        """Use `entries` for names that are neither saved nor in ~/.ssh/config, until this process ends."""
        self._unsaved.update({entry.name: entry for entry in entries})

    def entries(self) -> list[HostEntry]:
        """Return this computer, the saved hosts, and the other aliases of ~/.ssh/config, in this order.

        Aliases are left out if ~/.ssh/config cannot be read; problem() returns the reason.
        """
        saved = self.saved.entries()
        names = {entry.name for entry in saved} | {LOCAL}
        configured = [HostEntry(name, Origin.SSH_CONFIG) for name in self._aliases()[0] if name not in names]
        return [THIS_COMPUTER, *saved, *configured]

    def problem(self) -> str:
        """Return why the aliases of ~/.ssh/config are missing, or an empty string."""
        return self._aliases()[1]

    def stamps(self) -> tuple[FileStamp | None, ...]:
        """Return the stamps of the files of hosts, to see cheaply that none was changed."""
        from remote.ssh.ssh_config import user_config

        return self.saved.stamp(), stamp_of(user_config())

    @staticmethod
    def _aliases() -> tuple[list[str], str]:
        from remote.ssh.target import aliases

        try:
            return aliases(), ""
        except ConnectError as error:
            return [], f"The aliases of ~/.ssh/config are not listed: {error}"

    def target(self, name: str, entry: HostEntry | None = None, asker: Asker | None = None) -> "SshTarget":
        """Return the SSH target of the host `name`: saved, an alias, or ``user@host:port``.

        `entry` replaces the saved entry, to test a host before saving it. `asker` is asked before a Match exec command
        runs; without one, only commands allowed earlier run.
        """
        from remote.ssh.target import resolve

        if entry is None:
            entry = next((entry for entry in self.saved.entries() if entry.name == name), None)
        if entry is None:
            other = self._unsaved.get(name)
            entry = other if other is not None and name not in self._aliases()[0] else HostEntry(name)
        # A name of the user's own is not in the configuration, but its address may be, or match a pattern there.
        own_name = entry.host_name is not None and name not in self._aliases()[0]
        target = resolve(
            str(entry.host_name) if own_name else name,
            host_name=None if own_name else entry.host_name,
            port=entry.port,
            user=entry.user,
            identity_file=entry.identity_file,
            jump=entry.jump,
            asker=asker or self.memory.asker(RefusingAsker()),
        )
        return replace(target, name=name)

    def resolved(self) -> Mapping[str, str]:
        """Return where ssh connects to for each host, by name: user, address, port and jump hosts.

        Hosts whose configuration cannot be read, or needs a command that was not allowed, are left out.
        """
        found = {}
        for entry in self.entries()[1:]:
            with suppress(BenchwrightError):
                found[entry.name] = target_text(self.target(entry.name, entry))
        return found

    def address(self, name: str) -> str:
        """Return the address at which this computer reaches the host `name`."""
        return LOOPBACK if name == LOCAL else self.target(name).host_name

    def connect(self, name: str, asker: Asker, entry: HostEntry | None = None) -> Session:
        """Return a session on the host `name` (with the settings of `entry`); raise ConnectError."""
        if name == LOCAL:
            from remote.local import LocalSession

            return LocalSession()
        from remote.ssh.connect import connect

        remembering = self.memory.asker(asker)
        try:
            session = connect(self.target(name, entry, remembering), remembering)
        except ConnectError as error:
            if outcome_of(error) is ConnectOutcome.AUTH_REFUSED:
                remembering.failed()  # only here: other failures do not mean that a secret is wrong
            raise
        remembering.worked()
        return session

    def forget_secrets(self, name: str) -> int:
        """Delete the secrets of a host and its jump hosts, also from the keyring; return their number."""
        from remote.ssh.keys import default_files

        target = self.target(name)
        accounts = set()
        for hop in (*target.jumps, target):
            accounts.add(password_account(hop.user, f"{hop.host_name}:{hop.port}"))
            accounts |= {key_account(str(path)) for path in hop.identity_files or default_files()}
        return sum(self.memory.forget(account) for account in accounts)
