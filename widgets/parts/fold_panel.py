"""The right side of the window: what explains the middle; it folds away to a strip."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QToolButton, QWidget

from widgets.parts.icons import set_icon
from widgets.parts.text import set_tool_tip

STRIP = 18
"""Pixels of what stays when folded, wide enough to hit."""

NARROWEST = 260


class FoldPanel(QWidget):
    """Shows one widget of many, or only the strip that brings it back."""

    fold_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("side")
        self._folded = False
        self._stack = QStackedWidget()
        self._strip = QToolButton()
        self._strip.setObjectName("strip")
        self._strip.setFixedWidth(STRIP)
        self._strip.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self._strip.clicked.connect(lambda: self.set_folded(folded=not self._folded))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._strip)
        row.addWidget(self._stack, 1)
        self._fit()

    @property
    def folded(self) -> bool:
        """Whether only the strip is left."""
        return self._folded

    def set_folded(self, *, folded: bool) -> None:
        """Fold the panel away, or bring it back."""
        if folded is not self._folded:
            self._folded = folded
            self._fit()
            self.fold_changed.emit(folded)

    def show_side(self, side: QWidget | None) -> None:
        """Show `side`; nothing at all where a page has none."""
        self.setVisible(side is not None)
        if side is None:
            return
        if self._stack.indexOf(side) < 0:
            self._stack.addWidget(side)
        self._stack.setCurrentWidget(side)

    def _fit(self) -> None:
        self._stack.setVisible(not self._folded)
        self.setMinimumWidth(STRIP if self._folded else NARROWEST)
        self.setMaximumWidth(STRIP if self._folded else 16777215)  # QWIDGETSIZE_MAX, which PySide6 does not export
        words = "Show the side panel" if self._folded else "Fold the side panel away"
        set_icon(self._strip, "unfold" if self._folded else "fold")
        self._strip.setAccessibleName(words)
        set_tool_tip(self._strip, f"{words} (F9)")
