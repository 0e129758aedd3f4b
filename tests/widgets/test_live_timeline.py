"""All trials of a step on one time axis: gaps, other steps, events, heat maps, and the switch to an overlay."""

import gc
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.events import (
    Decision,
    Event,
    FindingRaised,
    LinkChanged,
    LinkState,
    PolicyDecided,
    RunEnded,
    SampleRead,
    State,
    TelemetryRead,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import Order
from app.services import Workstation
from suites.fio.metrics import IOPS, LATENCY_P99
from suites.vocab import LatencySlice, Sample
from tests.app.run_events import FINDING, run_record
from tests.perf.fleet_client import memory
from tests.widgets.live_events import CLOCK, CPU_USER, PLACE, READ, end, folded, plan, sample, trial
from widgets.live.live_page import LivePage
from widgets.live.model import TELEMETRY_CAPACITY, RunModel
from widgets.live.replay import stored
from widgets.live.run_controller import RunController, RunStart
from widgets.live.run_timeline import run_marks, timeline_of
from widgets.live.step_view import StepView
from widgets.plots.heat import grid_of
from widgets.plots.time_window import TimeWindow
from widgets.plots.timeline import MarkKind, PhaseKind, TimeMap, TimePhase
from widgets.plots.timeline_strip import TimelineStrip

LENGTH = 10.0


def ran(id_: int, number: int, clock: float, step: str = "disk", state: State = State.DONE) -> list[Event]:
    """Return a trial of ten samples that began at `clock` seconds of the host's clock."""
    started = TrialStarted(replace(trial(id_, number, step=step), clock=CLOCK + clock), LENGTH)
    samples = [sample(41_000.0 + second, float(second), id_) for second in range(1, int(LENGTH) + 1)]
    return [started, *samples, end(41_000.0 if state is State.DONE else None, id_, state, "")]


def watched(start: float, seconds: int) -> TelemetryRead:
    return TelemetryRead("web-1", tuple(Sample(CLOCK + start + at, CPU_USER, 50.0) for at in range(seconds)))


def bands(model: RunModel) -> list[tuple[PhaseKind, float, float]]:
    found = timeline_of(model, PLACE)
    assert found is not None
    return [(one.kind, round(one.start, 3), round(one.end, 3)) for one in found.phases]


def test_short_gaps_are_kept_and_long_ones_are_cut_with_a_visible_break() -> None:
    model = folded([*ran(1, 1, 0.0), *ran(2, 2, 13.0), *ran(3, 3, 623.0, state=State.FAILED)])
    assert bands(model) == [
        (PhaseKind.CUT, 24.0, 24.6),
        (PhaseKind.TRIAL, 0.0, 10.0),
        (PhaseKind.TRIAL, 13.0, 23.0),
        (PhaseKind.EXCLUDED, 25.6, 35.6),
    ]
    found = timeline_of(model, PLACE)
    assert found is not None
    assert found.phases[0].text == "9 min 58 s not shown"
    assert found.time_map.to_time(26.6) == pytest.approx(624.0), "the axis labels the run's time"
    assert found.time_map.to_axis(CLOCK + 300.0) == 24.0


def test_trials_of_another_step_are_quiet_bands_or_named_in_the_cut() -> None:
    near = folded([*ran(1, 1, 0.0), *ran(2, 1, 10.5, "cpu"), *ran(3, 2, 21.0)])
    assert [kind for kind, *_ in bands(near)] == [PhaseKind.CUT, PhaseKind.OTHER, PhaseKind.TRIAL, PhaseKind.TRIAL]
    found = timeline_of(near, PLACE)
    assert found is not None
    assert found.phases[0].text.endswith("; cpu, trial 1")
    assert found.time_map.zero == CLOCK
    second = timeline_of(near, ("cpu", "web-1"))
    assert second is not None
    assert second.time_map.to_time(0.0) == 10.5, "0:00 is the run's first trial on the host"


def test_the_other_side_of_a_duet_is_no_band_over_the_trial() -> None:
    events = [*ran(1, 1, 0.0), *ran(2, 1, 0.3, "cpu"), *ran(3, 2, 12.0, "cpu"), *ran(4, 2, 12.2)]
    both = folded(events, replace(plan(), order=Order.DUET))
    assert bands(both) == [(PhaseKind.TRIAL, 0.0, 10.0), (PhaseKind.TRIAL, 12.2, 22.2)]


def test_without_the_hosts_clock_trials_follow_each_other_by_this_computers() -> None:
    started = TrialStarted(replace(trial(2, 2), clock=None), LENGTH)
    model = folded([*ran(1, 1, 0.0), started, *(sample(1.0, float(at), 2) for at in range(1, 5))])
    found = timeline_of(model, PLACE)
    assert found is not None
    assert not found.by_clock
    assert [round(place.zero) for place in found.places] == [1, 13]


def test_events_are_marks_on_the_axis() -> None:
    decided = PolicyDecided("web-1", "disk", IOPS, READ, Decision(stop=False, settled=False, trials=1, reason="1 of 6"))
    lost = [LinkChanged("web-1", state, 5.0) for state in (LinkState.LOST, LinkState.RECONNECTING, LinkState.BACK)]
    model = folded([*ran(1, 1, 0.0), decided, *ran(2, 2, 12.0)[:5], *lost])
    found = timeline_of(model, PLACE)
    assert found is not None
    marks = list(run_marks(model, PLACE, found))
    assert [(mark.kind, mark.time) for mark in marks] == [(MarkKind.LINK, 16.0), (MarkKind.DECISION, 10.0)]
    assert marks[0].text.startswith("reconnected after ")


def test_a_trial_that_never_began_has_no_place_and_takes_none_from_the_others(
    keep: Callable[[QWidget], QWidget],
) -> None:
    never = [TrialStarted(replace(trial(2, 2), clock=None), None), end(None, 2, State.FAILED)]
    model, view = folded([*ran(1, 1, 0.0), *never]), StepView()
    keep(view)
    view.show_step_key(model, PLACE, ())
    assert view.front is model.trials[1]
    found = timeline_of(model, PLACE)
    assert found is not None
    assert (found.by_clock, [place.view.trial.id for place in found.places]) == (True, [1])
    assert timeline_of(folded(never), PLACE) is None


def test_a_trial_whose_samples_came_late_is_where_it_ran() -> None:
    first, second = ran(1, 1, 0.0), ran(2, 2, 12.0)
    late = [replace(event, origin=CLOCK + 42.0) if isinstance(event, SampleRead) else event for event in second[:-1]]
    ended = second[-1]
    assert isinstance(ended, TrialEnded)
    model = folded([*first, *late, replace(ended, origin=CLOCK + 12.4, ended_clock=CLOCK + 22.4)])
    assert bands(model)[-1] == (PhaseKind.TRIAL, 12.4, 22.4)


def test_a_stored_run_marks_the_gap_that_a_lost_connection_left_in_its_telemetry() -> None:
    record = run_record("run-1", (41_000.0,), metric=IOPS)
    first = record.trials[0].trial
    record = replace(record, trials=(replace(record.trials[0], trial=replace(first, clock=CLOCK)),))
    samples = {first.id: tuple(Sample(float(at), IOPS, 41_000.0, READ) for at in range(1, 61))}
    watched_at = (*range(10), *range(42, 61), 400)
    telemetry = {first.host: tuple(Sample(CLOCK + at, CPU_USER, 50.0) for at in watched_at)}
    seen = FindingRaised(replace(FINDING, host=first.host), first.id, CLOCK + 50.0)
    for raised, marked in (([seen], [(50.0, MarkKind.FINDING)]), ([replace(seen, clock=None)], [])):  # an old run
        model = stored(record.with_raised(raised), samples, telemetry)
        found = timeline_of(model, (first.step, first.host))
        assert found is not None
        marks = [one for one in run_marks(model, (first.step, first.host), found) if one.kind is not MarkKind.DECISION]
        assert [(mark.time, mark.kind) for mark in marks] == [*marked, (9.0, MarkKind.LINK)]
        assert marks[-1].text == "no telemetry for 33 s"


def test_one_curve_spans_the_run_and_the_crosshair_reads_trial_and_value(keep: Callable[[QWidget], QWidget]) -> None:
    view = StepView()
    keep(view)
    model = folded([watched(0.0, 40), *ran(1, 1, 0.0), *ran(2, 2, 13.0), watched(600.0, 40), *ran(3, 3, 610.0)])
    view.show_step_key(model, PLACE, ())
    while view.plots.drawing:
        QApplication.processEvents()
    headline, host = view.plots.plots["headline"], view.plots.plots["host cpu %"]
    (line,) = headline.lines.values()
    times, values = line.points()
    assert len(times) == 3 * (LENGTH + 1), "three trials, each followed by a gap"
    assert times.tolist() == sorted(times.tolist())
    view.plots.window_of_time.move_cursor(14.0)
    headline.refresh()
    assert headline.reading() == "0:14.00 (trial 2)   41.0k/s"
    assert "50" in host.reading()
    (user,) = host.lines.values()
    assert (user.at(23.0), user.at(24.3), user.at(26.0)) == (50.0, None, 50.0), "telemetry of the gap is cut with it"
    assert values[0] == 41_001.0
    headline.refresh()
    levels = [(level.start, level.end, level.value) for level in headline.view.backdrop.levels]
    assert levels[:2] == [(0.0, 10.0, 41_000.0), (13.0, 23.0, 41_000.0)], "a drift from trial to trial shows"


def test_telemetry_of_a_long_run_is_bounded_in_the_window_and_keeps_its_peaks() -> None:
    model = folded([])
    for hour in range(8):
        values = (99.0 if hour == 0 and at == 7 else 50.0 for at in range(3600))
        at_once = tuple(Sample(3600.0 * hour + at, CPU_USER, value) for at, value in enumerate(values))
        model.fold(TelemetryRead("web-1", at_once), 3600.0 * hour)
    (series,) = model.telemetry["web-1"].values()
    assert len(series.buffer) <= TELEMETRY_CAPACITY
    assert series.buffer.taken == 8 * 3600
    assert series.buffer.values().max() == 99.0


@pytest.mark.slow
def test_memory_stays_flat_over_eight_hours(keep: Callable[[QWidget], QWidget]) -> None:
    """Trials of a minute with two curves, and eight curves of telemetry, a sample a second, drawn once a minute."""
    view = StepView()
    keep(view)
    view.resize(1130, 600)
    view.show()
    model, rng = folded([], plan(trials=480)), random.Random(1)
    watched_metrics = [replace(CPU_USER, name=f"cpu_{number}") for number in range(8)]
    sizes = []
    for minute in range(8 * 60):
        begin, id_ = CLOCK + 60.0 * minute, minute + 1
        model.fold(TrialStarted(replace(trial(id_, id_), clock=begin), 60.0), begin)
        for second in range(1, 60):
            for metric, value in ((IOPS, 41_000.0), (LATENCY_P99, 2e6)):
                model.fold(sample(value * rng.uniform(0.9, 1.1), float(second), id_, metric=metric), begin + second)
            read = tuple(Sample(begin + second, metric, rng.uniform(0, 100)) for metric in watched_metrics)
            model.fold(TelemetryRead("web-1", read), begin + second)
        model.fold(end(41_000.0, id_), begin + 60)
        (view.sync if minute else lambda: view.show_step_key(model, PLACE, ()))()
        while view.plots.drawing:
            QApplication.processEvents()
        QApplication.processEvents()
        if minute % 60 == 59:
            gc.collect()
            sizes.append(memory())
    assert sizes[-1] - sizes[1] < 16 << 20, [size >> 20 for size in sizes]


def test_a_key_overlays_the_trials_and_back(qtbot: QtBot, keep: Callable[[QWidget], QWidget]) -> None:
    view = StepView()
    keep(view)
    with qtbot.waitExposed(view):
        view.show()
    model = folded([*ran(1, 1, 0.0), *ran(2, 2, 13.0), RunEnded("run-1", State.DONE)])
    view.show_step_key(model, PLACE, ())
    view.plots.window_of_time.zoom_to(2.0, 4.0)
    view.plots.plots["headline"].view.setFocus()
    qtbot.keyClick(view.plots.plots["headline"].view, Qt.Key.Key_O)
    assert view.plots.window_of_time.shown == (0.0, 10.0)
    assert [line.title for line in view.plots.plots["headline"].lines.values() if line.faint] == ["trial 1"]
    qtbot.keyClick(view.plots.plots["headline"].view, Qt.Key.Key_O)
    assert view.plots.window_of_time.shown == (0.0, 23.0)
    assert not any(line.faint for line in view.plots.plots["headline"].lines.values())


def test_a_selected_span_shows_its_statistics_and_marks_are_reached_by_key(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget]
) -> None:
    view = StepView()
    keep(view)
    with qtbot.waitExposed(view):
        view.show()
    decided = PolicyDecided("web-1", "disk", IOPS, READ, Decision(stop=False, settled=False, trials=1, reason="1 of 6"))
    view.show_step_key(folded([*ran(1, 1, 0.0), decided, *ran(2, 2, 13.0)]), PLACE, ())
    assert view.tabs.folded
    view.plots.window_of_time.select((2.0, 5.0))
    assert not view.tabs.folded
    assert view.span.content.texts()[1][:4] == ["I/Os per second", "read", "4", "41.0k/s"]
    plot = view.plots.plots["headline"].view
    plot.setFocus()
    qtbot.keyClick(plot, Qt.Key.Key_N)
    assert view.plots.window_of_time.cursor == 10.0
    view.plots.plots["headline"].refresh()
    assert "◆ 1 of 6" in view.plots.plots["headline"].reading()
    qtbot.keyClick(plot, Qt.Key.Key_Escape)
    assert view.plots.window_of_time.selection is None


