"""Telemetry in a container and of another account's job: named for what it is, and absent where it cannot be read."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from suites.facts import OUTSIDE, SHORT_LIVED
from tests.processes import removed, until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and other accounts need root")

# Short-lived processes, of which none is seen by a look every five seconds.
HOG = "while :; do dd if=/dev/zero bs=1M count=30 2>/dev/null | sha256sum >/dev/null; done"

# Samples a leader that sleeps, beside a hog in the container or not, until a name has used a second of CPU time; prints
# the CPU seconds of others by name.
SAMPLED = """
import collections, json, os, signal, subprocess, sys, time
from pathlib import Path
from remote.local import LocalSession
from remote.telemetry.telemetry import Telemetry
lease, hog = Path(sys.argv[1]), sys.argv[2]
leader = subprocess.Popen(["sleep", "600"], start_new_session=True)
started = Path(f"/proc/{leader.pid}/stat").read_text().rpartition(")")[2].split()[19]
boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
(lease / f"job={leader.pid}-{started}-{boot}").touch()
beside = subprocess.Popen(["sh", "-c", hog], start_new_session=True) if hog else None
telemetry = Telemetry.start(LocalSession("testhost"), 0.5, str(lease))
found, deadline = collections.Counter(), time.monotonic() + 90
while found[sys.argv[3]] <= 1.0 and time.monotonic() < deadline:
    for sample in telemetry.read(30.0):
        if sample.metric.name == "process_time":
            found[dict(sample.labels)["process"]] += sample.value
telemetry.stop()
if beside:
    os.killpg(beside.pid, signal.SIGKILL)
leader.kill()
print(json.dumps(found))
"""


@contextmanager
def group_of(version: str) -> Iterator[Path]:
    """Yield a cgroup of its own below one of this computer's."""
    wanted = " - cgroup2 " if version == "v2" else "cpuacct"
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if wanted in line]
    if not mounts:
        pytest.skip(f"no cgroups {version} here")
    group = Path(mounts[0].split()[4], f"test-{os.urandom(6).hex()}")
    group.mkdir()
    try:
        yield group
    finally:
        until(lambda: removed(group))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "inside"),
    [
        pytest.param("v2", True, id="v2"),
        pytest.param("v2", False, id="v2, outside", marks=pytest.mark.slow),
        pytest.param("v1", True, id="v1", marks=pytest.mark.slow),
    ],
)
def test_short_lived_processes_of_a_container_are_named_for_what_they_are(
    tmp_path: Path, version: str, *, inside: bool
) -> None:
    mount = "mount -t cgroup2 none /sys/fs/cgroup"
    if version == "v1":
        mount = "cd /sys/fs/cgroup && mkdir cpuacct && mount -t cgroup -o cpuacct none cpuacct"
    prepared = f'mount -t tmpfs none /sys/fs/cgroup && {mount} && cd "$0" && exec "$@"'
    contained = ["unshare", "--pid", "--fork", "--kill-child", "--cgroup", "--mount-proc"]
    contained += ["sh", "-c", prepared, str(ROOT)]
    with group_of(version) as group:
        words = ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', str(group), *contained]
        wanted = (HOG, SHORT_LIVED) if inside else ("", OUTSIDE)
        hog = None if inside else subprocess.Popen(["sh", "-c", HOG], start_new_session=True)
        try:
            done = subprocess.run(
                [*words, sys.executable, "-c", SAMPLED, str(tmp_path), *wanted],
                cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
            )  # fmt: skip
        finally:
            if hog is not None:
                os.killpg(hog.pid, 9)
                hog.wait()
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    named, other = found.get(SHORT_LIVED, 0.0), found.get(OUTSIDE, 0.0)
    assert (named > 1.0) is inside, found
    assert inside or other > 1.0, found
