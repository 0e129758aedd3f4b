"""Where what fools people is staged: a workstation, disks, links, quotas and other programs whose truth is known."""

import contextlib
import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Self

from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.services import Workstation
from suites.facts import Facts, known
from tests.lab.guard import Guard
from tests.lab.links import LinkedHost, delayed, linking
from tests.lab_sshd import LabHost

MIB, GIB = 2**20, 2**30

CGROUPS = Path("/sys/fs/cgroup")
"""Where the controllers of the first version are mounted, each in a directory of its own."""

_OTHER_BOOT = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
_CPU_GROUPS = """here=/sys/fs/cgroup/$0
mount -t tmpfs none /sys/fs/cgroup && mkdir "$here" && mount -t cgroup -o "$0" none "$here" && exec "$@"
"""
"""Shows the groups of a controller of the first version, which a network namespace's /sys hides."""
_OTHER_SPEED = 'mount --bind "$0" /sys/class/net/eth0/speed && exec "$@"'

FIRST = str(2**18)
"""The weight of a host's group, beside 1024 of each task in none."""

_SPIN = """
import os, signal
for _ in range({count} - 1):
    if not os.fork():
        break
signal.alarm(120)
while True: pass
"""


class NotStagedError(Exception):
    """The kernel, the account or the tools here cannot stage it; says why."""


