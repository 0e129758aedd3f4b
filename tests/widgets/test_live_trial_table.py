"""The table of trials: aligned figures, one unit, and a reason where a trial does not count."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import State
from suites.fio.metrics import IOPS
from suites.vocab import labels
from tests.widgets.live_events import PLACE, WRITE, begin, end, folded, sample
from widgets.live.model import RunModel
from widgets.live.trial_model import SPREAD_UP_TO, TrialModel
from widgets.live.trial_table import TrialTable

pytestmark = pytest.mark.usefixtures("qapp")  # a model hands out fonts


def rows(model: TrialModel) -> list[list[str]]:
    columns = range(model.columnCount())
    return [[str(model.index(row, column).data()) for column in columns] for row in range(model.rowCount())]


def heads(model: TrialModel) -> list[str]:
    return [str(model.headerData(column, Qt.Orientation.Horizontal)) for column in range(model.columnCount())]


@pytest.fixture
def run() -> RunModel:
    values = [41_000.0, 41_200.0, 41_400.0, 41_600.0]
    return folded([
        begin(1, warm_up=True), end(30_000.0, 1),
        begin(2), *(sample(value, 1.0 + index, 2) for index, value in enumerate(values)), end(41_234.0, 2),
        begin(3, 2), sample(9.0, 1.0, 3), end(None, 3, State.FAILED, "fio on web-1:\nno <b>space</b>."),
        begin(4, 3), sample(40_000.0, 1.0, 4),
    ])  # fmt: skip


def test_figures_share_unit_and_digits_and_reasons_stay(run: RunModel, qtmodeltester: object) -> None:
    model = TrialModel()
    model.show_trials(run.trials_at(PLACE), IOPS)
    assert heads(model) == ["Trial", "Read [k/s]", "± within [k/s]", "Samples", "State"]
    assert rows(model) == [
        ["warm-up 1", "30.00", "—", "0", "warm-up, not counted"],
        ["1", "41.23", "0.15", "4", "done"],
        ["2", "—", "—", "1", "failed, not counted: fio on web-1: no <b>space</b>."],
        ["3", "40.00", "—", "1", "running"],
    ]
    tip = model.index(2, 4).data(Qt.ItemDataRole.ToolTipRole)
    assert "&lt;b&gt;space" in tip
    qtmodeltester.check(model)  # type: ignore[attr-defined]  # pytest-qt's fixture has no type of its own


def test_each_direction_has_its_columns(run: RunModel) -> None:
    run.fold(sample(17_000.0, 1.0, 4, labelled=WRITE), 99.0)
    model = TrialModel()
    model.show_trials(run.trials_at(PLACE), IOPS)
    assert heads(model)[1:5] == ["Read [k/s]", "± within [k/s]", "Write [k/s]", "± within [k/s]"]
    assert rows(model)[3][1:5] == ["40.00", "—", "17.0", "—"]
    assert rows(model)[1][3:5] == ["—", "—"]


def test_a_trial_under_way_is_updated_in_place(run: RunModel) -> None:
    model = TrialModel()
    model.show_trials(run.trials_at(PLACE), IOPS)
    resets: list[bool] = []
    model.modelReset.connect(lambda: resets.append(True))
    run.fold(sample(42_000.0, 2.0, 4), 99.0)
    model.show_trials(run.trials_at(PLACE), IOPS)
    assert rows(model)[3][1] == "41.00"
    run.fold(end(43_000.0, 4), 100.0)
    model.show_trials(run.trials_at(PLACE), IOPS)
    assert rows(model)[3][1::3] == ["43.00", "done"]
    assert not resets


def test_choosing_a_row_asks_for_its_curves(qtbot: QtBot, keep: Callable[[QWidget], QWidget], run: RunModel) -> None:
    table = TrialTable()
    keep(table)
    views = run.trials_at(PLACE)
    table.show_trials(views, IOPS, views[3])
    assert table.currentIndex().row() == 3
    with qtbot.waitSignal(table.chosen) as chosen:
        qtbot.keyClick(table, Qt.Key.Key_Up)
    assert chosen.args == [views[2]]


def test_of_many_series_each_has_one_column_named_by_what_tells_it_apart() -> None:
    series = [labels(operation="read", depth=str(depth), jobs="1") for depth in range(1, SPREAD_UP_TO + 2)]
    samples = [sample(1000.0 * (1 + n % 4), float(n), 1, labelled=one) for one in series for n in range(8)]
    model = TrialModel()
    model.show_trials(folded([begin(1), *samples]).trials_at(PLACE), IOPS)
    assert heads(model) == [
        "Trial",
        *(f"Depth {depth} [/s]" for depth in range(1, SPREAD_UP_TO + 2)),
        "Samples",
        "State",
    ]
    assert rows(model) == [["1", *["2500"] * len(series), "8", "running"]]
    whole = model.headerData(1, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "depth 1, jobs 1, read" in whole, "what all have in common is told as well"
    assert "± 750 /s within the trial" in model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert "running" in model.index(0, len(series) + 2).data(Qt.ItemDataRole.ToolTipRole)
