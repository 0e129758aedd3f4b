"""Where what fools people is staged: a workstation, disks, links, quotas and other programs whose truth is known."""

import contextlib
import functools
import itertools
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
from tests.lab.links import LinkedHost, linking
from tests.lab_sshd import LabHost

MIB, GIB = 2**20, 2**30

CGROUPS = Path("/sys/fs/cgroup")
"""Where the controllers of the first version are mounted, each in a directory of its own."""

_OTHER_BOOT = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'

_SPIN = "import os\nfor _ in range({count} - 1):\n    os.fork() or exec('while True: pass')\nwhile True: pass"


class NotStagedError(Exception):
    """The kernel, the account or the tools here cannot stage it; says why."""


def need_root(*tools: str) -> None:
    """Raise NotStagedError where this is not root, or a tool is missing."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise NotStagedError(f"{missing[0]} is not installed")
    if os.geteuid() != 0:
        raise NotStagedError("it needs root")


def go_first(host: LabHost) -> None:
    """Let a host and all that runs on it go before whatever else this computer does, as far as we may."""
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, host.pid, -15)


class Stage:
    """What a case is staged on. Everything that is made here is gone when it is left."""

    def __init__(self, folder: Path, start: Callable[[], LabHost]) -> None:
        """Keep the library in `folder`; `start` starts a host that its maker stops."""
        self.folder = folder
        self._start = start
        self._stack = contextlib.ExitStack()
        self._numbers = itertools.count(1)
        self.workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
        self._stack.callback(self.workstation.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

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
        self._stack.callback(path.unlink, missing_ok=True)
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

    def host(self) -> tuple[str, LabHost]:
        """Return the name of a host of its own, reached by SSH, and the host. It goes before all else here."""
        host, name = self._start(), f"lab-{next(self._numbers)}"
        host.add_to_home(name)
        go_first(host)
        return name, host

    def grouped(self, controller: str, **settings: str) -> str:
        """Return the name of a host all of whose processes are in a group with these settings."""
        need_root()
        parent = CGROUPS / controller
        if not (parent / "cgroup.procs").exists():
            raise NotStagedError(f"this kernel has no group of {controller} in the first version’s way")
        name, host = self.host()
        group = parent / f"benchwright-{os.getpid()}-{host.port}"
        group.mkdir()
        self._stack.callback(_remove_group, group, host)
        for setting, value in settings.items():
            (group / f"{controller}.{setting.replace('__', '.')}").write_text(value)
        (group / "cgroup.procs").write_text(str(host.pid))
        return name

    def links(self, count: int = 2) -> list[LinkedHost]:
        """Return so many hosts on one bridge, each with a boot of its own, as far as it can see."""
        hosts = self._stack.enter_context(linking(self._start))(count)
        for number, host in enumerate(hosts):
            boot = self.folder / f"boot-{number}"
            boot.write_text(f"{number}1111111-2222-3333-4444-555555555555\n")
            host.ssh.prefix = [*host.words("unshare", "-m", "sh", "-c", _OTHER_BOOT, str(boot))]
            host.ssh.restart()
            go_first(host.ssh)
        return hosts

    def compete(self, processes: int) -> None:
        """Let so many processes of somebody else take what they get of the processors, until the end."""
        words = ["sh", "-c", '"$@" &', "sh", sys.executable, "-c", _SPIN.format(count=processes)]
        # Its parent ends at once: a child of ours would count as Benchwright's own.
        with subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL) as parent:
            self._stack.callback(os.killpg, parent.pid, signal.SIGKILL)


def _remove_group(group: Path, host: LabHost) -> None:
    """Stop the host and remove the group, once nothing is in it any more."""
    host.stop()
    for line in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            (group.parent / "cgroup.procs").write_text(line)
    group.rmdir()
