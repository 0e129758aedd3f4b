"""Rows and columns of a table: any type of row, described by columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont, QIcon

from app.natural_order import natural_key
from widgets.parts.text import strong, tool_tip, visible
from widgets.theme import figure_font, palette

RowT = TypeVar("RowT")
Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()

ROW = Qt.ItemDataRole.UserRole
"""Role of the row object itself."""

HEADING = Qt.ItemDataRole.UserRole + 1
"""Role of the number of columns that a heading spans; 0 for other rows."""

_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignCenter


@dataclass(frozen=True, slots=True)
class TableColumn(Generic[RowT]):
    """Column of a table. Widths are pixels at the platform's default text size."""

    name: str
    text: Callable[[RowT], str]
    unit: str = ""
    align: Qt.AlignmentFlag = LEFT
    tip: str = ""
    """Tool tip of the header."""

    more: Callable[[RowT], str] | None = None
    """Tool tip of a cell; by default its text."""

    key: Callable[[RowT], Any] | None = None
    """Sort key of a row; a column without one cannot be sorted."""

    tone: str | Callable[[RowT], str] = ""
    """Palette field of the text colour."""

    bold: bool | Callable[[RowT], bool] = False
    mark: Callable[[RowT], QIcon | None] | None = None
    width: int = 0
    """0: fits the content."""

    whole: bool = False
    """The texts are never cut, as those of figures: the longest decides if it needs more than `width`."""

    most: int = 0
    """Greatest width of a column whose texts are whole; longer ones are cut. 0: any width."""

    stretch: bool = False
    least: int = 0
    """Least width of a stretching column; to keep it, other columns are hidden."""

    hide_order: int = 0
    """Order in which columns are hidden in a narrow table; 0: never."""

    needed: Callable[[Sequence[RowT]], bool] | None = None
    """Returns whether these rows need the column."""

    topic: str = ""
    """Topic of the help about the column."""

    @property
    def fixed(self) -> bool:
        """Whether it has its `width` whatever its texts are."""
        return bool(self.width) and self.align == LEFT and not self.whole


