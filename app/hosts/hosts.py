"""The hosts a user has: this computer, those typed in, and the aliases of ~/.ssh/config."""

import threading
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit

from app.hosts.memory import Memory, key_account, password_account
from app.plans.context import LOOPBACK
from app.plans.plan import LOCAL
from app.writing import WriteError, write_whole
from remote.errors import ConnectError, Outcome, outcome_of
from remote.local_file import read_bounded
from remote.questions import Asker, Refuse
from remote.session import Session
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    # What knows paramiko is imported where it is used: the window opens before anything connects.
    from remote.ssh.target import Target


class Origin(StrEnum):
    """Where the workstation knows a host from."""

    THIS_COMPUTER = "this computer"
    SAVED = "saved"
    SSH_CONFIG = "ssh config"


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One host as the user knows it. What is None is left to ~/.ssh/config and OpenSSH's defaults.

    `jump` is written as OpenSSH's ProxyJump: ``user@host:port``, several separated by commas.
    """

    name: str
    origin: Origin = Origin.SAVED
    host_name: str | None = None
    port: int | None = None
    user: str | None = None
    identity_file: str | None = None
    jump: str | None = None


THIS_COMPUTER = HostEntry(LOCAL, Origin.THIS_COMPUTER)


@dataclass(frozen=True, slots=True)
class ConnectReport:
    """How an attempt to connect ended, for people. `seconds` is how long it took."""

    host: str
    outcome: Outcome
    message: str
    remedy: str = ""
    seconds: float = 0.0


LARGEST = 2**20
"""Bytes of the file of saved hosts that are read at most."""

_KEYS = ("host_name", "port", "user", "identity_file", "jump")


class HostsError(BenchwrightError):
    """The file of saved hosts cannot be read or written, or a host is unknown."""


class SavedHosts:
    """The hosts a user has typed in, in one TOML file. It holds no secrets."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def entries(self) -> list[HostEntry]:
        """Return the saved hosts by name; raise HostsError where the file is damaged."""
        with self._lock:
            return self._read()

    def save(self, entry: HostEntry) -> None:
        """Add `entry`, or replace the one of its name."""
        if not entry.name or entry.name == LOCAL:
            raise HostsError(f"A host cannot be named “{entry.name}”.", "Choose another name.")
        if any(ord(character) <= 32 for character in entry.name) or entry.name.startswith("-"):
            raise HostsError(f"“{entry.name}” is no host name.", "Leave out spaces and a leading dash.")
        with self._lock:
            others = [known for known in self._read() if known.name != entry.name]
            self._write([*others, entry])

    def remove(self, name: str) -> None:
        """Forget the host `name`; raise HostsError where it is not saved."""
        with self._lock:
            entries = self._read()
            left = [entry for entry in entries if entry.name != name]
            if len(left) == len(entries):
                raise HostsError(f"“{name}” is not a saved host.", "Hosts of ~/.ssh/config are edited there.")
            self._write(left)

    def _read(self) -> list[HostEntry]:
        try:
            content = tomllib.loads(_text(self._path))
            return sorted((_entry(name, table) for name, table in content.items()), key=lambda entry: entry.name)
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as error:
            raise HostsError(
                f"The saved hosts in {self._path} cannot be read: {error}.", "Mend or move the file."
            ) from error

    def _write(self, entries: list[HostEntry]) -> None:
        document = {
            entry.name: {key: getattr(entry, key) for key in _KEYS if getattr(entry, key) is not None}
            for entry in sorted(entries, key=lambda entry: entry.name)
        }
        try:
            write_whole(self._path, tomlkit.dumps(document).encode(), private=True)
        except WriteError as error:
            raise HostsError(f"The hosts cannot be saved: {error.message}", error.remedy) from error


def _text(path: Path) -> str:
    content = read_bounded(path, LARGEST)
    if len(content) > LARGEST:
        raise TypeError(f"it is larger than {LARGEST // 2**20} MiB")
    return content.decode()


def _entry(name: str, table: object) -> HostEntry:
    if not isinstance(table, dict):
        raise TypeError(f"“{name}” is not a table")
    for key, value in table.items():
        if key not in _KEYS or not isinstance(value, int if key == "port" else str):
            raise TypeError(f"{name}.{key} is {value!r}")
    return HostEntry(name, Origin.SAVED, **table)


class Hosts:
    """Every host the user has, and the way to each."""

    def __init__(self, saved: SavedHosts, memory: Memory | None = None) -> None:
        self.saved = saved
        self.memory = memory or Memory()

    def entries(self) -> list[HostEntry]:
        """Return this computer, the saved hosts, and the other aliases of ~/.ssh/config, in this order.

        Aliases that cannot be read are left out: problem() says why.
        """
        saved = self.saved.entries()
        names = {entry.name for entry in saved} | {LOCAL}
        configured = [HostEntry(name, Origin.SSH_CONFIG) for name in self._aliases()[0] if name not in names]
        return [THIS_COMPUTER, *saved, *configured]

    def problem(self) -> str:
        """Return why the aliases of ~/.ssh/config are missing from the hosts, or an empty string."""
        return self._aliases()[1]

    @staticmethod
    def _aliases() -> tuple[list[str], str]:
        from remote.ssh.target import aliases

        try:
            return aliases(), ""
        except ConnectError as error:
            return [], f"The aliases of ~/.ssh/config are not listed: {error}"

    def target(self, name: str, entry: HostEntry | None = None, asker: Asker | None = None) -> "Target":
        """Return the way to the host `name`: saved, an alias, or written as ``user@host:port``.

        `entry` stands in for what is saved: a host that is being typed in can be tried first. `asker` is asked before
        a Match exec runs its command; without one, only what was allowed before runs.
        """
        from remote.ssh.target import resolve

        if entry is None:
            entry = next((entry for entry in self.saved.entries() if entry.name == name), HostEntry(name))
        return resolve(
            name,
            host_name=entry.host_name,
            port=entry.port,
            user=entry.user,
            identity_file=entry.identity_file,
            jump=entry.jump,
            asker=asker or self.memory.asker(Refuse()),
        )

    def address(self, name: str) -> str:
        """Return the address at which this computer reaches the host `name`."""
        return LOOPBACK if name == LOCAL else self.target(name).host_name

    def connect(self, name: str, asker: Asker, entry: HostEntry | None = None) -> Session:
        """Return a session on the host `name` (as `entry` has it); raise ConnectError where there is none."""
        if name == LOCAL:
            from remote.local import LocalSession

            return LocalSession()
        from remote.ssh.connect import connect

        remembering = self.memory.asker(asker)
        try:
            session = connect(self.target(name, entry, remembering), remembering)
        except ConnectError as error:
            if outcome_of(error) is Outcome.AUTH_REFUSED:
                remembering.failed()  # one that breaks says nothing of a secret, and nobody may be there to ask
            raise
        remembering.worked()
        return session

    def forget_secrets(self, name: str) -> int:
        """Forget the password and passphrases of a host and its jump hosts, in the keyring, too; return how many."""
        from remote.ssh.keys import default_files

        target = self.target(name)
        accounts = set()
        for hop in (*target.jumps, target):
            accounts.add(password_account(hop.user, f"{hop.host_name}:{hop.port}"))
            accounts |= {key_account(str(path)) for path in hop.identity_files or default_files()}
        return sum(self.memory.forget(account) for account in accounts)
