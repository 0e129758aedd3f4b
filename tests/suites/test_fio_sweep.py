"""The sweep with fio: its points, its commands, its estimate and what is known to fool people about it."""

import shlex
from typing import Any

import pytest

from suites.base import Context, Purpose, StepEvidence, complete_values, tuned_values
from suites.errors import ParameterError
from suites.fio.suite import Fio
from suites.fio_sweep.parameters import FioSweepPoint, point_values, points
from suites.fio_sweep.suite import FioSweep
from tests.disk_host import DATA, GIB, MIB, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_sweep")

SWEEP = FioSweep()


def lines(purpose: Purpose = Purpose.MEASURE, **given: object) -> list[str]:
    found = SWEEP.commands(complete_values(SWEEP, given), Context())
    return [shlex.join(command.argv) for command in found if command.purpose is purpose]


def test_the_depth_changes_first_then_the_jobs_then_the_block() -> None:
    values = complete_values(SWEEP, {"depths": "1, 8", "job_counts": "1,2", "blocks": "4k, 1 MiB"})
    assert [(point.block, point.jobs, point.depth) for point in points(values)] == [
        (4096, 1, 1), (4096, 1, 8), (4096, 2, 1), (4096, 2, 8),
        (MIB, 1, 1), (MIB, 1, 8), (MIB, 2, 1), (MIB, 2, 8),
    ]  # fmt: skip


def test_each_point_is_a_fio_of_its_own_on_the_same_files() -> None:
    given: dict[str, Any] = {
        "rw": "randread",
        "depths": "1,32",
        "job_counts": "2",
        "size": "64 MiB",
        "runtime": 5,
        "ramp_time": 1,
    }
    (layout,) = lines(Purpose.PREPARE, **given)
    assert layout == (
        "fio --name=benchwright --rw=write --bs=1m --numjobs=2 --direct=1 --size=64m --end_fsync=1 --thread=1 "
        "--group_reporting '--filename_format=benchwright.$jobnum'"
    )
    first, second = lines(**given)
    assert first == (
        "fio --name=benchwright --rw=randread --randrepeat=0 --bs=4k --iodepth=1 --numjobs=2 --direct=1 --size=64m "
        "--ioengine=libaio --runtime=5 --time_based --ramp_time=1 --thread=1 --group_reporting "
        "'--filename_format=benchwright.$jobnum' --output-format=json+ --status-interval=1"
    )
    assert second == first.replace("--iodepth=1 ", "--iodepth=32 ")


def test_a_raw_device_is_not_laid_out_and_jobs_have_parts_of_their_own() -> None:
    given: dict[str, Any] = {"device": "/dev/nvme1n1", "job_counts": "1, 4", "depths": "8", "size": "1 GiB"}
    assert lines(Purpose.PREPARE, **given) == []
    one, four = lines(**given)
    assert "filename_format" not in one + four
    assert "--filename=/dev/nvme1n1 --readonly" in one
    assert "--filename=/dev/nvme1n1 --offset_increment=1g --readonly" in four
    values = complete_values(SWEEP, {**given, "rw": "randwrite"})
    assert SWEEP.destroys(values)
    assert all(command.root for command in SWEEP.commands(values, Context()))


@pytest.mark.parametrize("given", [{"depths": "0"}, {"depths": "1;2"}, {"job_counts": "1, x"}, {"blocks": "4k,,8k"}])
def test_what_is_no_list_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(given))):
        complete_values(SWEEP, given)


def test_a_point_said_twice_is_measured_once() -> None:
    assert len(points(complete_values(SWEEP, {"depths": "4, 4, 04"[:4]}))) == 1


def test_a_point_is_a_step_of_fio() -> None:
    values = complete_values(SWEEP, {"rw": "randrw", "rwmixread": 70})
    step = point_values(values, FioSweepPoint(8192, 2, 16))
    assert complete_values(Fio(), step) == step
    assert (step["block_size"], step["numjobs"], step["iodepth"], step["rwmixread"]) == (8192, 2, 16, 70)


def test_the_estimate_is_points_by_seconds_and_the_files_of_the_most_jobs() -> None:
    given = {"depths": "1,2,4", "job_counts": "1,4", "runtime": 10, "ramp_time": 2, "size": GIB}
    read = SWEEP.estimate(complete_values(SWEEP, given), Context())
    assert (read.duration, read.written, read.prepared, read.space) == (72.0, 0, 4 * GIB, 4 * GIB)
    assert SWEEP.estimate(complete_values(SWEEP, {**given, "rw": "write"}), Context()).written is None
    device = SWEEP.estimate(complete_values(SWEEP, {**given, "device": "/dev/sdz"}), Context())
    assert (device.prepared, device.space) == (0, 0)


def test_it_is_tuned_to_the_host_and_then_raises_nothing() -> None:
    values = tuned_values(SWEEP, Context(disk_host()))
    assert (values["directory"], values["job_counts"], values["rw"]) == ("/srv", "1, 4", "randread")
    assert outcomes(tuned_step(SWEEP)) == {}
    assert "job_counts" not in SWEEP.tune(Context(disk_host(cpus=1)))
    assert set(SWEEP.tune(Context())) <= {parameter.name for parameter in SWEEP.parameters}


def test_the_checks_of_fio_are_asked_of_every_point() -> None:
    step = tuned_step(SWEEP, ioengine="psync", depths="1, 8", job_counts="1")
    assert measured(step, "depth-without-async-engine").startswith(MESSAGES["at_4_kib_1_job_depth_8"])
    assert changes(step, "depth-without-async-engine") == {"ioengine": "libaio"}
    small = tuned_step(SWEEP, size=MIB, blocks="4k, 2m")
    assert "bs is 2 MiB" in measured(small, "block-over-file")
    buffered = tuned_step(SWEEP, disk_host(DATA), direct=False, job_counts="1, 4", size=GIB)
    assert "page-cache" in outcomes(buffered)


def test_changes_that_a_sweep_has_no_parameter_for_are_not_offered() -> None:
    refusing = StepEvidence(
        "step", SWEEP, complete_values(SWEEP, {"ioengine": "psync", "direct": True}), Context(), "h"
    )
    for outcome in outcomes(refusing).values():
        offered = getattr(outcome, "changes", {})
        assert set(offered) <= {parameter.name for parameter in SWEEP.parameters}


def test_a_sweep_of_more_than_an_hour_is_remarked_upon() -> None:
    step = tuned_step(SWEEP, runtime=300, depths="1,2,4,8,16,32,64", job_counts="1,4")
    assert measured(step, "sweep-takes-long") == MESSAGES["14_points_of_302_s_take_70"]
