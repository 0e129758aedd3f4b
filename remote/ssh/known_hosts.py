"""Which host keys are known: OpenSSH's known_hosts files, read as OpenSSH reads them and only ever appended to."""

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

from remote.errors import ConnectError, Outcome
from remote.local_directory import make_directory
from remote.local_file import read_bounded
from remote.ssh.patterns import matches_list

DEFAULT_PORT = 22
LARGEST_FILE = 32 * 2**20
"""Bytes of a known_hosts file that are read; a million hosts need about four times as much."""


class Marker(StrEnum):
    """What a line says about its key."""

    NONE = ""
    REVOKED = "@revoked"
    CERTIFICATE_AUTHORITY = "@cert-authority"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a known_hosts file that holds a key. `hosts` is the field as written, hashed or not."""

    path: Path
    number: int
    marker: Marker
    hosts: str
    key_type: str
    key: bytes

    def is_for(self, name: str) -> bool:
        """Return whether the line is about `name`, as `host_pattern` writes it."""
        if self.hosts.startswith("|"):
            return _is_hash_of(self.hosts, name)
        return matches_list(self.hosts.lower().split(","), name)


class Standing(StrEnum):
    """What known_hosts says about a key that a host shows."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A standing, and the line it rests on: None where the host is unknown."""

    standing: Standing
    line: Line | None = None


def user_files() -> tuple[Path, ...]:
    """Return the user's own files, as OpenSSH has them; new keys are appended to the first."""
    own = Path.home() / ".ssh"
    return own / "known_hosts", own / "known_hosts2"


def global_files() -> tuple[Path, ...]:
    """Return the system's files, as OpenSSH has them."""
    system = Path("/etc/ssh")
    return system / "ssh_known_hosts", system / "ssh_known_hosts2"


def host_pattern(host: str, port: int = DEFAULT_PORT) -> str:
    """Return how known_hosts names `host`: ``host``, or ``[host]:port`` where the port is not 22."""
    return host.lower() if port == DEFAULT_PORT else f"[{host.lower()}]:{port}"


def fingerprint(key: bytes) -> str:
    """Return a public key's fingerprint as OpenSSH writes it: ``SHA256:`` and base64 without padding."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def read(files: Iterable[Path]) -> list[Line]:
    """Return every line with a key. Missing files have none; what cannot be understood is left alone, as OpenSSH does.

    Raises ConnectError for a file that exists and cannot be read: it might hold a key that has changed or is revoked.
    """
    return [line for path in files for line in _read_file(path)]


def _read_file(path: Path) -> list[Line]:
    try:
        content = read_bounded(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise _unusable(path, f"is larger than {LARGEST_FILE // 2**20} MiB")
    texts = content.decode("utf-8", "replace").split("\n")
    lines = (_parse(path, number, text) for number, text in enumerate(texts, start=1))
    return [line for line in lines if line is not None]


def _unusable(path: Path, what: str) -> ConnectError:
    return ConnectError(
        Outcome.KEY_UNKNOWN,
        f"{path} {what}.",
        "No host key can be checked without it: mend the file or its permissions.",
    )


def _parse(path: Path, number: int, text: str) -> Line | None:
    """Return what `text` says, or None for a comment, an empty line and anything else."""
    words = text.split()
    if not words or words[0].startswith("#"):
        return None
    marker = Marker.NONE
    if words[0].startswith("@"):
        if words[0] not in set(Marker):
            return None
        marker = Marker(words.pop(0))
    if len(words) < 3:
        return None
    try:
        key = base64.b64decode(words[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return Line(path, number, marker, words[0], words[1], key)


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


def verdict(lines: Sequence[Line], host: str, port: int, key: bytes) -> Verdict:
    """Say what `lines` know about the public `key` that `host` shows at `port`.

    As in OpenSSH, a revoked key is refused whatever else is written; any line with this very key makes it trusted;
    any other key for this host, of whatever type, means that the key has changed. Where nothing is known of the host
    at another port than 22, a line that names the host alone can still make it trusted.
    Source: hostfile.c, check_hostkeys_by_key_or_type; sshconnect.c, check_host_key.
    """
    exact, plain = _about(lines, host_pattern(host, port)), _about(lines, host_pattern(host))
    revoking = revocation(lines, host, port, key)
    if revoking is not None:
        return Verdict(Standing.REVOKED, revoking)
    keys = [line for line in exact if line.marker is Marker.NONE]
    for line in keys or [line for line in plain if line.marker is Marker.NONE]:
        if line.key == key:
            return Verdict(Standing.TRUSTED, line)
    return Verdict(Standing.CHANGED, keys[0]) if keys else Verdict(Standing.UNKNOWN)


def revocation(lines: Sequence[Line], host: str, port: int, key: bytes) -> Line | None:
    """Return the line that revokes the `key` of `host`, or of an authority of it; None where there is none."""
    about = _about_any_port(lines, host, port)
    return next((line for line in about if line.marker is Marker.REVOKED and line.key == key), None)


def authorities(lines: Sequence[Line], host: str, port: int) -> list[Line]:
    """Return the lines with certificate authorities for `host`."""
    return [line for line in _about_any_port(lines, host, port) if line.marker is Marker.CERTIFICATE_AUTHORITY]


def known_types(lines: Sequence[Line], host: str, port: int) -> list[str]:
    """Return the types of the keys known for `host` at `port`, each once: the host is best asked for one of them."""
    found = _about(lines, host_pattern(host, port)) or _about(lines, host_pattern(host))
    return list(dict.fromkeys(line.key_type for line in found if line.marker is Marker.NONE))


def _about(lines: Sequence[Line], name: str) -> list[Line]:
    return [line for line in lines if line.is_for(name)]


def _about_any_port(lines: Sequence[Line], host: str, port: int) -> list[Line]:
    """Return the lines about `host` at `port`, or without one."""
    names = {host_pattern(host, port), host_pattern(host)}
    return [line for line in lines if any(line.is_for(name) for name in names)]


def append(path: Path, host: str, port: int, key_type: str, key: bytes, *, hashed: bool = False) -> None:
    """Add the key of `host` to the file at `path`, which is made (0600, its folder 0700) where it is missing.

    What the file holds is not touched, and the line is on the disk when this returns. With `hashed`, nobody who reads
    the file learns the host's name. Raises ConnectError where it cannot be written.
    """
    name = host_pattern(host, port)
    line = f"{_hashed(name) if hashed else name} {key_type} {base64.b64encode(key).decode()}\n"
    try:
        make_directory(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with open(descriptor, "r+b", buffering=0) as file:  # noqa: PTH123 (Path.open cannot set the mode of a new file)
            with contextlib.suppress(OSError):  # not every file system has locks; most files need none
                fcntl.flock(file, fcntl.LOCK_EX)  # another of us may be about to end the same unended line
            _write_whole(file.fileno(), _missing_line_break(file.fileno()) + line.encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise ConnectError(
            Outcome.KEY_UNKNOWN,
            f"The host key of {host} cannot be added to {path}: {error.strerror}.",
            "Mend the permissions of the file and its folder, then connect again.",
            host=host,
        ) from error


def _write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data` in one go, as writers beside us do; raise OSError where the disk takes only a part."""
    if os.write(descriptor, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _hashed(name: str) -> str:
    """Return `name` as ``HashKnownHosts yes`` has it written. Source: hostfile.c, host_hash."""
    salt = secrets.token_bytes(20)
    digest = hmac.digest(salt, name.encode(), "sha1")
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (salt, digest))


def _missing_line_break(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"
