"""Key files and certificates: public part without a passphrase, private key with it."""

import base64
import binascii
import contextlib
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from remote.local_file import read_bounded
from remote.ssh.ssh_config import user_folder

LARGEST_FILE = 256 * 1024
DEFAULT_NAMES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")
"""In OpenSSH's order. Source: ssh_config(5), IdentityFile."""

_MAGIC = b"openssh-key-v1\0"
_CLASSES: dict[str, type[paramiko.RSAKey | paramiko.ECDSAKey | paramiko.Ed25519Key]] = {
    "ssh-rsa": paramiko.RSAKey,
    "ssh-ed25519": paramiko.Ed25519Key,
    "ecdsa-sha2-nistp256": paramiko.ECDSAKey,
    "ecdsa-sha2-nistp384": paramiko.ECDSAKey,
    "ecdsa-sha2-nistp521": paramiko.ECDSAKey,
}


class UnusableKeyError(Exception):
    """A key file cannot be used; the text is the reason."""


class WrongPassphraseError(Exception):
    """The passphrase does not decrypt the key."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: its type and its OpenSSH wire encoding."""

    kind: str
    blob: bytes


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A key file. `public` is None if only the private key contains it.

    `private` is False for a file with a public key only: the agent may have its private key.
    """

    path: Path
    public: PublicKey | None
    encrypted: bool
    private: bool = True


def default_files() -> list[Path]:
    """Return OpenSSH's default key files that exist."""
    return [path for name in DEFAULT_NAMES if (path := user_folder() / name).is_file()]


def inspect(path: Path) -> KeyFile:
    """Read the key file `path` without its passphrase; raise UnusableKeyError if it is missing or contains no key."""
    text = _read(path)
    public_file = path.with_name(path.name + ".pub")
    public = _parse_public(text)
    if public is not None:
        return KeyFile(path, public, encrypted=False, private=False)
    if "PRIVATE KEY-----" not in text:
        raise UnusableKeyError("it contains no key")
    header = _openssh_header(text)
    if header is not None:
        return KeyFile(path, header[0], encrypted=header[1])
    with contextlib.suppress(UnusableKeyError):
        public = _parse_public(_read(public_file))
    return KeyFile(path, public, encrypted="ENCRYPTED" in text)


def load(file: KeyFile, passphrase: str | None) -> paramiko.PKey:
    """Return the private key.

    Raises WrongPassphraseError, or UnusableKeyError for an unsupported key type.
    """
    kind = _CLASSES.get(file.public.kind) if file.public else _class_by_header(_read(file.path))
    if kind is None:
        raise UnusableKeyError(
            f"keys of type {file.public.kind if file.public else 'unknown'} are supported through an agent only"
        )
    try:
        return kind.from_private_key_file(str(file.path), passphrase)
    except (paramiko.PasswordRequiredException, TypeError) as error:
        raise WrongPassphraseError from error
    except OSError as error:
        raise UnusableKeyError(f"it cannot be read: {error.strerror}") from error
    except (paramiko.SSHException, ValueError, AssertionError, UnsupportedAlgorithm, IndexError) as error:
        # A wrong passphrase decrypts to random bytes, on which each parser fails in its own way.
        if file.encrypted and passphrase is not None:
            raise WrongPassphraseError from error
        raise UnusableKeyError("its format is not supported (rewrite it with ssh-keygen -p)") from error


