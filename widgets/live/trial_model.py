"""The trials of a step as a table: one unit in each head, figures aligned, what does not count kept with its reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.events import State
from app.wording import decimals, label_text
from suites.units import Display
from suites.vocab import Labels, Metric
from widgets.live.headline import Estimate, of_samples
from widgets.live.model import TrialView
from widgets.parts.text import tool_tip, visible
from widgets.plots.prefix import prefix
from widgets.theme import figure_font, palette

Index = QModelIndex | QPersistentModelIndex

_MISSING = "—"

SPREAD_UP_TO = 3
"""Series that have a column for their spread, too; more would push each other out of sight."""

_TRIAL_TIP = "Trials in the order in which they ran"
_VALUE_TIP = "The tool's own figure for the whole trial; while it runs, the median of its samples so far"
_WITHIN_TIP = "Half the distance between the quartiles of the samples within the trial"
_SAMPLES_TIP = "Samples that count: those of a ramp or warm-up do not"
_STATE_TIP = "Whether the trial counts, and why not"


@dataclass(slots=True)
class _Column:
    """One series of the leading metric over all trials: a value and its spread, in one unit with common digits."""

    metric: Metric
    labels: Labels
    told: Labels = ()
    """Those of its labels that tell it from the other columns."""

    display: Display = Display(1.0, "")
    places: int = 0
    within: dict[int, Estimate | None] = field(default_factory=dict)

    def measure(self, views: Sequence[TrialView]) -> None:
        """Read the trials; the spread of one that has ended is kept."""
        for view in views:
            if view.ended is None or view.trial.id not in self.within:
                series = view.series.get((self.metric.name, self.labels))
                self.within[view.trial.id] = of_samples(series) if series is not None else None
        values = [value for view in views if (value := self.value(view)) is not None]
        if not values:
            return
        largest = max(values, key=abs)
        self.display = prefix(largest, self.metric.unit)
        halves = [found.half for found in self.within.values() if found is not None and found.half]
        divisor = self.display.divisor
        self.places = decimals(largest / divisor, min(halves) / divisor if halves else None)

    def value(self, view: TrialView) -> float | None:
        """Return the tool's figure, or the median so far of a trial under way."""
        for figure in view.figures:
            if figure.metric.name == self.metric.name and figure.labels == self.labels:
                return figure.value
        found = self.within.get(view.trial.id)
        return None if found is None or view.ended is not None else found.value

    def text(self, value: float | None) -> str:
        """Return `value` in the column's unit and digits."""
        return _MISSING if value is None else f"{value / self.display.divisor:.{self.places}f}"

    def head(self) -> str:
        """Return what the column is called."""
        words = label_text(self.told)
        return f"{words[:1].upper()}{words[1:]}" if words else self.metric.title

    def suffix(self) -> str:
        """Return the unit for the head."""
        return f" [{self.display.suffix}]" if self.display.suffix else ""


