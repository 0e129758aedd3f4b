"""The history of a run's metric: read when it is looked at, its dots open runs, its changes are named."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from pytestqt.qtbot import QtBot

from app.history import History, HistoryError, HistoryQuery, read_history
from app.store.store import Store
from suites.verdict import Trust
from tests.messages import messages
from tests.simulation.history import results, store_of_history
from widgets.library.history_panel import HistoryPanel
from widgets.library.history_plot import date_texts
from widgets.theme import palette

MESSAGES = messages("widgets-library", "test_library_history")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with thirty runs, slower by a tenth since the kernel of the 16th."""
    path = tmp_path_factory.mktemp("history") / "runs.sqlite3"
    values = results(np.random.default_rng(4), 30, 0.01)
    values[15:] *= 0.9
    store_of_history(path, values, {15: "6.5.0"}, trials=2).close()
    return path


def shown(qtbot: QtBot, stored: Path) -> HistoryPanel:
    """Return the panel with the history of the last run."""
    store = Store(stored)
    panel = HistoryPanel()
    qtbot.addWidget(panel)
    panel.resize(700, 420)
    panel.show()
    panel.show_run(store.load("last"), partial(read_history, store))
    qtbot.waitUntil(lambda: "−" in panel.changes.text())
    return panel


@pytest.mark.slow
def test_a_change_is_named_with_what_changed_beside_it(qtbot: QtBot, stored: Path) -> None:
    panel = shown(qtbot, stored)
    assert panel.changes.text().splitlines()[1].startswith("▼1 ")
    assert "kernel 6.5.0 against 6.1.0" in panel.changes.text()
    assert panel.notes.text().startswith(MESSAGES["30_comparable_runs_higher_is"])
    assert panel.changes.y() < panel.plot.y()
    assert panel.metrics.currentText() == "I/O operations, read · random read"


@pytest.mark.slow
def test_it_copies_as_data_by_key_and_reads_the_run_at_hand(qtbot: QtBot, stored: Path) -> None:
    plot = shown(qtbot, stored).plot
    QGuiApplication.clipboard().clear()
    plot.setFocus()
    qtbot.keyClick(plot, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    head, *rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert head[:3] == ["run", "started", "value [1/s]"]
    assert len(rows) == 30
    assert [bool(row[-1]) for row in rows].index(True) == 15
    interface = QAccessible.queryAccessibleInterface(plot)
    qtbot.keyClick(plot, Qt.Key.Key_Left)
    assert interface.role() is QAccessible.Role.Chart
    assert rows[28][0] in interface.text(QAccessible.Text.Description)


def test_the_time_of_an_import_is_marked_as_such(qtbot: QtBot, stored: Path) -> None:
    store, panel = Store(stored), HistoryPanel()

    def imported(query: HistoryQuery) -> History:
        found = read_history(store, query)
        return replace(found, points=tuple(replace(point, undated=True) for point in found.points))

    qtbot.addWidget(panel)
    panel.show()
    panel.show_run(store.load("last"), imported)
    qtbot.waitUntil(lambda: "−" in panel.changes.text())
    assert "30 runs" in panel.notes.text().partition("import time")[2]
    qtbot.keyClick(panel.plot, Qt.Key.Key_Left)
    described = QAccessible.queryAccessibleInterface(panel.plot).text(QAccessible.Text.Description)
    assert "imported 20" in described


def test_a_change_within_the_margin_is_drawn_quieter(qtbot: QtBot, stored: Path) -> None:
    panel = shown(qtbot, stored)
    vivid = []
    for _ in range(2):
        image = panel.plot.grab().toImage()
        x = round(panel.plot._x(14.5))
        box = [image.pixelColor(x + across, y) for across in range(-8, 9) for y in range(2, 19)]  # the mark above
        vivid.append(max(colour.saturation() for colour in box if colour.value() < 250))
        panel.margin.setValue(20)
        qtbot.waitUntil(lambda: "within the margin" in panel.changes.text())
    assert "20 %" in panel.changes.text().splitlines()[0]
    assert vivid[0] > 2 * vivid[1]


def test_a_doubtful_result_is_a_ring_and_counted(qtbot: QtBot, stored: Path) -> None:
    panel = shown(qtbot, stored)
    assert "○" not in panel.notes.text()
    store = Store(stored)
    found = read_history(store, panel._queries[0])
    points = tuple(replace(one, trust=Trust.VALID) for one in found.points)
    doubted = replace(found, points=(*points[:3], replace(points[3], trust=Trust.DOUBTFUL), *points[4:]))
    pixels = []
    for each in (replace(found, points=points), doubted):
        panel._show(each)
        image = panel.plot.grab().toImage()
        place = QPointF(panel.plot._x(3), panel.plot._y(each.points[3].value, panel.plot._bounds(each))).toPoint()
        pixels.append(image.pixelColor(place * image.devicePixelRatio()).name())
    assert pixels == [palette().accent.lower(), palette().surface.lower()]
    assert next(line for line in panel.notes.text().splitlines() if "○" in line).endswith(" 1 result.")


@pytest.mark.slow
def test_runs_treated_as_outliers_are_named(qtbot: QtBot, tmp_path: Path) -> None:
    values = results(np.random.default_rng(4), 30, 0.01)
    values[15:] *= 0.9
    values[20] *= 0.7
    store_of_history(tmp_path / "runs", values, {}).close()
    panel = shown(qtbot, tmp_path / "runs")
    assert any("outlier" in line and "2026-000020-h" in line for line in panel.notes.text().splitlines())
    history = panel.plot._history
    assert history is not None
    assert "outlier" in panel.plot.details(history.points[20])
    assert "outlier" not in panel.plot.details(history.points[3])


def test_a_dot_opens_its_run_by_mouse_and_by_keys(qtbot: QtBot, stored: Path) -> None:
    plot = shown(qtbot, stored).plot
    with qtbot.waitSignal(plot.run_chosen) as clicked:
        qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(round(plot._x(3)), plot.height() // 2))
    assert clicked.args == ["2026-000003-h"]
    qtbot.keyClick(plot, Qt.Key.Key_Left)
    with qtbot.waitSignal(plot.run_chosen) as opened:
        qtbot.keyClick(plot, Qt.Key.Key_Return)
    assert opened.args == ["2026-000028-h"]


def test_what_cannot_be_read_is_said(qtbot: QtBot, stored: Path) -> None:
    def fail(_wanted: HistoryQuery) -> None:
        raise HistoryError("There is no figure.")

    panel = HistoryPanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.show_run(Store(stored).load("last"), fail)  # type: ignore[arg-type]  # it never returns
    qtbot.waitUntil(lambda: panel.notice.text() == "There is no figure.")
    assert not panel.plot.isVisible()


def test_runs_of_one_day_are_labelled_with_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets.library.history_plot.local_time", lambda text: text.replace("T", " "))
    assert date_texts(["2026-11-20T14:08", "2026-11-20T15:30", "2026-11-21T09:00"]) == [
        "2026-11-20",
        "15:30",
        "2026-11-21",
    ]
