"""The canvas of a report: colours and styles, text metrics, and drawing primitives."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO
from typing import Literal

from matplotlib import get_data_path
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from app.output import escaped
from app.series_shades import shaded

WIDTH = 1200
MARGIN = 36
CONTENT = WIDTH - 2 * MARGIN
GUTTER = 24

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""The palette of Okabe and Ito, distinguishable by colour-blind readers."""

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
    """A text style. `size` and `leading` (line distance) are in pixels."""

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
    """Return the colour of the series `index`; those after six are darker."""
    return shaded(SERIES, index, INK)


DPI = 100
"""Resolution of the layout in pixels per inch."""

TALLEST = WIDTH * 297 // 210
"""Pixels of a page of PDF at most: it is printed on A4."""

PLOT_LABELS = 20
"""Pixels above and below a plot that the labels of its axes take."""

KEPT = 40
"""Pixels below a heading that stay on its page."""

_SLACK = 1.02  # hinting makes glyphs slightly wider at other scales


def printable(text: str) -> str:
    """Return `text` with control and bidirectional characters escaped."""
    return "".join(map(_shown, text.replace("\r\n", "\n").replace("\t", "    ")))


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    if character == "\n":
        return character
    shown = escaped(character)
    return shown if shown != character or _family_of(character) is not None else "\N{REPLACEMENT CHARACTER}"


logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a family without bold is no news to the user

_SANS, _MONO = "DejaVu Sans", "DejaVu Sans Mono"
"""The fonts that matplotlib ships, so that reports look the same everywhere."""


@lru_cache(maxsize=4096)
def _family_of(character: str) -> str | None:
    """Return the first family that has `character`; None if no font has it."""
    return next((family for family in _families() if ord(character) in _characters(family)), None)


@cache
def _families() -> tuple[str, ...]:
    """Return the families of reports, then those installed on the system; matplotlib's others are of formulas."""
    installed = {each.name for each in fontManager.ttflist if not each.fname.startswith(get_data_path())}
    return (_SANS, _MONO, *sorted(installed - {_SANS, _MONO}))


@cache
def _characters(family: str) -> frozenset[int]:
    """Return the characters of a family; none of one without outlines, or that cannot be read."""
    try:
        face = get_font(findfont(FontProperties(family), fallback_to_default=False))
    except (OSError, RuntimeError, ValueError):
        return frozenset()
    return frozenset(face.get_charmap() if face.scalable else ())


def font(style: Style, text: str = "") -> FontProperties:
    """Return the font of `style`, with the families of the characters of `text` that it does not have."""
    found = (_family_of(character) for character in text if not character.isascii())
    return _font(style, tuple(dict.fromkeys(family for family in found if family is not None)))


@cache
def _font(style: Style, others: tuple[str, ...]) -> FontProperties:
    families = list(dict.fromkeys([_MONO if style.fixed else _SANS, *others]))
    return FontProperties(family=families, weight="bold" if style.bold else "normal", size=style.size * 72 / DPI)


@lru_cache(maxsize=65536)
def width(text: str, style: Style) -> float:
    """Return the width of one line of `text` in pixels."""
    text = printable(text)
    measured = _renderer().get_text_width_height_descent(text, font(style, text), ismath=False)
    return float(measured[0]) * _SLACK


@cache
def _renderer() -> RendererAgg:
    return RendererAgg(1, 1, DPI)


def wrap(text: str, style: Style, available: float, indent: str = "") -> list[str]:
    """Wrap `text` into lines of at most `available` pixels, breaking wider words; later lines have `indent`."""
    lines: list[str] = []
    for paragraph in printable(text).split("\n"):
        line = ""
        for word in re.split(" (?![%↑↓])", paragraph):
            joined = f"{line} {word}" if line else word
            if width(joined, style) <= available:
                line = joined
                continue
            if line.strip():
                lines.append(line)
                word = indent + word  # noqa: PLW2901 (the word opens a line now)
            *full, line = _broken(word, style, available)
            lines += full
        lines.append(line)
    return lines


def _broken(word: str, style: Style, available: float) -> list[str]:
    """Return `word` in pieces no wider than `available`, each of at least one character."""
    pieces: list[str] = []
    while (fits := _fitting(word, style, available)) < len(word):
        pieces.append(word[:fits])
        word = word[fits:]
    return [*pieces, word]


def _fitting(word: str, style: Style, available: float) -> int:
    """Return how many characters of `word` fit, at least one; measure at most twice as many, so that it is quick."""
    low, high = 1, 2
    while high <= len(word) and width(word[:high], style) <= available:
        low, high = high, 2 * high
    high = min(high - 1, len(word))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width(word[:middle], style) <= available else (low, middle - 1)
    return low


