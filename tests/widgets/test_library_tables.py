"""The tables of the library: what their cells say, and that nobody's words become markup."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.events import State
from app.services import Workstation
from tests.widgets.library_runs import Made, copied_library, record
from widgets.library.figure_model import Column as FigureColumn
from widgets.library.figure_model import FigureModel, figure_lines
from widgets.library.figure_table import FigureTable
from widgets.library.run_lines import Column, lines_of
from widgets.library.run_model import RunModel
from widgets.library.run_table import RunTable
from widgets.parts.grouped_table import HEADING

MARKUP = "<img src=file:///etc/passwd> & <b>bold</b>"
TURNED = "abc\u202edef\u200b"


def _row(model: RunModel, row: int) -> list[str]:
    return [model.index(row, column).data() for column in Column]


@pytest.mark.usefixtures("qapp")
def test_the_table_of_runs_is_a_sound_model(qtmodeltester: ModelTester, workstation: Workstation) -> None:
    copied_library(workstation)
    model = RunModel()
    model.show_lines(lines_of(workstation.runs()))
    qtmodeltester.check(model)
    model.search("web-1")
    qtmodeltester.check(model)


def test_a_run_is_told_with_its_state_in_a_word_and_a_mark(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(lines_of(workstation.runs()))
    model = table.runs
    by_id = {line.id: row for row, line in enumerate(model.shown)}
    pinned = _row(model, by_id["20260112-081502-a1b2"])
    assert pinned[1:] == [
        "volume check", "web-1", "412k IOPS", "done", "valid", "16", "before the update", "disk random read, cpu",
        "Is the volume as fast as promised?",
    ]  # fmt: skip
    failed = _row(model, by_id["20260114-101500-k1l2"])
    assert (failed[Column.HEADLINE], failed[Column.STATE], failed[Column.TRIALS]) == ("—", "failed", "0")
    unjudged = _row(model, by_id["20260114-090120-i9j0"])
    assert (pinned[Column.VERDICT], failed[Column.VERDICT], unjudged[Column.VERDICT]) == ("valid", "invalid", "")
    assert model.index(by_id["20260114-090120-i9j0"], Column.VERDICT).data(Qt.ItemDataRole.DecorationRole) is None
    for row, state in ((by_id["20260114-101500-k1l2"], "failed"), (by_id["20260112-081502-a1b2"], "done")):
        index = model.index(row, Column.STATE)
        assert index.data() == state
        assert not index.data(Qt.ItemDataRole.DecorationRole).isNull()


def test_hostile_names_are_shown_literally(qtbot: QtBot, workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", name=MARKUP, question=MARKUP, host=TURNED))
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(lines_of(workstation.runs()))
    cells = [table.runs.index(0, column) for column in Column]
    assert cells[Column.NAME].data() == MARKUP
    assert cells[Column.HOSTS].data() == "abc\\u202edef\\u200b"
    for cell in cells:
        tip = cell.data(Qt.ItemDataRole.ToolTipRole) or ""
        assert "<img" not in tip
        assert "\u202e" not in tip


def test_the_cursor_stays_on_its_run_whatever_is_sorted_found_or_read_anew(
    qtbot: QtBot, workstation: Workstation
) -> None:
    copied_library(workstation)
    lines = lines_of(workstation.runs())
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(lines)
    chosen = [lines[2].id, lines[4].id]
    table.select(chosen)
    table.horizontalHeader().setSortIndicator(Column.NAME, Qt.SortOrder.AscendingOrder)
    assert {line.id for line in table.chosen()} == set(chosen)
    assert table.current() == lines[2]
    table.show_lines([*lines, lines_of([replace(lines[0].summary, id="new")])[0]])
    assert {line.id for line in table.chosen()} == set(chosen)
    table.search(lines[4].id)
    assert [line.id for line in table.chosen()] == [lines[4].id]


def test_when_the_run_under_the_cursor_is_gone_its_neighbour_takes_over(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    lines = lines_of(workstation.runs())
    table = RunTable()
    qtbot.addWidget(table)
    table.show_lines(lines)
    table.select([lines[3].id])
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
    table.show_lines(lines_of(workstation.runs()))
    assert not any(table.isColumnHidden(column) for column in Column)
    table.resize(480, 200)
    hidden = {column for column in Column if table.isColumnHidden(column)}
    assert {Column.QUESTION, Column.STEPS} <= hidden
    assert not {Column.STARTED, Column.NAME, Column.HEADLINE, Column.VERDICT} & hidden
    assert table.columnWidth(Column.NAME) > 60


def test_no_place_is_kept_for_baselines_while_none_is_pinned(qtbot: QtBot, workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2"))
    table = RunTable()
    qtbot.addWidget(table)
    table.resize(1400, 200)
    table.show()
    table.show_lines(lines_of(workstation.runs()))
    assert table.isColumnHidden(Column.BASELINE)
    workstation.pin("20260112-081502-a1b2", "gold")
    table.show_lines(lines_of(workstation.runs()))
    assert not table.isColumnHidden(Column.BASELINE)


@pytest.fixture
def figures(workstation: Workstation) -> FigureModel:
    copied_library(workstation)
    model = FigureModel()
    model.show_lines(figure_lines(workstation.load("20260112-081502-a1b2")))
    return model


def _figure(model: FigureModel, title: str) -> list[str]:
    for row in range(model.rowCount()):
        if model.index(row, 0).data() == title:
            return [model.index(row, column).data() for column in FigureColumn]
    raise AssertionError(title)


@pytest.mark.usefixtures("qapp")
def test_the_table_of_figures_is_a_sound_model(qtmodeltester: ModelTester, figures: FigureModel) -> None:
    qtmodeltester.check(figures)


def test_figures_stand_under_their_step_what_leads_on_top(figures: FigureModel) -> None:
    titles = [figures.index(row, 0).data() for row in range(figures.rowCount())]
    assert titles[:3] == ["disk random read · web-1", "I/Os per second, read", "Completion latency, p99, read"]
    assert titles[-2:] == ["cpu · web-1", "Events per second"]
    assert [figures.index(row, 0).data(HEADING) > 0 for row in range(3)] == [True, False, False]
    assert not figures.index(0, 0).flags() & Qt.ItemFlag.ItemIsSelectable


def test_a_figure_is_told_with_its_spread_its_trials_and_which_way_is_better(figures: FigureModel) -> None:
    assert _figure(figures, "I/Os per second, read")[1:] == [
        "412.0k IOPS", "± 3.0k", "0.49 %", "8", "409.0k to 415.0k IOPS", "↑ higher is better",
    ]  # fmt: skip
    assert _figure(figures, "Completion latency, p99, read")[-1] == "↓ lower is better"


def test_one_trial_has_no_spread(workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", iops=(1000.0,)))
    model = FigureModel()
    model.show_lines(figure_lines(workstation.load("last")))
    cells = _figure(model, "I/Os per second, read")
    assert cells[FigureColumn.SPREAD : FigureColumn.BETTER] == ["—", "—", "1", "—"]


def test_a_failed_run_has_no_figures(workstation: Workstation) -> None:
    record(workstation, Made("20260112-081502-a1b2", iops=(1.0,), state=State.FAILED))
    assert figure_lines(workstation.load("last")) == []


def test_figures_are_copied_whole_with_their_units(figures: FigureModel) -> None:
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
    with qtbot.waitSignal(table.chosen) as asked:
        table.setCurrentIndex(table.figures.index(table.figures.rowCount() - 1, 0))
    assert asked.args == [("cpu", "web-1")]
    assert table.rowSpan(0, 0) == 1
    assert table.columnSpan(0, 0) == len(FigureColumn)
    assert QModelIndex().data(HEADING) is None
