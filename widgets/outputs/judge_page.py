"""Judge page: the results in outputs of tools that ran elsewhere, each with its verdict."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QDoubleSpinBox, QFileDialog, QSplitter, QStackedLayout, QWidget

from app.outputs.files import JudgedFile, OutputText, Source, host_data, judged_source, sources_in
from app.outputs.importing import ImportedOutput, import_text
from app.outputs.judging import UNKNOWN_HOST, JudgedOutput, KnownHost
from app.outputs.tables import MappingOf
from app.plans.plan import ELSEWHERE
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text, figure_text, first_upper, metric_text
from suites.verdict import Trust
from widgets.jobs import BackgroundJob, stop_if_cancelled
from widgets.library.figure_table import FigureTable
from widgets.live.log_view import LogView
from widgets.outputs.mapping_dialog import MappingDialog
from widgets.page import PAGE_MARGINS, Page, PageName, page_title
from widgets.parts.boxes import column_in, fill, in_row, row_in
from widgets.parts.controls import push_button
from widgets.parts.dialogs import opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.issue_line import IssueActions
from widgets.parts.issues_drawer import IssuesDrawer
from widgets.parts.layouts import remember_splitter
from widgets.parts.names import mark_of
from widgets.parts.notice import Notice
from widgets.parts.severity import VerdictView
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.parts.text import OneLine, Text, Tone
from widgets.theme import SPACE, TextSize, icon, text_font

PASTED = "pasted text"
"""Name of a text from the clipboard."""

UNMAPPED = "No mapping: choose Columns…"

_CANNOT_TELL = f"{first_upper(Trust.UNDECIDED.value)}: "

HOST_DATA_TIP = (
    "Facts of the host (benchwright facts HOST --json), and text of vmstat, iostat -x or sar -u, started with the "
    "test. They apply to all results of this page: open the outputs of another test by themselves"
)

COLUMNS_TIP = "Roles, units and directions of the columns of the selected table"

SHOW_EVERY = 0.2
"""Seconds between two updates of the table while files are read."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A result of a file; without one, the file and why there is none. `origin` is what the file was read from."""

    file: JudgedFile
    origin: Source
    output: JudgedOutput | None = None

    @property
    def trust(self) -> Trust | None:
        """The trust in the result; None without one."""
        return None if self.output is None else self.output.verdict.trust

    @property
    def value(self) -> str:
        """The headline figure."""
        figures = () if self.output is None else self.output.found.output.parsed.figures
        return figure_text(figures[0].metric, figures[0].value) if figures else ""

    @property
    def metric(self) -> str:
        """What the headline figure is of."""
        figures = () if self.output is None else self.output.found.output.parsed.figures
        return metric_text(figures[0].metric, figures[0].labels) if figures else ""

    @property
    def format(self) -> str:
        """The format of the output."""
        return "" if self.output is None else self.output.found.format

    @property
    def place(self) -> str:
        """Its file, line and format."""
        name = self.file.source.name
        return name if self.output is None else f"{name}, line {self.output.found.first_line}: {self.format}"

    @property
    def reason(self) -> str:
        """What decides the verdict: its first finding, the options that would decide it, or why there is no result."""
        if self.output is None:
            return UNMAPPED if self.file.unmapped and self.file.mapping is None else self.file.problem
        if self.trust is Trust.UNVERIFIED:
            return ""
        if self.output.deciding:
            return f"Depends on {', '.join(self.output.deciding)}, not stated"
        verdict = self.output.verdict
        return verdict.findings[0].title if verdict.findings else verdict.summary.removeprefix(_CANNOT_TELL)

    @property
    def is_table(self) -> bool:
        """Whether it is of a table, whose columns can be mapped."""
        return self.file.unmapped or self.file.mapping is not None


def rows_of(file: JudgedFile, origin: Source) -> Sequence[ResultRow]:
    """Return the results of a file, or the file without one."""
    return [ResultRow(file, origin, output) for output in file.outputs] or [ResultRow(file, origin)]


COLUMNS: tuple[TableColumn[ResultRow], ...] = (
    TableColumn(
        "Verdict",
        lambda row: "no result" if row.trust is None else row.trust.value,
        mark=lambda row: icon("not-tested" if row.trust is None else mark_of(row.trust.value)),
        key=lambda row: -1 if row.trust is None else row.trust.rank,
        topic="judging",
        width=120,
        whole=True,
    ),
    TableColumn("Value", lambda row: row.value, align=RIGHT, bold=True, width=90),
    TableColumn("Metric", lambda row: row.metric, stretch=True, least=110),
    TableColumn("Reason", lambda row: row.reason, stretch=True, least=110, tone="muted"),
    TableColumn("Format", lambda row: row.format, key=lambda row: row.format, hide_order=1, width=110),
    TableColumn(
        "File",
        lambda row: row.file.source.name,
        key=lambda row: row.file.source.name,
        more=lambda row: row.place,
        stretch=True,
        least=90,
    ),
    TableColumn(
        "Line",
        lambda row: "" if row.output is None else str(row.output.found.first_line),
        align=RIGHT,
        tone="muted",
        hide_order=2,
        width=50,
    ),
)


