"""Several runs at once in the real window, over a real sshd, one of which is cut and comes back."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.events import State
from app.services import Workstation
from tests.lab.machines import StartMachine
from tests.lab.test_queue import overlap, plan_on
from tests.messages import messages
from widgets import jobs
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.parts.dialogs import QuestionDialog
from widgets.run_strip import LineState

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_queue_window")


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation) -> Iterator[MainWindow]:
    made = MainWindow(workstation)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.closing.stop_and_close()
    qtbot.waitUntil(lambda: made.isHidden() and not jobs.running())
    made.deleteLater()


def live_of(window: MainWindow) -> LivePage:
    assert window.pages.live is not None
    return window.pages.live


@pytest.mark.slow
def test_runs_go_side_by_side_and_a_lost_connection_is_described(
    qtbot: QtBot, window: MainWindow, start_machine: StartMachine
) -> None:
    one = start_machine("one")
    start_machine("two")
    for plan in (plan_on("one", seconds=12), plan_on("two", seconds=6), plan_on("two", "one", name="both")):
        window.pages.run(plan, None)
    live = live_of(window)
    first, second, both = live.runs.controllers
    qtbot.waitUntil(lambda: first.model.current is not None and second.model.current is not None)
    assert not both.running
    assert both.line(0.0).state is LineState.WAITING
    assert MESSAGES["counts"] in window.windowTitle()

    live.show_run(first)
    qtbot.waitUntil(lambda: bool(first._jobs))
    one.stop()
    qtbot.waitUntil(lambda: "lost" in live._connection.message.text())
    assert live._connection.isVisible()
    assert live._connection.message.text() == MESSAGES["lost"]
    assert MESSAGES["job"] in live._connection.detail.text()
    assert live.view is not None
    assert live.view.bar.time.note.text() == MESSAGES["time"]
    one.start()
    qtbot.waitUntil(lambda: not first.model.links)

    window.close()
    question = next(found for found in window.findChildren(QuestionDialog) if found.isVisible())
    assert MESSAGES["queued"] in " ".join(label.text() for label in question.findChildren(QLabel))
    question.reject()
    qtbot.waitUntil(lambda: first.over and second.over and both.over)
    records = [window.workstation.load(run.model.run_id) for run in (first, second, both)]
    assert [record.summary.state for record in records] == [State.DONE] * 3
    assert overlap(records[0], records[1])
    assert not overlap(records[0], records[2])
