"""sysbench fileio as a suite: commands of both generations, tuning, estimate and what it warns of."""

import shlex
from dataclasses import replace

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.checks import CheckOutcome, NotChecked
from suites.errors import ParameterError
from suites.facts import Tool
from suites.sysbench.fileio import SysbenchFileio
from suites.vocab import Severity
from tests.disk_host import DATA, GIB, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_sysbench_fileio")

SUITE = SysbenchFileio()
REFUSING = replace(DATA, direct=False)
OLD = Context(replace(disk_host(), tools=(Tool(name="sysbench", version="sysbench 0.4.12"),)))


def lines(context: Context | None = None, **given: object) -> list[tuple[Purpose, str]]:
    commands = SUITE.commands(complete_values(SUITE, given), context or Context())
    return [(command.purpose, shlex.join(command.argv)) for command in commands]


def check_level(name: str) -> Severity:
    (found,) = [check for check in SUITE.checks if check.id == name]
    return found.severity


def test_the_defaults_are_the_tools_own() -> None:
    """They are those that `sysbench fileio help` of 1.0.20 prints in brackets; the mode has none."""
    files = "--file-num=128 --file-total-size=2G --file-block-size=16384"
    common = "--threads=1 --time=10 --percentile=95 --report-interval=1 run"
    assert lines() == [
        (Purpose.PREPARE, f"sysbench fileio {files} prepare"),
        (Purpose.MEASURE, f"sysbench fileio {files} --file-test-mode=rndrd {common}"),
    ]


@pytest.mark.parametrize("mode", ["seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"])
def test_every_mode_but_creation_finds_its_files_ready(mode: str) -> None:
    (prepared, _line), (measure, line) = lines(mode=mode)
    assert (prepared, measure) == (Purpose.PREPARE, Purpose.MEASURE)
    assert f"--file-test-mode={mode} " in line
    assert ("--file-fsync-freq=100" in line) == (mode not in {"seqrd", "rndrd"})
    assert ("--file-rw-ratio=1.5" in line) == (mode == "rndrw")


def test_creation_makes_its_own_files() -> None:
    ((purpose, line),) = lines(mode="seqwr", fsync_freq=0, fsync_all=True, fsync_end=False, fsync_mode="fdatasync")
    assert purpose is Purpose.MEASURE
    assert "--file-fsync-freq=0 --file-fsync-all=on --file-fsync-end=off --file-fsync-mode=fdatasync " in line


def test_preparing_and_measuring_open_the_same_files_in_the_same_way() -> None:
    for _purpose, line in lines(extra_flags="direct", total_size="3 MiB", file_num=7, block_size="4 KiB"):
        assert "--file-num=7 --file-total-size=3M --file-block-size=4096 --file-extra-flags=direct " in line


def test_the_old_generation_gets_its_own_syntax_and_other_blocks_each_time() -> None:
    (_, prepare), (_, run) = lines(OLD, mode="rndrw", threads=2)
    assert prepare.startswith("sysbench --test=fileio --file-num=128 ")
    assert prepare.endswith(" prepare")
    assert run.startswith("sysbench --test=fileio --file-num=128 ")
    assert " --init-rng=on --num-threads=2 --max-time=10 " in run
    assert "--report-interval" not in run


