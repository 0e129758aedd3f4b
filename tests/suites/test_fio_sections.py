"""Options of job files, and of fio's own suite, that mislead: each with the finding it raises, and its clean twin."""

from dataclasses import replace

import pytest

from suites.base import Context, StepEvidence, complete_values
from suites.facts import Absent, BlockDevice, Facts
from suites.fio.suite import Fio
from suites.fio_job.checks import JOB_CHECKS
from suites.fio_job.suite import FioJob
from suites.vocab import Finding, Severity
from tests.disk_host import DATA, GIB, disk_host, outcomes, tuned_step

FIO, JOB = Fio(), FioJob()

ALWAYS = {"short-runtime", "page-cache", "engine-missing", "one-io-in-flight", "same-blocks-again", "readahead-merges",
          "unflushed-write", "job-file-leaves-files", "sections-together", "job-file-writes-outside"}  # fmt: skip
"""Checks with tests of their own, which these short files may raise as well."""


def shown(*lines: str, facts: Facts | None = None) -> dict[str, Finding]:
    text = "\n".join(["[job]", "size=8g", *lines])
    step = StepEvidence("step", JOB, complete_values(JOB, {"job": text}), Context(facts), "web-1")
    found = (check.finding(step) for check in JOB_CHECKS)
    return {finding.id: finding for finding in found if isinstance(finding, Finding) and finding.id not in ALWAYS}


@pytest.mark.parametrize(
    ("lines", "check", "words"),
    [
        (["rw=read", "invalidate=0"], "cache-kept", "[job] reads without direct I/O and has invalidate=0."),
        (["rw=randread", "pre_read"], "cache-kept", "pre_read=1"),
        (["rw=write", "direct=1", "zero_buffers"], "repeated-data", "[job]: zero_buffers."),
        (["rw=randrw", "direct=1", "buffer_pattern=0xdeadbeef"], "repeated-data", "One pattern"),
        (["rw=write", "direct=1", "dedupe_percentage=80"], "repeated-data", "dedupe_percentage=80"),
        (["rw=write", "direct=1", "scramble_buffers=0"], "repeated-data", "scramble_buffers=0 without refill_buffers"),
        (["rw=read", "direct=1", "time_based"], "time-based-without-runtime", "time_based without runtime"),
        (["rw=write", "direct=1", "verify=crc32c"], "verified-writes", "verify=crc32c."),
        (["rw=randwrite", "direct=1", "verify=md5", "numjobs=4", "filename=x"], "verified-writes", "several writers"),
        (["rw=read", "direct=1", "numjobs=4", "filename=x"], "shared-file", "4 jobs work on one file in sequence"),
        (["rw=randwrite", "end_fsync=1", "numjobs=4", "filename=x"], "shared-file", "through the page cache"),
        (["rw=read", "direct=1", "filename=x", "[b]", "rw=read", "size=1g", "filename=x"], "shared-file", "and [b]"),
        (["rw=randread", "random_distribution=zipf:1.2"], "skewed-offsets", "zipf:1.2 without direct I/O."),
        (["rw=randread", "direct=1", "thinktime=1000"], "thinktime-pauses", "1 ms after every 1 block: at most 1,000"),
        (["rw=randread", "direct=1", "rate_iops=1000"], "coordinated-omission", "1,000 IOPS per job with 1 in flight"),
        (["rw=randread", "direct=1", "bs=4k", "rate=40m"], "coordinated-omission", "10,240 IOPS per job"),
        (
            ["rw=randread", "direct=1", "rate_iops=1000", "rate_process=poisson"],
            "coordinated-omission",
            "delays 99 I/Os",
        ),
        (["rw=randread", "direct=1", "latency_target=5ms"], "depth-adapts", "latency_target is 5 ms"),
    ],
)
def test_an_option_that_misleads_is_warned_of(lines: list[str], check: str, words: str) -> None:
    (found,) = shown(*lines).values()
    assert (found.id, found.severity) == (check, Severity.WARNING)
    assert words in found.measured
    assert found.changes == {}


