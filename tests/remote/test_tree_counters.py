"""The processes of a test are counted apart from all others, by the shipped program beside real jobs."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from remote.jobs.job import RemoteJob
from remote.jobs.lease import claim, withdraw
from remote.jobs.workspace import make_workspace, remove_workspace
from remote.local import LocalSession
from remote.script import new_mark
from remote.telemetry.telemetry import Telemetry, program
from remote.telemetry.telemetry_ticks import Tick, TickReader
from suites.vocab import Sample
from tests.processes import ends, members, removed, until

INTERVAL = 0.1


@dataclass
class Watched:
    """A job beside telemetry: the ticks that its leader was counted in, and the job's standard output."""

    lease: str
    ticks: list[Tick] = field(default_factory=list)
    output: str = ""
    samples: dict[str, list[float]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)  # names of other processes that used the CPU

    def total(self, *names: str) -> int:
        """Return the last total of the counters `names`, added up."""
        tree = self.ticks[-1].tree
        assert tree is not None
        return sum(tree.counters[name] for name in names)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Watched]]:
    session = LocalSession("testhost")
    lease = claim(session, "20261123-000000-test", anyway=True).lease
    assert lease is not None
    workspace = make_workspace(session, str(tmp_path), new_mark())

    def run(*argv: str, script: bool = False) -> Watched:
        """Run `argv` as a job until it ends, with the last ticks before its end."""
        found = Watched(lease.path)
        telemetry = Telemetry.start(session, INTERVAL, lease.path, script=script)
        taken = telemetry._take

        def take(tick: Tick) -> tuple[Sample, ...]:
            found.ticks.append(tick)
            return taken(tick)

        monkeypatch.setattr(telemetry, "_take", take)
        try:
            telemetry.read(30.0)
            job = RemoteJob.start(session, workspace, argv, lease=lease.path)
            deadline = time.monotonic() + 60.0
            while time.monotonic() < deadline:
                for sample in telemetry.read(10.0):
                    found.samples.setdefault(sample.metric.name, []).append(sample.value)
                    found.others |= {name for _, name in sample.labels if sample.metric.name == "process_time"}
                if len(found.ticks) > 5 and found.ticks[-1].tree is None and not job.running():
                    break
            found.output = b"".join(
                chunk.data for chunk in job.follow() if chunk is not None and chunk.stream == "stdout"
            ).decode()
        finally:
            telemetry.stop()
        found.ticks = [tick for tick in found.ticks if tick.tree is not None]
        for before, after in pairwise(found.ticks):
            assert before.tree is not None
            assert after.tree is not None
            for name in ("user", "system", "minor", "major", "read", "written", "reads", "writes", "wait", "slices"):
                if name in after.tree.counters:
                    assert after.tree.counters[name] >= before.tree.counters.get(name, 0), name
        return found

    yield run
    remove_workspace(session, workspace)
    withdraw(session, lease.nonce)
    session.close()


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


# Spins in two processes until each has used 1.5 s of CPU time, then prints their CPU time and waits.
SPIN = """
import os, resource, sys, time
share = float(sys.argv[1])
child = os.fork()
while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < share:
    pass
if not child:
    os._exit(0)
os.waitpid(child, 0)
print(sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), flush=True)
time.sleep(2)
"""

# Starts short-lived processes, prints the CPU time of those it waited for, and lingers.
SHORT_LIVED = """
import os, resource, subprocess, time
words = "dd if=/dev/zero bs=1M count=30 status=none | sha256sum"
while sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) < 2.0:
    subprocess.run(["sh", "-c", words], stdout=subprocess.DEVNULL)
print(sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), flush=True)
time.sleep(2)
"""

# Waits for ten children one after the other, and prints the CPU time of all.
ONE_BY_ONE = """
import os, resource, time
for _ in range(10):
    if not os.fork():
        while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < 0.2:
            pass
        os._exit(0)
    os.wait()
print(sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), flush=True)
time.sleep(2)
"""

# A grandchild in a session of its own, not waited for by anybody: it prints its CPU time before it ends.
ORPHAN = """
import os, resource, time
reader, writer = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < 1.5:
            pass
        print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]), flush=True)
        os._exit(0)
    os._exit(0)
os.wait()
os.close(writer)
os.read(reader, 1)
time.sleep(2)
"""

