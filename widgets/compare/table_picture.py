"""The table of a comparison as a picture that stands alone: which runs, the whole table, the method."""

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.comparing.compare import Verdict
from app.wording import run_letter, share_text
from widgets.compare.compare_lines import lines_of
from widgets.compare.compare_table import CompareTable
from widgets.compare.compared import Compared
from widgets.compare.run_words import named_words
from widgets.compare.verdict_words import verdict_line
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE

WIDTH = 1200
"""Pixels in which no column has to go."""

DENSITY = 2
"""Pixels of the picture for each of the screen, so that it reads well in a ticket."""


def table_picture(compared: Compared, *, everything: bool) -> QPixmap:
    """Return the picture; with `everything`, of every metric."""
    comparison = compared.comparison
    sheet = QWidget()
    rows = QVBoxLayout(sheet)
    rows.setContentsMargins(SPACE[3], SPACE[3], SPACE[3], SPACE[3])
    rows.setSpacing(SPACE[0])
    for number, run in enumerate(comparison.runs):
        rows.addWidget(Text(named_words(number, run)))
    table = CompareTable()
    table.show_lines(lines_of(compared, everything=everything), comparison.margin)
    table.clearSelection()
    table.setFixedSize(WIDTH - 2 * SPACE[3], table.whole_height())
    rows.addSpacing(SPACE[0])
    rows.addWidget(table)
    for words in (*_reasons(compared), *comparison.notes):
        rows.addWidget(Text(words, Tone.MUTED))
    margin = " or ".join(comparison.origins) or share_text(comparison.margin)
    rows.addWidget(Text(f"Margin {margin}; {comparison.method}.", Tone.MUTED))
    sheet.setFixedSize(WIDTH, rows.heightForWidth(WIDTH))
    picture = QPixmap(sheet.size() * DENSITY)
    picture.setDevicePixelRatio(DENSITY)
    sheet.render(picture)
    sheet.deleteLater()
    return picture


def _reasons(compared: Compared) -> list[str]:
    """Return why there is no verdict, each reason once: the table has no room for all of it."""
    found = [
        f"{run_letter(number)}: {verdict_line(against, compared.comparison.margin_of(against))}"
        for row in compared.comparison.rows
        for number, against in enumerate(row.against, 1)
        if against.verdict in {Verdict.UNDECIDED, Verdict.NOT_COMPARABLE}
    ]
    return list(dict.fromkeys(found))
