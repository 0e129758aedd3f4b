"""The live page on real runs of real tools on this computer: what is seen while they run, and what is kept."""

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import Event, LinkChanged, LinkState, Progress, SampleRead, State
from app.plans.plan import LOCAL, Plan, Repetition, Step, make_step
from app.questions import RefusingAsker
from app.services import Workstation
from tests.messages import messages
from tests.widgets import live_events
from widgets.jobs import BackgroundJob, PendingEvents
from widgets.live import replay
from widgets.live.live_page import LivePage
from widgets.live.model import LivePhase, RunModel
from widgets.live.run_controller import RunController, RunStart
from widgets.live.run_issues import besides_limits
from widgets.live.step_view import StepView
from widgets.run_strip import StripLine
from widgets.run_view import RunView

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-live", "test_live_page")

Keep = Callable[[QWidget], QWidget]

PATIENCE = 30_000
"""Milliseconds a run of a few seconds may take on a busy machine."""


def plan_of(*steps: Step, trials: int = 1) -> Plan:
    return Plan("Quick look", (LOCAL,), steps, repetition=Repetition(trials=trials))


def cpu(seconds: int = 2) -> Step:
    return make_step("sysbench-cpu", {"time": seconds, "threads": 1})


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, workstation: Workstation, idle: None) -> LivePage:
    made = LivePage(workstation, RefusingAsker())
    keep(made)
    made.resize(1000, 700)
    with qtbot.waitExposed(made):
        made.show()
    return made


def view_of(page: LivePage) -> StepView:
    assert page.view is not None
    return page.view


def model_of(page: LivePage) -> RunModel:
    assert page.model is not None
    return page.model


def drawn_points(page: LivePage) -> int:
    """Return how many points of the test itself are drawn; what the host does is drawn before it begins."""
    return sum(
        0 if line.curve.xData is None else len(line.curve.xData)
        for name, plot in view_of(page).plots.plots.items()
        if not name.startswith("host")
        for line in plot.lines.values()
    )


def run_to_end(qtbot: QtBot, page: LivePage, plan: Plan) -> None:
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        page.start_run(plan)


def test_an_idle_page_says_what_it_is_for_and_offers_the_next_step(qtbot: QtBot, page: LivePage) -> None:
    assert not page.running
    assert page.view is None  # pyqtgraph is not imported before something runs
    button = page._empty.button
    assert button is not None
    with qtbot.waitSignal(page.measure_requested):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_samples_are_drawn_before_the_tool_ends(qtbot: QtBot, page: LivePage) -> None:
    summaries: list[str] = []
    page.summary_changed.connect(summaries.append)
    with qtbot.waitSignal(page.run_started, timeout=PATIENCE) as started:
        page.start_run(plan_of(cpu(4)))
    qtbot.waitUntil(lambda: drawn_points(page) > 0, timeout=PATIENCE)
    trial = model_of(page).current
    assert trial is not None
    assert trial.ended is None
    qtbot.waitUntil(lambda: "so far: median" in view_of(page).bar.figure.note.text(), timeout=PATIENCE)
    assert page._step_label.text() == MESSAGES["this_computer_sysbench_cpu"]
    assert "left" in view_of(page).bar.time.note.text()
    assert "sysbench cpu" in view_of(page).commands.toPlainText()
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE) as finished:
        pass
    assert finished.args == started.args
    listed = {found for issue in page.issues.issues for found in (one.id for one in issue.findings)}
    assert listed >= {one.id for one in besides_limits(model_of(page))}
    assert any(summary.startswith(MESSAGES["this_computer_sysbench_cpu_2"]) for summary in summaries)
    assert summaries[-1] == ""
    assert model_of(page).phase is LivePhase.DONE
    assert view_of(page).bar.figure.note.text().endswith(MESSAGES["one_trial_no_interval"])
    view_of(page).tabs.open_tab(view_of(page).log)
    qtbot.waitUntil(lambda: "events per second" in view_of(page).log.toPlainText())


