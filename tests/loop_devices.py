"""Loop devices that a test makes over files of its own: the only devices that any test may ever write to."""

import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 2**20

MakeLoop = Callable[..., str]


def run(*words: str | Path) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout.strip()


def backing_file(device: str) -> Path:
    """Return the file behind a loop device."""
    return Path(Path(f"/sys/block/{Path(device).name}/loop/backing_file").read_text().strip())


def write_partition_table(file: Path, start: int = 2048, sectors: int = 4096) -> None:
    """Write a partition table of one Linux partition into the file of a disk (the classic one of the PC)."""
    entry = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + struct.pack("<II", start, sectors)
    with file.open("r+b") as content:
        content.seek(446)
        content.write(entry)
        content.seek(510)
        content.write(b"\x55\xaa")


def partition_of(device: str) -> str:
    """Write a partition table to a loop device and return the partition; skip where the kernel makes none of them."""
    write_partition_table(backing_file(device))
    partition = f"{device}p1"
    # partx reads the table itself: some kernels know no such tables.
    for words in (["partx", "-u", device], ["blockdev", "--rereadpt", device]):
        if not Path(partition).exists():
            subprocess.run(words, capture_output=True, check=False)
    if not Path(partition).exists():
        pytest.skip("this kernel makes no partitions of loop devices")
    return partition


@contextmanager
def loops_to_itself() -> Iterator[None]:
    """Wait until no other test has loop devices: one that lets go of its own could see another test take it."""
    with Path(tempfile.gettempdir(), f"benchwright-loops-{os.geteuid()}").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def loops(folder: Path) -> Iterator[MakeLoop]:
    """Yield a function that makes a loop device over a file of `size` bytes in `folder`; all go at the end."""
    if os.geteuid() != 0 or shutil.which("losetup") is None or not Path("/dev/loop-control").exists():
        pytest.skip("needs root and loop devices")
    made: list[str] = []

    def make(name: str = "disk-1.img", size: int = 16 * MIB, *options: str) -> str:
        file = folder / name
        with file.open("wb") as content:
            content.truncate(size)
        done = subprocess.run(
            ["losetup", "--find", "--show", *options, str(file)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"losetup: {done.stderr.strip()}")
        made.append(done.stdout.strip())
        return made[-1]

    try:
        yield make
    finally:
        for device in made:
            subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)


@pytest.fixture
def make_loop(tmp_path: Path) -> Iterator[MakeLoop]:
    """Return a function that makes a loop device over a file of `size` bytes called `name`; all go after the test."""
    with loops_to_itself(), loops(tmp_path) as make:
        yield make
