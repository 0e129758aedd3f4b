"""The window of rounds: a chart for each trial that was followed until it was steady, or a word where there is none."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.distributions.studies import StudyKind, missing_for
from app.events import RunEnded, RunStarted, State
from app.library_rows import LibraryRow
from app.services import Workstation
from tests.app import run_events
from tests.app.test_rounds import PARSED, STEP
from tests.messages import messages
from widgets import jobs
from widgets.library.run_actions import RunActions
from widgets.plots.studies import StudyPane

MESSAGES = messages("widgets", "test_rounds_window")

Keep = Callable[[QWidget], QWidget]

STEADY, OTHER = "20261120-141530-aaaa", "20261120-151530-bbbb"


def stored(workstation: Workstation) -> None:
    """Write down a run of six rounds, and one of no rounds after it."""
    events = [
        RunStarted(STEADY, run_events.plan(STEP), "2026-11-20T14:15:30+00:00"),
        *run_events.trial_events(run_events.trial(1, step="IOPS"), PARSED.figures, PARSED.samples),
        RunEnded(STEADY, State.DONE, "", {}),
    ]
    for run, found in (
        (STEADY, events),
        (OTHER, list(run_events.run_events(OTHER, started="2026-11-20T15:15:30+00:00"))),
    ):
        with workstation._store.recorder(run) as recorder:
            for event in found:
                recorder.record(event)


def test_the_rounds_of_a_run_are_drawn_and_exported(
    qtbot: QtBot, keep: Keep, workstation: Workstation, tmp_path: Path
) -> None:
    stored(workstation)
    pane = StudyPane(StudyKind.ROUNDS, workstation)
    keep(pane)
    pane.show_runs([STEADY])
    pane.show()
    qtbot.waitUntil(lambda: not jobs.running())
    assert [view.chart.title for view in pane.views if view.chart] == ["Rounds: trial 1"]
    pane.export_to(tmp_path / "rounds.png")
    qtbot.waitUntil(lambda: not jobs.running())
    assert (tmp_path / "rounds.png").read_bytes().startswith(b"\x89PNG")
    steady, other = (workstation.load(run) for run in (STEADY, OTHER))
    assert StudyKind.ROUNDS not in missing_for([steady])
    assert missing_for([other])[StudyKind.ROUNDS] == MESSAGES["needs_rounds"]


def test_a_run_of_which_no_trial_counts_is_not_offered_as_a_baseline(workstation: Workstation, keep: Keep) -> None:
    stored(workstation)
    owner = QPushButton()
    keep(owner)
    actions = RunActions(owner)
    good, other = workstation.library().rows
    failed = LibraryRow(replace(other.summary, state=State.FAILED, trials=0, headline=""))
    actions.show_chosen([good])
    assert actions.pin.isEnabled()
    for chosen in ([failed], [good, failed]):
        actions.show_chosen(chosen)
        assert not actions.pin.isEnabled()
        assert actions.pin.property("why") == MESSAGES["no_counted_trials"]
