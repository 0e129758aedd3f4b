"""Plots of a row: its trials or their distribution, and the samples of all runs over time."""

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QStackedLayout, QTabBar, QWidget

from app.comparison.comparison import ComparisonRow, run_letter
from suites.errors import BenchwrightError
from suites.quantities import metric_text
from suites.units import convert
from suites.vocab import Labels, Metric
from widgets.compare.cells import run_colour
from widgets.compare.compare_rows import Compared, CompareLine
from widgets.compare.curves import RowCurves
from widgets.compare.distribution_pane import DistributionPane
from widgets.compare.trial_dots import lanes_of
from widgets.parts.boxes import FittedWidget, column_in, fill, in_row
from widgets.parts.text import Text, Tone
from widgets.plots.time_plot import TimePlot
from widgets.theme import SERIES, SPACE

_PATIENCE = 150
"""Delay before *Reading…* is shown instead of the curves of another row, in ms."""


class Overlay(QWidget):
    """Samples of all runs over time, read on demand. In front is the trial of each run closest to its median."""

    wanted = Signal(object)  # the ComparisonRow whose curves are to be read

    def __init__(self) -> None:
        super().__init__()
        self.plot: TimePlot | None = None
        self._row: ComparisonRow | None = None
        self._plots: dict[tuple[Metric, Labels], TimePlot] = {}
        self._text = Text("", Tone.MUTED)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._text)
        self._waiting = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._waiting.timeout.connect(lambda: self._say("Reading…"))

    def show_row(self, row: ComparisonRow) -> None:
        """Request the curves of a row."""
        self._row = row
        self._waiting.start()
        self.wanted.emit(row)

    def show_curves(self, row: ComparisonRow, found: RowCurves | None) -> None:
        """Draw the curves of `row`, unless another row was selected meanwhile."""
        if row is not self._row:
            return
        self._waiting.stop()
        if found is None:
            self._say("No samples over time.")
        else:
            self._draw(found)

    def show_failure(self, row: ComparisonRow, error: BenchwrightError) -> None:
        """Show why there are no curves."""
        if row is self._row:
            self._waiting.stop()
            self._say(f"{error.message} {error.remedy}".strip())

    def _say(self, text: str) -> None:
        self.plot = None
        self._text.setText(text)
        self._stack.setCurrentWidget(self._text)

    def _draw(self, found: RowCurves) -> None:
        plot = self.plot = self._ready(found.metric, found.labels)
        ends, warm = [1.0], []
        for key, curve in enumerate(found.curves):
            series = curve.series
            plot.add_series(
                key, run_letter(curve.number), run_colour(curve.number), buffer=series.buffer,
                factor=convert(1.0, series.metric.unit, plot.unit), faint=not curve.front,
                dashed=curve.number > len(SERIES),
            )  # fmt: skip
            ends.append(float(series.buffer.times()[-1]))
            warm += [] if series.warm_up_until is None else [series.warm_up_until]
        if warm:
            plot.mark_warm_up(max(warm))
        plot.window_of_time.set_range(0.0, max(ends), follow=False)
        plot.touch()

    def _ready(self, metric: Metric, labelled: Labels) -> TimePlot:
        """Return an empty plot for `metric`; plots are cached by metric."""
        plot = self._plots.get((metric, labelled))
        if plot is None:
            logarithmic = metric.percentile is not None
            plot = TimePlot(
                metric_text(metric, labelled), metric.unit, better=metric.better, may_be_logarithmic=logarithmic
            )
            self._plots[metric, labelled] = plot
            self._stack.addWidget(plot)
        plot.clear()
        self._stack.setCurrentWidget(plot)
        return plot


NARROWEST = 240
WIDE_FROM = 600
"""Width in pixels from which the plots are side by side."""


class RowPlots(FittedWidget):
    """Two plots of one metric, side by side, or in tabs where they do not fit: its trials or their distribution, and
    its samples over time."""

    def __init__(self) -> None:
        super().__init__()
        self.distribution = DistributionPane()
        self.dots = self.distribution.dots
        self.overlay = Overlay()
        self.tabs = QTabBar()
        self.tabs.addTab("Figures")
        self.tabs.addTab("Over time")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.currentChanged.connect(self.fit)
        plots = in_row((self.distribution, 2), (self.overlay, 3), spacing=SPACE[2])
        fill(column_in(self, SPACE[0]), self.tabs, (plots, 1))
        self.fit()

    def show_line(self, compared: Compared, line: CompareLine) -> None:
        """Show the trials and samples of the line's metric for every run."""
        row = line.row
        if row is not None:
            margin = compared.comparison.margin_in(row)
            self.dots.show_lanes(row.metric, row.labels, lanes_of(compared, row), margin)
            self.distribution.show_row(row)
            self.overlay.show_row(row)

    def minimumSizeHint(self) -> QSize:
        """Return the width of one plot: two would keep the page from becoming narrow."""
        return QSize(NARROWEST, super().minimumSizeHint().height())

    def fit(self) -> None:
        """Switch between side by side and tabs."""
        wide = self.width() >= WIDE_FROM
        self.tabs.setVisible(not wide)
        self.distribution.setVisible(wide or self.tabs.currentIndex() == 0)
        self.overlay.setVisible(wide or self.tabs.currentIndex() == 1)
