"""The page Compare in little room: chips and verdicts are legible, and labels are in their own column."""

import re
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget
from pytestqt.qtbot import QtBot

from app.questions import RefusingAsker
from app.services import Workstation
from suites.quantities import edges_text
from tests.widgets.library_runs import STEADY, Made, copied_library, record
from tests.widgets.test_compare_page import AFTER, AGAIN, BEFORE, BLOCKS
from widgets import jobs
from widgets.compare.cells import VerdictCell, fitted_verdict
from widgets.compare.compare_page import ComparePage
from widgets.compare.compare_table import INTERVAL, SPREAD, VERDICT
from widgets.compare.run_chips import RunChip
from widgets.theme import TextSize, figure_font, text_font

pytestmark = pytest.mark.usefixtures("idle", "dressed")

PAGE_AT_900, PAGE_AT_1024, PAGE_AT_1280 = 764, 888, 1144
"""Widths of the page beside the rail, in windows of these widths."""

PAGE_HEIGHT = 586
"""Height of the page in a window of 640."""


@pytest.fixture
def page(qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation) -> Iterator[ComparePage]:
    copied_library(workstation)
    made = ComparePage(workstation, RefusingAsker())
    keep(made)
    made.resize(PAGE_AT_900, PAGE_HEIGHT)
    made.show()
    yield made
    qtbot.waitUntil(lambda: not jobs.running())


def _compare(qtbot: QtBot, page: ComparePage, *runs: str) -> str:
    """Compare runs; return the text for the status bar."""
    reported: list[str] = []
    page.status.connect(reported.append)
    page.compare(runs)
    qtbot.waitUntil(lambda: not jobs.running() and bool(reported))
    page.status.disconnect(reported.append)
    return reported[-1]


def _shown_label(chip: RunChip) -> str:
    metrics = QFontMetricsF(chip.label.font())
    return metrics.elidedText(chip.label.text(), Qt.TextElideMode.ElideRight, chip.label.width())


def _room_and_text(page: ComparePage, row: int) -> tuple[float, str, QFontMetricsF]:
    """Return the width of the text in a verdict's cell, the text, and how wide text is."""
    table = page.table
    option, index = QStyleOptionViewItem(), table.content.index(row, VERDICT)
    table.initViewItemOption(option)
    option.rect = table.visualRect(index)
    cast("VerdictCell", table.itemDelegateForColumn(VERDICT)).initStyleOption(option, index)
    area = table.style().subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, table)
    margin = table.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, table) + 1
    return area.width() - 2 * margin, option.text, QFontMetricsF(option.font)


def test_groups_say_how_many_runs_they_are(qtbot: QtBot, page: ComparePage) -> None:
    status = _compare(qtbot, page, BEFORE, AFTER)
    assert status.startswith("2 runs, ")
    one_host = status.removeprefix("2 runs, ")
    assert "2 runs" not in page.chips.chips[0].label.text()
    status = _compare(qtbot, page, f"{BEFORE},{AGAIN}", AFTER)
    assert status.startswith("2 sides, 3 runs, ")
    assert page.chips.chips[0].label.text().startswith("2 runs · ")
    assert "2 runs" in page.chips.chips[0].accessibleName()
    status = _compare(qtbot, page, f"{BEFORE},{AGAIN}", f"{AFTER},{BLOCKS}")
    assert status == f"2 groups, 4 runs, {one_host}"


