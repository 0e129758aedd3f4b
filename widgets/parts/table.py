"""Base of all tables of the window: a view of a TableModel that keeps selection, place and layout."""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Generic

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QBrush,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPalette,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionHeaderV2,
    QStyleOptionViewItem,
    QTableView,
)

from widgets import settings
from widgets.parts.table_header import TableHeader
from widgets.parts.table_model import HEADING, ROW, Index, RowT, TableColumn, TableModel
from widgets.parts.text import sheet_text
from widgets.theme import SPACE

MEASURED = 200
"""Rows whose texts are measured for the width of a column."""

COUNTED = 2000
"""Rows among which the text with the most characters is measured, too, in a column whose texts are whole."""


_SHOWN = (
    Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ForegroundRole, Qt.ItemDataRole.FontRole,
    Qt.ItemDataRole.TextAlignmentRole, Qt.ItemDataRole.BackgroundRole, Qt.ItemDataRole.DecorationRole,
)  # fmt: skip
"""Roles of what a cell shows."""


class RowDelegate(QStyledItemDelegate):
    """Draws the current cell like the others of its row, and a selected cell in the colour of its text.

    It asks the model itself: Qt would call it for each role, and for each call wait for the threads that run Python.
    """

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Fill in what the cell shows, without a focus frame: the table's frame shows the focus."""
        option.state &= ~QStyle.StateFlag.State_HasFocus
        model = index.model()
        text, tone, font, align, ground, mark = (model.data(index, role) for role in _SHOWN)
        if text is not None:
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDisplay
            option.text = text
        if align is not None:
            option.displayAlignment = align
        if ground is not None:
            option.backgroundBrush = QBrush(ground)
        if font is not None:
            option.font = font.resolve(option.font)
            option.fontMetrics = QFontMetrics(option.font)
        if mark is not None:
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
            option.icon = mark
            option.decorationSize = mark.actualSize(option.decorationSize).boundedTo(option.decorationSize)
        if tone is not None or option.state & QStyle.StateFlag.State_Selected:
            colours = option.palette
            if tone is not None:
                colours.setBrush(QPalette.ColorRole.Text, tone)
            colours.setBrush(QPalette.ColorRole.HighlightedText, colours.text())
            option.palette = colours


