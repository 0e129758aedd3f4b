"""Undoes what a stage made, also if its test is killed: a process reads what there is to undo, and does it at EOF."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

PATIENCE = 10.0
"""Seconds in which something can be undone: the kernel is busy with it for a moment, and processes take time to end."""

WORKSPACE = re.compile(r"/benchwright-[0-9a-f]{16}$")

JOB_GROUP = re.compile(r"benchwright-[0-9a-f]{16}-.+")

_JOB_GROUPS: set[str] = set()


class LeftBehindError(AssertionError):
    """Something that a stage made could not be undone."""


class Guard:
    """Knows what to undo, the latest first. `note` it before it is made: then nothing is left whenever a test ends."""

    def __init__(self, patience: float = PATIENCE) -> None:
        words = [sys.executable, "-IS", str(Path(__file__)), str(patience)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def note(self, kind: str, *words: object) -> None:
        """Undo this in the end: one of KINDS."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([kind, *map(str, words)]) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Undo everything, once; raise LeftBehindError if something is left."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        left, _ = self._process.communicate()
        if left or self._process.returncode:
            raise LeftBehindError(left.strip() or f"the guard ended with {self._process.returncode}")


@contextlib.contextmanager
def guarded_directory(prefix: str) -> Iterator[Path]:
    """Make a temporary directory that is gone in the end."""
    guard = Guard()
    path = Path(tempfile.gettempdir(), f"{prefix}{os.getpid()}-{os.urandom(4).hex()}")
    guard.note("file", path)
    path.mkdir(mode=0o700)
    try:
        yield path
    finally:
        guard.close()


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def _kill(pids: Iterable[int]) -> None:
    """Kill processes, and remove the workspaces in which they are."""
    for pid in pids:
        with contextlib.suppress(OSError):
            directory = Path(f"/proc/{pid}/cwd").readlink()
            names = {line.rpartition("/")[2] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()}
            for name in filter(JOB_GROUP.fullmatch, names):
                _JOB_GROUPS.update(map(str, Path("/sys/fs/cgroup").rglob(name)))
            os.kill(pid, signal.SIGKILL)
            if WORKSPACE.search(str(directory)):
                shutil.rmtree(directory, ignore_errors=True)


def _members(group: Path) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    return []


def _remove_group(path: str) -> bool:
    """Kill what is in a cgroup and remove it, and the cgroups of jobs that these processes were in."""
    _kill(_members(Path(path)))
    jobs_gone = [_remove_left_group(job) for job in sorted(_JOB_GROUPS, reverse=True)]
    return _remove_left_group(path) and all(jobs_gone)


def _remove_left_group(path: str) -> bool:
    """Remove a cgroup whose processes end by themselves, other guards among them."""
    with contextlib.suppress(OSError):
        Path(path).rmdir()
    return not Path(path).exists()


def _end_processes(leader: str) -> bool:
    """Kill a process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(leader), signal.SIGKILL)
        return False
    return True


def _remove_network(stem: str) -> bool:
    """Remove a bridge, and the links and network namespaces whose names begin with its own and “-”, with what runs."""
    found = [line.split()[0] for line in _run("ip", "netns", "list").splitlines()]
    names = [name for name in found if name.startswith(f"{stem}-")]
    for name in names:
        _kill(int(pid) for pid in _run("ip", "netns", "pids", name).split())
        _run("ip", "netns", "del", name)
    for link in [*(each.name for each in Path("/sys/class/net").glob(f"{stem}-*")), stem]:
        _run("ip", "link", "del", link)
    return not names and not Path("/sys/class/net", stem).exists()


def _mounts(process: Path) -> set[str]:
    with contextlib.suppress(OSError):
        return {line.split()[4] for line in (process / "mountinfo").read_text().splitlines()}
    return set()


def _devices(file: str) -> list[str]:
    """Return the loop devices over a file."""
    found = []
    for each in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if each.read_text().strip().removesuffix(" (deleted)") == file:
                found.append(f"/dev/{each.parts[3]}")
    return found


def _remove_disk(file: str, folder: str) -> bool:
    """Unmount a file system, and the FUSE file below its loop device, also where a mount namespace copied them."""
    own = Path("/proc/self/ns/mnt").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if {file, folder} & _mounts(process) and (process / "ns" / "mnt").readlink() != own:
                for path in (folder, file):
                    _run("nsenter", f"--mount={process}/ns/mnt", "umount", "--lazy", path)
    if folder in _mounts(Path("/proc/self")):
        _run("umount", folder)
        _kill(int(pid) for pid in _run("fuser", "-m", folder).split() if folder in _mounts(Path("/proc/self")))
    for device in _devices(file):
        _run("losetup", "--detach", device)
    _run("umount", file)
    return not {file, folder} & _mounts(Path("/proc/self")) and not _devices(file)


def _remove_file(path: str) -> bool:
    """Remove a file, or a directory with all that is in it; a swap file is not used any more."""
    if any(line.split()[0] == path for line in Path("/proc/swaps").read_text().splitlines()):
        _run("swapoff", path)
    if Path(path).is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            Path(path).unlink()
    return not Path(path).exists()


KINDS: dict[str, Callable[..., bool]] = {
    "group": _remove_group,
    "left-group": _remove_left_group,
    "processes": _end_processes,
    "network": _remove_network,
    "disk": _remove_disk,
    "file": _remove_file,
}
"""What can be undone: each function does what it can, and returns whether nothing is left."""


def main(patience: float) -> None:
    """Read what to undo until EOF, then undo it, and print what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    noted = [json.loads(line) for line in sys.stdin]
    for kind, *words in reversed(noted):
        deadline = time.monotonic() + patience
        while not KINDS[kind](*words):
            if time.monotonic() > deadline:
                sys.stdout.write(f"{kind} {' '.join(words)}\n")
                break
            time.sleep(0.02)


if __name__ == "__main__":
    main(float(sys.argv[1]))
