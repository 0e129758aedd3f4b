"""Lines below the comparison table: differences in how the runs were measured, and the selected verdict."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.comparison.comparability import Difference, Weight
from app.comparison.comparison import run_letter
from suites.quantities import count_text
from widgets.compare.compare_rows import Compared, CompareLine
from widgets.compare.messages import ICONS, explain
from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import tool_button
from widgets.parts.notice import Picture
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, text_font

_MARKS = {Weight.FATAL: "not-comparable", Weight.EXPLAINS: "warning", Weight.HARMLESS: "info"}


class ConditionsLine(QWidget):
    """What differs between the runs in parameters and facts, the most severe first; hidden if nothing does."""

    differences_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._mark = Picture("info")
        self.text = OneLine(text_font(TextSize.BODY))
        self.more = tool_button("Details", self.differences_requested, tip="Show all differences and their weight")
        fill(row_in(self, SPACE[1]), self._mark, (self.text, 1), self.more)
        self.hide()

    def show_compared(self, compared: Compared, line: CompareLine) -> None:
        """Show the number of distinct differences of all rows, and those that the verdict of `line` does not name."""
        found: dict[str, Difference] = {}
        named: set[str] = set()
        for row in compared.comparison.rows:
            for number, against in enumerate(row.against, 1):
                for each in against.differences:
                    run = f"{run_letter(number)}: " if len(row.against) > 1 else ""
                    found.setdefault(f"{run}{each.text}", each)
                    if row is line.row and number == (line.number or 1) and each.text in against.text:
                        named.add(f"{run}{each.text}")
        order = list(Weight)
        shown = sorted(found, key=lambda text: order.index(found[text].weight))
        self.setVisible(bool(shown))
        if shown:
            worst = found[shown[0]].weight
            self._mark.show_icon(_MARKS[worst])
            others = " · ".join(text for text in shown if text not in named)
            self.text.set_text(f"{count_text(len(shown), 'difference')}{': ' if others else ''}{others}")


class VerdictLine(QWidget):
    """The verdict of the selected line in one sentence."""

    def __init__(self) -> None:
        super().__init__()
        self._mark = Picture("undecided")
        self.text = OneLine(text_font(TextSize.BODY))
        fill(row_in(self, SPACE[1]), self._mark, (self.text, 1))

    def show_line(self, compared: Compared, line: CompareLine) -> None:
        """Show the verdict of `line`; of the baseline's line, that of the first run."""
        self.setVisible(line.row is not None)
        if line.row is not None:
            found = explain(compared.comparison, line.row, line.number or 1)
            self._mark.show_icon(*ICONS[found.verdict])
            self.text.set_text(found.sentence)
