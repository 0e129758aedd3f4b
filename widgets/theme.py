"""Theme for Qt and pyqtgraph: colours (light and dark), spacing, fonts and icons."""

import math
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from string import Template
from typing import cast

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

import resources
from app.series_shades import SHADES, shaded
from resources import read_text
from widgets import settings

ICON_SIZE = 16
"""Size in pixels of an icon beside text at the platform's default text size."""

SEVERITIES = ("info", "warning", "error", "good")
"""Icons with a colour of their own; others use that of muted text."""


def scaled(size: int) -> int:
    """Return `size` in pixels at the platform's default text size, scaled to a larger one."""
    return round(size * max(1.0, QFontMetrics(QApplication.font()).height() / ICON_SIZE))


def icon(name: str, colour: str = "") -> QIcon:
    """Return the icon `name` (see resources/icons) in `colour`: a palette field or ``#rrggbb``.

    By default an icon of SEVERITIES has its own colour, any other that of muted text.
    """
    return _icon(name, _resolve(name, colour), _resolve(name, "surface"))


def pixmap(name: str, size: int, colour: str = "", ratio: float = 1.0) -> QPixmap:
    """Return the icon `name` as a pixmap of `size` pixels at device pixel ratio `ratio`."""
    return _draw(name, size, _resolve(name, colour), _resolve(name, "surface"), ratio)


def set_icon(target: QAbstractButton | QAction, name: str, colour: str = "") -> None:
    """Set the icon `name` of `target`, and update it when the colours change."""
    target.setProperty("icon_name", name)
    target.setProperty("icon_colour", colour)
    target.setIcon(icon(name, colour))


def refresh_icons(application: QApplication) -> None:
    """Redraw every icon set by set_icon() in the current colours."""
    for widget in application.allWidgets():
        _redraw(widget)
        for action in widget.actions():
            _redraw(action)


def _redraw(target: QWidget | QAction) -> None:
    name = target.property("icon_name")
    if name and isinstance(target, QAbstractButton | QAction):
        target.setIcon(icon(name, target.property("icon_colour") or ""))


def _resolve(name: str, colour: str) -> str:
    if colour.startswith("#"):
        return colour
    return str(getattr(palette(), colour or (name if name in SEVERITIES else "muted")))


@lru_cache(maxsize=256)
def _icon(name: str, colour: str, surface: str) -> QIcon:
    made = QIcon()
    screens = QGuiApplication.screens()
    for size in {ICON_SIZE, scaled(ICON_SIZE), 2 * scaled(ICON_SIZE)}:
        for ratio in {1.0, *(float(math.ceil(screen.devicePixelRatio())) for screen in screens)}:
            drawn = _draw(name, size, colour, surface, ratio)
            made.addPixmap(drawn)
            made.addPixmap(drawn, QIcon.Mode.Selected)  # Qt would tint it with the selection's colour
    return made


@cache
def _svg(name: str) -> str:
    return read_text(f"icons/{name}.svg")


@lru_cache(maxsize=512)
def _draw(name: str, size: int, colour: str, surface: str, ratio: float) -> QPixmap:
    from PySide6.QtSvg import QSvgRenderer

    source = _svg(name).replace("currentColor", colour).replace("currentSurface", surface)
    drawn = QPixmap(QSize(size, size) * ratio)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    QSvgRenderer(QByteArray(source.encode())).render(painter)
    painter.end()
    drawn.setDevicePixelRatio(ratio)
    return drawn


SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Colours of Okabe and Ito, distinguishable for colour-blind readers."""

DARK_SERIES = ("#4DA9EA", "#F0B440", "#2CC59A", "#E29AC6", "#B5DFFA", "#FF8B52")
"""The same for dark backgrounds, with at least the contrast of their counterparts to white."""

SPACE = (4, 8, 12, 16, 24)
"""Spacings in pixels."""


class Appearance(StrEnum):
    """The user's choice of appearance."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class TextSize(StrEnum):
    """Text sizes relative to the platform's default (BODY)."""

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
    border: str  # of buttons and fields: stronger than a line


LIGHT = Palette(
    dark=False, window="#f6f6f4", surface="#ffffff", raised="#f0f0ed", text="#1c1d1f", muted="#5f6368",
    line="#dededa", accent="#0072B2", selected="#dbeaf4", baseline="#8a8d91",
    info="#00629c", warning="#8a5c00", error="#b3261e", good="#00704f", on_accent="#ffffff", border="#b9bab6",
)  # fmt: skip
DARK = Palette(
    dark=True, window="#17181a", surface="#1f2123", raised="#2a2c2f", text="#e6e6e3", muted="#a0a4a9",
    line="#34373b", accent="#56B4E9", selected="#24394a", baseline="#8f9398",
    info="#56B4E9", warning="#e6b450", error="#ff8a80", good="#4cc9a0", on_accent="#10202b", border="#55595f",
)  # fmt: skip


