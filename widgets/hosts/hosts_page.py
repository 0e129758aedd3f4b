"""Hosts page: list, connection tests, facts, and actions on hosts."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFrame, QLineEdit, QSplitter, QStackedWidget, QWidget

from app.hosts.hosts import THIS_COMPUTER, HostEntry, Origin
from app.library_digest import LibraryDigest
from app.plans.plan import LOCAL
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.hosts.add_host_dialog import AddHostDialog
from widgets.hosts.compared_facts import ComparedFactsView
from widgets.hosts.facts_view import FactsView
from widgets.hosts.host_actions import HostActions
from widgets.hosts.host_bars import ChangedBar
from widgets.hosts.host_card import HostCard
from widgets.hosts.host_connections import HostConnections
from widgets.hosts.hosts_table import HostsTable
from widgets.jobs import BackgroundJob
from widgets.library_digests import LibraryDigests
from widgets.page import PAGE_MARGINS, Page, PageName, page_title
from widgets.parts.boxes import column_in, fill, in_column, in_row, row_in
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import opened
from widgets.parts.layouts import remember_splitter
from widgets.parts.names import host_title
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, set_icon
from widgets.undo import UndoableChange, UndoBar, UndoStack

SEARCH_FROM = 9
"""Number of hosts from which the search field is shown."""


class HostsPage(Page):
    """Table of hosts; below it the card of the selected one and its facts."""

    measure_requested = Signal(list)  # names of hosts
    quick_requested = Signal(str)  # the name of a host
    fleet_requested = Signal(list)  # names of hosts

    listed = Signal(list)  # HostEntry

    def __init__(
        self,
        workstation: Workstation,
        asker: Asker,
        undo: UndoStack | None = None,
        digests: LibraryDigests | None = None,
    ) -> None:
        super().__init__(workstation, asker)
        self._undo, self._digests = undo or UndoStack(self), digests or LibraryDigests(workstation, self)
        self.addAction(self._undo.action)
        self.connections = HostConnections(workstation, asker, self)
        self.table = HostsTable(self.connections)
        self.actions_of_hosts = HostActions(self)
        self.facts_view = FactsView()
        self.compared_facts = ComparedFactsView()
        self._facts_stack = QStackedWidget()
        self._facts_stack.setObjectName("card")
        self._facts_stack.addWidget(self.facts_view)
        self._facts_stack.addWidget(self.compared_facts)
        self.card = HostCard(self.actions_of_hosts)
        self.notice = Notice()
        self.undo_bar = UndoBar(self._undo)
        self.start_card = self._build_start_card()
        self.search = self._build_search()
        self.changed = ChangedBar(workstation)
        self._read = self._unlisted = False  # this computer's facts; whether the library could not be read
        self._connect()
        self._arrange()
        self.begin_at(self.table)
        self._show_entries([THIS_COMPUTER])

    def activated(self) -> None:
        """Read the list of hosts again; the first time, read this computer's facts as well."""
        self.notice.hide()
        self._list()
        BackgroundJob(self.workstation.hosts_problem, self).start(self._show_problem)
        self._digests.refresh()
        if not self._read:
            self._read = True
            self.connections.read(LOCAL)

    def add_host(self) -> None:
        """Ask for a host, save it and connect to it."""
        self._edit(None)

    def _list(self) -> BackgroundJob:
        return BackgroundJob(self.workstation.hosts, self).start(self._show_entries, self.notice.show_error)

    def _relist(self) -> None:
        BackgroundJob(self.workstation.hosts, self).start(self._follow, self.notice.show_error)

    def _follow(self, entries: list[HostEntry]) -> None:
        """Show the hosts that were changed by any process; the states of those that differ are not known any more."""
        for entry in self.table.content.rows:
            if entry not in entries:
                self.connections.forget(entry.name)
        self._show_entries(entries)

    def _show_entries(self, entries: list[HostEntry]) -> None:
        self.table.show_rows(entries)
        self.search.setVisible(len(entries) >= SEARCH_FROM)
        self.status.emit(count_text(len(entries), "host"))
        self.listed.emit(entries)
        if len(entries) > 1:
            inventory = self.workstation.inventory
            BackgroundJob(inventory.attributes, self).start(self.table.show_attributes, self.notice.show_error)
            BackgroundJob(self.workstation.resolved_hosts, self).start(self.table.show_resolved)

    def _show_problem(self, problem: str) -> None:
        if problem:
            self.notice.show_message("warning", problem)

    def _show_current(self) -> None:
        entry = self.table.current_host()
        status = self.connections.of(entry.name)
        chosen = self.table.chosen()
        several = len(chosen) > 1
        self.actions_of_hosts.show_chosen(chosen, busy=bool(status.activity))
        self._facts_stack.setCurrentWidget(self.compared_facts if several else self.facts_view)
        if several:
            self.card.show_many(chosen)
            self.compared_facts.show_hosts({each.name: self.connections.of(each.name).facts for each in chosen})
            return
        self.card.show_host(entry, self.table.address(entry), status)
        if status.facts is None:
            self.facts_view.show_nothing(host_title(entry.name))
        elif status.facts is not self.facts_view.facts:
            self.facts_view.show_facts(status.facts, host_title(entry.name))

    def _show_status(self, name: str) -> None:
        if name in {entry.name for entry in self.table.chosen()}:
            self._show_current()

    def _read_missing(self) -> None:
        for entry in self.table.chosen():
            if self.connections.of(entry.name).facts is None:
                self.connections.test(entry.name)

    def _show_digest(self, digest: LibraryDigest) -> None:
        if self._unlisted:
            self._unlisted = False
            self.notice.hide()
        self.table.show_results(digest.last)
        self.changed.refresh()
        self._offer_start(empty=digest.empty)

    def _offer_start(self, *, empty: bool) -> None:
        self.start_card.setVisible(empty)
        self.card.set_primary(primary=not empty)

    def _show_library_error(self, error: BenchwrightError) -> None:
        self._offer_start(empty=False)
        self._unlisted = True
        if not self.report_damage(error):
            self.notice.show_error(error)

    def _edit(self, edited: HostEntry | None) -> None:
        dialog = AddHostDialog(self.workstation, self.asker, self.table.content.rows, edited, self)
        dialog.accepted.connect(lambda: self._take_saved(dialog.entries(), edited, dialog.replaced))
        opened(dialog)

    def _take_saved(self, entries: Sequence[HostEntry], edited: HostEntry | None, before: list[HostEntry]) -> None:
        """Select the saved hosts and connect to them; saving can be undone."""
        names = [entry.name for entry in entries]
        undo = partial(self.workstation.restore_hosts, *before, after=entries)
        changed = [*names, *(entry.name for entry in before)]
        text = _saved_text(names, edited)
        self._undo.add(UndoableChange(text, undo, lambda _text: self._show_changed(*changed), self.notice.show_error))
        self._list().returned.connect(lambda _entries: self.table.select(*names))
        for name in names:
            self.connections.test(name)

    def _show_changed(self, *names: str) -> None:
        """List the hosts again; the states of those that were changed are not known any more."""
        for name in names:
            self.connections.forget(name)
        self._list()

    def import_inventory(self) -> None:
        """Import hosts from a file of other tools."""
        from widgets.hosts.import_inventory_dialog import ImportInventoryDialog

        dialog = ImportInventoryDialog(self.workstation, self)
        dialog.accepted.connect(lambda: self._show_changed(*(one.entry.name for one in dialog.preview.writes)))
        opened(dialog)

    def _show_limits(self) -> None:
        from widgets.hosts.limits_dialog import LimitsDialog

        opened(LimitsDialog(self.workstation, self.table.current_host().name, self))

    def _show_leftovers(self) -> None:
        from widgets.hosts.cleanup_dialogs import LeftoversDialog

        opened(LeftoversDialog(self.workstation, self.asker, self.table.current_host().name, self))

    def _calibrate(self) -> None:
        from widgets.hosts.calibrate_dialog import CalibrateDialog

        opened(CalibrateDialog(self.workstation, self.asker, self.table.current_host().name, self))

    def _restore(self, name: str) -> None:
        from widgets.hosts.cleanup_dialogs import RestoreDialog

        dialog = RestoreDialog(self.workstation, self.asker, name, self)
        dialog.restored.connect(self.changed.refresh)
        opened(dialog)

    def _remove(self) -> None:
        entry, workstation = self.table.current_host(), self.workstation
        if entry.origin is Origin.SAVED:
            self._undo.do(
                lambda: workstation.remove_host(entry.name),
                lambda before: workstation.restore_hosts(*before),
                f"Removed {entry.name}; its runs stay in the library",
                lambda _text: self._show_changed(entry.name),
                self.notice.show_error,
            )

    def _forget_secrets(self) -> None:
        name = self.table.current_host().name

        def show_message(count: int) -> None:
            if count:
                text = f"Forgot {count_text(count, 'secret')} of {name}. Benchwright asks for them again."
            else:
                text = f"No passwords or passphrases stored for {name}."
            self.notice.show_message("good" if count else "info", text)

        BackgroundJob(lambda: self.workstation.forget_secrets(name), self).start(show_message, self.notice.show_error)

    def _connect(self) -> None:
        def name() -> str:
            return self.table.current_host().name

        self.table.moved.connect(self._show_current)
        self.table.activated.connect(self.actions_of_hosts.new_test.trigger)
        self.connections.changed.connect(self._show_status)
        self._digests.read.connect(self._show_digest)
        self._digests.failed.connect(self._show_library_error)
        self._digests.hosts_changed.connect(self._relist)
        self.facts_view.read_requested.connect(self.actions_of_hosts.facts.trigger)
        self.compared_facts.read_requested.connect(self._read_missing)
        self.card.cancel_requested.connect(lambda: self.connections.cancel(name()))
        self.changed.restore_requested.connect(self._restore)
        actions = self.actions_of_hosts
        slots: dict[QAction, Callable[[], object]] = {
            actions.new_test: lambda: self.measure_requested.emit([entry.name for entry in self.table.chosen()]),
            actions.fleet: lambda: self.fleet_requested.emit([entry.name for entry in self.table.chosen()]),
            actions.quick: lambda: self.quick_requested.emit(name()),
            actions.test: lambda: self.connections.test(name()),
            actions.facts: lambda: self.connections.read(name()),
            actions.edit: lambda: self._edit(self.table.current_host()),
            actions.calibrate: self._calibrate,
            actions.limits: self._show_limits,
            actions.leftovers: self._show_leftovers,
            actions.restore: lambda: self._restore(name()),
            actions.forget: self._forget_secrets,
            actions.remove: self._remove,
        }
        for action, slot in slots.items():
            action.triggered.connect(lambda _checked, slot=slot: slot())
        self.table.addActions(list(actions.all()))

    def _arrange(self) -> None:
        purpose = Text("This computer, and Linux hosts over SSH.", Tone.MUTED)
        titles = in_column(page_title(PageName.HOSTS), purpose, spacing=SPACE[0])
        self.add_button = push_button("Add a host…", self.add_host)
        set_icon(self.add_button, "add", "text")
        self.import_button = push_button("Import inventory…", self.import_inventory)
        buttons = ((button, 0, Qt.AlignmentFlag.AlignBottom) for button in (self.import_button, self.add_button))
        head = in_row((titles, 1), *buttons)
        rows = column_in(self, SPACE[2], PAGE_MARGINS)
        below = QWidget()
        fill(row_in(below, SPACE[2]), (self.card, 2), (self._facts_stack, 3))
        splitter = QSplitter(Qt.Orientation.Vertical)
        for part, share in ((self.table, 3), (below, 2)):
            splitter.addWidget(part)
            splitter.setStretchFactor(splitter.count() - 1, share)
        splitter.setChildrenCollapsible(False)
        remember_splitter(splitter, "hosts")
        fill(rows, head, self.notice, self.changed, self.start_card, self.search, (splitter, 1), self.undo_bar)

    def _build_start_card(self) -> QFrame:
        card = QFrame()
        card.setObjectName("card")
        self.start_button = push_button("Quick benchmark of this computer", primary=True)
        self.start_button.clicked.connect(lambda: self.quick_requested.emit(LOCAL))
        text = Text("Start here: CPU, memory and disk in under 90 s. Needs no server.")
        fill(row_in(card, SPACE[2], (SPACE[3], SPACE[1], SPACE[1], SPACE[1])), (text, 1), self.start_button)
        card.hide()
        return card

    def _build_search(self) -> QLineEdit:
        hint = "Search by name, address or source (Ctrl+F)"
        search = line_edit("Search hosts", self.table.search, placeholderText=hint, clearButtonEnabled=True)
        search.hide()
        find = QAction(self)
        find.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        find.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.triggered.connect(search.setFocus)
        self.addAction(find)
        return search


def _saved_text(names: Sequence[str], edited: HostEntry | None) -> str:
    if edited is None:
        return f"Added {names[0] if len(names) == 1 else count_text(len(names), 'host')}"
    return f"Changed {names[0]}" if edited.name == names[0] else f"Renamed {edited.name} to {names[0]}"
