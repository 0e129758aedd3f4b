"""What a picture does not show: widgets without a name, texts that are cut, parts outside their window."""

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QHeaderView,
    QLabel,
    QPushButton,
    QRadioButton,
    QToolButton,
    QWidget,
)

from widgets.plots.accessible import Described

ROLES = frozenset({QAccessible.Role.NoRole, QAccessible.Role.Client})
"""Roles that say nothing about what takes the focus."""

ROUNDING = 2
"""Pixels by which a text may exceed its widget: the metrics of fonts are rounded."""

PADDING = 8
"""Pixels at each side of the title of a column, as in window.qss."""


def problems_of(widget: QWidget) -> list[str]:
    """Return what is wrong with the visible parts of `widget`, one line each."""
    shown = [one for one in (widget, *widget.findChildren(QWidget)) if one.isVisible()]
    return [f"{_path(one)}: {problem}" for one in shown for problem in _problems(one, widget)]


def _problems(one: QWidget, window: QWidget) -> Iterator[str]:
    found = QAccessible.queryAccessibleInterface(one)
    if one.focusPolicy() != Qt.FocusPolicy.NoFocus and one.isEnabled() and not _is_part(one):
        if not found.text(QAccessible.Text.Name).strip():
            yield "has no accessible name"
        if found.role() in ROLES:
            yield "has no role"
        if isinstance(one, Described):
            yield from _plot_problems(one, found)
    if (text := _text(one)) and _needed(one, text) > one.width() + ROUNDING and not one.toolTip():
        yield f"“{text[:50]}” is cut"
    if isinstance(one, QLabel) and one.wordWrap() and one.heightForWidth(one.width()) > one.height() + ROUNDING:
        yield f"“{one.text()[:50]}” has lines that are cut"
    if isinstance(one, QHeaderView) and one.orientation() is Qt.Orientation.Horizontal:
        yield from _cut_titles(one)
    area = QRect(one.mapTo(window, QPoint()), one.size())
    seen = one is not window and not one.visibleRegion().isEmpty()
    if seen and not _scrolled(one, window) and not window.rect().contains(area):
        yield f"is in part outside the window: {area}"


def _cut_titles(head: QHeaderView) -> Iterator[str]:
    for number in range(head.count()):
        title = str(head.model().headerData(number, Qt.Orientation.Horizontal) or "")
        if not head.isSectionHidden(number) and _needed(head, title) > head.sectionSize(number) - 2 * PADDING:
            yield f"the title “{title}” is cut"


def _plot_problems(one: QWidget, found: QAccessibleInterface) -> Iterator[str]:
    """Yield what a plot lacks for those who do not see it: a role, what it shows, and its data by key and menu."""
    if found.role() is not QAccessible.Role.Chart:
        yield "is no chart to a screen reader"
    if any(not found.child(number).text(QAccessible.Text.Name) for number in range(found.childCount())):
        yield "has parts without a name"
    if not found.text(QAccessible.Text.Description):
        yield "has no description"
    at: QWidget | None = one
    while at is not None and not any(action.text() == "Copy as data" and action.shortcut() for action in at.actions()):
        at = at.parentWidget()
    if at is None:
        yield "has no key that copies its data"


def _is_part(one: QWidget) -> bool:
    """Return whether a widget is the inside of one that has the name and the role."""
    parent = one.parentWidget()
    viewport = isinstance(parent, QAbstractScrollArea) and parent.viewport() is one
    return viewport or isinstance(parent, QComboBox | QAbstractSpinBox)


def _text(one: QWidget) -> str:
    if isinstance(one, QLabel):
        plain = not one.wordWrap() and one.textFormat() is not Qt.TextFormat.RichText and "<" not in one.text()
        return one.text() if plain else ""
    shows = isinstance(one, QPushButton | QCheckBox | QRadioButton) or (
        isinstance(one, QToolButton) and one.toolButtonStyle() is not Qt.ToolButtonStyle.ToolButtonIconOnly
    )
    return one.text().replace("&", "") if shows and isinstance(one, QAbstractButton) else ""


def _needed(one: QWidget, text: str) -> int:
    return max(one.fontMetrics().horizontalAdvance(line) for line in text.split("\n"))


def _scrolled(one: QWidget, window: QWidget) -> bool:
    """Return whether a part scrolls: it may be larger than what is seen of it."""
    parent = one.parentWidget()
    while parent is not None and parent is not window:
        if parent.objectName() == "qt_scrollarea_viewport":
            return True
        parent = parent.parentWidget()
    return False


def _path(one: QWidget) -> str:
    names = list[str]()
    at: QWidget | None = one
    while at is not None and len(names) < 4:
        names.append(type(at).__name__)
        at = at.parentWidget()
    return " in ".join(names)