@pytest.mark.slow
@pytest.mark.alone
def test_headline_bar_strip_and_title_name_the_same_trial(qtbot: QtBot, page: LivePage) -> None:
    run = page.start_run(plan_of(cpu(1), trials=3))
    line: list[StripLine] = []
    shown: list[tuple[bool, ...]] = []
    left: set[tuple[str, str]] = set()

    def note(_taken: object) -> None:  # after the page has taken the same events
        if (view := run.model.running_at(run.step_key)) is not None:
            texts = (view_of(page).bar.current.text(), page._summary, line[-1].detail)
            shown.append(tuple(f"trial {view.trial.number} of 3" in text for text in texts))

    def keep_line(lines: list[StripLine], _front: str) -> None:
        line.append(lines[0])
        if run.running and not run.model.phase.over:
            left.add((view_of(page).bar.time.note.text(), lines[0].left))

    page.lines_changed.connect(keep_line)
    run.taken.connect(note)
    qtbot.waitUntil(lambda: not page.running, timeout=PATIENCE)
    assert set(shown) == {(True, True, True)}
    assert all(ours == theirs for ours, theirs in left)
    assert view_of(page).bar.time.note.text() == "run time"
    assert page._step_label.text() == MESSAGES["step_of_a_run_that_is_over"]


def test_a_host_that_is_not_reached_hides_neither_trial_nor_time_nor_figure(page: LivePage) -> None:
    away = LinkChanged("web-2", LinkState.NOT_REACHED, 0.0)
    run = RunController(RunStart(live_events.plan()), page.workstation, page.asker, page)
    run._job = BackgroundJob(lambda: iter(()), page)
    run.model = live_events.folded([away, live_events.begin(), live_events.end(41_000.0), live_events.begin(2, 2)])
    run.model.fold(Progress(1, 6, 30.0), 5.0)
    line = run.line(5.0)
    assert (line.doing, line.left, line.figure) == ("trial 2 of 3", "about 30 s left", "41.0k IOPS")
    assert line.share is not None
    run.model.fold(replace(away, host="web-1", state=LinkState.LOST), 5.0)
    line = run.line(5.0)
    assert (line.doing, line.left, line.share) == (MESSAGES["lost"], "", None)


@pytest.mark.slow
def test_the_hosts_own_curves_stand_on_the_trials_clock(qtbot: QtBot, page: LivePage) -> None:
    run_to_end(qtbot, page, plan_of(cpu(3)))
    plots = view_of(page).plots.plots
    user = plots["host cpu %"].lines[("host", ("cpu_user", ()))]
    view = model_of(page).trials[1]
    assert view.trial.clock is not None
    times = user.buffer.times() - user.offset
    assert user.offset == view.zero
    assert view.trial.clock <= user.offset < view.trial.clock + 1.0
    assert ((times > -2) & (times < 6)).all()
    assert view_of(page).plots.window_of_time.shown[1] < 6
    busy = [value for time, value in zip(times, user.buffer.values(), strict=True) if 1 < time < 3]
    assert max(busy) > 10  # sysbench keeps a core busy, and telemetry saw it at that time


def test_stopping_half_way_keeps_what_was_measured_and_ends_the_tool(
    qtbot: QtBot, page: LivePage, workstation: Workstation
) -> None:
    marked = make_step("sysbench-cpu", {"time": 600, "threads": 1, "cpu_max_prime": 10_007})
    page.start_run(plan_of(marked, trials=2))
    qtbot.waitUntil(lambda: drawn_points(page) > 0, timeout=PATIENCE)
    assert _tools("10007")
    began = time.monotonic()
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        qtbot.mouseClick(page._stop_button, Qt.MouseButton.LeftButton)
        assert page.running
        assert page._state_label.text() == "stopping: ending the process group on this computer"
        assert page.view is not None
        assert page.view.bar.time.note.text() == ""  # the plan's end is not awaited
        assert not page._stop_button.isEnabled()
    assert time.monotonic() - began < 90  # a trial takes 600
    assert not page.running
    assert not _tools("10007")
    assert page._outcome.message.text() == MESSAGES["ended_early_on_this_computer"]
    assert page._outcome.show_button.isEnabled()
    assert not page._outcome.pin_button.isEnabled()
    record = workstation.load(model_of(page).run_id)
    assert record.summary.state is State.PARTIAL
    assert workstation.samples(record.summary.id)[1]


