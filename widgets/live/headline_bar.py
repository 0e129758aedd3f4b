"""The leading figure in large type, and what stands beside it: tail latency, baseline, time."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from widgets.live.headline import Headline
from widgets.parts.one_line import OneLine
from widgets.theme import SPACE, TextSize, figure_font, text_font

_LARGE = 1.7

NARROW = 600
"""Pixels of width under which only the figure, the baseline and the time are shown."""


class Cell(QWidget):
    """A caption, and a value in tabular numerals beneath it. Hidden while there is no value."""

    def __init__(self, *, large: bool = False) -> None:
        super().__init__()
        points = text_font(TextSize.BODY).pointSizeF()
        self.caption = OneLine(text_font(TextSize.SMALL), "muted")
        self.value = OneLine(figure_font(points * _LARGE if large else points * 1.15, bold=large))
        self.note = OneLine(text_font(TextSize.SMALL), "muted")
        self._large = large
        self._has_room = True
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.caption)
        column.addWidget(self.value)
        column.addWidget(self.note)
        column.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_texts(self, caption: str, value: str, note: str = "") -> None:
        """Show the three texts."""
        self.caption.set_text(caption)
        self.value.set_text(value)
        self.note.set_text(note)
        self.setAccessibleName(f"{caption}: {value} {note}".strip())
        self._show_if_wanted()

    def set_room(self, *, has_room: bool) -> None:
        """Say whether there is room for this cell."""
        self._has_room = has_room
        self._show_if_wanted()

    def _show_if_wanted(self) -> None:
        self.setVisible(self._large or (self._has_room and bool(self.value.text())))


class HeadlineBar(QWidget):
    """The leading figure of a step and its company in one row."""

    def __init__(self) -> None:
        super().__init__()
        self.figure = Cell(large=True)
        self.others, self.tail, self.ratio, self.time = Cell(), Cell(), Cell(), Cell()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[3])
        row.addWidget(self.figure, 9, Qt.AlignmentFlag.AlignTop)
        for cell, stretch in ((self.others, 5), (self.tail, 3), (self.ratio, 8), (self.time, 3)):
            row.addWidget(cell, stretch, Qt.AlignmentFlag.AlignTop)
        self.show_time("", "")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what the plots tell as well before the figure itself is cut."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Give the figure and the time left all their width; the others share the rest, or go."""
        self.figure.setMinimumWidth(min(self.figure.value.sizeHint().width(), self.width()))
        rest = self.width() - self.figure.minimumWidth() - SPACE[3]
        wanted = max(line.sizeHint().width() for line in (self.time.value, self.time.note))
        self.time.setMinimumWidth(max(0, min(wanted, rest)))
        for cell in (self.others, self.tail):
            cell.set_room(has_room=self.width() >= NARROW)

    def show_headline(self, headline: Headline) -> None:
        """Show the figure."""
        self.figure.show_texts(headline.title, headline.text, headline.caption)
        self.others.show_texts("also", headline.others)
        self.tail.show_texts(headline.tail_title, headline.tail)
        self.ratio.show_texts(headline.ratio_title, headline.ratio, headline.ratio_caption)
        self._fit()

    def show_time(self, elapsed: str, remaining: str, *, over: bool = False) -> None:
        """Show how long it has taken, and what is known of the rest."""
        self.time.show_texts("took" if over else "elapsed", elapsed, remaining)
        self._fit()
