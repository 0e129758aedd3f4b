"""The table of trials: aligned figures, one unit, and a reason where a trial does not count."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.events import State
from suites.fio.metrics import IOPS
from suites.vocab import labels
from tests.messages import messages
from tests.widgets.live_events import PLACE, WRITE, begin, end, folded, sample
from widgets.live.model import RunModel
from widgets.live.trial_table import SPREAD_UP_TO, TrialTable

MESSAGES = messages("widgets-live", "test_live_trial_table")

pytestmark = pytest.mark.usefixtures("qapp")  # a model hands out fonts


def rows(table: TrialTable) -> list[list[str]]:
    return table.content.texts()[1:]


def heads(table: TrialTable) -> list[str]:
    return table.content.texts()[0]


@pytest.fixture
def run() -> RunModel:
    values = [41_000.0, 41_200.0, 41_400.0, 41_600.0]
    return folded([
        begin(1, warm_up=True), end(30_000.0, 1),
        begin(2), *(sample(value, 1.0 + index, 2) for index, value in enumerate(values)), end(41_234.0, 2),
        begin(3, 2), sample(9.0, 1.0, 3), end(None, 3, State.FAILED, "fio on web-1:\nno <b>space</b>."),
        begin(4, 3), sample(40_000.0, 1.0, 4),
    ])  # fmt: skip


def test_figures_share_unit_and_digits_and_reasons_stay(
    qtbot: QtBot, run: RunModel, qtmodeltester: ModelTester
) -> None:
    table = TrialTable()
    qtbot.addWidget(table)
    table.show_trials(run.trials_at(PLACE), IOPS, None)
    assert heads(table) == ["Trial", "Read [k IOPS]", "Min–max [k IOPS]", "Samples", "State"]
    assert rows(table) == [
        ["warm-up 1", "30.00", "—", "0", "warm-up, not counted"],
        ["1", "41.23", "41.00–41.60", "4", "done"],
        ["2", "—", "—", "1", MESSAGES["failed_not_counted_fio_on"]],
        ["3", "40.00", "—", "1", "running"],
    ]
    tip = table.content.index(2, 4).data(Qt.ItemDataRole.ToolTipRole)
    assert "&lt;b&gt;space" in tip
    qtmodeltester.check(table.content)


def test_each_direction_has_its_columns(qtbot: QtBot, run: RunModel) -> None:
    run.fold(sample(17_000.0, 1.0, 4, labelled=WRITE), 99.0)
    table = TrialTable()
    qtbot.addWidget(table)
    table.show_trials(run.trials_at(PLACE), IOPS, None)
    assert heads(table)[1:5] == ["Read [k IOPS]", "Min–max [k IOPS]", "Write [k IOPS]", "Min–max [k IOPS]"]
    assert rows(table)[3][1:5] == ["40.00", "—", "17.0", "—"]
    assert rows(table)[1][3:5] == ["—", "—"]


def test_a_trial_under_way_is_updated_in_place(qtbot: QtBot, run: RunModel) -> None:
    table = TrialTable()
    qtbot.addWidget(table)
    table.show_trials(run.trials_at(PLACE), IOPS, None)
    resets: list[bool] = []
    table.content.modelReset.connect(lambda: resets.append(True))
    run.fold(sample(42_000.0, 2.0, 4), 99.0)
    table.show_trials(run.trials_at(PLACE), IOPS, None)
    assert rows(table)[3][1] == "41.00"
    run.fold(end(43_000.0, 4), 100.0)
    table.show_trials(run.trials_at(PLACE), IOPS, None)
    assert rows(table)[3][1::3] == ["43.00", "done"]
    assert not resets


def test_choosing_a_row_asks_for_its_curves(qtbot: QtBot, keep: Callable[[QWidget], QWidget], run: RunModel) -> None:
    table = TrialTable()
    keep(table)
    views = run.trials_at(PLACE)
    table.show_trials(views, IOPS, views[3])
    assert table.currentIndex().row() == 3
    with qtbot.waitSignal(table.chosen_trial) as chosen:
        qtbot.keyClick(table, Qt.Key.Key_Up)
    assert chosen.args == [views[2]]


def test_of_many_series_each_has_one_column_named_by_what_tells_it_apart(qtbot: QtBot) -> None:
    series = [labels(operation="read", depth=str(depth), jobs="1") for depth in range(1, SPREAD_UP_TO + 2)]
    samples = [sample(1000.0 * (1 + n % 4), float(n), 1, labelled=one) for one in series for n in range(8)]
    table = TrialTable()
    qtbot.addWidget(table)
    table.show_trials(folded([begin(1), *samples]).trials_at(PLACE), IOPS, None)
    assert heads(table) == [
        "Trial",
        *(f"Depth {depth} [IOPS]" for depth in range(1, SPREAD_UP_TO + 2)),
        "Samples",
        "State",
    ]
    assert rows(table) == [["1", *["2500"] * len(series), "8", "running"]]
    whole = table.content.headerData(1, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "depth 1, jobs 1, read" in whole, "what all have in common is told as well"
    assert MESSAGES["750_s_within_the_trial"] in table.content.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert "running" in table.content.index(0, len(series) + 2).data(Qt.ItemDataRole.ToolTipRole)
