"""ioping as a suite: its command, tuning, estimate, its own checks, and what is read of its output."""

import shlex
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.base import Context, complete_values, tuned_values
from suites.checks import CheckOutcome
from suites.errors import ParameterError
from suites.ioping import Ioping, IopingParser
from suites.outputs import ParsedTrial
from tests.disk_host import DATA, GIB, MIB, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series

MESSAGES = messages("suites", "test_ioping")

IOPING = Ioping()
REFUSING = replace(DATA, direct=False)


def line(**values: object) -> str:
    (command,) = IOPING.commands(complete_values(IOPING, values), Context())
    return shlex.join(command.argv)


def parse(data: bytes, exit_status: int | None = 0) -> ParsedTrial:
    parser = IopingParser(0.1)
    parser.feed(data)
    return parser.finish(exit_status)


def parsed(name: str) -> ParsedTrial:
    return capture(f"ioping/1.3/{name}").parse(IopingParser(0.1))


def test_the_command_is_what_an_expert_types() -> None:
    assert line() == "ioping -c 10 -i 1s -s 4k -S 1m ."
    given = {"operation": "write", "cache": "direct", "linear": True, "interval": 0.05, "block_size": 1536}
    assert line(**given, working_set=3 * GIB, count=50) == "ioping -D -W -L -c 50 -i 0.05s -s 1536 -S 3g ."
    assert line(cache="cached").startswith("ioping -C -c ")


@pytest.mark.parametrize(("name", "value"), [("count", 1), ("interval", 0), ("cache", "-D"), ("rate", 1)])
def test_values_out_of_bounds_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(IOPING, {name: value})


def test_the_estimate_counts_the_pauses_and_the_working_set() -> None:
    read = IOPING.estimate(complete_values(IOPING, {"count": 20, "interval": 0.5}), Context())
    assert (read.duration, read.written, read.space) == (10.0, MIB, MIB)
    write = IOPING.estimate(complete_values(IOPING, {"count": 20, "operation": "write"}), Context())
    assert write.written == MIB + 20 * 4096


def test_tuning_follows_the_facts() -> None:
    values = tuned_values(IOPING, Context(disk_host()))
    assert (values["directory"], values["cache"], values["working_set"]) == ("/srv", "direct", 256 * MIB)
    assert (values["count"], values["interval"]) == (300, 0.1)
    assert tuned_values(IOPING, Context(disk_host(REFUSING)))["cache"] == "default"
    assert tuned_values(IOPING, Context(disk_host(replace(DATA, free=GIB))))["working_set"] == 102 * MIB
    assert set(IOPING.tune(Context())) == {"count", "interval", "working_set"}


def test_the_tuned_step_raises_nothing() -> None:
    assert outcomes(tuned_step(IOPING)) == {}
    assert outcomes(tuned_step(IOPING, disk_host(REFUSING))) == {}


def test_the_default_step_is_warned_of_and_the_changes_mend_it() -> None:
    step = tuned_step(IOPING, count=10, working_set=MIB, cache="cached")
    assert set(outcomes(step)) == {"few-requests", "small-working-set", "cached-requests"}
    remedied: dict[str, Any] = dict(step.values)
    for check in outcomes(step):
        remedied |= changes(step, check)
    assert remedied["cache"] == "direct"
    assert outcomes(replace(step, values=remedied)) == {}


def test_cached_writes_are_named_as_such() -> None:
    step = tuned_step(IOPING, disk_host(REFUSING), operation="write", cache="cached")
    assert MESSAGES["written_to_memory_and_not"] in measured(step, "cached-requests")
    assert changes(step, "cached-requests") == {"cache": "default"}


def test_what_ioping_would_refuse_is_an_error_before() -> None:
    assert changes(tuned_step(IOPING, block_size=1000), "unaligned-direct") == {"block_size": 4096}
    assert changes(tuned_step(IOPING, block_size=GIB), "block-beyond-set") == {"working_set": GIB}
    refused = outcomes(tuned_step(IOPING, disk_host(REFUSING), cache="direct"))["direct-refused"]
    assert isinstance(refused, CheckOutcome)
    assert dict(refused.changes) == {"cache": "default"}


