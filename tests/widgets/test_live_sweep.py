"""A sweep in the live view: points as they are measured, then those of all trials that count, over one foot."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import Event, RunEnded, RunStarted, SampleRead, State, TrialEnded, TrialStarted
from app.plans.plan import Plan, make_step
from app.services import Workstation
from suites.base import Command
from suites.fio.metrics import LATENCY_P99
from suites.outputs import ParsedTrial
from suites.perf import profiled_commands
from suites.slo.search import ACHIEVED, PERCENTILES
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Sample, labels
from tests.messages import messages
from tests.widgets.live_events import PLACE, begin, end, folded, plan, sample, trial
from widgets.live.plot_panes import SIDE_BY_SIDE_FROM
from widgets.live.step_view import StepView
from widgets.live.sweep_plots import SweepPlots, sweep_of

MESSAGES = messages("widgets-live", "test_live_sweep")

RATE = Metric("rate_by_point", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
RATES = {"1": 100.0, "4": 390.0, "16": 990.0, "64": 1000.0}


def marks(depth: str, jobs: str = "1") -> Labels:
    return labels(depth=depth, jobs=jobs)


def ended(id_: int = 1, factor: float = 1.0, state: State = State.DONE) -> TrialEnded:
    figures = [Figure(RATE, value * factor, marks(depth)) for depth, value in RATES.items()]
    figures += [Figure(LATENCY_P99, 1000.0 * float(depth), marks(depth)) for depth in RATES]
    return TrialEnded(id_, state, 0, ParsedTrial(tuple(figures)), "")


def seen(depth: str, *values: float) -> list[Event]:
    return [SampleRead(1, Sample(float(place), RATE, value, marks(depth))) for place, value in enumerate(values)]


def test_points_appear_as_they_are_measured_as_the_middle_of_their_samples() -> None:
    model = folded([begin(), *seen("1", 90.0, 100.0, 120.0)])
    assert sweep_of(model, PLACE, model.trials_at(PLACE)[-1]) == ()
    model = folded([begin(), *seen("1", 90.0, 100.0, 120.0), *seen("4", 400.0)])
    (panel,) = sweep_of(model, PLACE, model.trials_at(PLACE)[-1])
    assert [(point.x, point.median) for point in panel.curves[0].points] == [(1.0, 100.0), (4.0, 400.0)]


def test_of_trials_that_count_all_are_taken_and_one_that_does_not_stands_alone() -> None:
    model = folded([begin(1), ended(1), begin(2, 2), ended(2, 1.2), begin(3, 3), ended(3, 9.0, State.FAILED)])
    views = model.trials_at(PLACE)
    rate, tail = sweep_of(model, PLACE, views[1])
    assert rate.curves[0].points[0].values == pytest.approx((100.0, 120.0))
    assert tail.metric == LATENCY_P99
    alone = sweep_of(model, PLACE, views[2])[0]
    assert alone.curves[0].points[0].values == (900.0,)


SEARCH = Plan("slo", ("web-1",), (make_step("fio-slo", {"limit": 0.01}, name="disk"),))


def searched(*rates: str) -> Iterator[Event]:
    """Yield what an SLO search finds at `rates`: what arrives, and a p99 of twice the median, in us."""
    yield begin()
    figures = [
        Figure(metric, value * float(rate), labels(offered_rate=rate))
        for rate in rates
        for metric, value in zip((ACHIEVED, *PERCENTILES), (1.0, 100.0, 150.0, 200.0, 300.0), strict=True)
    ]
    yield TrialEnded(1, State.DONE, 0, ParsedTrial(tuple(figures)), "")


def test_a_search_shows_its_target_among_the_percentiles(keep: Callable[[QWidget], QWidget]) -> None:
    model = folded(searched("100", "50"), SEARCH)
    plots = SweepPlots()
    keep(plots)
    plots.show_panels(sweep_of(model, PLACE, model.trials_at(PLACE)[-1]))
    rate, latency = plots.plots
    assert (rate.title, latency.title) == (MESSAGES["achieved_by_offered"], MESSAGES["latency_at_the_rate"])
    assert [line.title for line in latency.lines.values()] == ["median", "p95", "p99", "p99.9", MESSAGES["target"]]
    assert list(latency.lines["target", ()].pieces[0].buffer.values()) == [10_000.0, 10_000.0]
    assert latency.scaling.may_be_logarithmic
    assert ("target", ()) not in rate.lines


def test_a_profiled_trial_that_has_ended_gives_way_to_those_that_count(keep: Callable[[QWidget], QWidget]) -> None:
    view = StepView()
    keep(view)
    command = Command(("sh", "-c", "true"))
    profiled = replace(trial(2, warm_up=True), commands=profiled_commands((command,), 99))
    assert profiled.profiled
    running = [begin(1), ended(1), TrialStarted(profiled, 10.0)]
    view.show_step_key(folded(running), PLACE, ())
    assert view.front is not None
    assert view.front.trial.profiled
    view.show_step_key(folded([*running, ended(2, 9.0)]), PLACE, ())
    assert view.front.trial.id == 1
    assert view.sweep.plots


def test_a_step_without_a_sweep_has_none() -> None:
    model = folded([begin(), sample(41_000.0, 1.0), end(41_000.0)])
    assert sweep_of(model, PLACE, model.trials_at(PLACE)[-1]) == ()
    assert sweep_of(model, PLACE, None) == ()


def test_the_plots_are_named_by_what_was_swept_and_copy_as_data(keep: Callable[[QWidget], QWidget]) -> None:
    model = folded([begin(), ended()])
    plots = SweepPlots()
    keep(plots)
    plots.resize(500, 400)
    plots.show_panels(sweep_of(model, PLACE, model.trials_at(PLACE)[-1]))
    rate, tail = plots.plots
    rate.refresh()
    assert (rate.title, tail.title) == ("Rate by depth", MESSAGES["completion_latency_p99_by"])
    axis = rate.view.time_axis
    assert [axis.tickStrings([place], 1.0, 1.0)[0] for place in axis.tickValues(-0.3, 6.3, 400)[0][1]] == list(RATES)
    assert axis.tickValues(-0.3, 6.3, 20)[0][1] == [0.0, 6.0]
    rate.window_of_time.move_cursor(4.0)
    assert rate.reading().startswith("depth 16   ")
    assert "knee at depth 16" in rate.reading()
    rate.menu.copy_data()
    assert QGuiApplication.clipboard().text().splitlines()[:2] == ["depth\tRate [1/s]", "1\t100"]


def test_the_plots_come_with_the_sweep_and_go_with_it(keep: Callable[[QWidget], QWidget]) -> None:
    view = StepView()
    keep(view)
    model = folded([begin(), sample(41_000.0, 1.0)])
    view.show_step_key(model, PLACE, ())
    assert view.sweep.isHidden()
    swept = folded([begin(), ended()])
    view.show_step_key(swept, PLACE, ())
    assert not view.sweep.isHidden()
    assert len(view.sweep.plots) == 2
    view.show_step_key(model, PLACE, ())
    assert view.sweep.isHidden()
    assert view.sweep.plots == []


def test_in_a_narrow_place_one_kind_of_plots_stands_before_the_other(keep: Callable[[QWidget], QWidget]) -> None:
    view = StepView()
    keep(view)
    view.resize(500, 500)
    view.show()
    view.show_step_key(folded([begin(), sample(41_000.0, 1.0)]), PLACE, ())
    assert (view.plots.isVisible(), view.plot_panes.tabs.isVisible()) == (True, False)
    view.show_step_key(folded([begin(), ended()]), PLACE, ())
    assert (view.plots.isVisible(), view.sweep.isVisible(), view.plot_panes.tabs.isVisible()) == (False, True, True)
    view.plot_panes.tabs.setCurrentIndex(1)
    assert (view.plots.isVisible(), view.sweep.isVisible()) == (True, False)
    view.resize(SIDE_BY_SIDE_FROM + 100, 500)
    assert (view.plots.isVisible(), view.sweep.isVisible(), view.plot_panes.tabs.isVisible()) == (True, True, False)


def test_the_fitted_model_of_a_finished_sweep_takes_the_place_of_its_plot(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation, idle: None
) -> None:
    events = [begin(), ended(), begin(2, 2), ended(2, 1.02)]
    with workstation._store.recorder("run-1") as recorder:
        for event in (RunStarted("run-1", plan(trials=2), "2026-01-01T00:00:00+00:00"), *events):
            recorder.record(event)
        recorder.record(RunEnded("run-1", State.DONE, "", {}))
    view = StepView(workstation)
    keep(view)
    model = folded(events)
    view.show_step_key(model, PLACE, ())
    assert view.sweep.charts == []
    model.fold(RunEnded("run-1", State.DONE, "", {}), 20.0)
    view.sync()
    qtbot.waitUntil(lambda: bool(view.sweep.charts))
    assert RATE.title in view.sweep.charts[0].accessibleName()
    assert [plot.isHidden() for plot in view.sweep.plots] == [True, False]
    shown = list(view.sweep.charts)
    view.sync()
    assert view.sweep.charts == shown, "read once"
