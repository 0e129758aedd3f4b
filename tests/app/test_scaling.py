"""Scaling: knee, efficiency and models of curves whose truth is known, and the reasons where there is no model."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.chart import ChartMark
from app.cli.main import benchwright
from app.comparison.sides import Side
from app.events import RunEnded, RunStarted, State
from app.plans.plan import make_step
from app.scaling.models import fit_models
from app.scaling.scaling import scaling_charts, scaling_lines, scaling_of, scaling_to_json
from app.scaling.sweeps import SweepCurve, SweepPoint, curves_of_steps, swept_parameter
from app.services import Workstation
from suites.sysbench.cpu import EVENTS_PER_SECOND
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels
from tests.app import run_events
from tests.messages import messages

MESSAGES = messages("app", "test_scaling")

RATE = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


def amdahl(serial: float) -> Callable[[float], float]:
    return lambda n: 1000 * n / (1 + serial * (n - 1))


def usl(serial: float, crosstalk: float) -> Callable[[float], float]:
    return lambda n: 1000 * n / (1 + serial * (n - 1) + crosstalk * n * (n - 1))


def drawn(model: Callable[[float], float], counts: Iterable[int], noise: float = 0.01) -> list[tuple[float, float]]:
    rng = np.random.default_rng(11)
    return [(float(n), float(model(n) * np.exp(noise * rng.normal()))) for n in counts]


def curve(points: Sequence[tuple[float, float]], *, label: str = "threads", sizes: bool = False) -> SweepCurve:
    """Return a curve of three trials a point, 1 % apart."""
    found = tuple(SweepPoint(x, f"{x:g}", (0.99 * value, value, 1.01 * value)) for x, value in points)
    return SweepCurve(RATE, label, (), found, sizes=sizes)


def test_amdahls_law_is_recovered_with_its_interval() -> None:
    fit, reasons = fit_models(drawn(amdahl(0.1), range(1, 13)))
    assert fit is not None
    assert fit.model == "Amdahl"
    one, serial = fit.parameters
    assert one.low < 1000 < one.high
    assert serial.low < 0.1 < serial.high
    assert fit.at(12) == pytest.approx(amdahl(0.1)(12), rel=0.03)
    assert reasons == (MESSAGES["no_usl_amdahl_s_law"],)


def test_a_peak_that_was_measured_past_is_recovered() -> None:
    fit, reasons = fit_models(drawn(usl(0.05, 0.95 / 18**2), [1, 2, 4, 8, 16, 32, 64]))
    assert fit is not None
    assert fit.model == "USL"
    assert fit.peak is not None
    assert fit.peak.low < 18 < fit.peak.high
    assert fit.peak.value == pytest.approx(18, rel=0.1)
    assert reasons == ()


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (drawn(amdahl(0.1), range(1, 6)), "needs 6 points, has 5"),
        (drawn(amdahl(0.0), range(1, 9)), "a straight line fits as well"),
        (drawn(usl(0.05, 0.95 / 18**2), range(1, 9)), "no USL"),
        (drawn(usl(0.02, 0.98 / 10**2), range(1, 10), 0.0005), "is beyond the measured points"),
        (drawn(lambda n: 1000 * min(n, 3), range(1, 9)), "largest residual"),
        ([(float(n), 0.0) for n in range(1, 9)], "not above zero"),
        (drawn(lambda _: 1000.0, range(1, 9), 0.0), "no USL: Amdahl's law fits as well"),
        (drawn(lambda n: 1000 / n, range(1, 9), 0.001), "is below the measured points; no Amdahl: largest residual"),
        (drawn(lambda n: 1000 * n**1.3, range(1, 9)), "no Amdahl: largest residual"),
    ],
)
def test_what_the_points_do_not_carry_is_not_shown_and_says_why(
    points: Sequence[tuple[float, float]], reason: str
) -> None:
    fit, reasons = fit_models(points)
    assert fit is None or fit.model != "USL"
    assert reason in "; ".join(reasons)


def test_a_rate_that_does_not_scale_at_all_is_said_in_per_cent() -> None:
    lines = list(scaling_lines(scaling_of("run", "step", "web-1", curve([(n, 1000.0) for n in range(1, 9)]))))
    assert any("serial share 100 % (100 % to 100 %)" in line for line in lines)


def test_nothing_done_at_any_point_has_no_knee() -> None:
    found = scaling_of("run", "step", "web-1", curve([(1, 0.0), (2, 0.0), (4, 0.0)]))
    assert found.knee is None
    assert not found.curve.growing
    assert list(scaling_lines(found)) == [MESSAGES["the_first_point_is_not_above"]]


def test_steps_that_differ_in_a_size_are_points_of_sizes() -> None:
    runs = [
        run_events.run_record(
            f"r{size}", (4096e3 / size,) * 2,
            step=replace(run_events.STEP, name=f"{size}", values={**run_events.STEP.values, "block_size": size}),
        )
        for size in (4096, 8192, 16384)
    ]  # fmt: skip
    (found,) = curves_of_steps(Side(runs))["fio"]["web-1"]
    assert [point.text for point in found.points] == ["4 KiB", "8 KiB", "16 KiB"]
    assert found.sizes
    assert found.knee is None  # I/Os of more bytes each are fewer a second


def test_efficiency_is_against_the_straight_line_through_the_first_point() -> None:
    found = scaling_of("run", "step", "web-1", curve([(1, 100), (2, 190), (4, 300), (8, 300)]))
    assert [each.value for each in found.efficiencies] == pytest.approx([1, 0.95, 0.75, 0.375])
    assert found.knee is not None
    assert found.knee.x == 4
    last = found.efficiencies[-1]
    assert last.low is not None
    assert last.high is not None
    assert last.low < 0.375 < last.high
    assert any("% (95 % CI" in line for line in scaling_lines(found))


@given(st.floats(0.001, 1e6), st.lists(st.floats(1, 1e6), min_size=3, max_size=9))
def test_efficiency_does_not_depend_on_the_unit(factor: float, values: list[float]) -> None:
    points = list(enumerate(values, 1))
    one, other = (
        scaling_of("run", "step", "web-1", curve([(float(x), scale * value) for x, value in points]))
        for scale in (1.0, factor)
    )
    assert [e.value for e in one.efficiencies] == pytest.approx([e.value for e in other.efficiencies])


def test_an_efficiency_that_two_trials_leave_open_has_no_interval() -> None:
    sure = curve([(1, 100), (2, 190), (4, 300)])
    first = replace(sure.points[0], values=(100.0, 400.0))
    found = scaling_of("run", "step", "web-1", replace(sure, points=(first, *sure.points[1:])))
    assert [(each.low, each.high) for each in found.efficiencies] == [(None, None)] * 3


def test_sizes_and_times_have_no_straight_line() -> None:
    sizes = scaling_of("run", "step", "web-1", curve([(4096, 10), (8192, 11)], label="block", sizes=True))
    assert sizes.base is None
    assert MESSAGES["twice_the_block_need_not"] in sizes.reasons[0]
    slower = replace(curve([(1, 10), (2, 20)]), metric=replace(RATE, better=Better.LOWER, kind=MetricKind.TIME))
    assert "not a rate" in scaling_of("run", "step", "web-1", slower).reasons[0]
    assert [chart.title for chart in scaling_charts(sizes)] == ["step on web-1, Rate"]


def test_the_charts_hold_what_was_measured_the_line_and_the_model() -> None:
    found = scaling_of("run", "step", "web-1", curve(drawn(usl(0.05, 0.95 / 8**2), range(1, 17))))
    measured, efficiency = scaling_charts(found)
    names = [series.name for series in measured.series if series.name]
    assert names == ["measured: median of the trials, lowest to highest", "linear from 1", "USL, fitted", "peak"]
    assert efficiency.series[-1].mark is ChartMark.DOTS
    document = scaling_to_json([found])
    assert document["format"] == "benchwright-scaling/1"
    assert document["curves"][0]["fit"]["peak"]["value"] == pytest.approx(8, rel=0.1)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_steps_that_differ_in_one_number_are_a_sweep_and_others_are_none() -> None:
    assert swept_parameter([{"threads": 1, "time": 5.0}, {"threads": 2, "time": 5.0}]) == "threads"
    assert swept_parameter([{"threads": 1, "time": 5.0}, {"threads": 2, "time": 6.0}]) is None
    assert swept_parameter([{"rw": "read"}, {"rw": "write"}]) is None
    assert swept_parameter([{"threads": 1}, {"threads": 1}]) is None


def test_the_command_line_reads_a_sweep_from_labels_and_from_steps(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    workstation = Workstation(path, tmp_path / "hosts.toml")
    counts = (1, 2, 4, 8)
    steps = [make_step("sysbench-cpu", {"threads": count}, name=f"cpu {count}") for count in counts]
    with workstation._store.recorder("20260112-081502-a1b2") as recorder:
        recorder.record(RunStarted("20260112-081502-a1b2", run_events.plan(*steps), "2026-01-12T08:15:02+00:00"))
        for number, (count, step) in enumerate(zip(counts, steps, strict=True), 1):
            one = run_events.trial(number, step=step.name)
            figures = [Figure(EVENTS_PER_SECOND, 100.0 * count), *(
                Figure(RATE, 10.0 * n, labels(threads=str(n))) for n in counts
            )]  # fmt: skip
            for event in run_events.trial_events(one, figures):
                recorder.record(event)
        recorder.record(RunEnded("20260112-081502-a1b2", State.DONE, "", {}))
    workstation.close()
    picture = tmp_path / "scaling.png"
    reported = CliRunner().invoke(
        benchwright, ["--store", str(path), "scaling", "last", "--all", "--json", "--png", str(picture)]
    )
    assert reported.exit_code == 0, reported.output
    found = {(one["step"], one["metric"]): one for one in json.loads(reported.stdout)["curves"]}
    assert found["cpu 1", "rate"]["over"] == "threads"
    steps_curve = found["sysbench-cpu", EVENTS_PER_SECOND.name]
    assert [point["value"] for point in steps_curve["points"]] == [100, 200, 400, 800]
    assert steps_curve["growing"] is True
    assert steps_curve["reasons"][-1:] == [MESSAGES["no_fit_it_needs_6_points"]]
    assert picture.read_bytes().startswith(b"\x89PNG")
    people = CliRunner().invoke(benchwright, ["--store", str(path), "scaling", "last"])
    assert MESSAGES["it_still_grows_at_threads_8"] in people.stdout
