"""The headline figure in large type, with tail latency, baseline ratio and time beside it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from widgets.live.headline import Headline
from widgets.parts.boxes import FittedWidget, column_in, fill, row_in
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, figure_font, text_font

_LARGE = 1.7

NARROW = 600
"""Width in pixels below which only the figure, the baseline ratio and the time are shown."""


class HeadlineCell(QWidget):
    """A caption above a value in tabular numerals. Hidden while it has no value."""

    def __init__(self, *, large: bool = False) -> None:
        super().__init__()
        points = text_font(TextSize.BODY).pointSizeF()
        self.caption = OneLine(text_font(TextSize.SMALL), "muted")
        self.value = OneLine(figure_font(points * _LARGE if large else points * 1.15, bold=large))
        self.note = OneLine(text_font(TextSize.SMALL), "muted")
        self._large = large
        self._is_tall = True
        fill(column_in(self, 0), self.caption, self.value, self.note, None)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_texts(self, caption: str, value: str, note: str = "") -> None:
        """Show the three texts."""
        self.caption.set_text(caption)
        self.value.set_text(value)
        self.note.set_text(note)
        self.setAccessibleName(f"{caption}: {value} {note}".strip())
        self._update_visibility()

    def set_tall(self, *, is_tall: bool) -> None:
        """Set whether there is room for this cell."""
        self._is_tall = is_tall
        self._update_visibility()

    def _update_visibility(self) -> None:
        self.setVisible(self._large or (self._is_tall and bool(self.value.text())))


class HeadlineBar(FittedWidget):
    """The headline figure of a step and its secondary figures in one row."""

    def __init__(self) -> None:
        super().__init__()
        self.figure = HeadlineCell(large=True)
        self.others, self.tail, self.ratio, self.time = HeadlineCell(), HeadlineCell(), HeadlineCell(), HeadlineCell()
        row = row_in(self, SPACE[3])
        row.addWidget(self.figure, 9, Qt.AlignmentFlag.AlignTop)
        for cell, stretch in ((self.others, 5), (self.tail, 3), (self.ratio, 8), (self.time, 3)):
            row.addWidget(cell, stretch, Qt.AlignmentFlag.AlignTop)
        self.show_time("", "")

    def fit(self) -> None:
        """Give the figure and the time their full width; the other cells share the rest or are hidden."""
        self.figure.setMinimumWidth(min(self.figure.value.sizeHint().width(), self.width()))
        rest = self.width() - self.figure.minimumWidth() - SPACE[3]
        wanted = max(line.sizeHint().width() for line in (self.time.value, self.time.note))
        self.time.setMinimumWidth(max(0, min(wanted, rest)))
        for cell in (self.others, self.tail):
            cell.set_tall(is_tall=self.width() >= NARROW)

    def show_headline(self, headline: Headline) -> None:
        """Show `headline`."""
        self.figure.show_texts(headline.title, headline.text, headline.caption)
        self.others.show_texts("also", headline.others)
        self.tail.show_texts(headline.tail_title, headline.tail)
        self.ratio.show_texts(headline.ratio_title, headline.ratio, headline.ratio_caption)
        self.fit()

    def show_time(self, elapsed: str, remaining: str, *, over: bool = False) -> None:
        """Show the elapsed and the remaining time."""
        self.time.show_texts("took" if over else "elapsed", elapsed, remaining)
        self.fit()
