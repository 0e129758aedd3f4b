"""Scaling: knee, efficiency and models of curves whose truth is known, and the reasons where there is no model."""

import json
import re
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
from app.scaling.fits import fit_models
from app.scaling.knees import knee_bounds
from app.scaling.scaling import (
    ScalingAnalysis,
    fit_text,
    headline_curves,
    scaling_charts,
    scaling_lines,
    scaling_of,
    scaling_to_json,
    share_interval_text,
)
from app.scaling.sweeps import SweepCurve, SweepPoint, curves_of, curves_of_steps, swept_parameter
from app.services import Workstation
from suites.slo.search import ACHIEVED, PERCENTILES
from suites.sysbench.cpu import EVENTS_PER_SECOND
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels
from tests.app import run_events
from tests.messages import messages

MESSAGES = messages("app", "test_scaling")

DOUBLING = (1, 2, 4, 8, 16, 32, 64)

RATE = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


def amdahl(serial: float) -> Callable[[float], float]:
    return lambda n: 1000 * n / (1 + serial * (n - 1))


def usl(serial: float, crosstalk: float) -> Callable[[float], float]:
    return lambda n: 1000 * n / (1 + serial * (n - 1) + crosstalk * n * (n - 1))


def drawn(model: Callable[[float], float], counts: Iterable[int], noise: float = 0.01) -> list[tuple[float, float]]:
    rng = np.random.default_rng(11)
    return [(float(n), float(model(n) * np.exp(noise * rng.normal()))) for n in counts]


def trials(
    model: Callable[[float], float], counts: Iterable[int], noise: float = 0.01, *, each: int = 3
) -> list[tuple[float, list[float]]]:
    """Return `each` trials of the points of `model`."""
    rng = np.random.default_rng(12)
    return [(float(n), [float(model(n) * np.exp(noise * rng.normal())) for _ in range(each)]) for n in counts]


def once(points: Sequence[tuple[float, float]]) -> list[tuple[float, list[float]]]:
    """Return one trial a point."""
    return [(x, [value]) for x, value in points]


def analysis(points: Sequence[tuple[float, Sequence[float]]], *, sessions: int = 1) -> ScalingAnalysis:
    found = tuple(SweepPoint(x, f"{x:g}", tuple(values)) for x, values in points)
    return scaling_of("run", "step", "web-1", SweepCurve(RATE, "threads", (), found), sessions=sessions)


def curve(points: Sequence[tuple[float, float]], *, label: str = "threads", sizes: bool = False) -> SweepCurve:
    """Return a curve of three trials a point, 1 % apart."""
    found = tuple(SweepPoint(x, f"{x:g}", (0.99 * value, value, 1.01 * value)) for x, value in points)
    return SweepCurve(RATE, label, (), found, sizes=sizes)


def test_amdahls_law_is_recovered_with_its_interval() -> None:
    fit, reasons = fit_models(once(drawn(amdahl(0.1), range(1, 13))))
    assert fit is not None
    assert fit.model == "Amdahl"
    one, serial = fit.parameters
    assert (one.low or 0) < 1000 < (one.high or 0)
    assert (serial.low or 0) < 0.1 < (serial.high or 0)
    assert fit.at(12) == pytest.approx(amdahl(0.1)(12), rel=0.03)
    assert reasons == (MESSAGES["no_usl_amdahl_s_law"],)


