"""Colours, spacing and type for Qt and pyqtgraph together; light and dark."""

import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from string import Template
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

import resources
from widgets import settings
from widgets.parts import icons

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Okabe and Ito's colours, told apart by colour-blind readers."""

DARK_SERIES = ("#4DA9EA", "#F0B440", "#2CC59A", "#E29AC6", "#B5DFFA", "#FF8B52")
"""The same on a dark ground: each at least as far from it as its counterpart is from white."""

SPACE = (4, 8, 12, 16, 24)
"""Every distance between things, in pixels."""


class Appearance(StrEnum):
    """What the user chose: as the system has it, or always one of the two."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class TextSize(StrEnum):
    """The four sizes of text, relative to the platform's own (BODY)."""

    SMALL = "small"
    BODY = "body"
    HEADING = "heading"
    TITLE = "title"


_SCALES = {TextSize.SMALL: 0.92, TextSize.BODY: 1.0, TextSize.HEADING: 1.17, TextSize.TITLE: 1.6}


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
    on_accent: str
    border: str  # of what can be pressed or typed in: stronger than a line


LIGHT = Palette(
    dark=False, window="#f6f6f4", surface="#ffffff", raised="#f0f0ed", text="#1c1d1f", muted="#5f6368",
    line="#dededa", accent="#0072B2", selected="#dbeaf4", baseline="#8a8d91",
    info="#0072B2", warning="#8a5c00", error="#b3261e", good="#00704f", on_accent="#ffffff", border="#b9bab6",
)  # fmt: skip
DARK = Palette(
    dark=True, window="#17181a", surface="#1f2123", raised="#2a2c2f", text="#e6e6e3", muted="#a0a4a9",
    line="#34373b", accent="#56B4E9", selected="#24394a", baseline="#8f9398",
    info="#56B4E9", warning="#e6b450", error="#ff8a80", good="#4cc9a0", on_accent="#10202b", border="#55595f",
)  # fmt: skip


def apply(application: QApplication) -> None:
    """Dress `application` in the stored appearance, and follow the system's colours from now on."""
    if application.property("dressed"):
        return
    application.setProperty("dressed", True)
    application.setStyle("Fusion")
    font = application.font()
    font.setFeature(QFont.Tag("tnum"), 1)  # figures that change must not make their neighbours jump
    application.setFont(font)
    application.styleHints().colorSchemeChanged.connect(_follow_system)
    _dress(application)


def appearance() -> Appearance:
    """Return what the user chose."""
    stored = settings.text("appearance")
    return Appearance(stored) if stored in set(Appearance) else Appearance.SYSTEM


def set_appearance(chosen: Appearance) -> None:
    """Remember what the user chose, and dress the application in it at once."""
    settings.put("appearance", chosen.value)
    _dress(cast("QApplication", QApplication.instance()))


def palette() -> Palette:
    """Return the colours in force, following the system or the user's setting."""
    application = QGuiApplication.instance()
    chosen = application.property("appearance") if application is not None else None
    if chosen in {"light", "dark"}:
        return DARK if chosen == "dark" else LIGHT
    background = QGuiApplication.palette().color(QPalette.ColorRole.Window)
    return DARK if background.lightness() < 128 else LIGHT


def series_colour(index: int) -> QColor:
    """Return the colour of the series `index` in the appearance in force; they repeat after six."""
    return QColor((DARK_SERIES if palette().dark else SERIES)[index % len(SERIES)])


def in_force(colour: QColor) -> QColor:
    """Return the colour of the same series in the appearance in force; other colours as they are."""
    for series in (SERIES, DARK_SERIES):
        for index, name in enumerate(series):
            if QColor(name).rgb() == colour.rgb():
                return series_colour(index)
    return colour


def text_font(size: TextSize, *, bold: bool = False) -> QFont:
    """Return the platform's font in one of the four sizes."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * _SCALES[size])
    font.setBold(bold)
    return font


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
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(max(font.pointSizeF(), QApplication.font().pointSizeF()))  # large text is large here, too
    return font


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Set the property `name` that the style sheet looks at, and have it look again."""
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def configure_plots() -> None:
    """Give pyqtgraph the colours in force; call before making a plot, and again when the palette changes."""
    import pyqtgraph

    colours = palette()
    pyqtgraph.setConfigOptions(background=colours.surface, foreground=colours.muted, antialias=False)


def _follow_system() -> None:
    if appearance() is Appearance.SYSTEM:
        _dress(cast("QApplication", QApplication.instance()))


def _dress(application: QApplication) -> None:
    chosen = appearance()
    system_is_dark = application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    dark = system_is_dark if chosen is Appearance.SYSTEM else chosen is Appearance.DARK
    application.setProperty("appearance", "dark" if dark else "light")
    colours = palette()
    application.setPalette(_qt_palette(colours))
    application.setStyleSheet(_style_sheet(colours))
    icons.refresh(application)
    if "pyqtgraph" in sys.modules:
        configure_plots()


def _style_sheet(colours: Palette) -> str:
    points = QApplication.font().pointSizeF()
    folder = Path(resources.__file__).parent / "style"
    return Template(resources.read_text("style/window.qss")).substitute(
        asdict(colours),
        folder=folder.as_posix(),
        tick="dark" if colours.dark else "light",
        size_small=f"{points * _SCALES[TextSize.SMALL]:.1f}pt",
    )


def _qt_palette(colours: Palette) -> QPalette:
    role = QPalette.ColorRole
    given = {
        role.Window: colours.window, role.WindowText: colours.text,
        role.Base: colours.surface, role.AlternateBase: colours.window, role.Text: colours.text,
        role.Button: colours.surface, role.ButtonText: colours.text, role.BrightText: colours.error,
        role.PlaceholderText: colours.muted, role.ToolTipBase: colours.raised, role.ToolTipText: colours.text,
        role.Highlight: colours.selected, role.HighlightedText: colours.text, role.Accent: colours.accent,
        role.Link: colours.accent, role.LinkVisited: colours.accent,
        role.Light: colours.raised, role.Midlight: colours.raised, role.Mid: colours.line,
        role.Dark: colours.border, role.Shadow: colours.line,
    }  # fmt: skip
    made = QPalette()
    for which, colour in given.items():
        made.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        made.setColor(QPalette.ColorGroup.Disabled, which, QColor(colours.baseline))
    return made
