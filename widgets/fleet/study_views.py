"""The two views of a study, its board and its results, with the tab bar that switches between them."""

from PySide6.QtWidgets import QStackedLayout, QTabBar, QWidget

from widgets.fleet.board_view import BoardView
from widgets.fleet.fleet_actions import FleetActions
from widgets.fleet.results_view import ResultsView
from widgets.parts.boxes import column_in, fill
from widgets.theme import SPACE


class StudyViews(QWidget):
    """Shows the board of a study or its results."""

    def __init__(self, board: BoardView, results: ResultsView, actions: FleetActions) -> None:
        super().__init__()
        self._board, self._results, self._replace_action = board, results, actions.replace
        self.tabs = QTabBar(drawBase=False, expanding=False)
        self.tabs.setAccessibleName("View of the study")
        for text in ("Board", "Results"):
            self.tabs.addTab(text)
        content = QWidget()
        stack = QStackedLayout(content)
        for view in (board, results):
            stack.addWidget(view)
        self.tabs.currentChanged.connect(stack.setCurrentIndex)
        results.replace_requested.connect(self._replace)
        fill(column_in(self, SPACE[1]), self.tabs, (content, 1))

    def show_results(self) -> None:
        """Show the results."""
        self.tabs.setCurrentIndex(1)

    def _replace(self, host: str, group: str) -> None:
        """Select a host on the board, and ask what replaces it."""
        self._board.filter.clear()
        if self._board.table.row_of((host, group)) >= 0:
            self.tabs.setCurrentIndex(0)
            self._board.table.select((host, group))
            self._replace_action.trigger()
