"""OpenSSH's known_hosts files: parsed as OpenSSH does, changed by appending only."""

import base64
import binascii
import contextlib
import errno
import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from remote.errors import ConnectError, ConnectOutcome
from remote.local_directory import make_directory
from remote.local_file import read_bounded
from remote.ssh.ssh_config import matches_list
from suites.quantities import quantity

DEFAULT_PORT = 22
LARGEST_FILE = 32 * 2**20
"""Largest known_hosts file in bytes, enough for about 250,000 hosts."""


class Marker(StrEnum):
    """Marker of a known_hosts line (sshd(8))."""

    NONE = ""
    REVOKED = "@revoked"
    CERTIFICATE_AUTHORITY = "@cert-authority"


@dataclass(frozen=True, slots=True)
class KnownHostsLine:
    """One line of a known_hosts file with a key. `hosts` is the raw field, hashed or not."""

    path: Path
    number: int
    marker: Marker
    hosts: str
    key_type: str
    key: bytes

    def is_for(self, name: str) -> bool:
        """Return whether the line matches `name`, as returned by `host_pattern`."""
        if self.hosts.startswith("|"):
            return _is_hash_of(self.hosts, name)
        return matches_list(self.hosts.lower().split(","), name)


class HostKeyStatus(StrEnum):
    """Status of a host key by known_hosts."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class HostKeyMatch:
    """Status of a host key and the line it is based on; None for an unknown host."""

    status: HostKeyStatus
    line: KnownHostsLine | None = None


def user_files() -> tuple[Path, ...]:
    """Return OpenSSH's default user files; new keys are appended to the first."""
    own = Path.home() / ".ssh"
    return own / "known_hosts", own / "known_hosts2"


def global_files() -> tuple[Path, ...]:
    """Return OpenSSH's default system files."""
    system = Path("/etc/ssh")
    return system / "ssh_known_hosts", system / "ssh_known_hosts2"


def host_pattern(host: str, port: int = DEFAULT_PORT) -> str:
    """Return the known_hosts name of `host`: ``host``, or ``[host]:port`` for ports other than 22."""
    return host.lower() if port == DEFAULT_PORT else f"[{host.lower()}]:{port}"


