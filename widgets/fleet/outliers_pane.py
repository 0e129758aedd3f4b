"""Outliers of a study: the table, the ticket or the differing facts of the selected one, and what to do with it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QWidget

from app.fleet.lemons import Lemon
from app.fleet.results import FleetResults, outlier_text
from app.run_filter import Term
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.fleet.fleet_actions import REPLACED
from widgets.fleet.results_tables import OutlierTable
from widgets.jobs import BackgroundJob
from widgets.parts.actions import ActionButton, offer
from widgets.parts.boxes import column_in, fill
from widgets.parts.flow_layout import flowing
from widgets.parts.layouts import remember_splitter
from widgets.parts.notice import Notice
from widgets.parts.text import visible
from widgets.theme import SPACE

NO_OUTLIERS = "No instance that was tested differs from the others of its group."
NO_OUTLIER = "Select an outlier"
NO_LEMON = "The instance is better than the others of its group"


class OutliersPane(QWidget):
    """The outliers; the details of the selected one are read in the background."""

    filter_requested = Signal(str)  # a filter of the library
    replace_requested = Signal(str, str)  # a host and its group
    status = Signal(str)

    def __init__(self, workstation: Workstation) -> None:
        super().__init__()
        self._workstation = workstation
        self._results: FleetResults | None = None
        self._shown: tuple[FleetResults, Lemon] | None = None
        self._job: BackgroundJob | None = None
        self.table, self.notice = OutlierTable(), Notice()
        self.details = QPlainTextEdit(readOnly=True, tabChangesFocus=True)
        self.details.setAccessibleName("Details of the selected outlier")
        self.details.setPlaceholderText(NO_OUTLIERS)
        self.copy_ticket = QAction("Copy ticket", self)
        self.copy_markdown = QAction("Copy as Markdown", self)
        self.show_runs = QAction("Show runs", self)
        self.replace = QAction("Replace with host…", self)
        self._connect()
        self._arrange()
        self._follow()

    def show_results(self, results: FleetResults | None) -> None:
        """Show the outliers of a study, the first one selected."""
        self._results = results
        outliers = () if results is None else results.search.outliers
        self.table.show_rows(outliers)
        if outliers and self.table.current() is None:
            self.table.select(outliers[0].key)
        self._follow()

    def _follow(self) -> None:
        """Offer what applies to the selected outlier, and read its details."""
        one = self.table.current()
        some = one is not None
        ticket = one is not None and one.is_worse
        offer(self.copy_ticket, ticket, "Copy the text of a ticket for the provider", NO_LEMON if some else NO_OUTLIER)
        offer(self.copy_markdown, ticket, "Copy the ticket as Markdown", NO_LEMON if some else NO_OUTLIER)
        offer(self.show_runs, some, "Show the runs of the host in the library", NO_OUTLIER)
        kept = one is not None and self._results is not None and one.host in self._results.study.plan.by_name
        offer(self.replace, kept, "Measure another host in place of this one", REPLACED if some else NO_OUTLIER)
        if one is None or self._results is None:
            self._shown = self._job = None
            self.details.clear()
        elif self._shown != (self._results, one):
            before, self._shown = self._shown, (self._results, one)
            if before is None or before[1].key != one.key:
                self.details.setPlainText(visible(outlier_text(one)))
            self._read(one, self._results.study.id)

    def _read(self, one: Lemon, study: str) -> None:
        job = self._job = BackgroundJob(lambda: details_text(self._workstation, study, one), self)
        job.returned.connect(lambda text: self._show_details(text) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def _show_details(self, text: str) -> None:
        self.notice.hide()
        self.details.setPlainText(text)

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.show_error(error)

    def _copy(self, *, markdown: bool) -> None:
        if self._shown is not None:
            results, one = self._shown
            ticket, study = self._workstation.lemon_ticket, results.study.id
            job = BackgroundJob(lambda: ticket(study, one.host, markdown=markdown), self)
            job.start(lambda text: self._put(text, one.host), self._fail)

    def _put(self, text: str, host: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.status.emit(f"Copied the ticket for {host}")

    def _show_runs(self) -> None:
        if self._shown is not None:
            results, one = self._shown
            job = BackgroundJob(lambda: runs_filter(self._workstation, results.study.id, one.host), self)
            job.start(self.filter_requested.emit, self._fail)

    def _replace(self) -> None:
        if self._shown is not None:
            self.replace_requested.emit(self._shown[1].host, self._shown[1].group)

    def _connect(self) -> None:
        self.table.moved.connect(self._follow)
        self.copy_ticket.triggered.connect(lambda _checked: self._copy(markdown=False))
        self.copy_markdown.triggered.connect(lambda _checked: self._copy(markdown=True))
        self.show_runs.triggered.connect(lambda _checked: self._show_runs())
        self.replace.triggered.connect(lambda _checked: self._replace())
        self.table.addActions(self._actions)

    @property
    def _actions(self) -> list[QAction]:
        return [self.copy_ticket, self.copy_markdown, self.show_runs, self.replace]

    def _arrange(self) -> None:
        splitter = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        for part, share in ((self.table, 3), (self.details, 2)):
            splitter.addWidget(part)
            splitter.setStretchFactor(splitter.count() - 1, share)
        if not remember_splitter(splitter, "fleet-outliers"):
            splitter.setSizes([self.table.scaled(480), self.table.scaled(320)])
        buttons = flowing(*map(ActionButton, self._actions), spacing=SPACE[0])
        fill(column_in(self, SPACE[0]), self.notice, (splitter, 1), buttons)


def details_text(workstation: Workstation, study: str, one: Lemon) -> str:
    """Return the ticket of a lemon; of another outlier what was measured and the facts that differ."""
    if one.is_worse:
        return workstation.lemon_ticket(study, one.host)
    facts = workstation.outlier_facts(study, one)
    lines = [f"Differs: {fact.text}" for fact in facts] or ["Differs: no fact that was read"]
    return "\n".join(visible(line) for line in (outlier_text(one), *lines))


def runs_filter(workstation: Workstation, study: str, host: str) -> str:
    """Return the filter of the library that selects the runs of a host in a study."""
    runs = [one.run for one in workstation.host_runs(study) if host in one.hosts and one.run]
    return str(Term("id", "=", tuple(runs)))