def apply(application: QApplication) -> None:
    """Apply the stored appearance to `application` and follow changes of the system's colours."""
    if application.property("dressed"):
        return
    application.setProperty("dressed", True)
    application.setStyle("Fusion")
    font = application.font()
    font.setFeature(QFont.Tag("tnum"), 1)  # tabular numerals: changing numbers must not move their neighbours
    application.setFont(font)
    application.styleHints().colorSchemeChanged.connect(_follow_system)
    _apply_appearance(application)


def appearance() -> Appearance:
    """Return the user's choice."""
    stored = settings.text("appearance")
    return Appearance(stored) if stored in set(Appearance) else Appearance.SYSTEM


def set_appearance(chosen: Appearance) -> None:
    """Store the user's choice and apply it."""
    settings.put("appearance", chosen.value)
    _apply_appearance(cast("QApplication", QApplication.instance()))


def palette() -> Palette:
    """Return the current colours, by the system's or the user's setting."""
    application = QGuiApplication.instance()
    chosen = application.property("appearance") if application is not None else None
    if chosen in {"light", "dark"}:
        return DARK if chosen == "dark" else LIGHT
    background = QGuiApplication.palette().color(QPalette.ColorRole.Window)
    return DARK if background.lightness() < 128 else LIGHT


def series_colour(index: int) -> QColor:
    """Return the current colour of the series `index`; those after six are shaded, and repeat after 36."""
    return QColor(shaded(DARK_SERIES if palette().dark else SERIES, index, palette().text))


@cache
def _series_indices() -> dict[int, int]:
    """Return the index of every colour of a series, light or dark, by its RGB value."""
    return {
        QColor(shaded(series, index, ink)).rgb(): index
        for index in reversed(range(len(SERIES) * len(SHADES)))
        for series, ink in ((SERIES, LIGHT.text), (DARK_SERIES, DARK.text))
    }


def series_index(colour: QColor) -> int | None:
    """Return the index of the series that `colour` belongs to; None for other colours."""
    return _series_indices().get(colour.rgb())


def in_force(colour: QColor) -> QColor:
    """Return the current colour of the series that `colour` belongs to; other colours unchanged."""
    index = series_index(colour)
    return colour if index is None else series_colour(index)


def text_font(size: TextSize, *, bold: bool = False) -> QFont:
    """Return the platform's font in a TextSize."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * _SCALES[size])
    font.setBold(bold)
    return font


def figure_font(points: float = 0, *, bold: bool = False) -> QFont:
    """Return the platform's font with tabular numerals, for changing numbers and columns."""
    font = QFont(QApplication.font())
    if points:
        font.setPointSizeF(points)
    font.setBold(bold)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def code_font() -> QFont:
    """Return the platform's fixed-width font, for commands and raw output."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(max(font.pointSizeF(), QApplication.font().pointSizeF()))  # follows a large default text size
    return font


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Set the property `name` that the style sheet uses, and apply the style sheet again."""
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def configure_plots() -> None:
    """Set pyqtgraph's colours; call before making a plot and after a change of the palette."""
    import pyqtgraph

    colours = palette()
    pyqtgraph.setConfigOptions(background=colours.surface, foreground=colours.muted, antialias=False)


def _follow_system() -> None:
    if appearance() is Appearance.SYSTEM:
        _apply_appearance(cast("QApplication", QApplication.instance()))


def _apply_appearance(application: QApplication) -> None:
    chosen = appearance()
    system_is_dark = application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    dark = system_is_dark if chosen is Appearance.SYSTEM else chosen is Appearance.DARK
    application.setProperty("appearance", "dark" if dark else "light")
    colours = palette()
    application.setPalette(_qt_palette(colours))
    application.setStyleSheet(_style_sheet(colours))
    refresh_icons(application)
    if "pyqtgraph" in sys.modules:
        configure_plots()


def _style_sheet(colours: Palette) -> str:
    points = QApplication.font().pointSizeF()
    folder = Path(resources.__file__).parent / "style"
    return Template(resources.read_text("style/window.qss")).substitute(
        asdict(colours),
        folder=folder.as_posix(),
        tick="dark" if colours.dark else "light",
        size_icon=f"{scaled(ICON_SIZE)}px",
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
