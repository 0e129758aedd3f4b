"""Statistics of the series of plots over a selected span of time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suites.quantities import ends_text, quantity, share_text
from suites.units import Unit
from widgets.parts.names import MISSING
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.plots.series import Numbers
from widgets.plots.time_plot import TimePlot
from widgets.theme import SPACE


@dataclass(frozen=True, slots=True)
class SpanStatistics:
    """Statistics of the points of a series in a span. `slope` is the least-squares line's, per minute; None with fewer
    than two points. `variation` is the standard deviation by the mean, None for a mean of zero."""

    plot: str
    series: str
    unit: Unit
    n: int
    mean: float
    median: float
    least: float
    greatest: float
    variation: float | None
    p99: float
    slope: float | None

    def text(self, value: float | None) -> str:
        """Return a value with its unit."""
        return MISSING if value is None else quantity(value, self.unit, measured=True)


def statistics_of(plots: Iterable[TimePlot], span: tuple[float, float]) -> Iterator[SpanStatistics]:
    """Yield the statistics of every series of `plots` that is not in the background and has points in `span`."""
    for plot in plots:
        for line in plot.lines.values():
            times, values = line.points(*span)
            inside = (times >= span[0]) & (times <= span[1]) & np.isfinite(values)
            if not line.faint and inside.any():
                yield _statistics(plot, line.title, times[inside], values[inside])


def _statistics(plot: TimePlot, title: str, times: Numbers, values: Numbers) -> SpanStatistics:
    mean = float(values.mean())
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return SpanStatistics(
        plot.title, title, plot.unit, len(values), mean, float(np.median(values)), float(values.min()),
        float(values.max()), None if deviation is None or not mean else deviation / abs(mean),
        float(np.percentile(values, 99)), _slope(times, values),
    )  # fmt: skip


def _slope(times: Numbers, values: Numbers) -> float | None:
    """Return the slope of the least-squares line per minute."""
    spread = times - times.mean()
    squares = float(spread @ spread)
    return 60 * float(spread @ (values - values.mean())) / squares if squares else None


class SpanTable(Table[SpanStatistics]):
    """One row for each series in the selected span."""

    def __init__(self) -> None:
        super().__init__("Statistics of the selected span", TableModel(_COLUMNS), row_padding=SPACE[0])

    def show_span(self, plots: Sequence[TimePlot], span: tuple[float, float] | None) -> None:
        """Show the statistics of `plots` over `span`; none without one."""
        self.show_rows(() if span is None else statistics_of(plots, span))


_COLUMNS: tuple[TableColumn[SpanStatistics], ...] = (
    TableColumn("Plot", lambda row: row.plot),
    TableColumn("Series", lambda row: row.series),
    TableColumn("n", lambda row: str(row.n), align=RIGHT, tip="Samples in the span"),
    TableColumn("Mean", lambda row: row.text(row.mean), align=RIGHT),
    TableColumn("Median", lambda row: row.text(row.median), align=RIGHT),
    TableColumn("Min–max", lambda row: ends_text(row.text(row.least), row.text(row.greatest), link="–"), align=RIGHT),
    TableColumn(
        "CoV", lambda row: MISSING if row.variation is None else share_text(row.variation), align=RIGHT,
        tip="Coefficient of variation: standard deviation / mean",
    ),
    TableColumn("p99", lambda row: row.text(row.p99), align=RIGHT, tip="99th percentile of the samples"),
    TableColumn(
        "Slope/min", lambda row: row.text(row.slope), align=RIGHT, tip="Slope of the least-squares line per minute",
    ),
)  # fmt: skip
