"""fio as a suite: parameters, commands, tuning, estimate and its own checks."""

import shlex
from dataclasses import replace
from typing import Any

import pytest

from suites.base import Context, Purpose, StepEvidence, complete_values, tuned_values
from suites.checks import NotChecked
from suites.errors import ParameterError
from suites.facts import Absent, FileSystem, Tool
from suites.fio.parameters import flushes
from suites.fio.suite import Fio
from suites.quantities import duration_text
from suites.vocab import Severity
from tests.disk_host import DATA, GIB, HOME, MIB, SHM, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture

MESSAGES = messages("suites", "test_fio")

FIO = Fio()
REFUSING = replace(DATA, direct=False)


def words(purpose: Purpose = Purpose.MEASURE, **given: object) -> str:
    (command,) = (c for c in FIO.commands(complete_values(FIO, given), Context()) if c.purpose is purpose)
    return shlex.join(command.argv)


def test_defaults_are_fios_own() -> None:
    assert words() == (
        "fio --name=benchwright --rw=read --bs=4k --iodepth=1 --numjobs=1 --direct=0 --size=1g --ioengine=psync "
        "--thread=1 --group_reporting --output-format=json+ --status-interval=1"
    )


def test_every_parameter_reaches_the_command() -> None:
    command = words(
        rw="randrw", rwmixread=70, block_size="16k", iodepth=8, numjobs=2, direct=True, size="512 MiB", runtime="30 s",
        ramp_time="500 ms", ioengine="libaio", rate_iops=4000, fsync=16, end_fsync=True,
    )  # fmt: skip
    assert command == (
        "fio --name=benchwright --rw=randrw --rwmixread=70 --bs=16k --iodepth=8 --numjobs=2 --direct=1 --size=512m "
        "--ioengine=libaio --runtime=30 --time_based --ramp_time=500ms --rate_iops=4000 --fsync=16 --end_fsync=1 "
        "--thread=1 --group_reporting --output-format=json+ --status-interval=1"
    )


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ("4k-64k", "--bsrange=4k-64k"),
        ("4k-8k,16k-1m", "--bsrange=4k-8k,16k-1m"),
        ("4k,64k", "--bs=4k,64k"),
        ("4k/60:64k/40", "--bssplit=4k/60:64k/40"),
        ("4k/60:64k/40,1m/100", "--bssplit=4k/60:64k/40,1m/100"),
    ],
)
def test_several_block_sizes_stand_in_for_one(given: str, option: str) -> None:
    command = words(rw="randrw", block_sizes=given, block_size="2k").split()
    assert option in command
    assert "--bs=2k" not in command
    parameters = {parameter.name: parameter for parameter in FIO.parameters}
    assert parameters["block_sizes"].applies(complete_values(FIO, {"block_sizes": given}))
    assert not parameters["block_size"].applies(complete_values(FIO, {"block_sizes": given}))


@pytest.mark.parametrize("given", ["4k 64k", "4k-", "0k", "4k/101", "4k/60 --exec=x", "4g", "4k;8k", "-4k"])
def test_what_is_no_block_size_is_refused(given: str) -> None:
    with pytest.raises(ParameterError, match="block_sizes"):
        complete_values(FIO, {"block_sizes": given})


def test_passes_and_what_is_written_reach_the_command() -> None:
    given: dict[str, object] = {"loops": 3, "buffer_compress_percentage": 50, "refill_buffers": True}
    command = words(Purpose.MEASURE, rw="write", **given)
    assert "--loops=3 --buffer_compress_percentage=50 --refill_buffers --thread=1" in command
    assert "loops" not in words(Purpose.MEASURE, rw="write", runtime=10, **given)
    for option in ("compress", "refill"):
        assert option not in words(Purpose.MEASURE, rw="read", **given)
    assert FIO.estimate(complete_values(FIO, {"rw": "write", **given}), Context()).written == 3 * GIB
    limited = {"rw": "write", "runtime": 10, "rate_iops": 100, "block_sizes": "4k-64k"}
    assert FIO.estimate(complete_values(FIO, limited), Context()).written is None


def test_the_largest_of_several_blocks_has_to_fit_the_file() -> None:
    assert "bs is 16 MiB" in measured(tuned_step(FIO, size=MIB, block_sizes="4k/60:16m/40"), "block-over-file")
    assert "block-over-file" not in outcomes(tuned_step(FIO, block_sizes="4k,64k"))


