"""The samples of a metric over time, all runs above each other: the baseline grey, each trial a curve."""

from collections.abc import Iterator

from PySide6.QtWidgets import QStackedLayout, QWidget

from app.comparing.compare import Row
from app.wording import label_text, run_letter
from suites.errors import UnknownSuiteError
from suites.units import Unit, convert
from suites.vocab import Labels, Metric
from widgets.compare.compared import Compared
from widgets.compare.run_colour import run_colour
from widgets.live.model import Series, TrialView
from widgets.parts.text import Text, Tone
from widgets.plots.time_plot import TimePlot

FAINT_LIMIT = 12
"""Other trials of a run that are drawn behind the one in front."""


class Overlay(QWidget):
    """One plot. In front is the trial of each run whose figure lies nearest to the run's median."""

    def __init__(self) -> None:
        super().__init__()
        self.plot: TimePlot | None = None
        self._plots: dict[tuple[Metric, Labels], TimePlot] = {}
        self._none = Text("This test gave no samples over time.", Tone.MUTED)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._none)

    def show_row(self, compared: Compared, row: Row) -> None:
        """Show the samples of the row's metric; where it has none, of the metric that leads the step."""
        for metric, labelled in _candidates(compared, row):
            found = [_series(compared, row, number, metric, labelled) for number in range(len(row.sides))]
            if any(found):
                self._draw(row, metric, labelled, found)
                return
        self.plot = None
        self._stack.setCurrentWidget(self._none)

    def _draw(self, row: Row, metric: Metric, labelled: Labels, found: list[list[tuple[TrialView, Series]]]) -> None:
        plot = self.plot = self._ready(metric, labelled)
        ends = [1.0]
        for number, trials in enumerate(found):
            front = _front(row, number, trials)
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
            plot.mark_warm_up(0.0, max(warm))
        plot.window_of_time.set_range(0.0, max(ends), follow=False)
        plot.touch()

    def _ready(self, metric: Metric, labelled: Labels) -> TimePlot:
        """Return an empty plot for `metric`; one is kept for each that was looked at."""
        plot = self._plots.get((metric, labelled))
        if plot is None:
            title = f"{metric.title}, {label_text(labelled)}" if labelled else metric.title
            logarithmic = metric.percentile is not None
            plot = TimePlot(title, metric.unit, better=metric.better, may_be_logarithmic=logarithmic)
            self._plots[metric, labelled] = plot
            self._stack.addWidget(plot)
        plot.clear()
        self._stack.setCurrentWidget(plot)
        return plot


def _candidates(compared: Compared, row: Row) -> Iterator[tuple[Metric, Labels]]:
    yield row.metric, row.labels
    step = compared.step(row.step)
    if step is None:
        return
    try:
        yield step.headline, row.labels
    except UnknownSuiteError:
        return


def _series(
    compared: Compared, row: Row, number: int, metric: Metric, labelled: Labels
) -> list[tuple[TrialView, Series]]:
    """Return the counted trials of a run that have samples of `metric`, in the order in which they ran."""
    side = row.sides[number]
    step, hosts = (row.step, {row.host}) if side is None else (side.step, {side.host, *side.hosts})
    views = [view for host in sorted(hosts) for view in compared.models[number].trials_at((step, host)) if view.counts]
    found = [(view, view.series.get((metric.name, labelled))) for view in views]
    return [(view, series) for view, series in found if series is not None and _drawable(series, metric.unit)]


def _drawable(series: Series, unit: Unit) -> bool:
    return series.metric.unit is unit or {series.metric.unit, unit} <= _TIMES


_TIMES = {Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND}


def _front(row: Row, number: int, trials: list[tuple[TrialView, Series]]) -> TrialView | None:
    """Return the trial that stands for the run: the one whose figure lies nearest to the median."""
    side = row.sides[number]
    if not trials or side is None:
        return trials[-1][0] if trials else None
    return min((view for view, _ in trials), key=lambda view: abs(_figure(view, row) - side.median))


def _figure(view: TrialView, row: Row) -> float:
    wanted = (row.metric.name, row.labels)
    return next(
        (figure.value for figure in view.figures if (figure.metric.name, figure.labels) == wanted), float("inf")
    )
