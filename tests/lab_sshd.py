"""A real sshd on this computer, for every test that needs a host.

Ask for the fixture `lab_host`: a running `LabHost`; `lab_host.add_to_home()` makes it the alias "lab" of ~/.ssh/config,
with its key known, and `lab_host.connect()` gives a session on it. `start_lab_host` starts further ones: jump hosts,
limits, refusals. Questions are answered, and recorded, by `AnsweringAsker`. Without sshd such tests are skipped.
"""

import contextlib
import functools
import getpass
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from remote.questions import Asker, ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion
from remote.session import Channel, Session

if TYPE_CHECKING:
    # Every test reads this file through conftest.py; paramiko is only loaded for those that connect.
    from remote.ssh.target import SshTarget

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin")
PASSPHRASE = "correct horse"
START_GRACE = 60.0

DEFAULTS = {
    "ListenAddress": "127.0.0.1",
    "PidFile": "none",
    "StrictModes": "no",
    "UsePAM": "no",
    "UseDNS": "no",
    "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no",
    "PermitRootLogin": "yes",
    "PrintMotd": "no",
    "PrintLastLog": "no",
    "MaxStartups": "500",
    "LogLevel": "VERBOSE",
}
PENALTIES_SINCE = (9, 8)
"""The first version of OpenSSH that keeps out for a while who fails to get in, as some tests do on purpose."""


class AnsweringAsker(Asker):
    """Answers questions as scripted and records them. A secret that was not scripted is given up on (None)."""

    def __init__(
        self,
        *,
        accept_host_key: bool = False,
        secrets: Iterable[str | None] = (),
        keep: bool = False,
        allow_programs: bool = False,
        losses: Iterable[str | None] = (),
        agree: bool = True,
    ) -> None:
        self.accept_host_key = accept_host_key
        self.keep = keep
        self.allow_programs = allow_programs
        self.host_key_questions: list[HostKeyQuestion] = []
        self.secret_questions: list[SecretQuestion] = []
        self.program_questions: list[LocalProgramQuestion] = []
        self.loss_questions: list[LossQuestion] = []
        self.agree = agree
        self.consent_questions: list[ConsentQuestion] = []
        self._secrets = iter(secrets)
        self._losses = iter(losses)

    def host_key(self, question: HostKeyQuestion) -> bool:
        self.host_key_questions.append(question)
        return self.accept_host_key

    def secret(self, question: SecretQuestion) -> str | None:
        self.secret_questions.append(question)
        return next(self._secrets, None)

    def remember(self, question: SecretQuestion) -> bool:
        return self.keep

    def confirm_loss(self, question: LossQuestion) -> str | None:
        self.loss_questions.append(question)
        return next(self._losses, None)

    def consent(self, question: ConsentQuestion) -> bool:
        self.consent_questions.append(question)
        return self.agree

    def local_program(self, question: LocalProgramQuestion) -> bool:
        self.program_questions.append(question)
        return self.allow_programs


def read_on(channel: Channel) -> NoReturn:
    """Read from a channel until it raises: for tests of what ends a connection."""
    while True:
        channel.read(60.0)


@dataclass(frozen=True, slots=True)
class LabKeys:
    """Key files, made once for all tests: `client` and `encrypted` are let in, `stranger` is not."""

    client: Path
    encrypted: Path
    stranger: Path
    host: Path
    other_host: Path


