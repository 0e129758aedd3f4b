"""Colours, spacing and type for Qt and pyqtgraph together; light and dark."""

from dataclasses import dataclass

from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Okabe and Ito's colours, told apart by colour-blind readers."""

SPACE = (4, 8, 12, 16, 24)
"""Every distance between things, in pixels."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one appearance."""

    dark: bool
    window: str
    surface: str
    raised: str
    text: str
    muted: str
    line: str
    accent: str
    selected: str
    baseline: str
    info: str
    warning: str
    error: str
    good: str


LIGHT = Palette(
    dark=False, window="#f6f6f4", surface="#ffffff", raised="#ecece8", text="#1c1d1f", muted="#5f6368",
    line="#d9d9d4", accent="#0072B2", selected="#dbeaf4", baseline="#8a8d91",
    info="#0072B2", warning="#9a6700", error="#b3261e", good="#00704f",
)  # fmt: skip
DARK = Palette(
    dark=True, window="#17181a", surface="#1f2123", raised="#2a2c2f", text="#e6e6e3", muted="#a0a4a9",
    line="#3a3d41", accent="#56B4E9", selected="#24394a", baseline="#8f9398",
    info="#56B4E9", warning="#e6b450", error="#ff8a80", good="#4cc9a0",
)  # fmt: skip


def palette() -> Palette:
    """Return the colours in force, following the system or the user's setting."""
    application = QGuiApplication.instance()
    chosen = application.property("appearance") if application is not None else None
    if chosen in {"light", "dark"}:
        return DARK if chosen == "dark" else LIGHT
    background = QGuiApplication.palette().color(QPalette.ColorRole.Window)
    return DARK if background.lightness() < 128 else LIGHT


def series_colour(index: int) -> QColor:
    """Return the colour of the series `index`; they repeat after six."""
    return QColor(SERIES[index % len(SERIES)])


def figure_font(points: float = 0, *, bold: bool = False) -> QFont:
    """Return the platform's font with tabular numerals, for figures that change or stand in columns."""
    font = QFont(QApplication.font())
    if points:
        font.setPointSizeF(points)
    font.setBold(bold)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def code_font() -> QFont:
    """Return the platform's fixed-width font, for commands and raw output."""
    return QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