@pytest.mark.parametrize("engine", ["sync", "pvsync2", "mmap"])
def test_engines_that_wait_have_no_depth(engine: str) -> None:
    step = tuned_step(FIO, ioengine=engine, iodepth=8, direct=False)
    assert changes(step, "depth-without-async-engine") == {"ioengine": "libaio", "direct": True}
    assert "depth-without-async-engine" not in outcomes(tuned_step(FIO, ioengine="posixaio", iodepth=8))


def test_mapped_files_are_cached_whatever_their_flags() -> None:
    step = tuned_step(FIO, ioengine="mmap", iodepth=1, rw="randwrite")
    assert "of files through mmap" in measured(step, "page-cache")
    assert "randwrite through mmap" in measured(step, "unflushed-write")
    for check in ("page-cache", "unflushed-write"):
        assert changes(step, check) == {"direct": True, "ioengine": "libaio"}


def test_compressible_data_are_remarked_upon() -> None:
    step = tuned_step(FIO, rw="write", buffer_compress_percentage=60)
    assert measured(step, "repeated-data") == MESSAGES["buffer_compress_percentage"]
    assert "repeated-data" not in outcomes(tuned_step(FIO, rw="read", buffer_compress_percentage=60))


def test_random_blocks_of_several_sizes_need_a_runtime() -> None:
    step = tuned_step(FIO, rw="randrw", block_sizes="4k,64k", runtime=0, ramp_time=0)
    assert measured(step, "ends-before-its-size") == MESSAGES["randrw_in_blocks_of_4k_64k"]
    assert changes(step, "ends-before-its-size") == {"runtime": 30.0}
    for fine in ({"runtime": 30.0}, {"rw": "rw"}, {"block_sizes": ""}):
        assert "ends-before-its-size" not in outcomes(replace(step, values={**step.values, **fine}))


def test_more_passes_are_a_longer_run() -> None:
    once = tuned_step(FIO, rw="read", runtime=0, ramp_time=0, size=GIB, numjobs=1)
    assert "short-runtime" in outcomes(once)
    assert "short-runtime" not in outcomes(replace(once, values={**once.values, "loops": 20}))


def test_what_has_no_effect_is_left_out() -> None:
    command = words(rw="randread", rwmixread=70, fsync=16, end_fsync=True)
    assert "rwmixread" not in command
    assert "fsync" not in command


@pytest.mark.parametrize("size", [MIB, 128 * MIB, 10**9, 10**7 + 7])
def test_the_layout_writes_the_files_that_are_measured(size: int) -> None:
    layout = words(Purpose.PREPARE, rw="randread", size=size, numjobs=3, direct=True)
    measure = words(rw="randread", size=size, numjobs=3, direct=True)
    for option in ("--name=benchwright", "--numjobs=3", "--direct=1", "--thread=1"):
        assert option in layout.split()
        assert option in measure.split()
    (written,) = [word for word in layout.split() if word.startswith("--size=")]
    assert written in measure.split()
    assert "--rw=write" in layout.split()
    assert "--end_fsync=1" in layout.split()


def test_a_log_that_is_flushed_at_each_write_is_a_new_file_each_time() -> None:
    given: dict[str, Any] = {"rw": "write", "fdatasync": 1, "size": 22 * MIB, "block_size": 2300}
    (measure,) = FIO.commands(complete_values(FIO, given), Context())
    assert "--unlink=1" in measure.argv
    assert FIO.estimate(complete_values(FIO, given), Context()).prepared == 0
    for other in ({"runtime": 30}, {"fdatasync": 2}, {"loops": 2}, {"rw": "randwrite"}):
        layout, measure = FIO.commands(complete_values(FIO, {**given, **other}), Context())
        assert layout.purpose is Purpose.PREPARE
        assert "--unlink=1" not in measure.argv


@pytest.mark.parametrize(
    ("name", "value"),
    [("rw", "sideways"), ("iodepth", 0), ("numjobs", 0), ("size", "12"), ("runtime", -1), ("directory", "tmp"),
     ("ioengine", "sg"), ("rwmixread", 101), ("block_size", "1 GiB"), ("blocksize", "4k")],
)  # fmt: skip
def test_values_out_of_bounds_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(FIO, {name: value})


def test_figures_of_another_directory_compare() -> None:
    assert [parameter.name for parameter in FIO.parameters if not parameter.identity] == ["directory", "device"]


