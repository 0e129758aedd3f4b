"""The drawer of issues: a line each, one Tab stop, what its buttons ask for, and what its bar shows."""

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.checks.issues import HostReading
from suites.vocab import Finding, Severity
from tests.messages import messages
from widgets.parts.boxes import column_in, fill
from widgets.parts.issue_line import IssueActions, IssueLine
from widgets.parts.issues_drawer import SHARE, IssuesDrawer
from widgets.parts.text import Text, visible

MESSAGES = messages("widgets", "test_issues_drawer")

CLICK = Qt.MouseButton.LeftButton


def _finding(id_: str, level: Severity, **more: object) -> Finding:
    words = {"title": f"Title {id_}", "measured": "5 s", "why": "too short", "remedy": "60 s", "source": "manual"}
    return Finding(id=id_, severity=level, **(words | more))  # type: ignore[arg-type]  # the tests' own shorthand


NOTE = _finding("note", Severity.INFO, changes={"threads": 2}, step="cpu")
WARNING = _finding("warning", Severity.WARNING, changes={"runtime": 60.0}, step="fio", host="web-1")
BUSY = _finding("host-busy", Severity.WARNING, title="Title busy", host="web-1")
ERROR = _finding("error", Severity.ERROR, install="sudo apt-get install -y fio")

ACTIONS = IssueActions(can_recheck=lambda found: found.id == "host-busy", describe=lambda found: f"sets {found.id}")


@pytest.fixture
def page(qtbot: QtBot, keep: Callable[[QWidget], QWidget]) -> QWidget:
    """A page of 1000x600 with a field and a drawer."""
    page = QWidget()
    keep(page)
    fill(column_in(page), QLineEdit(), (QTextEdit(), 1), IssuesDrawer("test", ACTIONS))
    page.resize(1000, 600)
    with qtbot.waitExposed(page):
        page.show()
    page.activateWindow()
    return page


@pytest.fixture
def drawer(page: QWidget) -> IssuesDrawer:
    found = page.findChild(IssuesDrawer)
    assert isinstance(found, IssuesDrawer)
    found.show_findings([NOTE, WARNING, BUSY, ERROR], read_at={"web-1": time.time() - 125})
    return found


def line_of(drawer: IssuesDrawer, finding: Finding) -> IssueLine:
    return next(line for line in drawer.lines if line.issue.first.id == finding.id)


