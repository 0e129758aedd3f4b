"""Header of a plot (title, unit, crosshair reading, menu) and its legend."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from widgets.parts.boxes import FittedWidget, fill, row_in
from widgets.parts.controls import tool_button
from widgets.parts.text import OneLine, tool_tip
from widgets.plots.axis import value_width
from widgets.plots.heat import HeatKey
from widgets.plots.markers import draw_shape, shape_of
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font

_SWATCH = 14
_WIDEST_VALUE = " 888.8 MB/s"

MESSAGE_TIME = 5_000
"""Milliseconds for which a message is shown in place of the reading, which a running test renews ten times a second."""

MOST_ROWS = 5
"""Most rows of a legend, so that room is left for the curves. The tool tip lists all entries."""


class LegendEntry(NamedTuple):
    """One entry of a legend, with its value at the crosshair if there is one."""

    title: str
    colour: QColor
    dashed: bool = False
    value: str = ""


def without_common_parts(titles: Sequence[str]) -> list[str]:
    """Return `titles` without their common parts: ``tcp, threads 1`` and ``udp, threads 1`` are ``tcp`` and ``udp``."""
    parts = [title.split(", ") for title in titles]
    shared = set.intersection(*map(set, parts)) if len(parts) > 1 else set[str]()
    return [
        ", ".join(part for part in own if part not in shared) or title for own, title in zip(parts, titles, strict=True)
    ]


class Legend(FittedWidget):
    """Legend of a plot with more than four curves, in columns with room for values."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: tuple[LegendEntry, ...] = ()
        self.setFont(figure_font(text_font(TextSize.SMALL).pointSizeF()))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Set the entries; without any, hide the legend."""
        titles = without_common_parts([entry.title for entry in entries])
        named = tuple(entry._replace(title=title) for entry, title in zip(entries, titles, strict=True))
        if named != self._entries:
            self._entries = named
            texts = [f"{entry.title} {entry.value}".strip() for entry in entries]
            self.setAccessibleName(", ".join(texts))
            self.setToolTip(tool_tip("\n".join(texts)))
            self.fit()
            self.update()
        self.setVisible(bool(entries))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the entries from left to right, row by row."""
        painter = QPainter(self)
        metrics = QFontMetricsF(self.font())
        columns, width = self._columns()
        shown_entries = self._shown(columns)
        for index, entry in enumerate(shown_entries):
            row, column = divmod(index, columns)
            left, top = value_width() + column * width, row * metrics.height()
            style = Qt.PenStyle.DotLine if entry.dashed else Qt.PenStyle.SolidLine
            painter.setPen(QPen(entry.colour, 2, style))
            middle = top + metrics.height() / 2
            painter.drawLine(QPointF(left, middle), QPointF(left + _SWATCH, middle))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(entry.colour)
            draw_shape(painter, shape_of(entry.colour), QPointF(left + _SWATCH / 2, middle))
            painter.setPen(QColor(palette().text))
            text = f"{entry.title} {entry.value}".strip()
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width - _SWATCH - SPACE[1])
            area = QRectF(left + _SWATCH + SPACE[0], top, width, metrics.height())
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, text)
        if hidden := len(self._entries) - len(shown_entries):
            row, column = divmod(len(shown_entries), columns)
            area = QRectF(value_width() + column * width, row * metrics.height(), width, metrics.height())
            painter.setPen(QColor(palette().muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, f"and {hidden} more")

    def _shown(self, columns: int) -> tuple[LegendEntry, ...]:
        """Return the entries that fit, leaving one position for the number of the others."""
        room = MOST_ROWS * columns
        return self._entries if len(self._entries) <= room else self._entries[: room - 1]

    def _columns(self) -> tuple[int, float]:
        """Return the number of columns and the width of one in pixels, with room for a value."""
        metrics = QFontMetricsF(self.font())
        longest = max((metrics.horizontalAdvance(entry.title) for entry in self._entries), default=0.0)
        width = _SWATCH + SPACE[1] + longest + metrics.horizontalAdvance(_WIDEST_VALUE)
        room = max(1.0, self.width() - value_width())
        columns = min(max(1, int(room / width)), max(1, len(self._entries)))
        return columns, max(width, room / columns if columns == 1 else width)

    def fit(self) -> None:
        """Adjust the number of rows to the width."""
        rows = min(MOST_ROWS, ceil(len(self._entries) / self._columns()[0]))
        height = ceil(max(rows, 1) * QFontMetricsF(self.font()).height())
        if height != self.minimumHeight():
            self.setFixedHeight(height)


class PlotHead(FittedWidget):
    """Title and unit on the left; on the right the crosshair's reading, or else the description of the grey band.

    In a narrow plot the title is cut, never the unit, and the note is reduced to its arrow.
    """

    def __init__(self) -> None:
        super().__init__()
        self.title = OneLine(text_font(TextSize.SMALL, bold=True))
        self.unit = OneLine(text_font(TextSize.SMALL, bold=True))
        self.note = OneLine(text_font(TextSize.SMALL), "muted")
        self.reading = OneLine(figure_font(text_font(TextSize.SMALL).pointSizeF()), "text", Qt.AlignmentFlag.AlignRight)
        self._note: tuple[str, ...] = ()
        self._reading = ""
        self._message = QTimer(self, singleShot=True, interval=MESSAGE_TIME)
        self._message.timeout.connect(lambda: self.reading.set_text(self._reading))
        self.heat_key = HeatKey()
        self.everything = tool_button("Show all")
        self.everything.setToolTip("Show the whole time range (Home)")
        self.everything.hide()
        self.menu_button = tool_button("⋯")
        self.menu_button.setToolTip("Copy, save and scale this plot")
        for button in (self.everything, self.menu_button):
            button.setAutoRaise(True)
            button.setFont(text_font(TextSize.SMALL))
        row = row_in(self, SPACE[1])
        fill(row, self.title, self.unit, self.note, self.heat_key, (self.reading, 1), self.everything, self.menu_button)

    def write(self, title: str, unit: str, note: Sequence[str]) -> None:
        """Show `title`, `unit` in brackets, and the parts of `note`."""
        self.title.set_text(title)
        self.unit.set_text(f"[{unit}]" if unit else "")
        self.unit.setVisible(bool(unit))
        self.unit.setMinimumWidth(self.unit.sizeHint().width())
        self._note = tuple(note)
        self.fit()

    def show_reading(self, text: str) -> None:
        """Show the crosshair's reading, after the message if one is shown."""
        self._reading = text
        if not self._message.isActive():
            self.reading.set_text(text)

    def show_message(self, text: str) -> None:
        """Show the outcome of an action in place of the reading for MESSAGE_TIME."""
        self._message.start()
        self.reading.set_text(text)

    def fit(self) -> None:
        """Fit the note to the width."""
        whole = " · ".join(self._note)
        fixed = (self.title, self.unit, self.menu_button)
        room = self.width() - sum(part.sizeHint().width() + SPACE[1] for part in fixed if not part.isHidden())
        fits = self.note.fontMetrics().horizontalAdvance(whole) <= room
        self.note.set_text(whole if fits else " · ".join(part.partition(" ")[0] for part in self._note[:1]))
        self.note.setToolTip("" if fits else tool_tip(whole))
