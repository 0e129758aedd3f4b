"""The tables of the library: what their cells say, and that nobody's words become markup."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.events import State
from app.library_rows import LibraryRow
from app.services import Workstation
from suites.fio.metrics import IOPS
from suites.units import Unit
from suites.verdict import NOT_JUDGED
from suites.vocab import Better, Metric, MetricKind
from tests.messages import messages
from tests.suites.captured_outputs import DATA
from tests.widgets.library_runs import Made, copied_library, record
from widgets.library.column_menu import ColumnMenu
from widgets.library.figure_table import FIGURE_COLUMNS, FigureTable, figure_lines
from widgets.library.run_table import RunTable
from widgets.parts.table_model import HEADING

MESSAGES = messages("widgets-library", "test_library_tables")

MARKUP = "<img src=file:///etc/passwd> & <b>bold</b>"
TURNED = "abc\u202edef\u200b"


def _hidden(table: RunTable) -> set[str]:
    return {column.name for number, column in enumerate(table.content.columns) if table.isColumnHidden(number)}


@pytest.mark.slow
def test_the_table_of_runs_is_a_sound_model(qtbot: QtBot, qtmodeltester: ModelTester, workstation: Workstation) -> None:
    copied_library(workstation)
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(workstation.matching("")[1])
    qtmodeltester.check(table.content)
    table.search("web-1")
    qtmodeltester.check(table.content)


def test_a_run_is_told_with_its_state_in_a_word_and_a_mark(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(workstation.matching("")[1])
    heads, *rows = table.content.texts()
    named = {line.id: dict(zip(heads, row, strict=True)) for line, row in zip(table.lines.matched, rows, strict=True)}
    pinned = named["20260112-081502-a1b2"]
    assert (pinned["Name"], pinned["Hosts"], pinned["Type"]) == ("volume check", "web-1", "c7i.2xlarge")
    assert (pinned["Headline [k IOPS]"], pinned["±"], pinned["Trials"]) == ("412.0", "± 1.7", "8")
    assert pinned["Baseline"] == "before the update"
    failed, unjudged = named["20260114-101500-k1l2"], named["20260114-090120-i9j0"]
    assert (failed["Headline [k IOPS]"], failed["State"], failed["Trials"]) == ("—", "failed", "")
    assert (pinned["Verdict"], failed["Verdict"], unjudged["Verdict"]) == ("valid", "invalid", NOT_JUDGED)
    at = table.content.at
    assert at(table.row_of("20260114-090120-i9j0"), "Verdict").data(Qt.ItemDataRole.DecorationRole) is None
    for run_id, state in (("20260114-101500-k1l2", "failed"), ("20260112-081502-a1b2", "done")):
        index = at(table.row_of(run_id), "State")
        assert index.data() == state
        assert not index.data(Qt.ItemDataRole.DecorationRole).isNull()


def test_hostile_names_are_shown_literally(qtbot: QtBot, workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", name=MARKUP, question=MARKUP, host=TURNED))
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(workstation.matching("")[1])
    cells = [table.content.index(0, column) for column in range(table.content.columnCount())]
    assert table.content.at(0, "Name").data() == MARKUP
    assert table.content.at(0, "Hosts").data() == "abc\\u202edef\\u200b"
    for cell in cells:
        tip = cell.data(Qt.ItemDataRole.ToolTipRole) or ""
        assert "<img" not in tip
        assert "\u202e" not in tip


def test_the_cursor_stays_on_its_run_whatever_is_sorted_found_or_read_anew(
    qtbot: QtBot, workstation: Workstation
) -> None:
    copied_library(workstation)
    lines = workstation.matching("")[1]
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(lines)
    chosen = [lines[2].id, lines[4].id]
    table.select(*chosen)
    table.horizontalHeader().setSortIndicator(1, Qt.SortOrder.AscendingOrder)
    assert {line.id for line in table.runs()} == set(chosen)
    assert table.current() == lines[2]
    table.show_lines([*lines, LibraryRow(replace(lines[0].summary, id="new"))])
    assert {line.id for line in table.runs()} == set(chosen)
    table.search(lines[4].id)
    assert [line.id for line in table.runs()] == [lines[4].id]


def test_when_the_run_under_the_cursor_is_gone_its_neighbour_takes_over(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    lines = workstation.matching("")[1]
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(lines)
    table.select(lines[3].id)
    table.show_lines([line for line in lines if line is not lines[3]])
    assert table.current() == lines[4]
    table.show_lines([])
    assert table.current() is None


def test_columns_give_way_to_a_narrow_place_and_come_back(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    table = RunTable()
    qtbot.addWidget(table)
    table.resize(1400, 200)
    table.show()
    table.show_lines(workstation.matching("")[1])
    assert _hidden(table) == {"Tags"}  # none has any
    assert not table.without_room
    table.resize(930, 200)
    assert _hidden(table) == {"Tags", "Trend", "Type", "Trials"}
    menu = ColumnMenu(table).menu
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions()]
    assert [text.partition(" (")[0] for text in texts if "no room" in text] == ["Type", "Trials", "Trend"]
    table.resize(480, 200)
    assert {"Trend", "Type"} <= _hidden(table)
    assert not {"Started", "Name", "Headline", "Verdict"} & _hidden(table)
    assert table.columnWidth(1) > 60


@pytest.mark.parametrize("rate", [5125.0, 52_125.0])
def test_a_headline_is_written_as_everywhere(qtbot: QtBot, workstation: Workstation, rate: float) -> None:
    record(workstation, Made("20260112-081502-a1b2", iops=(rate,)))
    table = RunTable()
    qtbot.addWidget(table)
    (row,) = workstation.matching("")[1]
    table.show_lines([row])
    number = str(table.content.at(0, "Headline").data())
    assert number.strip()
    assert row.headline.startswith(number)


def test_the_day_of_an_import_is_not_cut(qtbot: QtBot, workstation: Workstation) -> None:
    list(workstation.import_outputs([DATA / "sysbench/1.0.20/cpu_default.stdout"]))
    table = RunTable()
    qtbot.addWidget(table)
    table.resize(1000, 200)
    table.show()
    table.show_lines(workstation.matching("")[1])
    cell = table.content.at(0, "Started")
    assert str(cell.data()).startswith("imported 20")
    assert table.columnWidth(cell.column()) >= table.sizeHintForIndex(cell).width()


def test_no_place_is_kept_for_baselines_while_none_is_pinned(qtbot: QtBot, workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2"))
    table = RunTable()
    qtbot.addWidget(table)
    table.resize(1400, 200)
    table.show()
    table.show_lines(workstation.matching("")[1])
    assert "Baseline" in _hidden(table)
    workstation.pin("20260112-081502-a1b2", "gold")
    table.show_lines(workstation.matching("")[1])
    assert "Baseline" not in _hidden(table)


@pytest.fixture
def figures(qtbot: QtBot, workstation: Workstation) -> FigureTable:
    copied_library(workstation)
    table = FigureTable()
    qtbot.addWidget(table)
    table.show_run(workstation.load("20260112-081502-a1b2"))
    return table


def _figure(table: FigureTable, title: str) -> list[str]:
    return next(row for row in table.content.texts()[1:] if row[0] == title)


def test_the_table_of_figures_is_a_sound_model(qtmodeltester: ModelTester, figures: FigureTable) -> None:
    qtmodeltester.check(figures.content)


def test_figures_stand_under_their_step_what_leads_on_top(figures: FigureTable) -> None:
    titles = [row[0] for row in figures.content.texts()[1:]]
    assert titles[:3] == ["disk random read · web-1", "I/Os per second, read", MESSAGES["completion_latency_p99_read"]]
    assert titles[-2:] == ["cpu · web-1", "Events per second"]
    assert [figures.content.index(row, 0).data(HEADING) > 0 for row in range(3)] == [True, False, False]
    assert not figures.content.index(0, 0).flags() & Qt.ItemFlag.ItemIsSelectable


def test_a_figure_is_told_with_its_spread_its_trials_and_which_way_is_better(figures: FigureTable) -> None:
    assert _figure(figures, "I/Os per second, read")[1:] == [
        "412.0k IOPS", "± 1.7k", "0.49 %", "8", "409.0k to 415.0k IOPS", "↑ higher",
    ]  # fmt: skip
    assert _figure(figures, "Completion latency, p99, read")[-1] == "↓ lower"


def test_one_trial_has_no_spread(qtbot: QtBot, workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", iops=(1000.0,)))
    table = FigureTable()
    qtbot.addWidget(table)
    table.show_run(workstation.load("last"))
    assert _figure(table, "I/Os per second, read")[2:6] == ["—", "—", "1", "—"]


def test_no_title_of_a_column_is_cut_at_any_width(qtbot: QtBot, workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", iops=(1000.0,)))
    table = FigureTable()
    qtbot.addWidget(table)
    table.show()
    table.show_run(workstation.load("last"))
    head = table.horizontalHeader()
    for width in (*range(700, 250, -7), *range(250, 700, 7)):
        table.resize(width, 300)
        table.fit()  # as when rows arrive
        shown = [number for number in range(head.count()) if not table.isColumnHidden(number)]
        cut = [table.content.columns[number].name for number in shown
               if head.sectionSize(number) < head.sectionSizeHint(number)]  # fmt: skip
        assert not cut, width


def test_a_figure_that_is_not_valid_carries_its_mark_and_its_reason(
    qtbot: QtBot, workstation: Workstation, figures: FigureTable
) -> None:
    decoration, tip = Qt.ItemDataRole.DecorationRole, Qt.ItemDataRole.ToolTipRole
    assert figures.content.index(1, 1).data(decoration) is None
    assert figures.as_text().splitlines()[1].endswith("\tvalid")
    table = FigureTable()
    qtbot.addWidget(table)
    table.show_run(workstation.load("20260114-112233-m3n4"))
    median = table.content.index(1, 1)
    assert not median.data(decoration).isNull()
    assert "Verdict: doubtful: " in median.data(tip)
    assert table.as_text().splitlines()[1].endswith("\tdoubtful")


def test_a_failed_run_has_no_figures(workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", iops=(1.0,), state=State.FAILED))
    assert figure_lines(workstation.load("last")) == []


def test_figures_are_copied_whole_with_their_units(figures: FigureTable) -> None:
    head, first, *_ = [line.split("\t") for line in figures.as_text().splitlines()]
    row = dict(zip(head, first, strict=True))
    assert (row["metric"], row["median"], row["unit"], row["n"], row["better"]) == (
        "iops",
        "412000",
        "1/s",
        "8",
        "higher",
    )


def test_choosing_a_figure_asks_for_its_place(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    table = FigureTable()
    qtbot.addWidget(table)
    table.show_run(workstation.load("20260112-081502-a1b2"))
    with qtbot.waitSignal(table.chosen_step_key) as asked:
        table.setCurrentIndex(table.content.index(table.content.rowCount() - 1, 0))
    assert asked.args == [("cpu", "web-1")]
    assert table.rowSpan(0, 0) == 1
    assert table.columnSpan(0, 0) == len(FIGURE_COLUMNS)
    assert QModelIndex().data(HEADING) is None


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize("headline", ["3.71M IOPS", "98.8 kFLOPS", "3.71 MFLOPS", "94.1 Gbit/s", "1.23 GB/s"])
def test_no_headline_is_cut(qtbot: QtBot, workstation: Workstation, headline: str) -> None:
    copied_library(workstation)
    table = RunTable()
    qtbot.addWidget(table)
    run = workstation.runs()[0]
    table.resize(900, 300)
    table.show()
    other = Metric("events_per_second", "Events per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
    rows = [
        LibraryRow(replace(run, headline=headline), metric=IOPS, value=1000.0, half=13.46),
        LibraryRow(replace(run, id="wide", headline="532/s (cpu)"), metric=other, value=532.0, half=278.9),
        LibraryRow(replace(run, id="wider"), metric=other, value=70_400.0, half=1e8),
    ]
    table.show_lines(rows)
    assert table.content.at(1, "±").data() == "×/÷ 1.52"
    assert (table.content.at(1, "Headline").data(), rows[1].headline) == ("532/s", "532/s (cpu)")
    for name in ("Headline", "±", "Trials"):
        column = table.content.at(0, name).column()
        assert not table.isColumnHidden(column)
        assert table.sizeHintForColumn(column) <= table.columnWidth(column)
