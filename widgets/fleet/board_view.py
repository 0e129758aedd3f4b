"""The board of a study: head with progress and actions, figure and filter, and the table of hosts."""

from dataclasses import replace
from datetime import datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QComboBox, QMenu, QProgressBar, QWidget

from app.fleet.board import Board
from app.fleet_study import FigureKey
from suites.quantities import count_text, metric_text
from widgets.fleet.board_feed import BoardReading
from widgets.fleet.board_table import BoardTable
from widgets.fleet.board_text import BoardHead, counts_text, end_text, host_text
from widgets.fleet.fleet_actions import FleetActions
from widgets.parts.actions import ActionButton
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import line_edit, pop_up, tool_button
from widgets.parts.flow_layout import flowing
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, text_font

FILTER_TIP = "Host, group, state, reason or finding: “web failed”, “outlier” (Ctrl+F)"


class BoardView(QWidget):
    """Shows what is read of a study."""

    figure_chosen = Signal(object)  # a FigureKey

    def __init__(self, actions: FleetActions) -> None:
        super().__init__()
        self.head: BoardHead | None = None
        self.title = OneLine(text_font(TextSize.HEADING, bold=True))
        self.counts, self.end = OneLine(text_font(TextSize.BODY)), OneLine(text_font(TextSize.BODY), "muted")
        self.progress = QProgressBar(textVisible=False)
        self.progress.setAccessibleName("Host-runs that are over")
        self.figure = QComboBox()
        self.figure.setAccessibleName("Figure")
        self.figure.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.figure.setMinimumContentsLength(24)
        self.figure.setPlaceholderText("No values yet")
        self.figure.setToolTip("Figure of which the board shows the trials and the median")
        self.figure.activated.connect(lambda _at: self.figure_chosen.emit(self.figure.currentData()))
        self.table = BoardTable()
        self.table.addActions(list(actions.of_hosts()))
        self.filter = line_edit(
            "Filter hosts", self._search, tip=FILTER_TIP, placeholderText="Filter hosts", clearButtonEnabled=True
        )
        self.found = OneLine(text_font(TextSize.BODY), "muted")
        self.chosen = OneLine(text_font(TextSize.BODY), "muted")
        self.table.moved.connect(self._show_chosen)
        self._board: Board | None = None
        self._arrange(actions)

    def show_reading(self, reading: BoardReading, *, own: bool) -> None:
        """Show a board; `own`: this window runs the study."""
        board = self._board = reading.board
        self.show_head(replace(reading.head, own=own))
        self._show_figures(board)
        self.table.show_board(board)
        self._show_found()
        self._show_chosen()

    def show_stopping(self, numbers: frozenset[int]) -> None:
        """Show which host-runs were asked to stop and have not ended."""
        self.table.show_stopping(numbers)
        self._show_chosen()

    def show_head(self, head: BoardHead) -> None:
        """Show how far the study is."""
        self.head, study = head, head.study
        groups = study.plan.groups
        parts = [
            study.name, count_text(len(study.plan.hosts), "host"),
            count_text(len(groups), "group") if len(groups) > 1 else next(iter(groups), ""),
            count_text(study.plan.sessions, "session") if study.plan.sessions > 1 else "",
        ]  # fmt: skip
        self.title.set_text(" · ".join(filter(None, parts)))
        self.counts.set_text(counts_text(study))
        self.end.set_text(end_text(head, datetime.now().astimezone()))
        self.progress.setRange(0, max(1, study.total))
        self.progress.setValue(head.done)

    def clear(self) -> None:
        """Show nothing until a board is read."""
        self.head = self._board = self.table.board = None
        self.filter.clear()
        self.figure.clear()
        self.table.show_rows([])
        self.found.hide()
        for line in (self.title, self.counts, self.end):
            line.set_text("")

    def _show_figures(self, board: Board) -> None:
        keys = [self.figure.itemData(at) for at in range(self.figure.count())]
        if keys != list(board.figures):
            self.figure.clear()
            for key in board.figures:
                self.figure.addItem(figure_title(key, board), key)
        at = -1 if board.figure is None else list(board.figures).index(board.figure)
        if at != self.figure.currentIndex():
            self.figure.setCurrentIndex(at)
        self.figure.setEnabled(len(board.figures) > 1)

    def _search(self, text: str) -> None:
        self.table.search(text)
        self._show_found()

    def _show_found(self) -> None:
        shown, every = len(self.table.content.shown), len(self.table.content.rows)
        self.found.set_text(f"{shown} of {count_text(every, 'host')}")
        self.found.setVisible(shown != every)

    def _show_chosen(self) -> None:
        """Show what the table cuts of the selected host: its name, its state with the reason, its finding."""
        row = self.table.current()
        self.chosen.set_text("" if row is None else host_text(row, self.table.stopping))

    def _arrange(self, actions: FleetActions) -> None:
        menu = QMenu(self, toolTipsVisible=True)
        menu.addActions(list(actions.of_hosts()))
        menu.addSeparator()
        menu.addActions([actions.add, actions.end, actions.delete])
        self.menu_button = tool_button(icon="menu", tip="More actions", accessibleName="More actions")
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.menu_button.clicked.connect(lambda: pop_up(menu, self.menu_button))
        shown = (actions.pause, actions.resume, actions.stop, actions.retry_failed)
        buttons = flowing(*map(ActionButton, shown), self.menu_button, spacing=SPACE[1], at_end=True)
        above = in_row((self.title, 1), buttons, spacing=SPACE[2])
        below = in_row((self.counts, 0), (self.end, 1), spacing=SPACE[2])
        chosen = in_row(self.figure, (self.filter, 1), self.found, spacing=SPACE[1])
        fill(
            column_in(self, SPACE[1], (SPACE[1], 0, 0, 0)),
            above,
            below,
            self.progress,
            chosen,
            (self.table, 1),
            self.chosen,
        )
        find = QAction(self)
        find.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        find.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.triggered.connect(self.filter.setFocus)
        self.addAction(find)


def figure_title(key: FigureKey, board: Board) -> str:
    """Return the title of a figure; its step only if the plan has several."""
    step, metric, labels = key
    several = len(board.study.plan.plan.steps) > 1
    return f"{step}: {metric_text(metric, labels)}" if several else metric_text(metric, labels)
