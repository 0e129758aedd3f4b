"""Tables in the picture: columns as wide as their words, one of them taking what is left, cells wrapped."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.picture.look import BODY, CONTENT, FAINT, LINE, MARGIN, SMALL, Style
from app.picture.sheet import Sheet
from app.picture.words import width, wrap

GAP = 20
PADDING = 5


@dataclass(frozen=True, slots=True)
class Column:
    """A column: figures are set to the right. No cell is wider than `widest` pixels; longer words are wrapped.

    `least` keeps the columns of the tables of one picture below each other.
    """

    head: str
    right: bool = False
    least: float = 0
    widest: float = 260


@dataclass(frozen=True, slots=True)
class Cell:
    """Words in a style, with a square of colour before them where they belong to a series."""

    text: str
    style: Style = BODY
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table; `opens` a group, which a rule sets apart."""

    cells: tuple[Cell, ...]
    opens: bool = True


MARK = 18
"""Pixels that a square of colour takes."""


def draw_table(sheet: Sheet, columns: Sequence[Column], rows: Sequence[Line]) -> None:
    """Draw the table at the sheet's `y` and move on below it. Columns that are empty throughout are left out."""
    kept = [index for index in range(len(columns)) if any(row.cells[index].text for row in rows)]
    columns = [columns[index] for index in kept]
    rows = [Line(tuple(row.cells[index] for index in kept), row.opens) for row in rows]
    widths = _widths(columns, rows)
    lefts = [MARGIN + sum(widths[:index]) + GAP * index for index in range(len(columns))]
    heads = [wrap(column.head, SMALL, wide) for column, wide in zip(columns, widths, strict=True)]
    foot = sheet.y + max(map(len, heads)) * SMALL.leading
    for head, column, left, wide in zip(heads, columns, lefts, widths, strict=True):
        _draw_lines(sheet, head, SMALL, column, (left, foot - len(head) * SMALL.leading, wide))
    sheet.y = foot + 3
    sheet.rule((MARGIN, sheet.y), (MARGIN + CONTENT, sheet.y), colour=LINE)
    for number, row in enumerate(rows):
        if number and row.opens:
            sheet.rule((MARGIN, sheet.y), (MARGIN + CONTENT, sheet.y), colour=FAINT)
        bottom = sheet.y
        for cell, column, left, wide in zip(row.cells, columns, lefts, widths, strict=True):
            bottom = max(bottom, _draw_cell(sheet, cell, column, left, wide))
        sheet.y = bottom + PADDING


def _draw_cell(sheet: Sheet, cell: Cell, column: Column, left: float, wide: float) -> float:
    top = sheet.y + PADDING
    if cell.mark is not None:
        sheet.box(left, top + cell.style.leading / 2 - 5, 10, 10, cell.mark)
        left, wide = left + MARK, wide - MARK
    lines = wrap(cell.text, cell.style, wide)
    return _draw_lines(sheet, lines, cell.style, column, (left, top, wide))


def _draw_lines(
    sheet: Sheet, lines: Sequence[str], style: Style, column: Column, place: tuple[float, float, float]
) -> float:
    """Write `lines` at `place` (left, top, width) to the side the column is set to; return where they end."""
    left, top, wide = place
    for number, line in enumerate(lines):
        x = left + wide if column.right else left
        sheet.words(x, top + number * style.leading, line, style, "right" if column.right else "left")
    return top + len(lines) * style.leading


def _widths(columns: Sequence[Column], rows: Sequence[Line]) -> list[float]:
    """Return the width of every column; where they are too wide together, the widest give way.

    Where they leave room, those whose words are wrapped take it, the first of them first.
    """
    widths, wanted = [], []
    for index, column in enumerate(columns):
        cells = [row.cells[index] for row in rows]
        natural = [width(cell.text, cell.style) + (MARK if cell.mark else 0) for cell in cells]
        wanted.append(max([column.least, *natural, width(column.head, SMALL)]) + 1)
        widths.append(min(column.widest + 1, wanted[-1]))
    room = CONTENT - GAP * (len(columns) - 1)
    while sum(widths) > room:
        widest = widths.index(max(widths))
        widths[widest] -= min(10, sum(widths) - room)
    for index, whole in enumerate(wanted):
        widths[index] += max(0.0, min(whole - widths[index], room - sum(widths)))
    return widths