class TableModel(QAbstractTableModel, Generic[RowT]):
    """Rows and columns of a table.

    `heading` returns the text of a row that is a group heading, which spans `reach` columns (0: all); `searched` the
    case-folded text to search; `shaded` whether a row has a darker background.
    """

    def __init__(
        self,
        columns: Sequence[TableColumn[RowT]],
        *,
        heading: Callable[[RowT], str] | None = None,
        reach: int = 0,
        searched: Callable[[RowT], str] | None = None,
        shaded: Callable[[RowT], bool] | None = None,
    ) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.rows: Sequence[RowT] = ()
        """Every row, shown or not."""

        self.shown: Sequence[RowT] = ()
        """The rows shown, from top to bottom."""

        self._heading, self._reach = heading, reach
        self.has_headings = heading is not None
        self._searched, self._shaded = searched or self._all_text, shaded
        self._search_words: list[str] = []
        self._sorted_by, self._descending = -1, False

    def show_rows(self, rows: Iterable[RowT], columns: Sequence[TableColumn[RowT]] | None = None) -> None:
        """Show `rows`; if they are the same objects with as many columns, only refresh the cells."""
        made = tuple(rows)
        same = len(made) == len(self.rows) and all(a is b for a, b in zip(made, self.rows, strict=True))
        if same and made and len(columns or self.columns) == len(self.columns):
            self.columns = tuple(columns or self.columns)
            self.refresh()
            return
        self.beginResetModel()
        self.rows, self.columns = made, tuple(columns or self.columns)
        self.shown = self._arranged()
        self.endResetModel()

    def replace_row(self, old: RowT, new: RowT) -> None:
        """Replace `old` by `new` in its position, without sorting again."""
        self.rows = tuple(new if row is old else row for row in self.rows)
        at = next((number for number, row in enumerate(self.shown) if row is old), -1)
        self.shown = tuple(new if row is old else row for row in self.shown)
        if at >= 0:
            self.dataChanged.emit(self.index(at, 0), self.index(at, self.columnCount() - 1))

    def refresh(self) -> None:
        """Refresh every cell and header."""
        last = self.columnCount() - 1
        if self.shown:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.shown) - 1, last))
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)

    def search(self, words: str) -> None:
        """Show only the rows in which every one of `words` occurs."""
        self._search_words = words.casefold().split()
        self._rearrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by `column` (stable)."""
        self._sorted_by, self._descending = column, order is Qt.SortOrder.DescendingOrder
        self._rearrange()

    @property
    def sorted_by(self) -> str:
        """The name of the column by which the rows are sorted; empty for none."""
        return self.columns[self._sorted_by].name if 0 <= self._sorted_by < len(self.columns) else ""

    def at(self, row: int, name: str) -> QModelIndex:
        """Return the index of the cell of `row` in the column `name`."""
        return self.index(row, next(number for number, each in enumerate(self.columns) if each.name == name))

    def texts(self, columns: Iterable[int] | None = None, rows: Iterable[int] | None = None) -> list[list[str]]:
        """Return the header and cell texts of `columns` and `rows` (default: all)."""
        chosen = list(range(len(self.columns)) if columns is None else columns)
        heads = [str(self.headerData(column, Qt.Orientation.Horizontal)) for column in chosen]
        shown = range(len(self.shown)) if rows is None else rows
        return [heads, *([str(self.index(row, each).data()) for each in chosen] for row in shown)]

    def rowCount(self, parent: Index = ROOT) -> int:
        """Return the number of rows shown."""
        return 0 if parent.isValid() else len(self.shown)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.columns)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make headings unselectable."""
        row = self._row(index)
        if row is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled if self._title(row) else _FLAGS

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the headers with their units and tool tips."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(f"{column.name} [{column.unit}]" if column.unit else column.name)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tool_tip(column.tip)
        return column.align if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the cell's value in `role`. Text is plain, in one line."""
        row = self._row(index)
        if row is None:
            return None
        if role == ROW:
            return row
        title = self._title(row)
        if role == HEADING:
            return (self._reach or len(self.columns)) if title else 0
        if role == Qt.ItemDataRole.BackgroundRole:
            return QColor(palette().raised) if self._shaded is not None and self._shaded(row) else None
        if title:
            return _heading(title if index.column() == 0 else "", role)
        value = _CELL.get(role)
        return None if value is None else value(self.columns[index.column()], row)

    def _row(self, index: Index) -> RowT | None:
        return self.shown[index.row()] if index.isValid() and index.row() < len(self.shown) else None

    def _title(self, row: RowT) -> str:
        return self._heading(row) if self._heading is not None else ""

    def _all_text(self, row: RowT) -> str:
        return " ".join(column.text(row) for column in self.columns).casefold()

    def _arranged(self) -> tuple[RowT, ...]:
        found = [row for row in self.rows if all(word in self._searched(row) for word in self._search_words)]
        key = self.columns[self._sorted_by].key if 0 <= self._sorted_by < len(self.columns) else None
        return tuple(found if key is None else sorted(found, key=_ordered(key), reverse=self._descending))

    def _rearrange(self) -> None:
        self.beginResetModel()
        self.shown = self._arranged()
        self.endResetModel()


def _ordered(key: Callable[[RowT], Any]) -> Callable[[RowT], Any]:
    """Return a sort key with texts in natural order."""

    def ordered(row: RowT) -> object:
        return natural_key(found) if isinstance(found := key(row), str) else found

    return ordered


def _heading(title: str, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole:
        return visible(title)
    if role == Qt.ItemDataRole.ToolTipRole:
        return tool_tip(title)
    return strong() if role == Qt.ItemDataRole.FontRole else None


def _mark(column: TableColumn[RowT], row: RowT) -> QIcon | None:
    return None if column.mark is None else column.mark(row)


def _font(column: TableColumn[RowT], row: RowT) -> QFont:
    return figure_font(bold=column.bold(row) if callable(column.bold) else column.bold)


def _colour(column: TableColumn[RowT], row: RowT) -> QColor | None:
    tone = column.tone(row) if callable(column.tone) else column.tone
    return QColor(getattr(palette(), tone)) if tone else None


_CELL: Mapping[int, Callable[[TableColumn[Any], Any], object]] = {
    Qt.ItemDataRole.DisplayRole: lambda column, row: visible(column.text(row)).replace("\n", " "),
    Qt.ItemDataRole.ToolTipRole: lambda column, row: tool_tip((column.more or column.text)(row)),
    Qt.ItemDataRole.TextAlignmentRole: lambda column, _row: column.align,
    Qt.ItemDataRole.FontRole: _font,
    Qt.ItemDataRole.DecorationRole: _mark,
    Qt.ItemDataRole.ForegroundRole: _colour,
}
"""The value of a cell by role."""
