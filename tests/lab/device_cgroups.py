"""Private directories with devices, in which commands begin as jobs do, and the control groups that they get."""

import hashlib
import itertools
import os
import platform
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import resources
from app.plans.plan import make_step
from remote.target_guard import CGROUP_PROGRAM, target_guard
from suites.base import Context
from suites.targets import Target
from tests.loop_devices import MIB, backing_file, loops, loops_to_itself

PROGRAM = Path(resources.__file__).parent / "probes" / "bin" / platform.machine() / CGROUP_PROGRAM
CONTENT = b"precious" * (MIB // 8)
CGROUPS = Path("/sys/fs/cgroup")
NONCE = secrets.token_hex(8)


def groups(nonce: str) -> list[Path]:
    """Return the control groups of jobs that are there."""
    return [
        Path(above, name)
        for above, names, _ in os.walk(CGROUPS)  # other jobs end while it looks
        for name in names
        if name.startswith(f"benchwright-{nonce}")
    ]


def device_groups(nonce: str) -> list[Path]:
    """Return those in which devices are denied: of v2 they are below the group in which a job's CPU time is counted."""
    return [path for path in groups(nonce) if "devices" in path.parts or path.parent.name.startswith("benchwright-")]


def offers(version: str) -> bool:
    """Whether this host has writable control groups of the version in which devices can be denied."""
    kind = "cgroup2" if version == "v2" else "devices"
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return any(kind in line.split(" - ")[1].replace(",", " ").split() for line in lines)


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Yield two loop devices that hold something."""
    with loops(tmp_path_factory.mktemp("disks")) as make:
        with loops_to_itself():
            made = [make(name, MIB) for name in ("one.img", "two.img")]
        yield made


@dataclass
class Private:
    """A private directory with a device, in which commands begin as jobs do."""

    folder: Path
    device: str
    other: str
    numbers: Iterator[int]

    def run(
        self,
        targets: Sequence[Target],
        argv: Sequence[str],
        *versions: str,
        device: str = "",
        lead: Sequence[str] = (),
        user: int | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `argv` as a job of this step; its control group is left to `leave`."""
        job = self.folder / f".job-{next(self.numbers)}"
        job.mkdir()
        return subprocess.run(
            [*lead, *target_guard(targets, argv, versions=versions, device=device)],
            cwd=self.folder,
            env={**os.environ, "BENCHWRIGHT_JOB": f"{NONCE}/{job.name}"},
            capture_output=True,
            check=False,
            timeout=60,
            user=user,
        )

    def line(self, line: str, *versions: str, argv: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
        """Run a line of the user's own, or `argv` in its place once the host has judged it."""
        text = self.text(line)
        (command,) = make_command(text)
        return self.run(command, argv or ["sh", "-c", text], *versions)

    def text(self, line: str, folder: str = "") -> str:
        """Return a line of a table with the names of this step."""
        return line.format(device=self.device, name=Path(self.device).name, folder=folder or self.folder)

    def number(self) -> str:
        """Return the number of the device."""
        return Path(f"/sys/block/{Path(self.device).name}/dev").read_text().strip()

    def contents(self) -> list[str]:
        """Return what is on the devices, and that they are devices."""
        for device in (self.device, self.other):
            subprocess.run(["blockdev", "--flushbufs", device], check=False)
            assert Path(device).is_block_device()
        return [hashlib.sha256(backing_file(each).read_bytes()).hexdigest() for each in (self.device, self.other)]


def make_command(line: str) -> list[tuple[Target, ...]]:
    step = make_step("command", {"command": line, "shell": True})
    return [command.targets for command in step.suite.commands(step.values, Context())]


@pytest.fixture
def step(tmp_path: Path, disks: list[str]) -> Iterator[Private]:
    for device in disks:
        backing_file(device).write_bytes(CONTENT)
        subprocess.run(["blockdev", "--flushbufs", device], check=True)
    shutil.copy(PROGRAM, tmp_path / CGROUP_PROGRAM)
    tmp_path.chmod(0o755)
    made = Private(tmp_path, disks[0], disks[1], itertools.count())
    (tmp_path / "l7").symlink_to(made.device)
    (tmp_path / "f").write_bytes(b"garbage!" * 64)
    (tmp_path / "t").write_text(f"{made.device}\n")
    (tmp_path / "a.csv").touch()
    yield made
    for group in groups(NONCE):
        group.rmdir()


@pytest.fixture(params=["v1", "v2"])
def version(request: pytest.FixtureRequest) -> str:
    """Return a version of control groups that this host offers."""
    if not offers(request.param):
        pytest.skip(f"this host has no control groups {request.param} for devices")
    return str(request.param)
