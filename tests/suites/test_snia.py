"""The SNIA tests: their points and commands, what they cost, and what is known to fool people about them."""

import shlex
from dataclasses import replace
from typing import Any

import pytest

from suites.base import Command, Context, Purpose, StepEvidence, complete_values, tuned_values
from suites.checks import NotChecked
from suites.errors import ParameterError
from suites.facts import Absent, Facts, RawDevice
from suites.snia.parameters import SniaPoint, most_rounds, points, tracked
from suites.snia.suite import FioSnia
from suites.units import Unit
from suites.vocab import Severity
from tests.disk_host import GIB, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_snia")

SNIA = FioSnia()

FREE = RawDevice(
    path="/dev/nvme1n1", node="/dev/nvme1n1", kind="disk", size=400 * GIB, model="Datacentre SSD", serial="S1",
    by_id=("nvme-S1",), readable=True, writable=True, uses=(), signatures=(), free=True, read_only=False, written=True,
)  # fmt: skip


def with_device(facts: Facts | None = None, **changed: Any) -> Facts:
    return replace(facts or disk_host(), devices=(replace(FREE, **changed),))


def commands(context: Context | None = None, **given: object) -> tuple[Command, ...]:
    return SNIA.commands(complete_values(SNIA, given), context or Context())


def on_device(**given: object) -> StepEvidence:
    return tuned_step(SNIA, with_device(), device="/dev/nvme1n1", size=0, **given)


def test_the_points_are_the_standards() -> None:
    found = {
        test: points(complete_values(SNIA, {"test": test})) for test in ("iops", "throughput", "latency", "saturation")
    }
    assert {test: len(each) for test, each in found.items()} == {
        "iops": 56, "throughput": 10, "latency": 9, "saturation": 1,
    }  # fmt: skip
    assert found["iops"][:2] == (SniaPoint(100, 2**20), SniaPoint(100, 128 * 1024))
    leading = {test: each[tracked(complete_values(SNIA, {"test": test}))] for test, each in found.items()}
    assert leading == {
        "iops": SniaPoint(0, 4096),
        "throughput": SniaPoint(0, 2**20, sequential=True),
        "latency": SniaPoint(0, 4096),
        "saturation": SniaPoint(0, 4096),
    }


def test_with_other_points_the_nearest_is_tracked() -> None:
    values = complete_values(SNIA, {"blocks": "128k, 8k", "mixes": "100, 30"})
    assert points(values)[tracked(values)] == SniaPoint(30, 8192)
    assert SniaPoint(30, 8192).operation == "write"
    assert SniaPoint(100, 8192).operation == "read"


def test_a_device_is_purged_then_written_over_twice_then_measured() -> None:
    purge, fill, rounds = commands(device="/dev/nvme1n1", test="latency")
    assert (purge.line, purge.purpose) == (MESSAGES["sudo_blkdiscard_f_dev"], Purpose.PREPARE)
    assert fill.line == (
        "sudo fio --name=benchwright --filename=/dev/nvme1n1 --rw=write --bs=128k --iodepth=16 --direct=1 "
        "--ioengine=libaio --loops=2 --end_fsync=1 --thread=1"
    )
    assert rounds.argv[:7] == ("sh", "steady-rounds.sh", "both", "25", "8", "write", "lat_ns")
    assert [file.resource for file in rounds.files] == ["steady-rounds.sh"]
    assert len(rounds.argv) == 7 + 9
    assert rounds.argv[7] == (
        "fio --name=benchwright --filename=/dev/nvme1n1 --rw=randread --bs=8k --iodepth=1 --numjobs=1 --direct=1 "
        "--ioengine=libaio --runtime=60 --time_based --norandommap --randrepeat=0 --readonly --thread=1 "
        "--group_reporting --output-format=json+ --status-interval=5"
    )
    assert "--rw=randrw --rwmixread=65 " in rounds.argv[10]
    assert rounds.root
    assert len(commands(device="/dev/nvme1n1", purge="none")) == 2


