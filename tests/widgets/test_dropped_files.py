"""Files dropped on the window open in the wizard; others are named."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, make_step
from app.services import Workstation
from tests.messages import messages
from tests.widgets.library_runs import Made, record
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage
from widgets.page import PageName
from widgets.parts.dialogs import QuestionDialog
from widgets.wizard.measure_page import PARAMETERS, REVIEW, MeasurePage

pytestmark = pytest.mark.usefixtures("idle")
MESSAGES = messages("widgets", "test_dropped_files")
Keep = Callable[[QWidget], QWidget]


@pytest.fixture
def window(keep: Keep, qtbot: QtBot, workstation: Workstation) -> MainWindow:
    made = MainWindow(workstation)
    keep(made)
    made.show()
    qtbot.waitUntil(lambda: not jobs.running())
    return made


def drop(qtbot: QtBot, window: MainWindow, *paths: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    rest = (mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entered = QDragEnterEvent(window.rect().center(), Qt.DropAction.CopyAction, *rest)
    QApplication.sendEvent(window, entered)
    assert entered.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, *rest))
    qtbot.waitUntil(lambda: not jobs.running())


def wizard(window: MainWindow) -> MeasurePage:
    page = window.pages.existing(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    return page


def message(window: MainWindow) -> str:
    """Return what the bar shows; there is no dialog."""
    assert not [each for each in window.findChildren(QuestionDialog) if each.isVisible()]
    return window.library_bar.text() if window.library_bar.isVisible() else ""


def test_a_job_file_opens_as_a_test(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "mixed.FIO"
    path.write_text("[one]\nrw=randread\nsize=1m\n")
    drop(qtbot, window, path)
    page = wizard(window)
    assert page.current == PARAMETERS
    (step,) = page.draft.steps
    assert (step.name, step.suite.id, page.draft.hosts) == ("mixed", "fio-job", [LOCAL])
    assert step.form.values()["job"] == path.read_text()


def question(window: MainWindow) -> QuestionDialog:
    (found,) = [each for each in window.findChildren(QuestionDialog) if each.isVisible()]
    return found


def test_html_is_judged_unless_it_has_a_library(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text("<html><body><p>hello</p></body></html>")
    drop(qtbot, window, path)
    page = window.pages.existing(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    assert [row.file.source.name for row in page.table.content.rows] == ["page.html"]
    assert message(window) == ""
    damaged = '<a id="benchwright-library" href="data:application/gzip;base64,AAAA">'
    path.write_text(f"<html><title>Benchwright</title><body>{damaged}</body></html>")
    drop(qtbot, window, path)
    assert "page.html" in message(window)


def test_the_runs_of_a_dropped_library_are_imported_after_consent(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    other = Workstation(tmp_path / "other.sqlite3")
    (run,) = record(other, Made("20260101-000000-0000", iops=(1000.0, 1010.0), samples=2))
    other.close()
    drop(qtbot, window, other.library_path)
    assert "Import" in question(window).accept_button.text()
    qtbot.keyClick(question(window), Qt.Key.Key_Return)  # Enter declines
    qtbot.waitUntil(lambda: not jobs.running())
    assert workstation.runs() == []
    drop(qtbot, window, other.library_path)
    question(window).accept_button.click()
    qtbot.waitUntil(lambda: [one.id for one in workstation.runs()] == [run])
    qtbot.waitUntil(lambda: not jobs.running())
    assert window.library_bar.isVisible()
    assert "1 run" in window.library_bar.text()
    drop(qtbot, window, other.library_path)
    (open_instead,) = [each for each in question(window).findChildren(QPushButton) if each.text().startswith("Open")]
    open_instead.click()
    qtbot.waitUntil(lambda: workstation.library_path == other.library_path)


def test_an_export_to_a_library_file_can_be_cancelled(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    made = (Made(f"2026010{day}-000000-0000", iops=(1000.0, 1010.0), samples=2) for day in range(1, 4))
    runs, bar = record(workstation, *made), window.library_bar
    window.write_library(runs, tmp_path / "part.sqlite3")
    bar.cancel_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    assert "cancelled" in bar.text()
    assert list(tmp_path.glob("part*")) == []
    window.write_library(runs, tmp_path / "whole.sqlite3")
    qtbot.waitUntil(lambda: "whole.sqlite3" in bar.text())
    assert "3 runs" in bar.text()
    assert len(workstation.runs_to_import(tmp_path / "whole.sqlite3")) == 3


def test_the_bar_about_a_bad_library_goes_when_it_is_closed_or_another_one_opens(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    bad, bar = tmp_path / "bad.sqlite3", window.library_bar
    bad.write_bytes(b"no library" * 100)
    drop(qtbot, window, bad)
    assert bar.isVisible()
    assert "bad.sqlite3" in bar.text()
    bar.close_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not bar.isVisible()
    drop(qtbot, window, bad)
    assert bar.isVisible()
    bar.open_library(tmp_path / "new.sqlite3")
    qtbot.waitUntil(lambda: not jobs.running())
    assert not bar.isVisible()


def test_a_refusal_because_of_a_run_goes_with_the_run(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    bar = window.library_bar
    bar.is_measuring = lambda: True
    bar.open_library(tmp_path / "new.sqlite3")
    qtbot.waitUntil(lambda: not jobs.running())
    assert bar.isVisible()
    bar.is_measuring = lambda: False
    window.run_ended()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not bar.isVisible()


def test_a_plan_opens_and_other_files_are_named(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    plan = Plan("dropped", (LOCAL,), (make_step("dd", {}),))
    workstation.save_plan(plan, tmp_path / "a.toml")
    drop(qtbot, window, tmp_path / "notes.txt")
    judged = window.pages.existing(PageName.JUDGE)
    assert isinstance(judged, JudgePage)
    assert [row.file.source.name for row in judged.table.content.rows] == ["notes.txt"]
    drop(qtbot, window, tmp_path / "notes.txt", tmp_path / "a.toml", tmp_path / "b.toml")
    assert "notes.txt, b.toml" in message(window)
    page = wizard(window)
    assert (page.current, page.draft.plan()) == (REVIEW, plan)


def test_what_could_not_be_opened_is_shown_until_the_next_drop(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    empty, malformed = tmp_path / "empty.sqlite3", tmp_path / "malformed.toml"
    empty.touch()
    malformed.write_text("name = ")
    drop(qtbot, window, empty)
    assert MESSAGES["empty"] in message(window)
    assert "damaged" not in message(window)
    drop(qtbot, window, malformed)
    assert message(window) == ""
    assert "malformed.toml" in wizard(window).notice.text()
    workstation.save_plan(Plan("dropped", (LOCAL,), (make_step("dd", {}),)), malformed)
    drop(qtbot, window, malformed)
    assert wizard(window).notice.isHidden()
