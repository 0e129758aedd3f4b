"""Table of the entries of an investigation, put in order by dragging or by keys."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem

from app.investigation import EntryKind, InvestigationEntry, shortened
from app.investigation_results import EntryResult
from widgets.parts.names import mark_of
from widgets.parts.table import RowDelegate, Table
from widgets.parts.table_model import RIGHT, ROW, Index, TableColumn, TableModel
from widgets.theme import icon


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry with its number, and its result; None while that is read."""

    number: int
    entry: InvestigationEntry
    result: EntryResult | None = None

    @property
    def title(self) -> str:
        """What it is of; the beginning of a text."""
        if self.entry.kind is EntryKind.TEXT:
            return shortened(self.entry.note) or "Text"
        return self.entry.title if self.result is None else self.result.title

    @property
    def verdict(self) -> str:
        """The least trust in its results."""
        trust = None if self.result is None else self.result.trust
        return "" if trust is None else trust.value


COLUMNS: tuple[TableColumn[EntryRow], ...] = (
    TableColumn("No.", lambda row: str(row.number), align=RIGHT, tone="muted"),
    TableColumn("Entry", lambda row: row.title, stretch=True, least=240),
    TableColumn(
        "Result",
        lambda row: "" if row.result is None else row.result.headline,
        stretch=True,
        least=180,
        tone=lambda row: "warning" if row.result is not None and row.result.problem else "",
    ),
    TableColumn(
        "Verdict",
        lambda row: row.verdict,
        mark=lambda row: icon(mark_of(row.result.trust.value)) if row.result and row.result.trust else None,
        topic="verdicts",
    ),
    TableColumn(
        "Note",
        lambda row: "" if row.entry.kind is EntryKind.TEXT else shortened(row.entry.note),
        stretch=True,
        least=240,
        tone="muted",
        hide_order=1,
    ),
)


ENTRY = 1
"""The column of the title; a text spans those after it, too."""


class _EntryModel(TableModel[EntryRow]):
    """Rows that can be dragged to another position."""

    dropped = Signal(int)  # before this row

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let rows be dragged, and dropped between others."""
        own = super().flags(index) if index.isValid() else Qt.ItemFlag.NoItemFlags
        return own | (Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else Qt.ItemFlag.ItemIsDropEnabled)

    def supportedDropActions(self) -> Qt.DropAction:
        """Return that rows are moved."""
        return Qt.DropAction.MoveAction

    def dropMimeData(self, _data: QMimeData, _action: Qt.DropAction, row: int, _column: int, parent: Index) -> bool:
        """Report where the current row was dropped; the page moves it, once that is stored."""
        self.dropped.emit(row if row >= 0 else parent.row() if parent.isValid() else self.rowCount())
        return False


class _EntryDelegate(RowDelegate):
    """Elides titles in the middle: those of comparisons differ at their ends."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Leave the end of a text that is no title to be elided."""
        super().initStyleOption(option, index)
        if index.column() == ENTRY and index.data(ROW).entry.kind is not EntryKind.TEXT:
            option.textElideMode = Qt.TextElideMode.ElideMiddle


class EntryTable(Table[EntryRow]):
    """The entries in their order."""

    move_requested = Signal(str, int)  # the id of an entry, its new position from 0

    def __init__(self) -> None:
        self._entries = _EntryModel(COLUMNS)
        super().__init__("Entries", self._entries, identity=lambda row: row.entry.id)
        self.setItemDelegate(_EntryDelegate(self))
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDragDropOverwriteMode(False)
        self._entries.dropped.connect(self._drop)

    def show_entries(self, entries: Sequence[InvestigationEntry], results: dict[str, EntryResult]) -> None:
        """Show entries with those results that are known."""
        self.show_rows(EntryRow(at, one, results.get(one.id)) for at, one in enumerate(entries, 1))
        self.clearSpans()
        for row, one in enumerate(entries):
            if one.kind is EntryKind.TEXT:  # it has no result
                self.setSpan(row, ENTRY, 1, len(COLUMNS) - ENTRY)

    def move_current(self, step: int) -> None:
        """Request the move of the current entry by `step` positions."""
        row = self.current()
        if row is not None and 0 <= row.number - 1 + step < len(self.content.rows):
            self.move_requested.emit(row.entry.id, row.number - 1 + step)

    def _drop(self, before: int) -> None:
        row = self.current()
        if row is not None:
            place = before - 1 if before > row.number - 1 else before
            if place != row.number - 1:
                self.move_requested.emit(row.entry.id, place)