def fingerprint(key: bytes) -> str:
    """Return a public key's fingerprint in OpenSSH's form: ``SHA256:`` and unpadded base64."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def read(files: Iterable[Path]) -> list[KnownHostsLine]:
    """Return every line with a key. Missing files are empty; invalid lines are skipped, as in OpenSSH.

    Raises ConnectError for a file that cannot be read: it might contain a changed or revoked key.
    """
    return [line for path in files for line in _read_file(path)]


def _read_file(path: Path) -> list[KnownHostsLine]:
    try:
        content = read_bounded(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise _unusable(path, f"is larger than {quantity(LARGEST_FILE)}")
    texts = content.decode("utf-8", "replace").split("\n")
    lines = (_parse(path, number, text) for number, text in enumerate(texts, start=1))
    return [line for line in lines if line is not None]


def _unusable(path: Path, what: str) -> ConnectError:
    return ConnectError(
        ConnectOutcome.KEY_UNKNOWN,
        f"{path} {what}.",
        "Correct the file or its permissions: host keys cannot be verified without it.",
    )


def _parse(path: Path, number: int, text: str) -> KnownHostsLine | None:
    """Parse `text`; return None for a comment, an empty or an invalid line."""
    fields = text.split()
    if not fields or fields[0].startswith("#"):
        return None
    marker = Marker.NONE
    if fields[0].startswith("@"):
        if fields[0] not in set(Marker):
            return None
        marker = Marker(fields.pop(0))
    if len(fields) < 3:
        return None
    try:
        key = base64.b64decode(fields[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return KnownHostsLine(path, number, marker, fields[0], fields[1], key)


def _is_hash_of(hashed: str, name: str) -> bool:
    """Return whether `hashed` (``|1|salt|hash``, base64) is the HMAC-SHA1 of `name`. Source: hostfile.c, host_hash."""
    parts = hashed.split("|")
    if len(parts) != 4 or parts[1] != "1":
        return False
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in parts[2:])
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.digest(salt, name.encode(), "sha1"), digest)


def verdict(lines: Sequence[KnownHostsLine], host: str, port: int, key: bytes) -> HostKeyMatch:
    """Return the status of the public `key` of `host` at `port`.

    As in OpenSSH, a revoked key is always refused; a line with this key makes it trusted; any other key of the host,
    of any type, means that the key has changed. For an unknown port other than 22, a line with the host name alone can
    make the key trusted.
    Source: hostfile.c, check_hostkeys_by_key_or_type; sshconnect.c, check_host_key.
    """
    exact, plain = _about(lines, host_pattern(host, port)), _about(lines, host_pattern(host))
    revoking = revocation(lines, host, port, key)
    if revoking is not None:
        return HostKeyMatch(HostKeyStatus.REVOKED, revoking)
    keys = [line for line in exact if line.marker is Marker.NONE]
    for line in keys or [line for line in plain if line.marker is Marker.NONE]:
        if line.key == key:
            return HostKeyMatch(HostKeyStatus.TRUSTED, line)
    return HostKeyMatch(HostKeyStatus.CHANGED, keys[0]) if keys else HostKeyMatch(HostKeyStatus.UNKNOWN)


def revocation(lines: Sequence[KnownHostsLine], host: str, port: int, key: bytes) -> KnownHostsLine | None:
    """Return the line that revokes the `key` of `host` or of its authority; None if there is none."""
    about = _about_any_port(lines, host, port)
    return next((line for line in about if line.marker is Marker.REVOKED and line.key == key), None)


def authorities(lines: Sequence[KnownHostsLine], host: str, port: int) -> list[KnownHostsLine]:
    """Return the lines with certificate authorities for `host`."""
    return [line for line in _about_any_port(lines, host, port) if line.marker is Marker.CERTIFICATE_AUTHORITY]


def known_types(lines: Sequence[KnownHostsLine], host: str, port: int) -> list[str]:
    """Return the distinct types of known keys of `host` at `port`, to be preferred in the key exchange."""
    found = _about(lines, host_pattern(host, port)) or _about(lines, host_pattern(host))
    return list(dict.fromkeys(line.key_type for line in found if line.marker is Marker.NONE))


def _about(lines: Sequence[KnownHostsLine], name: str) -> list[KnownHostsLine]:
    return [line for line in lines if line.is_for(name)]


def _about_any_port(lines: Sequence[KnownHostsLine], host: str, port: int) -> list[KnownHostsLine]:
    """Return the lines that match `host` with or without `port`."""
    names = {host_pattern(host, port), host_pattern(host)}
    return [line for line in lines if any(line.is_for(name) for name in names)]


def append(path: Path, host: str, port: int, key_type: str, key: bytes, *, hashed: bool = False) -> None:
    """Append the key of `host` to the file at `path`, creating it (0600, its directory 0700) if it is missing.

    Existing content is not changed, and the line is synced to disk. With `hashed` the host name is hashed
    (HashKnownHosts). Raises ConnectError if it cannot be written.
    """
    name = host_pattern(host, port)
    line = f"{_hashed(name) if hashed else name} {key_type} {base64.b64encode(key).decode()}\n"
    try:
        make_directory(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with open(descriptor, "r+b", buffering=0) as file:  # noqa: PTH123 (Path.open cannot set the mode of a new file)
            with contextlib.suppress(OSError):  # not every file system supports locks
                # Another Benchwright may be about to complete the same unterminated last line.
                fcntl.flock(file, fcntl.LOCK_EX)
            _write_whole(file.fileno(), _missing_line_break(file.fileno()) + line.encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise ConnectError(
            ConnectOutcome.KEY_UNKNOWN,
            f"The host key of {host} cannot be added to {path}: {error.strerror}.",
            "Correct the permissions of the file and its directory, then connect again.",
            host=host,
        ) from error


def _write_whole(descriptor: int, data: bytes) -> None:
    """Write `data` with one write(2), which O_APPEND makes atomic to other writers; raise OSError if it is partial."""
    if os.write(descriptor, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _hashed(name: str) -> str:
    """Return `name` hashed as with ``HashKnownHosts yes``. Source: hostfile.c, host_hash."""
    salt = secrets.token_bytes(20)
    digest = hmac.digest(salt, name.encode(), "sha1")
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (salt, digest))


def _missing_line_break(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"
