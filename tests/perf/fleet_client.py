"""One client of many hosts, measured: ``python -m tests.perf.fleet_client SIDE HOSTS LINES``; prints JSON.

SIDE is benchwright (sessions, jobs and Qt’s event loop, as in the window), bare (paramiko alone, without Nagle’s
delay), or ssh (a process of OpenSSH for each host). Every host prints a line a second, LINES of them; with 0, the
client only connects.
"""

import json
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import paramiko
from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.hosts.hosts import Hosts, SavedHosts
from app.questions import RefusingAsker
from remote.jobs.job import RemoteJob, make_workspace, remove_workspace
from remote.reconnect import ReconnectingSession
from remote.session import Session

SCRIPT = "i=0; while [ $i -lt {lines} ]; do i=$((i + 1)); echo $i; sleep 1; done"
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")
BEAT = 0.005
CONNECTING, STARTING, FOLLOWING, END = "connecting", "starting", "following", "end"


@dataclass(slots=True)
class Measured:
    """What a client took. `memory` is bytes a host, `cpu` a share of one core, the stalls are seconds."""

    connect: float = 0.0
    memory: float = 0.0
    cpu: float = 0.0
    lost: int = 0
    stall_connecting: float = 0.0
    stall_starting: float = 0.0
    stall: float = 0.0


@dataclass(slots=True)
class Lines:
    """What the hosts printed, as it came."""

    expected: int
    printed: dict[str, bytearray] = field(default_factory=dict)
    all_print: threading.Event = field(default_factory=threading.Event)
    hosts: int = 0

    def add(self, host: str, data: bytes) -> None:
        """Take the next bytes of a host."""
        self.printed.setdefault(host, bytearray()).extend(data)
        if len(self.printed) == self.hosts:
            self.all_print.set()

    def lost(self) -> int:
        """Return how many lines are missing, doubled or out of order."""
        right = b"".join(b"%d\n" % number for number in range(1, self.expected + 1))
        wrong = [host for host in range(self.hosts) if bytes(self.printed.get(f"host{host}", b"")) != right]
        return sum(
            abs(self.expected - self.printed.get(f"host{host}", bytearray()).count(b"\n")) or 1 for host in wrong
        )


def memory() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def processor() -> float:
    """Return the processor seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def watched(
    lines: Lines,
    found: Measured,
    work: Callable[[], None],
    window: "Window | None" = None,
    used: Callable[[], float] = processor,
) -> None:
    """Do `work`; meanwhile, once every host prints, look for stalls for some lines, then at the processor for some."""

    def look() -> None:
        lines.all_print.wait(120)
        if window is not None:
            window.send(STARTING)
        time.sleep(lines.expected / 3)
        if window is not None:
            window.send(FOLLOWING)
        began, before = time.monotonic(), used()
        time.sleep(lines.expected / 3)
        found.cpu = (used() - before) / (time.monotonic() - began)

    looking = threading.Thread(target=look)
    looking.start()
    work()
    looking.join()
    if window is not None:
        window.send("rest")  # what was read has been handed over then
    found.lost = lines.lost()


def names(count: int) -> list[str]:
    """Return the hosts' names."""
    return [f"host{number}" for number in range(count)]


# Benchwright


class Window(QObject):
    """Stands in for the window: gets what the hosts printed, and notes how long it was ever away from its events."""

    arrived = Signal(str, bytes)
    phase_over = Signal(str)  # the name of the phase that ends

    def __init__(self, lines: Lines, application: QCoreApplication) -> None:
        super().__init__()
        self.stalls: dict[str, float] = {}
        self.reported = threading.Event()
        self._application = application
        self._gaps = [0.0]
        self._last = time.monotonic()
        self._heart = QTimer(self)
        self._heart.setTimerType(Qt.TimerType.PreciseTimer)
        self._heart.timeout.connect(self._beat)
        self._heart.start(round(1000 * BEAT))
        self.arrived.connect(lines.add)
        self.phase_over.connect(self._end_phase)

    def _beat(self) -> None:
        now = time.monotonic()
        self._gaps.append(now - self._last)
        self._last = now

    def _end_phase(self, name: str) -> None:
        self._beat()
        self.stalls[name] = max(self._gaps)
        self._gaps = [0.0]
        if name == FOLLOWING:  # from here on the processor is measured, and measuring takes some of it
            self._heart.stop()
        elif name == END:
            self._application.quit()
        self.reported.set()

    def send(self, name: str) -> None:
        """Say, on another thread, that a phase is over; return once everything before has been seen to."""
        self.reported.clear()
        self.phase_over.emit(name)
        self.reported.wait()


def benchwright(count: int, length: int) -> Measured:
    """Connect and follow a job on each host, handing every piece to the window's thread."""
    application = QCoreApplication.instance() or QApplication([])
    lines = Lines(length, hosts=count)
    found, window = Measured(), Window(lines, application)
    worker = threading.Thread(target=_work, args=(found, lines, window))
    worker.start()
    application.exec()
    worker.join()
    found.stall_connecting, found.stall_starting = window.stalls[CONNECTING], window.stalls.get(STARTING, 0.0)
    found.stall = window.stalls.get(FOLLOWING, 0.0)
    return found