def _tools(mark: str) -> str:
    found = subprocess.run(["pgrep", "-fa", "^sysbench"], capture_output=True, text=True, check=False)
    return "".join(line for line in found.stdout.splitlines() if mark in line)


@pytest.mark.slow
def test_a_pinned_run_lies_as_a_band_under_the_next_one(qtbot: QtBot, page: LivePage) -> None:
    run_to_end(qtbot, page, plan_of(cpu()))
    page._outcome.pin_button.click()
    page._outcome.name.setText("before <b>the</b> upgrade")
    qtbot.keyClick(page._outcome.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "Pinned as baseline" in page._outcome.detail.text(), timeout=PATIENCE)
    page.start_run(plan_of(cpu()))
    qtbot.waitUntil(lambda: bool(view_of(page).bar.ratio.value.text()), timeout=PATIENCE)
    leading = view_of(page).plots.plots["headline"]
    qtbot.waitUntil(lambda: bool(leading.view.backdrop.stripes))
    (band,) = leading.bands().values()
    assert band.name == "before <b>the</b> upgrade"
    assert "before <b>the</b> upgrade" in view_of(page).bar.ratio.note.text()
    if page.running:
        qtbot.waitSignal(page.run_finished, timeout=PATIENCE).wait()
    assert re.match(r"\d+\.\d+x", view_of(page).bar.ratio.value.text())


def test_a_failed_run_says_what_happened_and_what_is_kept(qtbot: QtBot, page: LivePage, tmp_path: Path) -> None:
    missing = tmp_path / "a file, no folder"
    missing.write_text("x")
    step = make_step("fio", {"directory": str(missing), "size": "16 MiB", "runtime": 1})
    run_to_end(qtbot, page, plan_of(step, cpu(1)))
    assert page._outcome.message.text() == MESSAGES["failed_on_this_computer_1_of"]
    assert str(missing) in page._outcome.detail.text()
    assert MESSAGES["finished_trials_are_in_the"] in page._outcome.detail.text()
    assert page._strip.content.at(0, "State").data() == "failed"
    assert page._outcome.show_button.isEnabled()


@pytest.mark.slow
def test_a_second_run_on_the_same_host_waits_and_then_runs(qtbot: QtBot, page: LivePage) -> None:
    first, second = page.start_run(plan_of(cpu(1))), page.start_run(plan_of(cpu(1)))
    qtbot.waitUntil(page._busy.isVisible)
    assert page._busy.message.text().startswith(MESSAGES["waits_for_this_computer"])
    page.show_next()
    assert page.front is first
    assert not page._busy.isVisible()
    qtbot.waitUntil(lambda: first.over and second.over, timeout=PATIENCE)
    assert [run.model.phase for run in (first, second)] == [LivePhase.DONE, LivePhase.DONE]
    began = [page.workstation.load(run.model.run_id).summary for run in (first, second)]
    assert began[1].started > str(began[0].ended)
    page.show_run(second)
    assert page.runs.controllers == [second]  # a finished run that was seen leaves the list
    assert "events per second" in "".join(str(part) for part in second.log)


@pytest.mark.slow
def test_the_buttons_at_the_end_ask_for_this_run(qtbot: QtBot, page: LivePage) -> None:
    run_to_end(qtbot, page, plan_of(cpu(1)))
    run_id = model_of(page).run_id
    asked: list[str] = []
    page.show_run_requested.connect(asked.append)
    page.export_requested.connect(asked.append)
    page._outcome.show_button.click()
    page._outcome.export_button.click()
    assert asked == [run_id, run_id]
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        page._outcome.rerun_button.click()
    assert model_of(page).run_id != run_id


