"""Runs of a comparison as chips with a menu: set baseline, group, remove."""

from collections.abc import Sequence
from itertools import islice

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QMenu, QToolButton, QWidget

from app.comparison.comparison import run_letter, run_name
from app.records import RunSummary
from widgets.compare.cells import draw_mark
from widgets.compare.messages import distinct_run_names, is_group, numbered_run_name
from widgets.parts.boxes import FittedWidget, fill, row_in, scrolled
from widgets.parts.controls import pop_up, tool_button
from widgets.parts.flow_layout import flowing
from widgets.parts.names import mark_of
from widgets.parts.notice import Picture
from widgets.parts.text import OneLine, Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

NARROWEST = 84
"""Smallest width of a chip's label in pixels; the full text is in the tooltip."""

_BUTTON = QSize(22, 20)


class _Mark(QWidget):
    """Square mark of the run."""

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
    """One run or group. The menu key opens its menu, Delete removes it."""

    baseline_requested = Signal(int)
    show_requested = Signal(int)
    remove_requested = Signal(int)
    join_requested = Signal(int)

    def __init__(self, number: int, run: RunSummary, label: str, *, removable: bool) -> None:
        """Show the run or group as `number`, under a distinct `label`."""
        super().__init__()
        self.number = number
        self._removable = removable
        self._group = is_group(run)
        self.setObjectName("card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        name = numbered_run_name(number, run)
        self.setAccessibleName(name)
        set_tool_tip(self, "\n".join(part for part in (name, run.question, ", ".join(run.ids)) if part))
        self.letter = OneLine(text_font(TextSize.BODY, bold=True))
        self.label = OneLine(text_font(TextSize.BODY))
        self.label.set_text(label)
        self.trust_mark, self.trust = Picture(mark_of(run.trust) or "info", 14), OneLine(text_font(TextSize.BODY))
        self.trust.set_text(run.trust)
        self.menu = self._build_menu()
        row = row_in(self, SPACE[0], (SPACE[1], 2, 2, 2))
        for widget in (_Mark(number), self.letter, self.label, self.trust_mark, self.trust):
            row.addWidget(widget)
        fill(row, self._menu_button(), self._remove_button())
        for widget in (self.trust_mark, self.trust):  # only now: without a parent they would open as windows
            widget.setVisible(bool(run.trust))
        self._shorten(short=False)

    def fit(self, width: int, *, short: bool) -> str:
        """Fit the chip into `width`, if possible; `short`: without the words that its marks and tooltip repeat.

        Return the label as shown, which is elided if it does not fit.
        """
        self._shorten(short=short)
        whole = self.label.sizeHint().width()
        self.label.setMaximumWidth(whole)
        others = self.sizeHint().width() - whole
        shown = min(whole, max(NARROWEST, width - others))
        self.label.setMaximumWidth(shown)
        return QFontMetricsF(self.label.font()).elidedText(self.label.text(), Qt.TextElideMode.ElideRight, shown)

    def _shorten(self, *, short: bool) -> None:
        self.letter.set_text((run_letter if short else run_name)(self.number))
        self.letter.setFixedWidth(self.letter.sizeHint().width())
        self.trust.setMaximumWidth(0 if short else self.trust.sizeHint().width())  # hiding may be amid being shown

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the menu or remove the run."""
        if event.key() == Qt.Key.Key_Delete and self._removable:
            self.remove_requested.emit(self.number)
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Menu}:
            pop_up(self.menu, self)
        else:
            super().keyPressEvent(event)

    def _build_menu(self) -> QMenu:
        menu = QMenu(self)
        self.baseline_action = menu.addAction("Use as baseline", lambda: self.baseline_requested.emit(self.number))
        self.baseline_action.setEnabled(self.number > 0)
        menu.addAction("Show in library", lambda: self.show_requested.emit(self.number))
        self.join_action = menu.addAction(self._join_text(), lambda: self.join_requested.emit(self.number))
        self.join_action.setEnabled(self._group or (self.number > 0 and self._removable))
        menu.addSeparator()
        self.remove_action = menu.addAction("Remove", lambda: self.remove_requested.emit(self.number))
        self.remove_action.setEnabled(self._removable)
        return menu

    def _join_text(self) -> str:
        if self._group:
            return "Split group"
        return f"Join with {run_letter(self.number - 1)}" if self.number else "Join"

    def _menu_button(self) -> QToolButton:
        button = tool_button("⋯")
        button.setFixedSize(_BUTTON)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setAccessibleName(f"Actions for {run_name(self.number)}")
        set_tool_tip(button, "Use as baseline, join, show in library, remove")
        button.clicked.connect(lambda: pop_up(self.menu, button))
        return button

    def _remove_button(self) -> QToolButton:
        button = self.remove_button = QToolButton()
        button.setText("✕")
        button.setFixedSize(_BUTTON)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setEnabled(self._removable)
        button.setAccessibleName(f"Remove {run_name(self.number)}")
        set_tool_tip(button, "Remove from the comparison" if self._removable else "A comparison needs two runs")
        button.clicked.connect(lambda: self.remove_requested.emit(self.number))
        return button


MOST_ROWS = 2

MOST_CHIPS = 40
"""Chips that are made: each holds up the window for about 2 ms."""


class RunChips(FittedWidget):
    """Chips of the first runs, and how many others there are.

    They scroll in `area`, which is at most MOST_ROWS high: the plots need the room.
    """

    baseline_requested = Signal(int)
    show_requested = Signal(int)
    remove_requested = Signal(int)
    join_requested = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.chips: list[RunChip] = []
        self._flow: QWidget | None = None
        self._row = row_in(self)
        self.area = scrolled(self)

    def fit(self) -> None:
        """Fit the names of the chips, and the height of the area."""
        self._fit_names()
        if self._flow is not None and self.chips:
            row = self.chips[0].sizeHint().height()
            rows = MOST_ROWS * row + (MOST_ROWS - 1) * SPACE[1]
            self.area.setFixedHeight(min(rows, self._flow.heightForWidth(max(1, self.width()))))

    def _fit_names(self) -> None:
        """Fit two chips in a row, more than two chips with whole or else distinct names; else one in a row."""
        half = (self.width() - SPACE[1]) // 2 if len(self.chips) > 2 else self.width()
        whole = [chip.label.text() for chip in self.chips]
        if [chip.fit(half, short=False) for chip in self.chips] == whole:
            return
        if len({chip.fit(half, short=True) for chip in self.chips}) < len(set(whole)):
            for chip in self.chips:
                chip.fit(self.width(), short=True)

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """Show `runs`, baseline first."""
        for chip in self.chips:
            chip.deleteLater()
        named = enumerate(islice(zip(runs, distinct_run_names(runs), strict=True), MOST_CHIPS))
        self.chips = [RunChip(number, run, name, removable=len(runs) > 2) for number, (run, name) in named]
        for chip in self.chips:
            chip.baseline_requested.connect(self.baseline_requested)
            chip.show_requested.connect(self.show_requested)
            chip.remove_requested.connect(self.remove_requested)
            chip.join_requested.connect(self.join_requested)
        before, self._flow = self._flow, flowing(*self.chips, spacing=SPACE[1])
        if (others := len(runs) - len(self.chips)) and (layout := self._flow.layout()) is not None:
            layout.addWidget(Text(f"and {others} more", Tone.MUTED, wrap=False))
        self._row.addWidget(self._flow)
        self.fit()
        if before is not None:
            self._row.removeWidget(before)
            before.hide()
            before.deleteLater()
