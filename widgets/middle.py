"""Between the rail and the right edge: the page in front, and the side panel that explains it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from widgets import settings
from widgets.parts.fold_panel import STRIP, FoldPanel

NARROWEST = 500
"""Pixels of the narrowest middle: three buttons beside each other must fit."""

SIDE_SHARE, SIDE_LEAST, SIDE_MOST = 0.33, 320, 480
"""How wide the side is until somebody drags it: the share of the width both have, and its bounds in pixels."""


class Middle(QSplitter):
    """Shows one page and its side. How wide the side is, and whether it is folded, is remembered."""

    fold_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._pages = QStackedWidget()
        self._pages.setMinimumWidth(NARROWEST)
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
        """The page in front, once there is one."""
        return self._pages.currentWidget()

    @property
    def folded(self) -> bool:
        """Whether the side is folded away."""
        return self._side.folded

    def bring_to_front(self, page: QWidget, side: QWidget | None) -> bool:
        """Show `page`, and `side` beside it; return whether the page was not shown before."""
        new = self._pages.indexOf(page) < 0
        if new:
            self._pages.addWidget(page)
        self._pages.setCurrentWidget(page)
        self._side.show_side(side)
        return new

    def set_folded(self, *, folded: bool) -> None:
        """Fold the side away, or bring it back."""
        self._side.set_folded(folded=folded)

    def store(self) -> None:
        """Remember the side's width beyond this session, where somebody has chosen it."""
        if self._dragged:
            settings.put("side_width", str(self._dragged))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let the side grow with the window until somebody has chosen its width."""
        super().resizeEvent(event)
        if not self._dragged:
            self._fit()

    def _remember_width(self) -> None:
        if self._side.isVisible() and not self._side.folded:
            self._dragged = self._side.width()

    def _remember_fold(self, folded: bool) -> None:  # noqa: FBT001 (a slot takes what its signal sends)
        settings.put_flag("folded", value=folded)
        self._fit()
        self.fold_changed.emit(folded)

    def _fit(self) -> None:
        """Give the side its width: a splitter does not look at it when it folds."""
        own = self._dragged or min(SIDE_MOST, max(SIDE_LEAST, round(SIDE_SHARE * self.width())))
        wanted = STRIP if self._side.folded else own
        self.setSizes([max(1, self.width() - wanted), wanted])
