"""Is this the right host? Its key against known_hosts, with the user's word where nothing is known."""

from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from remote.errors import ConnectError, Outcome
from remote.known_hosts import (
    Line,
    Standing,
    append,
    default_files,
    fingerprint,
    host_pattern,
    known_types,
    read,
    verdict,
)
from remote.questions import Asker, HostKeyQuestion
from remote.target import Target
from remote.transport import BoundedTransport


@dataclass(slots=True)
class HostKeys:
    """The host keys known when connecting began; `file` stands in for OpenSSH's own files."""

    asker: Asker
    file: Path | None = None
    _lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = read(self._files)

    @property
    def _files(self) -> list[Path]:
        return default_files() if self.file is None else [self.file]

    def known_types(self, target: Target) -> list[str]:
        """Return the key types known for a host, to ask it for."""
        return known_types(self._lines, target.host_name, target.port)

    def verify(self, transport: BoundedTransport, target: Target, via: str | None) -> None:
        """Return if the key the server has shown is trusted; raise ConnectError otherwise.

        An unknown key is asked about, and appended to known_hosts where the user accepts it.
        """
        shown = transport.get_remote_server_key()
        key = shown.asbytes()
        found = verdict(self._lines, target.host_name, target.port, key)
        if found.standing is Standing.TRUSTED:
            return
        if found.line is None:
            self._ask(target, shown, via)
        else:
            raise (_revoked if found.standing is Standing.REVOKED else _changed)(target, shown, found.line)

    def _ask(self, target: Target, key: paramiko.PKey, via: str | None) -> None:
        file = self._files[0]
        question = HostKeyQuestion(
            host=target.name,
            address=target.host_name,
            port=target.port,
            key_type=key.get_name(),
            fingerprint=fingerprint(key.asbytes()),
            known_hosts=str(file),
            via=via,
        )
        if not self.asker.host_key(question):
            raise ConnectError(
                Outcome.KEY_UNKNOWN,
                f"The key of {target.name} is not known and was not accepted: {question.fingerprint}.",
                "Compare it with the host's own (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then accept it.",
                host=target.name,
            )
        append(file, target.host_name, target.port, key.get_name(), key.asbytes())


def _changed(target: Target, key: paramiko.PKey, line: Line) -> ConnectError:
    name = host_pattern(target.host_name, target.port)
    return ConnectError(
        Outcome.KEY_CHANGED,
        f"The key of {target.name} has changed: it shows {fingerprint(key.asbytes())} ({key.get_name()}), but "
        f"{line.path}, line {line.number} has {fingerprint(line.key)} ({line.key_type}). Somebody may be listening in; "
        "or the host was reinstalled, or its cloud address now belongs to another instance.",
        f"If you know why it changed, remove the old key with: ssh-keygen -R '{name}' -f '{line.path}'",
        host=target.name,
    )


def _revoked(target: Target, key: paramiko.PKey, line: Line) -> ConnectError:
    return ConnectError(
        Outcome.KEY_REVOKED,
        f"The key of {target.name}, {fingerprint(key.asbytes())}, is revoked by {line.path}, line {line.number}: "
        "whoever shows it may not be the host.",
        "Ask whoever looks after the host for its new key.",
        host=target.name,
    )
