"""The list of findings: order, what its buttons ask, and that a host's words stay words."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from suites.vocab import Finding, Severity
from tests.messages import messages
from widgets.parts.findings import FindingList
from widgets.parts.severity import summary
from widgets.parts.text import Text, visible

MESSAGES = messages("widgets", "test_finding_list")


def _finding(id_: str, level: Severity, **more: object) -> Finding:
    words = {"title": f"Title {id_}", "measured": "5 s", "why": "too short", "remedy": "60 s", "source": "manual"}
    return Finding(id=id_, severity=level, **(words | more))  # type: ignore[arg-type]  # the tests' own shorthand


NOTE = _finding("note", Severity.INFO)
WARNING = _finding("warning", Severity.WARNING, changes={"runtime": 60.0})
ERROR = _finding("error", Severity.ERROR, install="sudo apt-get install -y fio")


def _shown(qtbot: QtBot, width: int = 800, *, actions: bool = True) -> FindingList:
    shown = FindingList(actions=actions)
    qtbot.addWidget(shown)
    shown.resize(width, 600)
    with qtbot.waitExposed(shown):
        shown.show()
    shown.activateWindow()
    return shown


def test_the_gravest_comes_first_and_another_one_finds_its_place(qtbot: QtBot) -> None:
    shown = _shown(qtbot)
    shown.set_findings([NOTE, WARNING])
    shown.set_findings([NOTE, WARNING, ERROR])
    assert [finding.id for finding in shown.findings()] == ["error", "warning", "note"]
    tops = [card.y() for card in shown.cards()]
    assert tops == sorted(tops)


def test_buttons_ask_with_their_finding(qtbot: QtBot) -> None:
    shown = _shown(qtbot)
    shown.set_findings([WARNING, ERROR])
    error, warning = shown.cards()
    with qtbot.waitSignal(shown.apply_requested) as asked:
        qtbot.mouseClick(warning.buttons[0], Qt.MouseButton.LeftButton)
    assert asked.args == [WARNING]
    with qtbot.waitSignal(shown.install_requested) as asked:
        qtbot.mouseClick(error.buttons[0], Qt.MouseButton.LeftButton)
    assert asked.args == [ERROR]


def test_a_list_without_actions_has_no_buttons(qtbot: QtBot) -> None:
    shown = _shown(qtbot, actions=False)
    shown.set_findings([WARNING, ERROR])
    assert not any(card.buttons for card in shown.cards())


def test_a_narrow_list_keeps_why_behind_a_button(qtbot: QtBot) -> None:
    shown = _shown(qtbot, width=300)
    shown.set_findings([WARNING])
    (card,) = shown.cards()
    why = next(text for text in card.findChildren(Text) if text.text() == "too short")
    assert not why.isVisible()
    qtbot.mouseClick(card.findChildren(QToolButton)[0], Qt.MouseButton.LeftButton)
    assert why.isVisible()
    shown.resize(800, 600)
    assert why.isVisible()


def test_the_severity_of_an_acknowledged_finding_is_never_cut(qtbot: QtBot) -> None:
    shown = _shown(qtbot, 220, actions=False)
    shown.set_findings([_finding("a", Severity.WARNING, step="disk random read")], lambda _finding: "a first look")
    label = next(text for text in shown.cards()[0].findChildren(Text) if text.text().startswith("Warning,"))
    qtbot.waitUntil(lambda: 0 < label.fontMetrics().horizontalAdvance(label.text()) <= label.width())


def test_a_finding_that_stays_keeps_its_card(qtbot: QtBot) -> None:
    shown = _shown(qtbot)
    shown.set_findings([WARNING, NOTE])
    kept = shown.cards()[0]
    shown.set_findings([ERROR, WARNING])
    assert shown.cards()[1] is kept
    assert [finding.id for finding in shown.findings()] == ["error", "warning"]


def test_arrow_keys_move_between_cards_and_copy_gives_the_text(qtbot: QtBot) -> None:
    shown = _shown(qtbot)
    shown.set_findings([WARNING, ERROR])
    first, second = shown.cards()
    first.setFocus()
    qtbot.keyClick(first, Qt.Key.Key_Down)
    assert second.hasFocus()
    qtbot.keyClick(second, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Warning: Title warning\n5 s\ntoo short\n60 s\nmanual"


def test_an_empty_list_says_so(qtbot: QtBot) -> None:
    shown = _shown(qtbot)
    shown.set_empty_text("Nothing stands against this plan.")
    words = next(text for text in shown.findChildren(Text) if text.text().startswith("Nothing stands"))
    assert words.isVisible()
    shown.set_findings([NOTE])
    assert not words.isVisible()
    shown.set_findings([])
    assert words.isVisible()


def test_words_of_a_host_are_never_markup_and_never_widen_the_panel(qtbot: QtBot) -> None:
    shown = _shown(qtbot, width=300)
    hostile = "<img src=file:///etc/passwd>" + "x" * 500
    shown.set_findings([_finding("hostile", Severity.ERROR, title=hostile, host="h" * 300)])
    (card,) = shown.cards()
    assert card.width() <= 300
    assert all(text.textFormat() is Qt.TextFormat.PlainText for text in card.findChildren(Text))


def test_invisible_characters_are_written_out() -> None:
    assert visible("a\u202eb\x1b[0m") == "a\\u202eb\\u001b[0m"
    assert len(visible("x" * 100_000)) == 4096


def test_summary_counts_in_words() -> None:
    assert summary([NOTE, WARNING, ERROR, WARNING]) == MESSAGES["1_error_2_warnings_1_note"]
    assert summary([]) == ""
