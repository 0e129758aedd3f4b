"""What was read off a host: grouped, with units; what is absent stays visible with its reason."""

from dataclasses import replace
from datetime import datetime

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QStackedWidget,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from suites.facts import Facts
from widgets.hosts.facts_model import FactsModel
from widgets.hosts.facts_rows import as_text, fact_rows
from widgets.parts.empty_state import EmptyState
from widgets.parts.icons import set_icon
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font


class _Tree(QTreeView):
    """Two columns that always fit: titles take what they need, but never more than three fifths."""

    copied = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy whole rows: Qt alone would copy one cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copied.emit()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Divide the width anew."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Give the titles their width."""
        self.setColumnWidth(0, min(self.sizeHintForColumn(0), self.viewport().width() * 3 // 5))


class FactsView(QWidget):
    """The facts of one host, when they were read, and buttons to read them again and to copy them."""

    read_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        self.empty = EmptyState(
            "No facts yet",
            "What the host is, read in under a second with one shell script. Nothing is installed or left behind.",
            "Read facts",
            self.read_requested.emit,
        )
        self._places = QStackedWidget()
        self._places.addWidget(self.empty)
        self._places.addWidget(self.tree)
        self._arrange()
        self.show_nothing("")

    def show_facts(self, facts: Facts, host_title: str = "") -> None:
        """Show `facts`, and when they were read in the reader's own time."""
        self.facts = facts
        self._title.setText(host_title or facts.host)
        self._when.setText(f"Facts, read {_local(facts.read_at)}")
        self.model.show_rows(fact_rows(facts))
        self.tree.expandToDepth(0)
        self.tree.fit()
        self._offer(shown=True)

    def show_nothing(self, host_title: str) -> None:
        """Say that the facts of the host were not read yet."""
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
        from app.escaping import json_text
        from app.formats import facts_to_json  # cattrs takes a while to load, and is needed for this alone

        return "" if self.facts is None else json_text(facts_to_json(self.facts))

    def _offer(self, *, shown: bool) -> None:
        self._places.setCurrentWidget(self.tree if shown else self.empty)
        self._when.setVisible(shown)
        self.copy_button.setEnabled(shown)
        self.read_button.setEnabled(shown)

    def _arrange(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._title)
        words.addWidget(self._when)
        head = QHBoxLayout()
        head.setSpacing(SPACE[0])
        head.addLayout(words, 1)
        head.addWidget(self.read_button, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.copy_button, 0, Qt.AlignmentFlag.AlignTop)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[2], SPACE[3], SPACE[2], SPACE[2])
        rows.setSpacing(SPACE[1])
        rows.addLayout(head)
        rows.addWidget(self._places, 1)

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
        button = QToolButton()
        set_icon(button, icon)
        button.setAccessibleName(tip)
        button.setShortcut(keys)
        set_tool_tip(button, f"{tip} ({keys})" if keys else tip)
        return button

    def _copy_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Copy as text", lambda: QGuiApplication.clipboard().setText(self.as_text()))
        menu.addAction("Copy as JSON", lambda: QGuiApplication.clipboard().setText(self.as_json()))
        return menu

    def _copy_selected(self) -> None:
        chosen: list[QModelIndex] = self.tree.selectionModel().selectedRows()
        rows = [row for index in chosen if (row := self.model.row_at(index)) is not None]
        if len(rows) > 1:  # several rows stand for themselves; one group stands for all it holds
            rows = [replace(row, children=()) for row in rows]
        QGuiApplication.clipboard().setText(as_text(rows))


def _local(moment: str) -> str:
    """Return `moment` (ISO 8601) as the reader's clock shows it, or as it is written where that cannot be told."""
    try:
        local = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    today = local.date() == datetime.now().astimezone().date()
    return local.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M")
