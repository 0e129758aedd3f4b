"""An issue of a stored run is acknowledged in its line, and withdrawn there; the library stores it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import FindingRaised
from app.plans.plan_remarks import Acknowledged
from app.questions import RefusingAsker
from app.services import Workstation
from suites.verdict import Trust
from tests.widgets.library_runs import DISK, FINDING, Made, events, record, recorder
from widgets import jobs
from widgets.library.library_page import LibraryPage
from widgets.parts.issue_line import IssueLine

pytestmark = pytest.mark.usefixtures("idle")

RUN = "20260112-081502-a1b2"
OTHER = "20260111-081502-a1b2"
REASON = "three are all there is time for"


@pytest.fixture
def page(qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation) -> LibraryPage:
    record(workstation, *(Made(run, (412e3, 409e3, 415e3), trust=Trust.DOUBTFUL) for run in (OTHER, RUN)))
    page = LibraryPage(workstation, RefusingAsker())
    for widget in (page,):
        keep(widget)
        widget.show()
    page.activated()
    settle(qtbot)
    page.issues.set_folded(folded=False)
    return page


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def line(page: LibraryPage) -> IssueLine:
    (found,) = page.issues.lines
    return found


def acknowledge(qtbot: QtBot, page: LibraryPage) -> None:
    asked = line(page)
    qtbot.mouseClick(asked.buttons["acknowledge"], Qt.MouseButton.LeftButton)
    qtbot.keyClicks(asked.reason_field, REASON)
    with qtbot.waitSignal(page.status, check_params_cb=lambda shown: shown == f"Acknowledged: {FINDING.title}"):
        qtbot.keyClick(asked.reason_field, Qt.Key.Key_Return)
    settle(qtbot)


def test_the_reason_is_kept_with_the_run_and_nothing_else_changes(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    before, table = workstation.load(RUN), page.panel.figures.content.rowCount()
    shown = [name for name, button in line(page).buttons.items() if button.isVisible()]
    assert shown == ["acknowledge"]  # nothing is changed or installed for a run that is over
    acknowledge(qtbot, page)
    assert line(page).issue.reason == REASON
    assert "1 acknowledged" in page.issues.counts.text
    after = workstation.load(RUN)
    assert after.plan.acknowledged == (Acknowledged("interval", REASON, DISK),)
    assert (after.plan_hash, after.verdicts) == (before.plan_hash, before.verdicts)
    assert page.panel.figures.content.rowCount() == table
    assert workstation.load(OTHER).plan.acknowledged == ()


def test_it_is_withdrawn_in_the_same_line(qtbot: QtBot, page: LibraryPage, workstation: Workstation) -> None:
    acknowledge(qtbot, page)
    assert line(page).buttons["acknowledge"].text() == "Withdraw"
    qtbot.mouseClick(line(page).buttons["acknowledge"], Qt.MouseButton.LeftButton)
    settle(qtbot)
    assert line(page).issue.reason == ""
    assert workstation.load(RUN).plan.acknowledged == ()


def test_an_issue_of_several_steps_is_acknowledged_and_withdrawn_in_each(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    run = "20260113-081502-a1b2"
    made = Made(run, (412e3, 409e3, 415e3), cpu=(1e3, 1.1e3))
    busy = replace(FINDING, id="other-process", title="Another process used the CPU", host="web-1")
    with recorder(workstation, made) as writing:
        for event in (*events(made), *(FindingRaised(replace(busy, step=step)) for step in (DISK, "cpu"))):
            writing.record(event)
    page.show_run(run)
    settle(qtbot)
    qtbot.waitUntil(partial(_is_open, page, run))

    def shared() -> IssueLine:
        (found,) = [each for each in page.issues.lines if each.issue.first.id == busy.id]
        return found

    assert shared().issue.scope == "web-1 · 2 steps"
    shared().reason_field.setText(REASON)
    shared()._give_reason()
    settle(qtbot)
    assert shared().issue.reason == REASON
    assert {one.step for one in workstation.load(run).plan.acknowledged} == {DISK, "cpu"}
    for _ in range(2):
        qtbot.mouseClick(shared().buttons["acknowledge"], Qt.MouseButton.LeftButton)
        settle(qtbot)
        assert shared().issue.reason == ""
        assert workstation.load(run).plan.acknowledged == ()
        for_all = [Acknowledged(busy.id, REASON)]  # as the command line writes it
        page.panel.show_remarks(run, workstation.acknowledge(run, for_all).plan)


def _is_open(page: LibraryPage, run: str) -> bool:
    return page.panel.opened is not None and page.panel.opened.record.summary.id == run


def test_it_stands_there_when_the_run_is_looked_at_again(qtbot: QtBot, page: LibraryPage) -> None:
    acknowledge(qtbot, page)
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    assert line(page).issue.reason == REASON
    for run, reason in ((OTHER, ""), (RUN, REASON)):
        page.show_run(run)
        settle(qtbot)
        qtbot.waitUntil(partial(_is_open, page, run))
        assert line(page).issue.reason == reason


def test_what_comes_late_is_not_shown_beside_another_run(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    answered = workstation.acknowledge(OTHER, [Acknowledged("interval", REASON, DISK)])
    page.panel.show_remarks(OTHER, answered.plan)
    assert line(page).issue.reason == ""


def test_a_run_that_is_gone_is_said_and_the_line_stays(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    workstation.delete(RUN)
    line(page).acknowledge_requested.emit((FINDING,), REASON)
    settle(qtbot)
    assert "There is no run" in page.notice.text()
    assert line(page).issue.reason == ""