@pytest.mark.parametrize(
    ("lines", "check"),
    [
        (["rw=randrw", "direct=1", "unified_rw_reporting=1"], "unified-reporting"),
        (["rw=randtrim"], "trim-on-file"),
        (["rw=trimwrite"], "trim-on-file"),
    ],
)
def test_what_yields_no_figure_is_an_error(lines: list[str], check: str) -> None:
    (found,) = shown(*lines).values()
    assert (found.id, found.severity) == (check, Severity.ERROR)


def test_a_skew_past_the_page_cache_is_noted() -> None:
    (found,) = shown("rw=randread", "direct=1", "random_distribution=pareto:0.2").values()
    assert (found.id, found.severity) == ("skewed-offsets", Severity.INFO)


@pytest.mark.parametrize(
    "lines",
    [
        ["rw=read", "direct=1", "invalidate=0"],  # there is nothing of it in memory
        ["rw=read"],
        ["rw=write", "invalidate=0"],
        ["rw=read", "direct=1", "zero_buffers"],
        ["rw=write", "direct=1", "dedupe_percentage=0"],
        ["rw=write", "direct=1", "scramble_buffers=0", "refill_buffers"],
        ["rw=read", "direct=1", "time_based", "runtime=60"],
        ["rw=read", "direct=1", "verify=crc32c"],
        ["rw=write", "direct=1", "verify=0"],
        ["rw=write", "direct=1", "refill_buffers"],
        ["rw=read", "direct=1", "numjobs=4"],
        ["rw=read", "direct=1", "numjobs=4", "filename=x", "offset_increment=2g"],
        ["rw=randread", "direct=1", "numjobs=4", "filename=x"],
        ["rw=read", "direct=1", "filename=x", "[b]", "stonewall", "rw=read", "size=1g", "filename=x"],
        ["rw=randread", "direct=1", "random_distribution=random"],
        ["rw=read", "random_distribution=zipf:1.2"],
        ["rw=randread", "direct=1", "thinktime=0"],
        ["rw=randread", "direct=1", "ioengine=libaio", "iodepth=128", "rate_iops=1000"],
        ["rw=randread", "direct=1", "latency_target=0"],
        ["rw=randrw", "direct=1", "unified_rw_reporting=both"],
    ],
)
def test_its_clean_twin_is_not(lines: list[str]) -> None:
    assert shown(*lines) == {}


SMALL_JOB = ("direct=1", "rw=randread", "time_based", "runtime=30")


def with_disk(name: str = "nvme0n1", **facts: object) -> Facts:
    disk = BlockDevice(name=name, rotational=False, parent=Absent("a whole disk"), **facts)  # type: ignore[arg-type]
    host = disk_host(replace(DATA, device=name))
    return replace(host, block_devices=(disk,))


