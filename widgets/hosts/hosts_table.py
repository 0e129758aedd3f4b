"""The table of hosts: searchable, driven by keys, with every action in its context menu."""

from PySide6.QtCore import QSortFilterProxyModel, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTableView

from app.hosts.hosts import THIS_COMPUTER, HostEntry, Origin
from widgets.hosts.host_connections import HostConnections
from widgets.hosts.hosts_model import HostsModel
from widgets.theme import SPACE

NARROW = 520
"""Pixels below which not every column fits."""


class HostsTable(QTableView):
    """The hosts, one a line. It shows and asks; the page does."""

    moved = Signal()  # another host is current, or others are selected
    measure_requested = Signal()
    quick_requested = Signal()
    test_requested = Signal()
    edit_requested = Signal()
    remove_requested = Signal()
    forget_requested = Signal()  # the secrets that are kept for it
    restore_requested = Signal()  # the settings that a run changed there

    def __init__(self, connections: HostConnections) -> None:
        super().__init__()
        self._hosts = HostsModel(connections.of, self)
        connections.changed.connect(self._hosts.refresh)
        self._proxy = QSortFilterProxyModel(self)
        self._proxy.setSourceModel(self._hosts)
        self._proxy.setFilterKeyColumn(-1)
        self._proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setModel(self._proxy)
        self._look()
        self._add_actions()
        self.selectionModel().selectionChanged.connect(self._move)
        self.activated.connect(self.measure_requested)

    @property
    def entries(self) -> list[HostEntry]:
        """All hosts, hidden by a search or not."""
        return self._hosts.entries

    def current(self) -> HostEntry:
        """Return the host under the cursor, else this computer."""
        found = self.currentIndex().data(HostsModel.ENTRY)
        return found if isinstance(found, HostEntry) else THIS_COMPUTER

    def chosen(self) -> list[HostEntry]:
        """Return the selected hosts, from top to bottom."""
        rows = sorted(self.selectionModel().selectedRows(), key=lambda index: index.row())
        return [index.data(HostsModel.ENTRY) for index in rows] or [self.current()]

    def show_entries(self, entries: list[HostEntry]) -> None:
        """Show `entries`, the cursor on the host it was on."""
        name = self.current().name
        self._hosts.show_entries(entries)
        self.select(name)

    def select(self, name: str) -> None:
        """Put the cursor on the host `name`, or on the first where there is none of that name."""
        place = self._hosts.place_of(name)
        index = self._proxy.mapFromSource(place)
        self.setCurrentIndex(index if index.isValid() else self._proxy.index(0, 0))

    def search(self, text: str) -> None:
        """Show only hosts that have `text` in a column."""
        self._proxy.setFilterFixedString(text)
        if not self.currentIndex().isValid():
            self.setCurrentIndex(self._proxy.index(0, 0))

    def _move(self) -> None:
        entry = self.current()
        self._edit_action.setEnabled(entry.origin is not Origin.THIS_COMPUTER)
        self._forget_action.setEnabled(entry.origin is not Origin.THIS_COMPUTER)
        self._remove_action.setEnabled(entry.origin is Origin.SAVED)
        self.moved.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give up the column that the card beneath tells, too, where the place is narrow."""
        super().resizeEvent(event)
        self.setColumnHidden(2, self.viewport().width() < NARROW)

    def _look(self) -> None:
        self.setAccessibleName("Hosts")
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 2 * SPACE[1])
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)

    def _add_actions(self) -> None:
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._action("Measure", self.measure_requested)
        self._action("Quick benchmark", self.quick_requested)
        self._action("Test connection", self.test_requested)
        self._edit_action = self._action("Change…", self.edit_requested, "F2")
        self._action("Put settings back…", self.restore_requested)
        self._forget_action = self._action("Forget password and passphrases", self.forget_requested)
        self._remove_action = self._action("Remove…", self.remove_requested, "Del")

    def _action(self, text: str, request: SignalInstance, keys: str = "") -> QAction:
        made = QAction(text, self)
        made.setShortcut(QKeySequence(keys))
        made.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        made.triggered.connect(request)
        self.addAction(made)
        return made
