"""fio's rarer parameters: what reaches the command, and what its output says of a steady state and of bad data."""

import json
import shlex

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.errors import ParameterError
from suites.fio.output import FioParser
from suites.fio.suite import Fio
from suites.outputs import ParsedTrial
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_options")

FIO = Fio()


def lines(purpose: Purpose = Purpose.MEASURE, **given: object) -> list[str]:
    found = FIO.commands(complete_values(FIO, given), Context())
    return [shlex.join(command.argv) for command in found if command.purpose is purpose]


def measuring(**given: object) -> str:
    (line,) = lines(Purpose.MEASURE, **given)
    return line


def test_none_of_them_is_said_unless_it_is_asked_for() -> None:
    plain = measuring(rw="randwrite")
    for option in ("randrepeat", "steadystate", "ss_", "verify", "invalidate", "fadvise"):
        assert option not in plain


def test_each_run_draws_blocks_of_its_own_where_it_is_told_to() -> None:
    assert " --rw=randrw --rwmixread=50 --randrepeat=0 --bs=4k " in measuring(rw="randrw", randrepeat=False)
    assert "randrepeat" not in measuring(rw="read", randrepeat=False)
    assert tuned_values(FIO, Context())["randrepeat"] is False


def test_a_steady_state_is_waited_for() -> None:
    line = measuring(steady_state="iops_slope:0.1%", steady_duration=60, steady_ramp=90, runtime=600)
    assert "--steadystate=iops_slope:0.1% --ss_dur=60 --ss_ramp=90" in line
    for bad in ("iops", "tps:1%", "iops:x%", "iops:1% --exec=x"):
        with pytest.raises(ParameterError, match="steady_state"):
            complete_values(FIO, {"steady_state": bad})


def test_data_are_verified_only_where_they_are_written() -> None:
    assert "--verify=crc32c" in measuring(rw="write", verify="crc32c")
    assert "--verify" not in measuring(rw="read", verify="crc32c")


def test_what_the_page_cache_is_told() -> None:
    assert "--invalidate=0 --fadvise_hint=random" in measuring(invalidate=False, fadvise_hint="random")


def test_every_block_of_a_device_is_touched_once_before() -> None:
    given = {"device": "/dev/nvme1n1", "numjobs": 4, "size": "1 GiB", "rw": "randread"}
    assert lines(Purpose.PREPARE, **given) == []
    (touch,) = lines(Purpose.PREPARE, prewarm=True, **given)
    assert touch == (
        "fio --name=benchwright --rw=read --bs=1m --direct=1 --size=4g --filename=/dev/nvme1n1 --readonly --thread=1"
    )
    assert len(lines(Purpose.PREPARE, prewarm=True)) == 1, "files are laid out, which touches every block as well"


def steady(attained: int, **more: object) -> ParsedTrial:
    read = {"total_ios": 900, "io_bytes": 900 * 4096, "runtime": 3000, "iops": 300, "bw_bytes": 300 * 4096}
    state = {
        "ss": "iops_slope:10.000000%", "duration": 3, "attained": attained, "criterion": "4.162982%",
        "data": {"iops_mean": 16582},
    }  # fmt: skip
    job = {"jobname": "x", "read": read, "job options": {"runtime": "60"}, "steadystate": state, **more}
    parser = FioParser()
    parser.feed(json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=2).encode() + b"\n")
    return parser.finish(None if attained else 0)


def test_a_steady_state_that_was_reached_ends_the_run_early_and_is_told() -> None:
    parsed = steady(1)
    assert parsed.complete
    assert parsed.notes == ("Steady state “iops_slope:10%” over 3 s was reached after 3 s, at 4.162982%.",)
    assert {figure.metric.name: figure.value for figure in parsed.figures}["steady_iops"] == 16582


def test_one_that_was_not_reached_is_told_and_has_no_figure() -> None:
    parsed = steady(0)
    assert "was not reached in 3 s" in parsed.notes[0]
    assert "steady_iops" not in {figure.metric.name for figure in parsed.figures}


def test_corrupt_data_are_named() -> None:
    parser = FioParser()
    parser.feed(
        b"fio: pid=7, err=84/file:io_u.c:2159, func=io_u_sync_complete, error=Invalid or incomplete\n", "stderr"
    )
    assert MESSAGES["what_was_read_back_is_not"] in parser.finish(1).notes[0]
