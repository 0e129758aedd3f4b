"""Options of job files that fool people: each with the finding it raises, and its clean twin."""

import pytest

from suites.base import Context, StepEvidence, complete_values
from suites.fio_job.checks import SECTION_CHECKS
from suites.fio_job.suite import FioJob
from suites.vocab import Finding, Severity

JOB = FioJob()


def shown(*lines: str) -> dict[str, Finding]:
    text = "\n".join(["[job]", "size=8g", *lines])
    step = StepEvidence("step", JOB, complete_values(JOB, {"job": text}), Context(), "web-1")
    found = (check.finding(step) for check in SECTION_CHECKS)
    return {finding.id: finding for finding in found if isinstance(finding, Finding)}


@pytest.mark.parametrize(
    ("lines", "check", "words"),
    [
        (["rw=read", "invalidate=0"], "cache-kept", "[job] reads without direct I/O and has invalidate=0."),
        (["rw=randread", "pre_read"], "cache-kept", "pre_read=1"),
        (["rw=write", "direct=1", "zero_buffers"], "repeated-data", "[job] has zero_buffers."),
        (["rw=randrw", "direct=1", "buffer_pattern=0xdeadbeef"], "repeated-data", "one pattern"),
        (["rw=write", "direct=1", "dedupe_percentage=80"], "repeated-data", "dedupe_percentage=80"),
        (["rw=read", "direct=1", "time_based"], "time-based-without-runtime", "time_based without runtime"),
        (["rw=write", "direct=1", "verify=crc32c"], "verified-writes", "has verify=crc32c."),
        (["rw=write", "verify=md5", "numjobs=4", "filename=x"], "verified-writes", "by several writers of one file"),
    ],
)
def test_an_option_that_fools_people_is_warned_of(lines: list[str], check: str, words: str) -> None:
    (found,) = shown(*lines).values()
    assert (found.id, found.severity) == (check, Severity.WARNING)
    assert words in found.measured
    assert found.changes == {}


@pytest.mark.parametrize(
    "lines",
    [
        ["rw=read", "direct=1", "invalidate=0"],  # there is nothing of it in memory
        ["rw=read"],
        ["rw=write", "invalidate=0"],
        ["rw=read", "direct=1", "zero_buffers"],
        ["rw=write", "direct=1", "dedupe_percentage=0"],
        ["rw=read", "direct=1", "time_based", "runtime=60"],
        ["rw=read", "direct=1", "verify=crc32c"],
        ["rw=write", "direct=1", "verify=0"],
        ["rw=write", "direct=1", "refill_buffers"],
    ],
)
def test_its_clean_twin_is_not(lines: list[str]) -> None:
    assert shown(*lines) == {}
