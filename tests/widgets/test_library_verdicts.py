"""The verdict column tells of runs that were never judged, too: read in the background, the newest first."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import State
from app.questions import RefusingAsker
from app.records import RunSummary
from app.services import Workstation
from suites.verdict import NOT_JUDGED
from tests.widgets.library_runs import Made, record
from widgets import jobs
from widgets.library.library_page import LibraryPage
from widgets.library.run_reader import VerdictReader

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]

OLD, NEW = "20260112-081502-a1b2", "20260113-141230-e5f6"


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def _verdicts(page: LibraryPage) -> dict[str, str]:
    return {row.id: row.summary.trust for row in page.library.rows}


def test_runs_that_were_never_judged_are_judged_while_the_library_is_shown(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    record(workstation, Made(OLD), Made(NEW))
    stored = Path(workstation.library_path).read_bytes()
    page = LibraryPage(workstation, RefusingAsker())
    keep(page)
    page.show()
    page.activated()
    _settle(qtbot)
    found = _verdicts(page)
    assert found == {run: workstation.load(run).summary.trust for run in (OLD, NEW)}
    assert all(found.values())
    assert Path(workstation.library_path).read_bytes() == stored, "a verdict that is read is not stored"
    page.refresh()
    _settle(qtbot)
    assert _verdicts(page) == found


def test_a_library_that_nobody_looks_at_judges_nothing(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    record(workstation, Made(OLD))
    page = LibraryPage(workstation, RefusingAsker())
    keep(page)
    page.refresh()
    qtbot.waitUntil(lambda: len(page.table.content.rows) == 1)
    assert _verdicts(page) == {OLD: ""}
    column = page.table.lines.names.index("verdict")
    assert page.table.lines.index(0, column).data() == NOT_JUDGED


def test_the_newest_is_judged_first_and_nothing_while_something_is_measured(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    record(workstation, Made(OLD), Made(NEW))
    owner = keep(QWidget())
    reader, reported = VerdictReader(workstation, owner), list[RunSummary]()
    reader.computed.connect(reported.append)
    runs = workstation.runs()
    measured = replace(runs[0], id="20260114-081502-i9j0", state=State.RUNNING)
    reader.read([*runs, measured])
    assert not jobs.running()
    reader.read([*reversed(runs), replace(measured, detached=True)])
    _settle(qtbot)
    assert [run.id for run in reported] == [NEW, OLD]
    reader.read(runs)
    assert not jobs.running(), "each is tried once"


def test_a_run_that_cannot_be_read_is_left_alone(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    record(workstation, Made(OLD), Made(NEW))
    runs = workstation.runs()
    workstation.delete(NEW)
    reader, reported = VerdictReader(workstation, keep(QWidget())), list[RunSummary]()
    reader.computed.connect(reported.append)
    reader.read(runs)
    _settle(qtbot)
    assert [run.id for run in reported] == [OLD]