def test_every_step_on_a_device_destroys_and_every_line_is_words() -> None:
    values = complete_values(SNIA, {"device": "/dev/disk/by-id/a:b", "mixes": "100"})
    assert SNIA.device(values) == "/dev/disk/by-id/a:b"
    assert SNIA.destroys(values)
    assert not SNIA.destroys(complete_values(SNIA, {"size": "1 GiB"}))
    for line in SNIA.commands(values, Context())[-1].argv[7:]:
        assert shlex.split(line, posix=False) == line.split()
        assert r"--filename=/dev/disk/by-id/a\:b" in line


def test_a_file_is_written_over_and_neither_purged_nor_touched_by_root() -> None:
    fill, rounds = commands(test="throughput", size="2 GiB", passes=1)
    assert "--filename=benchwright --size=2g --rw=write --bs=128k" in fill.line
    assert [fill.root, rounds.root] == [False, False]
    assert "--rw=read --bs=1m " in rounds.argv[7]
    assert "norandommap" not in rounds.argv[7]
    assert rounds.argv[2:7] == ("both", "25", "6", "write", "bw_bytes")


def test_saturation_writes_so_many_times_the_range_or_for_so_long() -> None:
    context = Context(with_device())
    rounds = commands(context, device="/dev/nvme1n1", test="saturation")[-1]
    assert rounds.argv[2:7] == (f"bytes:{1600 * GIB}", "1440", "1", "write", "iops")
    unknown = commands(device="/dev/nvme1n1", test="saturation", fill_time=90)[-1]
    assert unknown.argv[2:4] == ("bytes:0", "2")


def test_what_each_test_leads_with() -> None:
    leading = {
        test: SNIA.metrics_of(complete_values(SNIA, {"test": test}))[0]
        for test in ("iops", "throughput", "latency", "saturation")
    }
    assert {test: metric.name for test, metric in leading.items()} == {
        "iops": "window_iops", "throughput": "window_bandwidth", "latency": "window_total_latency",
        "saturation": "window_iops",
    }  # fmt: skip
    assert leading["latency"].unit is Unit.NANOSECOND


@pytest.mark.parametrize("given", [{"blocks": "4k;8k"}, {"mixes": "101"}, {"rounds": 0}, {"passes": 0}])
def test_what_is_no_point_or_round_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(given))):
        complete_values(SNIA, given)


def test_the_estimate_is_that_of_all_rounds() -> None:
    values = complete_values(SNIA, {"size": "1 GiB"})
    estimate = SNIA.estimate(values, Context())
    assert estimate.duration == 25 * 56 * 60.5
    assert (estimate.prepared, estimate.space) == (2 * GIB, GIB)
    assert round((estimate.written or 0) / 2**40) == 33  # at no more than 1 GB/s and 200,000 IOPS
    device = complete_values(SNIA, {"device": "/dev/nvme1n1", "test": "saturation"})
    found = SNIA.estimate(device, Context(with_device()))
    assert (found.written, found.prepared, found.space) == (1600 * GIB, 800 * GIB, 0)
    assert SNIA.estimate(device, Context()).written is None
    assert most_rounds(complete_values(SNIA, {"test": "saturation", "fill_time": 61})) == 2


def test_tuned_to_a_host_it_shows_nothing_but_what_it_costs_a_device() -> None:
    step = tuned_step(SNIA)
    assert {name for name, one in outcomes(step).items() if not isinstance(one, NotChecked)} == set()
    assert measured(on_device(), "steady-state-cost").startswith(
        "56 points of 60 s: 9.3 h (10 rounds) to 23.3 h (25 rounds), writing up to "
    )
    assert tuned_values(SNIA, Context(disk_host()))["size"] == 50 * GIB
    assert MESSAGES["whole_device"] in SNIA.tune(Context(disk_host()))["size"].why


def test_a_test_in_rounds_is_run_once() -> None:
    assert "repeated-rounds" not in outcomes(tuned_step(SNIA))
    assert measured(replace(tuned_step(SNIA), trials=6), "repeated-rounds") == MESSAGES["six_trials"]