def test_a_peak_that_was_measured_past_is_recovered() -> None:
    fit, reasons = fit_models(once(drawn(usl(0.05, 0.95 / 18**2), DOUBLING)))
    assert fit is not None
    assert fit.model == "USL"
    assert fit.peak is not None
    assert (fit.peak.low or 0) < 18 < (fit.peak.high or 0)
    assert fit.peak.value == pytest.approx(18, rel=0.1)
    assert reasons == ()


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (drawn(amdahl(0.1), range(1, 6)), "needs 6 points, has 5"),
        (drawn(amdahl(0.0), range(1, 9)), "a straight line fits as well"),
        (drawn(usl(0.05, 0.95 / 18**2), range(1, 9)), "no USL"),
        (drawn(usl(0.02, 0.98 / 10**2), range(1, 10), 0.0005), "is beyond the measured points"),
        (drawn(lambda n: 1000 * n / max(1.0, (n / 4) ** 2), range(1, 9)), "largest residual"),
        ([(float(n), 0.0) for n in range(1, 9)], "not above zero"),
        (drawn(lambda _: 1000.0, range(1, 9), 0.0), "no significant difference between the points"),
        (drawn(lambda n: 5000.0 if n == 4 else 1000.0, range(1, 9)), "no law fits better than a constant"),
        (drawn(lambda n: 1000 / n, range(1, 9), 0.001), "is below the measured points; no Amdahl: largest residual"),
        (drawn(lambda n: 1000 * n**1.3, range(1, 9)), "no Amdahl: largest residual"),
    ],
)
def test_what_the_points_do_not_carry_is_not_shown_and_says_why(
    points: Sequence[tuple[float, float]], reason: str
) -> None:
    fit, reasons = fit_models(once(points))
    assert fit is None or fit.model != "USL"
    assert reason in "; ".join(reasons)


def test_a_single_high_point_is_a_difference_that_no_law_describes() -> None:
    _, reasons = fit_models(trials(lambda n: 5000.0 if n == 4 else 1000.0, range(1, 9)))
    assert reasons == (MESSAGES["no_law"],)


def test_a_flat_rate_has_neither_law_nor_knee() -> None:
    found = analysis(trials(lambda _: 1000.0, DOUBLING, 0.005))
    assert (found.flat, found.knee, found.fit, found.growing) == (True, None, None, False)
    first, *others = scaling_lines(found)
    assert first.startswith(MESSAGES["flat"])
    assert [line.partition(" at ")[0] for line in others] == ["Efficiency"]
    assert analysis(trials(lambda _: 1000.0, DOUBLING, 0.02, each=1)).flat
    noisy = analysis(trials(lambda _: 1000.0, DOUBLING, 0.2))
    shown = next(iter(scaling_lines(noisy)))
    assert shown.startswith(MESSAGES["not_shown"])
    assert shown.endswith(" %, within the noise.")
    exact = analysis([(float(n), [1000.0 + n / 2] * 3) for n in DOUBLING])
    assert exact.flat  # significant, but every point is the knee
    assert not analysis(trials(lambda n: 1000 + 4 * n, DOUBLING)).flat


def test_a_hard_limit_is_named_and_no_law_is_fitted_over_it() -> None:
    for each in (1, 3):
        found = analysis(trials(lambda n: 1000 * min(n, 8), DOUBLING, each=each))
        assert found.fit is not None
        assert (found.fit.model, found.fit.clamped_from, found.fit.p) == ("clamped", 8, None)
        one, limit = found.fit.parameters
        assert (one.low or 0) < 1000 < (one.high or 0)
        assert (limit.low or 0) < 8000 < (limit.high or 0)
        (line,) = (line for line in scaling_lines(found) if line.startswith("Clamped"))
        assert MESSAGES["clamped_from_8"] in line
        assert found.reasons == ()
    curved = analysis(trials(lambda n: min(amdahl(0.05)(n), 6000), [*range(1, 8), 16, 32, 64])).fit
    assert curved is not None
    assert [each.name for each in curved.parameters] == ["value at 1", "serial share", "limit"]
    assert curved.band([64.0])[0][2] < 6300 < amdahl(0.05)(64)
    dropping, _ = fit_models(trials(lambda n: 1000 * n if n < 16 else 4000, DOUBLING))
    assert dropping is None or dropping.model != "clamped"


def test_a_parameter_at_its_bound_has_no_interval() -> None:
    fit, _ = fit_models(trials(usl(-0.002, 1 / 18**2), DOUBLING, 0.01))
    assert fit is not None
    _, serial, crosstalk = fit.parameters
    assert (serial.value, serial.low, serial.high) == (0, None, None)
    assert (crosstalk.low or 0) < crosstalk.value < (crosstalk.high or 0)
    found = analysis(trials(usl(-0.002, 1 / 18**2), DOUBLING, 0.01))
    assert any(MESSAGES["at_its_bound"] in line for line in scaling_lines(found))