@pytest.mark.parametrize(
    ("name", "value"), [("mode", "random"), ("file_num", 0), ("block_size", 0), ("rw_ratio", -1), ("bogus", 1)]
)
def test_values_the_tool_would_refuse_are_refused_before(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


@pytest.mark.parametrize(
    ("mode", "written", "prepared"), [("rndrd", 0, GIB), ("rndwr", None, GIB), ("rndrw", None, GIB), ("seqwr", None, 0)]
)
def test_the_estimate_tells_what_is_prepared_from_what_is_written(
    mode: str, written: int | None, prepared: int
) -> None:
    estimate = SUITE.estimate(complete_values(SUITE, {"mode": mode, "total_size": GIB}), Context())
    assert (estimate.duration, estimate.written, estimate.prepared, estimate.space) == (10.0, written, prepared, GIB)


def test_tuning_follows_the_facts() -> None:
    values = tuned_values(SUITE, Context(disk_host()))
    assert (values["directory"], values["total_size"], values["extra_flags"]) == ("/srv", 2 * GIB, "direct")
    assert (values["threads"], values["file_num"], values["fsync_freq"]) == (16, 16, 0)
    refusing = tuned_values(SUITE, Context(disk_host(REFUSING)))
    assert (refusing["extra_flags"], refusing["total_size"], refusing["fsync_freq"]) == ("none", 32 * GIB, 100)
    cramped = tuned_values(SUITE, Context(disk_host(replace(DATA, free=GIB))))
    assert int(cramped["total_size"]) <= GIB // 10
    assert "directory" not in SUITE.tune(Context())


def test_the_tuned_step_raises_nothing() -> None:
    assert outcomes(tuned_step(SUITE)) == {}
    assert outcomes(tuned_step(SUITE, disk_host(REFUSING))) == {}


def test_the_defaults_are_warned_of() -> None:
    values: dict[str, object] = {**complete_values(SUITE, {"mode": "rndrw"}), "directory": "/srv"}
    step = tuned_step(SUITE, None, **values)
    assert set(outcomes(step)) == {"page-cache", "fsync-of-every-file", "throughput-ceiling", "one-io-in-flight"}
    assert MESSAGES["2_gib_sysbench_s_own_default"] in measured(step, "page-cache")
    assert changes(step, "page-cache") == {"extra_flags": "direct"}
    assert "1.3 fsyncs per request" in measured(step, "fsync-of-every-file")
    for check in outcomes(step):
        values |= changes(step, check)
    assert outcomes(tuned_step(SUITE, None, **values)) == {}


def test_sixteen_kibibytes_are_only_remarked_upon() -> None:
    step = tuned_step(SUITE, block_size="16 KiB")
    assert measured(step, "throughput-ceiling") == (MESSAGES["blocks_of_16_kib_sysbench_s"])
    assert check_level("throughput-ceiling") is Severity.INFO
    assert "throughput-ceiling" not in outcomes(tuned_step(SUITE, mode="seqrd", block_size="1 MiB"))


def test_files_of_twice_the_memory_need_no_direct_io() -> None:
    assert "page-cache" not in outcomes(tuned_step(SUITE, extra_flags="none", total_size="32 GiB"))
    assert "in part" in measured(tuned_step(SUITE, extra_flags="none", total_size="31 GiB"), "page-cache")
    assert changes(tuned_step(SUITE, disk_host(REFUSING), total_size="4 GiB"), "page-cache") == {"total_size": 32 * GIB}


@pytest.mark.parametrize("given", [{"fsync_all": True}, {"extra_flags": "dsync"}, {"extra_flags": "sync"}])
def test_writes_that_each_wait_for_the_disk_cannot_be_cached(given: dict[str, object]) -> None:
    values = {"mode": "rndwr", "extra_flags": "none", **given}
    assert "page-cache" not in outcomes(tuned_step(SUITE, None, **values))
    assert "page-cache" in outcomes(tuned_step(SUITE, None, **{**values, "mode": "rndrw"}))


def test_memory_that_is_not_known_cannot_be_judged() -> None:
    step = replace(tuned_step(SUITE, extra_flags="none"), context=Context())
    assert isinstance(outcomes(step)["page-cache"], NotChecked)


def test_writes_without_any_flush_are_warned_of() -> None:
    step = tuned_step(SUITE, mode="rndwr", extra_flags="none", fsync_freq=0)
    assert MESSAGES["comes_only_when_the_time_is"] in measured(step, "unflushed-write")
    assert changes(step, "unflushed-write") == {"extra_flags": "direct"}
    assert "unflushed-write" not in outcomes(tuned_step(SUITE, mode="rndwr", extra_flags="none", fsync_freq=1000))
    rare = tuned_step(SUITE, mode="rndwr", extra_flags="none", fsync_freq=100_000)
    assert "with fsync only every" in measured(rare, "unflushed-write")


def test_direct_io_that_would_fail_is_an_error() -> None:
    assert check_level("unaligned-direct") is Severity.ERROR
    assert changes(tuned_step(SUITE, block_size=1000), "unaligned-direct") == {"block_size": 4096}
    refused = outcomes(tuned_step(SUITE, disk_host(REFUSING), extra_flags="direct"))["direct-refused"]
    assert isinstance(refused, CheckOutcome)
    assert dict(refused.changes) == {"extra_flags": "none"}


def test_what_else_is_remarked_upon() -> None:
    assert "4 KiB each" not in measured(tuned_step(SUITE, file_num=10_000, total_size="20 MiB"), "files-below-block")
    assert measured(tuned_step(SUITE, mode="rndwr"), "zero-source") == "rndwr writes zeros."
    assert measured(tuned_step(SUITE, mode="seqwr"), "created-once") == "The mode is seqwr."
    assert changes(tuned_step(SUITE, mode="seqrd"), "small-blocks") == {"block_size": 2**20}
    assert set(outcomes(tuned_step(SUITE, time=3))) == {"short-runtime"}


def test_requests_are_handed_over_as_asked() -> None:
    ((_, _), (_, queued)) = lines(io_mode="async", async_backlog=16)
    assert "--file-io-mode=async --file-async-backlog=16" in queued
    ((_, _), (_, mapped)) = lines(io_mode="mmap", async_backlog=16)
    assert "--file-io-mode=mmap" in mapped
    assert "backlog" not in mapped
    assert all("io-mode" not in line for _, line in lines())


def test_the_latency_of_handing_over_is_told_from_that_of_the_request() -> None:
    step = tuned_step(SUITE, io_mode="async", threads=1)
    assert "128 in flight" in measured(step, "async-latency")
    assert "one-io-in-flight" not in outcomes(step)


def test_mapped_files_are_in_memory_whatever_their_flags() -> None:
    step = tuned_step(SUITE, io_mode="mmap", extra_flags="direct")
    assert "of files through mmap" in measured(step, "page-cache")
    assert changes(step, "page-cache") == {"extra_flags": "direct", "io_mode": "sync"}
