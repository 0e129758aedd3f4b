"""Raw output on the screen: plain, bounded, and never in the way of scrolling."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.messages import messages
from widgets.live.log_view import LINE_LIMIT, LINES, OUTPUT_SHOWN, LogView, shown

MESSAGES = messages("widgets-live", "test_live_log_view")

Keep = Callable[[QWidget], QWidget]


@pytest.fixture
def log(qtbot: QtBot, keep: Keep) -> LogView:
    view = LogView()
    keep(view)
    view.resize(500, 200)
    with qtbot.waitExposed(view):
        view.show()
    return view


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\x07b\x00c\x9bd", "abcd"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("tab\tstays", "tab\tstays"),
        ("<b>x</b> &amp;", "<b>x</b> &amp;"),
        ("grüße µs Ωж 漢字", "grüße µs Ωж 漢字"),
        ("z\u0301\u0302 \u05d0 \u0e01", "z\ufffd\ufffd \ufffd \ufffd"),
    ],
)
def test_a_line_is_shown_without_what_a_terminal_would_obey(line: str, plain: str) -> None:
    assert shown(line) == plain


def test_a_long_line_is_cut() -> None:
    assert len(shown("a" * 10_000)) == LINE_LIMIT
    assert shown("a" * 10_000).endswith("…")
    assert len(shown("ก" * 10_000)) < LINE_LIMIT


def test_lines_arrive_whole_and_streams_do_not_mix_within_one(qtbot: QtBot, log: LogView) -> None:
    log.write(b"fio: ja")
    log.write(b"warning\n", "stderr")
    log.write(b"hr 1\r50 %\r\n")
    log.write(b"accepted\n", "peer stdout")
    log.write(b"no end")
    log.flush()
    wanted = "warning\nfio: jahr 1\n50 %\npeer: accepted\nno end"
    qtbot.waitUntil(lambda: log.toPlainText() == wanted)


def test_it_follows_the_end_unless_the_user_scrolled_up(qtbot: QtBot, log: LogView) -> None:
    bar = log.verticalScrollBar()
    log.write(b"line\n" * 200)
    qtbot.waitUntil(lambda: log.blockCount() >= 200)
    assert bar.value() == bar.maximum()
    bar.setValue(10)
    log.write(b"more\n" * 50)
    qtbot.waitUntil(lambda: log.blockCount() >= 250)
    assert bar.value() == 10
    bar.setValue(bar.maximum())
    log.write(b"again\n" * 50)
    qtbot.waitUntil(lambda: log.blockCount() >= 300)
    assert bar.value() == bar.maximum()


def test_it_is_bounded_and_says_what_it_left_out(qtbot: QtBot, log: LogView) -> None:
    for _ in range(4):
        log.write(b"x\n" * 3000)
    qtbot.waitUntil(lambda: log.blockCount() > 1)
    assert MESSAGES["11000_lines_are_not_shown"] in log.toPlainText()
    for _ in range(12):
        log.write(b"y\n" * 900)
        qtbot.waitUntil(lambda: not log._lines)
    assert log.blockCount() <= LINES


def test_nothing_is_appended_while_it_is_hidden_and_all_of_it_when_shown(qtbot: QtBot, log: LogView) -> None:
    log.hide()
    log.write(b"a\n")
    assert not log._redraw._timer.isActive()
    log.show()
    qtbot.waitUntil(lambda: log.toPlainText() == "a")


def test_stored_output_is_shown_from_its_end_by_stream(log: LogView) -> None:
    log.load({"stdout": b"head\n" + b"z" * OUTPUT_SHOWN, "stderr": b"oops"})
    lines = log.toPlainText().splitlines()
    assert lines[0] == "── stdout ──"
    assert lines[1] == MESSAGES["the_first_5_bytes_are_not"]
    assert lines[-2:] == ["── stderr ──", "oops"]
    log.load({"stdout": b"only\nthis\n"})
    assert log.toPlainText() == "only\nthis"
