"""Verdicts on real runs: what fooled people, staged with the real tools, and the clean twin of each."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.plans.plan import LOCAL, Plan, Repetition, Step, make_step
from app.questions import RefusingAsker
from app.records import RunRecord
from app.runs.control import Control
from app.services import Workstation
from suites.verdict import Limiter, Trust, Verdict
from tests.lab.links import LinkedHosts
from tests.processes import until

pytestmark = pytest.mark.alone

MIB = 2**20

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def judged(workstation: Workstation, step: Step, host: str = LOCAL) -> tuple[RunRecord, Verdict]:
    """Run one trial of `step` and return the run with the verdict on it."""
    plan = Plan("verdicts", (host,), (step,), repetition=Repetition(1))
    workstation.consents.remember_made(plan)
    for _event in workstation.run(plan, RefusingAsker(), Control()):
        pass
    record = workstation.load("last")
    verdict = record.verdict_on(step.name, host)
    assert verdict is not None
    return record, verdict


def ids(verdict: Verdict) -> set[str]:
    return {finding.id for finding in verdict.findings}


@pytest.fixture
def disk(workstation: Workstation) -> str:
    """Return a directory on a disk whose I/Os the kernel counts; skip where there is none."""
    facts = workstation.facts(LOCAL, RefusingAsker())
    for found in facts.directories:
        if isinstance(found.device, str) and found.direct is True:
            return found.path
    pytest.skip("no directory here is on a disk that the kernel counts")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_a_read_from_memory_is_invalid_and_the_same_from_the_disk_is_not(workstation: Workstation, disk: str) -> None:
    given = {"directory": disk, "mode": "rndrd", "total_size": 64 * MIB, "file_num": 4, "block_size": 4096, "time": 4}
    record, cached = judged(workstation, make_step("sysbench-fileio", given))
    assert cached.trust in {Trust.INVALID, Trust.DOUBTFUL}, cached.summary  # others may read from the disk meanwhile
    assert "not-from-the-device" in ids(cached)
    assert cached.limited_by not in {Limiter.DEVICE, Limiter.QUEUE_DEPTH}
    assert record.summary.trust == cached.trust.value
    _, clean = judged(workstation, make_step("sysbench-fileio", {**given, "extra_flags": "direct"}))
    assert not ids(clean) & {"not-from-the-device", "merged-on-the-way", "rate-against-block"}, clean.summary
    assert clean.trust in {Trust.VALID, Trust.CAVEATS}, clean.summary


@pytest.mark.slow
@needs_fio
def test_buffered_reads_in_sequence_reach_the_device_as_fewer_and_larger_ones(
    workstation: Workstation, disk: str
) -> None:
    step = make_step("fio", {"directory": disk, "rw": "read", "size": 1024 * MIB, "block_size": 4096})
    _, verdict = judged(workstation, step)
    merged = next(finding for finding in verdict.findings if finding.id == "merged-on-the-way")
    assert "I/Os issued (read)" in merged.measured
    assert "not-from-the-device" not in ids(verdict)


@pytest.mark.slow
def test_a_copy_of_random_bytes_measures_the_generator_and_one_of_zeros_does_not(
    workstation: Workstation, disk: str
) -> None:
    given = {"directory": disk, "block_size": MIB, "count": 512, "flush": "fdatasync"}
    _, random = judged(workstation, make_step("dd", {**given, "input": "/dev/urandom"}))
    _, zero = judged(workstation, make_step("dd", given))
    assert "generator-bound" in ids(random), random.summary
    assert random.trust is not Trust.VALID
    assert "generator-bound" not in ids(zero)


@pytest.mark.slow
def test_an_unflushed_write_is_no_figure_of_the_disk(workstation: Workstation, disk: str) -> None:
    given = {"directory": disk, "block_size": MIB, "count": 512}
    _, verdict = judged(workstation, make_step("dd", {**given, "flush": "none"}))
    assert "not-from-the-device" in ids(verdict), verdict.summary
    _, flushed = judged(workstation, make_step("dd", {**given, "flush": "fdatasync"}))
    assert "not-from-the-device" not in ids(flushed), flushed.summary


@pytest.fixture
def foreign_writer(disk: str) -> Iterator[None]:
    """Write to the disk with direct I/O until the test ends, from when its file is complete."""
    argv = ["fio", "--name=foreign", "--rw=write", "--bs=1m", "--size=256m", "--direct=1", "--runtime=120"]
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        argv += [f"--directory={folder}", "--time_based", "--thread=1"]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as running:
            try:
                until(lambda: sum(one.stat().st_blocks * 512 for one in Path(folder).iterdir()) >= 256 * MIB)
                yield
                assert running.poll() is None
            finally:
                running.kill()


@pytest.mark.slow
@needs_fio
@pytest.mark.parametrize("end_fsync", [False, True])
@pytest.mark.usefixtures("foreign_writer")
def test_a_foreign_writer_does_not_hide_an_unflushed_write(
    workstation: Workstation, disk: str, *, end_fsync: bool
) -> None:
    """The blocks are overwritten in the page cache many times a second."""
    given = {"rw": "write", "block_size": MIB, "size": 64 * MIB, "runtime": 5.0, "end_fsync": end_fsync}
    _, verdict = judged(workstation, make_step("fio", {"directory": disk, **given}))
    assert ids(verdict) & {"not-from-the-device", "partly-cached"}, verdict.summary
    assert verdict.trust is not Trust.VALID


@pytest.mark.slow
@needs_fio
def test_a_write_that_fio_flushes_at_its_end_is_one_of_the_disk(workstation: Workstation, disk: str) -> None:
    given = {"rw": "write", "block_size": MIB, "size": 2048 * MIB, "end_fsync": True}
    _, verdict = judged(workstation, make_step("fio", {"directory": disk, **given}))
    assert not ids(verdict) & {"not-from-the-device", "partly-cached"}, verdict.summary


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_a_shaped_link_is_named_as_the_limit(workstation: Workstation, linked_hosts: LinkedHosts) -> None:
    near, far = linked_hosts(2)
    near.shape(50)
    step = make_step("iperf3", {"time": 8, "omit": 1, "address": far.address}, peer=far.alias)
    _, verdict = judged(workstation, step, near.alias)
    assert verdict.limited_by is Limiter.SHAPED, verdict.summary
    assert not ids(verdict) & {"over-link", "not-over-the-link"}