@pytest.mark.quick(1)
@pytest.mark.parametrize("width", [PAGE_AT_900, PAGE_AT_1024])
def test_six_chips_can_be_told_apart(qtbot: QtBot, page: ComparePage, workstation: Workstation, width: int) -> None:
    runs = [Made(f"2026021{day}-101500-six", STEADY, name="volume check of the week") for day in range(6)]
    record(workstation, *runs)
    page.resize(width, PAGE_HEIGHT)
    _compare(qtbot, page, *(run.run_id for run in runs))
    chips = page.chips.chips
    qtbot.waitUntil(lambda: all(chip.geometry().right() < page.chips.width() for chip in chips))
    qtbot.waitUntil(lambda: len({chip.mapTo(page, chip.rect().topLeft()).y() for chip in chips}) == 3)
    assert len({_shown_label(chip) for chip in chips}) == 6
    for number, chip in enumerate(chips):
        assert chip.letter.text() == "ABCDEF"[number]
        assert chip.letter.fits()
        assert runs[number].run_id in chip.toolTip()


def test_chips_with_the_same_beginning_have_a_row_each(
    qtbot: QtBot, page: ComparePage, workstation: Workstation
) -> None:
    runs = [Made(f"20260210-10150{second}-six", STEADY, name=f"volume check {second}") for second in range(3)]
    record(workstation, *runs)
    page.resize(504, PAGE_HEIGHT)
    _compare(qtbot, page, *(run.run_id for run in runs))
    chips = page.chips.chips
    qtbot.waitUntil(lambda: len({_shown_label(chip) for chip in chips}) == 3)
    assert len({chip.mapTo(page, chip.rect().topLeft()).y() for chip in chips}) == 3


@pytest.mark.parametrize("width", [PAGE_AT_900, PAGE_AT_1024, PAGE_AT_1280])
def test_the_verdict_is_legible_at_every_width(qtbot: QtBot, page: ComparePage, width: int) -> None:
    page.resize(width, PAGE_HEIGHT)
    _compare(qtbot, page, BEFORE, AGAIN, AFTER)
    page.everything.setChecked(True)
    lines = page.table.content.shown
    rows = [row for row, line in enumerate(lines) if line.against is not None]
    words = set()
    for row in rows:
        room, text, metrics = _room_and_text(page, row)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        words.add(word := text.partition(",")[0].partition(":")[0])
        assert metrics.horizontalAdvance(word) <= room
        change = re.match(r"[^,:]+[,:] [+−]?[\d.]+(?: %|x)", text)
        assert change is None or shown.startswith(change[0])
    assert {"differs", "agrees"} <= words


@pytest.mark.parametrize("width", [PAGE_AT_900, PAGE_AT_1024, PAGE_AT_1280, 1100])
def test_labels_of_an_interval_stay_in_its_column(qtbot: QtBot, page: ComparePage, width: int) -> None:
    page.resize(width, PAGE_HEIGHT)
    _compare(qtbot, page, BEFORE, AFTER)
    table = page.table
    found = [line.against for line in table.content.shown if line.against is not None]
    ends = {text for one in found if one.low and one.high for text in edges_text(one.low, one.high)}
    metrics = QFontMetricsF(figure_font(text_font(TextSize.SMALL).pointSizeF() * 0.95))
    cell = table.visualRect(table.content.index(2, INTERVAL))
    axis, labelled = table.interval_cell.axis(cell)
    beside = max(map(metrics.horizontalAdvance, ends)) + 8  # dot and gap
    assert labelled
    assert min(axis.left() - cell.left(), cell.right() + 1 - axis.right()) >= beside


def test_the_spread_is_hidden_before_the_ends_of_the_interval(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    table = page.table
    for width in range(420, PAGE_AT_1024, 10):
        page.resize(width, PAGE_HEIGHT)
        qtbot.wait(1)
        _, labelled = table.interval_cell.axis(table.visualRect(table.content.index(2, INTERVAL)))
        assert labelled or table.isColumnHidden(SPREAD), width


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (40, "better, +7.1 %, between sessions"),
        (15, "better, +7.1 %, between sessions"),
        (14, "better, +7.1 %"),
        (9, "better"),
    ],
)
def test_a_change_is_shown_whole_or_not_at_all(room: int, shown: str) -> None:
    assert fitted_verdict("better, +7.1 %, between sessions", lambda text: len(text) <= room) == shown
