"""The sidebar: pages, hosts with their state, queue, library and saved searches; it folds to icons."""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QMenu, QSplitter, QToolButton, QWidget

from app.detached_runs import DetachedRun
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry
from app.library_digest import LibraryDigest
from app.runs.messages import detached_text
from widgets import settings
from widgets.hosts.host_connections import HostStatus
from widgets.page import SIGNS, PageName
from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import tool_button
from widgets.parts.text import set_tool_tip
from widgets.run_strip import StripLine
from widgets.sidebar.items import SideState, group_of
from widgets.sidebar.side_view import SideView
from widgets.theme import SPACE, scaled, set_icon

FOLD_KEY = "Ctrl+Shift+B"

FOLDED, NARROWEST, WIDEST = 44, 168, 420
"""Widths in pixels: folded at the platform's default text size, and the bounds when unfolded."""

TOOL_ICON = 18
"""Size in pixels of the icons at the foot, at the platform's default text size."""

NARROW = 1100
"""Width in pixels of a window in which the sidebar is folded at first; its fold is remembered apart."""


class Sidebar(QWidget):
    """Lists what the window shows; see SideState. It reads nothing by itself and never blocks."""

    page_chosen = Signal(object)  # a PageName
    fold_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.state = SideState()
        self.view = SideView()
        self._refresh = QTimer(self, singleShot=True, interval=0)  # several changes at once are shown once
        self._refresh.timeout.connect(self.show_now)
        sign = SIGNS[PageName.HELP]
        self.help_button = self._tool("help", f"{sign.purpose} ({sign.keys})", PageName.HELP.value)
        self.help_button.setCheckable(True)
        self.help_button.clicked.connect(lambda: self.page_chosen.emit(PageName.HELP))
        self.settings_button = self._tool("settings", "Appearance and notifications", "Settings")
        self.settings_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.fold_button = self._tool("left", f"Fold the sidebar ({FOLD_KEY})", "Fold the sidebar")
        self.fold_button.clicked.connect(self.fold_requested)
        foot = QWidget()
        self._foot = QBoxLayout(QBoxLayout.Direction.LeftToRight, foot)
        self._foot.setContentsMargins(SPACE[1], SPACE[0], SPACE[1], SPACE[0])
        fill(self._foot, self.help_button, self.settings_button, None, self.fold_button)
        fill(column_in(self, 0, (0, SPACE[0], 0, 0)), (self.view, 1), foot)
        self.show_now()

    def set_settings(self, menu: QMenu) -> None:
        """Show `menu` below the button *Settings*."""
        self.settings_button.setMenu(menu)

    def show_now(self) -> None:
        """Show the state."""
        self._refresh.stop()
        self.view.show_sections(list(self.state.sections()))

    def show_page(self, name: PageName) -> None:
        """Mark `name` as the page that is shown."""
        self.view.show_front(name)
        self.help_button.setChecked(name is PageName.HELP)

    def show_hosts(self, entries: Sequence[HostEntry], status_of: Callable[[str], HostStatus]) -> None:
        """List the hosts; `status_of` returns the status of one."""
        self.state.hosts, self.state.status_of = entries, status_of
        self._refresh.start()

    def show_attributes(self, stated: Mapping[str, HostAttributes]) -> None:
        """List hosts below the groups that the inventory states, if there are many."""
        self.state.groups = {host: group_of(attributes) for host, attributes in stated.items()}
        self._refresh.start()

    def show_lines(self, lines: Sequence[StripLine]) -> None:
        """Show every run."""
        if self.state.lines != lines or [one.left for one in self.state.lines] != [one.left for one in lines]:
            self.state.lines = lines
            self._refresh.start()

    def show_left(self, entries: Sequence[tuple[str, str]]) -> None:
        """List the runs that no process will start: id and name."""
        self.state.left = dict(entries)
        self._refresh.start()

    def show_detached(self, runs: Sequence[DetachedRun]) -> None:
        """List the detached runs."""
        self.state.detached = [detached_text(run) for run in runs]
        self._refresh.start()

    def show_digest(self, digest: LibraryDigest) -> None:
        """Show the numbers of runs and the saved searches."""
        self.state.digest = digest
        self._refresh.start()

    def refresh(self) -> None:
        """Show the states of hosts, which have changed, soon."""
        self._refresh.start()

    def set_folded(self, *, folded: bool) -> None:
        """Show icons only, or everything."""
        self.view.set_narrow(narrow=folded)
        down, right = QBoxLayout.Direction.TopToBottom, QBoxLayout.Direction.LeftToRight
        self._foot.setDirection(down if folded else right)
        beside = SPACE[0] if folded else SPACE[1]
        self._foot.setContentsMargins(beside, SPACE[0], beside, SPACE[0])
        set_icon(self.fold_button, "right" if folded else "left")
        text = "Unfold the sidebar" if folded else "Fold the sidebar"
        self.fold_button.setAccessibleName(text)
        set_tool_tip(self.fold_button, f"{text} ({FOLD_KEY})")

    @staticmethod
    def _tool(icon: str, tip: str, name: str) -> QToolButton:
        made = tool_button(icon=icon, tip=tip, accessibleName=name, autoRaise=True)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the same is in the menus: the sidebar is one Tab stop
        made.setIconSize(QSize(scaled(TOOL_ICON), scaled(TOOL_ICON)))
        return made


class SidebarSplitter(QSplitter):
    """The sidebar beside `content`. Width and fold are remembered, the fold for narrow windows apart."""

    fold_changed = Signal(bool)

    def __init__(self, sidebar: Sidebar, content: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._sidebar = sidebar
        self.folded = False
        self._folds = {narrow: settings.flag(_fold_key(narrow=narrow), default=narrow) for narrow in (False, True)}
        self._width = _stored_width() or 39 * self.fontMetrics().averageCharWidth()
        self.setChildrenCollapsible(False)
        self.setHandleWidth(1)
        self.addWidget(sidebar)
        self.addWidget(content)
        self.setStretchFactor(1, 1)
        self.splitterMoved.connect(self._keep_width)
        sidebar.fold_requested.connect(lambda: self.set_folded(folded=not self.folded))
        self._fit()

    def set_folded(self, *, folded: bool) -> None:
        """Fold or unfold the sidebar, and remember it."""
        self._folds[self._is_narrow] = folded
        settings.put(_fold_key(narrow=self._is_narrow), "yes" if folded else "no")
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold in a narrow window."""
        super().resizeEvent(event)
        self._fit()

    @property
    def _is_narrow(self) -> bool:
        return self.width() < scaled(NARROW)

    def _fit(self) -> None:
        folded = self._folds[self._is_narrow]
        least, most = NARROWEST, WIDEST
        if folded:
            least = most = max(FOLDED, scaled(TOOL_ICON) + 2 * SPACE[1])
        wide = max(least, min(self._width, most))
        self._sidebar.setMinimumWidth(least)
        self._sidebar.setMaximumWidth(most)
        self.setSizes([wide, max(1, self.width() - wide - self.handleWidth())])
        if folded is not self.folded:
            self.folded = folded
            self._sidebar.set_folded(folded=folded)
            self.fold_changed.emit(folded)

    def _keep_width(self) -> None:
        if not self.folded:
            self._width = self._sidebar.width()
            settings.put("sidebar/width", str(self._width))


def _fold_key(*, narrow: bool) -> str:
    return "sidebar/folded-narrow" if narrow else "sidebar/folded"


def _stored_width() -> int:
    text = settings.text("sidebar/width")
    return int(text) if text.isdecimal() and len(text) < 6 else 0
