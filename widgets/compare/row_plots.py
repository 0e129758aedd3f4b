"""Plots of a row: its trials or their distribution, and the samples of all runs over time."""

from collections.abc import Iterator

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedLayout, QTabBar, QWidget

from app.comparison.comparison import ComparisonRow, run_letter
from suites.errors import UnknownSuiteError
from suites.quantities import metric_text
from suites.units import Unit, convert
from suites.vocab import Labels, Metric
from widgets.compare.cells import run_colour
from widgets.compare.compare_rows import Compared, CompareLine
from widgets.compare.distribution_pane import DistributionPane
from widgets.compare.trial_dots import lanes_of
from widgets.live.model import LiveSeries, TrialView
from widgets.parts.boxes import FittedWidget, column_in, fill, in_row
from widgets.parts.text import Text, Tone
from widgets.plots.time_plot import TimePlot
from widgets.theme import SPACE

FAINT_LIMIT = 12
"""Trials of a run drawn faintly behind the representative one."""


class Overlay(QWidget):
    """Samples of all runs over time. In front is the trial of each run that is closest to its median."""

    def __init__(self) -> None:
        super().__init__()
        self.plot: TimePlot | None = None
        self._plots: dict[tuple[Metric, Labels], TimePlot] = {}
        self._none = Text("No samples over time.", Tone.MUTED)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._none)

    def show_row(self, compared: Compared, row: ComparisonRow) -> None:
        """Show the samples of the row's metric, or of the step's headline metric if it has none."""
        for metric, labelled in _candidates(compared, row):
            found = [_series(compared, row, number, metric, labelled) for number in range(len(row.sides))]
            if any(found):
                self._draw(row, metric, labelled, found)
                return
        self.plot = None
        self._stack.setCurrentWidget(self._none)

    def _draw(
        self, row: ComparisonRow, metric: Metric, labelled: Labels, found: list[list[tuple[TrialView, LiveSeries]]]
    ) -> None:
        plot = self.plot = self._ready(metric, labelled)
        ends = [1.0]
        for number, trials in enumerate(found):
            front = _representative_trial(row, number, trials)
            behind = [pair for pair in trials if pair[0] is not front][-FAINT_LIMIT:]
            for view, series in [*behind, *(pair for pair in trials if pair[0] is front)]:
                factor = convert(1.0, series.metric.unit, plot.unit)
                plot.add_series(
                    (number, view.trial.id), run_letter(number), run_colour(number),
                    buffer=series.buffer, factor=factor, faint=view is not front,
                )  # fmt: skip
                ends.append(view.latest())
        warm = [until for trials in found for view, _ in trials if (until := view.warm_up_until())]
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


def _candidates(compared: Compared, row: ComparisonRow) -> Iterator[tuple[Metric, Labels]]:
    yield row.metric, row.labels
    step = compared.step(row.step)
    if step is None:
        return
    try:
        yield step.headline, row.labels
    except UnknownSuiteError:
        return


def _series(
    compared: Compared, row: ComparisonRow, number: int, metric: Metric, labelled: Labels
) -> list[tuple[TrialView, LiveSeries]]:
    """Return the counted trials of a run that have samples of `metric`, in run order."""
    side = row.sides[number]
    step, hosts = (row.step, {row.host}) if side is None else (side.step, {side.host, *side.hosts})
    views = [view for host in sorted(hosts) for view in compared.models[number].trials_at((step, host)) if view.counts]
    found = [(view, view.series.get((metric.name, labelled))) for view in views]
    return [(view, series) for view, series in found if series is not None and _drawable(series, metric.unit)]


def _drawable(series: LiveSeries, unit: Unit) -> bool:
    return series.metric.unit is unit or {series.metric.unit, unit} <= _TIMES


_TIMES = {Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND}


def _representative_trial(
    row: ComparisonRow, number: int, trials: list[tuple[TrialView, LiveSeries]]
) -> TrialView | None:
    """Return the representative trial of the run: the one closest to the median."""
    side = row.sides[number]
    if not trials or side is None:
        return trials[-1][0] if trials else None
    return min((view for view, _ in trials), key=lambda view: abs(_figure(view, row) - side.median))


def _figure(view: TrialView, row: ComparisonRow) -> float:
    wanted = (row.metric.name, row.labels)
    return next(
        (figure.value for figure in view.figures if (figure.metric.name, figure.labels) == wanted), float("inf")
    )


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
            self.overlay.show_row(compared, row)

    def minimumSizeHint(self) -> QSize:
        """Return the width of one plot: two would keep the page from becoming narrow."""
        return QSize(NARROWEST, super().minimumSizeHint().height())

    def fit(self) -> None:
        """Switch between side by side and tabs."""
        wide = self.width() >= WIDE_FROM
        self.tabs.setVisible(not wide)
        self.distribution.setVisible(wide or self.tabs.currentIndex() == 0)
        self.overlay.setVisible(wide or self.tabs.currentIndex() == 1)
