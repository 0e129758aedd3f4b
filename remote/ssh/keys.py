"""Key files: what can be said of one without its passphrase, and the private key with it."""

import base64
import binascii
import contextlib
from dataclasses import dataclass
from pathlib import Path

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from remote.local_file import read_bounded
from remote.ssh.ssh_config import own_folder

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
    """A key file cannot be used; the text says why, for people."""


class WrongPassphraseError(Exception):
    """The passphrase does not open the key."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: its type and OpenSSH's binary form of it."""

    kind: str
    blob: bytes


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A key file that was looked at. `public` is None where only the private key would tell.

    `private` is False for a file that holds a public key alone: its private key may be the agent's.
    """

    path: Path
    public: PublicKey | None
    encrypted: bool
    private: bool = True


def default_files() -> list[Path]:
    """Return OpenSSH's default key files that exist."""
    return [path for name in DEFAULT_NAMES if (path := own_folder() / name).is_file()]


def inspect(path: Path) -> KeyFile:
    """Look at the key file `path`; raise UnusableKeyError where there is none or it holds no key."""
    text = _read(path)
    beside = path.with_name(path.name + ".pub")
    public = _parse_public(text)
    if public is not None:
        return KeyFile(path, public, encrypted=False, private=False)
    if "PRIVATE KEY-----" not in text:
        raise UnusableKeyError("it holds no key")
    header = _openssh_header(text)
    if header is not None:
        return KeyFile(path, header[0], encrypted=header[1])
    with contextlib.suppress(UnusableKeyError):
        public = _parse_public(_read(beside))
    return KeyFile(path, public, encrypted="ENCRYPTED" in text)


def load(file: KeyFile, passphrase: str | None) -> paramiko.PKey:
    """Return the private key.

    Raises WrongPassphraseError, or UnusableKeyError for a kind of key that cannot be used.
    """
    kind = _CLASSES.get(file.public.kind) if file.public else _class_by_header(_read(file.path))
    if kind is None:
        raise UnusableKeyError(
            f"keys of type {file.public.kind if file.public else 'unknown'} work through an agent only"
        )
    try:
        return kind.from_private_key_file(str(file.path), passphrase)
    except (paramiko.PasswordRequiredException, TypeError) as error:
        raise WrongPassphraseError from error
    except OSError as error:
        raise UnusableKeyError(f"it cannot be read: {error.strerror}") from error
    except (paramiko.SSHException, ValueError, AssertionError, UnsupportedAlgorithm, IndexError) as error:
        # A wrong passphrase yields noise instead of a key; each reader of a key stumbles over it in its own way.
        if file.encrypted and passphrase is not None:
            raise WrongPassphraseError from error
        raise UnusableKeyError("its format is not supported (rewrite it with ssh-keygen -p)") from error


def _read(path: Path) -> str:
    try:
        content = read_bounded(path, LARGEST_FILE)
    except OSError as error:
        what = (
            "there is no such file" if isinstance(error, FileNotFoundError) else f"it cannot be read: {error.strerror}"
        )
        raise UnusableKeyError(what) from error
    if len(content) > LARGEST_FILE:
        raise UnusableKeyError("it is too large to be a key")
    return content.decode("utf-8", "replace")


def _class_by_header(text: str) -> type[paramiko.RSAKey | paramiko.ECDSAKey] | None:
    """Return the kind of key in the older formats, which name it in their first line."""
    if "BEGIN RSA PRIVATE KEY" in text:
        return paramiko.RSAKey
    return paramiko.ECDSAKey if "BEGIN EC PRIVATE KEY" in text else None


def _parse_public(text: str) -> PublicKey | None:
    """Return the key of a ``.pub`` file: a type, base64 and a comment."""
    words = text.split()
    if len(words) < 2 or words[0].startswith("-"):
        return None
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        return None
    return PublicKey(words[0], blob) if paramiko.Message(blob).get_string() == words[0].encode() else None


def _openssh_header(text: str) -> tuple[PublicKey, bool] | None:
    """Return the public key in a private key file of OpenSSH's own format, and whether the file is encrypted.

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
