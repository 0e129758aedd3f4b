"""The library page on a real store: found, looked at, pinned, compared, repeated, deleted, by mouse and by keys."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.events import RunStarted
from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.services import Workstation
from suites.verdict import Trust, Verdict
from tests.messages import messages
from tests.widgets.library_runs import DISK, STEADY, Made, copied_library, plan_of, record
from widgets import jobs
from widgets.compare.compare_table import VALUE
from widgets.library.library_page import LibraryPage
from widgets.library.run_dialogs import DeleteQuestion, LockDialog, PinDialog
from widgets.live.log_view import LINE_LIMIT
from widgets.parts.actions import ActionButton
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.text import Text

MESSAGES = messages("widgets-library", "test_library_page")

pytestmark = pytest.mark.usefixtures("idle")

Dialog = TypeVar("Dialog", bound=QDialog)
Keep = Callable[[QWidget], QWidget]

NEWEST = "20260114-123456-o5p6"
BEFORE, AFTER, FAILED, STOPPED = (
    "20260112-081502-a1b2", "20260113-141230-e5f6", "20260114-101500-k1l2", "20260114-112233-m3n4",
)  # fmt: skip


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def _made(qtbot: QtBot, keep: Keep, workstation: Workstation) -> LibraryPage:
    page = LibraryPage(workstation, RefusingAsker())
    for widget in (page,):
        if widget is not None:
            keep(widget)
            widget.show()
    page.resize(760, 700)
    page.activateWindow()
    page.activated()
    _settle(qtbot)
    return page


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, workstation: Workstation) -> Iterator[LibraryPage]:
    """Return the page with a library of every kind of run, the newest opened."""
    copied_library(workstation)
    made = _made(qtbot, keep, workstation)
    yield made
    _settle(qtbot)


@pytest.fixture
def empty(qtbot: QtBot, keep: Keep, workstation: Workstation) -> LibraryPage:
    """Return the page of an empty library."""
    return _made(qtbot, keep, workstation)


def _open(page: LibraryPage, kind: type[Dialog]) -> Dialog:
    return next(found for found in page.findChildren(kind) if found.isVisible())


def _press(qtbot: QtBot, page: LibraryPage, button: str) -> None:
    found = next(each for each in page.findChildren(ActionButton) if each.text() == button and each.isVisible())
    qtbot.mouseClick(found, Qt.MouseButton.LeftButton)


def _select(qtbot: QtBot, page: LibraryPage, *run_ids: str) -> None:
    page.table.select(*run_ids)
    page.table.settle()
    _settle(qtbot)


def _filter(qtbot: QtBot, page: LibraryPage, text: str) -> None:
    """Show what matches a filter, as chips."""
    page.search.setText(text)
    qtbot.keyClick(page.search, Qt.Key.Key_Return)
    _settle(qtbot)


def _opened(page: LibraryPage) -> str:
    assert page.panel.opened is not None
    return page.panel.opened.record.summary.id


def test_an_empty_library_says_what_it_is_for_and_offers_the_next_step(qtbot: QtBot, empty: LibraryPage) -> None:
    assert empty.empty.isVisible()
    assert empty.empty.button is not None
    with qtbot.waitSignal(empty.quick_requested) as asked:
        qtbot.mouseClick(empty.empty.button, Qt.MouseButton.LeftButton)
    assert asked.args == [LOCAL]
    other = next(each for each in empty.empty.findChildren(type(empty.empty.button)) if each.text() == "New test")
    with qtbot.waitSignal(empty.measure_requested):
        qtbot.mouseClick(other, Qt.MouseButton.LeftButton)


def test_the_newest_run_stands_on_top_and_is_open(page: LibraryPage) -> None:
    assert page.table.lines.matched[0].id == NEWEST == _opened(page)
    assert page.panel.head.name.text() == "quick benchmark of local"
    assert page.panel.head.state.text() == "done · valid"
    assert page.panel.figures.isVisible()
    assert page.issues.isVisible()
    assert 0 <= page.table.height() - page.table.whole_height() < 8, "few runs leave their preview the room"


def test_runs_are_found_while_typing(qtbot: QtBot, page: LibraryPage) -> None:
    page.search.setFocus()
    qtbot.keyClicks(page.search, "web-2")
    qtbot.waitUntil(lambda: len(page.table.lines.matched) == 1)
    assert [line.summary.hosts for line in page.table.lines.matched] == [("web-2",)]
    page.table.settle()
    _settle(qtbot)
    assert _opened(page) == page.table.lines.matched[0].id
    qtbot.keyClick(page.search, Qt.Key.Key_Escape)
    assert len(page.table.lines.matched) == 8


def test_a_search_that_finds_nothing_says_so_and_shows_no_run(qtbot: QtBot, page: LibraryPage) -> None:
    with qtbot.waitSignal(page.status) as reported:
        page.search.setText("<b>db-7")
    assert reported.args == ["0 of 8 runs"]
    assert not page.panel.isVisible()
    assert page.export() is False


@pytest.mark.slow
def test_differences_of_more_runs_than_are_compared_are_all_listed(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    runs = [Made(f"202603{day:02d}-080000-many", STEADY, host=f"web-{day}") for day in range(1, 31)]
    record(workstation, *runs)
    page.refresh()
    _settle(qtbot)
    _select(qtbot, page, *(run.run_id for run in runs))
    assert page.comparison.runs.text().endswith("and 22 more")
    differences = page.comparison.differences
    (line,) = differences.content.shown
    assert line.texts == tuple(f"web-{day}" for day in range(1, 31))
    assert differences.horizontalScrollBar().maximum() > 0
    assert differences.columnWidth(0) >= differences.sizeHintForColumn(0)


def test_the_comparison_has_most_of_the_height_of_a_low_preview(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, BEFORE, AFTER, "20260114-090120-i9j0")
    differences, tabs = page.comparison.differences, page.comparison.tabs

    def shares(height: int) -> bool:
        most = max(differences.whole_height(1), 0.35 * tabs.height())
        return page.comparison.height() == height and differences.maximumHeight() <= most

    for height in (500, 260):
        page.comparison.setFixedHeight(height)
        qtbot.waitUntil(partial(shares, height))
    assert differences.maximumHeight() < differences.whole_height(4)


def test_a_comparison_in_place_shows_the_baseline(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, AFTER, BEFORE, "20260114-090120-i9j0")
    qtbot.waitUntil(page.comparison.table.isVisible)
    _settle(qtbot)
    table = page.comparison.table
    baseline = table.visualRect(table.content.index(1, VALUE))
    assert table.viewport().rect().contains(baseline)


def test_two_selected_runs_are_compared_with_the_pinned_one_as_baseline(qtbot: QtBot, page: LibraryPage) -> None:
    assert not page.actions_of_runs.compare.isEnabled()
    _select(qtbot, page, AFTER, BEFORE)
    assert page.comparison.isVisible()
    assert not page.panel.isVisible()
    qtbot.waitUntil(page.comparison.table.isVisible)
    assert [line.name for line in page.comparison.differences.content.shown] == ["Kernel"]
    assert page.comparison.compared is not None
    assert [run.id for run in page.comparison.compared.comparison.runs] == [BEFORE, AFTER]
    with qtbot.waitSignal(page.compare_requested) as asked:
        qtbot.mouseClick(page.comparison.buttons[page.actions_of_runs.compare], Qt.MouseButton.LeftButton)
    assert asked.args == [[BEFORE, AFTER]]


def test_a_run_is_pinned_under_its_own_name_unless_told_otherwise(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    _select(qtbot, page, AFTER)
    _press(qtbot, page, "Pin as baseline…")
    dialog = _open(page, PinDialog)
    assert dialog.name.text() == "after the kernel update"
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    _settle(qtbot)
    assert workstation.load("after the kernel update").summary.id == AFTER
    line = page.table.run
    assert line is not None
    assert (line.id, line.summary.baseline) == (AFTER, "after the kernel update")


def test_an_invalid_run_is_pinned_after_a_question_only(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = workstation.load(AFTER)
    step, host = whole.plan.steps[0].name, whole.plan.hosts[0]
    invalid = replace(whole, verdicts=(Verdict(Trust.INVALID, None, "Invalid.", (), step, host),))
    monkeypatch.setattr("app.baselines.baselines.choose", lambda _load, _word: (invalid,))
    _select(qtbot, page, AFTER)
    for answer in (False, True):
        page.actions_of_runs.pin.trigger()
        qtbot.keyClick(_open(page, PinDialog).name, Qt.Key.Key_Return)
        _settle(qtbot)
        question = next(one for one in page.findChildren(QuestionDialog) if one.isVisible())
        assert question.accept_button.text() == "Pin anyway"
        (question.accept_button if answer else question.decline_button).click()
        _settle(qtbot)
        assert bool(workstation.load(AFTER).summary.baseline) is answer


def test_a_name_that_is_taken_or_none_is_told_before_it_is_given(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, AFTER)
    page.actions_of_runs.pin.trigger()
    dialog = _open(page, PinDialog)
    dialog.name.setText("before the update")
    qtbot.waitUntil(lambda: "becomes version 2" in dialog.message.label.text())
    assert dialog.accept_button.isEnabled()
    for wrong in ("", "   ", "last"):
        dialog.name.setText(wrong)
        assert not dialog.accept_button.isEnabled()
    dialog.reject()


def test_a_baseline_is_unpinned_and_its_run_stays(qtbot: QtBot, page: LibraryPage, workstation: Workstation) -> None:
    _select(qtbot, page, BEFORE)
    _press(qtbot, page, "Unpin")
    _settle(qtbot)
    assert workstation.load(BEFORE).summary.baseline is None
    assert not page.actions_of_runs.unpin.isVisible()


@pytest.mark.parametrize("by_key", [True, False])
def test_what_is_deleted_is_undone_with_a_key(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation, *, by_key: bool
) -> None:
    _select(qtbot, page, FAILED, STOPPED)
    if by_key:
        page.table.setFocus()
        qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    else:
        qtbot.mouseClick(page.comparison.buttons[page.actions_of_runs.delete], Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert {FAILED, STOPPED} & {run.id for run in workstation.runs()} == set()
    assert page.table.run is not None
    assert page.table.run.id not in {FAILED, STOPPED}
    assert "2 runs" in page.undo_bar.text.text()
    assert page.undo_bar.undo_button.isVisible()
    qtbot.keyClick(page.table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    _settle(qtbot)
    assert len(page.table.lines.matched) == len(workstation.runs()) == 8


def test_what_is_in_the_bin_is_deleted_for_good_or_restored(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    _select(qtbot, page, BEFORE, AFTER)
    page.actions_of_runs.delete.trigger()
    _settle(qtbot)
    _filter(qtbot, page, "bin:yes")
    assert {row.id for row in page.table.lines.matched} == {BEFORE, AFTER}
    _select(qtbot, page, BEFORE)
    page.actions_of_runs.erase.trigger()
    question = _open(page, DeleteQuestion)
    assert any("before the update" in text.text() for text in question.findChildren(Text))
    qtbot.keyClick(question, Qt.Key.Key_Return)
    _settle(qtbot)
    assert workstation.load(BEFORE).summary.id == BEFORE
    assert not question.accept_button.isEnabled()
    workstation.unpin("before the update")
    page.refresh()
    _settle(qtbot)
    page.actions_of_runs.erase.trigger()
    qtbot.mouseClick(_open(page, DeleteQuestion).accept_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    _select(qtbot, page, AFTER)
    page.actions_of_runs.restore.trigger()
    _settle(qtbot)
    assert not page.table.lines.matched
    assert BEFORE not in {run.id for run in workstation.runs()}
    assert AFTER in {run.id for run in workstation.runs()}


def test_locked_runs_are_marked_and_deleted_only_after_unlocking(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    _select(qtbot, page, BEFORE, AFTER)
    workstation.unpin("before the update")
    page.refresh()
    _settle(qtbot)
    assert not page.actions_of_runs.unlock.isEnabled()
    page.actions_of_runs.lock.trigger()
    dialog = _open(page, LockDialog)
    assert not dialog.accept_button.isEnabled()  # as on the command line, a lock needs a reason
    dialog.field.setText("shown to the vendor")
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert {row.lock for row in page._chosen()} == {"shown to the vendor"}
    assert not page.actions_of_runs.delete.isEnabled()
    assert not page.actions_of_runs.lock.isVisible()
    _select(qtbot, page, AFTER)
    assert page.panel.head.lock.isVisible()
    assert "Locked: shown to the vendor" in page.panel.head.lock.toolTip()
    page.actions_of_runs.unlock.trigger()
    _settle(qtbot)
    assert page.panel.head.lock.isHidden()
    name = page.table.lines.names.index("name")
    marks = {
        row: page.table.lines.index(page.table.row_of(row), name).data(Qt.ItemDataRole.DecorationRole)
        for row in (BEFORE, AFTER)
    }
    assert marks[BEFORE] is not None
    assert marks[AFTER] is None
    _select(qtbot, page, AFTER, BEFORE)
    page.actions_of_runs.erase.trigger()
    question = _open(page, DeleteQuestion)
    assert not question.accept_button.isEnabled()
    shown = [text.text() for text in question.findChildren(Text) if "Locked:" in text.text()]
    assert len(shown) == 1
    assert "shown to the vendor" in shown[0]
    button = next(each for each in question.findChildren(QPushButton) if each.text() == "Unlock 1 run")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    qtbot.mouseClick(_open(page, DeleteQuestion).accept_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert {BEFORE, AFTER}.isdisjoint(run.id for run in workstation.runs())


def test_a_run_under_way_cannot_be_deleted(qtbot: QtBot, page: LibraryPage, workstation: Workstation) -> None:
    made = Made("20260115-080000-live")
    with workstation._store.recorder(made.run_id) as recorder:
        recorder.record(RunStarted(made.run_id, plan_of(made), made.started.isoformat()))
        page.show_run(made.run_id)
        _settle(qtbot)
        assert page.table.current() is not None
        assert not page.actions_of_runs.delete.isEnabled()


def test_repeating_opens_the_very_plan(qtbot: QtBot, page: LibraryPage, workstation: Workstation) -> None:
    _select(qtbot, page, AFTER)
    plan = workstation.load(AFTER).plan
    with qtbot.waitSignal(page.again_requested) as asked:
        _press(qtbot, page, "Run again")
    assert asked.args == [plan]
    with qtbot.waitSignal(page.repeat_requested) as asked:
        page.actions_of_runs.edit_plan.trigger()
    assert asked.args == [plan]


def test_exporting_hands_over_the_selected_runs_the_baseline_first(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, AFTER, BEFORE)
    with qtbot.waitSignal(page.export_requested) as asked:
        assert page.export() is True
    assert asked.args == [[BEFORE, AFTER], f"{BEFORE}-and-1-more"]


def test_a_failed_run_says_why_and_has_no_figures(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, FAILED)
    assert "No space left" in page.panel.head.reason.label.text()
    assert not page.panel.figures.isVisible()


def test_what_the_run_changed_on_its_host_is_told(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, BEFORE)
    page.panel.tabs.setCurrentWidget(page.panel.facts)
    _heads, *changes = page.panel.facts.table.content.texts()
    assert changes == [["System · Load, 1 minute", "0.1", "1.9"]]
    assert page.panel.facts.facts.facts is not None


def test_plots_follow_the_chosen_figure_and_explain_it_on_the_side(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, BEFORE)
    assert page.panel.run_view is None
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    view = page.panel.run_view
    assert view is not None
    assert view.view.step_key == (DISK, "web-1")
    page.panel.show_step_key(("cpu", "web-1"))
    assert view.view.step_key == ("cpu", "web-1")
    assert view.view.commands.toPlainText().startswith("sysbench")


def test_raw_output_is_read_on_demand_and_bounded(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    noisy = b"x" * 100_000 + b"\n\x1b[31m<b>red</b>\n"
    record(workstation, Made("20260112-081502-a1b2", iops=(1000.0,), output=noisy))
    page = _made(qtbot, keep, workstation)
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    view = page.panel.run_view
    assert view is not None
    assert view.view.log.toPlainText() == ""
    view.view.tabs.open_tab(view.view.log)
    _settle(qtbot)
    lines = view.view.log.toPlainText().split("\n")
    assert len(lines[0]) == LINE_LIMIT
    assert lines[1] == "<b>red</b>"


def test_a_run_is_shown_whatever_was_searched_for(qtbot: QtBot, page: LibraryPage) -> None:
    page.search.setText("web-2")
    page.show_run(BEFORE)
    _settle(qtbot)
    assert page.search.text() == ""
    assert _opened(page) == BEFORE
    page.show_run("20990101-000000-none")
    _settle(qtbot)
    assert "not in the library" in page.notice.text()


def test_a_run_recorded_meanwhile_appears_and_the_cursor_stays(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    _select(qtbot, page, BEFORE)
    record(workstation, Made("20260116-080000-new1"))
    page.refresh()
    _settle(qtbot)
    assert page.table.lines.matched[0].id == "20260116-080000-new1"
    assert _opened(page) == BEFORE


def test_the_run_can_have_the_whole_page_and_give_it_back(qtbot: QtBot, page: LibraryPage) -> None:
    page.table.setFocus()
    qtbot.waitUntil(page.table.hasFocus)
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert not page.table.isVisible()
    assert page.actions_of_runs.open.text() == "Show the list"
    qtbot.keyClick(page.panel.tabs, Qt.Key.Key_Escape)
    assert page.table.isVisible()


def test_a_damaged_run_is_told_and_hides_no_other(qtbot: QtBot, page: LibraryPage, workstation: Workstation) -> None:
    import sqlite3

    with sqlite3.connect(workstation.library_path) as damaging:
        damaging.execute("UPDATE runs SET plan = '{' WHERE id = ?", (AFTER,))
    _select(qtbot, page, AFTER)
    assert "cannot be read" in page.panel.notice.text()
    assert not page.panel.tabs.isVisible()
    _select(qtbot, page, BEFORE)
    assert _opened(page) == BEFORE
    assert page.panel.tabs.isVisible()
    assert not page.panel.notice.isVisible()


def test_a_library_that_cannot_be_opened_says_why(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    workstation.library_path.mkdir()
    page = _made(qtbot, keep, workstation)
    assert page.unreadable.state is not None
    assert page.unreadable.state.isVisible()
    words = " ".join(label.text() for label in page.unreadable.state.findChildren(Text))
    assert MESSAGES["cannot_be_opened_it_is_a"] in words


def test_a_damaged_library_is_for_the_window_to_say(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    workstation.library_path.write_bytes(b"this is no database, but long enough to look at" * 50)
    page = LibraryPage(workstation, RefusingAsker())
    keep(page)
    with qtbot.waitSignal(page.library_damaged) as reported:
        page.activated()
    _settle(qtbot)
    assert "damaged or not" in reported.args[0].message
    assert not page.notice.isVisible()
    assert not page.panel.isVisible()


def test_trials_of_another_run_are_shown_once_it_is_read(qtbot: QtBot, page: LibraryPage) -> None:
    _select(qtbot, page, AFTER)
    page.panel.tabs.setCurrentIndex(0)
    page.show_trials(BEFORE, "a step that the run before does not have", "web-1")
    page.show_trials(BEFORE, "disk random read", "web-1")
    _settle(qtbot)
    assert _opened(page) == BEFORE
    assert page.panel.run_view is not None
    assert page.panel.run_view.view.step_key == ("disk random read", "web-1")
