"""The line above a plot: what it shows in which unit, what the crosshair reads, and its menu."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from widgets.parts.one_line import OneLine
from widgets.parts.text import tool_tip
from widgets.plots.axis import VALUE_WIDTH
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font

_SWATCH = 10
_WIDEST_VALUE = " 888.8 MB/s"

MOST_ROWS = 5
"""Rows of a legend: what it takes, the curves have not. The rest is counted, and named in the tool tip."""


class Entry(NamedTuple):
    """One name of a legend, with its value at the crosshair where there is one."""

    title: str
    colour: QColor
    dashed: bool = False
    value: str = ""


def apart(titles: Sequence[str]) -> list[str]:
    """Return `titles` without the parts all have: ``tcp, threads 1`` beside ``udp, threads 1`` is ``tcp``."""
    parts = [title.split(", ") for title in titles]
    shared = set.intersection(*map(set, parts)) if len(parts) > 1 else set[str]()
    return [
        ", ".join(part for part in own if part not in shared) or title for own, title in zip(parts, titles, strict=True)
    ]


class Legend(QWidget):
    """Names of more than four curves, each behind a piece of its colour, in columns that leave room for values."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: tuple[Entry, ...] = ()
        self.setFont(figure_font(text_font(TextSize.SMALL).pointSizeF()))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Name these curves; nothing is shown for none."""
        titles = apart([entry.title for entry in entries])
        named = tuple(entry._replace(title=title) for entry, title in zip(entries, titles, strict=True))
        if named != self._entries:
            self._entries = named
            words = [f"{entry.title} {entry.value}".strip() for entry in entries]
            self.setAccessibleName(", ".join(words))
            self.setToolTip(tool_tip("\n".join(words)))
            self._fit()
            self.update()
        self.setVisible(bool(entries))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use as many rows as the width asks for."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the names from left to right, row by row."""
        painter = QPainter(self)
        metrics = QFontMetricsF(self.font())
        columns, width = self._columns()
        shown_entries = self._shown(columns)
        for index, entry in enumerate(shown_entries):
            row, column = divmod(index, columns)
            left, top = VALUE_WIDTH + column * width, row * metrics.height()
            style = Qt.PenStyle.DotLine if entry.dashed else Qt.PenStyle.SolidLine
            painter.setPen(QPen(entry.colour, 2, style))
            middle = top + metrics.height() / 2
            painter.drawLine(QPointF(left, middle), QPointF(left + _SWATCH, middle))
            painter.setPen(QColor(palette().text))
            words = f"{entry.title} {entry.value}".strip()
            shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, width - _SWATCH - SPACE[1])
            area = QRectF(left + _SWATCH + SPACE[0], top, width, metrics.height())
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, shown)
        if left_out := len(self._entries) - len(shown_entries):
            row, column = divmod(len(shown_entries), columns)
            area = QRectF(VALUE_WIDTH + column * width, row * metrics.height(), width, metrics.height())
            painter.setPen(QColor(palette().muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, f"and {left_out} more")

    def _shown(self, columns: int) -> tuple[Entry, ...]:
        """Return the entries that have room, which leave one place for the number of the others."""
        room = MOST_ROWS * columns
        return self._entries if len(self._entries) <= room else self._entries[: room - 1]

    def _columns(self) -> tuple[int, float]:
        """Return how many columns there are and how wide one is, with room for a value."""
        metrics = QFontMetricsF(self.font())
        longest = max((metrics.horizontalAdvance(entry.title) for entry in self._entries), default=0.0)
        width = _SWATCH + SPACE[1] + longest + metrics.horizontalAdvance(_WIDEST_VALUE)
        room = max(1.0, self.width() - VALUE_WIDTH)
        columns = min(max(1, int(room / width)), max(1, len(self._entries)))
        return columns, max(width, room / columns if columns == 1 else width)

    def _fit(self) -> None:
        rows = min(MOST_ROWS, ceil(len(self._entries) / self._columns()[0]))
        height = ceil(max(rows, 1) * QFontMetricsF(self.font()).height())
        if height != self.minimumHeight():
            self.setFixedHeight(height)


class PlotHead(QWidget):
    """Title and unit on the left; on the right what the crosshair reads, or else what the grey band is.

    Where the plot is narrow the title gives way, never the unit, and an arrow stands for which way is better.
    """

    def __init__(self) -> None:
        super().__init__()
        self.title = OneLine(text_font(TextSize.SMALL, bold=True))
        self.unit = OneLine(text_font(TextSize.SMALL, bold=True))
        self.note = OneLine(text_font(TextSize.SMALL), "muted")
        self.reading = OneLine(figure_font(text_font(TextSize.SMALL).pointSizeF()), "text", Qt.AlignmentFlag.AlignRight)
        self._note: tuple[str, ...] = ()
        self.everything = QToolButton()
        self.everything.setText("Show all")
        self.everything.setToolTip("Show the whole time again (0)")
        self.everything.hide()
        self.menu_button = QToolButton()
        self.menu_button.setText("⋯")
        self.menu_button.setToolTip("Copy, save and scale this plot")
        for button in (self.everything, self.menu_button):
            button.setAutoRaise(True)
            button.setFont(text_font(TextSize.SMALL))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        row.addWidget(self.title)
        row.addWidget(self.unit)
        row.addWidget(self.note)
        row.addWidget(self.reading, 1)
        row.addWidget(self.everything)
        row.addWidget(self.menu_button)

    def write(self, title: str, unit: str, note: Sequence[str]) -> None:
        """Show `title`, `unit` in brackets, and the parts of `note`, which are an arrow alone where room is short."""
        self.title.set_text(title)
        self.unit.set_text(f"[{unit}]" if unit else "")
        self.unit.setVisible(bool(unit))
        self.unit.setMinimumWidth(self.unit.sizeHint().width())
        self._note = tuple(note)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Say as much as there is room for."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        whole = " · ".join(self._note)
        fixed = (self.title, self.unit, self.menu_button)
        room = self.width() - sum(part.sizeHint().width() + SPACE[1] for part in fixed if not part.isHidden())
        fits = self.note.fontMetrics().horizontalAdvance(whole) <= room
        self.note.set_text(whole if fits else " · ".join(part.partition(" ")[0] for part in self._note[:1]))
        self.note.setToolTip("" if fits else tool_tip(whole))