def test_estimate_counts_the_layout_and_what_is_known_to_be_written() -> None:
    def estimate(**given: object) -> tuple[float | None, int | None, int]:
        found = FIO.estimate(complete_values(FIO, {"size": GIB, "numjobs": 2, **given}), Context())
        assert found.prepared == 2 * GIB
        return found.duration, found.written, found.space

    assert estimate(rw="randread") == (None, 0, 2 * GIB)
    assert estimate(rw="randread", runtime=30, ramp_time=5) == (35.0, 0, 2 * GIB)
    assert estimate(rw="write") == (None, 2 * GIB, 2 * GIB)
    assert estimate(rw="rw", rwmixread=75) == (None, GIB // 2, 2 * GIB)
    assert estimate(rw="write", runtime=30) == (30.0, None, 2 * GIB)
    assert estimate(rw="write", runtime=10, rate_iops=100)[1] == 2 * 100 * 4096 * 10


def test_tuning_takes_the_disk_with_the_most_room() -> None:
    tuned = FIO.tune(Context(disk_host(HOME, SHM, DATA)))
    assert tuned["directory"].value == "/srv"
    assert "100 GiB free" in tuned["directory"].why


def test_tuning_follows_the_facts() -> None:
    values = tuned_values(FIO, Context(disk_host(cpus=2)))
    assert values["numjobs"] == 2
    assert values["size"] == GIB
    assert (values["direct"], values["ioengine"], values["iodepth"]) == (True, "libaio", 32)
    assert (values["runtime"], values["ramp_time"]) == (30.0, 5.0)
    assert tuned_values(FIO, Context(disk_host(cpus=64)))["numjobs"] == 4


def test_tuning_takes_no_more_than_a_tenth_of_what_is_free() -> None:
    values = tuned_values(FIO, Context(disk_host(replace(DATA, free=5 * GIB), cpus=1)))
    assert values["size"] == GIB // 2


@pytest.mark.parametrize(
    ("volume", "free", "total", "held"),
    [
        (None, 900, 2, MESSAGES["beyond_a_drive"]),
        (10, 900, 2, MESSAGES["beyond_a_drive"]),
        (50, 900, 5, MESSAGES["beyond_a_drive"]),
        (1000, 900, 10, MESSAGES["beyond_a_controller"]),
        (1000, 10, 1, MESSAGES["within_a_drive"]),
    ],
)
def test_the_tuned_size_follows_the_volume_and_says_which_caches_it_exceeds(
    volume: int | None, free: int, total: int, held: str
) -> None:
    facts = disk_host(replace(DATA, free=free * GIB), cpus=1)
    size = Absent("not read") if volume is None else volume * GIB
    facts = replace(facts, file_systems=(FileSystem(mount="/srv", kind="ext4", size=size, free=free * GIB),))
    tuned = FIO.tune(Context(facts))["size"]
    assert tuned.value == total * GIB
    assert held in tuned.why
    assert f"in {duration_text(total * GIB / 125e6)} at 125 MB/s." in tuned.why


def test_without_direct_io_the_files_outgrow_the_memory() -> None:
    tuned = FIO.tune(Context(disk_host(REFUSING, cpus=3, memory=8 * GIB)))
    assert tuned["direct"].value is False
    assert int(tuned["size"].value) * 3 >= 16 * GIB
    assert "iodepth" not in tuned
    small = FIO.tune(Context(disk_host(replace(REFUSING, free=10 * GIB), cpus=1, memory=8 * GIB)))
    assert int(small["size"].value) <= 5 * GIB + MIB
    assert "can cache much of it" in small["size"].why


def test_without_facts_tuning_only_says_what_is_read_and_for_how_long() -> None:
    alone = {"rw", "runtime", "ramp_time", "randrepeat"}
    assert set(FIO.tune(Context())) == alone
    assert set(FIO.tune(Context(disk_host(SHM)))) == alone


def test_every_tuned_value_says_why_in_a_sentence() -> None:
    for facts in (disk_host(), disk_host(REFUSING), disk_host(replace(DATA, direct=Absent("not tried")))):
        for name, tuned in FIO.tune(Context(facts)).items():
            assert tuned.why.endswith("."), name
            assert FIO.parameters[[p.name for p in FIO.parameters].index(name)].parse(tuned.value) == tuned.value


def test_the_tuned_step_raises_nothing() -> None:
    assert outcomes(tuned_step(FIO)) == {}


@pytest.mark.parametrize("rw", ["read", "write", "randwrite", "randrw"])
def test_the_tuned_step_with_another_pattern_raises_nothing(rw: str) -> None:
    assert outcomes(tuned_step(FIO, rw=rw)) == {}


def test_files_that_fit_in_memory_are_warned_of() -> None:
    step = tuned_step(FIO, direct=False, iodepth=1, size="2 GiB", numjobs=2)
    assert MESSAGES["4_gib_of_files_without"] in measured(step, "page-cache")
    assert changes(step, "page-cache") == {"direct": True}
    half = tuned_step(FIO, direct=False, iodepth=1, size="20 GiB", numjobs=1)
    assert "in part" in measured(half, "page-cache")
    assert "page-cache" not in outcomes(tuned_step(FIO, direct=False, iodepth=1, size="32 GiB", numjobs=1))


def test_a_cgroups_limit_counts_as_the_memory() -> None:
    facts = disk_host()
    facts = replace(facts, memory=replace(facts.memory, limit=GIB))
    assert "page-cache" not in outcomes(tuned_step(FIO, facts, direct=False, iodepth=1, size="2 GiB", numjobs=1))


def test_where_direct_io_is_refused_larger_files_are_offered() -> None:
    step = tuned_step(FIO, disk_host(REFUSING), size="1 GiB", numjobs=2)
    assert changes(step, "page-cache") == {"size": 16 * GIB}
    cramped = tuned_step(FIO, disk_host(replace(REFUSING, free=10 * GIB)), size="1 GiB", numjobs=2)
    assert changes(cramped, "page-cache") == {}


def test_unknown_memory_is_not_judged() -> None:
    facts = disk_host()
    facts = replace(facts, memory=replace(facts.memory, total=Absent("no /proc"), limit=Absent("no cgroup")))
    step = tuned_step(FIO, facts, direct=False, iodepth=1)
    assert outcomes(step)["page-cache"] == NotChecked("The host's memory is not known.")


def test_buffered_writes_without_a_flush_are_warned_of() -> None:
    step = tuned_step(FIO, rw="write", direct=False, iodepth=1)
    assert changes(step, "unflushed-write") == {"direct": True}
    late = tuned_step(FIO, rw="write", direct=False, iodepth=1, end_fsync=True)
    assert MESSAGES["end_fsync_comes_only_after"] in measured(late, "unflushed-write")
    flushed = tuned_step(FIO, rw="write", direct=False, iodepth=1, end_fsync=True, runtime=0, ramp_time=0)
    assert not {"unflushed-write", "page-cache"} & set(outcomes(flushed))
    assert not {"unflushed-write", "page-cache"} & set(outcomes(replace_values(step, fsync=1)))


def test_where_direct_io_is_refused_a_flush_that_counts_is_offered() -> None:
    step = tuned_step(FIO, disk_host(REFUSING), rw="write")
    remedied = replace_values(step, **changes(step, "unflushed-write"))
    assert "unflushed-write" not in outcomes(remedied)


def test_short_runs_are_warned_of() -> None:
    step = tuned_step(FIO, runtime=3, ramp_time=0)
    assert "3 s: 3 samples" in measured(step, "short-runtime")
    assert changes(step, "short-runtime") == {"runtime": 30.0}
    assert "short-runtime" not in outcomes(tuned_step(FIO, runtime=10))


def test_runs_bound_by_size_are_judged_by_a_plausible_rate() -> None:
    step = tuned_step(FIO, runtime=0, ramp_time=0, numjobs=1, size="4 GiB")
    assert MESSAGES["4_gib_are_done_4_s_at_the_1"] in measured(step, "short-runtime")
    assert "short-runtime" not in outcomes(tuned_step(FIO, runtime=0, ramp_time=0, numjobs=1, size="10 GiB"))
    rotating = tuned_step(FIO, runtime=0, ramp_time=0, numjobs=1, size="4 GiB", directory="/home/ann")
    assert "short-runtime" not in outcomes(rotating)


def test_a_virtual_disk_that_says_it_rotates_is_not_believed() -> None:
    facts = disk_host()
    facts = replace(facts, system=replace(facts.system, virtualisation="kvm"))
    step = tuned_step(FIO, facts, runtime=0, ramp_time=0, numjobs=1, size="4 GiB", directory="/home/ann")
    assert "solid-state" in measured(step, "short-runtime")


@pytest.mark.parametrize(("ramp", "wanted"), [(5, 30.0), (30, 60.0)])
def test_a_ramp_without_runtime_is_warned_of(ramp: float, wanted: float) -> None:
    step = tuned_step(FIO, runtime=0, ramp_time=ramp)
    assert changes(step, "runtime-under-ramp") == {"runtime": wanted}
    assert "runtime-under-ramp" not in outcomes(replace_values(step, runtime=wanted))


def test_a_ramp_longer_than_runtime_is_not_warned_of() -> None:
    assert "runtime-under-ramp" not in outcomes(tuned_step(FIO, runtime=10, ramp_time=30))


def test_a_depth_that_has_no_effect_is_warned_of() -> None:
    psync = tuned_step(FIO, ioengine="psync", iodepth=32)
    assert changes(psync, "depth-without-async-engine") == {"ioengine": "libaio"}
    buffered = tuned_step(FIO, direct=False, size="64 GiB")
    assert changes(buffered, "depth-without-async-engine") == {"direct": True}
    refused = tuned_step(FIO, disk_host(REFUSING), iodepth=4)
    assert changes(refused, "depth-without-async-engine") == {"iodepth": 1}
    assert "depth-without-async-engine" not in outcomes(tuned_step(FIO, ioengine="psync", iodepth=1))
    assert "depth-without-async-engine" not in outcomes(tuned_step(FIO, ioengine="io_uring", direct=False, size="64g"))


def test_a_block_larger_than_the_file_is_an_error() -> None:
    step = tuned_step(FIO, block_size="2 MiB", size="1 MiB")
    assert changes(step, "block-over-file") == {"size": 128 * MIB}
    assert "block-over-file" not in outcomes(tuned_step(FIO, block_size="1 MiB", size="1 MiB"))


def test_refused_direct_io_is_an_error() -> None:
    step = tuned_step(FIO, disk_host(REFUSING), direct=True)
    (check,) = [check for check in FIO.checks if check.id == "direct-refused"]
    assert check.severity is Severity.ERROR
    assert MESSAGES["ext4_which_refused_o_direct"] in measured(step, "direct-refused")
    assert changes(step, "direct-refused") == {"direct": False}
    untried = tuned_step(FIO, disk_host(replace(DATA, direct=Absent("not tried"))), direct=True)
    assert isinstance(outcomes(untried)["direct-refused"], NotChecked)


def replace_values(step: StepEvidence, **given: object) -> StepEvidence:
    """Return the step with other values."""
    return replace(step, values=complete_values(step.suite, {**step.values, **given}))


@pytest.mark.parametrize(("version", "asked"), [("fio-3.33", 1), ("fio-3.16", 0), (Absent("not run"), 0)])
def test_percentiles_of_the_total_latency_are_asked_of_a_fio_that_has_them(version: str | Absent, asked: int) -> None:
    facts = replace(disk_host(), tools=(Tool(name="fio", version=version),))
    measure = FIO.commands(complete_values(FIO, {}), Context(facts))[-1]
    assert measure.argv.count("--lat_percentiles=1") == asked


def test_the_sync_latency_leads_where_each_write_is_flushed() -> None:
    given = {"rw": "write", "ioengine": "sync", "fdatasync": 1, "size": "22 MiB", "block_size": "2300"}
    values = complete_values(FIO, given)
    (measured,) = FIO.commands(values, Context())
    assert {"--rw=write", "--ioengine=sync", "--fdatasync=1", "--size=22m", "--bs=2300"} <= set(measured.argv)
    assert FIO.metrics_of(values)[0].name == "sync_latency_p99"
    assert FIO.metrics_of({**values, "fdatasync": 8})[0].name == "iops"
    assert FIO.metrics_of({**values, "rw": "read"})[0].name == "iops"
    assert FIO.workload(values).writes_per_sync == 1
    assert flushes(values)
    parsed = capture("fio/3.33/fdatasync").parse(FIO.parser(values))
    assert (parsed.figures[0].metric.name, parsed.figures[0].value) == ("sync_latency_p99", 16_187_392)
    live = [sample.value for sample in parsed.samples if sample.metric.name == "sync_latency_p99"]
    assert live
    assert max(live) >= parsed.figures[0].value
