"""Between the rail and the right edge: the page in front, and the side panel that explains it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from widgets import settings
from widgets.parts.fold_panel import STRIP, FoldPanel

NARROWEST = 500
"""Pixels of the narrowest middle: three buttons beside each other must fit."""

SIDE_WIDTH = 380


class Middle(QSplitter):
    """Shows one page and its side. How wide the side is, and whether it is folded, is remembered."""

    fold_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._pages = QStackedWidget()
        self._pages.setMinimumWidth(NARROWEST)
        self._side = FoldPanel()
        self._side.about_to_fold.connect(self._remember_width)
        self._side.fold_changed.connect(self._remember_fold)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(3)
        self.addWidget(self._pages)
        self.addWidget(self._side)
        self.setStretchFactor(0, 1)
        self.setStretchFactor(1, 0)
        width = settings.text("side_width")
        self._side_width = int(width) if width.isdecimal() else SIDE_WIDTH
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
        """Remember the side's width beyond this session."""
        self._remember_width()
        settings.put("side_width", str(self._side_width))

    def _remember_width(self) -> None:
        if self._side.isVisible() and not self._side.folded:
            self._side_width = self._side.width()

    def _remember_fold(self, folded: bool) -> None:  # noqa: FBT001 (a slot takes what its signal sends)
        settings.put_flag("folded", value=folded)
        self._fit()
        self.fold_changed.emit(folded)

    def _fit(self) -> None:
        """Give the side its width: a splitter does not look at it when it folds."""
        wanted = STRIP if self._side.folded else self._side_width
        self.setSizes([max(1, self.width() - wanted), wanted])
