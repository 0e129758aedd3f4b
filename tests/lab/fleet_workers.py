"""Workers of fleet studies, each on a computer of its own to Benchwright, and relays that cut them off.

A worker has a home, a host name, a boot id and a PID namespace of its own, so that no other can look whether it runs.
"""

import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from tests.lab_sshd import LabHost
from tests.program import environment

SCRIPT = """
hostname "$1" && mount --bind "$0/boot" /proc/sys/kernel/random/boot_id && shift && exec "$@"
"""
OWN_COMPUTER = ("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT)

SLOW_SYSBENCH = """#!/bin/sh
# Notes each start of a measurement, and takes its time.
case " $* " in *" run "*) echo "start $(date +%s.%N) $*" >> FOLDER/log; sleep SECONDS ;; esac
/usr/bin/sysbench "$@"
status=$?
case " $* " in *" run "*) echo "end $(date +%s.%N)" >> FOLDER/log ;; esac
exit $status
"""


def slow_sysbench(folder: Path, seconds: float) -> str:
    """Make a folder with a sysbench that takes `seconds` longer and notes its starts; return its path."""
    folder.mkdir(parents=True)
    program = folder / "sysbench"
    program.write_text(SLOW_SYSBENCH.replace("FOLDER", str(folder)).replace("SECONDS", str(seconds)))
    program.chmod(0o755)
    return str(folder)


def moments(folder: Path, what: str) -> list[float]:
    """Return when measurements started or ended (`what`) on a host, by its wall clock."""
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [float(line.split()[1]) for line in lines if line.split()[0] == what]


class Relay:
    """Forwards connections to ports of this computer, until it is cut; then it is silent, as a cut network is."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._resumed = threading.Event()
        self._resumed.set()
        self._ending = False
        self._others: dict[socket.socket, socket.socket] = {}
        self._thread = threading.Thread(target=self._run, name="relay")
        self._thread.start()

    def to(self, port: int) -> int:
        """Return a port from which connections are forwarded to `port`."""
        listening = socket.create_server(("127.0.0.1", 0))
        self._selector.register(listening, selectors.EVENT_READ, port)
        return int(listening.getsockname()[1])

    def cut(self) -> None:
        """Forward nothing until mend()."""
        self._resumed.clear()

    def mend(self) -> None:
        """Forward again, also what was sent meanwhile."""
        self._resumed.set()

    def close(self) -> None:
        """End every connection."""
        self._ending = True
        self._resumed.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def _run(self) -> None:
        while not self._ending:
            self._resumed.wait()
            for key, _ in self._selector.select(0.1):
                if not self._resumed.is_set():
                    break
                ready = key.fileobj
                assert isinstance(ready, socket.socket)
                if isinstance(key.data, int):
                    self._accept(ready, key.data)
                else:
                    self._forward(ready)

    def _accept(self, listening: socket.socket, port: int) -> None:
        near, _ = listening.accept()
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:
            near.close()
            return
        for one, other in ((near, far), (far, near)):
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _forward(self, ready: socket.socket) -> None:
        if ready not in self._others:  # closed in this round
            return
        data = b""
        with suppress(OSError):
            data = ready.recv(65536)
            self._others[ready].sendall(data)
        if data:
            return
        for one in (ready, self._others[ready]):
            self._others.pop(one)
            self._selector.unregister(one)
            one.close()


class Computer:
    """A computer on which workers run. It reaches the library and the hosts through relays of its own."""

    def __init__(
        self, folder: Path, name: str, database: int, hosts: Mapping[str, LabHost], known: Sequence[str] = ()
    ) -> None:
        """`database` is the port of the server; `known` are the hosts whose keys it has, by default all."""
        self.folder, self.name = folder, name
        self.to_database, self.to_hosts = Relay(), Relay()
        self.port = self.to_database.to(database)
        self.variables: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "home" / ".ssh").mkdir(parents=True)
        (folder / "boot").write_text(f"{uuid4()}\n")
        for alias, host in hosts.items():
            self._add(alias, host, trusted=not known or alias in known)

    def _add(self, alias: str, host: LabHost, *, trusted: bool) -> None:
        port, ssh = self.to_hosts.to(host.port), self.folder / "home" / ".ssh"
        with (ssh / "config").open("a") as config:
            config.write(host.config(alias).replace(f"Port {host.port}", f"Port {port}"))
        with (ssh / "known_hosts").open("a") as known_hosts:
            known_hosts.write(host.known_hosts_line.replace(f":{host.port} ", f":{port} ") if trusted else "")

    def start(self, url: str, *words: str) -> None:
        """Start a worker for the library at `url`, which its list of processes does not show."""
        home = self.folder / "home"
        folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE", "STATE")}
        command = [sys.executable, "-m", "tests.lab.fleet_worker_process", "worker", *words]
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [*OWN_COMPUTER, str(self.folder), self.name, *command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=environment(HOME=str(home), BENCHWRIGHT_STORE=url, **folders, **self.variables),
            )  # fmt: skip

    @property
    def output(self) -> str:
        """What its workers printed."""
        return (self.folder / "output").read_text(errors="replace")

    @property
    def log(self) -> str:
        """What its workers logged."""
        return "".join(path.read_text(errors="replace") for path in (self.folder / "home").rglob("*.log"))

    @property
    def runs(self) -> bool:
        """Whether its worker runs."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its worker; SIGKILL ends it for good."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in map(int, children):
            os.kill(pid, number)
        if number is signal.SIGKILL:
            self._process.wait(30)

    def wait(self, seconds: float) -> int:
        """Wait for the end of its worker; return its status."""
        assert self._process is not None
        return self._process.wait(seconds)

    def close(self) -> None:
        """End it."""
        if self.runs:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
        self.to_database.close()
        self.to_hosts.close()