@pytest.mark.slow
def test_a_place_that_was_chosen_stays_until_the_running_one_is_chosen(qtbot: QtBot, page: LivePage) -> None:
    page.start_run(plan_of(cpu(1), make_step("sysbench-memory", {"time": 1}), trials=2))
    qtbot.waitUntil(lambda: len(model_of(page).trials) >= 2, timeout=PATIENCE)
    page._strip.selectRow(1)
    assert view_of(page).step_key == ("sysbench-memory", LOCAL)
    page._strip.selectRow(0)
    assert view_of(page).step_key == ("sysbench-cpu", LOCAL)
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        pass
    assert view_of(page).step_key == ("sysbench-memory", LOCAL)
    assert page._strip.content.at(0, "State").data() == "2/2"


@pytest.mark.slow
def test_earlier_trials_stand_faintly_behind_the_one_in_front(qtbot: QtBot, page: LivePage) -> None:
    run_to_end(qtbot, page, plan_of(cpu(2), trials=2))
    view_of(page).tabs.open_tab(view_of(page).table)
    view_of(page).overlay.trigger()
    lines = view_of(page).plots.plots["headline"].lines
    assert [line.title for line in lines.values() if line.faint] == ["trial 1"]
    view_of(page).table.selectRow(0)
    lines = view_of(page).plots.plots["headline"].lines
    assert [line.title for line in lines.values() if line.faint] == ["trial 2"]
    assert view_of(page).front is model_of(page).trials[1]


@pytest.mark.slow
def test_a_stored_run_shows_the_same_plots_and_its_raw_output(
    qtbot: QtBot, keep: Keep, page: LivePage, workstation: Workstation
) -> None:
    run_to_end(qtbot, page, plan_of(cpu(2)))
    record = workstation.load("last")
    run_id = record.summary.id
    shown = RunView()
    keep(shown)
    shown.output_requested.connect(lambda run, trial: shown.set_output(trial, workstation.output(run, trial)))
    shown.set_model(replay.stored(record, workstation.samples(run_id), workstation.telemetry(run_id)))
    shown.resize(900, 600)
    with qtbot.waitExposed(shown):
        shown.show()
    live, stored = view_of(page), shown.view
    qtbot.waitUntil(lambda: not (live.plots.drawing or stored.plots.drawing))
    assert stored.bar.figure.value.text() == live.bar.figure.value.text()
    assert list(stored.plots.plots) == list(live.plots.plots)
    ours, theirs = (view.plots.plots["headline"].lines for view in (stored, live))
    assert [line.buffer.values().tolist() for line in ours.values()] == [
        line.buffer.values().tolist() for line in theirs.values()
    ]
    stored.tabs.open_tab(stored.log)
    assert "events per second" in stored.log.toPlainText()
    assert "sysbench cpu" in stored.commands.toPlainText()


@pytest.mark.alone
def test_a_line_printed_on_the_host_is_drawn_in_time(
    qtbot: QtBot, page: LivePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the engine handing a sample over to its curve; the way before that is the engine's."""
    arrived: dict[int, float] = {}
    drawn: dict[int, float] = {}

    def noting(pending: PendingEvents, event: Event) -> bool:
        if isinstance(event, SampleRead) and event.sample.metric.name == "events_per_second":
            arrived[len(arrived) + 1] = time.monotonic()
        return put(pending, event)

    put = PendingEvents.put
    monkeypatch.setattr(PendingEvents, "put", noting)  # notes the moment, and does the same
    page.start_run(plan_of(cpu(4)))

    def look() -> bool:
        lines = view_of(page).plots.plots["headline"].lines.values() if page.view else ()
        points = max((len(line.curve.xData) for line in lines if line.curve.xData is not None), default=0)
        for number in range(1, points + 1):
            drawn.setdefault(number, time.monotonic())
        return len(drawn) >= 3

    qtbot.waitUntil(look, timeout=PATIENCE)
    delays = [drawn[number] - arrived[number] for number in (1, 2, 3)]
    assert sorted(delays)[1] < 0.1, delays
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        page.stop()
