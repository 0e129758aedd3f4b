"""Tree view of a host's facts; absent facts are shown with their reason."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QMenu, QStackedWidget, QToolButton, QTreeView, QWidget

from app.hosts.facts_rows import FactRow, as_text, fact_rows, matching_rows
from suites.facts import Facts
from widgets.parts.boxes import column_in, fill, in_column, in_row
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.empty_state import EmptyState
from widgets.parts.text import Text, Tone, tool_tip, visible
from widgets.theme import SPACE, TextSize, palette, text_font

Index = QModelIndex | QPersistentModelIndex

_ROW = Qt.ItemDataRole.UserRole
"""Role of the FactRow, in the first column."""

_TOP = QModelIndex()


class FactsModel(QStandardItemModel):
    """Tree model of facts. Text from a host is shown literally, never as markup.

    The children of a row are made when it is opened: a host may list hundreds of disks with thirty facts each.
    """

    def show_rows(self, rows: tuple[FactRow, ...]) -> None:
        """Replace the rows."""
        self.clear()
        self.setHorizontalHeaderLabels(["Fact", "Value"])
        for row in rows:
            self.appendRow(_cells(row, bold=True))

    def hasChildren(self, parent: Index = _TOP) -> bool:
        """Return whether the row at `parent` has children, made or not."""
        return super().hasChildren(parent) or self.canFetchMore(parent)

    def canFetchMore(self, parent: Index) -> bool:
        """Return whether the children of `parent` are not made yet."""
        row = self.row_at(parent)
        return row is not None and bool(row.children) and not parent.column() and not self.rowCount(parent)

    def fetchMore(self, parent: Index) -> None:
        """Make the children of `parent`."""
        row, item = self.row_at(parent), self.itemFromIndex(parent)
        if row is not None and item is not None:
            for child in row.children:
                item.appendRow(_cells(child))

    def row_at(self, index: Index) -> FactRow | None:
        """Return the row at `index`."""
        row = index.sibling(index.row(), 0).data(_ROW) if index.isValid() else None
        return row if isinstance(row, FactRow) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what the cell shows in `role`; the colour of a reason follows the appearance."""
        if role == Qt.ItemDataRole.ForegroundRole and index.column() and (row := self.row_at(index)) and row.absent:
            return QColor(palette().muted)
        return super().data(index, role)


def _cells(row: FactRow, *, bold: bool = False) -> list[QStandardItem]:
    title, value = cells = [QStandardItem(visible(text)) for text in (row.title, row.value)]
    for cell, text in zip(cells, (row.title, row.value), strict=True):
        cell.setToolTip(tool_tip(text))
        cell.setEditable(False)
    title.setData(row, _ROW)
    font = QFont()
    font.setBold(bold)
    title.setFont(font)
    if row.absent:
        value.setData(visible(f"absent: {row.value}"), Qt.ItemDataRole.AccessibleTextRole)
        font.setBold(False)
        font.setItalic(True)
        value.setFont(font)
    return cells


