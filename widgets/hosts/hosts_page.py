"""Hosts page: list, connection tests, facts, and actions on hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFrame, QLineEdit, QSplitter, QStackedWidget, QWidget

from app.hosts.hosts import THIS_COMPUTER, HostEntry, Origin
from app.library_rows import LibraryRow
from app.plans.plan import LOCAL
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.hosts.add_host_dialog import AddHostDialog
from widgets.hosts.compared_facts import ComparedFactsView
from widgets.hosts.facts_view import FactsView
from widgets.hosts.host_bars import ChangedBar
from widgets.hosts.host_card import HostCard
from widgets.hosts.host_connections import HostConnections
from widgets.hosts.hosts_table import HostsTable
from widgets.jobs import BackgroundJob
from widgets.page import Page
from widgets.parts.boxes import column_in, fill, in_column, in_row, row_in
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import QuestionDialog, opened
from widgets.parts.names import host_title
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, set_icon, text_font

SEARCH_FROM = 9
"""Number of hosts from which the search field is shown."""


@dataclass(frozen=True, slots=True)
class LastRuns:
    """The newest run of each host, and the number of all runs."""

    by_host: Mapping[str, LibraryRow]
    runs: int


class HostsPage(Page):
    """Table of hosts; below it the card of the selected one and its facts."""

    measure_requested = Signal(list)  # names of hosts
    quick_requested = Signal(str)  # the name of a host

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self.connections = HostConnections(workstation, asker, self)
        self.table = HostsTable(self.connections)
        self.table.moved.connect(self._show_current)
        self.connections.changed.connect(self._show_status)
        self.facts_view = FactsView()
        self.facts_view.read_requested.connect(lambda: self.connections.read(self.table.current_host().name))
        self.compared_facts = ComparedFactsView()
        self.compared_facts.read_requested.connect(self._read_missing)
        self._facts_stack = QStackedWidget()
        self._facts_stack.setObjectName("card")
        self._facts_stack.addWidget(self.facts_view)
        self._facts_stack.addWidget(self.compared_facts)
        self.card = HostCard()
        self.card.cancel_requested.connect(lambda: self.connections.cancel(self.table.current_host().name))
        self.card.leftovers_requested.connect(self._show_leftovers)
        self.card.calibrate_requested.connect(self._calibrate)
        self.notice = Notice()
        self.start_card = self._build_start_card()
        self.search = self._build_search()
        self._listed = False
        for source in (self.card, self.table):
            self._connect(source)
        self.table.forget_requested.connect(self._forget_secrets)
        self.changed = ChangedBar(workstation)
        self.changed.restore_requested.connect(self._restore)
        self.table.restore_requested.connect(lambda: self._restore(self.table.current_host().name))
        self._arrange()
        self.begin_at(self.table)
        self._show_entries([THIS_COMPUTER])

    def activated(self) -> None:
        """Read the list of hosts again; the first time, read this computer's facts as well."""
        self.notice.hide()
        BackgroundJob(self.workstation.hosts, self).start(self._show_entries, self.notice.show_error)
        BackgroundJob(self.workstation.hosts_problem, self).start(self._show_problem)
        BackgroundJob(self._last_runs, self).start(self._show_last_runs, self._show_library_error)
        self.changed.refresh()
        if not self._listed:
            self._listed = True
            self.connections.read(LOCAL)

    def add_host(self) -> None:
        """Ask for a host, save it and connect to it."""
        self._edit(None)

    def _show_entries(self, entries: list[HostEntry]) -> None:
        self.table.show_rows(entries)
        self.search.setVisible(len(entries) >= SEARCH_FROM)
        self.status.emit(f"{len(entries)} host{'s' if len(entries) > 1 else ''}")

    def _show_problem(self, problem: str) -> None:
        if problem:
            self.notice.show_message("warning", problem)

    def _show_current(self) -> None:
        entry = self.table.current_host()
        status = self.connections.of(entry.name)
        chosen = self.table.chosen()
        several = len(chosen) > 1
        self._facts_stack.setCurrentWidget(self.compared_facts if several else self.facts_view)
        if several:
            self.card.show_many(chosen)
            self.compared_facts.show_hosts({each.name: self.connections.of(each.name).facts for each in chosen})
            return
        self.card.show_host(entry, status)
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

    def _last_runs(self) -> LastRuns:
        """Return the newest run with a figure of each host; called in the background."""
        rows, last = self.workstation.library().rows, dict[str, LibraryRow]()
        for row in rows:  # the newest first
            new = [host for host in row.summary.hosts if host not in last]
            if new and not row.binned and row.headline:
                last |= dict.fromkeys(new, row)
        return LastRuns(last, len(rows))

    def _show_last_runs(self, found: LastRuns) -> None:
        self.table.show_last_runs(found.by_host)
        self._offer_start(found.runs)

    def _offer_start(self, runs: int) -> None:
        self.start_card.setVisible(runs == 0)
        self.card.set_primary(primary=runs > 0)

    def _show_library_error(self, error: BenchwrightError) -> None:
        self._offer_start(1)
        if not self.report_damage(error):
            self.notice.show_error(error)

    def _edit(self, edited: HostEntry | None) -> None:
        dialog = AddHostDialog(self.workstation, self.asker, self.table.content.rows, edited, self)
        dialog.accepted.connect(lambda: self._take_saved(dialog.entries()))
        opened(dialog)

    def _take_saved(self, entries: Sequence[HostEntry]) -> None:
        """Select the saved hosts and connect to them."""
        names = [entry.name for entry in entries]
        for name in names:
            self.connections.forget(name)
        listing = BackgroundJob(self.workstation.hosts, self).start(self._show_entries, self.notice.show_error)
        listing.returned.connect(lambda _entries: self.table.select(*names))
        for name in names:
            self.connections.test(name)

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

    def _ask_to_remove(self) -> None:
        entry = self.table.current_host()
        if entry.origin is not Origin.SAVED:
            return
        question = QuestionDialog(
            f"Remove {entry.name} from the list?", "Its runs stay in the library.", "Remove", self
        )
        question.accepted.connect(lambda: self._remove(entry.name))
        opened(question)

    def _remove(self, name: str) -> None:
        def remove() -> list[HostEntry]:
            self.workstation.remove_host(name)
            return self.workstation.hosts()

        self.connections.forget(name)
        BackgroundJob(remove, self).start(self._show_entries, self.notice.show_error)

    def _forget_secrets(self) -> None:
        name = self.table.current_host().name

        def show_message(count: int) -> None:
            if count:
                text = f"Forgot {count_text(count, 'secret')} of {name}. Benchwright asks for them again."
            else:
                text = f"No passwords or passphrases stored for {name}."
            self.notice.show_message("good" if count else "info", text)

        BackgroundJob(lambda: self.workstation.forget_secrets(name), self).start(show_message, self.notice.show_error)

    def _connect(self, source: HostCard | HostsTable) -> None:
        source.measure_requested.connect(
            lambda: self.measure_requested.emit([entry.name for entry in self.table.chosen()])
        )
        source.quick_requested.connect(lambda: self.quick_requested.emit(self.table.current_host().name))
        source.test_requested.connect(lambda: self.connections.test(self.table.current_host().name))
        source.edit_requested.connect(lambda: self._edit(self.table.current_host()))
        source.remove_requested.connect(self._ask_to_remove)

    def _arrange(self) -> None:
        title = Text("Hosts", font=text_font(TextSize.TITLE, bold=True))
        titles = in_column(title, Text("This computer, and Linux hosts over SSH.", Tone.MUTED), spacing=SPACE[0])
        self.add_button = push_button("Add a host…", self.add_host)
        set_icon(self.add_button, "add", "text")
        head = in_row((titles, 1), (self.add_button, 0, Qt.AlignmentFlag.AlignBottom))
        rows = column_in(self, SPACE[2], (SPACE[4], SPACE[3], SPACE[4], SPACE[4]))
        below = QWidget()
        fill(row_in(below, SPACE[2]), (self.card, 2), (self._facts_stack, 3))
        splitter = QSplitter(Qt.Orientation.Vertical)
        for part, share in ((self.table, 3), (below, 2)):
            splitter.addWidget(part)
            splitter.setStretchFactor(splitter.count() - 1, share)
        splitter.setChildrenCollapsible(False)
        fill(rows, head, self.notice, self.changed, self.start_card, self.search, (splitter, 1))

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