def need_root(*tools: str) -> None:
    """Raise NotStagedError where this is not root, or a tool is missing."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise NotStagedError(f"{missing[0]} is not installed")
    if os.geteuid() != 0:
        raise NotStagedError("it needs root")


class SlowDisk:
    """A file system on a device whose limits are below it; see slow_disk.py."""

    def __init__(self, folder: Path, size: int, guard: Guard, stack: contextlib.ExitStack) -> None:
        """Mount it in a new directory of `folder`, without limits; `guard` unmounts it when `stack` is left."""
        file, self.folder = folder / "slow.img", folder / "slow"
        file.touch()
        self.folder.mkdir()
        guard.note("disk", file, self.folder)
        words = [sys.executable, str(Path(__file__).with_name("slow_disk.py")), str(file), str(size)]
        self._server = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._server.stdin is not None
        stack.enter_context(self._server)
        stack.callback(guard.close)  # it serves until it is unmounted
        stack.callback(self._server.stdin.close)
        self._answer()
        self.device = _run("losetup", "--find", "--show", "--direct-io=on", str(file)).strip()
        few = ("-N", "4096")  # inodes, as many as a database needs: a larger table takes long to write
        _run("mkfs.ext4", "-q", *few, "-O", "^has_journal", "-E", "nodiscard,lazy_itable_init=0", self.device)
        _run("mount", self.device, str(self.folder))

    def limit(self, **limits: float) -> None:
        """Change its limits."""
        assert self._server.stdin is not None
        self._server.stdin.write(f"{json.dumps(limits)}\n")
        self._server.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        if self._server.stdout is None or self._server.stdout.readline() != "ready\n":
            raise NotStagedError("no file system of our own can be mounted here (FUSE)")


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotStagedError(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout


class Stage:
    """What a case is staged on. Everything that is made here is gone when it is left, or when its process is killed."""

    def __init__(self, folder: Path, start: Callable[[], LabHost]) -> None:
        """Keep the library in `folder`; `start` starts a host that its maker stops."""
        self.folder = folder
        self._start = start
        self._stack = contextlib.ExitStack()
        self.guard = Guard()
        self._stack.callback(self.guard.close)
        self._hosts: list[LabHost] = []
        self._numbers = itertools.count(1)
        self._groups: dict[tuple[str, int], Path] = {}
        self._others: list[int] = []
        self.workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
        self._stack.callback(self.workstation.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for host in self._hosts:
            host.stop()
        self._stack.close()

    def _started(self) -> LabHost:
        host = self._start()
        self._hosts.append(host)
        return host

    @staticmethod
    @functools.cache
    def facts() -> Facts:
        """Return the facts of this computer as they were at first; they are read again before each run anyway.

        Tools start as fast as they do where no other tests run.
        """
        with tempfile.TemporaryDirectory() as folder:
            reader = Workstation(Path(folder) / "runs.sqlite3", Path(folder) / "hosts.toml")
            try:
                facts = reader.facts(LOCAL, RefusingAsker())
                return replace(facts, tools=tuple(replace(tool, start_up=0.002) for tool in facts.tools))
            finally:
                reader.close()

    def disk(self) -> str:
        """Return a directory on a disk whose I/Os the kernel counts."""
        for found in self.facts().directories:
            if isinstance(found.device, str) and found.direct is True and found.path in {"/var/tmp", "/tmp"}:
                return found.path
        raise NotStagedError("neither /var/tmp nor /tmp is on a disk whose I/Os the kernel counts")

    def file(self, name: str, size: int = 0) -> Path:
        """Return the path of a file of holes on the disk, gone in the end."""
        path = Path(self.disk()) / f"benchwright-stage-{os.getpid()}-{name}"
        self.guard.note("file", path)
        with path.open("wb") as content:
            content.truncate(size)
        return path

    def fill(self, file: Path) -> None:
        """Write bytes of chance all over a file, so that it has no holes, and none of it is in memory."""
        size = file.stat().st_size
        words = ["dd", "if=/dev/urandom", f"of={file}", "bs=4M", f"count={size // (4 * MIB)}", "oflag=direct"]
        subprocess.run(words, check=True, capture_output=True)

    def disk_number(self) -> str:
        """Return the number, as the kernel's limits name it, of the whole disk below the directory."""
        directory = self.facts().directory(self.disk())
        name = None if directory is None else known(directory.device)
        while name and (block := self.facts().block_device(name)) is not None and (parent := known(block.parent)):
            name = parent
        number = Path(f"/sys/class/block/{name}/dev")
        if not number.exists():
            raise NotStagedError(f"{name} has no number that a limit could name")
        return number.read_text().strip()

    def host(self, *prefix: str) -> tuple[str, LabHost]:
        """Return the name of a host of its own, reached by SSH, and the host. It goes before all else here.

        `prefix` are words behind which its sshd runs.
        """
        host, name = self._started(), f"lab-{next(self._numbers)}"
        if prefix:
            host.prefix = [*prefix]
            host.restart()
        host.add_to_home(name)
        self._go_first(host)
        return name, host

    def _go_first(self, host: LabHost) -> None:
        """Let a host and all that runs on it go before whatever else this computer does, as far as we may."""
        if os.geteuid() == 0 and (CGROUPS / "cpu" / "cgroup.procs").exists():
            self._group("cpu", host, shares=FIRST)
        elif os.geteuid() == 0:
            os.setpriority(os.PRIO_PROCESS, host.pid, -15)

    def _group(self, controller: str, host: LabHost, **settings: str) -> None:
        """Put a host into a group with these settings, or change those of the group in which it is."""
        need_root()
        parent = CGROUPS / controller
        if not (parent / "cgroup.procs").exists():
            raise NotStagedError(f"this kernel has no group of {controller} in the first version’s way")
        group = parent / f"benchwright-{os.getpid()}-{host.port}"
        if (controller, host.port) not in self._groups:
            self.guard.note("group", group)
            group.mkdir()
            self._groups[controller, host.port] = group
        for setting, value in settings.items():
            (group / f"{controller}.{setting.replace('__', '.')}").write_text(value)
        for pid in _with_children(host.pid):
            (group / "cgroup.procs").write_text(str(pid))

    def grouped(self, controller: str, **settings: str) -> str:
        """Return the name of a host all of whose processes are in a group with these settings."""
        name, host = self.host()
        self._group(controller, host, **settings)
        return name

    def limit(self, host: LabHost, controller: str, **settings: str) -> None:
        """Put a host into a group with these settings."""
        self._group(controller, host, **settings)

    def slow_disk(self, size: int = 4 * GIB, **limits: float) -> SlowDisk:
        """Return a file system on a device with limits below it."""
        need_root("losetup", "mkfs.ext4")
        folder = Path(self.disk(), f"benchwright-stage-{os.getpid()}-{next(self._numbers)}")
        self.guard.note("file", folder)
        folder.mkdir()
        disk = SlowDisk(folder, size, self.guard, self._stack)
        disk.limit(**limits)
        return disk

    def links(self, count: int = 2, megabits: int | None = None) -> list[LinkedHost]:
        """Return so many hosts on one bridge, each with a boot of its own, as far as it can see.

        `megabits` is the speed that their interfaces report, in place of a virtual one's 10000.
        """
        hosts = self._stack.enter_context(linking(self._started))(count)
        for number, host in enumerate(hosts):
            boot = self.folder / f"boot-{number}"
            boot.write_text(f"{number}1111111-2222-3333-4444-555555555555\n")
            host.ssh.prefix = [*host.words("unshare", "-m", "sh", "-c", _OTHER_BOOT, str(boot))]
            if (CGROUPS / "cpu" / "cgroup.procs").exists():
                host.ssh.prefix += ["sh", "-c", _CPU_GROUPS, "cpu"]
            if megabits is not None:
                speed = self.folder / "speed"
                speed.write_text(f"{megabits}\n")
                host.ssh.prefix += ["sh", "-c", _OTHER_SPEED, str(speed)]
            host.ssh.restart()
            self._go_first(host.ssh)
        return hosts

    def far_away(self, near: LinkedHost, far: LinkedHost, milliseconds: float) -> str:
        """Return an address of `far` that an answer comes from after so long."""
        return self._stack.enter_context(delayed(near, far, milliseconds / 2))

    def compete(self, processes: int, host: LabHost | None = None) -> None:
        """Let so many processes of somebody else take what they get of the processors, until the end.

        Beside `host`, they get as much of them as its own.
        """
        self.beside(sys.executable, "-c", _SPIN.format(count=processes), host=host)

    def beside(self, *words: str, host: LabHost | None = None) -> None:
        """Let somebody else run a program until the end."""
        group = None if host is None else self._groups.get(("cpu", host.port))
        enter = "" if group is None else f"echo 0 > {group}/cgroup.procs; "
        # Its parent ends at once: a child of ours would count as Benchwright's own.
        shell = ["sh", "-c", f'{enter}"$@" &', "sh", *words]
        with subprocess.Popen(
            shell, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as parent:
            self._others.append(parent.pid)
            self.guard.note("processes", parent.pid)

    def let_others(self, *, run: bool) -> None:
        """Stop the programs of others, or let them go on: while they take a host's processors, nothing else gets on."""
        for leader in self._others:
            _signal_group(leader, signal.SIGCONT if run else signal.SIGSTOP)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def _with_children(pid: int) -> list[int]:
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child in below for found in _with_children(int(child)))]
