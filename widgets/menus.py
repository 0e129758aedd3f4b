"""The menu bar: few entries, each with its key."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu

from widgets.rail import SIGNS, Room
from widgets.theme import Appearance, appearance, set_appearance

if TYPE_CHECKING:
    from widgets.main_window import MainWindow

_APPEARANCES = {Appearance.SYSTEM: "As the system", Appearance.LIGHT: "Light", Appearance.DARK: "Dark"}


def build_menus(window: "MainWindow") -> QAction:
    """Fill the window's menu bar; return the action that folds the side panel, which shows how it stands."""
    bar = window.menuBar()
    _build_file(bar.addMenu("&File"), window)
    fold = _build_view(bar.addMenu("&View"), window)
    _build_help(bar.addMenu("&Help"), window)
    return fold


def _build_file(menu: QMenu, window: "MainWindow") -> None:
    _add(menu, "&New measurement", lambda: window.show_room(Room.MEASURE), QKeySequence.StandardKey.New)
    _add(menu, "&Open plan…", window.ask_for_plan, QKeySequence.StandardKey.Open)
    _add(menu, "&Export…", window.export, "Ctrl+E")
    menu.addSeparator()
    _add(menu, "&Quit", window.close, "Ctrl+Q")


def _build_view(menu: QMenu, window: "MainWindow") -> QAction:
    for room, sign in SIGNS.items():
        _add(menu, room.value, partial(window.show_room, room), sign.keys)
    menu.addSeparator()
    fold = QAction("&Side panel", menu, checkable=True)
    fold.setShortcut("F9")
    menu.addAction(fold)
    _build_appearances(menu.addMenu("&Appearance"))
    return fold


def _build_appearances(menu: QMenu) -> None:
    group = QActionGroup(menu)
    for chosen, title in _APPEARANCES.items():
        action = menu.addAction(title, partial(set_appearance, chosen))
        action.setCheckable(True)
        action.setChecked(chosen is appearance())
        group.addAction(action)


def _build_help(menu: QMenu, window: "MainWindow") -> None:
    _add(menu, "&Tour", lambda: window.show_help("tour"), QKeySequence.StandardKey.HelpContents)
    _add(menu, "&Words", lambda: window.show_help("words"))
    _add(menu, "&Rules of measurement", lambda: window.show_help("rules"))
    _add(menu, "&Keyboard", lambda: window.show_help("keyboard"))
    menu.addSeparator()
    _add(menu, "&About Benchwright", window.show_about)


def _add(
    menu: QMenu, text: str, callback: Callable[[], object], keys: QKeySequence.StandardKey | str | None = None
) -> None:
    action = menu.addAction(text)
    if keys is not None:
        action.setShortcut(QKeySequence(keys))
    action.triggered.connect(lambda _checked: callback())
