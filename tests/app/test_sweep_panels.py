"""What a picture of a sweep shows: the rate and the tail over one foot, named curves, knees that were reached."""

from dataclasses import replace

import pytest

from app.events import State
from app.plans.plan import make_step
from app.records import RunRecord, TrialRecord
from app.report_image.panels import ReportStep, sweep_plots
from app.report_image.report import draw_report
from app.report_image.sheet import BASELINE
from app.scaling.sweeps import MOST_CURVES, curves_of, panels_of, target_of
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels
from tests.app import run_events
from tests.app.run_events import STEP
from tests.app.test_report_image import check_layout
from tests.messages import messages

MESSAGES = messages("app", "test_sweep_panels")

IOPS = Metric("iops_by_point", "I/Os per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
P50 = Metric("p50_by_point", "median", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME, 50.0)
P99 = Metric("p99_by_point", "p99", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME, 99.0)
GAIN = Metric("gain", "gain", Unit.ONE, Better.HIGHER, MetricKind.SHARE)

RATES = {"1": 100.0, "4": 390.0, "16": 990.0, "64": 1000.0}


def swept(*jobs: str, factor: float = 1.0) -> list[Figure]:
    found = []
    for metric, scaled in ((GAIN, 0.01), (IOPS, factor), (P50, 10.0), (P99, 30.0)):
        for count in jobs:
            found += [
                Figure(metric, value * scaled * float(count), labels(depth=depth, jobs=count, block="4 KiB"))
                for depth, value in RATES.items()
            ]
    return found


def run_of(run_id: str, figures: list[Figure]) -> RunRecord:
    run = run_events.run_record(run_id, [1.0])
    return replace(run, trials=(TrialRecord(run_events.trial(1), State.DONE, None, 0, tuple(figures)),))


def shown(*runs: RunRecord) -> ReportStep:
    return ReportStep(runs, [STEP] * len(runs), {}, ())


def test_a_target_is_a_line_in_the_plot_of_its_metric() -> None:
    curves = curves_of(swept("1"))
    plain, with_line = panels_of(curves)[1], panels_of(curves, Figure(P99, 5.0))[1]
    line = with_line.curves[-1]
    assert with_line.curves[:-1] == plain.curves
    assert [(point.x, point.value) for point in line.points] == [(1.0, 5.0), (64.0, 5.0)]
    assert with_line.name(line) == "target of p99 5 ns"
    assert panels_of(curves, Figure(P99, 5.0))[0] == panels_of(curves)[0]
    step = make_step("fio-slo", {"limit": 0.01, "percentile": "95"})
    found = target_of(step)
    assert found is not None
    assert (found.metric.name, found.value) == ("open_latency_p95", 10_000.0)
    assert target_of(make_step("fio", {})) is None


def test_the_rate_comes_first_and_the_tail_beneath_it_on_the_same_foot() -> None:
    rate, tail = panels_of(curves_of(swept("1", "2")))
    assert (rate.metric, tail.metric) == (IOPS, P99)
    assert rate.label == tail.label == "depth"
    assert rate.logarithmic
    assert rate.ticks() == ((0.0, "1"), (2.0, "4"), (4.0, "16"), (6.0, "64"))
    assert [rate.name(curve) for curve in rate.curves] == ["jobs 1", "jobs 2"]
    assert rate.position(16.0) == pytest.approx(4.0)


def test_knees_are_named_by_their_curve_and_only_where_they_were_reached() -> None:
    rate, tail = panels_of(curves_of(swept("1", "2")))
    assert [(place, value) for place, value, _ in rate.knees()] == [(4.0, 990.0), (4.0, 1980.0)]
    assert rate.knees()[0][2] == MESSAGES["knee_of_jobs_1_at_depth_16"]
    assert tail.knees() == ()
    growing = [Figure(IOPS, float(10**place), labels(depth=str(place + 1))) for place in range(4)]
    assert panels_of(curves_of(growing))[0].knees() == ()


def test_the_percentiles_of_one_curve_are_drawn_together() -> None:
    rate, tail = panels_of(curves_of(swept("1")))
    assert [rate.name(curve) for curve in rate.curves] == [""]
    assert [(curve.metric, tail.name(curve)) for curve in tail.curves] == [(P50, "median"), (P99, "p99")]


def test_counts_close_to_each_other_stand_on_a_linear_foot() -> None:
    few = [Figure(IOPS, 1.0, labels(threads=str(count))) for count in range(1, 5)]
    (panel,) = panels_of(curves_of(few))
    assert not panel.logarithmic
    assert panel.ticks() == ((1.0, "1"), (2.0, "2"), (3.0, "3"), (4.0, "4"))
    assert panel.name(panel.curves[0]) == ""


def test_what_finds_no_room_is_counted() -> None:
    many = swept(*(str(count) for count in range(1, MOST_CURVES + 3)))
    rate = next(panel for panel in panels_of([c for c in curves_of(many) if c.label == "depth"]))
    assert (len(rate.curves), rate.others) == (MOST_CURVES, 2)


def test_nothing_swept_is_no_plot() -> None:
    assert panels_of([]) == ()
    assert sweep_plots(shown(run_events.run_record("a", [1.0]))) == []


def test_the_picture_has_the_sweep_and_nothing_covers_anything() -> None:
    run = run_of("a", swept("1", "2"))
    rate, tail = sweep_plots(shown(run))
    assert [curve.name for curve in rate.curves] == ["jobs 1", "jobs 2"]
    assert len({curve.colour for curve in rate.curves}) == 2
    assert rate.knees == ((4.0, 990.0), (4.0, 1980.0))
    assert tail.over == MESSAGES["depth_each_doubling_as_wide"]
    sheet = draw_report([run], {}, {}, [])
    check_layout(sheet)
    assert MESSAGES["depth_each_doubling_as_wide"] in [words.text for words in sheet._texts]
    assert sheet.png().startswith(b"\x89PNG")


def test_the_curves_of_the_baseline_are_grey() -> None:
    rate, _ = sweep_plots(shown(run_of("a", swept("1")), run_of("b", swept("1", factor=2.0))))
    assert [(curve.name, curve.faint) for curve in rate.curves] == [("A, baseline", True), ("B", False)]
    assert rate.curves[0].colour == BASELINE


def test_curves_beyond_six_are_told_apart_by_dash_and_shade() -> None:
    figures = [
        Figure(IOPS, 10.0 * depth * count, labels(depth=str(depth), jobs=str(count)))
        for count in range(1, 9)
        for depth in range(1, 10)
    ]
    run = run_of("a", figures)
    (rate,) = sweep_plots(shown(run))
    assert [curve.dashed for curve in rate.curves] == [False] * 6 + [True] * 2
    assert len({curve.colour for curve in rate.curves}) == 8
    check_layout(draw_report([run], {}, {}, []))
