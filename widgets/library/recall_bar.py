"""Bar above the table of runs about runs whose trust a later version of the checks changed."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu

from app.rejudging.recall_groups import RecallGroup, notice_of
from app.run_filter import parse_filter
from suites.quantities import count_text
from widgets.parts.controls import push_button
from widgets.parts.notice import Notice
from widgets.parts.text import visible

MOST_GROUPS = 8
"""Groups in the menu; the entry for all of them has the rest."""

ALL_CHANGED = "recall:yes"
"""The filter of all runs that a later version changed."""


class RecallBar(Notice):
    """Says what changed, and shows the runs. Hidden while nothing has changed that the user has not dismissed."""

    filter_chosen = Signal(object)  # a RunFilter
    dismissed = Signal(list)  # ids of runs

    def __init__(self) -> None:
        super().__init__()
        self._groups: tuple[RecallGroup, ...] = ()
        self.show_button = push_button("Show runs", self._show_first, tip="Show these runs in the table")
        self.close_button = push_button("Close", self._dismiss, tip="Close until another verdict changes")
        self.menu = QMenu(self)
        self.menu_button = push_button("Show runs", tip="Choose which of these runs the table shows")
        self.menu_button.setMenu(self.menu)
        row = self.layout()
        for button in (self.show_button, self.menu_button, self.close_button):
            if row is not None:
                row.addWidget(button)

    def show_groups(self, groups: Sequence[RecallGroup]) -> None:
        """Show what changed; nothing hides the bar."""
        if tuple(groups) == self._groups:
            return
        self._groups = tuple(groups)
        self.setVisible(bool(groups))
        if not groups:
            return
        self.show_message("warning" if any(one.worse for one in groups) else "info", *notice_of(self._groups))
        self.menu.clear()
        for one in groups[:MOST_GROUPS]:
            self.menu.addAction(visible(one.text), partial(self.filter_chosen.emit, one.filter))
        runs = count_text(sum(len(one.rows) for one in groups), "run")
        self.menu.addAction(f"All {runs} that changed", partial(self.filter_chosen.emit, parse_filter(ALL_CHANGED)))
        self.show_button.setVisible(len(groups) == 1)
        self.menu_button.setVisible(len(groups) > 1)

    def _show_first(self) -> None:
        self.filter_chosen.emit(self._groups[0].filter)

    def _dismiss(self) -> None:
        self.dismissed.emit([row.id for one in self._groups for row in one.rows])
        self.show_groups(())