def _work(found: Measured, lines: Lines, window: Window) -> None:
    hosts = Hosts(SavedHosts(Path.home() / "hosts.toml"))
    hosts.connect(
        "host0", RefusingAsker()
    ).close()  # what connecting needs is read from the disk before the clock starts
    count, before = lines.hosts, memory()
    with ThreadPoolExecutor(count) as pool:
        began = time.monotonic()
        sessions = list(pool.map(lambda name: hosts.connect(name, RefusingAsker()), names(count)))
        found.connect = time.monotonic() - began
        window.send(CONNECTING)
        steady = list(pool.map(lambda session: ReconnectingSession(lambda: session), sessions))
        if lines.expected:
            watched(lines, found, lambda: _follow(pool, steady, lines.expected, window), window)
        found.memory = (memory() - before) / count
        list(pool.map(lambda session: session.close(), steady))
    window.send(END)


def _follow(pool: ThreadPoolExecutor, sessions: Sequence[Session], length: int, window: Window) -> None:
    def follow(session: Session) -> None:
        workspace = make_workspace(session, str(Path.home()))
        job = RemoteJob.start(session, workspace, ["sh", "-c", SCRIPT.format(lines=length)])
        for chunk in job.follow():
            if chunk is not None:
                window.arrived.emit(session.host, chunk.data)
        remove_workspace(session, workspace)

    list(pool.map(follow, sessions))


# paramiko alone


def bare(count: int, length: int) -> Measured:
    """Connect with nothing but paramiko, its keys and known hosts read once, and read from a channel each."""
    known = paramiko.HostKeys(str(Path.home() / ".ssh/known_hosts"))
    config = paramiko.SSHConfig.from_path(str(Path.home() / ".ssh/config"))
    found, lines = Measured(), Lines(length, hosts=count)

    def connect(name: str) -> paramiko.SSHClient:
        entry = config.lookup(name)
        sock = socket.create_connection((entry["hostname"], int(entry["port"])))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = paramiko.SSHClient()
        client._host_keys = known  # type: ignore[attr-defined]  # read once for all
        client.connect(
            entry["hostname"], int(entry["port"]), entry["user"], key_filename=entry["identityfile"], sock=sock,
            allow_agent=False, look_for_keys=False,
        )  # fmt: skip
        return client

    def follow(numbered: tuple[int, paramiko.SSHClient]) -> None:
        channel = numbered[1].get_transport().open_session()  # type: ignore[union-attr]
        channel.exec_command(SCRIPT.format(lines=length))
        while data := channel.recv(65536):
            lines.add(f"host{numbered[0]}", data)

    connect("host0").close()
    before = memory()
    with ThreadPoolExecutor(count) as pool:

        def follow_all() -> None:
            list(pool.map(follow, enumerate(clients)))

        began = time.monotonic()
        clients = list(pool.map(connect, names(count)))
        found.connect = time.monotonic() - began
        if length:
            watched(lines, found, follow_all)
        found.memory = (memory() - before) / count
        list(pool.map(lambda client: client.close(), clients))
    return found


# OpenSSH


def ssh(count: int, length: int) -> Measured:
    """Start a process of ssh for each host and read them all in one loop."""
    found, lines = Measured(), Lines(length, hosts=count)
    script = f"echo; read -r _; {SCRIPT.format(lines=length)}"
    began = time.monotonic()
    words = ["ssh", "-F", str(Path.home() / ".ssh/config")]
    processes = {
        name: subprocess.Popen([*words, name, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        for name in names(count)
    }
    for process in processes.values():
        assert process.stdout is not None
        process.stdout.read(1)
    found.connect = time.monotonic() - began
    found.memory = sum(_own_memory(process.pid) for process in processes.values()) / count
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.write(b"go\n")
    if length:
        used = _used_by([process.pid for process in processes.values()])
        watched(lines, found, lambda: _read_all(processes, lines), None, used)
    for process in processes.values():
        process.communicate()
    return found


def _read_all(processes: "dict[str, subprocess.Popen[bytes]]", lines: Lines) -> None:
    open_ = {process.stdout.fileno(): name for name, process in processes.items() if process.stdout is not None}
    while open_:
        for handle in select.select(list(open_), [], [])[0]:
            if data := os.read(handle, 65536):
                lines.add(open_[handle], data)
            else:
                del open_[handle]


def _own_memory(pid: int) -> int:
    """Return the bytes of a process that it shares with no other, and its part of the others (Pss)."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.partition("\nPss:")[2].split()[0]) * 1024


def _used_by(pids: list[int]) -> Callable[[], float]:
    """Return what gives the processor seconds of `pids`, and of this process, so far."""
    last: dict[int, int] = {}

    def used() -> float:
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            last[pid] = int(fields[11]) + int(fields[12])
        return processor() + sum(last.values()) / TICK

    return used


SIDES: dict[str, Callable[[int, int], Measured]] = {"benchwright": benchwright, "bare": bare, "ssh": ssh}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(SIDES[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3])))) + "\n")
    sys.stdout.flush()
