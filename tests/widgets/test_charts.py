"""Charts in the window: what is drawn, read under the pointer, copied and exported."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries
from app.distributions.studies import StudyKind
from app.questions import RefusingAsker
from app.services import Workstation
from tests.app.test_bursts import RUN as BURST_RUN
from tests.app.test_bursts import record_drains
from tests.messages import messages
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.plots.chart_view import ChartView, _row
from widgets.plots.studies import BurstPane, StudyPane

MESSAGES = messages("widgets-plots", "test_charts")

Keep = Callable[[QWidget], QWidget]

BEFORE, AFTER, BLOCKS = "20260112-081502-a1b2", "20260113-141230-e5f6", "20260114-090120-i9j0"

CHART = Chart(
    "Rate",
    ChartAxis("threads"),
    ChartAxis("", share=True, from_zero=True),
    (
        ChartSeries(
            "measured", (1.0, 2.0, 4.0), (0.2, 0.4, 0.5), ChartMark.DOTS, 0, (0.1, None, 0.4), (0.3, None, 0.6)
        ),
        ChartSeries("linear", (1.0, 4.0), (0.2, 0.8), colour=None, dashed=True),
        ChartSeries("steps", (1.0, 2.0, 4.0), (0.1, 0.2, 0.3), ChartMark.STEPS, 1, (0.0, 0.1, 0.2), (0.2, 0.3, 0.4)),
        ChartSeries("bars", (1.0, 2.0, 4.0), (0.1, 0.3, 0.0), ChartMark.BARS, 2),
    ),
    "What it is.",
)


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.fixture
def view(qtbot: QtBot, keep: Keep) -> ChartView:
    made = ChartView()
    keep(made)
    made.resize(500, 300)
    made.show_chart(CHART)
    made.show()
    qtbot.waitExposed(made)
    return made


def test_every_mark_is_drawn_in_its_colour(view: ChartView) -> None:
    image = view.grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert {"#0072b2", "#e69f00", "#009e73"} <= colours


def test_points_are_smaller_than_dots(view: ChartView) -> None:
    counts = []
    for mark in (ChartMark.POINTS, ChartMark.DOTS):
        series = ChartSeries("", (1.0, 2.0, 4.0), (0.2, 0.4, 0.5), mark)
        view.show_chart(replace(CHART, series=(series,)))
        image = view.grab().toImage()
        colours = [image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())]
        counts.append(colours.count("#0072b2"))
    assert 0 < counts[0] < counts[1] / 2


def test_the_pointer_reads_a_point_and_nothing_beside_it(view: ChartView) -> None:
    point = view._frame(CHART).point(2.0, 0.4)
    assert view.text_at(point).splitlines() == ["measured", "threads: 2", "40.0 %"]
    assert view.text_at(point + QPointF(60, 5)) == ""


def test_a_legend_that_is_too_wide_has_rows_above_the_plot(view: ChartView) -> None:
    wide = view._frame(CHART).area.top()
    view.resize(view.minimumWidth(), 300)
    rows = {row for _, row, _ in view._keys(CHART)}
    assert len(rows) > 1
    assert all(left < view.width() for _, _, left in view._keys(CHART))
    assert view._frame(CHART).area.top() - wide == pytest.approx(max(rows) * _row())


def test_a_chart_is_copied_as_data_and_picture(view: ChartView) -> None:
    view.copy_data()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[:2] == ["series", "threads"]
    assert lines[1].split("\t") == ["measured", "1", "0.2", "0.1", "0.3"]
    assert len(lines) == 1 + 3 + 2 + 3 + 3
    view.copy_picture()
    assert QGuiApplication.clipboard().image().size() == QSize(500, 300)


def test_nothing_to_show_draws_nothing(view: ChartView) -> None:
    view.show_chart(None)
    view.grab()
    assert view.text_at(QPointF(10, 10)) == ""


def _study(keep: Keep, workstation: Workstation, study: StudyKind, *runs: str) -> StudyPane:
    pane = StudyPane(study, workstation)
    keep(pane)
    pane.show_runs(runs)
    assert pane.content is None  # nothing is computed before it is seen
    pane.show()
    return pane


def test_a_study_of_noise_reads_shows_and_exports(
    qtbot: QtBot, keep: Keep, workstation: Workstation, tmp_path: Path
) -> None:
    copied_library(workstation)
    pane = _study(keep, workstation, StudyKind.NOISE, BEFORE, AFTER)
    assert not pane.export_button.isEnabled()
    _settle(qtbot)
    titles = [view.chart.title.split(",")[0] for view in pane.views if view.chart]
    assert titles == ["Trials on a host", "Samples within a trial"]
    for name in ("noise.png", "noise.csv"):
        pane.export_to(tmp_path / name)
        _settle(qtbot)
    assert (tmp_path / "noise.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "noise.csv").read_text().count("\n") > 4
    pane.export_to(tmp_path / "noise.txt")
    assert not (tmp_path / "noise.txt").exists()
    pane.copy_data()
    assert "most repeatable" in QGuiApplication.clipboard().text()


def test_runs_that_cannot_be_read_are_told(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    pane = _study(keep, workstation, StudyKind.SCALING, "nothing")
    _settle(qtbot)
    assert "There is no run" in pane.notice.text()


def test_bursts_take_a_load(qtbot: QtBot, keep: Keep, workstation: Workstation, tmp_path: Path) -> None:
    record_drains(workstation._store)
    pane = BurstPane(workstation)
    keep(pane)
    pane.show_runs([BURST_RUN])
    pane.show()
    _settle(qtbot)
    (view,) = pane.views
    assert view.chart is not None
    assert "empties" not in view.chart.note
    qtbot.keyClicks(pane.load, "1500 cheese")
    qtbot.keyClick(pane.load, Qt.Key.Key_Return)
    assert "cheese" in pane.notice.text()
    pane.load.clear()
    qtbot.keyClicks(pane.load, "1500")
    qtbot.keyClick(pane.load, Qt.Key.Key_Return)
    (view,) = pane.views
    assert view.chart is not None
    assert "empties the bucket" in view.chart.note
    assert pane.notice.isHidden()
    pane.export_to(tmp_path / "burst.csv")
    _settle(qtbot)
    assert "spent" in (tmp_path / "burst.csv").read_text()
    assert StudyKind.BURST not in workstation.analyses.missing(workstation.load(BURST_RUN))


def test_a_run_without_the_end_of_a_burst_has_no_burst_tab(workstation: Workstation) -> None:
    copied_library(workstation)
    found = workstation.analyses.missing(workstation.load(BEFORE))[StudyKind.BURST]
    assert found == MESSAGES["no_burst"]


def test_the_comparison_shows_how_values_are_distributed(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    copied_library(workstation)
    page = ComparePage(workstation, RefusingAsker())
    keep(page)
    page.resize(1000, 700)
    page.show()
    page.compare([BEFORE, AFTER])
    _settle(qtbot)
    assert page.plots is not None
    pane = page.plots.distribution
    assert pane.dots.isVisible()
    for kind, title in ((1, "ECDF of samples"), (2, "Shift against the baseline"), (3, "Histogram of samples")):
        pane.kinds.setCurrentIndex(kind)
        _settle(qtbot)
        assert pane.view.chart is not None
        assert pane.view.chart.title.startswith(title)
        assert pane.view.isVisible()
    page.table.selectRow(3)  # another metric: what was read of the one before is not shown
    _settle(qtbot)
    pane.kinds.setCurrentIndex(0)
    assert pane.dots.isVisible()


def test_what_is_not_comparable_has_no_shift_and_says_why(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    copied_library(workstation)
    page = ComparePage(workstation, RefusingAsker())
    keep(page)
    page.show()
    page.compare([BEFORE, BLOCKS])
    _settle(qtbot)
    assert page.plots is not None
    pane = page.plots.distribution
    pane.kinds.setCurrentIndex(2)
    _settle(qtbot)
    assert "bs 16 KiB" in pane.note.text()
    assert pane.note.isVisible()
    pane.kinds.setCurrentIndex(1)
    assert pane.note.text().startswith("Worst sample: A ")


def test_a_distribution_that_cannot_be_read_says_why(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    copied_library(workstation)
    page = ComparePage(workstation, RefusingAsker())
    keep(page)
    page.show()
    page.compare([BEFORE, AFTER])
    _settle(qtbot)
    workstation.delete(AFTER)
    assert page.plots is not None
    page.plots.distribution.kinds.setCurrentIndex(1)
    _settle(qtbot)
    assert "There is no run" in page.plots.distribution.note.text()