def test_folded_it_is_a_line_with_the_counts_and_the_first_issue(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    assert drawer.folded
    assert drawer.height() < 45
    assert drawer.counts.text == MESSAGES["counts"]
    assert drawer.brief.text() == "Title error: 5 s"
    with qtbot.waitSignal(drawer.install_requested) as asked:
        qtbot.mouseClick(drawer.main, CLICK)
    assert asked.args == [ERROR]
    with qtbot.waitSignal(drawer.fix_requested) as asked:
        qtbot.mouseClick(drawer.fix_all, CLICK)
    assert [found.id for found in asked.args[0]] == ["warning", "note"]


def test_it_opens_to_a_line_each_at_most_a_third_of_the_page(qtbot: QtBot, page: QWidget, drawer: IssuesDrawer) -> None:
    qtbot.mouseClick(drawer.bar, CLICK)
    assert [line.issue.first.id for line in drawer.lines] == ["error", "warning", "host-busy", "note"]
    assert len({line.height() for line in drawer.lines}) == 1
    assert drawer.lines[0].hasFocus()
    assert line_of(drawer, BUSY).age.text() == "2 min ago"
    drawer.show_findings([_finding(str(number), Severity.INFO) for number in range(40)])
    qtbot.waitUntil(lambda: 0 < drawer._area.height() <= SHARE * page.height() + 1)
    before = drawer._area.height()
    drawer.handle.dragged.emit(60)
    assert drawer._area.height() == before + 60
    again = IssuesDrawer("test")
    assert (again.folded, again._dragged) == (False, before + 60)


def test_buttons_ask_with_their_findings(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    drawer.set_folded(folded=False)
    for finding, name, signal, wanted in (
        (WARNING, "fix", drawer.fix_requested, [(WARNING,)]),
        (ERROR, "install", drawer.install_requested, [ERROR]),
        (BUSY, "recheck", drawer.recheck_requested, [("web-1",)]),
    ):
        with qtbot.waitSignal(signal) as asked:
            qtbot.mouseClick(line_of(drawer, finding).buttons[name], CLICK)
        assert asked.args == wanted
    assert not line_of(drawer, WARNING).buttons["recheck"].isVisible()
    assert not line_of(drawer, ERROR).buttons["acknowledge"].isVisible()
    assert not IssuesDrawer("other", IssueActions(fix=False)).main.isVisible()


def test_the_keyboard_walks_the_lines_and_opens_the_words(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    drawer.set_folded(folded=False)
    first, above, second = drawer.lines[:3]
    qtbot.keyClick(first, Qt.Key.Key_Down)
    assert above.hasFocus()
    qtbot.keyClick(above, Qt.Key.Key_Down)
    assert second.hasFocus()
    stops = [line for line in drawer.lines if line.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == [second], "the list is one stop"
    qtbot.keyClick(second, Qt.Key.Key_Return)
    assert {text.text() for text in second.findChildren(Text)} >= {"too short", "60 s", "manual"}
    assert second.height() > first.height()
    qtbot.keyClick(second, Qt.Key.Key_Left)
    assert not second.is_open
    walked: list[QWidget | None] = []
    for _ in range(2):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        walked.append(QApplication.focusWidget())
    assert walked == [second.buttons["recheck"], second.buttons["acknowledge"]]
    qtbot.keyClick(second, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == MESSAGES["copied"]
    assert second.accessibleName() == MESSAGES["accessible"]


def test_an_issue_that_stays_keeps_its_line_its_words_and_the_keyboard(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    drawer.set_folded(folded=False)
    busy = line_of(drawer, BUSY)
    busy.setFocus()
    busy.set_open(is_open=True)
    drawer.take_reading(HostReading("web-1", time.time(), (), frozenset({"host-busy"})))
    assert line_of(drawer, BUSY) is busy
    assert (busy.word.text(), busy.age.text(), busy.is_open) == ("Gone", "gone just now", True)
    assert busy.hasFocus()
    assert [line for line in drawer.lines if line.focusPolicy() & Qt.FocusPolicy.TabFocus] == [busy]
    assert drawer.counts.text == MESSAGES["without_busy"]


def test_the_reason_is_asked_for_in_the_line(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    drawer.set_folded(folded=False)
    line = line_of(drawer, WARNING)
    qtbot.mouseClick(line.buttons["acknowledge"], CLICK)
    assert line.reason_field.hasFocus()
    qtbot.keyClicks(line.reason_field, "a first look")
    with qtbot.waitSignal(drawer.acknowledge_requested) as asked:
        qtbot.keyClick(line.reason_field, Qt.Key.Key_Return)
    assert asked.args == [(WARNING,), "a first look"]
    drawer.show_findings([NOTE, WARNING], lambda found: "a first look" if found is WARNING else "")
    assert drawer.lines[-1] is line
    assert line.hasFocus()
    assert (line.word.text(), line.buttons["fix"].isVisible()) == ("Acknowledged", False)
    with qtbot.waitSignal(drawer.acknowledge_requested) as asked:
        qtbot.mouseClick(line.buttons["acknowledge"], CLICK)
    assert asked.args == [(WARNING,), ""]


def test_changes_are_undone_and_a_reading_under_way_is_not_repeated(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    drawer.show_message("fio: runtime 4 s → 60 s", undo=True)
    assert drawer.brief.text().startswith("Title error"), "the next issue stays in reach"
    assert "fio: runtime 4 s → 60 s" in drawer.undo.toolTip()
    drawer.set_folded(folded=False)
    assert drawer.brief.text() == "fio: runtime 4 s → 60 s"
    with qtbot.waitSignal(drawer.undo_requested):
        qtbot.mouseClick(drawer.undo, CLICK)
    drawer.show_message("")
    assert not drawer.undo.isVisible()
    drawer.set_recheck("The host is being measured")
    assert not drawer.recheck_all.isEnabled()
    drawer.set_recheck()
    with qtbot.waitSignal(drawer.recheck_requested) as asked:
        qtbot.mouseClick(drawer.recheck_all, CLICK)
    assert asked.args == [("web-1",)]


def test_without_issues_its_hosts_can_be_checked_again(qtbot: QtBot, drawer: IssuesDrawer) -> None:
    drawer.show_findings([])
    drawer.set_recheck(checked_at={"web-1": time.time() - 125, "web-2": time.time()})
    assert drawer.checked.text() == "checked 2 min ago"
    with qtbot.waitSignal(drawer.recheck_requested) as asked:
        qtbot.mouseClick(drawer.recheck_all, CLICK)
    assert asked.args == [("web-1", "web-2")]


def test_the_age_is_that_of_the_issue_beside_it(drawer: IssuesDrawer) -> None:
    drawer.show_findings([BUSY], read_at={"web-1": time.time() - 125})
    drawer.set_recheck(checked_at={"web-1": time.time() - 125})
    assert drawer.checked.text() == "2 min ago"
    drawer.take_reading(HostReading("web-1", time.time(), (BUSY,), frozenset({"host-busy"})))
    assert drawer.checked.text() == "just now"
    drawer.set_folded(folded=False)
    assert drawer.checked.text() == "checked 2 min ago"
    drawer.clear()
    drawer.show_findings([])
    drawer.set_empty_text("Plan incomplete: not checked", checked=False)
    assert not drawer.checked.text()
    assert not drawer.recheck_all.isVisible()


def test_a_line_is_a_button_that_a_screen_reader_presses(drawer: IssuesDrawer) -> None:
    drawer.set_folded(folded=False)
    line = drawer.lines[0]
    found = QAccessible.queryAccessibleInterface(line)
    assert (found.role(), found.text(QAccessible.Text.Name)) == (QAccessible.Role.Button, line.accessibleName())
    for is_open in (True, False):
        line.click()
        assert line.is_open is is_open


def test_without_issues_it_says_so(drawer: IssuesDrawer) -> None:
    drawer.set_empty_text("No test selected")
    drawer.show_findings([])
    assert drawer.counts.text == "No test selected"
    assert not any(button.isVisible() for button in (drawer.main, drawer.fix_all, drawer.recheck_all))


def test_text_of_a_host_is_never_markup_and_never_widens_the_page(page: QWidget, drawer: IssuesDrawer) -> None:
    hostile = "<img src=file:///etc/passwd>" + "x" * 500
    drawer.show_findings([_finding("hostile", Severity.ERROR, title=hostile, measured=hostile, host="h" * 300)])
    drawer.set_folded(folded=False)
    drawer.lines[0].set_open(is_open=True)
    page.resize(600, 500)
    QApplication.processEvents()
    assert page.width() == 600
    assert drawer.lines[0].width() <= 600
    assert all(text.textFormat() is Qt.TextFormat.PlainText for text in drawer.findChildren(Text))


def test_invisible_characters_are_written_out() -> None:
    assert visible("a\u202eb\x1b[0m") == "a\\u202eb\\u001b[0m"
    assert len(visible("x" * 100_000)) == 4096