def test_a_heat_map_is_read_when_a_trial_has_ended(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], monkeypatch: pytest.MonkeyPatch, idle: None
) -> None:
    slices = [LatencySlice(float(at), at + 1.0, READ, {80_000: 90, 2_000_000: at + 1}) for at in range(10)]
    asked: list[tuple[str, int]] = []

    class Reader:
        def output(self, run: str, number: int) -> Mapping[str, bytes]:
            asked.append((run, number))
            return {"stdout": b""}

    class Histograms:
        @staticmethod
        def slices(_output: bytes) -> list[LatencySlice]:
            return slices

    monkeypatch.setattr("widgets.live.heat_maps.histograms_of", lambda _suite: Histograms)
    view = StepView(Reader())  # type: ignore[arg-type]  # reads the output of trials alone
    keep(view)
    latency = [SampleRead(1, Sample(float(at), LATENCY_P99, 2e6, READ)) for at in range(1, 11)]
    first = ran(1, 1, 0.0)
    model = folded([*first[:-1], *latency])
    view.show_step_key(model, PLACE, ())
    assert asked == []
    model.fold(first[-1], 30.0)
    view.sync()
    plot = view.plots.plots["latency"]
    qtbot.waitUntil(lambda: bool(plot._notes.heat))
    plot.refresh()
    assert asked == [("run-1", 1)]
    (heat,) = plot.view.backdrop.heat
    assert (heat.start, heat.end, heat.image.width()) == (0.0, 10.0, 10)
    assert "1 to 90 " in plot.head.heat_key.accessibleName()
    grid = grid_of(slices)
    assert grid is not None
    assert grid.counts.sum() == 90 * 10 + 55
    assert (grid.low, grid.high) == (4.9, 6.4)
    uneven = [replace(one, start=one.start + 0.1, end=one.end + 0.1) for one in slices[:8]]
    wide = grid_of([*slices[:8], *uneven, LatencySlice(8.0, 10.0, READ, {80_000: 40})])
    assert wide is not None
    assert wide.counts[0].tolist() == [180] * 8 + [20, 20], "no column is left out"