def test_the_figures_are_those_of_the_statistics() -> None:
    found = parsed("direct")
    assert found.complete
    assert found.notes == ()
    assert figures(found) == {
        "latency_mean": 372.9,
        "latency_min": 64.0,
        "latency_max": 715.9,
        "latency_deviation": 183.7,
        "iops_without_pauses": 2680,
        "requests": 20,
    }
    assert found.figures[0].metric == IOPING.metrics[0]


def test_every_request_is_a_sample_and_the_first_a_warm_up() -> None:
    found = parsed("direct")
    assert len(found.samples) == 21
    assert [sample.warm_up for sample in found.samples] == [True, *[False] * 20]
    time, latency = series(found.samples, "latency")[-1]
    assert (time, latency) == (2.0, 96.8)
    counted = [sample.value for sample in found.samples if not sample.warm_up]
    assert sum(counted) / len(counted) == pytest.approx(figures(found)["latency_mean"], rel=0.01)


@pytest.mark.parametrize(
    ("name", "unit", "mean"), [("cached", "ns in the deviation", 7.0), ("default", "ms", 1210), ("write", "ms", 2940)]
)
def test_units_are_told_apart(name: str, unit: str, mean: float) -> None:
    assert figures(parsed(name))["latency_mean"] == mean, unit


@pytest.mark.parametrize(
    ("name", "words"), [("missing", 'stat "nowhere.dat" failed'), ("bad_size", "request failed: Invalid argument")]
)
def test_failures_are_named(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert found.figures == ()
    assert words in found.notes[0]


def test_a_stopped_run_keeps_its_requests() -> None:
    found = parsed("sigterm")
    assert not found.complete
    assert found.figures == ()
    assert len(found.samples) == 6
    assert found.notes == (MESSAGES["ioping_was_cut_off_it"], MESSAGES["ioping_was_ended_by_sigterm"])
    assert parsed("sigint").complete


def test_an_output_cut_anywhere_is_never_complete_nor_wrong() -> None:
    data = capture("ioping/1.3/direct").stdout.rstrip()
    truth = parsed("direct")
    for length in range(0, len(data), 3):
        found = parse(data[:length])
        assert not found.complete
        assert set(found.figures) <= set(truth.figures[4:])  # the requests and their rate precede the times
        assert set(found.samples) <= set(truth.samples)


def lives(chunks: list[bytes]) -> ParsedTrial:
    parser = IopingParser(0.1)
    live = [sample for chunk in chunks for sample in parser.feed(chunk)]
    found = parser.finish(0)
    assert list(found.samples) == live
    return found


FRAGMENTS = st.sampled_from(
    [
        b"4 KiB <<< . (ext4): request=1 time=1.5 ms (warmup)\n",
        b"4 KiB <<< . (ext4): request=1 time=1.5 ms\n",
        b"4 KiB <<< . (ext4): request=999999999 time=999999999 min\n",
        b"min/avg/max/mdev = 1 us / 2 ms / 3 s / 4 ns\n",
        b"min/avg/max/mdev = 1 us / nan ms / 3 s / 4 ns\n",
        b"ioping: \x1b[2J\n",
    ]
)


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.lists(FRAGMENTS | st.binary(max_size=60), max_size=12), st.lists(st.integers(0, 400), max_size=12))
def test_any_bytes_are_read_however_they_arrive(parts: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(parts)
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    assert lives([whole[start:stop] for start, stop in pairwise(edges)]) == parse(whole)


def test_exact_figures_are_asked_for_and_read() -> None:
    (command,) = Ioping().commands(complete_values(Ioping(), {"batch": True}), Context())
    assert "-B" in command.argv
    parser = IopingParser(0.1)
    assert parser.feed(b"2 454348 4402 18030232 217735 227174 236613 9439 3 200333986") == []
    parser.feed(b"\n")
    parsed = parser.finish(0)
    assert parsed.complete
    assert figures(parsed) == {
        "latency_mean": 227.174, "latency_min": 217.735, "latency_max": 236.613, "latency_deviation": 9.439,
        "iops_without_pauses": 4402, "requests": 2,
    }  # fmt: skip


def test_a_cut_line_of_exact_figures_is_no_figure() -> None:
    parser = IopingParser(0.1)
    parser.feed(b"2 454348 4402 18030232 217735 227174 236613 9439 3 2003")
    assert parser.finish(0).figures == ()
