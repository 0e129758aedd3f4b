"""The menu bar."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar

from widgets.rail import SIGNS, PageName
from widgets.theme import Appearance, appearance, set_appearance

_APPEARANCES = {Appearance.SYSTEM: "System", Appearance.LIGHT: "Light", Appearance.DARK: "Dark"}


class MenuWindow(Protocol):
    """Interface of the window that the menus use."""

    def menuBar(self) -> QMenuBar:
        """Return the menu bar."""
        ...

    def show_page(self, name: PageName) -> object:
        """Show a page."""
        ...

    def choose_plan_file(self) -> None:
        """Ask for a plan file and open it."""
        ...

    def export(self) -> None:
        """Export the content of the current page."""
        ...

    def close(self) -> bool:
        """Close the window."""
        ...

    def show_help(self, topic: str) -> None:
        """Show a help page."""
        ...

    def show_about(self) -> None:
        """Show name, version and purpose of the program."""
        ...


def build_menus(window: MenuWindow) -> QAction:
    """Fill the window's menu bar; return the checkable action of the side panel."""
    bar = window.menuBar()
    _build_file(bar.addMenu("&File"), window)
    fold = _build_view(bar.addMenu("&View"), window)
    _build_help(bar.addMenu("&Help"), window)
    return fold


def _build_file(menu: QMenu, window: MenuWindow) -> None:
    _add(menu, "&New measurement", lambda: window.show_page(PageName.MEASURE), QKeySequence.StandardKey.New)
    _add(menu, "&Open plan…", window.choose_plan_file, QKeySequence.StandardKey.Open)
    _add(menu, "&Export…", window.export, "Ctrl+E")
    menu.addSeparator()
    _add(menu, "&Quit", window.close, "Ctrl+Q")


def _build_view(menu: QMenu, window: MenuWindow) -> QAction:
    for name, sign in SIGNS.items():
        _add(menu, name.value, partial(window.show_page, name), sign.keys)
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


def _build_help(menu: QMenu, window: MenuWindow) -> None:
    _add(menu, "&Tour", lambda: window.show_help("tour"), QKeySequence.StandardKey.HelpContents)
    _add(menu, "&Glossary", lambda: window.show_help("words"))
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