def _ranges(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive rows."""
    first = 0
    for at, row in enumerate(rows):
        if at + 1 == len(rows) or rows[at + 1] != row + 1:
            yield rows[first], row
            first = at + 1


class Table(QTableView, Generic[RowT]):
    """View of a TableModel. With `identity`, current row and selection survive sorting and refreshing; if the current
    row is removed, its neighbour becomes current."""

    moved = Signal()  # the current row or the selection has changed

    def __init__(
        self,
        name: str,
        model: TableModel[RowT],
        *,
        identity: Callable[[RowT], Hashable] | None = None,
        selection: QAbstractItemView.SelectionMode = QAbstractItemView.SelectionMode.SingleSelection,
        row_padding: int = SPACE[1],
    ) -> None:
        super().__init__()
        self.content = model
        self._identity = identity
        self._layout_key = f"table/{name}"
        self._restored = self._placing = False
        self._widths: dict[str, int] = {}  # that the user has set, by column
        self._order: list[str] = []  # of the columns, if the user has moved one
        self._fitted: list[tuple[str, bool]] = []
        self.without_room: frozenset[int] = frozenset()
        """The columns that are hidden because the table is narrow."""

        model.setParent(self)
        self.setModel(model)
        self._set_look(name, selection, row_padding)
        self._refit = QTimer(self, singleShot=True, interval=0)
        self._refit.timeout.connect(self.fit_if_shown)
        model.dataChanged.connect(lambda *_: self._refit.start())
        model.modelReset.connect(self.span_headings)
        self.selectionModel().selectionChanged.connect(self._emit_moved)
        self.selectionModel().currentRowChanged.connect(self._emit_moved)
        if any(column.key is not None for column in model.columns):
            self._enable_sorting()
        self.fit()

    @property
    def editing(self) -> bool:
        """Whether a cell is edited in place."""
        return self.state() is QAbstractItemView.State.EditingState

    def current(self) -> RowT | None:
        """Return the current row; None if there is none, or it is a heading."""
        index = self.currentIndex()
        return None if index.data(HEADING) else index.data(ROW)

    def chosen(self) -> list[RowT]:
        """Return the selected rows, from top to bottom."""
        return [self.content.shown[row] for row in self._chosen_rows()]

    def _chosen_rows(self) -> list[int]:
        """Return the positions of the selected rows; selectedRows() asks for the flags of every cell."""
        chosen = {
            row for each in self.selectionModel().selection().toList() for row in range(each.top(), each.bottom() + 1)
        }
        selectable, index = Qt.ItemFlag.ItemIsSelectable, self.content.index
        return sorted(row for row in chosen if self.content.flags(index(row, 0)) & selectable)

    def row_of(self, identity: Hashable) -> int:
        """Return the position of the row with this identity, or -1 if it is not shown."""
        return self._rows_of([identity]).get(identity, -1)

    def _rows_of(self, identities: Iterable[Hashable]) -> dict[Hashable, int]:
        """Return the positions of the rows with these identities that are shown, in one pass."""
        found: dict[Hashable, int] = {}
        if (known := self._identity) is not None and (wanted := set(identities)):
            for number, row in enumerate(self.content.shown):
                if (identity := known(row)) in wanted:
                    found[identity] = number
                    if len(found) == len(wanted):
                        break
        return found

    def show_rows(self, rows: Iterable[RowT], columns: Sequence[TableColumn[RowT]] | None = None) -> None:
        """Replace the rows."""
        self._keeping_place(lambda: self.content.show_rows(rows, columns))
        self.fit()

    def search(self, words: str) -> None:
        """Show only the rows in which every one of `words` occurs."""
        self._keeping_selection(lambda: self.content.search(words))

    def select(self, *identities: Hashable) -> None:
        """Select these rows and make the first shown one current."""
        found = self._rows_of(identities)
        rows = [found[identity] for identity in identities if identity in found]
        if not rows:
            return
        chosen, last = QItemSelection(), self.content.columnCount() - 1
        for first, end in _ranges(sorted(rows)):
            chosen.select(self.content.index(first, 0), self.content.index(end, last))
        self.setCurrentIndex(self.content.index(rows[0], 0))
        self.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def as_text(self) -> str:
        """Return the shown columns as text for a spreadsheet: of the selected rows if several can be, else of all."""
        several = self.selectionMode() is QAbstractItemView.SelectionMode.ExtendedSelection
        rows = self._chosen_rows() if several else []
        shown = [column for column in self._visual_order() if not self.isColumnHidden(column)]
        return sheet_text(self.content.texts(shown, rows or None))

    def copy(self) -> None:
        """Copy what as_text() returns."""
        QGuiApplication.clipboard().setText(self.as_text())

    def showEvent(self, event: QShowEvent) -> None:
        """Restore the layout when the table is shown for the first time; fit it to what has changed since later."""
        super().showEvent(event)
        if self._restored:
            self._refit.start()
        else:
            self._restored = True
            self._restore_layout()
            head = self.horizontalHeader()
            head.sectionResized.connect(self._keep_width)
            head.sectionMoved.connect(self._keep_order)
            head.sortIndicatorChanged.connect(self._store_layout)

    def _restore_layout(self) -> None:
        """Restore the widths and the order of the columns, and the order of the rows."""
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            stored = json.loads(settings.text(self._layout_key) or "{}")
            self._widths = {str(name): int(width) for name, width in stored.get("widths", {}).items()}
            self._order = [str(name) for name in stored.get("order", [])]
            names = [column.name for column in self.content.columns]
            if stored.get("sort") in names:
                order = Qt.SortOrder.DescendingOrder if stored["descending"] else Qt.SortOrder.AscendingOrder
                self.horizontalHeader().setSortIndicator(names.index(stored["sort"]), order)
        self._fitted = []
        self.fit()

    def _keep_width(self, number: int, _before: int, width: int) -> None:
        """Keep a width that the user has dragged; the table itself sets others, also while a splitter is dragged."""
        dragged = not self._placing and QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
        if dragged and width and not self.isColumnHidden(number) and number < len(self.content.columns):
            column = self.content.columns[number]
            if not column.stretch:
                self._widths[column.name] = width
                self._store_layout()
                self._refit.start()

    def _keep_order(self) -> None:
        """Keep the order of the columns after the user has moved one."""
        order = [self.content.columns[number].name for number in self._visual_order()]
        if not self._placing and order != self._order:
            self._order = order
            self._store_layout()

    def _visual_order(self) -> list[int]:
        """Return the columns from left to right."""
        return sorted(range(self.content.columnCount()), key=self.horizontalHeader().visualIndex)

    def _store_layout(self) -> None:
        layout = {
            "widths": self._widths,
            "order": self._order,
            "sort": self.content.sorted_by,
            "descending": self.horizontalHeader().sortIndicatorOrder() is Qt.SortOrder.DescendingOrder,
        }
        settings.put(self._layout_key, json.dumps(layout))

    def whole_height(self, most: int = 0) -> int:
        """Return the height of all rows, or of the first `most`."""
        rows = self.verticalHeader()
        seen = self.content.rowCount() if not most else min(most, self.content.rowCount())
        height = rows.length() if seen == self.content.rowCount() else seen * rows.defaultSectionSize()
        return self.horizontalHeader().sizeHint().height() + height + 2 * self.frameWidth()

    def span_headings(self) -> None:
        """Set the column spans of headings."""
        if not self.content.has_headings:
            return
        self.clearSpans()
        for row in range(self.content.rowCount()):
            if (reach := self.content.index(row, 0).data(HEADING)) > 1:
                self.setSpan(row, 0, 1, reach)

    def fit(self) -> None:
        """Fit the columns to the rows and the width."""
        before, self._placing = self._placing, True  # a column that is hidden or shown can resize the table
        head, widths = self.horizontalHeader(), self._section_widths()
        with QSignalBlocker(head):  # at each width that changes the table would plan to be drawn once more, later
            self.fit_columns()
            self._stretch()
        if self.wordWrap():
            self.resizeRowsToContents()
        if self._section_widths() != widths:
            self.updateGeometries()
            self.viewport().update()
        self._placing = before

    def _section_widths(self) -> list[int]:
        """Return the widths of the columns, 0 for a hidden one."""
        return list(map(self.horizontalHeader().sectionSize, range(self.content.columnCount())))

    def fit_if_shown(self) -> None:
        """Fit a table that is shown: measuring the texts takes time. A hidden one is fitted when shown."""
        if self.isVisible():
            self.fit()

    def fit_columns(self) -> None:
        """Hide columns that the rows do not need, and in a narrow table those with `hide_order`, in that order."""
        columns, rows = self.content.columns, self.content.rows
        self._set_modes()
        shown = {number for number, each in enumerate(columns) if each.needed is None or each.needed(rows)}
        for number in shown:
            self.setColumnHidden(number, False)  # a hidden one has no width for its title
        wanted = {number: self._wanted_width(number) for number in shown}
        needed = frozenset(shown)
        for _order, number in sorted((each.hide_order, number) for number, each in enumerate(columns)):
            if columns[number].hide_order and sum(wanted[each] for each in shown) > self.viewport().width():
                shown.discard(number)
        self.without_room = needed - shown
        for number, column in enumerate(columns):
            self.setColumnHidden(number, number not in shown)
            if number in shown and not column.stretch:
                self.horizontalHeader().resizeSection(number, wanted[number])

    def _stretch(self) -> None:
        """Share the remaining width equally; a column whose texts are shorter gives what it does not need to others."""
        head, columns = self.horizontalHeader(), self.content.columns
        stretching = [at for at, each in enumerate(columns) if each.stretch and not self.isColumnHidden(at)]
        free = self.viewport().width() - head.length() + sum(head.sectionSize(each) for each in stretching)
        titles = {number: self.title_width(number) for number in stretching}
        needed = {number: max(titles[number], self._longest_width(number)) for number in stretching}
        enough = max(needed.values(), default=0) * len(needed) <= free
        for left, number in zip(range(len(needed), 0, -1), sorted(needed, key=needed.__getitem__), strict=True):
            share = free // left
            width = share if enough or left == 1 else min(share, max(needed[number], self._wanted_width(number)))
            width = max(width, titles[number])  # the table scrolls sideways if there is no room
            head.resizeSection(number, width)
            free -= width

    def scaled(self, pixels: int) -> int:
        """Return `pixels`, given for the platform's default text size, scaled to this font."""
        return round(pixels * self.fontMetrics().averageCharWidth() / 6)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the new width."""
        super().resizeEvent(event)
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the table or its selected rows on the platform's shortcut; Qt by itself copies one cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            return
        super().keyPressEvent(event)

    def title_width(self, number: int) -> int:
        """Return the width of the title of a column, with its padding and, if it is sorted by, the sort indicator."""
        option, head = QStyleOptionHeaderV2(), self.horizontalHeader()
        head.initStyleOption(option)
        head.initStyleOptionForIndex(option, number)
        return self.style().sizeFromContents(QStyle.ContentsType.CT_HeaderSection, option, QSize(), head).width()

    def _wanted_width(self, number: int) -> int:
        """Return the width that the user has set, or the one that the column has in a wide table."""
        column = self.content.columns[number]
        own = 0 if column.stretch else self._widths.get(column.name, 0)
        return own or max(self.title_width(number), self._content_width(number))

    def _content_width(self, number: int) -> int:
        column = self.content.columns[number]
        if column.stretch:
            return self.scaled(column.least)
        if column.fixed:
            return self.scaled(column.width)
        if column.width:
            width = max(self.scaled(column.width), self._longest_width(number))
            return min(width, self.scaled(column.most)) if column.most else width
        return max(self.sizeHintForColumn(number), self.horizontalHeader().sectionSizeHint(number))

    def _longest_width(self, number: int) -> int:
        """Return the width of the longest text of a column, for figures, which are not cut; of many rows some count."""
        shown, column, advance = self.content.shown, self.content.columns[number], self.fontMetrics().horizontalAdvance
        text, sampled = column.text, range(0, len(shown), math.ceil(len(shown) / MEASURED) or 1)
        counted = range(0, len(shown), 1 + len(shown) // COUNTED) if column.whole and len(sampled) < len(shown) else ()
        most = sorted(counted, key=lambda row: len(text(shown[row])))[-1:]
        headings = self.content.has_headings
        rows = [row for row in (*sampled, *most) if not (headings and self.content.index(row, 0).data(HEADING))]
        longest = max(rows, key=lambda row: advance(text(shown[row])), default=-1)
        return self.sizeHintForIndex(self.content.index(longest, number)).width()

    def _keeping_place(self, change: Callable[[], None]) -> None:
        """Make a change of the rows; the selection stays, and the row at the top, unless it is the first."""
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        left, top, row = across.value(), down.value(), self.rowAt(0)
        known, shown = self._identity, self.content.shown
        first = known(shown[row]) if known is not None and top and 0 <= row < len(shown) else None
        self._keeping_selection(change)
        if first is not None and (now := self.row_of(first)) >= 0:
            top += (now - row) * self.verticalHeader().defaultSectionSize()
        self.updateGeometries()
        across.setValue(left)
        down.setValue(top)

    def _keeping_selection(self, change: Callable[[], None]) -> None:
        if (known := self._identity) is None:
            change()
            return
        before, row = self.current(), self.currentIndex().row()
        chosen = [known(each) for each in self.chosen()]
        change()
        found = self._rows_of(chosen if before is None else [known(before), *chosen])
        remaining = [identity for identity in chosen if identity in found]
        shown = self.content.shown
        at = -1 if before is None else found.get(known(before), -1)
        if at < 0 and shown:
            at = min(max(row, 0), len(shown) - 1)
        if at >= 0:
            current = known(shown[at])
            others = [each for each in remaining if each != current]
            self.select(*([current, *others] if current in remaining or not remaining else remaining))
        self._emit_moved()

    def _emit_moved(self) -> None:
        self.moved.emit()

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        self._keeping_selection(lambda: self.content.sort(column, order))
        self._refit.start()  # the sort indicator needs room
        self.scrollTo(self.currentIndex())

    def _enable_sorting(self) -> None:
        head = self.horizontalHeader()
        head.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # Qt's default is the first column, sorted or not
        head.sortIndicatorChanged.connect(self._sort)
        head.setSectionsClickable(True)
        head.setSortIndicatorShown(True)

    def _set_modes(self) -> None:
        """Set which columns the user can resize, and the order of all, where the columns are others than before."""
        wanted = [(column.name, column.stretch) for column in self.content.columns]
        if wanted == self._fitted:
            return
        self._fitted, head = wanted, self.horizontalHeader()
        for number, column in enumerate(self.content.columns):
            mode = QHeaderView.ResizeMode.Fixed if column.stretch else QHeaderView.ResizeMode.Interactive
            head.setSectionResizeMode(number, mode)
        self._place_columns()

    def _place_columns(self) -> None:
        """Put the columns into the user's order."""
        head, names = self.horizontalHeader(), [column.name for column in self.content.columns]
        for at, name in enumerate(name for name in self._order if name in names):
            head.moveSection(head.visualIndex(names.index(name)), at)

    def _set_look(self, name: str, selection: QAbstractItemView.SelectionMode, row_padding: int) -> None:
        self.setAccessibleName(name)
        self.setItemDelegate(RowDelegate(self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(selection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + row_padding)
        self.setHorizontalHeader(TableHeader(self))
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionsMovable(not self.content.has_headings)  # a heading spans neighbours
        self.horizontalHeader().setMinimumSectionSize(SPACE[4])