@pytest.mark.parametrize(
    ("given", "flagged"),
    [
        ({"size": GIB // 4, "numjobs": 1}, True),
        ({"size": GIB // 2, "numjobs": 1}, False),
        ({"size": GIB // 4, "numjobs": 1, "runtime": 0, "ramp_time": 0}, False),  # one pass
        ({"size": GIB // 4, "numjobs": 4}, False),
        ({"size": GIB // 4, "numjobs": 1, "direct": False, "ioengine": "psync"}, False),  # page-cache reports it
        ({"size": GIB // 4, "numjobs": 1, "direct": False, "ioengine": "psync", "rw": "randwrite", "fsync": 1}, True),
    ],
)
def test_a_file_that_is_a_tiny_share_of_its_disk(given: dict[str, object], *, flagged: bool) -> None:
    large = outcomes(tuned_step(FIO, with_disk(size=2000 * GIB), **given))
    assert ("small-working-set" in large) is flagged
    assert "small-working-set" not in outcomes(tuned_step(FIO, with_disk(size=8 * GIB), **given))


def test_a_tiny_share_offers_a_larger_file() -> None:
    step = tuned_step(FIO, with_disk(size=2000 * GIB), size=GIB // 8, numjobs=2)
    found = outcomes(step)["small-working-set"]
    assert "256 MiB of files" in found.measured  # type: ignore[union-attr]
    assert "nvme0n1 has 1.95 TiB." in found.measured  # type: ignore[union-attr]
    better = replace(step, values={**step.values, **found.changes})  # type: ignore[union-attr]
    assert "small-working-set" not in outcomes(better)
    facts = with_disk(size=2000 * GIB)
    assert "small-working-set" in shown(*SMALL_JOB, "size=64m", "directory=/srv", facts=facts)
    assert "small-working-set" not in shown(*SMALL_JOB, "size=4g", "directory=/srv", facts=facts)


@pytest.mark.parametrize(
    ("given", "unflushed"),
    [
        ({"fsync": 100_000}, True),
        ({"fsync": 1}, False),
        ({"fsync": 1000}, False),
        ({"fsync": 20_000, "size": 64 * 2**20, "numjobs": 1}, True),  # rewritten in memory between two flushes
        ({"fsync": 20_000, "size": 64 * 2**20, "numjobs": 1, "runtime": 0, "ramp_time": 0}, True),  # never
        ({"fsync": 1000, "size": 64 * 2**20, "numjobs": 1, "runtime": 0, "ramp_time": 0}, False),
        ({"fsync": 1000, "block_size": 2**20}, True),
    ],
)
def test_an_fsync_that_hardly_happens_is_none(given: dict[str, object], *, unflushed: bool) -> None:
    step = tuned_step(FIO, None, rw="randwrite", direct=False, ioengine="psync", iodepth=1, **given)
    assert ("unflushed-write" in outcomes(step)) is unflushed
    assert ("page-cache" in outcomes(step)) is unflushed
    assert FIO.traits(step.values, None).flushed is not unflushed


def test_verify_is_reported_for_fio_itself() -> None:
    found = outcomes(tuned_step(FIO, rw="randwrite", verify="crc32c"))["verified-writes"]
    assert found.changes == {"verify": "none"}  # type: ignore[union-attr]
    assert "verified-writes" not in outcomes(tuned_step(FIO, rw="randwrite"))
    assert "verified-writes" not in outcomes(tuned_step(FIO, rw="randread", verify="crc32c"))


@pytest.mark.parametrize(
    ("disk", "queue", "given", "depth"),
    [
        ("sda", 32, {"iodepth": 32, "numjobs": 4}, 8),  # one queue of the device for all jobs
        ("sda", 32, {"iodepth": 32, "numjobs": 1}, None),
        ("nvme0n1", 1023, {"iodepth": 256, "numjobs": 8}, None),  # a queue for each
        ("vda", 128, {"iodepth": 256, "numjobs": 4}, 128),
        ("vda", 128, {"iodepth": 256, "numjobs": 4, "direct": False}, None),
    ],
)
def test_depth_beyond_the_queue_of_the_device(
    disk: str, queue: int, given: dict[str, object], depth: int | None
) -> None:
    step = tuned_step(FIO, with_disk(disk, queue_depth=queue, size=100 * GIB), **given)
    found = outcomes(step).get("depth-beyond-queue")
    assert (found is None) if depth is None else (found.changes == {"iodepth": depth})  # type: ignore[union-attr]
    if depth is not None:
        fine = replace(step, values={**step.values, "iodepth": depth})
        assert "depth-beyond-queue" not in outcomes(fine)


def test_depth_at_a_fixed_rate_lets_a_stall_be_seen() -> None:
    step = tuned_step(FIO, rate_iops=1000, iodepth=1, ioengine="psync")
    found = outcomes(step)["coordinated-omission"]
    assert found.changes == {"iodepth": 100, "ioengine": "libaio", "direct": True}  # type: ignore[union-attr]
    fine = replace(step, values={**step.values, **found.changes})  # type: ignore[union-attr]
    assert "coordinated-omission" not in outcomes(fine)
    assert "coordinated-omission" not in outcomes(tuned_step(FIO))
    assert "coordinated-omission" not in outcomes(tuned_step(FIO, rate_iops=16_000))  # a cap on throughput
