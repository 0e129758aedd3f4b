"""OpenSSH's certificates: a key, for whom or which host it stands and until when, signed by an authority.

Source: OpenSSH's PROTOCOL.certkeys, and sshkey.c, sshkey_cert_check_authority.
"""

import base64
import binascii
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import paramiko

from remote.local_file import read_bounded

SUFFIX = "-cert-v01@openssh.com"
LARGEST_FILE = 256 * 1024
MOST_PRINCIPALS = 256  # sshkey.c, SSHKEY_CERT_MAX_PRINCIPALS
USER, HOST = 1, 2

# How many fields the public key has, after its type and the certificate's nonce.
_FIELDS = {
    "ssh-ed25519": 1, "ssh-rsa": 2, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp384": 2, "ecdsa-sha2-nistp521": 2,
}  # fmt: skip
_AUTHORITIES: dict[str, type[paramiko.RSAKey | paramiko.ECDSAKey | paramiko.Ed25519Key]] = {
    "ssh-rsa": paramiko.RSAKey,
    "ssh-ed25519": paramiko.Ed25519Key,
    "ecdsa-sha2-nistp256": paramiko.ECDSAKey,
    "ecdsa-sha2-nistp384": paramiko.ECDSAKey,
    "ecdsa-sha2-nistp521": paramiko.ECDSAKey,
}
_SIGNATURES = frozenset(_AUTHORITIES) - {"ssh-rsa"} | {"rsa-sha2-256", "rsa-sha2-512"}
"""Algorithms an authority may have signed with. Source: ssh_config(5), CASignatureAlgorithms: no SHA-1."""


class CertificateError(Exception):
    """What should be a certificate is none, or of a kind that is not understood."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate, not yet verified. `key` is the public key it is about, as it is without a certificate."""

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
        """Return in words why the certificate is not valid at `now`, in seconds since 1970; empty where it is."""
        if now < self.valid_after:
            return f"it is not valid before {_date(self.valid_after)}"
        return f"it expired on {_date(self.valid_before)}" if now >= self.valid_before else ""

    def problem_as_host(self, name: str, now: float) -> str:
        """Return in words why the certificate does not vouch for the host `name`; empty where it does.

        Whether its authority is trusted is another question.
        """
        if self.role != HOST:
            return "it is no certificate of a host"
        if self.critical:
            return "it makes conditions that are not understood here"
        if self.principals and name.lower() not in self.principals:  # names, no patterns
            return f"it is for {', '.join(self.principals[:3])}"
        return self.time_problem(now) or ("" if self._is_signed() else "its signature is wrong")

    def _is_signed(self) -> bool:
        kind = paramiko.Message(self.authority).get_string().decode("ascii", "replace")
        message = paramiko.Message(self.signature)
        name, raw = message.get_string(), message.get_string()
        algorithm = name.decode("ascii", "replace")
        if self.signature != b"".join(struct.pack(">I", len(part)) + part for part in (name, raw)):
            return False  # paramiko would read a wrong length as far as there are bytes
        if kind not in _AUTHORITIES or algorithm not in _SIGNATURES:
            return False
        try:
            authority = _AUTHORITIES[kind](data=self.authority)
            return bool(authority.verify_ssh_sig(self.signed, paramiko.Message(self.signature)))
        except (paramiko.SSHException, ValueError, IndexError, struct.error):
            return False  # no key, or no signature


def _date(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return "a day beyond the calendar"


def parse(blob: bytes) -> Certificate:
    """Return the certificate in OpenSSH's binary form of it; raise CertificateError where it is none."""
    message = paramiko.Message(blob)
    kind = message.get_string().decode("ascii", "replace")
    plain = kind.removesuffix(SUFFIX)
    if plain == kind or plain not in _FIELDS:
        raise CertificateError(f"certificates of type {kind[:60]} are not understood here")
    message.get_string()  # the nonce
    key = paramiko.Message()
    key.add_string(plain)
    for _ in range(_FIELDS[plain]):
        key.add_string(message.get_string())
    message.get_int64()  # the serial number, which matters to lists of revoked keys alone
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
            raise CertificateError("it names too many principals")
    return tuple(found)


def read(path: Path) -> Certificate:
    """Return the certificate in the file that ssh-keygen -s wrote; raise CertificateError where there is none."""
    try:
        words = read_bounded(path, LARGEST_FILE).split()
    except OSError as error:
        raise CertificateError(f"it cannot be read: {error.strerror}") from error
    try:
        return parse(base64.b64decode(words[1], validate=True))
    except (IndexError, binascii.Error, ValueError) as error:
        raise CertificateError("it holds no certificate") from error
