"""Tables as text for a spreadsheet: tab separated, missing left empty, and nobody's words run as a formula."""

from collections.abc import Iterable, Sequence

from widgets.parts.text import visible


def sheet_text(rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return `rows` as lines of cells. Numbers are written whole, as far as a measurement can mean them."""
    return "".join("\t".join(_written(value) for value in row) + "\n" for row in rows)


def sheet_cell(text: str) -> str:
    """Return `text` as one cell: no tab or line break, and no formula in a spreadsheet."""
    plain = " ".join(visible(text).split())
    return f"'{plain}" if plain[:1] in {"=", "+", "-", "@"} else plain


def _written(value: str | float | None) -> str:
    if value is None:
        return ""
    return sheet_cell(value) if isinstance(value, str) else f"{value:.9g}"
