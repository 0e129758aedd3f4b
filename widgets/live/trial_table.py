"""Table of a step's trials, excluded ones with their reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import Signal

from app.events import State
from suites.quantities import decimals, ends_text, first_upper, label_text, scale
from suites.units import Display
from suites.vocab import Labels, Metric
from widgets.live.headline import SampleSpread, spread_of
from widgets.live.model import TrialView
from widgets.parts.names import MISSING
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel

SPREAD_UP_TO = 3
"""Up to this many series have a column for their range; of more, the tool tip shows it."""


@dataclass(slots=True)
class TrialSeries:
    """One series of the headline metric over all trials: values and ranges in one unit with equal decimals."""

    metric: Metric
    labels: Labels
    heading: Labels = ()
    """Its labels that differ between the columns."""

    display: Display = Display(1.0, "")
    decimal_places: int = 0
    within: dict[int, SampleSpread | None] = field(default_factory=dict)

    def measure(self, views: Sequence[TrialView]) -> None:
        """Read the trials; the range of an ended one is read once."""
        for view in views:
            if view.ended is None or view.trial.id not in self.within:
                series = view.series.get((self.metric.name, self.labels))
                self.within[view.trial.id] = spread_of(series) if series is not None else None
        values = [value for view in views if (value := self.value(view)) is not None]
        if not values:
            return
        largest = max(values, key=abs)
        self.display = scale(self.metric, largest)
        ranges = [found.greatest - found.least for found in self.within.values() if found is not None]
        least = min((found for found in ranges if found), default=0.0)
        divisor = self.display.divisor
        self.decimal_places = decimals(largest / divisor, least / divisor or None)

    def value(self, view: TrialView) -> float | None:
        """Return the tool's figure, or the median so far of a trial under way."""
        for figure in view.figures:
            if figure.metric.name == self.metric.name and figure.labels == self.labels:
                return figure.value
        found = self.within.get(view.trial.id)
        return None if found is None or view.ended is not None else found.median

    def text(self, value: float | None) -> str:
        """Return `value` in the column's unit and digits."""
        return MISSING if value is None else f"{value / self.display.divisor:.{self.decimal_places}f}"

    def range(self, view: TrialView) -> str:
        """Return the least and the greatest sample of a trial: ``40.9–41.8``."""
        found = self.within.get(view.trial.id)
        return (
            MISSING
            if found is None or found.n < 2
            else ends_text(self.text(found.least), self.text(found.greatest), link="–")
        )

    def within_text(self, view: TrialView) -> str:
        """Return the range of the samples within a trial for a tool tip; empty if unknown."""
        shown = self.range(view)
        return "" if shown == MISSING else f"{shown} {self.display.suffix} within the trial"

    def head(self) -> str:
        """Return the name of the column."""
        text = label_text(self.heading)
        return first_upper(text) or self.metric.title


class TrialTable(Table[TrialView]):
    """One row per trial; each series of the headline metric has a column, and one for its range."""

    chosen_trial = Signal(object)  # the TrialView

    def __init__(self) -> None:
        self._series: list[TrialSeries] = []
        super().__init__("Trials of this step", TableModel(_columns([])))
        self.selectionModel().currentRowChanged.connect(self._choose)

    def show_trials(self, views: Sequence[TrialView], metric: Metric | None, front: TrialView | None) -> None:
        """Show these trials by `metric`; `front` is the one whose curves are drawn."""
        wanted = _series(views, metric)
        if wanted != [(each.metric, each.labels) for each in self._series]:
            self._series = _trial_series(wanted)
        for each in self._series:
            each.measure(views)
        quiet = self.selectionModel().blockSignals(True)
        self.show_rows(views, _columns(self._series))
        row = next((row for row, view in enumerate(views) if view is front), -1)
        if row >= 0 and self.currentIndex().row() != row:
            self.setCurrentIndex(self.content.index(row, 0))
        self.selectionModel().blockSignals(quiet)

    def _choose(self) -> None:
        view = self.current()
        if view is not None:
            self.chosen_trial.emit(view)


def _columns(series: Sequence[TrialSeries]) -> list[TableColumn[TrialView]]:
    """Return the columns for `series`; of many, the tool tip alone shows the range."""

    def tone(view: TrialView) -> str:
        return "" if _may_count(view) else "muted"

    def samples(view: TrialView) -> str:
        counts = [found.n for each in series if (found := each.within.get(view.trial.id)) is not None]
        return str(max(counts, default=0))

    several = len(series) > SPREAD_UP_TO
    columns: list[TableColumn[TrialView]] = [
        TableColumn(
            "Trial", lambda view: view.trial.title if view.trial.warm_up else str(view.trial.number),
            tip="Trials in order of execution", tone=tone, more=lambda _view: "",
        ),
    ]  # fmt: skip
    for each in series:
        columns.append(_value_column(each, tone, several=several))
        if not several:
            columns.append(_range_column(each, tone))
    return [
        *columns,
        TableColumn(
            "Samples", samples, align=RIGHT, tone=tone, more=lambda _view: "",
            tip="Samples without ramp and warm-up",
        ),
        TableColumn(
            "State", _state, tone=tone, tip="Whether the trial counts, or why not", stretch=True, more=_state
        ),
    ]  # fmt: skip


def _value_column(each: TrialSeries, tone: Callable[[TrialView], str], *, several: bool) -> TableColumn[TrialView]:
    tip = "The tool's figure for the whole trial; while it runs, the median of its samples so far"
    return TableColumn(
        each.head(),
        lambda view: each.text(each.value(view)),
        unit=each.display.suffix,
        align=RIGHT,
        tip=f"{label_text(each.labels)}\n{tip}".strip(),
        more=each.within_text if several else lambda _view: "",
        tone=tone,
    )


def _range_column(each: TrialSeries, tone: Callable[[TrialView], str]) -> TableColumn[TrialView]:
    return TableColumn(
        "Min–max",
        each.range,
        unit=each.display.suffix,
        align=RIGHT,
        tip="Least and greatest sample within the trial, without ramp and warm-up",
        more=lambda _view: "",
        tone=tone,
    )


def _series(views: Sequence[TrialView], metric: Metric | None) -> list[tuple[Metric, Labels]]:
    """Return every series of `metric` that a trial has, in the order in which they appeared."""
    if metric is None:
        return []
    found = [labelled for view in views for name, labelled in view.series if name == metric.name]
    found += [figure.labels for view in views for figure in view.figures if figure.metric.name == metric.name]
    return [(metric, labelled) for labelled in dict.fromkeys(found)] or [(metric, ())]


def _trial_series(series: Sequence[tuple[Metric, Labels]]) -> list[TrialSeries]:
    """Return a column for each of `series`, headed by the labels that not all of them have."""
    common = set.intersection(*(set(labels) for _, labels in series)) if len(series) > 1 else set()
    return [
        TrialSeries(metric, labels, tuple(label for label in labels if label not in common))
        for metric, labels in series
    ]


def _may_count(view: TrialView) -> bool:
    return not view.trial.warm_up and (view.ended is None or view.ended.state is State.DONE)


def _state(view: TrialView) -> str:
    if view.ended is None:
        return "running"
    if view.ended.state is State.DONE:
        return f"{view.trial.kind}, not counted" if view.trial.warm_up else "done"
    word = "stopped, not counted" if view.ended.state is State.PARTIAL else "failed, not counted"
    return f"{word}: {view.ended.reason}" if view.ended.reason else word
