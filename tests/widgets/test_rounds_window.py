"""The window of rounds: a chart for each trial that was followed until it was steady, or a word where there is none."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.events import RunEnded, RunStarted, State
from app.library_rows import LibraryRow
from app.services import Workstation
from tests.app import run_events
from tests.app.test_rounds import PARSED, STEP
from tests.messages import messages
from widgets import jobs
from widgets.library.run_actions import RunActions
from widgets.parts.text import Text
from widgets.plots.studies import show_rounds

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
    owner = QPushButton()
    keep(owner)
    dialog = show_rounds(workstation, [STEADY], owner)
    qtbot.waitUntil(lambda: not jobs.running())
    assert [view.chart.title for view in dialog.views if view.chart] == ["Rounds: trial 1"]
    dialog.export_to(tmp_path / "rounds.png")
    qtbot.waitUntil(lambda: not jobs.running())
    assert (tmp_path / "rounds.png").read_bytes().startswith(b"\x89PNG")
    dialog.accept()
    none = show_rounds(workstation, [OTHER], owner)
    qtbot.waitUntil(lambda: not jobs.running())
    assert none.views == []
    assert any(MESSAGES["no_test_here_went_on_round"] in text.text() for text in none.findChildren(Text))
    none.accept()


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


def test_the_library_offers_it_among_the_studies(qtbot: QtBot, keep: Keep) -> None:
    owner = QPushButton()
    keep(owner)
    actions = RunActions(owner)
    assert actions.rounds in actions.studies.actions()
    with qtbot.waitSignal(actions.rounds.triggered):
        actions.rounds.setEnabled(True)
        actions.rounds.trigger()
