"""The parser of a sweep, on a real capture, cut off, broken and made up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import complete_values
from suites.fio_sweep.suite import FioSweep
from suites.outputs import ParsedTrial
from suites.vocab import Sample
from tests.messages import messages
from tests.suites.captured_outputs import capture

MESSAGES = messages("suites", "test_fio_sweep_output")

SWEEP = FioSweep()
CAPTURE = capture("fio/3.33/sweep")
VALUES = complete_values(SWEEP, {"depths": "1, 4, 16", "blocks": "4k, 64k"})

PRICE = (
    "Cost of depth, read IOPS in 4 KiB, 1 job: 1 to 4 gives 3.80x at 1.10x the p99; 4 to 16 gives 2.58x at 1.82x "
    "the p99; 16 to 64 gives 1.02x at 4.50x the p99."
)


def parse(output: bytes, exit_status: int | None = 0, depths: str = "1, 4, 16", blocks: str = "4k, 64k") -> ParsedTrial:
    parser = SWEEP.parser(complete_values(SWEEP, {"depths": depths, "blocks": blocks}))
    parser.feed(output)
    return parser.finish(exit_status)


def point(depth: int, iops: int, p99: int, *, time: int | None = None, ramp: bool = False) -> bytes:
    """Return a document of one point that ran for a second."""
    read = {
        "total_ios": iops, "io_bytes": iops * 4096, "runtime": 1000, "iops": iops, "bw_bytes": iops * 4096,
        "clat_ns": {"N": iops, "mean": p99 / 2, "max": p99, "percentile": {"50.000000": p99 // 2, "99.000000": p99},
                    "bins": {str(p99): iops}},
    }  # fmt: skip
    options = {"bs": "4k", "iodepth": str(depth), "numjobs": "1", **({"ramp_time": "1"} if ramp else {})}
    content: dict[str, object] = {"jobs": [{"jobname": "benchwright", "job options": options, "read": read}]}
    if time is not None:
        content["timestamp_ms"] = time
    return json.dumps(content, indent=2).encode() + b"\n"


def test_every_point_has_fios_own_figures() -> None:
    parsed = CAPTURE.parse(SWEEP.parser(VALUES))
    assert parsed.complete
    last: dict[tuple[str, str], dict[str, float]] = {}
    text = CAPTURE.stdout.decode()
    position = 0
    while (start := text.find("{\n", position)) >= 0:
        document, position = json.JSONDecoder().raw_decode(text, start)
        options = document["jobs"][0]["job options"]
        last[options["bs"].removesuffix("k") + " KiB", options["iodepth"]] = document["jobs"][0]["read"]
    found = {
        (dict(figure.labels)["block"], dict(figure.labels)["depth"]): figure.value
        for figure in parsed.figures
        if figure.metric.name == "iops_by_point"
    }
    assert found == {key: read["iops"] for key, read in last.items()}
    assert len(found) == 6
    (best,) = [figure for figure in parsed.figures if figure.metric.name == "iops"]
    assert parsed.figures[0] == best
    assert best.value == max(found.values())


def test_the_curve_of_the_whole_sweep_runs_on_over_its_points() -> None:
    parsed = CAPTURE.parse(SWEEP.parser(VALUES))
    curve = [sample for sample in parsed.samples if sample.metric.name == "iops"]
    times = [sample.time for sample in curve]
    assert times == sorted(times)
    assert times[-1] > 6
    by_point = [sample for sample in parsed.samples if sample.metric.name == "iops_by_point"]
    assert len({sample.labels for sample in by_point}) == 6
    assert [sample.value for sample in by_point] == [sample.value for sample in curve]


def test_samples_arrive_with_the_bytes_and_are_given_again() -> None:
    parser = SWEEP.parser(VALUES)
    live: list[Sample] = []
    for place in range(0, len(CAPTURE.stdout), 1000):
        live += parser.feed(CAPTURE.stdout[place : place + 1000])
    assert tuple(live) == parser.finish(0).samples
    assert live


def test_the_knee_and_the_price_of_each_step() -> None:
    output = point(1, 10_000, 100) + point(4, 38_000, 110) + point(16, 98_000, 200) + point(64, 100_000, 900)
    parsed = parse(output, depths="1, 4, 16, 64", blocks="4k")
    assert parsed.complete
    found = {(f.metric.name, dict(f.labels).get("depth")): f.value for f in parsed.figures}
    assert found["knee_in_flight", None] == 16
    assert found["step_gain", "4"] == pytest.approx(3.8)
    assert found["step_price", "64"] == pytest.approx(4.5)
    assert ("step_gain", "1") not in found
    assert parsed.notes == (MESSAGES["most_read_iops_4_kib_1_job"], MESSAGES["read_iops_in_4_kib_1_job_the"], PRICE)


def test_the_latency_of_a_point_is_that_of_whole_requests() -> None:
    waited = [point(depth, iops, 100).replace(b'"clat_ns"', b'"lat_ns"') for depth, iops in ((1, 1000), (4, 3000))]
    parsed = parse(b"".join(waited), depths="1, 4", blocks="4k")
    names = {figure.metric.name for figure in parsed.figures}
    assert {"total_latency_p50_by_point", "total_latency_p99_by_point", "step_price"} <= names
    assert "latency_p99_by_point" not in names


def test_a_curve_that_still_grows_has_no_knee() -> None:
    parsed = parse(point(1, 1000, 9) + point(2, 2000, 9) + point(4, 4000, 9), depths="1,2,4", blocks="4k")
    assert "knee_in_flight" not in {figure.metric.name for figure in parsed.figures}
    assert MESSAGES["still_growing_with_4_in"] in parsed.notes[1]


def test_a_sweep_of_somebody_elses_points_is_whole() -> None:
    parsed = parse(point(3, 1000, 9) + point(5, 2000, 9), depths="1,2,4", blocks="4k")
    assert parsed.complete


def test_points_stand_on_the_hosts_clock() -> None:
    output = point(1, 100, 9, time=50_000) + point(4, 200, 9, time=61_500)
    curve = [s.time for s in parse(output, depths="1, 4", blocks="4k").samples if s.metric.name == "iops"]
    assert curve == pytest.approx([1.0, 12.5])


def test_a_sweep_that_ends_early_says_how_far_it_came() -> None:
    whole = CAPTURE.stdout
    cut = whole[: whole.index(b'"bs" : "64k"')]
    parsed = parse(cut, None)
    assert not parsed.complete
    assert "points were measured." in parsed.notes[-1] or any("points were measured" in note for note in parsed.notes)
    assert {dict(f.labels).get("block") for f in parsed.figures} >= {"4 KiB"}


def test_a_point_whose_engine_is_missing_is_named() -> None:
    output = point(1, 100, 9) + b"fio: engine libaio not loadable\nfio: failed to load engine\n"
    parsed = parse(output, 1, depths="1, 4", blocks="4k")
    assert not parsed.complete
    assert parsed.notes[0] == MESSAGES["4_kib_1_job_depth_4_fio_says"]
    assert MESSAGES["1_of_2_points_were_measured"] in parsed.notes


def test_nothing_at_all_is_told_as_fio_would() -> None:
    parsed = parse(b"", 127)
    assert not parsed.complete
    assert parsed.figures == ()
    assert "exit status 127" in parsed.notes[-1]


def test_a_document_that_does_not_say_its_point_is_refused() -> None:
    parsed = parse(b'{\n  "jobs": [{"jobname": "x"}]\n}\n', 0)
    assert not parsed.complete
    assert "lacks its depth" in parsed.notes[0]


@given(st.binary(max_size=400), st.integers(0, len(CAPTURE.stdout)))
def test_any_bytes_at_all_are_accepted(noise: bytes, place: int) -> None:
    parser = SWEEP.parser(VALUES)
    parser.feed(CAPTURE.stdout[:place][-40_000:] + noise)
    parser.feed(noise, "stderr")
    parser.finish(1)
