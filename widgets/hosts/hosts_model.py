"""The hosts a user has, as a table for Qt."""

from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from app.hosts.hosts import HostEntry, Origin
from widgets.hosts.host_connections import Standing
from widgets.parts.icons import icon
from widgets.parts.names import host_title
from widgets.parts.text import tool_tip, visible
from widgets.theme import palette

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


def address_text(entry: HostEntry) -> str:
    """Return how a host is reached, in ssh's own notation; what is left to ssh's configuration is said to be."""
    if entry.origin is Origin.THIS_COMPUTER:
        return "no connection needed"
    if not any((entry.host_name, entry.user, entry.port, entry.jump)):
        return "as ~/.ssh/config says" if entry.origin is Origin.SSH_CONFIG else entry.name
    user = f"{entry.user}@" if entry.user else ""
    port = f":{entry.port}" if entry.port else ""
    jump = f" via {entry.jump}" if entry.jump else ""
    return f"{user}{entry.host_name or entry.name}{port}{jump}"


def connection_text(entry: HostEntry, standing: Standing) -> str:
    """Return how a host stands, in a word or two; this computer is not connected to, it is there."""
    if entry.origin is Origin.THIS_COMPUTER and not standing.doing and standing.problem is None:
        return "ready" if standing.facts is not None else "here"
    return standing.words


class HostsModel(QAbstractTableModel):
    """One host a line: its name, its way, where it is known from, and how it stands."""

    HEADS: ClassVar = ("Host", "Address", "Known from", "Connection")
    ENTRY = Qt.ItemDataRole.UserRole

    def __init__(self, standing: Callable[[str], Standing], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._standing = standing
        self._entries: list[HostEntry] = []

    @property
    def entries(self) -> list[HostEntry]:
        """The hosts, from top to bottom."""
        return list(self._entries)

    def show_entries(self, entries: list[HostEntry]) -> None:
        """Show `entries` in place of what was shown."""
        self.beginResetModel()
        self._entries = list(entries)
        self.endResetModel()

    def refresh(self, name: str) -> None:
        """Show the host `name` anew: it stands differently."""
        for place, entry in enumerate(self._entries):
            if entry.name == name:
                self.dataChanged.emit(self.index(place, 0), self.index(place, len(self.HEADS) - 1))

    def place_of(self, name: str) -> QModelIndex:
        """Return the index of the host `name`."""
        places = [place for place, entry in enumerate(self._entries) if entry.name == name]
        return self.index(places[0], 0) if places else QModelIndex()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Return the number of hosts."""
        return 0 if parent.isValid() else len(self._entries)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.HEADS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what the cell shows in `role`. Names are shown literally."""
        if not index.isValid() or index.row() >= len(self._entries):
            return None
        entry = self._entries[index.row()]
        if role == self.ENTRY:
            return entry
        standing = self._standing(entry.name)
        text = (host_title(entry.name), address_text(entry), entry.origin.value, connection_text(entry, standing))[
            index.column()
        ]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(text)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tool_tip(text)
        return self._look(entry, standing, index.column(), role)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | None:
        """Return the column's head."""
        shown = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return self.HEADS[section] if shown and 0 <= section < len(self.HEADS) else None

    def _look(self, entry: HostEntry, standing: Standing, column: int, role: int) -> object:
        if role == Qt.ItemDataRole.DecorationRole and column == 0:
            return icon("this-computer" if entry.origin is Origin.THIS_COMPUTER else "hosts")
        if role == Qt.ItemDataRole.DecorationRole and column == 3 and standing.level:
            return icon(standing.level)
        if role == Qt.ItemDataRole.ForegroundRole and (column in {1, 2} or (column == 3 and not standing.level)):
            return QColor(palette().muted)
        if role == Qt.ItemDataRole.FontRole and column == 0:
            font = QFont()
            font.setBold(True)
            return font
        return None