def _read(path: Path) -> str:
    try:
        content = read_bounded(path, LARGEST_FILE)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise UnusableKeyError("no such file" if missing else f"it cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise UnusableKeyError("it is too large to be a key")
    return content.decode("utf-8", "replace")


def _class_by_header(text: str) -> type[paramiko.RSAKey | paramiko.ECDSAKey] | None:
    """Return the class of a PEM key by its first line."""
    if "BEGIN RSA PRIVATE KEY" in text:
        return paramiko.RSAKey
    return paramiko.ECDSAKey if "BEGIN EC PRIVATE KEY" in text else None


def _parse_public(text: str) -> PublicKey | None:
    """Return the key of a ``.pub`` file: a type, base64 and a comment."""
    fields = text.split()
    if len(fields) < 2 or fields[0].startswith("-"):
        return None
    try:
        blob = base64.b64decode(fields[1], validate=True)
    except (binascii.Error, ValueError):
        return None
    return PublicKey(fields[0], blob) if paramiko.Message(blob).get_string() == fields[0].encode() else None


def _openssh_header(text: str) -> tuple[PublicKey, bool] | None:
    """Return the public key of a private key file in OpenSSH format, and whether the file is encrypted.

    Source: OpenSSH's PROTOCOL.key.
    """
    inside = text.partition("-----BEGIN OPENSSH PRIVATE KEY-----")[2].partition("-----END")[0]
    try:
        data = base64.b64decode("".join(inside.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data.startswith(_MAGIC):
        return None
    message = paramiko.Message(data[len(_MAGIC) :])
    cipher = message.get_string()
    message.get_string()
    message.get_string()
    if message.get_int() != 1:
        return None
    blob = message.get_string()
    return PublicKey(paramiko.Message(blob).get_string().decode("ascii", "replace"), blob), cipher != b"none"


# OpenSSH certificates: a public key with principals and validity, signed by an authority (PROTOCOL.certkeys).


SUFFIX = "-cert-v01@openssh.com"
MOST_PRINCIPALS = 256  # sshkey.c, SSHKEY_CERT_MAX_PRINCIPALS
USER, HOST = 1, 2

# Number of fields of the public key, after the type and the nonce.
_FIELDS = {
    "ssh-ed25519": 1, "ssh-rsa": 2, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp384": 2, "ecdsa-sha2-nistp521": 2,
}  # fmt: skip
_SIGNATURES = frozenset(_CLASSES) - {"ssh-rsa"} | {"rsa-sha2-256", "rsa-sha2-512"}
"""Signature algorithms of authorities. Source: ssh_config(5), CASignatureAlgorithms: no SHA-1."""


class CertificateError(Exception):
    """A certificate is invalid or of an unsupported type."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate, not verified. `key` is the certified public key in its plain encoding."""

    kind: str
    blob: bytes
    key: bytes
    role: int
    identity: str
    principals: tuple[str, ...]
    valid_after: int
    valid_before: int
    critical: bytes
    authority: bytes
    signed: bytes
    signature: bytes

    def time_problem(self, now: float) -> str:
        """Return why the certificate is not valid at `now` (epoch seconds); empty if it is."""
        if now < self.valid_after:
            return f"it is not valid before {_date(self.valid_after)}"
        return f"it expired on {_date(self.valid_before)}" if now >= self.valid_before else ""

    def problem_as_host(self, name: str, now: float) -> str:
        """Return why the certificate is not valid for the host `name`; empty if it is.

        Does not check whether the authority is trusted.
        """
        if self.role != HOST:
            return "it is not a host certificate"
        if self.critical:
            return "it has unsupported critical options"
        if self.principals and name.lower() not in self.principals:  # names, not patterns
            return f"it is for {', '.join(self.principals[:3])}"
        return self.time_problem(now) or ("" if self._is_signed() else "its signature is invalid")

    def _is_signed(self) -> bool:
        kind = paramiko.Message(self.authority).get_string().decode("ascii", "replace")
        message = paramiko.Message(self.signature)
        name, raw = message.get_string(), message.get_string()
        algorithm = name.decode("ascii", "replace")
        if self.signature != b"".join(struct.pack(">I", len(part)) + part for part in (name, raw)):
            return False  # paramiko would accept a wrong length
        if kind not in _CLASSES or algorithm not in _SIGNATURES:
            return False
        try:
            authority = _CLASSES[kind](data=self.authority)
            return bool(authority.verify_ssh_sig(self.signed, paramiko.Message(self.signature)))
        except (paramiko.SSHException, ValueError, IndexError, struct.error):
            return False  # invalid key or signature


def _date(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return "a date out of range"


def parse(blob: bytes) -> Certificate:
    """Parse a certificate in OpenSSH's wire encoding; raise CertificateError if it is invalid."""
    message = paramiko.Message(blob)
    kind = message.get_string().decode("ascii", "replace")
    plain = kind.removesuffix(SUFFIX)
    if plain == kind or plain not in _FIELDS:
        raise CertificateError(f"certificates of type {kind[:60]} are not supported")
    message.get_string()  # the nonce
    key = paramiko.Message()
    key.add_string(plain)
    for _ in range(_FIELDS[plain]):
        key.add_string(message.get_string())
    message.get_int64()  # the serial number, used by key revocation lists only
    role, identity, principals = message.get_int(), message.get_string(), message.get_string()
    valid_after, valid_before = message.get_int64(), message.get_int64()
    critical, _extensions, _reserved = message.get_string(), message.get_string(), message.get_string()
    authority = message.get_string()
    signed = message.get_so_far()
    signature = message.get_string()
    if not signature or blob != signed + struct.pack(">I", len(signature)) + signature:
        raise CertificateError("it is damaged")
    return Certificate(
        kind,
        blob,
        key.asbytes(),
        role,
        identity.decode("utf-8", "replace"),
        _strings(principals),
        valid_after,
        valid_before,
        critical,
        authority,
        signed,
        signature,
    )


def _strings(data: bytes) -> tuple[str, ...]:
    message = paramiko.Message(data)
    found = []
    while message.get_remainder():
        found.append(message.get_string().decode("utf-8", "replace"))
        if len(found) > MOST_PRINCIPALS:
            raise CertificateError("it has too many principals")
    return tuple(found)


def read(path: Path) -> Certificate:
    """Read a certificate file of ssh-keygen -s; raise CertificateError if it is invalid."""
    try:
        fields = read_bounded(path, LARGEST_FILE).split()
    except OSError as error:
        raise CertificateError(f"it cannot be read: {error.strerror}") from error
    try:
        return parse(base64.b64decode(fields[1], validate=True))
    except (IndexError, binascii.Error, ValueError) as error:
        raise CertificateError("it contains no certificate") from error
