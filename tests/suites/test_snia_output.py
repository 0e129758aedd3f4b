"""The parser of the rounds of a SNIA test: a real capture, made-up rounds, cut off, broken, and any bytes at all."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import complete_values
from suites.outputs import ParsedTrial
from suites.snia.suite import FioSnia
from suites.vocab import Sample
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series

MESSAGES = messages("suites", "test_snia_output")

SNIA = FioSnia()
CAPTURE = capture("fio-snia/3.33/iops")
GIVEN: dict[str, object] = {
    "size": "8 MiB", "runtime": 1, "rounds": 6, "blocks": "4k", "mixes": "65, 0", "criterion": "pts", "iodepth": 1,
}  # fmt: skip
VALUES = complete_values(SNIA, GIVEN)


def documents(output: bytes) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """Return the last document of each point, by round and place, as the standard library reads them."""
    found: list[tuple[tuple[int, int], dict[str, Any]]] = []
    for part in output.decode().split("benchwright: round ")[1:]:
        start = part.find("{\n")
        if start < 0:
            continue
        text, document = part[start:], None
        position = 0
        while (begins := text.find("{\n", position)) >= 0:
            document, position = json.JSONDecoder().raw_decode(text, begins)
        words = part.split(",")
        assert document is not None
        found.append(((int(words[0].split()[0]), int(words[1].split()[1])), document["jobs"][0]))
    return found


def point(
    number: int, place: int, iops: float, *, uptime: float, places: int = 1, rw: str = "randwrite", bs: str = "4k"
) -> bytes:
    """Return what the driver prints of a point that did `iops` writes in a second."""
    write = {
        "total_ios": int(iops), "io_bytes": int(iops) * 4096, "runtime": 1000, "iops": iops, "bw_bytes": iops * 4096,
        "lat_ns": {"N": int(iops), "mean": 1e9 / iops, "max": 5e9 / iops, "bins": {str(int(1e9 / iops)): int(iops)}},
    }  # fmt: skip
    content = {"fio version": "fio-3.33", "jobs": [{"jobname": "benchwright", "elapsed": 1, "eta": 0, "write": write}]}
    begins = f"benchwright: round {number} of 25, command {place} of {places}, at {uptime} s\n"
    begins += f"+ fio --rw={rw} --bs={bs} --runtime=1\n"
    return begins.encode() + json.dumps(content, indent=2).encode() + b"\n"


def rounds_of(values: Sequence[float], ended: str = "steady") -> bytes:
    rounds = b"".join(point(place + 1, 1, value, uptime=100.0 + 1.5 * place) for place, value in enumerate(values))
    return rounds + (f"benchwright: ended after round {len(values)}: {ended}\n".encode() if ended else b"")


def parse(output: bytes, exit_status: int | None = 0, **changed: object) -> ParsedTrial:
    parser = SNIA.parser(complete_values(SNIA, {"blocks": "4k", "mixes": "0", "size": "8 MiB", **changed}))
    parser.feed(output)
    return parser.finish(exit_status)


def test_every_point_has_the_means_of_fios_own_figures_over_the_window() -> None:
    parsed = CAPTURE.parse(SNIA.parser(VALUES))
    assert parsed.complete
    own = dict(documents(CAPTURE.stdout))
    assert len(own) == 12
    window = range(2, 7)
    found = figures(parsed)
    written = [own[number, 2]["write"]["iops"] for number in window]
    mixed = [own[number, 1]["write"]["iops"] + own[number, 1]["read"]["iops"] for number in window]
    assert found["window_iops 4 KiB write"] == pytest.approx(sum(written) / 5)
    assert found["iops_by_point 4 KiB 0"] == pytest.approx(sum(written) / 5)
    assert found["iops_by_point 4 KiB 65"] == pytest.approx(sum(mixed) / 5)
    means = [own[number, 2]["write"]["lat_ns"]["mean"] for number in window]
    assert found["total_latency_mean_by_point 4 KiB 0"] == pytest.approx(sum(means) / 5)
    assert parsed.figures[0].metric.name == "window_iops"
    assert parsed.figures[0].metric == SNIA.metrics_of(VALUES)[0]
    assert found["rounds"] == 6
    assert "steady_after" not in found
    assert found["window_range"] == pytest.approx(100 * (max(written) - min(written)) / (sum(written) / 5))
    assert parsed.notes[0].startswith(MESSAGES["steady_state_was_not_reached"])
    assert parsed.notes[1].startswith(MESSAGES["not_by_the_standard_1_s_a"])


def test_of_latencies_the_longest_of_the_window_is_kept() -> None:
    parsed = CAPTURE.parse(SNIA.parser(complete_values(SNIA, {**GIVEN, "test": "latency", "blocks": "4k, 8k"})))
    own = dict(documents(CAPTURE.stdout))
    window = [own[number, 2]["write"]["lat_ns"] for number in range(2, 7)]
    found = figures(parsed)
    assert found["total_latency_max_by_point 4 KiB 0"] == max(one["max"] for one in window)
    assert found["window_total_latency 4 KiB write"] == pytest.approx(sum(one["mean"] for one in window) / 5)
    assert "iops_by_point 4 KiB 0" not in found


def test_what_came_before_the_window_is_marked_and_shown() -> None:
    parsed = CAPTURE.parse(SNIA.parser(VALUES))
    tracked = [sample for sample in parsed.samples if sample.metric.name == "window_iops"]
    assert [sample.warm_up for sample in tracked] == [True, False, False, False, False, False]
    counted = [sample.value for sample in tracked if not sample.warm_up]
    assert sum(counted) / 5 == pytest.approx(figures(parsed)["window_iops 4 KiB write"])
    curve = series(parsed.samples, "iops", operation="write")
    assert len(curve) >= 12
    assert [time for time, _ in curve] == sorted(time for time, _ in curve)


def test_samples_arrive_with_the_bytes_and_are_given_again() -> None:
    parser = SNIA.parser(VALUES)
    live: list[Sample] = []
    for place in range(0, len(CAPTURE.stdout), 5000):
        live += parser.feed(CAPTURE.stdout[place : place + 5000])
    final = parser.finish(0).samples
    assert [(one.time, one.metric, one.value) for one in live] == [(one.time, one.metric, one.value) for one in final]


def test_a_steady_state_is_told_with_its_round() -> None:
    values = [3000.0, 2000.0, 1500.0, *[1000.0] * 10]
    parsed = parse(rounds_of(values))
    found = figures(parsed)
    assert (found["window_iops 4 KiB write"], found["steady_after"], found["rounds"]) == (1000, 13, 13)
    assert (found["window_range"], found["windows_apart"]) == (0, 0)
    reached, departs = parsed.notes
    assert reached == (MESSAGES["steady_state_was_reached_in"])
    assert departs == (MESSAGES["not_by_the_standard_other"])


def test_the_window_alone_is_told_as_what_it_is() -> None:
    parsed = parse(rounds_of([1000.0] * 5), criterion="pts")
    assert figures(parsed)["steady_after"] == 5
    assert MESSAGES["also_calls_a_slow_decay"] in parsed.notes[1]
    assert "steady_after" not in figures(parse(rounds_of([1000.0] * 5, "not steady"), rounds=5))


def test_points_stand_where_the_host_began_them() -> None:
    parsed = parse(rounds_of([1000.0] * 6, "not steady"), rounds=6)
    assert [time for time, _ in series(parsed.samples, "window_iops")] == pytest.approx(
        [1.0 + 1.5 * place for place in range(6)]
    )


def test_writing_until_enough_says_how_much() -> None:
    parsed = parse(rounds_of([1000.0, 900.0, 800.0], "written"), test="saturation", blocks="", mixes="", runtime=1)
    assert parsed.complete
    assert figures(parsed)["written"] == pytest.approx(2700 * 4096)
    assert "rounds" not in figures(parsed)
    assert parsed.notes[0].startswith(MESSAGES["10_5_mib_written_in_3_rounds"])


def test_sequential_points_are_told_by_their_direction() -> None:
    output = point(1, 1, 10, uptime=1.0, rw="read", bs="64k") + b"benchwright: ended after round 1: not steady\n"
    parsed = parse(output.replace(b'"write": {', b'"read": {'), test="throughput", blocks="64k", rounds=1)
    assert figures(parsed)["bandwidth_by_point 64 KiB read"] == 40960


def test_a_test_that_was_stopped_keeps_its_whole_rounds() -> None:
    cut = rounds_of([1000.0] * 6, "") + point(7, 1, 500.0, uptime=130.0)[:-300]
    for status in (None, 143):
        parsed = parse(cut, status)
        assert not parsed.complete
        assert figures(parsed)["rounds"] == 6
        assert figures(parsed)["window_iops 4 KiB write"] == 1000
        assert any(MESSAGES["the_test_ended_in_round_7"] in note for note in parsed.notes)


def test_a_point_that_fails_is_named() -> None:
    failed = (
        rounds_of([1000.0], "")
        + b"benchwright: round 2 of 25, command 1 of 1, at 103 s\n+ fio --rw=randwrite --bs=512\n"
        + b"fio: io_u error on file benchwright: Invalid argument: write offset=0, buflen=512\n"
        + b"fio: pid=0, err=22/file:io_u.c:1889, func=io_u error, error=Invalid argument\n"
    )
    parsed = parse(failed, 1)
    assert not parsed.complete
    assert parsed.notes[0].startswith(MESSAGES["round_2_writes_of_512_b_fio"])


def test_rounds_that_do_not_follow_each_other_are_not_read() -> None:
    parsed = parse(
        point(1, 1, 1000.0, uptime=1.0) + point(7, 1, 9.0, uptime=3.0) + point(2, 1, 9.0, uptime=4.0, places=2)
    )
    assert not parsed.complete
    assert MESSAGES["round_7_does_not_follow_what"] in parsed.notes
    assert figures(parsed)["rounds"] == 1


def test_a_test_of_somebody_elses_points_is_read_by_its_lines() -> None:
    parser = SNIA.parser(complete_values(SNIA, {}))
    parser.feed(CAPTURE.stdout)
    found = figures(parser.finish(0))
    own = figures(CAPTURE.parse(SNIA.parser(VALUES)))
    assert found == own
    assert "unknown point" in parse(point(1, 1, 5.0, uptime=1.0, bs="x")).notes[0]


def test_nothing_at_all_is_told_as_fio_would() -> None:
    parsed = parse(b"sh: fio: not found\n", 127)
    assert (parsed.complete, parsed.figures) == (False, ())
    assert "exit status 127" in parsed.notes[-1]


@given(st.binary(max_size=400), st.integers(0, len(CAPTURE.stdout)))
def test_any_bytes_at_all_are_accepted(noise: bytes, place: int) -> None:
    parser = SNIA.parser(VALUES)
    parser.feed(CAPTURE.stdout[:place][-60_000:] + noise)
    parser.feed(noise, "stderr")
    parser.finish(1)