def test_a_significant_lack_of_fit_refuses_a_model_that_is_near_all_points() -> None:
    def wavy(n: float) -> float:
        return amdahl(0.1)(n) * (1.04 if n in {2, 8, 32} else 1.0)

    near, _ = fit_models(once([(n, wavy(n)) for n in DOUBLING]))
    assert near is not None
    assert near.lack_of_fit is None
    refused, reasons = fit_models(trials(wavy, DOUBLING, 0.002))
    assert refused is None
    assert MESSAGES["lack_of_fit"] in "; ".join(reasons)
    lawful, _ = fit_models(trials(amdahl(0.1), DOUBLING, 0.05))
    assert lawful is not None
    assert (lawful.lack_of_fit or 0) > 0.01


def test_the_interval_of_a_parameter_has_the_freedom_of_all_trials() -> None:
    fit, _ = fit_models(trials(amdahl(0.1), DOUBLING, each=4))
    assert fit is not None
    serial = fit.parameters[1]
    # Least squares on 28 trials and two parameters; curve_fit of scipy has the same covariance.
    from scipy import optimize, stats

    points = trials(amdahl(0.1), DOUBLING, each=4)
    n = np.repeat([x for x, _ in points], 4)
    logs = np.log(np.concatenate([values for _, values in points]))
    (_, value), covariance = optimize.curve_fit(
        lambda n, one, share: one + np.log(n / (1 + share * (n - 1))), n, logs, (7, 0.1)
    )
    assert serial.value == pytest.approx(value, rel=1e-4)
    assert (serial.high or 0) - serial.value == pytest.approx(
        stats.t.ppf(0.975, 26) * covariance[1, 1] ** 0.5, rel=1e-3
    )


def test_a_knee_has_an_interval_over_the_points_and_says_whose() -> None:
    found = analysis(trials(amdahl(0.2), range(1, 17), 0.02))
    assert found.knee is not None
    assert found.knee_low is not None
    assert found.knee_high is not None
    assert found.knee_low < found.knee.x < found.knee_high
    interval = f"Knee at threads = {found.knee.text} (95 %: {found.knee_low:g} to {found.knee_high:g}"
    assert next(iter(scaling_lines(found))).startswith(f"{interval}, this session): ")
    several = replace(found, sessions=2)
    assert next(iter(scaling_lines(several))).startswith(f"{interval}): ")
    steep = analysis(trials(lambda n: 1000 * min(n, 8), DOUBLING, 0.001))
    assert (steep.knee_low, steep.knee_high) == (8, 8)
    single = analysis(trials(amdahl(0.5), DOUBLING, each=1))
    assert single.knee_range is None
    assert MESSAGES["no_interval"] in next(iter(scaling_lines(single)))


@pytest.mark.parametrize("noise", [0.01, 0.02, 0.04])
def test_the_ends_of_a_knees_interval_are_those_of_t_tests(noise: float) -> None:
    from scipy import stats

    points = [values for _, values in trials(amdahl(0.2), range(1, 13), noise, each=4)]
    logs = [np.log(values) for values in points]
    error = np.sqrt(np.mean([np.var(own, ddof=1) for own in logs]) * 2 / 4)

    def share(index: int, other: int) -> float:
        """Return t of the hypothesis that a point is at 95 % of another."""
        return float((logs[index].mean() - logs[other].mean() - np.log(0.95)) / error)

    others = [[share(index, other) for other in range(12) if other != index] for index in range(12)]
    below, above = (stats.t.ppf(1 - tail, 12 * 3) for tail in (0.025 / 11, 0.025))
    low = next(index for index in range(12) if min(others[index]) >= -below)
    high = next((index for index in range(12) if min(others[index]) > above), 11)
    assert knee_bounds(points) == (low, high)
    assert low < high