def make_key(path: Path, *, passphrase: str = "", kind: str = "ed25519") -> Path:
    """Make a key pair at `path` with ssh-keygen and return the path."""
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", path.name, "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="session")
def lab_keys(tmp_path_factory: pytest.TempPathFactory) -> LabKeys:
    """Return the keys of the lab; skip where there is no OpenSSH."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("sshd and ssh-keygen are not installed (Debian: openssh-server)")
    directory = tmp_path_factory.mktemp("keys")
    return LabKeys(
        client=make_key(directory / "client"),
        encrypted=make_key(directory / "encrypted", passphrase=PASSPHRASE),
        stranger=make_key(directory / "stranger"),
        host=make_key(directory / "host"),
        other_host=make_key(directory / "other_host"),
    )


@functools.cache
def _openssh_version() -> tuple[int, ...]:
    shown = subprocess.run(["ssh", "-V"], check=True, capture_output=True, text=True).stderr
    match = re.match(r"OpenSSH_(\d+)\.(\d+)", shown)
    return (0,) if match is None else (int(match[1]), int(match[2]))


_given: set[int] = set()  # the kernel gives a port again that was closed: of a hundred at once, two would be the same


def free_port() -> int:
    """Return a port nobody listens on, which this process has not had before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


class LabHost:
    """One sshd with keys, files and a home of its own. `options` override its sshd_config."""

    def __init__(self, directory: Path, keys: LabKeys, options: dict[str, str] | None = None) -> None:
        self.directory = directory
        self.keys = keys
        self.options = dict(options or {})
        self.user = getpass.getuser()
        self.address = "127.0.0.1"
        self.port = free_port()
        self.prefix: list[str] = []  # words that sshd runs behind, such as those that enter a namespace
        self.host_key = keys.host
        self.home = directory / "home"  # $HOME of what runs on the host; its working directory is the real one
        self.known_hosts = directory / "known_hosts"  # has the host's key
        self._log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self.home.mkdir(parents=True)
        authorized = [path.with_suffix(".pub").read_text() for path in (keys.client, keys.encrypted)]
        (directory / "authorized_keys").write_text("".join(authorized))
        self.known_hosts.write_text(self.known_hosts_line)

    @property
    def known_hosts_line(self) -> str:
        """The line of known_hosts that trusts this host."""
        return f"[{self.address}]:{self.port} {' '.join(self._public_host_key.split()[:2])}\n"

    @property
    def _public_host_key(self) -> str:
        return self.host_key.with_suffix(".pub").read_text()

    @property
    def fingerprint(self) -> str:
        """The host key's fingerprint as ssh-keygen prints it."""
        words = ["ssh-keygen", "-l", "-f", str(self.host_key)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]

    @property
    def log(self) -> str:
        """What sshd logged since it was started."""
        return self._log.read_text(errors="replace")

    def authorize(self, key: Path) -> None:
        """Let one more key in."""
        with (self.directory / "authorized_keys").open("a") as file:
            file.write(key.with_suffix(".pub").read_text())

    def refuse_everybody(self) -> None:
        """Let no key in any more."""
        (self.directory / "authorized_keys").write_text("")

    def config(self, alias: str = "lab", *, key: Path | None = None, more: str = "") -> str:
        """Return a block of ~/.ssh/config that reaches this host with the client's key."""
        identity = key or self.keys.client
        return (
            f"Host {alias}\n  HostName {self.address}\n  Port {self.port}\n  User {self.user}\n"
            f"  IdentityFile {identity}\n  IdentitiesOnly yes\n{more}"
        )

    def add_to_home(self, alias: str = "lab", *, trusted: bool = True, more: str = "") -> None:
        """Add this host to the test's own ~/.ssh/config, with `more` lines, and to its known_hosts if `trusted`."""
        folder = Path.home() / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / "config").open("a") as config:
            config.write(self.config(alias, more=more))
        if trusted:
            with (folder / "known_hosts").open("a") as known_hosts:
                known_hosts.write(self.known_hosts_line)

    def target(self, *, key: Path | None = None, more: str = "") -> "SshTarget":
        """Return the way to this host; `more` is added to its block of the ssh config."""
        from remote.ssh.target import resolve

        path = self.directory / "config"
        text = self.config(key=key, more=more)
        if not path.exists() or path.read_text() != text:  # another thread of the test may be reading it
            path.write_text(text)
        return resolve("lab", config=path)

    def connect(self, asker: Asker | None = None, *, key: Path | None = None) -> Session:
        """Return a session on this host."""
        from remote.ssh.connect import connect

        return connect(self.target(key=key), asker or AnsweringAsker(), known_hosts=self.known_hosts)

    def start(self, **options: str) -> None:
        """Start sshd, with `options` added to its sshd_config, and wait until it listens."""
        self.options |= options
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(parents=True, exist_ok=True)
        settings = self.options | {
            "Port": str(self.port),
            "HostKey": str(self.host_key),
            "AuthorizedKeysFile": self.options.get("AuthorizedKeysFile", str(self.directory / "authorized_keys")),
            "SetEnv": f"HOME={self.home} {_own_leases()} {self.options.get('SetEnv', '')}",
        }
        # sshd takes the first value it finds.
        settings |= {name: value for name, value in DEFAULTS.items() if name not in settings}
        if _openssh_version() >= PENALTIES_SINCE:
            settings["PerSourcePenalties"] = "no"
        path = self.directory / "sshd_config"
        path.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*self.prefix, str(SSHD), "-D", "-e", "-f", str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait_until_listening(self._process)

    def _wait_until_listening(self, process: subprocess.Popen[bytes]) -> None:
        ended = os.pidfd_open(process.pid)
        deadline = time.monotonic() + START_GRACE
        try:
            while "Server listening" not in self.log:
                # Waits for the end of sshd rather than for time to pass: a bad configuration is seen at once.
                if select.select([ended], [], [], 0.002)[0] or time.monotonic() > deadline:
                    pytest.fail(f"sshd does not start:\n{self.log}")
        finally:
            os.close(ended)

    def stop(self) -> None:
        """Stop sshd and cut every connection it has. Jobs on the host go on, as they would after a real cut."""
        if self._process is not None:
            # Its children are found through it: once it has ended they belong to nobody.
            connections = self.connections()
            self._process.terminate()
            self._process.wait()
            _signal(connections, signal.SIGKILL)
            self._process = None

    def restart(self, *, host_key: Path | None = None, **options: str) -> None:
        """Stop and start again at the same port: with another host key, other options. known_hosts is left alone."""
        self.stop()
        self.host_key = host_key or self.host_key
        self.start(**options)

    @property
    def pid(self) -> int:
        """The process of sshd."""
        assert self._process is not None
        return self._process.pid

    def connections(self) -> list[int]:
        """Return the processes of sshd that serve a connection."""
        return [] if self._process is None else _descendants(self._process.pid, "sshd")

    def cut(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the server's end of every connection: kill it, or let it fall silent (SIGSTOP)."""
        _signal(self.connections(), number)


def _own_leases() -> str:
    """Return the setting that gives this test's hosts leases of their own: all tests share this computer."""
    return f"BENCHWRIGHT_LEASES={os.environ.get('BENCHWRIGHT_LEASES', '/dev/shm')}"


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(pid, number)


def _descendants(root: int, command: str) -> list[int]:
    """Return the processes under `root` that run `command`."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = path.read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(path.parent.name)
        parents[pid] = int(rest.split()[1])
        names[pid] = head.partition("(")[2]
    found = {root}
    for _ in range(4):  # sshd keeps at most a monitor and a child of it per connection
        found |= {pid for pid, parent in parents.items() if parent in found and names[pid].startswith(command)}
    return sorted(found - {root})


@pytest.fixture
def start_lab_host(tmp_path_factory: pytest.TempPathFactory, lab_keys: LabKeys) -> Iterator[Callable[..., LabHost]]:
    """Return a function that starts an sshd with the given options of sshd_config; all are stopped after the test."""
    started: list[LabHost] = []

    def start(**options: str) -> LabHost:
        host = LabHost(tmp_path_factory.mktemp("sshd"), lab_keys, options)
        started.append(host)
        host.start()
        return host

    yield start
    for host in started:
        host.stop()


@pytest.fixture
def lab_host(start_lab_host: Callable[..., LabHost]) -> LabHost:
    """Return a running sshd that lets the lab's client key in."""
    return start_lab_host()
