"""Splitter with the current page and its foldable side panel."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QSplitter, QStackedWidget, QWidget

from widgets import settings
from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import tool_button
from widgets.parts.text import set_tool_tip
from widgets.theme import set_icon

STRIP = 18
"""Width in pixels of the folded panel, wide enough to click."""

SIDE_NARROWEST = 260


class FoldPanel(QWidget):
    """Panel that shows one of several widgets, or folds to a strip."""

    fold_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("side")
        self._folded = False
        self._stack = QStackedWidget()
        self._strip = tool_button(objectName="strip")
        self._strip.setFixedWidth(STRIP)
        self._strip.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self._strip.clicked.connect(lambda: self.set_folded(folded=not self._folded))
        fill(row_in(self, 0), self._strip, (self._stack, 1))
        self._fit()

    @property
    def folded(self) -> bool:
        """Whether the panel is folded."""
        return self._folded

    def set_folded(self, *, folded: bool) -> None:
        """Fold or unfold the panel."""
        if folded is not self._folded:
            self._folded = folded
            self._fit()
            self.fold_changed.emit(folded)

    def show_side(self, side: QWidget | None) -> None:
        """Show `side`; hide the panel for None."""
        self.setVisible(side is not None)
        if side is None:
            return
        if self._stack.indexOf(side) < 0:
            self._stack.addWidget(side)
        self._stack.setCurrentWidget(side)

    def _fit(self) -> None:
        self._stack.setVisible(not self._folded)
        self.setMinimumWidth(STRIP if self._folded else SIDE_NARROWEST)
        self.setMaximumWidth(STRIP if self._folded else 16777215)  # QWIDGETSIZE_MAX, which PySide6 does not export
        text = "Show side panel" if self._folded else "Hide side panel"
        set_icon(self._strip, "unfold" if self._folded else "fold")
        self._strip.setAccessibleName(text)
        set_tool_tip(self._strip, f"{text} (F9)")


PAGE_NARROWEST = 500
"""Least width in pixels of a page: three buttons side by side must fit."""

SIDE_SHARE, SIDE_LEAST, SIDE_MOST = 0.33, 320, 480
"""Default width of the side panel: share of the total width, and its bounds in pixels."""


class PageSplitter(QSplitter):
    """Shows one page and its side panel, whose width and folded state are stored."""

    fold_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._pages = QStackedWidget()
        self._pages.setMinimumWidth(PAGE_NARROWEST)
        self._side = FoldPanel()
        self._side.fold_changed.connect(self._remember_fold)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(3)
        self.addWidget(self._pages)
        self.addWidget(self._side)
        self.setStretchFactor(0, 1)
        self.setStretchFactor(1, 0)
        width = settings.text("side_width")
        self._dragged = int(width) if width.isdecimal() else 0
        self.splitterMoved.connect(self._remember_width)
        self.set_folded(folded=settings.flag("folded", default=False))
        self._fit()

    @property
    def front(self) -> QWidget | None:
        """The current page, or None."""
        return self._pages.currentWidget()

    @property
    def folded(self) -> bool:
        """Whether the side panel is folded."""
        return self._side.folded

    def bring_to_front(self, page: QWidget, side: QWidget | None) -> bool:
        """Show `page` and `side`; return whether the page is new."""
        new = self._pages.indexOf(page) < 0
        if new:
            self._pages.addWidget(page)
        self._pages.setCurrentWidget(page)
        self._side.show_side(side)
        return new

    def set_folded(self, *, folded: bool) -> None:
        """Fold or unfold the side panel."""
        self._side.set_folded(folded=folded)

    def store(self) -> None:
        """Store the side panel's width, if the user has set it."""
        if self._dragged:
            settings.put("side_width", str(self._dragged))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Scale the side panel with the window until the user has set its width."""
        super().resizeEvent(event)
        if not self._dragged:
            self._fit()

    def _remember_width(self) -> None:
        if self._side.isVisible() and not self._side.folded:
            self._dragged = self._side.width()

    def _remember_fold(self, folded: bool) -> None:  # noqa: FBT001 (a slot takes what its signal sends)
        settings.put("folded", "yes" if folded else "no")
        self._fit()
        self.fold_changed.emit(folded)

    def _fit(self) -> None:
        """Set the side panel's width: a splitter does not update it on folding."""
        own = self._dragged or min(SIDE_MOST, max(SIDE_LEAST, round(SIDE_SHARE * self.width())))
        wanted = STRIP if self._side.folded else own
        self.setSizes([max(1, self.width() - wanted), wanted])
