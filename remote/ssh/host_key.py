"""Is this the right host? Its key against known_hosts, with the user's word where nothing is known."""

import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from remote.errors import ConnectError, Outcome
from remote.plain import plain
from remote.questions import Asker, HostKeyQuestion
from remote.ssh.certificate import Certificate, CertificateError, parse
from remote.ssh.known_hosts import (
    Line,
    Standing,
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
from remote.ssh.target import Target
from remote.ssh.transport import BoundedTransport


@dataclass(slots=True)
class HostKeys:
    """The host keys known when connecting began; `file` stands in for the files that OpenSSH would read."""

    asker: Asker
    file: Path | None = None
    _read: dict[tuple[Path, ...], list[Line]] = field(default_factory=dict)

    def _files(self, target: Target) -> tuple[Path, ...]:
        if self.file is not None:
            return (self.file,)
        rules = target.host_key
        own = user_files() if rules.user_files is None else rules.user_files
        return (*own, *(global_files() if rules.global_files is None else rules.global_files))

    def _lines(self, target: Target) -> list[Line]:
        files = self._files(target)
        if files not in self._read:
            self._read[files] = read(files)
        return self._read[files]

    def prepare(self, transport: BoundedTransport, target: Target) -> None:
        """Let the host be asked for a key that is known, or for a certificate where an authority is."""
        lines = self._lines(target)
        transport.prefer_keys(known_types(lines, *target.known_as))
        transport.certificates = bool(authorities(lines, *target.known_as))

    def verify(self, transport: BoundedTransport, target: Target, via: str | None) -> None:
        """Return if the key the server has shown is trusted; raise ConnectError otherwise.

        An unknown key is asked about, and appended to known_hosts where the user accepts it. A certificate that does
        not hold counts for nothing: its key is then judged like any other, as OpenSSH does.
        """
        shown = transport.get_remote_server_key()
        problem = self._problem_of_certificate(shown, target)
        if problem is None:
            return
        found = verdict(self._lines(target), *target.known_as, shown.asbytes())
        if found.standing is Standing.TRUSTED:
            return
        if found.line is not None:
            raise (_revoked if found.standing is Standing.REVOKED else _changed)(target, shown, found.line)
        self._ask(target, shown, via, problem)

    def _problem_of_certificate(self, shown: paramiko.PKey, target: Target) -> str | None:
        """Return why the key's certificate does not vouch for the host, "" without one; None where it does."""
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
            return "its authority is not known for this host"
        if revocation(lines, *target.known_as, certificate.key) is not None:
            return "its key is revoked"
        return certificate.problem_as_host(target.known_as[0], time.time()) or None

    def _ask(self, target: Target, key: paramiko.PKey, via: str | None, problem: str) -> None:
        rules = target.host_key
        remarks = [rules.note, f"The host shows a certificate that does not hold: {plain(problem)}." if problem else ""]
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
            raise _refused(question, " StrictHostKeyChecking yes forbids to ask.", "Add it to known_hosts first")
        if not self.asker.host_key(question):
            raise _refused(question, "", "Accept it")
        if file is not None:
            append(file, *target.known_as, key.get_name(), key.asbytes(), hashed=rules.hashed)

    def _writable(self, target: Target) -> Path | None:
        """Return the file that new keys go to, or None where UserKnownHostsFile is none."""
        own = self._files(target) if self.file is not None else target.host_key.user_files
        return next(iter(user_files() if own is None else own), None)


def _refused(question: HostKeyQuestion, why: str, remedy: str) -> ConnectError:
    return ConnectError(
        Outcome.KEY_UNKNOWN,
        f"The key of {question.host} is not known and was not accepted: {question.fingerprint} "
        f"({question.key_type}).{why} {question.note}".strip(),
        f"{remedy} once it is the same as the host's own: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        host=question.host,
    )


def _changed(target: Target, key: paramiko.PKey, line: Line) -> ConnectError:
    name = shlex.quote(host_pattern(*target.known_as))
    return ConnectError(
        Outcome.KEY_CHANGED,
        f"The key of {target.name} has changed: it shows {fingerprint(key.asbytes())} ({key.get_name()}), but "
        f"{line.path}, line {line.number} has {fingerprint(line.key)} ({plain(line.key_type, 60)}). Either somebody "
        "is listening in, or the host was reinstalled, or its cloud address now belongs to another instance: figures "
        "from before would then be another machine's.",
        f"If you know why it changed, remove the old key with: ssh-keygen -R {name} -f {shlex.quote(str(line.path))}",
        host=target.name,
    )


def _revoked(target: Target, key: paramiko.PKey, line: Line, authority: Certificate | None = None) -> ConnectError:
    what, revoked = ("key", key.asbytes()) if authority is None else ("certificate's authority", authority.authority)
    return ConnectError(
        Outcome.KEY_REVOKED,
        f"The {what} of {target.name}, {fingerprint(revoked)}, is revoked by {line.path}, line {line.number}: "
        "whoever shows it may not be the host.",
        "Ask whoever looks after the host for its new key.",
        host=target.name,
    )
