"""The page Investigations: entries are added, put in order and noted; nothing that was typed is lost."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QModelIndex, Qt
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem, QWidget
from pytestqt.qtbot import QtBot

from app.investigation import CONCLUSION, QUESTION, Investigation, text_entry
from app.paths import unstored_path
from app.services import Workstation
from suites.verdict import Trust
from tests.small_disk import fill, small_disk
from tests.widgets.library_runs import Made, record
from widgets import jobs
from widgets.investigations.add_dialog import EACH, AddDialog
from widgets.investigations.investigation_page import MIN_ENTRIES, InvestigationPage
from widgets.investigations.text_guard import UnstoredDialog
from widgets.investigations.text_storage import text_of
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.table import RowDelegate
from widgets.parts.text import Text, tool_tip

__all__ = ["small_disk"]
pytestmark = pytest.mark.usefixtures("idle")
Keep = Callable[[QWidget], QWidget]
FIRST = Made("20260101-000000-0001", trust=Trust.VALID)
SECOND = Made("20260102-000000-0002", trust=Trust.DOUBTFUL)
HOSTILE = "<b>bold</b><img src=x>"


@pytest.fixture
def found(workstation: Workstation) -> Investigation:
    record(workstation, FIRST, SECOND)
    made = workstation.begin_investigation("Upgrade", "Faster?")
    entries = [
        workstation.entry_of([FIRST.run_id], "before"), workstation.entry_of([FIRST.run_id, SECOND.run_id], "both"),
        text_entry("a text"),
    ]  # fmt: skip
    return workstation.change_investigation(made.id, lambda one: one.added(entries))[1]


@pytest.fixture
def window(keep: Keep, qtbot: QtBot, workstation: Workstation, found: Investigation) -> MainWindow:
    made = MainWindow(workstation)
    keep(made)
    made.show()
    settle(qtbot)
    return made


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow) -> InvestigationPage:
    shown = window.show_page(PageName.INVESTIGATIONS)
    assert isinstance(shown, InvestigationPage)
    shown.activated()
    settle(qtbot)
    return shown


def titles(page: InvestigationPage) -> list[str]:
    return [row.entry.note for row in page.entries.content.shown]


def test_results_and_verdicts_are_those_of_the_runs(page: InvestigationPage) -> None:
    rows = page.entries.content.shown
    assert [page.entries.columnSpan(at, 1) for at in range(3)] == [1, 1, 4]  # a text has no result beside it
    assert [row.verdict for row in rows] == ["valid", "doubtful", ""]
    assert rows[0].result is not None
    assert rows[0].result.headline.startswith("412")
    assert page.question.toPlainText() == "Faster?"


@pytest.mark.usefixtures("large_text")
def test_large_text_hides_no_verdict_and_no_entry(qtbot: QtBot, page: InvestigationPage) -> None:
    page.window().resize(1280, 800)
    table = page.entries
    line = table.verticalHeader().defaultSectionSize()
    qtbot.waitUntil(lambda: table.viewport().height() > (MIN_ENTRIES - 1) * line)
    shown = [column.name for at, column in enumerate(table.content.columns) if not table.isColumnHidden(at)]
    assert shown[:4] == ["No.", "Entry", "Result", "Verdict"]
    assert table.horizontalHeader().length() <= table.viewport().width()


def test_keys_and_a_drop_move_an_entry_and_undo_moves_it_back(
    qtbot: QtBot, page: InvestigationPage, workstation: Workstation, found: Investigation
) -> None:
    page.entries.selectRow(2)
    page.entries.setFocus()
    qtbot.keyClick(page.entries, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    settle(qtbot)
    assert titles(page) == ["before", "a text", "both"]
    row = page.entries.current()
    assert row is not None
    assert row.entry.note == "a text"
    page.entries.content.dropMimeData(QMimeData(), Qt.DropAction.MoveAction, 0, 0, QModelIndex())
    settle(qtbot)
    assert [one.note for one in workstation.investigation(found.id).entries] == ["a text", "before", "both"]
    page._undo.undo()
    settle(qtbot)
    page._undo.undo()
    settle(qtbot)
    assert titles(page) == ["before", "both", "a text"]


def test_an_entry_is_removed_and_restored(qtbot: QtBot, page: InvestigationPage) -> None:
    page.entries.selectRow(0)
    page.remove_button.click()
    settle(qtbot)
    assert titles(page) == ["both", "a text"]
    page._undo.undo()
    settle(qtbot)
    assert titles(page) == ["before", "both", "a text"]


def test_what_was_read_before_a_text_was_stored_does_not_replace_it(
    qtbot: QtBot,
    page: InvestigationPage,
    workstation: Workstation,
    found: Investigation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, go_on = threading.Event(), threading.Event()
    reading = workstation.investigations

    def slowly() -> Sequence[Investigation]:
        every = reading()
        read.set()
        assert go_on.wait(30)
        return every

    with monkeypatch.context() as patch:
        patch.setattr(workstation, "investigations", slowly)
        page.follow()
        qtbot.waitUntil(read.is_set)
    page.conclusion.setPlainText(HOSTILE)
    with qtbot.waitSignal(page.storage.stored):
        page.conclusion.save()
    shown: list[str] = []
    page.conclusion.document().contentsChanged.connect(lambda: shown.append(page.conclusion.toPlainText()))
    go_on.set()
    settle(qtbot)
    assert not shown
    assert workstation.investigation(found.id).conclusion == page.conclusion.toPlainText() == HOSTILE


def test_what_is_typed_is_stored_after_a_pause_as_plain_text(
    qtbot: QtBot, page: InvestigationPage, workstation: Workstation, found: Investigation
) -> None:
    page.conclusion.setFocus()
    qtbot.keyClicks(page.conclusion, HOSTILE)
    qtbot.waitUntil(lambda: workstation.investigation(found.id).conclusion == HOSTILE)
    settle(qtbot)
    assert page.conclusion.toPlainText() == HOSTILE
    page.entries.selectRow(0)
    page.note.setPlainText("first")
    page.entries.selectRow(1)
    assert page.note.toPlainText() == "both"
    settle(qtbot)
    assert workstation.investigation(found.id).entries[0].note == "first"


def test_closing_stores_what_was_typed_just_before(
    qtbot: QtBot, window: MainWindow, page: InvestigationPage, workstation: Workstation, found: Investigation
) -> None:
    qtbot.keyClicks(page.conclusion, "at the last moment")
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert workstation.investigation(found.id).conclusion == "at the last moment"


def asked(window: MainWindow) -> UnstoredDialog:
    """Return the question about texts that are not stored, once it is asked."""
    return next(one for one in window.findChildren(UnstoredDialog) if one.isVisible())


def close_and_wait(qtbot: QtBot, window: MainWindow) -> UnstoredDialog:
    window.close()
    qtbot.waitUntil(lambda: any(one.isVisible() for one in window.findChildren(UnstoredDialog)))
    settle(qtbot)
    return asked(window)


@pytest.mark.parametrize("small_disk", ["4m"], indirect=True)
def test_what_a_full_disk_cannot_store_is_shown_and_saved_elsewhere(
    qtbot: QtBot, keep: Keep, small_disk: Path, tmp_path: Path
) -> None:
    workstation = Workstation(small_disk / "runs.sqlite3", tmp_path / "hosts.toml")
    record(workstation, FIRST)
    made = workstation.begin_investigation("Upgrade", "Faster?")
    entries = [workstation.entry_of([FIRST.run_id], "before"), text_entry("a text")]
    workstation.change_investigation(made.id, lambda one: one.added(entries))
    window = MainWindow(workstation)
    keep(window)
    window.show()
    page = window.show_page(PageName.INVESTIGATIONS)
    assert isinstance(page, InvestigationPage)
    page.activated()
    settle(qtbot)
    ballast = fill(small_disk)
    note, conclusion = "n" * 60_000, "c" * 60_000
    page.entries.selectRow(0)
    page.note.setPlainText(note)
    page.entries.selectRow(1)
    page.conclusion.setPlainText(conclusion)
    dialog = close_and_wait(qtbot, window)
    assert note in dialog.view.toPlainText()
    assert conclusion in dialog.view.toPlainText()
    dialog.decline_button.click()
    assert window.isVisible()
    page.entries.selectRow(0)
    assert (page.note.toPlainText(), page.conclusion.toPlainText()) == (note, conclusion)
    window._typed.save(text_of(page.storage.unstored), tmp_path / "kept.txt")
    qtbot.waitUntil(lambda: not window.isVisible())
    assert note in (tmp_path / "kept.txt").read_text()
    assert conclusion in (tmp_path / "kept.txt").read_text()
    settle(qtbot)  # a job that began before there was room may still fail
    window.show()
    ballast.unlink()
    page.conclusion.setPlainText("short")
    window.close()  # with room again, the note is stored too
    qtbot.waitUntil(lambda: not window.isVisible())
    stored = workstation.investigation(made.id)
    assert (stored.entries[0].note, stored.conclusion) == (note, "short")
    workstation.close()


def test_a_locked_library_stores_the_text_as_soon_as_it_is_free(
    qtbot: QtBot, window: MainWindow, page: InvestigationPage, workstation: Workstation, found: Investigation
) -> None:
    window._typed._clock.setInterval(100)
    other = sqlite3.connect(workstation.library_path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    qtbot.keyClicks(page.conclusion, "typed")
    window.close()
    qtbot.waitUntil(lambda: bool(window.findChildren(UnstoredDialog)))
    assert window.isVisible()
    other.execute("ROLLBACK")
    other.close()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert workstation.investigation(found.id).conclusion == "typed"


def test_a_refused_text_is_asked_about_and_closing_without_it_keeps_the_other(
    qtbot: QtBot, window: MainWindow, page: InvestigationPage, workstation: Workstation, found: Investigation
) -> None:
    page.question.setPlainText("Ours?")
    workstation.change_investigation(found.id, lambda one: one.written(QUESTION, "Theirs?"))
    dialog = close_and_wait(qtbot, window)
    dialog.copy_button.click()
    assert "Ours?" in QApplication.clipboard().text()
    dialog.accept_button.click()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert workstation.investigation(found.id).question == "Theirs?"


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_signal_asks_nothing_and_leaves_a_refused_text_in_a_file(
    qtbot: QtBot,
    window: MainWindow,
    page: InvestigationPage,
    workstation: Workstation,
    found: Investigation,
    *,
    asked_before: bool,
) -> None:
    page.question.setPlainText("Ours?")
    workstation.change_investigation(found.id, lambda one: one.written(QUESTION, "Theirs?"))
    if asked_before:
        close_and_wait(qtbot, window)
    window.end()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert not any(one.isVisible() for one in window.findChildren(UnstoredDialog))
    (left,) = unstored_path().iterdir()
    assert "Ours?" in left.read_text()
    assert left.stat().st_mode & 0o077 == 0
    page.activated()
    settle(qtbot)
    assert str(left) in page.notice.text()
    left.unlink()


def test_two_windows_lose_nothing(
    qtbot: QtBot, page: InvestigationPage, workstation: Workstation, found: Investigation, tmp_path: Path
) -> None:
    other = Workstation(workstation.library_path, tmp_path / "other.toml")
    page.question.setPlainText("Ours?")
    other.change_investigation(found.id, lambda one: one.written(QUESTION, "Theirs?").written(CONCLUSION, "Theirs."))
    page.question.save()
    settle(qtbot)
    assert page.question.toPlainText() == "Ours?"
    assert "Theirs?" in page.notice._remedy.text()
    assert other.investigation(found.id).question == "Theirs?"
    qtbot.keyClicks(page.question, "!")
    page.flush()
    settle(qtbot)
    page.follow()
    settle(qtbot)
    assert "Ours?" in other.investigation(found.id).question
    assert page.conclusion.toPlainText() == "Theirs."
    other.close()


def test_runs_are_added_from_the_library(qtbot: QtBot, window: MainWindow, workstation: Workstation) -> None:
    library = window.show_page(PageName.LIBRARY)
    assert isinstance(library, LibraryPage)
    settle(qtbot)
    library.table.selectAll()
    library.actions_of_runs.investigate.trigger()
    settle(qtbot)
    dialog = next(one for one in QApplication.topLevelWidgets() if isinstance(one, AddDialog))
    assert dialog.known.currentText() == "Upgrade"
    dialog.known.setCurrentIndex(1)
    assert not dialog.accept_button.isEnabled()
    assert dialog.way.currentText() == EACH
    dialog.name.setText("Another")
    dialog.accept_button.click()
    settle(qtbot)
    assert [entry.runs for entry in workstation.investigation("Another").entries] == [
        (FIRST.run_id,), (SECOND.run_id,),
    ]  # fmt: skip
    window.undo.undo()
    settle(qtbot)
    assert workstation.investigation("Another").entries == ()


def test_a_note_that_cannot_be_added_is_shown(qtbot: QtBot, window: MainWindow, workstation: Workstation) -> None:
    window.pages.investigate([FIRST.run_id])
    settle(qtbot)
    (dialog,) = (one for one in QApplication.topLevelWidgets() if isinstance(one, AddDialog) and one.isVisible())
    workstation.delete_investigation("Upgrade")
    dialog.note.setText("zq note")
    dialog.accept_button.click()
    settle(qtbot)
    (shown,) = (one for one in window.findChildren(QuestionDialog) if one.isVisible())
    assert any("zq note" in one.text() for one in shown.findChildren(Text))


def test_a_deleted_run_says_so(qtbot: QtBot, page: InvestigationPage, workstation: Workstation) -> None:
    with workstation._store.database.writing() as connection:  # as in a library that lacks the run
        connection.exec_driver_sql("DELETE FROM runs WHERE id = ?", (FIRST.run_id,))
    page.activated()
    settle(qtbot)
    first = page.entries.content.shown[0].result
    assert first is not None
    assert first.headline == f"Run deleted: {FIRST.run_id}."


def test_a_malformed_investigation_is_named_beside_the_others(
    qtbot: QtBot, page: InvestigationPage, workstation: Workstation
) -> None:
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql("INSERT INTO investigations VALUES ('x', 'Broken', '2026', '[]')")
    page.follow()
    settle(qtbot)
    assert [one.name for one in page.list.content.shown] == ["Upgrade"]
    assert page.notice.isVisible()
    assert "Broken" in page.notice.text()


def test_a_report_is_written(qtbot: QtBot, page: InvestigationPage, tmp_path: Path) -> None:
    page.conclusion.setPlainText("Not stored yet.")
    page.write(tmp_path / "r.md")
    settle(qtbot)
    text = (tmp_path / "r.md").read_text()
    assert "Not stored yet." in text
    assert FIRST.host not in text
    assert page.report_button.isEnabled()


def test_titles_are_elided_in_the_middle_and_whole_in_their_tips(page: InvestigationPage) -> None:
    def elided(row: int, column: int) -> Qt.TextElideMode:
        option, delegate = QStyleOptionViewItem(), page.entries.itemDelegate()
        assert isinstance(delegate, RowDelegate)
        page.entries.initViewItemOption(option)
        delegate.initStyleOption(option, page.entries.content.index(row, column))
        return option.textElideMode

    rows = page.entries.content.shown
    assert [elided(row, 1) is Qt.TextElideMode.ElideMiddle for row in range(3)] == [True, True, False]
    assert elided(1, 2) is not Qt.TextElideMode.ElideMiddle
    assert page.entries.content.index(1, 1).data(Qt.ItemDataRole.ToolTipRole) == tool_tip(rows[1].title)
