"""Connects the sidebar to the window: where its items lead, and what it shows."""

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from widgets.page import PageName
from widgets.sidebar.items import DETACHED, SideItem, SideKind
from widgets.window_parts import WindowParts

if TYPE_CHECKING:
    from widgets.hosts.hosts_page import HostsPage


class SidebarLinks(QObject):
    """Leads from the items of the sidebar to pages, runs and bars."""

    def __init__(self, window: WindowParts, fold: QAction, parent: QWidget) -> None:
        """Connect the sidebar of `window`; `fold` is the checkable action that shows it whole."""
        super().__init__(parent)
        self._window = window
        sidebar = window.sidebar
        sidebar.view.chosen.connect(self.follow)
        sidebar.view.opened.connect(self._open)
        sidebar.view.menu_requested.connect(self._show_menu)
        sidebar.page_chosen.connect(window.show_page)
        window.queue_bar.shown.connect(sidebar.show_left)
        window.detached_bar.shown.connect(sidebar.show_detached)
        window.digests.read.connect(sidebar.show_digest)
        window.page_created.connect(self._connect_hosts)
        fold.setChecked(not window.frame.folded)
        fold.triggered.connect(lambda shown: window.frame.set_folded(folded=not shown))
        window.frame.fold_changed.connect(lambda folded: fold.setChecked(not folded))

    @property
    def _hosts(self) -> "HostsPage | None":
        return cast("HostsPage | None", self._window.pages.existing(PageName.HOSTS))

    def _connect_hosts(self) -> None:
        page, sidebar = self._hosts, self._window.sidebar
        if page is not None:
            self._window.page_created.disconnect(self._connect_hosts)
            page.listed.connect(lambda entries: sidebar.show_hosts(entries, page.connections.of))
            page.table.attributes_read.connect(sidebar.show_attributes)
            page.connections.changed.connect(lambda _name: sidebar.refresh())

    def follow(self, item: SideItem) -> None:
        """Show the target of an item: of a host its run, if one is under way there."""
        window = self._window
        if item.kind is SideKind.PAGE:
            window.show_page(PageName(item.key))
        elif item.kind is SideKind.RUN or item.run:
            window.pages.show_live(item.run or item.key)
        elif item.kind is SideKind.HOST:
            window.pages.show_host(item.key)
        elif item.kind is SideKind.FILTER:
            window.pages.show_filter(item.key)
        else:
            bar = window.detached_bar if item.key.startswith(DETACHED) else window.queue_bar
            bar.first_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _open(self, item: SideItem) -> None:
        """Plan a test on a host that was clicked twice, unless one is under way there."""
        if item.kind is SideKind.HOST and not item.run:
            self._window.pages.measure([item.key])

    def menu_of(self, item: SideItem) -> QMenu | None:
        """Return a menu of the actions on a host, which becomes the selected one; None for other items."""
        page = self._hosts
        if item.kind is not SideKind.HOST or page is None:
            return None
        page.table.select(item.key)
        menu = QMenu(self._window.sidebar)
        menu.addActions(page.table.actions())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _show_menu(self, item: SideItem, at: QPoint) -> None:
        if (menu := self.menu_of(item)) is not None:
            menu.popup(at)