def test_on_a_device_the_loss_has_to_be_confirmed() -> None:
    found = outcomes(on_device())
    assert {"destroys-data", "cannot-purge", "steady-state-cost"} <= set(found)
    assert "S1" in getattr(found["destroys-data"], "remedy", "")
    assert MESSAGES["before_800_gib_are_written"] in measured(on_device(), "steady-state-cost")
    busy = tuned_step(SNIA, with_device(uses=("mount nvme1n1 /data",)), device="/dev/nvme1n1", size=0)
    assert "is mounted on /data" in measured(busy, "device-in-use")
    assert measured(on_device(test="saturation"), "steady-state-cost").startswith(
        "It writes 1.56 TiB, for 29 min to 24.0 h. "
    )


def test_the_wear_is_told_where_smart_tells_it() -> None:
    def reported(**changed: Any) -> str:
        step = tuned_step(
            SNIA, with_device(**changed), device="/dev/nvme1n1", size=0, test="saturation", fill=4, passes=2
        )
        return measured(step, "steady-state-cost").rpartition("MB/s. ")[2]

    assert reported(endurance_used=4.0, lifetime_written=60_000 * GIB) == (MESSAGES["4_of_the_rated_endurance_are"])
    assert reported(endurance_used=0.0, lifetime_written=60 * GIB) == MESSAGES["0_of_the_rated_endurance_are"]
    absent = reported(endurance_used=Absent("smartctl is not installed"))
    assert absent == MESSAGES["the_wear_is_not_known"]


def test_reads_alone_lose_what_is_on_the_device_too() -> None:
    step = on_device(mixes="100")
    assert "destroys-data" in outcomes(step)
    busy = tuned_step(SNIA, with_device(signatures=("nvme1n1 ext4",)), device="/dev/nvme1n1", size=0, mixes="100")
    assert "device-in-use" in outcomes(busy)
    assert all(command.root for command in SNIA.commands(step.values, step.context))


def test_a_shortened_test_is_none_of_the_standards() -> None:
    step = tuned_step(SNIA, runtime=5, rounds=10, blocks="4k", mixes="0", passes=1)
    assert measured(step, "not-by-the-standard") == (MESSAGES["5_s_a_point_instead_of_1_min"])
    short = tuned_step(SNIA, test="saturation", fill=1, fill_time=60)
    assert MESSAGES["neither_four_times_the_range"] in measured(short, "not-by-the-standard").lower()
    checks = {check.id: check for check in SNIA.checks}
    assert checks["not-by-the-standard"].severity is Severity.WARNING


def test_the_window_alone_is_warned_of() -> None:
    step = tuned_step(SNIA, criterion="pts")
    assert changes(step, "standard-window-alone") == {"criterion": "both"}
    assert "standard-window-alone" not in outcomes(tuned_step(SNIA, test="saturation", criterion="pts"))


def test_blocks_below_the_devices_own_are_left_out() -> None:
    facts = disk_host()
    small = replace(
        facts, block_devices=tuple(replace(device, sector=4096) for device in facts.block_devices)
    )  # fmt: skip
    step = tuned_step(SNIA, small)
    assert measured(step, "block-under-sector") == MESSAGES["nvme0n1_takes_blocks_of_4"]
    assert changes(step, "block-under-sector") == {"blocks": "1024k, 128k, 64k, 32k, 16k, 8k, 4k"}
    assert isinstance(outcomes(tuned_step(SNIA)).get("block-under-sector"), NotChecked | None)


def test_a_fio_before_3_is_refused() -> None:
    facts = disk_host()
    old = replace(facts, tools=tuple(replace(tool, version="fio-2.21") for tool in facts.tools if tool.name == "fio"))
    assert measured(tuned_step(SNIA, old), "fio-before-3") == "fio is version 2.21."
    assert "fio-before-3" not in outcomes(tuned_step(SNIA))


def test_a_file_needs_a_size() -> None:
    step = tuned_step(SNIA, size=0)
    assert changes(step, "no-active-range") == {"size": GIB}
    assert "no-active-range" in outcomes(tuned_step(SNIA, size=4096))
    assert "no-active-range" not in outcomes(on_device())