# Short-lived children that nobody waits for: the kernel adds their CPU time to no process.
UNWAITED = """
import os, resource, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
reader, writer = os.pipe()
total = 0.0
while total < 1.5:
    if not os.fork():
        while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < 0.02:
            pass
        os.write(writer, b"%.6f" % sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        os._exit(0)
    total += float(os.read(reader, 64))
print(total + sum(resource.getrusage(resource.RUSAGE_SELF)[:2]), flush=True)
time.sleep(2)
"""


def counts_groups() -> bool:
    """Whether this account may make a cgroup of version 2 below its own, with processes in it."""
    return os.geteuid() == 0 and any(
        (own / "cgroup.subtree_control").exists() and not (own / "cgroup.subtree_control").read_text().strip()
        for own in own_groups()
    )


def own_groups() -> list[Path]:
    """Return this process's cgroup of version 2 under each mount of the hierarchy."""
    path = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"), "")
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line]
    return [Path(fields[4], path.removeprefix(fields[3]).lstrip("/")) for fields in mounts]


needs_a_group = pytest.mark.skipif(not counts_groups(), reason="a cgroup of version 2 needs root")


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (SPIN, False),
        pytest.param(SHORT_LIVED, False, marks=pytest.mark.slow),
        pytest.param(ORPHAN, False, marks=pytest.mark.slow),
        pytest.param(UNWAITED, False, marks=needs_a_group),
        pytest.param(SPIN, True, marks=pytest.mark.slow),
        pytest.param(SHORT_LIVED, True, marks=pytest.mark.slow),
    ],
    ids=[
        "children",
        "short-lived",
        "orphan",
        "short-lived and not waited for",
        "children by the script",
        "short-lived by the script",
    ],
)
def test_the_cpu_time_of_the_tree_is_that_of_rusage(
    watched: Callable[..., Watched], text: str, *, script: bool
) -> None:
    found = watched(sys.executable, "-c", text, "1.5", script=script)
    assert found.total("user", "system") / 100 == pytest.approx(float(found.output), rel=0.05, abs=0.05)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_child_that_ends_between_the_turns_of_its_parent_and_its_own_counts_once(tmp_path: Path) -> None:
    copy = tmp_path / "telemetry"
    copy.write_bytes(program(os.uname().machine))
    copy.chmod(0o700)
    ticks: list[Tick] = []
    with subprocess.Popen([sys.executable, "-c", ONE_BY_ONE], stdout=subprocess.PIPE, start_new_session=True) as leader:
        assert leader.stdout is not None
        started = Path(f"/proc/{leader.pid}/stat").read_text().rpartition(")")[2].split()[19]
        (tmp_path / f"job={leader.pid}-{started}-boot").touch()
        slowly = ["strace", "-qq", "-o", "/dev/null", "-P", f"/proc/{leader.pid}/io"]
        slowly += ["-e", "inject=pread64:delay_exit=50000"]
        words = [*slowly, str(copy), "mark", "0.1", str(tmp_path), "", "1000", "--"]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as telemetry:
            assert telemetry.stdout is not None
            reader = TickReader("mark")
            while leader.poll() is None:
                ticks += reader.feed(os.read(telemetry.stdout.fileno(), 65536))
            telemetry.terminate()
        truth = float(leader.stdout.read())
    counted = [tick.tree.counters for tick in ticks if tick.tree is not None][-1]
    assert (counted["user"] + counted["system"]) / 100 == pytest.approx(truth, abs=0.1)


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
@pytest.mark.parametrize("script", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_stress_ng_which_erases_its_environment_is_counted(watched: Callable[..., Watched], *, script: bool) -> None:
    words = "stress-ng --cpu 2 --cpu-method int64 -t 5 --times --metrics-brief"
    found = watched("sh", "-c", f"{words}; sleep 0.5; :", script=script)
    assert not any("stress-ng" in name for name in found.others)
    shares = found.samples["tool_cpu_user"]
    used = mean(shares) / 100 * (os.cpu_count() or 1)
    assert 0.1 < used <= 2.05
    assert script or mean(found.samples["tool_busiest_thread"]) <= 100.0


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_bytes_of_a_fio_job_are_those_that_fio_reports(watched: Callable[..., Watched], tmp_path: Path) -> None:
    target = tmp_path / "fio.bin"
    target.write_bytes(os.urandom(2**20) * 64)  # reads of holes do not reach the block layer
    os.sync()
    fio = ["fio", "--name=one", f"--filename={target}", "--size=64M", "--bs=64k", "--rw=randrw", "--direct=1"]
    fio += ["--ioengine=libaio", "--iodepth=4", "--time_based", "--runtime=3", "--output-format=terse"]
    line = " ".join(fio)
    found = watched("sh", "-c", f"{line}; sleep 1; :")
    fields = next(row for row in found.output.splitlines() if ";" in row).split(";")
    read, written = int(fields[5]) * 1024, int(fields[46]) * 1024
    assert found.total("read") == pytest.approx(read, rel=0.02)
    assert found.total("written") == pytest.approx(written, rel=0.02)


@pytest.mark.slow
def test_a_hog_outside_of_the_tree_is_anothers(watched: Callable[..., Watched]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "BENCHWRIGHT_JOB"}
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"], env=environment, start_new_session=True)
    before = time.monotonic()
    try:
        found = watched("sleep", "3")
    finally:
        hog.terminate()
        hog.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    share = (used.ru_utime + used.ru_stime) / (time.monotonic() - before)
    assert mean(found.samples["tool_cpu_user"]) < 1.0
    assert share > 0
    assert mean(found.samples["other_cpu"]) > 100 * 0.1 / (os.cpu_count() or 1)


@needs_a_group
def test_the_cpu_times_of_a_tree_are_those_of_one_source(tmp_path: Path) -> None:
    """The cgroup shows first more time than the processes, of a user; then its time is that of the system."""
    own, shown = own_groups()[0], tmp_path / "cpu.stat"
    group = own / f"benchwright-{os.urandom(8).hex()}-x"
    marker = f"BENCHWRIGHT_JOB={group.name.split('-')[1]}/.job-x"
    shown.write_text("user_usec 5000000\nsystem_usec 0\n")
    (tmp_path / "telemetry").write_bytes(program(os.uname().machine))
    (tmp_path / "telemetry").chmod(0o700)
    group.mkdir()
    inside = f"sh -c 'echo 0 >{group}/cgroup.procs; exec sleep 600'"
    words = ["env", marker, "sh", "-c", f"{inside} & wait"]
    try:
        with subprocess.Popen(words, start_new_session=True) as leader:
            until(lambda: bool(members(group)))
            started = Path(f"/proc/{leader.pid}/stat").read_text().rpartition(")")[2].split()[19]
            (tmp_path / f"job={leader.pid}-{started}-boot").touch()
            mounted = f'mount --bind {shown} {group}/cpu.stat && exec "$@"'
            command = ["unshare", "-m", "sh", "-c", mounted, "sh", str(tmp_path / "telemetry"), "mark", "0.1"]
            with subprocess.Popen([*command, str(tmp_path), "", "1000", "--"], stdout=subprocess.PIPE) as telemetry:
                assert telemetry.stdout is not None
                reader, seen = TickReader("mark"), list[tuple[int, int]]()
                while (500, 0) not in seen or len(seen) < 20:
                    if (500, 0) in seen:
                        shown.write_text("user_usec 0\nsystem_usec 6000000\n")
                    for tick in reader.feed(os.read(telemetry.stdout.fileno(), 65536)):
                        if tick.tree is not None:
                            seen.append((tick.tree.counters["user"], tick.tree.counters["system"]))
                telemetry.kill()
            os.killpg(leader.pid, signal.SIGKILL)
    finally:
        until(lambda: removed(group))
    assert seen[-1] == (500, 100)


@needs_a_group
def test_a_job_leaves_no_cgroup(watched: Callable[..., Watched]) -> None:
    found = watched("grep", "0::", "/proc/self/cgroup")
    name = found.output.strip().rpartition("/")[2]
    assert re.fullmatch(r"benchwright-[0-9a-f]+-[0-9A-Za-z-]+", name)
    assert not [found for own in own_groups() for found in own.rglob(name)]


@needs_a_group
def test_the_leader_removes_the_cgroup_of_a_job_whose_background_process_outlives_it(tmp_path: Path) -> None:
    session = LocalSession("testhost")
    workspace = make_workspace(session, str(tmp_path), new_mark())
    job = RemoteJob.start(session, workspace, ["sh", "-c", "sleep 0.4 & exit 0"])
    group = Path((Path(workspace.path) / f".job-{job.directory}" / "group").read_text().strip())
    assert group.is_dir()
    assert ends(job.began.group)
    assert not group.exists()
    remove_workspace(session, workspace)
    session.close()


def test_the_program_leaves_no_file(watched: Callable[..., Watched]) -> None:
    lease = Path(watched("sleep", "1").lease)
    assert lease.is_dir()
    assert not list(lease.glob("telemetry-*"))


def test_other_architectures_have_no_program() -> None:
    assert program("riscv64") == b""
    assert re.match(rb"\x7fELF", program("x86_64"))
