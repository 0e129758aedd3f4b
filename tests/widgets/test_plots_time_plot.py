"""A plot on the screen: what it draws, reads, copies and leaves alone."""

import math
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QColor, QFont, QGuiApplication, QImage, QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.output import write_whole
from app.records import Band
from suites.units import Unit
from suites.vocab import Better
from tests.messages import messages
from widgets import theme
from widgets.plots.markers import draw_shape, shape_of
from widgets.plots.plot_header import MOST_ROWS, Legend, LegendEntry, without_common_parts
from widgets.plots.redraw import INTERVAL
from widgets.plots.span_statistics import statistics_of
from widgets.plots.stack import PlotStack
from widgets.plots.time_plot import TimePlot
from widgets.plots.timeline import PhaseKind
from widgets.theme import series_colour

MESSAGES = messages("widgets-plots", "test_plots_time_plot")

BAND = Band("run-0", "before the upgrade", "iops", (), "1/s", 40_000.0, 39_000.0, 41_000.0, 40_100.0)
HOSTILE = '<img src="file:///etc/passwd"><b>x</b>'


Keep = Callable[[QWidget], QWidget]
Show = Callable[..., TimePlot]


@pytest.fixture
def shown(qtbot: QtBot, keep: Keep) -> Callable[..., TimePlot]:
    def show(title: str = "IOPS", unit: Unit = Unit.PER_SECOND, **more: Any) -> TimePlot:
        plot = TimePlot(title, unit, **more)
        keep(plot)
        plot.resize(700, 260)
        with qtbot.waitExposed(plot):
            plot.show()
        return plot

    return show


def filled(plot: TimePlot, key: str = "read", values: Callable[[int], float] = float, points: int = 60) -> None:
    plot.add_series(key, key, series_colour(len(plot.lines)))
    for index in range(points):
        plot.append(key, index + 1.0, values(index))


def drawn(plot: TimePlot) -> QImage:
    plot.refresh()
    return plot.grab().toImage()


def colours(image: QImage) -> set[str]:
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def described(plot: TimePlot) -> str:
    """Return what a screen reader reads of a plot, which it takes for a chart."""
    found = QAccessible.queryAccessibleInterface(plot.view)
    assert found.role() is QAccessible.Role.Chart
    assert found.childCount() == 0
    assert found.text(QAccessible.Text.Name) == f"Plot: {plot.title}"
    return found.text(QAccessible.Text.Description)


def test_the_words_of_a_plot_are_made_when_they_are_read(shown: Show) -> None:
    plot = shown()
    assert described(plot) == "no samples"
    filled(plot, "read", points=60)
    made = MagicMock(side_effect=plot.plot_description)
    plot.view.describe = made
    drawn(plot)
    assert made.call_count == 0
    assert described(plot) == "latest read 59.0/s"


def test_the_crosshair_reads_all_curves_and_the_baseline_at_once(shown: Show) -> None:
    plot = shown()
    filled(plot, "read", lambda index: 41_000.0 + index)
    filled(plot, "write", lambda index: 12_000.0 if index < 30 else math.nan)
    plot.set_band("read", BAND)
    plot.refresh()
    plot.window_of_time.move_cursor(20.2)
    reading = plot.head.reading.text()
    assert reading == "0:20.2   read 41.0k/s   write 12.0k/s   baseline 40.0k/s"
    assert described(plot) == f"latest read 41.1k/s, write no sample; {plot._band_text()}; {reading}"
    plot.window_of_time.move_cursor(50.0)
    assert "write no sample" in plot.head.reading.text()


def test_a_curve_that_ended_is_not_read_beyond_its_end(shown: Show) -> None:
    plot = shown()
    filled(plot, "read", points=60)
    filled(plot, "early", points=5)
    plot.refresh()
    plot.window_of_time.move_cursor(20.0)
    assert plot.reading() == "0:20.0   read 19.0/s   early no sample"