_RIGHT_TO_LEFT = re.compile(
    r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?: +[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*"
)


def _in_order(text: str) -> str:
    """Return `text` with words from right to left between marks: what is around them stays from left to right."""
    return _RIGHT_TO_LEFT.sub("\u200e\\g<0>\u200e", text)


Align = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class _Text:
    x: float
    baseline: float
    text: str
    style: Style
    align: Align


Draw = Callable[[Figure, float], object]
"""Draws an element on a figure of a height in pixels."""


class Sheet:
    """A canvas in pixels from the upper left corner. `y` is the position of the next element."""

    def __init__(self) -> None:
        self.y: float = MARGIN
        self._spans: list[tuple[float, float]] = []  # from top to bottom, of what no page may cut
        self._boxes: list[Draw] = []
        self._above: list[Draw] = []
        self._texts: list[_Text] = []

    def text(self, x: float, y: float, text: str, style: Style, align: Align = "left") -> None:
        """Write one line with its upper edge at `y`."""
        self._spans.append((y, y + style.leading + (KEPT if style is HEADING else 0)))
        baseline = y + (style.leading + 0.72 * style.size) / 2  # capitals of DejaVu Sans are 0.73 of its size high
        self._texts.append(_Text(x, baseline, printable(text), style, align))

    def lines(self, x: float, y: float, lines: Sequence[str], style: Style) -> float:
        """Write `lines` from `y` on; return their lower edge."""
        for number, line in enumerate(lines):
            self.text(x, y + number * style.leading, line, style)
        return y + len(lines) * style.leading

    def paragraph(self, text: str, style: Style, x: float = MARGIN, available: float = WIDTH - 2 * MARGIN) -> None:
        """Write `text` at `y`, wrapped to `available`, and advance `y`."""
        lines = wrap(text, style, available)
        self.y = self.lines(x, self.y, lines, style)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Fill a rectangle, below everything else."""

        def draw(figure: Figure, tall: float) -> None:
            corner = (x / WIDTH, 1 - (y + height) / tall)
            shape = Rectangle(corner, width / WIDTH, height / tall, facecolor=colour, linewidth=0)
            shape.set_transform(figure.transFigure)
            figure.add_artist(shape)

        self._boxes.append(draw)

    def rule(self, *points: tuple[float, float], colour: str, dashed: bool = False) -> None:
        """Draw a thin line through `points`."""

        def draw(figure: Figure, tall: float) -> None:
            xs, ys = [x / WIDTH for x, _ in points], [1 - y / tall for _, y in points]
            figure.add_artist(Line2D(xs, ys, color=colour, linewidth=0.72, linestyle="--" if dashed else "-"))

        self._above.append(draw)

    def plot(self, x: float, y: float, width: float, height: float, draw: Callable[[Axes], None]) -> None:
        """Add axes with this frame, drawn by `draw`; labels are outside the frame."""

        def add(figure: Figure, tall: float) -> None:
            draw(figure.add_axes((x / WIDTH, 1 - (y + height) / tall, width / WIDTH, height / tall)))

        self._spans.append((y - PLOT_LABELS, y + height + PLOT_LABELS))
        self._above.append(add)

    def png(self, scale: float = 1.0) -> bytes:
        """Return the sheet as PNG, WIDTH times `scale` pixels wide, its height up to `y`."""
        return self.drawn("png", scale)

    def drawn(self, kind: str, scale: float = 1.0) -> bytes:
        """Return the sheet as ``png``, ``pdf`` or ``svg``, without a date, its height up to `y`.

        A PDF that is taller than TALLEST has several pages.
        """
        height = round(self.y + MARGIN)
        figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI * scale, facecolor=PAPER)
        FigureCanvasAgg(figure)
        for draw in (*self._boxes, *self._above):
            draw(figure, height)
        written = [
            figure.text(
                text.x / WIDTH, 1 - text.baseline / height, _in_order(text.text), color=text.style.colour,
                fontproperties=font(text.style, text.text), ha=text.align, va="baseline", parse_math=False,
            )
            for text in self._texts
        ]  # fmt: skip
        buffer = BytesIO()
        pages = list(self._pages(height)) if kind == "pdf" else []
        if len(pages) < 2:
            figure.savefig(buffer, format=kind, dpi="figure", metadata=_METADATA[kind])
            return buffer.getvalue()
        from matplotlib.backends.backend_pdf import PdfPages

        with PdfPages(buffer, metadata=_METADATA[kind]) as pdf:
            for start, end in pages:
                for text, artist in zip(self._texts, written, strict=True):
                    artist.set_visible(start <= text.baseline < end)
                frame = Bbox([[0, (height - end) / DPI], [WIDTH / DPI, (height - start) / DPI]])
                pdf.savefig(figure, bbox_inches=frame)
        return buffer.getvalue()

    def _pages(self, height: float) -> Iterator[tuple[float, float]]:
        """Yield where pages of at most TALLEST begin and end, between lines and plots if possible."""
        start, breaks, below = 0.0, [], 0.0
        for top, bottom in sorted(self._spans):
            if top >= below - 0.01:
                breaks.append(max(top, 0.0))
            below = max(below, bottom)
        while height - start > TALLEST:
            end = max((y for y in breaks if start < y <= start + TALLEST), default=start + TALLEST)
            yield start, end
            start = end
        yield start, height


_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": "Benchwright"},
    "pdf": {"Creator": "Benchwright", "CreationDate": None},
    "svg": {"Creator": "Benchwright", "Date": None},
}
"""What the files have besides the picture; matplotlib adds the date if it is not None."""