def test_the_name_of_a_trial_is_beside_its_ramp(keep: Callable[[QWidget], QWidget]) -> None:
    window = TimeWindow(None)
    strip = TimelineStrip(window)
    keep(strip)
    strip.resize(800, 40)
    one, ramp = TimePhase(0.0, 10.0, PhaseKind.TRIAL, "trial 1", key=1), TimePhase(0.0, 6.0, PhaseKind.WARM_UP, "ramp")
    window.set_axis(TimeMap(), (one, ramp), ())
    window.set_range(0.0, 20.0)
    assert strip._uncovered(one, strip._area(one)).left() == strip._area(ramp).right()
    assert strip._uncovered(ramp, strip._area(ramp)) == strip._area(ramp)


@pytest.mark.parametrize("phase", ["running", "done"])
@pytest.mark.usefixtures("dressed")
def test_plots_have_three_fifths_of_the_page(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation, phase: str
) -> None:
    """At 1280x800, during and after a run, on the page beside sidebar, strip of runs and bars: 1046x706."""
    page = LivePage(workstation, None)  # type: ignore[arg-type]  # nobody is asked
    keep(page)
    page.resize(1046, 706)
    with qtbot.waitExposed(page):
        page.show()
    model = folded([watched(0.0, 40), *ran(1, 1, 0.0), *ran(2, 2, 13.0)], plan(hosts=("web-1", "web-2")))
    run = RunController(RunStart(model.plan), workstation, page.asker, page)
    run.model, page._front = model, run
    view = page._ensure_view()
    page._stack.setCurrentIndex(1)
    page._strip.show_step_keys(model)
    if phase == "done":
        model.fold(RunEnded("run-1", State.DONE), 60.0)
        run.over = True
    page._show_step(PLACE)
    page._show_bars(run)
    while view.plots.drawing:
        QApplication.processEvents()
    QApplication.processEvents()
    assert view.plots.height() >= 0.6 * page.height()
