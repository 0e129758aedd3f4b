"""Words in the picture: made harmless, measured, and wrapped; never cut."""

from functools import cache, lru_cache

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties, findfont, get_font

from app.escaping import escaped
from app.picture.look import Style

DPI = 100
"""Pixels to the inch at which the picture is laid out."""

_SLACK = 1.02  # drawn at twice the size, glyphs are hinted otherwise and may come out a little wider


def printable(text: str) -> str:
    """Return `text` as it can be drawn: what controls a terminal or turns the reading direction is shown escaped."""
    return "".join(map(_shown, text.replace("\r\n", "\n").replace("\t", "    ")))


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    if character == "\n":
        return character
    shown = escaped(character)
    return shown if shown != character or ord(character) in _characters() else "\N{REPLACEMENT CHARACTER}"


@cache
def _characters() -> frozenset[int]:
    """Return what both fonts can draw."""
    fonts = (get_font(findfont(font(Style(12, 16, fixed=fixed)))) for fixed in (False, True))
    return frozenset.intersection(*(frozenset(each.get_charmap()) for each in fonts))


@cache
def font(style: Style) -> FontProperties:
    """Return the font of `style`; it comes with matplotlib, so that a picture looks the same everywhere."""
    family = "DejaVu Sans Mono" if style.fixed else "DejaVu Sans"
    return FontProperties(family=family, weight="bold" if style.bold else "normal", size=style.size * 72 / DPI)


@lru_cache(maxsize=65536)
def width(text: str, style: Style) -> float:
    """Return how many pixels wide one line of `text` comes out."""
    # matplotlib types its front, not its back ends.
    measured = _renderer().get_text_width_height_descent(printable(text), font(style), ismath=False)  # type: ignore[no-untyped-call]
    return float(measured[0]) * _SLACK


@cache
def _renderer() -> RendererAgg:
    return RendererAgg(1, 1, DPI)  # type: ignore[no-untyped-call]  # likewise


def wrap(text: str, style: Style, room: float, indent: str = "") -> list[str]:
    """Return `text` in lines no wider than `room` pixels; a word that is wider is broken. Later lines get `indent`."""
    lines: list[str] = []
    for paragraph in printable(text).split("\n"):
        line = ""
        for word in paragraph.split(" "):
            joined = f"{line} {word}" if line else word
            if width(joined, style) <= room:
                line = joined
                continue
            if line.strip():
                lines.append(line)
                word = indent + word  # noqa: PLW2901 (the word opens a line now)
            *full, line = _broken(word, style, room)
            lines += full
        lines.append(line)
    return lines


def _broken(word: str, style: Style, room: float) -> list[str]:
    """Return `word` in pieces no wider than `room`, each of at least one character."""
    pieces: list[str] = []
    while width(word, style) > room and len(word) > 1:
        low, high = 1, len(word) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if width(word[:middle], style) <= room else (low, middle - 1)
        pieces.append(word[:low])
        word = word[low:]
    return [*pieces, word]
