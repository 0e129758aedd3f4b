"""The headline figure in large type with tail latency, baseline ratio and time, and the current trial below."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.events import PolicyDecided
from widgets.live.headline import Headline
from widgets.live.interval_view import IntervalView
from widgets.parts.boxes import FittedWidget, column_in, fill, in_row
from widgets.parts.severity import VerdictBadge
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, figure_font, text_font

_LARGE = 1.7

NARROW = 600
"""Width in pixels below which only the figure, the baseline ratio and the time are shown."""


class HeadlineCell(QWidget):
    """A value in tabular numerals above a note. Hidden while it has no value."""

    def __init__(self, *, large: bool = False) -> None:
        super().__init__()
        points = text_font(TextSize.BODY).pointSizeF()
        self.value = OneLine(figure_font(points * _LARGE if large else points * 1.25, bold=large))
        self.note = OneLine(text_font(TextSize.SMALL), "muted")
        self._large = large
        self._is_tall = True
        fill(column_in(self, 0), None, self.value, self.note)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_texts(self, title: str, value: str, note: str = "") -> None:
        """Show the value above its title and note."""
        self.value.set_text(value)
        self.note.set_text(" · ".join(filter(None, (title, note))))
        self.setAccessibleName(f"{title}: {value} {note}".strip())
        self._update_visibility()

    def set_tall(self, *, is_tall: bool) -> None:
        """Set whether there is room for this cell."""
        self._is_tall = is_tall
        self._update_visibility()

    def _update_visibility(self) -> None:
        self.setVisible(self._large or (self._is_tall and bool(self.value.text())))


class HeadlineBar(FittedWidget):
    """The headline of a step: its figure and secondary figures in one row, then trial, goal and limit in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.figure = HeadlineCell(large=True)
        self.others, self.tail, self.ratio, self.time = HeadlineCell(), HeadlineCell(), HeadlineCell(), HeadlineCell()
        self.intervals = IntervalView()
        self.current = OneLine(figure_font(text_font(TextSize.BODY).pointSizeF()))
        row = in_row(spacing=SPACE[3])
        row.addWidget(self.figure, 9, Qt.AlignmentFlag.AlignBottom)
        for cell, stretch in ((self.others, 5), (self.tail, 3), (self.ratio, 8)):
            row.addWidget(cell, stretch, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.intervals, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.time, 3, Qt.AlignmentFlag.AlignBottom)
        self.badge = VerdictBadge()
        self._line = in_row(self.badge, (self.current, 1), spacing=SPACE[0])
        fill(column_in(self, 0), row, self._line)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_time("", "")

    def fit(self) -> None:
        """Give the figure and the time their full width; the other cells share the rest or are hidden."""
        self.figure.setMinimumWidth(min(self.figure.value.sizeHint().width(), self.width()))
        rest = self.width() - self.figure.minimumWidth() - SPACE[3]
        wanted = max(line.sizeHint().width() for line in (self.time.value, self.time.note))
        self.time.setMinimumWidth(max(0, min(wanted, rest)))
        for cell in (self.others, self.tail):
            cell.set_tall(is_tall=self.width() >= NARROW)
        self.intervals.set_room(has_room=self.width() >= NARROW)

    def add_tools(self, *tools: QWidget) -> None:
        """Add buttons at the end of the line below the figures."""
        fill(self._line, *tools)

    def show_headline(self, headline: Headline, decided: Sequence[PolicyDecided] = ()) -> None:
        """Show `headline` and the intervals `decided` on so far."""
        self.figure.show_texts(headline.title, headline.text, headline.caption)
        self.others.show_texts("also", headline.others)
        self.tail.show_texts(headline.tail_title, headline.tail)
        self.ratio.show_texts(headline.ratio_title, headline.ratio, headline.ratio_caption)
        self.intervals.show_decisions(decided)
        parts = (headline.current, headline.goal, headline.limit)
        self.current.set_text("   ".join(part for part in parts if part))
        self.fit()

    def show_time(self, elapsed: str, remaining: str, *, over: bool = False) -> None:
        """Show the elapsed and the remaining time."""
        self.time.show_texts("", elapsed, "run time" if over else remaining)
        self.fit()
