"""A heat map in the window: darker where there is more, read under the pointer."""

from collections.abc import Callable

from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QWidget

from app.distributions.charts import heat_chart
from suites.vocab import LatencySlice
from widgets.plots.chart_view import ChartView

READ = (("operation", "read"),)


def test_fields_are_shaded_by_what_is_in_them_and_read_under_the_pointer(keep: Callable[[QWidget], QWidget]) -> None:
    chart = heat_chart([LatencySlice(0.0, 1.0, READ, {1000: 1}), LatencySlice(1.0, 2.0, READ, {1000: 5000})], "t")
    view = ChartView()
    keep(view)
    view.resize(400, 260)
    view.show_chart(chart)
    frame = view._frame(chart)
    few, many = (frame.point(x, 1100.0) for x in (0.5, 1.5))
    picture = view.grab().toImage()
    light, dark = (picture.pixelColor(place.toPoint()) for place in (few, many))
    assert dark.blue() != light.blue()
    assert dark.red() < light.red()
    assert view.text_at(many).startswith("5000 from 1 to 1.33")
    assert view.text_at(QPointF(2, 2)) == ""