class _Tree(QTreeView):
    """Tree of two columns that fit the width; titles take at most three fifths."""

    copied = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy whole rows: Qt's default copies one cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copied.emit()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the new width."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Set the width of the titles."""
        self.setColumnWidth(0, min(self.sizeHintForColumn(0), self.viewport().width() * 3 // 5))


class FactsView(QWidget):
    """Facts of one host with the time of reading, and buttons to refresh and copy."""

    read_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.facts: Facts | None = None
        self._title = Text("Facts", font=text_font(TextSize.HEADING, bold=True))
        self._when = Text(tone=Tone.MUTED)
        self.read_button = self._tool("refresh", "Read the facts again", "F5")
        self.read_button.clicked.connect(self.read_requested)
        self.copy_button = self._tool("copy", "Copy all facts")
        self.copy_button.setMenu(self._copy_menu())
        self.copy_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.model = FactsModel(self)
        self.tree = self._build_tree()
        self.filter = line_edit("Filter facts", placeholderText="Filter", clearButtonEnabled=True)
        self.filter.textChanged.connect(self._show_rows)
        self.empty = EmptyState(
            "No facts yet",
            "One shell script reads hardware and software in under a second and leaves nothing behind.",
            "Read facts",
            self.read_requested.emit,
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.tree)
        self._arrange()
        self.show_nothing("")

    def show_facts(self, facts: Facts, host_title: str = "") -> None:
        """Show `facts` and the local time of reading."""
        self.facts = facts
        self._title.setText(host_title or facts.host)
        self._when.setText(f"Facts, read {_local(facts.read_at)}")
        self._show_rows()
        self._offer(shown=True)

    def show_nothing(self, host_title: str) -> None:
        """Show that the facts of the host are not read yet."""
        self.facts = None
        self._title.setText(host_title or "Facts")
        self._when.setText("")
        self.model.show_rows(())
        self._offer(shown=False)

    def as_text(self) -> str:
        """Return all facts as lines."""
        if self.facts is None:
            return ""
        return f"Facts of {self.facts.host}, read {self.facts.read_at}\n{as_text(fact_rows(self.facts))}\n"

    def as_json(self) -> str:
        """Return all facts in the format of ``benchwright facts --json``."""
        from app.formats import facts_to_json  # lazy: cattrs is slow to import
        from app.output import json_text

        return "" if self.facts is None else json_text(facts_to_json(self.facts))

    def _show_rows(self) -> None:
        """Show the facts that match the filter, opened down to the matches."""
        if self.facts is not None:
            text = self.filter.text().strip()
            self.model.show_rows(matching_rows(fact_rows(self.facts), text))
            if text:
                self.tree.expandAll()
            else:
                self.tree.expandToDepth(0)
            self.tree.fit()

    def _offer(self, *, shown: bool) -> None:
        self._stack.setCurrentWidget(self.tree if shown else self.empty)
        self.filter.setVisible(shown)
        self._when.setVisible(shown)
        self.copy_button.setEnabled(shown)
        self.read_button.setEnabled(shown)

    def _arrange(self) -> None:
        titles, top = in_column(self._title, self._when, spacing=0), Qt.AlignmentFlag.AlignTop
        head = in_row((titles, 1), (self.read_button, 0, top), (self.copy_button, 0, top), spacing=SPACE[0])
        fill(column_in(self, SPACE[1], (SPACE[2], SPACE[3], SPACE[2], SPACE[2])), head, self.filter, (self._stack, 1))

    def _build_tree(self) -> _Tree:
        tree = _Tree()
        tree.setObjectName("bare")
        tree.setModel(self.model)
        tree.setAccessibleName("Facts")
        tree.setHeaderHidden(True)
        tree.setUniformRowHeights(True)
        tree.setIndentation(SPACE[2])
        tree.setSelectionMode(QTreeView.SelectionMode.ExtendedSelection)
        tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        tree.header().setMinimumSectionSize(SPACE[4])
        tree.header().setStretchLastSection(True)
        tree.copied.connect(self._copy_selected)
        return tree

    def _tool(self, icon: str, tip: str, keys: str = "") -> QToolButton:
        return tool_button(icon=icon, accessibleName=tip, shortcut=keys, tip=f"{tip} ({keys})" if keys else tip)

    def _copy_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Copy as text", lambda: QGuiApplication.clipboard().setText(self.as_text()))
        menu.addAction("Copy as JSON", lambda: QGuiApplication.clipboard().setText(self.as_json()))
        return menu

    def _copy_selected(self) -> None:
        chosen: list[QModelIndex] = self.tree.selectionModel().selectedRows()
        rows = [row for index in chosen if (row := self.model.row_at(index)) is not None]
        if len(rows) > 1:  # several rows: without children; a single group: with all of them
            rows = [replace(row, children=()) for row in rows]
        QGuiApplication.clipboard().setText(as_text(rows))


def _local(moment: str) -> str:
    """Return an ISO 8601 timestamp in local time, or unchanged if it cannot be parsed."""
    try:
        local = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    today = local.date() == datetime.now().astimezone().date()
    return local.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M")
