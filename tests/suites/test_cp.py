"""cp as a suite: commands, tuning, estimate, its own checks, and what is read of a timed copy."""

import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.checks import NotChecked
from suites.cp import Cp, CpParser
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from tests.disk_host import DATA, GIB, MIB, SHM, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures

MESSAGES = messages("suites", "test_cp")

CP = Cp()
DATA_OF_CP = Path(__file__).parent.parent / "data/cp/9.1"
DEFAULTS: dict[str, object] = {"read": "cached", "flush": "none", "reflink": "default"}
MEASURED = (
    "Measured: one file read after its pages were dropped from the page cache and written and synced to the disk; "
    "both on one disk, in one figure."
)


def lines(**values: object) -> list[tuple[Purpose, str]]:
    commands = CP.commands(complete_values(CP, values), Context())
    return [(command.purpose, shlex.join(command.argv)) for command in commands]


def parse(text: str | bytes, exit_status: int | None = 0) -> ParsedTrial:
    parser = CpParser(cold=True, flushed=True)
    parser.feed(text.encode() if isinstance(text, str) else text)
    return parser.finish(exit_status)


def parsed(name: str) -> ParsedTrial:
    return capture(f"cp/9.1/{name}").parse(CpParser(cold=True, flushed=True))


def test_defaults_are_what_everybody_types() -> None:
    (prepare, layout), (measure, line) = lines(size="2 MiB")
    assert (prepare, measure) == (Purpose.PREPARE, Purpose.MEASURE)
    assert layout == MESSAGES["dd_if_dev_urandom_of"]
    assert MESSAGES["time_cp_benchwright_dat"] in line
    assert "nocache" not in line


def test_a_careful_copy_is_the_one_that_was_captured() -> None:
    line = shlex.split(lines(read="cold", flush="sync", reflink="never")[1][1])
    reported = (DATA_OF_CP / "cold_sync.txt").read_text().splitlines()[0]
    assert " ".join(line) == reported.removeprefix("command: ")


@pytest.mark.parametrize(("name", "value"), [("size", 1000), ("read", "warm"), ("reflink", "always"), ("count", 1)])
def test_values_out_of_bounds_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(CP, {name: value})


def test_the_estimate_counts_source_and_copy() -> None:
    estimate = CP.estimate(complete_values(CP, {"size": 3 * MIB + 1}), Context())
    assert (estimate.duration, estimate.written, estimate.prepared, estimate.space) == (None, 4 * MIB, 4 * MIB, 8 * MIB)


def test_tuning_follows_the_facts() -> None:
    values = tuned_values(CP, Context(disk_host()))
    assert values == {"directory": "/srv", "size": 4 * GIB, "read": "cold", "flush": "sync", "reflink": "never"}
    assert tuned_values(CP, Context(disk_host(replace(DATA, free=8 * GIB))))["size"] == GIB
    assert set(CP.tune(Context())) == {"read", "flush", "reflink"}


def test_the_tuned_step_raises_nothing() -> None:
    assert outcomes(tuned_step(CP)) == {}


def test_the_default_step_is_warned_of_and_the_changes_mend_it() -> None:
    facts = disk_host(replace(DATA, kind="xfs"))
    step = tuned_step(CP, facts, **{**DEFAULTS, "size": 512 * MIB})
    assert set(outcomes(step)) == {"source-in-memory", "unflushed-write", "reflink", "short-runtime"}
    assert MESSAGES["16_gib_of_memory_keep_them"] in measured(step, "source-in-memory")
    remedied: dict[str, Any] = dict(step.values)
    for check in outcomes(step):
        remedied |= changes(step, check)
    assert outcomes(replace(step, values=remedied)) == {}


def test_a_source_of_twice_the_memory_does_not_stay_there() -> None:
    assert "source-in-memory" not in outcomes(tuned_step(CP, read="cached", size=32 * GIB))
    unknown = replace(tuned_step(CP, read="cached", reflink="auto"), context=Context())
    assert isinstance(outcomes(unknown)["source-in-memory"], NotChecked)
    assert isinstance(outcomes(unknown)["reflink"], NotChecked)


@pytest.mark.parametrize(
    ("kind", "words"), [("btrfs", "its files can share blocks"), ("nfs4", "its server can copy on its own")]
)
def test_copies_that_move_nothing_are_warned_of(kind: str, words: str) -> None:
    step = tuned_step(CP, disk_host(replace(DATA, kind=kind)), reflink="auto")
    assert words in measured(step, "reflink")
    assert changes(step, "reflink") == {"reflink": "never"}
    assert "reflink" not in outcomes(tuned_step(CP, reflink="auto"))


def test_memory_cannot_be_cold() -> None:
    assert measured(tuned_step(CP, disk_host(SHM), directory="/tmp"), "cannot-be-cold").endswith("which is memory.")


def test_the_rate_is_the_copys_bytes_by_the_clock() -> None:
    found = parsed("cold_sync")
    assert found.complete
    assert found.notes == (MEASURED,)
    assert figures(found) == {
        "bandwidth": 536870912 / 0.456 / 1e6,
        "elapsed": 0.456,
        "cpu_time": 0.225,
        "copied": 536870912,
    }


def test_each_result_says_what_it_did_not_measure() -> None:
    found = capture("cp/9.1/cached").parse(CpParser(cold=False, flushed=False))
    assert "possibly from the" in found.notes[0]
    assert "page cache only" in found.notes[0]


def test_holes_and_coarse_times_are_told() -> None:
    holes, coarse = parsed("sparse").notes[1:]
    assert "occupies 0: sparse" in holes
    assert MESSAGES["0_005_s_is_close_to_the"] in coarse
    assert len(parsed("tiny").notes) == 2


def test_a_time_of_nothing_gives_no_rate() -> None:
    found = parse("real 0,000 user 0,000 system 0,000\ncopied 5 bytes, 8 blocks of 512\n")
    assert "bandwidth" not in figures(found)


@pytest.mark.parametrize(
    ("name", "words"), [("enospc", "No space left on device"), ("missing", "cannot stat 'benchwright.dat'")]
)
def test_failures_are_named_and_give_no_figure(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert found.figures == ()
    assert words in found.notes[0]


def test_a_host_without_bash_is_named() -> None:
    assert "bash: not found" in parse("sh: 1: exec: bash: not found\n", 127).notes[0]


def test_a_copy_that_was_cut_off_has_no_figure() -> None:
    found = parsed("sigterm")
    assert not found.complete
    assert found.figures == ()
    assert found.notes == (MESSAGES["the_copy_was_cut_off_its"], MESSAGES["the_copy_was_ended_by"])
    whole = (DATA_OF_CP / "cold_sync.screen").read_bytes()
    for length in range(len(whole) - 1):
        assert not parse(whole[:length]).complete


FRAGMENTS = st.sampled_from(
    [b"real 1.000 user 0.1", b"00 system 0.100\n", b"copied 5 bytes, ", b"8 blocks of 512\n", b"cp: \x1b[2J\n"]
)


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.lists(FRAGMENTS | st.binary(max_size=60), max_size=12), st.lists(st.integers(0, 400), max_size=12))
def test_any_bytes_are_read_however_they_arrive(parts: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(parts)
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = CpParser(cold=True, flushed=True)
    for start, stop in pairwise(edges):
        pieces.feed(whole[start:stop])
    assert pieces.finish(0) == parse(whole)
