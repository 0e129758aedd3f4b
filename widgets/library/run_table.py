"""Table of runs: filtered, sorted and grouped; keeps cursor and selection on the same runs."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QStyle, QStyleOptionViewItem, QWidget

from app.library_rows import LibraryRow
from app.library_table import COLUMNS, ListColumn, RowGroup, grouped, sorted_rows
from app.run_matching import Selection
from suites.quantities import WIDE, decimals, ends_text, scale, uncertainty_text
from suites.units import Display
from suites.vocab import Metric
from widgets.library.run_columns import (
    EDITABLE,
    TREND_NAME,
    GroupLine,
    ListLine,
    table_column,
    trend_column,
)
from widgets.library.run_rows import Trends, summary_of
from widgets.parts.names import MISSING
from widgets.parts.sparkline import paint_sparkline
from widgets.parts.table import RowDelegate, Table
from widgets.parts.table_model import ROW, TableColumn, TableModel
from widgets.parts.text import strong, visible

SETTLED = 120
"""Delay after the last cursor move before the run is opened, in ms: held arrow keys must not open every run."""

LOOKED_AT = 1000
"""Rows from which the shared unit is taken."""

MORE = 2
"""Decimals of a headline value beyond three digits of the median: a precise run must not widen them all."""

TREND = Qt.ItemDataRole.UserRole + 2
"""Role of the values of a trend and the number of the run in it."""

WINDOW_COLUMNS = (
    "started", "name", "host", "type", "headline", "half", "trials", TREND_NAME, "state", "verdict", "baseline", "tag",
)  # fmt: skip
"""The columns of a new window."""

Index = QModelIndex | QPersistentModelIndex


def _known(names: Iterable[str]) -> list[ListColumn | None]:
    """Return the columns of every library called `names`; None for the trend."""
    every = {column.name: column for column in COLUMNS}
    return [every.get(name) for name in names if name in every or name == TREND_NAME]


def _kept(rows: Iterable[LibraryRow]) -> list[LibraryRow]:
    """Return the rows that are not in the bin."""
    return [row for row in rows if not row.binned]


class RunListModel(TableModel[ListLine]):
    """Runs that match a filter, in groups if wanted. The unit of equal headline metrics is in the head."""

    edited = Signal(object, str, str)  # a LibraryRow, the field of its annotation, the text

    def __init__(self) -> None:
        super().__init__((), shaded=lambda line: isinstance(line, GroupLine))
        self.has_headings = True
        self.matched: Sequence[LibraryRow] = ()
        self.trends: Trends = {}
        self.needed: frozenset[str] = frozenset()
        self.grouping = ""
        self._shared: tuple[Display, int] | None = None  # of the headline values
        self.collapsed: set[str] = set()
        self._select: Selection = _kept
        self._listed: list[ListColumn | None] = []
        self.set_columns(_known(WINDOW_COLUMNS))

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [TREND_NAME if column is None else column.name for column in self._listed]

    def show_all(
        self, rows: Sequence[LibraryRow], columns: Sequence[ListColumn | None] | None, select: Selection | None
    ) -> None:
        """Show other rows, columns and what `select` returns of them, at once; None: as before."""
        self.beginResetModel()
        self.rows = tuple(rows)
        self._select = select or self._select
        if columns is not None:
            self._set_columns(columns)
        self._arrange_lines()
        self.endResetModel()

    def set_columns(self, columns: Sequence[ListColumn | None]) -> None:
        """Show other columns; None is the trend. The rows stay in the order of their column."""
        self.beginResetModel()
        self._set_columns(columns)
        self._arrange_lines()
        self.endResetModel()

    def _made(self, column: ListColumn | None) -> TableColumn[ListLine]:
        if column is None:
            return trend_column(lambda: self.trends)
        return table_column(column, lambda: self.needed)

    def _set_columns(self, columns: Sequence[ListColumn | None]) -> None:
        sorted_by = self._sort_column()
        self._listed = list(columns)
        self.columns = tuple(map(self._made, columns))
        self._sorted_by = next((at for at, each in enumerate(columns) if each and each.name == sorted_by), -1)

    def keep(self, select: Selection) -> None:
        """Show the rows that `select` returns."""
        self._select = select
        self._rearrange()

    def group(self, by: str) -> None:
        """Group the rows; an empty text: not."""
        self.grouping = by
        self.collapsed.clear()
        self._rearrange()

    def toggle(self, line: GroupLine) -> None:
        """Collapse or expand a group."""
        self.collapsed ^= {line.title}
        self._rearrange()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the cell's value; of a group's head the title and the span of its headline values."""
        line = self._row(index)
        if isinstance(line, GroupLine):
            return self._group_data(line, index, role)
        if role == TREND and line is not None and self._listed[index.column()] is None:
            return self.trends.get(line.id)
        if role == Qt.ItemDataRole.EditRole and line is not None:
            return self._edited_text(line, index.column())
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Emit the text that was entered in place."""
        line, name = self._row(index), self.columns[index.column()].name
        if role == Qt.ItemDataRole.EditRole and isinstance(line, LibraryRow) and value != self.data(index, role):
            self.edited.emit(line, EDITABLE[name], str(value))
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make names, notes and tags editable, and the heads of groups not selectable."""
        line = self._row(index)
        if isinstance(line, GroupLine):
            return Qt.ItemFlag.ItemIsEnabled
        editable = line is not None and self.columns[index.column()].name in EDITABLE
        return super().flags(index) | (Qt.ItemFlag.ItemIsEditable if editable else Qt.ItemFlag.NoItemFlags)

    def _edited_text(self, row: LibraryRow, column: int) -> str:
        added = row.annotation
        texts = {"Name": row.summary.name, "Note": added.note, "Tags": ", ".join(added.tags)}
        return texts.get(self.columns[column].name, "")

    def _group_data(self, line: GroupLine, index: Index, role: int) -> Any:
        listed = self._listed[index.column()]
        of_headline = listed is not None and listed.name == "headline"
        if role == Qt.ItemDataRole.DisplayRole and (index.column() == 0 or of_headline):
            return visible(line.span if of_headline else line.text)
        if role == Qt.ItemDataRole.FontRole:
            return strong()
        return "" if role == Qt.ItemDataRole.DisplayRole else super().data(index, role)

    def _sort_column(self) -> str:
        listed = self._listed[self._sorted_by] if 0 <= self._sorted_by < len(self._listed) else None
        return "" if listed is None else listed.name

    def _arranged(self) -> tuple[ListLine, ...]:
        self._arrange_lines()
        return tuple(self.shown)

    def _arrange_lines(self) -> None:
        rows = self._select(cast("Sequence[LibraryRow]", self.rows))
        if self._search_words:
            rows = [row for row in rows if all(word in row.searched for word in self._search_words)]
        listed = self._listed[self._sorted_by] if 0 <= self._sorted_by < len(self._listed) else None
        if listed is not None:
            rows = sorted_rows(rows, listed, descending=self._descending)
        self.matched = rows
        self._share_unit(rows)
        self.shown = tuple(self._with_groups(rows)) if self.grouping else tuple(rows)

    def _with_groups(self, rows: Sequence[LibraryRow]) -> Iterable[ListLine]:
        for group in grouped(rows, self.grouping):
            collapsed = group.title in self.collapsed
            span = group.span if self._shared is None else _span_in_unit(group, self._shared)
            yield GroupLine(group.title, len(group.rows), span, collapsed)
            if not collapsed:
                yield from group.rows

    def _share_unit(self, rows: Sequence[LibraryRow]) -> None:
        """Put the unit of the headline values into the head if all have the same metric, and align their points."""
        metrics = list({id(row.metric): row.metric for row in rows if row.metric is not None}.values())
        shared = self._shared = _shared_unit(metrics[0], rows) if len(set(metrics)) == 1 else None
        self.columns = tuple(
            column
            if listed is None or listed.name not in {"headline", "half"}
            else _in_unit(self._made(listed), listed, shared)
            for listed, column in zip(self._listed, self.columns, strict=True)
        )


