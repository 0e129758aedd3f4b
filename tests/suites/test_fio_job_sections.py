"""What single sections of a job file ask for: a pattern that fio knows, data that move, flushes, and a size."""

import pytest

from suites.checks import CheckOutcome, NotChecked
from suites.fio_job.checks import JOB_CHECKS
from suites.fio_job.suite import FioJob
from suites.vocab import Severity
from tests.disk_host import outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_job_sections")

JOB = FioJob()
OPTIONS = "size=1g\ndirect=1\nioengine=libaio\niodepth=16\nruntime=60\ntime_based\n"
LEVELS = {check.id: check.severity for check in JOB_CHECKS}


def shown(job: str) -> dict[str, str]:
    found = outcomes(tuned_step(JOB, job=job))
    return {name: outcome.measured for name, outcome in found.items() if isinstance(outcome, CheckOutcome)}


def grave(job: str) -> set[str]:
    return {name for name in shown(job) if LEVELS[name] is not Severity.INFO}


def test_a_pattern_that_fio_does_not_know_is_an_error_and_nothing_else_is_said_of_it() -> None:
    assert shown("[a]\nrw=rand\nsize=1m\n") == {"job-file-unknown-pattern": "[a] has rw=rand."}
    for pattern in ("readwrite", "randrw:8", "randwrite", "trim"):
        assert "job-file-unknown-pattern" not in shown(f"[a]\nrw={pattern}\n{OPTIONS}")


@pytest.mark.parametrize("engine", ["null", "cpuio"])
def test_an_engine_that_moves_no_data_is_warned_of_and_no_memory_is_accused(engine: str) -> None:
    assert grave(f"[a]\nrw=randread\nioengine={engine}\nsize=8g\nruntime=60\ntime_based\n") == {"no-data-moved"}


def test_sections_that_run_at_the_same_time_are_told() -> None:
    together = f"[global]\n{OPTIONS}[r]\nrw=randread\n[w]\nrw=randwrite\n"
    assert shown(together)["sections-together"] == MESSAGES["r_w_run_at_the_same_time"]
    assert "sections-together" not in shown(together.replace("[w]", "[w]\nstonewall"))
    assert grave(together) == set()


@pytest.mark.parametrize("flush", ["sync=1", "sync=dsync", "fdatasync=1", "fsync=32"])
def test_writes_that_are_flushed_are_not_accused_of_memory(flush: str) -> None:
    job = "[a]\nrw=write\nbs=64k\nsize=1g\nruntime=60\ntime_based\n"
    assert {"unflushed-write", "page-cache"} <= grave(job)
    assert {"unflushed-write", "page-cache"} & grave(f"{job}{flush}\n") == set()
    assert "unflushed-write" in grave(f"{job}{flush.partition('=')[0]}=0\n")


def test_a_file_that_is_flushed_when_it_is_closed_is_flushed_at_the_end() -> None:
    assert "unflushed-write" not in grave("[a]\nrw=write\nbs=64k\nsize=20g\nfsync_on_close=1\n")


@pytest.mark.parametrize("size", ["", "size=50%\n", "filename=/srv/there\n"])
def test_where_the_size_does_not_stand_there_none_is_made_up(size: str) -> None:
    job = f"[a]\nrw=randread\n{size}"
    assert not {"page-cache", "short-runtime"} & set(shown(job))
    page_cache = next(check for check in JOB_CHECKS if check.id == "page-cache")
    answer = page_cache.evaluate(tuned_step(JOB, job=job))
    assert isinstance(answer, NotChecked)
    assert "does not give its size" in answer.because
    assert "page-cache" in shown(f"{job}filesize=1m\n")


def test_a_device_is_named_once() -> None:
    assert (
        shown("[a]\nfilename=/dev/sdz\nrw=randwrite\nsize=1g\n")["job-file-writes-device"] == "[a] writes to /dev/sdz."
    )
