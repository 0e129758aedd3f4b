"""The command palette finds what the words name, and performs it."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.hosts.hosts import HostEntry
from app.services import Workstation
from tests.messages import messages
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.command_palette import MOST, CommandPalette, PaletteEntry, matching, menu_entries
from widgets.parts.actions import offer

MESSAGES = messages("widgets", "test_command_palette")

pytestmark = pytest.mark.usefixtures("idle")


def entry(title: str, detail: str = "") -> PaletteEntry:
    return PaletteEntry(title, detail, lambda: None)


def test_words_at_the_start_come_first_and_all_must_occur() -> None:
    entries = [entry("Open plan…", "File"), entry("fio randread", "Run of web-1"), entry("Reopen", "File")]
    assert [found.title for found in matching(entries, "open")] == ["Open plan…", "Reopen"]
    assert [found.title for found in matching(entries, "WEB-1 rand")] == ["fio randread"]
    assert matching(entries, "open web-1") == []
    assert len(matching(entries * 100, "")) == MOST
    assert matching([entry("Reset", "open all"), entry("Open all", "File")], "open all")[0].detail == "File"


@pytest.mark.slow
@given(st.lists(st.text(max_size=8), max_size=8), st.text(max_size=6))
def test_every_match_has_every_word(titles: list[str], text: str) -> None:
    found = matching([entry(title) for title in titles], text)
    words = text.casefold().split()
    assert [one.title for one in found].count("") <= titles.count("")
    assert all(word in one.title.casefold() for one in found for word in words)


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[QMainWindow]:
    made = QMainWindow()
    qtbot.addWidget(made)
    made.resize(900, 640)
    made.show()
    yield made
    qtbot.waitUntil(lambda: not jobs.running())


def test_a_command_of_a_menu_and_a_host_are_found_by_keys(
    qtbot: QtBot, window: QMainWindow, workstation: Workstation
) -> None:
    done: list[str] = []
    file = window.menuBar().addMenu("&File")
    file.addAction("&New test", lambda: done.append("new"))
    file.addMenu("&Appearance").addAction("&Dark", lambda: done.append("dark"))
    offer(file.addAction("Stop", lambda: done.append("stop")), False, "Stop the run", "No run is under way")
    workstation.save_hosts(HostEntry("web-1"))
    commands = menu_entries(window.menuBar())
    assert [(one.title, one.detail) for one in commands] == [
        ("New test", "File"), ("Dark", "File > Appearance"), ("Stop", MESSAGES["disabled"]),
    ]  # fmt: skip

    def opened() -> CommandPalette:
        return CommandPalette(workstation, commands, done.append, done.append, window)

    palette = opened()
    qtbot.keyClicks(palette.field, "app")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    palette = opened()
    qtbot.waitUntil(lambda: not jobs.running())
    qtbot.keyClicks(palette.field, "host")
    assert palette.list.count() == 2
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert done == ["dark", "web-1"]
    palette = opened()
    qtbot.keyClicks(palette.field, "stop")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert (palette.isVisible(), done) == (True, ["dark", "web-1"])


def test_a_run_has_its_figure_with_interval_trials_and_verdict(
    qtbot: QtBot, window: QMainWindow, workstation: Workstation
) -> None:
    copied_library(workstation)
    rows = [row for row in workstation.library().rows if not row.binned]
    palette = CommandPalette(workstation, [], print, print, window)
    qtbot.waitUntil(lambda: palette.list.count() == len(rows) + 1)  # and this computer
    texts = {palette.list.item(number).text() for number in range(palette.list.count())}
    for row in rows:
        (text,) = [text for text in texts if text.endswith(row.id)]
        assert row.result in text
        assert ", ," not in text
    (shown,) = [row.result for row in rows if row.id == "20260112-081502-a1b2"]
    assert re.fullmatch(r"\S+ IOPS (±|×/÷) \S+, n=\d+(, \w+)?", shown)