def test_the_value_of_a_point_is_the_geometric_mean_of_its_trials() -> None:
    assert SweepPoint(1.0, "1", (100.0, 400.0)).value == pytest.approx(200)
    assert SweepPoint(1.0, "1", (0.1, 0.1, 0.1)).value == 0.1
    assert SweepPoint(1.0, "1", (0.0, 3.0)).value == 1.5


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


def texts_of_ends(text: str) -> list[str]:
    """Return the numbers of ``0.39 % (95 % CI 0.38 to 0.4 %)``: the value and the ends."""
    return re.findall(r"[\d.]+(?= %| to )", text.replace("95 % CI", ""))


@pytest.mark.parametrize("power", [1, 0, 0.05, -0.5, -1])
def test_shares_and_the_ends_of_their_intervals_are_distinguished(power: float) -> None:
    found = analysis(trials(lambda n: 1000 * n**power, DOUBLING, 0.002))
    assert len(found.efficiencies) == len(DOUBLING)
    for each in found.efficiencies[1:]:
        value, low, high = texts_of_ends(share_interval_text(each))
        assert float(low) < float(value) < float(high)
        assert float(value) == pytest.approx(100 * each.value, rel=0.05)
    line = next(line for line in scaling_lines(found) if line.startswith("Efficiency"))
    assert len(set(texts_of_ends(line.partition(":")[2].partition(")")[0]))) == 3


def test_the_ends_of_a_narrow_peak_are_distinguished() -> None:
    found = analysis(trials(usl(0.05, 0.003), DOUBLING, 0.002))
    assert found.fit is not None
    assert found.fit.peak is not None
    ends = re.search(r"peak at ([\d.]+) \(([\d.]+) to ([\d.]+)\)", fit_text(found, found.fit))
    assert ends is not None
    value, low, high = map(float, ends.groups())
    assert low < value < high
    assert (low, high) == pytest.approx((found.fit.peak.low, found.fit.peak.high), abs=0.06)


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


def test_latencies_by_offered_load_have_the_target_in_text_and_chart() -> None:
    by_load = {"100": (100, 2e3), "200": (200, 3e3), "400": (400, 7e3), "800": (620, 9e5)}
    found = [
        Figure(metric, value, labels(offered_rate=load))
        for load, values in by_load.items()
        for metric, value in zip((ACHIEVED, PERCENTILES[2]), values, strict=True)
    ]
    rate, time = (scaling_of("run", "disk", "web-1", one) for one in curves_of(found))
    aimed = replace(time, target=10e3)
    assert headline_curves([rate, aimed]) == [rate, aimed]
    assert list(scaling_lines(aimed)) == [MESSAGES["within_the_target"]]
    assert list(scaling_lines(replace(aimed, target=1e3))) == [MESSAGES["beyond_the_target"]]
    assert [line for line in scaling_lines(rate) if "fficiency" in line] == []
    (chart,) = scaling_charts(aimed)
    assert chart.series[-1].ys == (10e3, 10e3)
    assert chart.y.logarithmic
    assert chart.x.title == "offered rate, 1/s"


def test_the_charts_hold_what_was_measured_the_line_and_the_model() -> None:
    found = scaling_of("run", "step", "web-1", curve(drawn(usl(0.05, 0.95 / 8**2), range(1, 17))))
    measured, efficiency = scaling_charts(found)
    names = [series.name for series in measured.series if series.name]
    assert names == [
        "measured: geometric mean of the trials, lowest to highest", "linear from 1", "USL, fitted, 95 % band",
        "peak, 95 % interval",
    ]  # fmt: skip
    straight, model, peak = measured.series[-3:]
    assert [y / x for x, y in zip(straight.xs, straight.ys, strict=True)] == pytest.approx([straight.ys[0]] * 121)
    assert (model.xs[0], model.xs[-1]) == (1, 16)
    assert all(low <= y <= high for _, y, low, high in model.whiskers())
    assert len(model.whiskers()) == len(model.xs)
    assert peak.across
    assert peak.whiskers()[0][2] < 8 < peak.whiskers()[0][3]
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


@pytest.mark.slow
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
