"""A job file of one section is judged as fio's own suite is; of several, nothing is said of any."""

import pytest

from app.checks.disk import NOT_FROM_THE_DEVICE
from app.checks.disk_others import OTHERS_ON_THE_DISK
from app.checks.evidence import as_measured
from app.checks.limits import LIMITED_BY
from suites.checks import CheckOutcome
from suites.evidence import TrialEvidence
from suites.verdict import Limiter, Trust
from suites.vocab import labels
from tests.app.trial_evidence import READ, trial
from tests.messages import messages

MESSAGES = messages("app", "test_job_section_checks")

FIGURES = {"iops": 10_000.0, "bandwidth": 40.96e6, "latency_mean": 3.2e6}
HEAD = "[global]\nioengine=libaio\niodepth=32\ntime_based\nruntime=10\nbs=4k\n"
ONE = f"{HEAD}[read]\nrw=randread\ndirect=1\nsize=1g\n"


def reported(job: str, at_the_disk: float, busy: float = 99.0) -> CheckOutcome | None:
    """Return what is said of a job that read 410 MB, where the disk gave so many bytes a second."""
    host = {"disk_read_rate:vda": at_the_disk, "disk_read_ios:vda": 10_000.0, "disk_busy:vda": busy}
    found = NOT_FROM_THE_DEVICE.evaluate(trial("fio-job", FIGURES, at=READ, host=host, directory="/var/tmp", job=job))
    return found if isinstance(found, CheckOutcome) else None


@pytest.mark.parametrize(
    "job", [ONE, f"{ONE}filename=/var/tmp/holes.dat\n", ONE.replace("direct=1", "invalidate=0")],
    ids=["own files", "a file that is there", "kept in memory"],
)  # fmt: skip
def test_what_never_reached_the_disk_is_told(job: str) -> None:
    found = reported(job, 1e6)
    assert found is not None
    assert "by the tool" in found.measured
    assert reported(job, 40.96e6) is None


@pytest.mark.parametrize(
    "job",
    [f"{ONE}[write]\nrw=randwrite\nsize=1g\n", f"{ONE}filename=/elsewhere/a\n",
     f"{ONE}filename=/var/tmp/a:/var/tmp/b\n", ONE.replace("time_based\n", "")],
    ids=["two sections", "another disk", "two files", "ended by its size or its time"],
)  # fmt: skip
def test_nothing_is_said_of_what_cannot_be_told_apart(job: str) -> None:
    assert reported(job, 1e6) is None


def test_its_depth_can_be_its_limit() -> None:
    one = trial(
        "fio-job", {**FIGURES, "latency_mean": 1e5}, at=READ, directory="/var/tmp",
        host={"disk_read_rate:vda": 40.96e6, "disk_busy:vda": 97.0}, job=ONE.replace("iodepth=32", "iodepth=1"),
    )  # fmt: skip
    found = LIMITED_BY.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.QUEUE_DEPTH, found.measured


def test_sections_have_limits_of_their_own() -> None:
    found = LIMITED_BY.evaluate(trial("fio-job", FIGURES, at=READ, job=f"{ONE}[write]\nrw=randwrite\nsize=1g\n"))
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.UNKNOWN
    assert MESSAGES["each_section_of_the_job_file"] in found.measured


def test_other_suites_and_broken_files_stay_as_they_are() -> None:
    for one in (trial("fio", FIGURES, directory="/var/tmp"), trial("fio-job", FIGURES, job="no section")):
        assert as_measured(one) is one


UNIFIED = ONE.replace("direct=1", "direct=1\nunified_rw_reporting=1").replace("bs=4k", "bs=64k")
MIXED = {"iops": 6000.0, "bandwidth": 393e6}


def unified(rw: str, **rates: float) -> TrialEvidence:
    """Return a job whose reads and writes, 393 MB/s, are reported as one, and rates at the disk in B/s."""
    host = {"disk_busy:vda": 99.0, "disk_read_rate:vda": 0.0, "disk_write_rate:vda": 0.0, "tool_read_rate": 0.0,
            "tool_write_rate": 0.0}  # fmt: skip
    host |= {f"{name}:vda" if name.startswith("disk") else name: rate for name, rate in rates.items()}
    job = UNIFIED.replace("rw=randread", f"rw={rw}")
    return trial("fio-job", MIXED, at=labels(operation="mixed"), host=host, directory="/var/tmp", job=job)


def served(rw: str) -> dict[str, float]:
    """Return the rates of a job whose I/O all reaches the disk."""
    reads, writes = {"randread": (393e6, 0.0), "write": (0.0, 393e6)}.get(rw, (200e6, 193e6))
    return {"disk_read_rate": reads, "disk_write_rate": writes, "tool_read_rate": reads, "tool_write_rate": writes}


@pytest.mark.parametrize(
    ("rw", "verb"), [("randread", "Read"), ("write", "Written"), ("randrw", "Read and written"), ("rw", "Read and")]
)
def test_a_mixed_figure_is_compared_with_the_device(rw: str, verb: str) -> None:
    found = NOT_FROM_THE_DEVICE.evaluate(unified(rw, disk_read_rate=1e6, disk_write_rate=1e6))
    assert isinstance(found, CheckOutcome)
    assert found.trust is Trust.INVALID
    assert found.measured.startswith(verb)
    assert NOT_FROM_THE_DEVICE.evaluate(unified(rw, **served(rw))) is None


@pytest.mark.parametrize("rw", ["randread", "write", "rw", "randrw"])
def test_a_mixed_figure_is_not_charged_to_others(rw: str) -> None:
    own = served(rw)
    assert OTHERS_ON_THE_DISK.evaluate(unified(rw, **own)) is None
    beside = {**own, "disk_read_rate": own["disk_read_rate"] + 174e6}
    found = OTHERS_ON_THE_DISK.evaluate(unified(rw, **beside))
    assert isinstance(found, CheckOutcome)
    assert "174 MB/s" in found.measured
    assert "393 MB/s" in found.measured


@pytest.mark.parametrize("rw", ["trim", "randtrim"])
def test_discards_reported_as_one_are_not_looked_for_at_the_device(rw: str) -> None:
    assert not isinstance(NOT_FROM_THE_DEVICE.evaluate(unified(rw)), CheckOutcome)
