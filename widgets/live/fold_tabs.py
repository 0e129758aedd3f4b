"""Tabs that fold to their bar."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from widgets import settings
from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import tool_button
from widgets.parts.issues_drawer import IssuesDrawer
from widgets.parts.text import set_tool_tip

_SETTING = "live_details"
_LARGEST = 16777215
"""QWIDGETSIZE_MAX, which PySide6 does not export."""


class FoldTabs(QTabWidget):
    """Tabs that are folded to their bar at first; the state is remembered. A click on a tab unfolds them, one on the
    current tab folds them."""

    fold_changed = Signal()

    def __init__(self) -> None:
        super().__init__(documentMode=True)
        self._folded = settings.text(_SETTING, "folded") != "open"
        self.setAccessibleName("Trials, output and commands")
        self._fold = tool_button("", self._toggle, autoRaise=True)
        corner = QWidget()
        fill(row_in(corner), self._fold)
        self.setCornerWidget(corner)
        self.tabBarClicked.connect(self._click)
        self._fit()

    @property
    def folded(self) -> bool:
        """Whether only the bar is shown."""
        return self._folded

    def set_folded(self, *, folded: bool) -> None:
        """Fold or unfold the tabs, and remember it."""
        if folded is not self._folded:
            self._folded = folded
            settings.put(_SETTING, "folded" if folded else "open")
            self._fit()
            self.fold_changed.emit()

    def take_turns(self, drawer: IssuesDrawer) -> None:
        """Fold the tabs when `drawer` opens, and it when they unfold: both would leave the plots no room."""

        def fold_drawer() -> None:
            if not self._folded:
                drawer.set_folded(folded=True)

        fold_drawer()
        self.fold_changed.connect(fold_drawer)
        drawer.fold_changed.connect(lambda folded: None if folded else self.set_folded(folded=True))

    def open_tab(self, page: QWidget) -> None:
        """Unfold the tabs with `page` in front."""
        self.setCurrentWidget(page)
        self.set_folded(folded=False)

    def tabInserted(self, index: int) -> None:
        """Give the bar the height of its tabs."""
        super().tabInserted(index)
        self._fit()

    def _toggle(self) -> None:
        self.set_folded(folded=not self._folded)

    def _click(self, index: int) -> None:
        if index >= 0:
            self.set_folded(folded=not self._folded and index == self.currentIndex())

    def _fit(self) -> None:
        bar = max(self.tabBar().sizeHint().height(), self._fold.sizeHint().height())
        self.setMinimumHeight(bar if self._folded else bar + 60)
        self.setMaximumHeight(bar if self._folded else _LARGEST)
        text = "Show trials, output and commands" if self._folded else "Hide trials, output and commands"
        self._fold.setText("▴" if self._folded else "▾")
        self._fold.setAccessibleName(text)
        set_tool_tip(self._fold, text)
