"""The runs of a comparison as chips: which is which, which is the baseline, and a way to take one out."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton, QWidget

from app.records import RunSummary
from app.wording import run_letter, run_name
from widgets.compare.cells import draw_mark
from widgets.compare.run_words import short_words, telling_words
from widgets.parts.flow_layout import flowing
from widgets.parts.notice import Picture
from widgets.parts.one_line import OneLine
from widgets.parts.text import set_tool_tip
from widgets.parts.trust_marks import mark_of
from widgets.theme import SPACE, TextSize, text_font

WIDEST, NARROWEST = 260, 84
"""Pixels of a chip's words, the most and the least; the rest is in the tool tip."""

_BUTTON = QSize(22, 20)


class _Mark(QWidget):
    """The small square that stands for the run."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.setFixedSize(QSize(12, 14))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the square."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_mark(painter, QPointF(self.rect().center()) + QPointF(0.5, 0.5), self._number)


class RunChip(QFrame):
    """One run. Tab reaches it; the menu key opens what can be done, Delete takes it out."""

    baseline_requested = Signal(int)
    show_requested = Signal(int)
    remove_requested = Signal(int)
    join_requested = Signal(int)

    def __init__(self, number: int, run: RunSummary, telling: str, *, removable: bool) -> None:
        """Show the run, or the group of runs, as `number`; `telling` is what tells it from the others."""
        super().__init__()
        self.number = number
        self._removable = removable
        self._group = "," in run.id
        self.setObjectName("card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        words = short_words(run)
        self.setAccessibleName(f"{run_name(number)}: {words}")
        set_tool_tip(self, "\n".join(part for part in (f"{run_name(number)}: {words}", run.question, run.id) if part))
        letter = OneLine(text_font(TextSize.BODY, bold=True))
        letter.set_text(run_name(number))
        letter.setFixedWidth(letter.sizeHint().width())
        self.words = OneLine(text_font(TextSize.BODY))
        self.words.set_text(telling)
        self.words.setMaximumWidth(WIDEST)
        self.trust_mark, self.trust = Picture(mark_of(run.trust) or "info", 14), OneLine(text_font(TextSize.BODY))
        self.trust.set_text(run.trust)
        self.menu = self._build_menu()
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE[1], 2, 2, 2)
        row.setSpacing(SPACE[0])
        for widget in (_Mark(number), letter, self.words, self.trust_mark, self.trust):
            row.addWidget(widget)
        for button in (self._menu_button(), self._remove_button()):
            row.addWidget(button)
        for widget in (self.trust_mark, self.trust):  # once they have a parent: alone they would be windows
            widget.setVisible(bool(run.trust))

    def fit(self, width: int) -> None:
        """Cut the words so that the chip takes no more than `width`, if that can be."""
        others = self.sizeHint().width() - min(self.words.sizeHint().width(), self.words.maximumWidth())
        self.words.setMaximumWidth(max(NARROWEST, min(WIDEST, width - others)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the menu or take the run out."""
        if event.key() == Qt.Key.Key_Delete and self._removable:
            self.remove_requested.emit(self.number)
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Menu}:
            self.menu.popup(self.mapToGlobal(self.rect().bottomLeft()))
        else:
            super().keyPressEvent(event)

    def _build_menu(self) -> QMenu:
        menu = QMenu(self)
        self.baseline_action = menu.addAction("Use as baseline", lambda: self.baseline_requested.emit(self.number))
        self.baseline_action.setEnabled(self.number > 0)
        menu.addAction("Show in library", lambda: self.show_requested.emit(self.number))
        self.join_action = menu.addAction(self._join_words(), lambda: self.join_requested.emit(self.number))
        self.join_action.setEnabled(self._group or (self.number > 0 and self._removable))
        menu.addSeparator()
        self.remove_action = menu.addAction("Take out", lambda: self.remove_requested.emit(self.number))
        self.remove_action.setEnabled(self._removable)
        return menu

    def _join_words(self) -> str:
        if self._group:
            return "Take the group apart"
        return f"Join with {run_letter(self.number - 1)}" if self.number else "Join with another"

    def _menu_button(self) -> QToolButton:
        button = QToolButton()
        button.setText("⋯")
        button.setFixedSize(_BUTTON)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setAccessibleName(f"What can be done with {run_name(self.number)}")
        set_tool_tip(button, "Use as baseline, join, show in library, take out")
        button.clicked.connect(lambda: self.menu.popup(button.mapToGlobal(button.rect().bottomLeft())))
        return button

    def _remove_button(self) -> QToolButton:
        button = self.remove_button = QToolButton()
        button.setText("✕")
        button.setFixedSize(_BUTTON)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setEnabled(self._removable)
        button.setAccessibleName(f"Take {run_name(self.number)} out")
        set_tool_tip(button, "Take it out of the comparison" if self._removable else "Two runs are the least")
        button.clicked.connect(lambda: self.remove_requested.emit(self.number))
        return button


class RunChips(QWidget):
    """The chips in a row or several."""

    baseline_requested = Signal(int)
    show_requested = Signal(int)
    remove_requested = Signal(int)
    join_requested = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.chips: list[RunChip] = []
        self._place: QWidget | None = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let two chips stand beside each other."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        for chip in self.chips:
            chip.fit((self.width() - SPACE[1]) // 2 if len(self.chips) > 2 else self.width())

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """Show `runs`, the baseline first."""
        for chip in self.chips:
            chip.deleteLater()
        told = enumerate(zip(runs, telling_words(runs), strict=True))
        self.chips = [RunChip(number, run, words, removable=len(runs) > 2) for number, (run, words) in told]
        for chip in self.chips:
            chip.baseline_requested.connect(self.baseline_requested)
            chip.show_requested.connect(self.show_requested)
            chip.remove_requested.connect(self.remove_requested)
            chip.join_requested.connect(self.join_requested)
        before, self._place = self._place, flowing(*self.chips, spacing=SPACE[1])
        self._row.addWidget(self._place)
        self._fit()
        if before is not None:
            self._row.removeWidget(before)
            before.hide()
            before.deleteLater()
