"""Options of job files, and of fio's own suite, that mislead: each with the finding it raises, and its clean twin."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suites.base import Context, StepEvidence, complete_values
from suites.checks import CheckOutcome
from suites.facts import Absent, BlockDevice, Facts
from suites.fio.parameters import in_flight, iops_limit, one_in_flight
from suites.fio.suite import Fio
from suites.fio_job.checks import JOB_CHECKS
from suites.fio_job.file import effective_sections
from suites.fio_job.section_values import section_values
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


@pytest.mark.parametrize(("lines", "check"), [(["rw=randtrim"], "trim-on-file"), (["rw=trimwrite"], "trim-on-file")])
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
        ["rw=randrw", "direct=1", "unified_rw_reporting=1"],
        ["rw=randrw", "direct=1", "unified_rw_reporting=both"],
        ["rw=randread", "direct=1", "rate_iops=1000", "io_submit_mode=offload"],
        ["rw=randread", "direct=1", "iodepth=8", "io_submit_mode=offload"],
        ["rw=randread", "direct=1", "rate_iops=,1000"],
    ],
)
def test_its_clean_twin_is_not(lines: list[str]) -> None:
    assert shown(*lines) == {}


def found_by(check: str, step: StepEvidence) -> CheckOutcome:
    """Return the outcome of a check that finds something."""
    outcome = outcomes(step)[check]
    assert isinstance(outcome, CheckOutcome)
    return outcome


SMALL_JOB = ("direct=1", "rw=randread", "time_based", "runtime=30")


def with_disk(name: str = "nvme0n1", **facts: Any) -> Facts:
    disk = BlockDevice(name=name, rotational=False, parent=Absent("a whole disk"), **facts)
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
    found = found_by("small-working-set", step)
    assert "256 MiB of files" in found.measured
    assert "nvme0n1 has 1.95 TiB." in found.measured
    better = replace(step, values={**step.values, **found.changes})
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
    found = found_by("verified-writes", tuned_step(FIO, rw="randwrite", verify="crc32c"))
    assert found.changes == {"verify": "none"}
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
    if depth is None:
        assert "depth-beyond-queue" not in outcomes(step)
    else:
        assert found_by("depth-beyond-queue", step).changes == {"iodepth": depth}
        fine = replace(step, values={**step.values, "iodepth": depth})
        assert "depth-beyond-queue" not in outcomes(fine)


def test_depth_at_a_fixed_rate_lets_a_stall_be_seen() -> None:
    step = tuned_step(FIO, rate_iops=1000, iodepth=1, ioengine="psync")
    found = found_by("coordinated-omission", step)
    assert found.changes == {"iodepth": 100, "ioengine": "libaio", "direct": True}
    fine = replace(step, values={**step.values, **found.changes})
    assert "coordinated-omission" not in outcomes(fine)
    assert "coordinated-omission" not in outcomes(tuned_step(FIO))
    assert "coordinated-omission" not in outcomes(tuned_step(FIO, rate_iops=16_000))  # a cap on throughput


NUMBERS = ("bs", "bssplit", "bsrange", "iodepth", "numjobs", "size", "filesize", "rate", "rate_iops", "runtime",
           "loops", "ramp_time", "thinktime", "thinktime_blocks", "fsync", "fdatasync", "rwmixread", "rwmixwrite",
           "latency_target", "dedupe_percentage", "buffer_compress_percentage", "offset_increment")  # fmt: skip
AMOUNT = st.one_of(
    st.sampled_from(["0", "-1", "", "0x0", "0k", "1", "4k", "999999999999999p", "0x10", "1e9", "50%", "²", "٣"]),
    st.integers(-(10**20), 10**20).map(str),
    st.text("0123456789kKmgx-,/:. ", max_size=12),
)
VALUES = st.one_of(AMOUNT, st.lists(AMOUNT, min_size=2, max_size=3).flatmap(lambda each: st.sampled_from(",:-/").map(
    lambda separator: separator.join(each))))  # fmt: skip
LINES = st.tuples(st.sampled_from(NUMBERS), VALUES).map("=".join)
FIXED = st.lists(
    st.sampled_from(
        ["rw=randrw", "rw=write", "rw=randread", "rw=trim", "direct=1", "filename=x", "filename=/dev/sda", "time_based",
         "ioengine=libaio", "ioengine=pvsync", "io_submit_mode=offload", "[b]", "stonewall", "runtime=30", "size=64m"]
    ),
    max_size=5,
)  # fmt: skip


@given(st.lists(LINES, min_size=1, max_size=5), FIXED)
@example(["numjobs=0", "bs=0", "iodepth=0", "rate=40m"], ["direct=1", "rw=randread", "runtime=30"])
@example(["numjobs=0", "size=64m"], ["direct=1", "time_based", "runtime=30", "ioengine=libaio"])
@example(["runtime=5\u017f", "ramp_time=1\u017f"], ["rw=randread"])
@example(["bssplit=0/50:0/50", "rate=1m"], ["rw=randread"])
@example(["bsrange=0-0", "rate=1m", "thinktime=0.0001"], ["rw=randread"])
def test_no_value_of_a_job_file_makes_a_check_raise(numbers: list[str], fixed: list[str]) -> None:
    facts = with_disk("sda", size=2000 * GIB, queue_depth=0)
    text = "\n".join(["[job]", *fixed, *numbers])
    step = StepEvidence("step", JOB, complete_values(JOB, {"job": text}), Context(facts), "web-1")
    for check in JOB_CHECKS:
        check.evaluate(step)
    suite, values = JOB.measured_as(step.values, facts)
    suite.workload(values)
    JOB.estimate(step.values, step.context)
    JOB.traits(step.values, facts)


def one_section(*lines: str) -> dict[str, Any]:
    (section,) = effective_sections("\n".join(["[job]", *lines]))
    return section_values(section, "/srv")


def test_a_number_out_of_range_is_the_nearest_sensible_one() -> None:
    odd = one_section("numjobs=0", "bs=0", "iodepth=0", "rwmixwrite=250", "size=999999999999999p")
    assert (odd["numjobs"], odd["block_size"], odd["iodepth"], odd["rwmixread"]) == (1, 1, 1, 0)
    assert odd["size"] == 2**62
    assert one_section("iodepth=2k", "numjobs=0x4", "bs=8k")["iodepth"] == 2048
    assert one_section("iodepth=2k", "numjobs=0x4")["numjobs"] == 4
    assert one_section("bs=-4k")["block_size"] == 4096
    assert one_section("bssplit=0/50:8k/50")["block_size"] == 8192
    assert one_section("bssplit=4k/50:8k/50")["block_sizes"] == "4k/50:8k/50"


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        (["rw=randread", "rate_iops=1000"], 1000),
        (["rw=randwrite", "rate_iops=1000,200"], 200),
        (["rw=randrw", "rate_iops=1000"], 2000),
        (["rw=randrw", "rate_iops=1000,200"], 1200),
        (["rw=randrw", "rate_iops=1000,"], 0),  # writes as fast as they can
        (["rw=randwrite", "rate_iops=,200"], 200),
        (["rw=randread", "rate=40m", "bs=4k"], 10_240),
        (["rw=randrw", "rate=40m,4m", "bs=4k"], 11_264),
        (["rw=randrw", "rate=40m,4m", "rate_iops=100", "bs=4k"], 200),
    ],
)
def test_the_limit_of_a_job_is_that_of_the_directions_it_uses(lines: list[str], limit: int) -> None:
    values = one_section(*lines, "numjobs=3")
    assert iops_limit(values) == limit
    requested = FIO.workload(values).rate_limit
    assert (0 if requested is None else requested.value) == 3 * limit


@pytest.mark.parametrize(
    ("lines", "depth"),
    [
        (["ioengine=psync"], 1), (["ioengine=pvsync"], 1), (["ioengine=splice"], 1), (["ioengine=mmap"], 1),
        (["ioengine=libaio"], 1), (["ioengine=libaio", "direct=1"], 8), (["ioengine=linuxaio", "direct=1"], 8),
        (["ioengine=io_uring"], 8), (["ioengine=rbd"], 8), (["ioengine=vsync"], 8),
        (["ioengine=psync", "io_submit_mode=offload"], 8),
    ],
)  # fmt: skip
def test_checks_and_workload_agree_on_what_waits(lines: list[str], depth: int) -> None:
    values = one_section("rw=randread", "iodepth=8", *lines)
    assert (in_flight(values), FIO.workload(values).queue_depth) == (depth, depth)
    assert one_in_flight(values) is (depth == 1)


def test_jobs_on_one_raw_device_are_not_said_to_share_a_file() -> None:
    (found,) = (one for one in shown("rw=read", "filename=/dev/sdz", "numjobs=4", "direct=1").values()
                if one.id == "shared-file")  # fmt: skip
    assert "on one device" in found.measured
    assert "file" not in found.remedy