@dataclass(frozen=True, slots=True)
class _Read:
    """The files read since the last, each with what it was read from, `done` of `total` so far."""

    files: Sequence[tuple[JudgedFile, Source]]
    done: int
    total: int


class JudgePage(Page):
    """Table of the results; below it the verdict, the figures and the text of the selected one."""

    imported = Signal()

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self._sources: Sequence[Source] = ()
        self._host_paths: Sequence[Path] = ()
        self._host = UNKNOWN_HOST
        self._rows: list[ResultRow] = []
        self._shown: ResultRow | None = None
        self._asked: set[str] = set()  # SHA-256 of the tables whose columns were asked for
        self._imported: list[ImportedOutput] = []
        self._job: BackgroundJob | None = None
        self.table: Table[ResultRow] = Table("Judged results", TableModel(COLUMNS), identity=id)
        self.verdict, self.figures, self.text = VerdictView(), FigureTable(), LogView()
        self.notes = Text(tone=Tone.MUTED)
        self.notice = Notice()
        self.summary = OneLine(text_font(TextSize.BODY), "muted")
        self.open_button = push_button("Open…", lambda _checked: self.choose_files(), tip="Judge the outputs in files")
        self.paste_button = push_button("Paste", lambda _checked: self.paste(), tip="Judge the copied text (Ctrl+V)")
        self.host_button = push_button("Host data…", lambda _checked: self.choose_host_data(), tip=HOST_DATA_TIP)
        self.interval = QDoubleSpinBox(minimum=0.1, maximum=3600.0, value=1.0, decimals=1, suffix=" s")
        self.interval.setLocale(QLocale.c())
        self.interval.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)
        self.interval.setAccessibleName("Seconds between reports")
        self.interval.setToolTip("Time between two reports of the telemetry, as in vmstat 1")
        self.interval.editingFinished.connect(self._reread_host_data)
        self.host_words = Text(tone=Tone.MUTED, wrap=False)
        self.remove_button = push_button("Remove", lambda _checked: self.give_host_data(()), tip="Judge without it")
        self.import_button = push_button("Import as runs", lambda _checked: self.import_all())
        self.columns_button = push_button("Columns…", lambda _checked: self.map_columns(), tip=COLUMNS_TIP)
        self.cancel_button = push_button("Cancel", lambda _checked: self.cancel())
        self.issues = self.drawer = IssuesDrawer("judge", IssueActions(fix=False, acknowledge=False))
        self._arrange()
        self._details.hide()
        self.issues.hide()
        self.table.moved.connect(self._show_current)
        self.issues.help_requested.connect(self.help_requested)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Paste), self, self.paste)
        self.begin_at(self.table)
        self._show_state()

    def choose_files(self) -> None:
        """Ask for files and judge them."""
        chooser = QFileDialog(self, "Open outputs")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFiles)
        chooser.filesSelected.connect(lambda paths: self.judge([Path(path) for path in paths]))
        opened(chooser)

    def choose_host_data(self) -> None:
        """Ask for files with facts and telemetry of the host, and judge all the outputs with them."""
        results = sum(row.output is not None for row in self._rows)
        title = f"Facts and telemetry for {'all ' * (results > 1)}{count_text(results, 'result')}"
        chooser = QFileDialog(self, title if results else "Open facts and telemetry of the host")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFiles)
        chooser.filesSelected.connect(lambda paths: self.give_host_data([Path(path) for path in paths]))
        opened(chooser)

    def give_host_data(self, paths: Sequence[Path]) -> None:
        """Judge the outputs anew with the facts and the telemetry in files, in place of those given before."""
        given, interval = tuple(paths), self.interval.value()

        def take(host: KnownHost) -> None:
            self._host_paths, self._host = given, host

        def read() -> Iterator[KnownHost]:
            yield host_data(given, interval)

        self._start(BackgroundJob(read, self), take, self._judge_again)

    def _reread_host_data(self) -> None:
        if self._host.telemetry:
            self.give_host_data(self._host_paths)

    def _judge_again(self) -> None:
        if self._sources and self.notice.isHidden():
            self._judge(self._sources)

    def paste(self) -> None:
        """Judge the text on the clipboard, or the files that were copied in a file manager."""
        clipboard = QGuiApplication.clipboard()
        text = clipboard.text()  # files have their URLs as text
        if not text.strip():  # then mimeData() may be None
            self.status.emit("The clipboard has no text")
            return
        paths = [Path(url.toLocalFile()) for url in clipboard.mimeData().urls() if url.isLocalFile()]
        self.judge(paths or [OutputText(PASTED, text.encode("utf-8", "replace"))])

    def judge(self, sources: Sequence[Source]) -> None:
        """Judge the outputs in files, folders and texts, in place of those shown; ask for tables without a mapping."""
        self._asked.clear()
        self._judge(sources)

    def _judge(self, sources: Sequence[Source]) -> None:
        self._sources, self._rows = tuple(sources), []
        self.table.show_rows(self._rows)
        find = self.workstation.saved_mappings.finder()
        self.summary.set_text("Reading…")
        job = BackgroundJob(lambda: _judged(self._sources, self._host, find), self)
        self._start(job, self._take_files, lambda: None if job.cancelled else self._ask_unmapped())

    def map_columns(self) -> None:
        """Ask for the roles of the columns of the selected table, beginning with its mapping."""
        row = self.table.current()
        if row is None or not row.is_table:
            return
        self._asked.add(row.file.source.sha256)
        dialog = MappingDialog(self.workstation, row.origin, row.file.source.name, row.file.mapping, self)
        dialog.mapped.connect(lambda _mapping: self._judge(self._sources))
        dialog.forgotten.connect(lambda: self._judge(self._sources))
        opened(dialog)

    def _ask_unmapped(self) -> None:
        """Ask for the columns of the first table without a mapping; once that is saved, of the next one."""
        unmapped = (row for row in self._rows if row.file.unmapped and row.file.mapping is None)
        row = next((row for row in unmapped if row.file.source.sha256 not in self._asked), None)
        if row is not None and self.isVisible():
            self.table.select(id(row))
            self.map_columns()

    def import_all(self) -> None:
        """Store each file with a result as a run."""
        self._imported = []
        name = ELSEWHERE if self._host.facts is None else self._host.facts.host
        imported = partial(self.workstation.import_outputs, self._sources, name, self._host, between=stop_if_cancelled)
        self._start(BackgroundJob(imported, self), self._take_import, self._show_imported)

    def cancel(self) -> None:
        """End what is under way; what was read or imported stays."""
        if self._job is not None:
            self._job.cancel()

    def _start(self, job: BackgroundJob, yielded: object, finished: object = None) -> None:
        self.cancel()
        self._job = job
        self.notice.hide()
        job.yielded.connect(yielded)
        job.failed.connect(self._show_failure)
        job.start(finished=lambda: self._end(job, finished))
        self._show_state()

    def _end(self, job: BackgroundJob, then: object) -> None:
        if job is not self._job:
            return
        self._job = None
        self._show_state()
        if callable(then):
            then()

    def _take_files(self, read: _Read) -> None:
        self._rows += [row for file, origin in read.files for row in rows_of(file, origin)]
        self.table.show_rows(self._rows)
        if self.table.current() is None and self._rows:
            self.table.selectRow(0)
        self.summary.set_text(f"Read {read.done} of {count_text(read.total, 'file')}")

    def _take_import(self, one: ImportedOutput) -> None:
        self._imported.append(one)
        self.summary.set_text(f"Imported {one.done} of {count_text(one.total, 'file')}")

    def _show_imported(self) -> None:
        if self._imported:
            text = import_text(self._imported)
            self.summary.set_text(text)
            self.status.emit(text)
            self.imported.emit()

    def _show_failure(self, error: BenchwrightError) -> None:
        if not self.report_damage(error):
            self.notice.show_error(error)
            self.notice.show()

    def _show_state(self) -> None:
        """Show the empty page or the results, and what can be done now."""
        busy = self._job is not None
        self._stack.setCurrentIndex(1 if self._rows or busy else 0)
        self.cancel_button.setVisible(busy)
        self._host_row.setVisible(bool(self._host_paths))
        self.interval.setVisible(bool(self._host.telemetry))
        self.host_words.setText(self._host_text())
        self.import_button.setEnabled(not busy and any(row.output is not None for row in self._rows))
        if not busy:
            results = sum(row.output is not None for row in self._rows)
            lines = sum(file.left_over for file in {id(row.file): row.file for row in self._rows}.values())
            unread = f", {count_text(lines, 'line')} not read" if lines else ""
            mapped = _mapping_text(row.file.mapping.name for row in self._rows if row.output and row.file.mapping)
            self.summary.set_text(f"{count_text(results, 'result')}{unread}{mapped}")
        self._show_current()

    def _host_text(self) -> str:
        """Return what is known of the host."""
        results = sum(row.output is not None for row in self._rows)
        facts = "" if self._host.facts is None else f"Facts of {self._host.facts.host}."
        facts = f"For all {results} results: {facts}" if results > 1 else facts
        telemetry = count_text(len({sample.time for sample in self._host.telemetry}), "report")
        return f"{facts} {f'Telemetry: {telemetry}, one every' if self._host.telemetry else ''}".strip()

    def _show_current(self) -> None:
        row = self.table.current()
        self.columns_button.setVisible(row is not None and row.is_table and self._job is None)
        if row is self._shown:
            return
        self._shown = row
        output = None if row is None else row.output
        self.verdict.show_verdict(None if output is None else output.verdict)
        self._details.setVisible(output is not None)
        judged = output is not None and output.verdict.trust is not Trust.UNDECIDED
        self.issues.setVisible(output is not None and (judged or bool(output.verdict.findings)))
        if output is None:
            return
        self.figures.show_run(replace(output.record, verdicts=(output.verdict,)))
        self.text.load({"stdout": output.found.text.encode()})
        notes = output.found.output.parsed.notes
        if row is not None and row.file.mapping is not None:
            notes = (f"Read with the mapping “{row.file.mapping.name}”.", *notes)
        self.notes.setText("\n".join(note for note in notes if note not in output.verdict.summary))
        self.notes.setVisible(bool(self.notes.text()))
        self.issues.clear()
        self.issues.show_findings(output.verdict.findings, aged=False)

    def _arrange(self) -> None:
        bar = in_row(
            page_title(PageName.JUDGE), self.open_button, self.paste_button, self.host_button, self.columns_button,
            self.cancel_button, (self.summary, 1), self.import_button, spacing=SPACE[1],
        )  # fmt: skip
        self._host_row = QWidget()
        fill(row_in(self._host_row, SPACE[1]), self.host_words, self.interval, self.remove_button, None)
        both = QSplitter(Qt.Orientation.Horizontal)
        both.addWidget(self.figures)
        both.addWidget(self.text)
        self._details = QWidget()
        fill(column_in(self._details, SPACE[1], (0, SPACE[1], 0, 0)), self.verdict, self.notes, (both, 1))
        halves = QSplitter(Qt.Orientation.Vertical)
        halves.addWidget(self.table)
        halves.addWidget(self._details)
        for splitter, key in ((halves, "judge"), (both, "judge details")):
            splitter.setChildrenCollapsible(False)
            remember_splitter(splitter, key)
        results, empty = (
            QWidget(),
            EmptyState(
                "Judge the output of a tool that ran elsewhere",
                "fio, sysbench, iperf3, dd and others: drop files here, or paste text from a terminal or a mail.",
                "Paste",
                self.paste,
                icon="agrees",
            ),
        )
        empty.add_action("Open…", self.choose_files)
        self.notice.hide()
        fill(
            column_in(results, SPACE[1], (*PAGE_MARGINS[:3], SPACE[1])),
            bar,
            self._host_row,
            self.notice,
            (halves, 1),
        )
        self._stack = QStackedLayout()
        fill(column_in(self, 0), (self._stack, 1), self.issues)
        for part in (empty, results):  # without a parent, the first would open as a window
            self._stack.addWidget(part)


LONGEST_MAPPING = 24
"""Characters of the name of a mapping in the bar; all of it is beside the result."""


def _mapping_text(names: Iterable[str]) -> str:
    """Return with which mapping, or how many, tables were read; empty without any."""
    known = list(dict.fromkeys(names))
    if len(known) != 1:
        return f", {count_text(len(known), 'mapping')}" if known else ""
    name = known[0] if len(known[0]) <= LONGEST_MAPPING else f"{known[0][:LONGEST_MAPPING]}…"
    return f", mapping “{name}”"


def _judged(sources: Sequence[Source], host: KnownHost, mappings: MappingOf) -> Iterator[_Read]:
    """Judge the files of `sources`, measured on `host`.

    Yields them every SHOW_EVERY seconds, because the table is shown anew each time.
    """
    found = sources_in(sources)
    files: list[tuple[JudgedFile, Source]] = []
    shown = time.monotonic()
    for number, source in enumerate(found, 1):
        files.append((judged_source(source, host, mappings, stop_if_cancelled), source))
        if number == len(found) or time.monotonic() - shown >= SHOW_EVERY:
            yield _Read(files, number, len(found))
            files, shown = [], time.monotonic()
