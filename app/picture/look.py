"""Colours, sizes and styles of the report picture, in the pixels of a picture 1200 wide."""

from dataclasses import dataclass

WIDTH = 1200
MARGIN = 36
CONTENT = WIDTH - 2 * MARGIN

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Okabe and Ito's colours, told apart by colour-blind readers."""

PAPER = "#ffffff"
INK = "#1c1d1f"
MUTED = "#5f6368"
LINE = "#d9d9d4"
FAINT = "#eeeeea"
SURFACE = "#f6f6f4"
BASELINE = "#8a8d91"
INFO = "#0072B2"
WARNING = "#9a6700"
ERROR = "#b3261e"
GOOD = "#00704f"


@dataclass(frozen=True, slots=True)
class Style:
    """How words look. `size` and `leading` (from line to line) are in pixels."""

    size: float
    leading: float
    colour: str = INK
    bold: bool = False
    fixed: bool = False


TITLE = Style(24, 32, bold=True)
SUBTITLE = Style(15, 22, MUTED)
HEADING = Style(18, 26, bold=True)
HEADLINE = Style(24, 34, bold=True)
BODY = Style(13, 19)
STRONG = Style(13, 19, bold=True)
QUIET = Style(13, 19, MUTED)
SMALL = Style(11.5, 16, MUTED)
CODE = Style(12, 18, fixed=True)


def series_colour(index: int) -> str:
    """Return the colour of the series `index`; they repeat after six."""
    return SERIES[index % len(SERIES)]