def _shared_unit(metric: Metric, rows: Sequence[LibraryRow]) -> tuple[Display, int]:
    """Return the scale of the headline values, that of their median, and the most decimals that one of them has.

    Of many rows only some are looked at.
    """
    rows = rows[:: 1 + len(rows) // LOOKED_AT]
    values = [abs(row.value) for row in rows if row.value]
    middle = statistics.median(values) if values else 1.0
    display = scale(metric, middle)
    places = (_places(row, display.divisor) for row in rows if row.value)
    return display, min(max(places, default=0), decimals(middle / display.divisor) + MORE)


def _span_in_unit(group: RowGroup, shared: tuple[Display, int]) -> str:
    """Return the span of the headline values of a group without the unit, which is in the head; empty without one."""
    (divisor, _), most = shared
    ends = [end / divisor for end in group.ends if math.isfinite(end)]
    return ends_text(*(f"{end:.{min(most, decimals(end))}f}" for end in ends)) if ends else ""


def _places(row: LibraryRow, divisor: float) -> int:
    """Return the decimals of a headline value and its interval, which decides."""
    return decimals((row.value or 0.0) / divisor, row.half and row.half / divisor)


def _aligned(text: str, places: int, most: int) -> str:
    """Return a number of `places` decimals with the room of `most`, so that decimal points are below each other."""
    return text + "\N{FIGURE SPACE}" * (most - places) + "\N{PUNCTUATION SPACE}" * (places == 0 < most)


def _in_unit(
    column: TableColumn[ListLine], listed: ListColumn, shared: tuple[Display, int] | None
) -> TableColumn[ListLine]:
    """Return the column of the headline values or of their intervals in a shared unit, or each in its own."""
    if shared is None:
        return column
    (divisor, unit), most = shared

    def headline(line: ListLine) -> str:
        if not isinstance(line, LibraryRow):
            return ""
        if line.value is None:
            return MISSING
        places = min(most, _places(line, divisor))
        return _aligned(f"{line.value / divisor:.{places}f}", places, most)

    def half(line: ListLine) -> str:
        if not isinstance(line, LibraryRow) or not line.half or not line.value or line.metric is None:
            return ""
        if line.half >= WIDE * line.value:
            return uncertainty_text(line.metric, line.value, line.half)
        places = min(most, _places(line, divisor))
        return _aligned(f"± {line.half / divisor:.{places}f}", places, most)

    of_value = listed.name == "headline"
    return replace(column, text=headline if of_value else half, unit=unit if of_value else "")


class RunDelegate(RowDelegate):
    """Draws trends as sparklines; a text that is edited stays when its row changes, as by a verdict."""

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """Fill an editor in which nothing was typed."""
        if not (isinstance(editor, QLineEdit) and editor.isModified()):
            super().setEditorData(editor, index)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        super().paint(painter, option, index)
        if found := index.data(TREND):
            values, at = found
            selected = bool(option.state & QStyle.StateFlag.State_Selected)
            paint_sparkline(painter, option.rect, values, at, selected=selected)


class RunTable(Table[ListLine]):
    """Table of runs, newest first by default; multiple selection."""

    rested = Signal()  # the cursor has not moved for SETTLED ms
    edit_ended = Signal()
    columns_moved = Signal(list)  # the names of the columns in their new order

    def __init__(self) -> None:
        self.lines = RunListModel()
        super().__init__(
            "Runs",
            self.lines,
            identity=lambda line: line.title if isinstance(line, GroupLine) else line.id,
            selection=QAbstractItemView.SelectionMode.ExtendedSelection,
        )
        delegate = RunDelegate(self)
        delegate.closeEditor.connect(
            self.edit_ended, Qt.ConnectionType.QueuedConnection
        )  # after the view has closed it
        self.setItemDelegate(delegate)
        self._resting = QTimer(self, singleShot=True, interval=SETTLED)
        self._resting.timeout.connect(self.rested)
        self.moved.connect(self._resting.start)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.horizontalHeader().setSectionsMovable(True)
        self.lines.sort(0, Qt.SortOrder.DescendingOrder)
        self.horizontalHeader().setSortIndicator(0, Qt.SortOrder.DescendingOrder)

    @property
    def run(self) -> LibraryRow | None:
        """The current run."""
        line = self.current()
        return line if isinstance(line, LibraryRow) else None

    def runs(self) -> list[LibraryRow]:
        """Return the selected runs, from top to bottom."""
        return [line for line in self.chosen() if isinstance(line, LibraryRow)]

    def show_lines(
        self,
        rows: Sequence[LibraryRow],
        columns: Sequence[ListColumn | None] | None = None,
        select: Selection | None = None,
        needed: frozenset[str] | None = None,
    ) -> None:
        """Show `rows`, given newest first, of which `select` returns those that match.

        `needed` are the optional columns that they need; without it, it is found.
        """
        self.lines.needed = summary_of(rows).needed if needed is None else needed
        self._keeping_place(lambda: self.lines.show_all(rows, columns, select))
        self._arrange_head()

    def show_trends(self, trends: Trends) -> None:
        """Show the trends of the runs."""
        self.lines.trends = trends
        self.viewport().update()

    def set_columns(self, columns: Sequence[ListColumn | None]) -> None:
        """Show other columns; None is the trend."""
        self._keeping_selection(lambda: self.lines.set_columns(columns))
        self._arrange_head()

    def _keep_order(self) -> None:
        """Report the order of the columns after the user has moved one.

        It becomes that of the model: the heads of groups span columns of the model.
        """
        names = [self.lines.names[number] for number in self._visual_order()]
        if not self._placing and names != self.lines.names:
            self.columns_moved.emit(names)

    def _arrange_head(self) -> None:
        """Put the columns, and the mark of the one that is sorted by, where the model has them."""
        head = self.horizontalHeader()
        self._placing = True
        for number in range(head.count()):
            head.moveSection(head.visualIndex(number), number)
        self._placing = False
        names = [column.name for column in self.lines.columns]
        if self.lines.sorted_by in names:
            head.blockSignals(True)
            head.setSortIndicator(names.index(self.lines.sorted_by), head.sortIndicatorOrder())
            head.blockSignals(False)
        self.fit()

    def keep(self, select: Selection) -> None:
        """Show the rows that `select` returns."""
        self._keeping_selection(lambda: self.lines.keep(select))

    def group(self, by: str) -> None:
        """Group the rows; an empty text: not."""
        self._keeping_selection(lambda: self.lines.group(by))

    def edit_cell(self) -> None:
        """Edit the name of the current run in place, or its note or tags if their cell is current."""
        index = self.currentIndex()
        if self.run is None:
            return
        if self.lines.columns[index.column()].name not in EDITABLE:
            names = [column.name for column in self.lines.columns]
            index = index.siblingAtColumn(names.index("Name")) if "Name" in names else index
        self.setCurrentIndex(index)
        self.edit(index)

    def settle(self) -> None:
        """Open the current run without delay."""
        self.moved.emit()
        self._resting.stop()
        self.rested.emit()

    def span_headings(self) -> None:
        """Let the heads of groups span the columns before the headline value."""
        self.clearSpans()
        names = self.lines.names
        reach = names.index("headline") if "headline" in names else len(names)
        if not self.lines.grouping or reach < 2:
            return
        beside = 2 if names[reach : reach + 2] == ["headline", "half"] else 1
        for row, line in enumerate(self.lines.shown):
            if isinstance(line, GroupLine):
                self.setSpan(row, 0, 1, reach)
                if beside > 1:
                    self.setSpan(row, reach, 1, beside)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Collapse or expand the group that is clicked."""
        super().mouseReleaseEvent(event)
        self._toggle(self.indexAt(event.position().toPoint()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Collapse or expand the current group with the arrow keys or Enter."""
        line = self.current()
        keys = {Qt.Key.Key_Left: False, Qt.Key.Key_Right: True}
        if isinstance(line, GroupLine) and (
            event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}
            or keys.get(Qt.Key(event.key())) is line.collapsed
        ):
            self._toggle(self.currentIndex())
            return
        super().keyPressEvent(event)

    def _toggle(self, index: Index) -> None:
        line = index.data(ROW) if index.isValid() else None
        if isinstance(line, GroupLine):
            self._keeping_selection(lambda: self.lines.toggle(line))
