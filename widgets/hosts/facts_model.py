"""Facts as a tree for Qt: two columns, what and how much."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from widgets.hosts.facts_rows import Row
from widgets.parts.text import tool_tip, visible
from widgets.theme import palette

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(slots=True, eq=False)
class _Node:
    row: Row
    parent: "_Node | None"
    place: int
    children: list["_Node"] = field(default_factory=list)


class FactsModel(QAbstractItemModel):
    """Rows of facts. Everything is shown literally: a host's words are never markup."""

    HEADS: ClassVar = ("Fact", "Value")

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._roots: list[_Node] = []

    def show_rows(self, rows: tuple[Row, ...]) -> None:
        """Show `rows` in place of what was shown."""
        self.beginResetModel()
        self._roots = [_grow(row, None, place) for place, row in enumerate(rows)]
        self.endResetModel()

    def row_at(self, index: Index) -> Row | None:
        """Return the row at `index`."""
        node = self._node(index)
        return None if node is None else node.row

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        """Return the index of the cell."""
        nodes = self._children(parent)
        if 0 <= row < len(nodes) and 0 <= column < len(self.HEADS) and not parent.column() > 0:
            return self.createIndex(row, column, nodes[row])
        return QModelIndex()

    def parent(self, index: Index = ROOT) -> QModelIndex:  # type: ignore[override]  # Qt overloads parent()
        """Return the index of the group of `index`."""
        node = self._node(index)
        if node is None or node.parent is None:
            return QModelIndex()
        return self.createIndex(node.parent.place, 0, node.parent)

    def rowCount(self, parent: Index = ROOT) -> int:
        """Return how many rows there are below `parent`."""
        return 0 if parent.column() > 0 else len(self._children(parent))

    def columnCount(self, _parent: Index = ROOT) -> int:
        """Return the number of columns."""
        return len(self.HEADS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what the cell shows in `role`."""
        node = self._node(index)
        if node is None:
            return None
        text = node.row.title if index.column() == 0 else node.row.value
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(text)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tool_tip(text) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return visible(f"absent: {text}" if node.row.absent and index.column() else text)
        return self._look(node, index.column(), role)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | None:
        """Return the column's head."""
        shown = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return self.HEADS[section] if shown and 0 <= section < len(self.HEADS) else None

    def _look(self, node: _Node, column: int, role: int) -> object:
        if role == Qt.ItemDataRole.ForegroundRole and node.row.absent and column:
            return QColor(palette().muted)
        if role == Qt.ItemDataRole.FontRole:
            font = QFont()
            if node.parent is None and not column:
                font.setBold(True)
                return font
            if node.row.absent and column:
                font.setItalic(True)
                return font
        return None

    def _node(self, index: Index) -> _Node | None:
        found = index.internalPointer() if index.isValid() else None
        return found if isinstance(found, _Node) else None

    def _children(self, parent: Index) -> list[_Node]:
        node = self._node(parent)
        return self._roots if node is None else node.children


def _grow(row: Row, parent: _Node | None, place: int) -> _Node:
    node = _Node(row, parent, place)
    node.children = [_grow(child, node, number) for number, child in enumerate(row.children)]
    return node
