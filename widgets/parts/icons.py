"""Icons of our own, drawn from SVG in the colours in force."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from resources import read_text

SIZE = 16
"""Pixels of an icon's side beside text."""

SEVERITIES = ("info", "warning", "error", "good")
"""Icons that have a colour of their own; every other takes the text's."""


def icon(name: str, colour: str = "") -> QIcon:
    """Return the icon `name` (see resources/icons) in `colour`: a field of the palette or ``#rrggbb``.

    Without one, a severity gets its own colour and everything else the muted text's.
    """
    return _icon(name, _resolve(name, colour), _resolve(name, "surface"))


def pixmap(name: str, size: int = SIZE, colour: str = "", ratio: float = 1.0) -> QPixmap:
    """Return the icon `name` as a picture of `size` pixels for a screen of `ratio`."""
    return _draw(name, size, _resolve(name, colour), _resolve(name, "surface"), ratio)


def set_icon(target: QAbstractButton | QAction, name: str, colour: str = "") -> None:
    """Give `target` the icon `name`, and a new one whenever the colours change."""
    target.setProperty("icon_name", name)
    target.setProperty("icon_colour", colour)
    target.setIcon(icon(name, colour))


def refresh(application: QApplication) -> None:
    """Draw every icon given by set_icon() anew in the colours now in force."""
    for widget in application.allWidgets():
        _redraw(widget)
        for action in widget.actions():
            _redraw(action)


def _redraw(target: QWidget | QAction) -> None:
    name = target.property("icon_name")
    if name and isinstance(target, QAbstractButton | QAction):
        target.setIcon(icon(name, target.property("icon_colour") or ""))


def _resolve(name: str, colour: str) -> str:
    from widgets.theme import palette  # the theme draws icons anew, so it knows this module, too

    if colour.startswith("#"):
        return colour
    return str(getattr(palette(), colour or (name if name in SEVERITIES else "muted")))


@lru_cache(maxsize=256)
def _icon(name: str, colour: str, surface: str) -> QIcon:
    made = QIcon()
    for size in (SIZE, 20, 24, 32):
        for ratio in (1.0, 2.0):
            drawn = _draw(name, size, colour, surface, ratio)
            made.addPixmap(drawn)
            made.addPixmap(drawn, QIcon.Mode.Selected)  # Qt would tint it with the selection's colour
    return made


@lru_cache(maxsize=512)
def _draw(name: str, size: int, colour: str, surface: str, ratio: float) -> QPixmap:
    from PySide6.QtSvg import QSvgRenderer

    source = read_text(f"icons/{name}.svg").replace("currentColor", colour).replace("currentSurface", surface)
    drawn = QPixmap(QSize(size, size) * ratio)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    QSvgRenderer(QByteArray(source.encode())).render(painter)
    painter.end()
    drawn.setDevicePixelRatio(ratio)
    return drawn
