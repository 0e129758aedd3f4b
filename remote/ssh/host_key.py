"""Verify host keys against known_hosts; ask the user about unknown ones."""

import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, HostKeyQuestion, plain
from remote.ssh.keys import Certificate, CertificateError, parse
from remote.ssh.known_hosts import (
    HostKeyStatus,
    KnownHostsLine,
    append,
    authorities,
    fingerprint,
    global_files,
    host_pattern,
    known_types,
    read,
    revocation,
    user_files,
    verdict,
)
from remote.ssh.target import SshTarget
from remote.ssh.transport import BoundedTransport


@dataclass(slots=True)
class HostKeys:
    """Known host keys, read once per connection attempt; `file` replaces the files that OpenSSH reads."""

    asker: Asker
    file: Path | None = None
    _read: dict[tuple[Path, ...], list[KnownHostsLine]] = field(default_factory=dict)

    def _files(self, target: SshTarget) -> tuple[Path, ...]:
        if self.file is not None:
            return (self.file,)
        rules = target.host_key
        own = user_files() if rules.user_files is None else rules.user_files
        return (*own, *(global_files() if rules.global_files is None else rules.global_files))

    def _lines(self, target: SshTarget) -> list[KnownHostsLine]:
        files = self._files(target)
        if files not in self._read:
            self._read[files] = read(files)
        return self._read[files]

    def prepare(self, transport: BoundedTransport, target: SshTarget) -> None:
        """Prefer host key types that are known, and certificates if an authority is known."""
        lines = self._lines(target)
        transport.prefer_keys(known_types(lines, *target.known_as))
        transport.certificates = bool(authorities(lines, *target.known_as))

    def verify(self, transport: BoundedTransport, target: SshTarget, via: str | None) -> None:
        """Verify the server's key; raise ConnectError if it is not trusted.

        The user is asked about an unknown key, which is appended to known_hosts if accepted. An invalid certificate is
        ignored and its plain key verified, as in OpenSSH.
        """
        shown = transport.get_remote_server_key()
        problem = self._problem_of_certificate(shown, target)
        if problem is None:
            return
        found = verdict(self._lines(target), *target.known_as, shown.asbytes())
        if found.status is HostKeyStatus.TRUSTED:
            return
        if found.line is not None:
            raise (_revoked if found.status is HostKeyStatus.REVOKED else _changed)(target, shown, found.line)
        self._ask(target, shown, via, problem)

    def _problem_of_certificate(self, shown: paramiko.PKey, target: SshTarget) -> str | None:
        """Return why the key's certificate is not valid for the host, "" without one; None if it is valid."""
        if shown.public_blob is None:
            return ""
        try:
            certificate = parse(shown.public_blob.key_blob)
        except CertificateError as error:
            return str(error)
        lines = self._lines(target)
        revoking = revocation(lines, *target.known_as, certificate.authority)
        if revoking is not None:
            raise _revoked(target, shown, revoking, authority=certificate)
        if not any(line.key == certificate.authority for line in authorities(lines, *target.known_as)):
            return "its authority is unknown for this host"
        if revocation(lines, *target.known_as, certificate.key) is not None:
            return "its key is revoked"
        return certificate.problem_as_host(target.known_as[0], time.time()) or None

    def _ask(self, target: SshTarget, key: paramiko.PKey, via: str | None, problem: str) -> None:
        rules = target.host_key
        remarks = [rules.note, f"The host's certificate is not valid: {plain(problem)}." if problem else ""]
        file = self._writable(target)
        question = HostKeyQuestion(
            host=target.name,
            address=target.host_name,
            port=target.port,
            key_type=key.get_name(),
            fingerprint=fingerprint(key.asbytes()),
            known_hosts="" if file is None else str(file),
            via=via,
            note=" ".join(remark for remark in remarks if remark),
        )
        if not rules.ask:
            raise _refused(question, " StrictHostKeyChecking is yes.", "Add it to known_hosts")
        if not self.asker.host_key(question):
            if self.asker.expected_fingerprint is not None:
                raise _unexpected(question, self.asker.expected_fingerprint)
            raise _refused(question, "", "Accept it")
        if file is not None:
            append(file, *target.known_as, key.get_name(), key.asbytes(), hashed=rules.hashed)

    def _writable(self, target: SshTarget) -> Path | None:
        """Return the file for new keys, or None if UserKnownHostsFile is none."""
        own = self._files(target) if self.file is not None else target.host_key.user_files
        return next(iter(user_files() if own is None else own), None)


def _refused(question: HostKeyQuestion, reason: str, remedy: str) -> ConnectError:
    return ConnectError(
        ConnectOutcome.KEY_UNKNOWN,
        f"Unknown host key of {question.host} was not accepted: {question.fingerprint} "
        f"({question.key_type}).{reason} {question.note}".strip(),
        f"{remedy} after comparing it on the host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        host=question.host,
    )


def _unexpected(question: HostKeyQuestion, expected: str) -> ConnectError:
    return ConnectError(
        ConnectOutcome.KEY_UNKNOWN,
        f"Host key of {question.host} is not the expected one: the host sent {question.fingerprint} "
        f"({question.key_type}), but the given fingerprint is {plain(expected)}. Possible causes: a man-in-the-middle "
        "attack, a mistyped fingerprint, or that of a key of another type or host.",
        "Do not connect before the two match. On the host, for each key: "
        "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        host=question.host,
    )


def _changed(target: SshTarget, key: paramiko.PKey, line: KnownHostsLine) -> ConnectError:
    name = shlex.quote(host_pattern(*target.known_as))
    return ConnectError(
        ConnectOutcome.KEY_CHANGED,
        f"Host key of {target.name} has changed: the host sent {fingerprint(key.asbytes())} ({key.get_name()}), but "
        f"{line.path}, line {line.number} has {fingerprint(line.key)} ({plain(line.key_type, 60)}). Possible causes: "
        "a man-in-the-middle attack, a reinstalled host, or a cloud address reassigned to another instance, in which "
        "case earlier results are from another machine.",
        f"If the change is expected, remove the old key: ssh-keygen -R {name} -f {shlex.quote(str(line.path))}",
        host=target.name,
    )


def _revoked(
    target: SshTarget, key: paramiko.PKey, line: KnownHostsLine, authority: Certificate | None = None
) -> ConnectError:
    what, revoked = ("key", key.asbytes()) if authority is None else ("certificate's authority", authority.authority)
    return ConnectError(
        ConnectOutcome.KEY_REVOKED,
        f"The {what} of {target.name}, {fingerprint(revoked)}, is revoked in {line.path}, line {line.number}: the "
        "server may be an impostor.",
        "Get the new key from the host's administrator.",
        host=target.name,
    )