def test_a_shared_buffer_is_drawn_when_it_has_grown(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    buffer = plot.add_series("read", "read", series_colour(0))
    qtbot.waitUntil(lambda: not plot._redraw._timer.isActive())
    plot.look()
    assert not plot._redraw._timer.isActive()
    buffer.append(1.0, 5.0)
    plot.look()
    qtbot.waitUntil(lambda: plot.lines["read"].curve.xData is not None and len(plot.lines["read"].curve.xData) == 1)


def test_arrow_keys_move_the_crosshair_from_sample_to_sample(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda index: 100.0 * index)
    plot.window_of_time.set_range(0, 60, follow=False)
    plot.refresh()
    qtbot.keyClick(plot.view, Qt.Key.Key_Left)
    qtbot.keyClick(plot.view, Qt.Key.Key_Left)
    assert plot.window_of_time.cursor == 58.0
    qtbot.keyClick(plot.view, Qt.Key.Key_PageUp)
    assert plot.window_of_time.cursor == 38.0
    assert "3700/s" in plot.reading()


def test_the_figure_of_a_trial_is_within_the_axis_even_without_its_samples(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda _index: 100.0)
    plot.set_levels([("read", 0.0, 30.0, 100.0), ("read", 30.0, 60.0, 400.0)])
    plot.refresh()
    assert plot.scaling.bounds.high >= 400.0
    plot.window_of_time.zoom_to(1.0, 20.0)
    plot.refresh()
    assert plot.scaling.bounds.high < 400.0


def test_the_pointer_moves_the_crosshair_of_all_plots_of_a_stack(qtbot: QtBot, keep: Keep) -> None:
    stack = PlotStack()
    keep(stack)
    first = stack.add_plot("a", "A", Unit.PER_SECOND)
    second = stack.add_plot("b", "B", Unit.PERCENT, rank=5)
    stack.resize(600, 400)
    with qtbot.waitExposed(stack):
        stack.show()
    filled(first)
    filled(second)
    for plot in (first, second):
        plot.refresh()
    area = first.view.box.sceneBoundingRect()
    qtbot.mouseMove(first.view.viewport(), QPoint(int(area.center().x()), int(area.center().y())))
    qtbot.waitUntil(lambda: first.window_of_time.cursor is not None)
    assert second.head.reading.text().startswith("0:")
    assert second.view.cursor.isVisible()


def test_a_rate_starts_at_zero_and_the_unit_stands_in_the_head(shown: Show) -> None:
    plot = shown(better=Better.HIGHER)
    filled(plot, values=lambda index: 41_000.0 + index)
    plot.refresh()
    assert plot.view.box.viewRange()[1] == [0.0, 50_000.0]
    assert (plot.head.title.text(), plot.head.unit.text()) == ("IOPS", "[k/s]")
    assert plot.head.note.text() == "↑ higher is better"
    plot.menu.from_zero.trigger()
    plot.refresh()
    assert plot.view.box.viewRange()[1][0] > 40_000


def test_an_emptied_plot_forgets_its_range(shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda _index: 900_000.0)
    plot.refresh()
    plot.clear()
    filled(plot, values=lambda _index: 412_000.0)
    plot.refresh()
    assert plot.view.box.viewRange()[1] == [0.0, 500_000.0]
    assert plot.head.unit.text() == "[k/s]"


def test_a_latency_over_more_than_two_decades_is_logarithmic(shown: Show) -> None:
    plot = shown("Latency", Unit.NANOSECOND, may_be_logarithmic=True)
    filled(plot, "p50", lambda _index: 80_000.0)
    plot.refresh()
    assert not plot.scaling.bounds.logarithmic
    filled(plot, "max", lambda index: 20e6 if index else 0.0)
    plot.refresh()
    assert plot.scaling.bounds.logarithmic
    assert "logarithmic" in plot.head.note.text()
    low, high = plot.view.box.viewRange()[1]
    assert low == pytest.approx(np.log10(50_000.0))
    assert high == pytest.approx(np.log10(20e6))
    ticks = plot.view.value_axis.tickValues(low, high, 200)[0][1]
    assert plot.view.value_axis.tickStrings(ticks, 1.0, 1.0)[:2] == ["50 µs", "100 µs"]
    # A latency of zero has no place on a logarithmic axis: it is a gap, not a point at the bottom.
    assert np.isnan(plot.lines["max"].curve.yData[0])


def test_the_baseline_is_a_grey_band_with_a_dashed_median(shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda _index: 30_000.0)
    without = drawn(plot)
    plot.set_band("read", BAND)
    with_band = drawn(plot)
    (stripe,) = plot.view.backdrop.stripes
    assert (stripe.low, stripe.median, stripe.high) == (39_000.0, 40_000.0, 41_000.0)
    assert MESSAGES["baseline_before_the_upgrade"] in plot.head.reading.text()
    row = int(plot.view.backdrop.y(40_000.0) + plot.view.y() + plot.view.box.sceneBoundingRect().top())
    grey = QColor(theme.palette().baseline).name()
    assert grey in {with_band.pixelColor(x, row + shift).name() for x in range(100, 500) for shift in (-1, 0, 1)}
    assert grey not in {without.pixelColor(x, row + shift).name() for x in range(100, 500) for shift in (-1, 0, 1)}
    plot.set_band("read", None)
    plot.refresh()
    assert plot.view.backdrop.stripes == ()


def test_a_band_in_another_unit_is_converted(shown: Show) -> None:
    plot = shown("Bandwidth", Unit.BYTES_PER_SECOND)
    filled(plot, values=lambda _index: 1e9)
    plot.set_band("read", Band("r", "b", "bandwidth", (), "MB/s", 900.0, 800.0, 1000.0, None))
    plot.refresh()
    assert plot.view.backdrop.stripes[0].median == 900e6


def test_a_peak_between_pixels_is_drawn(shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda index: 5000.0 if index == 33_333 else 1000.0, points=60_000)
    plot.refresh()
    line = plot.lines["read"]
    assert len(line.curve.xData) <= 2 * plot.view.box.width() + 2
    assert line.curve.yData.max() == 5000.0


def test_every_series_has_a_shape_of_its_own_besides_its_colour(shown: Show) -> None:
    plot = shown()
    for number in range(len(theme.SERIES)):
        filled(plot, str(number), float, points=5)
    pictures = set()
    for line in plot.lines.values():
        image = QImage(16, 16, QImage.Format.Format_ARGB32)
        image.fill(0)
        with QPainter(image) as painter:
            painter.setBrush(QColor("black"))
            draw_shape(painter, shape_of(line.colour), QPointF(8, 8))
        pictures.add(bytes(image.constBits()))
    assert len(pictures) == len(theme.SERIES)
    plot.refresh()
    assert plot.lines["0"].curve._shaped() == [0, 1, 2, 3, 4]
    filled(plot, "long", points=5000)
    plot.refresh()
    assert 5 < len(plot.lines["long"].curve._shaped()) < 15


def test_a_single_sample_can_be_seen(shown: Show) -> None:
    plot = shown()
    plot.add_series("read", "read", QColor("#ff0000"))
    plot.append("read", 5.0, 3000.0)
    assert "#ff0000" in colours(drawn(plot))


def test_copying_as_data_gives_whole_figures_with_units_and_leaves_gaps_empty(shown: Show) -> None:
    plot = shown()
    plot.add_series("read", "=read\t1", series_colour(0))
    plot.add_series("write", "write", series_colour(1))
    plot.append("read", 1.0, 41_234.567)
    plot.append("read", 2.0, math.nan)
    plot.append("write", 2.0, 12.0)
    plot.set_band("read", BAND)
    plot.menu.copy_data()
    rows = [row.split("\t") for row in QGuiApplication.clipboard().text().splitlines()]
    assert rows[0][:3] == ["time [s]", "'=read\\u00091 [1/s]", "write [1/s]"]
    assert rows[0][3:] == [f"before the upgrade {words} [1/s]" for words in ("median", "low", "high")]
    assert rows[1] == ["1", "41234.567", "", "40000", "39000", "41000"]
    assert rows[2] == ["2", "", "12", "40000", "39000", "41000"]


def test_copying_as_data_gives_the_figure_of_every_trial(shown: Show) -> None:
    plot = shown()
    plot.add_series("read", "read", series_colour(0))
    plot.append("read", 1.0, 90.0)
    plot.append("read", 2.0, 110.0)
    plot.set_levels([("read", 0.0, 3.0, 101.5), ("read", 4.0, 7.0, 400.0)])  # the second has no samples
    plot.menu.copy_data()
    rows = [row.split("\t") for row in QGuiApplication.clipboard().text().splitlines()]
    assert rows == [
        ["time [s]", "read [1/s]", "read, whole trial [1/s]"],
        ["0", "", "101.5"],
        ["1", "90", "101.5"],
        ["2", "110", "101.5"],
        ["4", "", "400"],
    ]


def test_copying_as_picture_and_saving_give_the_plot_twice_as_fine(
    qtbot: QtBot, shown: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot = shown()
    filled(plot)
    plot.menu.copy_picture()
    copied = QGuiApplication.clipboard().image()
    assert copied.width() == plot.width() * 2
    path, threads = tmp_path / "plot.png", []

    def write(target: Path, content: bytes) -> Path:
        threads.append(threading.current_thread())
        return write_whole(target, content)

    monkeypatch.setattr("widgets.plots.plot_menu.write_whole", write)
    plot.menu.save_picture(str(path))
    qtbot.waitUntil(lambda: plot.head.reading.text() == f"Saved {path}.")
    plot.refresh()  # as a running test does ten times a second
    assert plot.head.reading.text() == f"Saved {path}."
    assert QImage(str(path)).size() == copied.size()
    plot.menu.save_picture(f"{path}/below-a-file.png")
    qtbot.waitUntil(lambda: "Choose another folder." in plot.head.reading.text())
    assert threading.main_thread() not in threads
    plot.head._message.setInterval(0)
    qtbot.waitUntil(lambda: not plot.head.reading.text())


def test_words_of_a_host_are_never_markup(shown: Show) -> None:
    plot = shown(HOSTILE)
    plot.add_series("a", HOSTILE, series_colour(0))
    plot.add_series("b", "b", series_colour(1))
    plot.append("a", 1.0, 1.0)
    plot.append("b", 1.0, 2.0)
    plot.set_band("a", Band("r", HOSTILE, "iops", (), "1/s", 1.0, 1.0, 1.0, None))
    plot.mark_finding(1.0, HOSTILE)
    plot.refresh()
    plot.window_of_time.move_cursor(1.0)
    plain = HOSTILE.replace("\n", " ")
    assert plain in plot.head.title.text()
    assert plain in plot.head.reading.text()
    assert next(action.text() for action in plot.menu.actions() if action.text()) == "Copy as image"
    drawn(plot)


def test_a_finding_is_a_mark_whose_words_show_at_its_time(shown: Show) -> None:
    plot = shown()
    filled(plot)
    plot.mark_finding(20.0, "Another guest took the CPU: steal 4.2 %")
    plot.refresh()
    plot.window_of_time.move_cursor(20.1)
    assert MESSAGES["another_guest_took_the_cpu"] in plot.head.reading.text()
    plot.window_of_time.move_cursor(40.0)
    assert "▲" not in plot.head.reading.text()


def test_a_warm_up_is_shaded_and_grows(shown: Show) -> None:
    plot = shown()
    filled(plot)
    plot.mark_warm_up(3.0)
    plot.mark_warm_up(5.0)
    plot.refresh()
    assert [(one.kind, one.start, one.end) for one in plot.view.backdrop.phases] == [(PhaseKind.WARM_UP, 0.0, 5.0)]


def test_up_to_four_curves_are_named_where_they_end_and_more_in_a_legend(shown: Show) -> None:
    plot = shown()
    for name in "abcd":
        filled(plot, name, float, points=5)
    plot.refresh()
    assert not plot.legend.isVisible()
    assert [label.text for label in plot.view.labels._labels] == list("abcd")
    filled(plot, "e", float, points=5)
    plot.refresh()
    assert plot.legend.isVisible()
    assert plot.legend.accessibleName() == "a, b, c, d, e"
    plot.window_of_time.move_cursor(2.0)
    assert plot.legend.accessibleName().startswith("a 1.00/s, b 1.00/s")


def test_a_drag_opens_a_range_and_home_shows_everything(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    filled(plot)
    plot.window_of_time.set_range(0, 60, follow=False)
    plot.refresh()
    area = plot.view.box.sceneBoundingRect()
    middle = int(area.center().y())
    left, right = int(area.left() + area.width() / 4), int(area.left() + area.width() / 2)
    viewport = plot.view.viewport()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=QPoint(left, middle))
    qtbot.mouseMove(viewport, QPoint(right, middle))
    qtbot.waitUntil(lambda: plot.view.foreground.box is not None)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=QPoint(right, middle))
    start, end = plot.window_of_time.shown
    assert (round(start), round(end)) == (15, 30)
    plot.append("read", 300.0, 1.0)
    plot.refresh()
    assert plot.window_of_time.shown == (start, end)
    assert plot.head.everything.isVisible()
    qtbot.keyClick(plot.view, Qt.Key.Key_Home)
    assert plot.window_of_time.shown == (0, 60)
    plot.window_of_time.go_back()
    assert plot.window_of_time.shown == (start, end)


def test_the_wheel_zooms_pans_and_leaves_plots_that_scroll_alone(qtbot: QtBot, shown: Show, keep: Keep) -> None:
    plot = shown()
    filled(plot)
    plot.refresh()
    before = plot.window_of_time.shown

    def turn(modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> tuple[float, float]:
        where = QPointF(plot.view.rect().center())
        none, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(where, where, QPoint(), QPoint(0, 120), none, modifiers, phase, False)
        QApplication.sendEvent(plot.view.viewport(), event)
        return plot.window_of_time.shown

    start, end = turn()
    assert end - start < before[1] - before[0]
    earlier = turn(Qt.KeyboardModifier.ShiftModifier)
    assert earlier[0] < start
    assert earlier[1] - earlier[0] == pytest.approx(end - start)
    for _ in range(3):
        qtbot.keyClick(plot.view, Qt.Key.Key_Minus)
    assert plot.window_of_time.shown == before
    area = QScrollArea(widgetResizable=True)
    keep(area)
    area.setWidget(plot)
    plot.setMinimumHeight(900)
    area.resize(700, 200)
    with qtbot.waitExposed(area):
        area.show()
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    assert turn() == before, "the wheel scrolls"
    assert turn(Qt.KeyboardModifier.ControlModifier) != before


def test_a_box_zooms_values_too_and_history_goes_back_and_forward(shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda index: 1000.0 * index)
    plot.window_of_time.set_range(0, 60, follow=False)
    plot.view.box_chosen.emit(10.0, 20.0, 2000.0, 9000.0)
    plot.refresh()
    assert plot.view.box.viewRange() == [[10.0, 20.0], [2000.0, 9000.0]]
    plot.window_of_time.pan(-0.5)
    plot.refresh()
    assert plot.window_of_time.shown == (5.0, 15.0)
    plot.window_of_time.go_back()
    plot.refresh()
    assert plot.view.box.viewRange() == [[10.0, 20.0], [2000.0, 9000.0]]
    plot.window_of_time.go_back()
    assert not plot.window_of_time.zoomed
    plot.window_of_time.go_forward()
    plot.window_of_time.go_forward()
    plot.window_of_time.go_forward()
    assert plot.window_of_time.shown == (5.0, 15.0)


def test_keys_select_a_span_and_its_statistics_are_of_the_samples_in_it(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    filled(plot, values=lambda index: 100.0 * index, points=60)
    plot.window_of_time.set_range(0, 60, follow=False)
    plot.refresh()
    plot.window_of_time.move_cursor(20.0)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Right):
        qtbot.keyClick(plot.view, key, Qt.KeyboardModifier.ShiftModifier)
    assert plot.window_of_time.selection == (20.0, 22.0)
    (found,) = statistics_of([plot], (20.0, 22.0))
    assert (found.n, found.mean, found.median, found.least, found.greatest) == (3, 2000.0, 2000.0, 1900.0, 2100.0)
    assert found.variation == pytest.approx(0.05)
    assert found.slope == pytest.approx(6000.0)
    assert found.p99 == pytest.approx(2098.0)
    assert list(statistics_of([plot], (70.0, 80.0))) == []


def test_it_redraws_ten_times_a_second_at_most_and_not_at_all_when_nothing_comes(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    plot.add_series("read", "read", series_colour(0))
    qtbot.waitUntil(lambda: not plot._stale)
    redraws: list[float] = []
    refresh = plot.refresh

    def watched() -> None:
        redraws.append(time.monotonic())
        refresh()

    plot.refresh = watched  # type: ignore[method-assign]  # notes the moment, and does the same
    for index in range(2000):
        plot.append("read", float(index), 1.0)
        if index % 40 == 0:
            qtbot.wait(5)
    qtbot.waitUntil(lambda: not plot._redraw._timer.isActive())
    assert redraws
    assert all(later - earlier >= INTERVAL * 0.8 for earlier, later in pairwise(redraws))


def test_the_first_point_after_a_quiet_moment_is_drawn_at_once(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    plot.add_series("read", "read", series_colour(0))
    qtbot.waitUntil(lambda: not plot._redraw._timer.isActive() and time.monotonic() > plot._redraw._next)
    plot.append("read", 1.0, 1.0)
    assert plot._redraw._timer.remainingTime() <= 1


def test_a_hidden_plot_takes_points_without_a_timer_and_draws_them_when_shown(qtbot: QtBot, shown: Show) -> None:
    plot = shown()
    plot.add_series("read", "read", series_colour(0))
    plot.hide()
    qtbot.waitUntil(lambda: not plot._redraw._timer.isActive())
    plot.append("read", 1.0, 5.0)
    assert not plot._redraw._timer.isActive()
    plot.show()
    qtbot.waitUntil(lambda: len(plot.lines["read"].curve.xData) == 1)


@pytest.mark.usefixtures("dressed")
def test_new_colours_are_taken_at_once(shown: Show) -> None:
    plot = shown()
    filled(plot)
    try:
        theme.set_appearance(theme.Appearance.DARK)
        assert theme.DARK.surface in colours(drawn(plot))
        theme.set_appearance(theme.Appearance.LIGHT)
        assert theme.LIGHT.surface in colours(drawn(plot))
    finally:
        theme.set_appearance(theme.Appearance.SYSTEM)


def test_every_part_has_a_name_for_those_who_cannot_see_it(shown: Show) -> None:
    plot = shown("Latency")
    assert plot.view.accessibleName() == "Plot: Latency"
    assert plot.head.menu_button.accessibleName() == "Menu of the plot Latency"


def test_lines_are_one_pixel_wide_and_long_ones_are_not_smoothed(shown: Show) -> None:
    plot = shown()
    filled(plot, points=20_000)
    filled(plot, "write", points=20_000)
    plot.refresh()
    curve = plot.lines["read"].curve
    assert curve.opts["pen"].widthF() == 1.0
    assert curve.opts["antialias"] is False


def test_the_lowest_plot_of_a_stack_shows_the_clock(keep: Keep) -> None:
    stack = PlotStack()
    keep(stack)
    stack.add_plot("host", "Host", Unit.PERCENT, rank=50)
    stack.add_plot("leading", "IOPS", Unit.PER_SECOND, rank=0, stretch=4)
    assert stack.shown() == ("leading", "host")
    assert stack.plots["host"].view.time_axis.style["showValues"]
    assert not stack.plots["leading"].view.time_axis.style["showValues"]
    stack.chooser.toggled.emit("host", False)
    assert stack.shown() == ("leading",)
    assert stack.plots["leading"].view.time_axis.style["showValues"]


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_choice_of_plots_is_remembered_filtered_and_on_the_screen(qtbot: QtBot, keep: Keep) -> None:
    stack = PlotStack()
    keep(stack)
    for number in range(40):
        stack.add_plot(f"p{number}", f"Plot {number}", Unit.PERCENT, shown=number < 2)
    button = QToolButton()
    keep(button)
    screen = button.screen().availableGeometry()
    button.move(screen.right() - 20, screen.bottom() - 20)
    button.show()
    stack.choose_plots(button)
    chooser = stack.chooser
    assert screen.contains(chooser.frameGeometry())
    qtbot.keyClicks(chooser.filter, "plot 3")
    assert [row for row in range(40) if not chooser.list.item(row).isHidden()] == [3, 13, 23, *range(30, 40)]
    chooser.list.item(3).setCheckState(Qt.CheckState.Checked)
    chooser.hide()
    assert stack.shown() == ("p0", "p1", "p3")
    other = PlotStack()
    keep(other)
    other.add_plot("p3", "Plot 3", Unit.PERCENT, shown=False)
    assert other.shown() == ("p3",)


def test_all_plots_copy_as_one_table_and_as_csv_and_fit_with_one_key(qtbot: QtBot, keep: Keep) -> None:
    stack = PlotStack()
    keep(stack)
    first, second = (stack.add_plot(name, name, Unit.PER_SECOND) for name in ("a", "b"))
    stack.resize(600, 400)
    with qtbot.waitExposed(stack):
        stack.show()
    filled(first, "read", lambda index: 1000.0 + index, points=2)
    filled(second, "load", points=3)
    stack.copy_data()
    data = QGuiApplication.clipboard().mimeData()
    csv = bytes(data.data("text/csv").data()).decode().splitlines()
    assert csv == ["time [s],a: read [1/s],b: load [1/s]", "1,1000,0", "2,1001,1", "3,,2"]
    assert data.text().splitlines()[1] == "1\t1000\t0"
    assert stack.picture().width() == 2 * stack._inner.width()
    first.view.setFocus()
    qtbot.keyClick(first.view, Qt.Key.Key_F)
    first.refresh()
    assert first.scaling.bounds.low > 900
    qtbot.keyClick(first.view, Qt.Key.Key_0)
    first.refresh()
    assert first.scaling.bounds.low == 0


def test_axes_grow_with_the_text(shown: Show, qapp: QApplication) -> None:
    plot, font = shown(), qapp.font()
    before = plot.view.value_axis.width()
    larger = QFont(font)
    larger.setPointSizeF(2 * font.pointSizeF())
    try:
        qapp.setFont(larger)
        grown = shown("Large").view.value_axis.width()
    finally:
        qapp.setFont(font)
    assert grown > 1.6 * before


def test_in_a_narrow_head_the_unit_stays_and_an_arrow_says_which_way_is_better(shown: Show) -> None:
    plot = shown("Completion latency, p99 by depth", Unit.NANOSECOND, better=Better.LOWER)
    filled(plot, values=lambda index: 2e6 + index)
    plot.refresh()
    plot.resize(260, 200)
    assert (plot.head.unit.text(), plot.head.note.text()) == ("[ms]", "↓")
    assert plot.head.unit.width() >= plot.head.unit.sizeHint().width()


def test_a_legend_says_only_what_tells_its_curves_apart_and_leaves_room_for_them(qtbot: QtBot) -> None:
    titles = [f"buffer {size} KiB, {way}, threads 1" for size in (1, 4, 16, 64) for way in ("tcp", "udp")]
    assert without_common_parts(titles)[:2] == ["buffer 1 KiB, tcp", "buffer 1 KiB, udp"]
    assert without_common_parts(["read"]) == ["read"]
    legend = Legend()
    qtbot.addWidget(legend)
    legend.resize(300, 20)
    legend.set_entries([LegendEntry(title, series_colour(0)) for title in titles])
    assert legend.minimumHeight() <= MOST_ROWS * legend.fontMetrics().height() + MOST_ROWS
    assert all(title in legend.toolTip() for title in titles)
    assert not legend.grab().isNull()
