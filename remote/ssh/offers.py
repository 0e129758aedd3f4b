"""What a user can prove who they are with: key files, the agent's keys, and the certificates for both."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paramiko.agent import AgentKey

from remote.ssh.certificate import Certificate, CertificateError, read
from remote.ssh.keys import KeyFile, PublicKey, UnusableKeyError, default_files, inspect
from remote.ssh.target import NO_IDENTITY, Target


@dataclass(frozen=True, slots=True)
class Form:
    """One way to show a key: with a certificate, which `suffix` then names, or bare."""

    public: PublicKey
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """The key files and certificates to use. `unused` says in words which of those that were named cannot be."""

    files: tuple[KeyFile, ...]
    certificates: tuple[tuple[Path, Certificate], ...]
    unused: tuple[str, ...]

    def forms(self, public: PublicKey) -> list[Form]:
        """Return the ways to show a key, those with a certificate first."""
        own = [
            Form(PublicKey(certificate.kind, certificate.blob), f" with the certificate {short(path)}")
            for path, certificate in self.certificates
            if certificate.key == public.blob
        ]
        return [*own, Form(public)]

    def of_agent(self, held: Sequence[AgentKey], *, only_named: bool) -> list[AgentKey]:
        """Return the agent's keys to offer: those of the files first, and no others where `only_named`."""
        named = [file.public.blob for file in self.files if file.public is not None]
        for _, certificate in self.certificates:
            named += [certificate.key, certificate.blob]
        first = sorted((key for key in held if key.asbytes() in named), key=lambda key: named.index(key.asbytes()))
        return first if only_named else [*first, *(key for key in held if key.asbytes() not in named)]


def collect(target: Target) -> Offers:
    """Return what `target` names, or OpenSSH's own default files where it names none.

    A certificate lies beside its key, or is named itself. Source: ssh_config(5), CertificateFile.
    """
    paths = [path for path in target.identity_files if path != NO_IDENTITY]
    paths = paths if target.identity_files else default_files()
    files: list[KeyFile] = []
    unused: list[str] = []
    for path in paths:
        try:
            files.append(inspect(path))
        except UnusableKeyError as error:
            unused.append(f"key file {short(path)} (not used: {error})")
    beside = [beside for path in paths if (beside := path.with_name(f"{path.name}-cert.pub")).is_file()]
    named = [path for path in target.certificate_files if path != NO_IDENTITY]
    certificates: list[tuple[Path, Certificate]] = []
    for path in dict.fromkeys([*named, *beside]):
        try:
            certificate = read(path)
        except CertificateError as error:
            unused.append(f"certificate {short(path)} (not used: {error})")
            continue
        problem = certificate.time_problem(time.time())
        if problem:
            unused.append(f"certificate {short(path)} (not used: {problem})")
        else:
            certificates.append((path, certificate))
    return Offers(tuple(files), tuple(certificates), tuple(unused))


def short(path: Path) -> str:
    """Return a path as people write it, with ~ for the home."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except ValueError:
        return str(path)
