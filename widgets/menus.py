"""The menu bar of the window, filled from the actions that buttons and the palette share."""

from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QToolButton, QWidget

from widgets.page import SIGNS, PageName
from widgets.parts.boxes import fill, row_in
from widgets.theme import SPACE, Appearance, appearance, set_appearance, set_icon
from widgets.window_actions import FIND, WindowActions
from widgets.window_parts import WindowParts

if TYPE_CHECKING:
    from widgets.hosts.hosts_page import HostsPage

_APPEARANCES = {Appearance.SYSTEM: "System", Appearance.LIGHT: "Light", Appearance.DARK: "Dark"}

_TOPICS = {"tour": "Tour", "words": "Glossary", "rules": "Rules of measurement", "keyboard": "Keyboard"}


def build_menus(window: WindowParts, actions: WindowActions) -> None:
    """Fill the menu bar, and the menu *Settings* of the sidebar."""
    bar = window.menuBar()
    titles = ("&File", "&Run", "H&ost", "&View", "&Help")
    file, run, host, view, help_menu = (bar.addMenu(title) for title in titles)
    _add_groups(
        file,
        [actions.new_test, actions.quick, actions.open_plan],
        [actions.export, actions.export_library, actions.import_runs],
        [actions.open_library, actions.back_up],
        [actions.undo],
        [actions.quit],
    )
    _add_groups(
        run,
        [actions.again, actions.stop, actions.stop_all],
        [actions.next_run, actions.previous_run, actions.clear],
        list(actions.queued.values()),
    )
    host.addAction(actions.add_host)
    window.page_created.connect(lambda: _add_host_actions(window, host))
    settings = _settings_menu(window, bar)
    _add_groups(
        view, [actions.find], [_page_action(window, bar, name) for name in SIGNS], [actions.sidebar, actions.issues]
    )
    view.addMenu(settings)
    topics = [_topic_action(window, bar, topic, title) for topic, title in _TOPICS.items()]
    _add_groups(help_menu, [actions.help_here], topics, [actions.about])
    window.sidebar.set_settings(settings)


def _add_groups(menu: QMenu, *groups: list[QAction]) -> None:
    """Add groups of actions with separators between them."""
    for group in groups:
        if not menu.isEmpty():
            menu.addSeparator()
        menu.addActions(group)


def _add_host_actions(window: WindowParts, menu: QMenu) -> None:
    """Add the actions of the page Hosts once it exists."""
    page = cast("HostsPage | None", window.pages.existing(PageName.HOSTS))
    if page is not None and len(menu.actions()) == 1:
        _add_groups(menu, list(page.actions_of_hosts.all()))


def _page_action(window: WindowParts, bar: QMenuBar, name: PageName) -> QAction:
    made = QAction(name.value, bar, shortcut=QKeySequence(SIGNS[name].keys))
    made.triggered.connect(lambda _checked: window.show_page(name))
    return made


def _topic_action(window: WindowParts, bar: QMenuBar, topic: str, title: str) -> QAction:
    made = QAction(title, bar)
    made.triggered.connect(lambda _checked: window.show_help(topic))
    return made


def _settings_menu(window: WindowParts, bar: QMenuBar) -> QMenu:
    menu = QMenu("Settings", bar)
    group = QActionGroup(menu)
    looks = menu.addMenu("Appearance")
    for chosen, title in _APPEARANCES.items():
        action = looks.addAction(title, partial(set_appearance, chosen))
        action.setCheckable(True)
        action.setChecked(chosen is appearance())
        group.addAction(action)
    notify = menu.addAction("Notify when a run ends or asks")
    notify.setCheckable(True)
    notify.setChecked(window.presence.notifies)
    notify.toggled.connect(window.presence.set_notifies)
    return menu


def corner_buttons(actions: WindowActions) -> QWidget:
    """Return the buttons at the right of the menu bar: find or do, quick benchmark, new test."""
    corner = QWidget()
    buttons = [_corner_button(action) for action in (actions.find, actions.quick, actions.new_test)]
    find = buttons[0]
    find.setObjectName("find")
    find.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    set_icon(actions.find, "search")
    actions.find.setIconText(f"Find or do  {FIND}")
    actions.find.setIconVisibleInMenu(False)
    fill(row_in(corner, SPACE[0], (0, 0, SPACE[1], 0)), *buttons)
    return corner


def _corner_button(action: QAction) -> QToolButton:
    made = QToolButton()
    made.setObjectName("corner")
    made.setDefaultAction(action)
    return made