class TrialModel(QAbstractTableModel):
    """Rows are trials, the first on top. For each series of the leading metric there are two columns."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._views: list[TrialView] = []
        self._columns: list[_Column] = []

    def show_trials(self, views: Sequence[TrialView], metric: Metric | None) -> None:
        """Show these trials by `metric`."""
        wanted = _series(views, metric)
        same = len(views) == len(self._views) and all(a is b for a, b in zip(views, self._views, strict=True))
        if not same or wanted != [(column.metric, column.labels) for column in self._columns]:
            self.beginResetModel()
            self._views, self._columns = list(views), _columns(wanted)
            for column in self._columns:
                column.measure(views)
            self.endResetModel()
            return
        for column in self._columns:
            column.measure(views)
        if views:
            last = self.columnCount() - 1
            self.dataChanged.emit(self.index(0, 0), self.index(len(views) - 1, last))
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)

    def view_at(self, row: int) -> TrialView | None:
        """Return the trial in `row`, or None."""
        return self._views[row] if 0 <= row < len(self._views) else None

    def row_of(self, view: TrialView | None) -> int:
        """Return the row of `view`, -1 where it is not shown."""
        return next((row for row, shown in enumerate(self._views) if shown is view), -1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default: an invalid index)
        """Return how many trials there are."""
        return 0 if parent.isValid() else len(self._views)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as above)
        """Return the number of columns."""
        return 0 if parent.isValid() else 3 + self._each * len(self._columns)

    @property
    def _each(self) -> int:
        """How many columns a series has: of many, the spread is told by the tool tip alone."""
        return 1 if len(self._columns) > SPREAD_UP_TO else 2

    def _spread_of(self, section: int) -> bool:
        return self._each > 1 and section % 2 == 0

    def _column(self, section: int) -> _Column:
        return self._columns[(section - 1) // self._each]

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heads, with the unit."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.ToolTipRole:
            return tool_tip(self._head(section)[1])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(section)
        return visible(self._head(section)[0]) if role == Qt.ItemDataRole.DisplayRole else None

    def _head(self, section: int) -> tuple[str, str]:
        """Return the words of a head and of its tool tip."""
        ends = {0: ("Trial", _TRIAL_TIP), self.columnCount() - 2: ("Samples", _SAMPLES_TIP)}
        ends[self.columnCount() - 1] = ("State", _STATE_TIP)
        if section in ends:
            return ends[section]
        column = self._column(section)
        if self._spread_of(section):
            return f"± within{column.suffix()}", _WITHIN_TIP
        whole = label_text(column.labels)
        return column.head() + column.suffix(), f"{whole}\n{_VALUE_TIP}".strip()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        view = self.view_at(index.row())
        if view is None:
            return None
        last = index.column() == self.columnCount() - 1
        answers: dict[Qt.ItemDataRole, Callable[[], Any]] = {
            Qt.ItemDataRole.DisplayRole: lambda: self._text(view, index.column()),
            Qt.ItemDataRole.TextAlignmentRole: lambda: self._alignment(index.column()),
            Qt.ItemDataRole.FontRole: figure_font,
            Qt.ItemDataRole.ToolTipRole: lambda: tool_tip(_state(view) if last else self._spread(view, index.column())),
            Qt.ItemDataRole.ForegroundRole: lambda: None if _may_count(view) else QColor(palette().muted),
        }
        answer = answers.get(Qt.ItemDataRole(role))
        return answer() if answer is not None else None

    def _text(self, view: TrialView, section: int) -> str:
        last = self.columnCount() - 1
        if section == 0:
            return f"warm-up {view.trial.number}" if view.trial.warm_up else str(view.trial.number)
        if section == last:
            return visible(_state(view)).replace("\n", " ")
        if section == last - 1:
            counts = [found.n for column in self._columns if (found := column.within.get(view.trial.id)) is not None]
            return str(max(counts, default=0))
        column = self._column(section)
        found = column.within.get(view.trial.id)
        half = found.half if found is not None else None
        return column.text(half if self._spread_of(section) else column.value(view))

    def _spread(self, view: TrialView, section: int) -> str:
        """Return how the samples within a trial spread, where no column tells it."""
        if self._each > 1 or not 0 < section <= len(self._columns):
            return ""
        column = self._column(section)
        found = column.within.get(view.trial.id)
        known = found is not None and found.half is not None
        return f"± {column.text(found.half)} {column.display.suffix} within the trial" if known and found else ""

    def _alignment(self, section: int) -> Qt.AlignmentFlag:
        figures = 0 < section < self.columnCount() - 1
        return (Qt.AlignmentFlag.AlignRight if figures else Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter


def _series(views: Sequence[TrialView], metric: Metric | None) -> list[tuple[Metric, Labels]]:
    """Return every series of `metric` that a trial has, in the order in which they appeared."""
    if metric is None:
        return []
    found = [labelled for view in views for name, labelled in view.series if name == metric.name]
    found += [figure.labels for view in views for figure in view.figures if figure.metric.name == metric.name]
    return [(metric, labelled) for labelled in dict.fromkeys(found)] or [(metric, ())]


def _columns(series: Sequence[tuple[Metric, Labels]]) -> list[_Column]:
    """Return a column for each of `series`; labels that all of them have are said by none."""
    common = set.intersection(*(set(labels) for _, labels in series)) if len(series) > 1 else set()
    return [
        _Column(metric, labels, tuple(label for label in labels if label not in common)) for metric, labels in series
    ]


def _may_count(view: TrialView) -> bool:
    return not view.trial.warm_up and (view.ended is None or view.ended.state is State.DONE)


def _state(view: TrialView) -> str:
    if view.ended is None:
        return "running"
    if view.ended.state is State.DONE:
        return "warm-up, not counted" if view.trial.warm_up else "done"
    word = "stopped, not counted" if view.ended.state is State.PARTIAL else "failed, not counted"
    return f"{word}: {view.ended.reason}" if view.ended.reason else word
