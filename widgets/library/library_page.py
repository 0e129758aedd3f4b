"""Library page: search, show, pin, compare, export, repeat and delete stored runs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QSplitter, QStackedLayout, QWidget

from app.baselines.baselines import InvalidBaselineError
from app.comparison.selectors import parts_side_by_side
from app.plans.plan import LOCAL
from app.plans.plan_remarks import with_reason_for
from app.questions import Asker
from app.records import RunRecord, RunSummary
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from suites.vocab import Finding
from widgets.compare.rank_dialog import show_ranking
from widgets.compare.sample_size_dialog import show_sample_size
from widgets.jobs import BackgroundJob
from widgets.library.library_bar import Unreadable
from widgets.library.run_actions import RunActions
from widgets.library.run_dialogs import DeleteQuestion, PinDialog
from widgets.library.run_panel import RunPanel
from widgets.library.run_reader import OpenedRun, VerdictReader, open_run
from widgets.library.run_rows import RunLine, baseline_first, lines_of
from widgets.library.run_table import RunTable
from widgets.live.run_side_panel import RunSidePanel
from widgets.page import Page
from widgets.parts.boxes import column_in, fill, row_in
from widgets.parts.dialogs import QuestionDialog, opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.findings import acknowledged_text
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.plots.studies import show_heat, show_noise, show_rounds, show_scaling
from widgets.theme import SPACE, TextSize, text_font

_HEIGHTS = (160, 530)
MIN_VISIBLE_ROWS = 4
"""Minimum number of visible runs."""

PINNED_INVALID = "A comparison with it has no verdict."


class LibraryPage(Page):
    """Table of runs, the current run below it, its findings in the side panel. Reads in the background."""

    compare_requested = Signal(list)  # run ids, baseline first
    repeat_requested = Signal(object)  # a Plan
    export_requested = Signal(list, str)  # run ids, base name of the files
    measure_requested = Signal()
    quick_requested = Signal(str)  # the name of a host

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self._reading: BackgroundJob | None = None
        self._opening: BackgroundJob | None = None
        self._wanted: str | None = None
        self._verdicts = VerdictReader(workstation, self)
        self._verdicts.computed.connect(self._show_verdict)
        self.run_side = RunSidePanel(acknowledging=True)
        self.run_side.findings.set_empty_text("No issues found in this run.")
        self.run_side.findings.more_requested.connect(self.help_requested)
        self.run_side.findings.acknowledge_requested.connect(self._acknowledge)
        self.side = _container(self.run_side)
        self.actions_of_runs = RunActions(self)
        self.table = RunTable()
        self.panel = RunPanel(self.actions_of_runs, self.run_side)
        self.search = QLineEdit()
        self.notice = Notice()
        self.empty = self._build_empty()
        self.unreadable = Unreadable(self.salvage_requested, self.other_library_requested)
        self._arrange()
        self._connect()
        self.begin_at(self.table)

    def activated(self) -> None:
        """Read the library again."""
        self.refresh()

    def refresh(self) -> None:
        """Read the list of runs; keep the current run."""
        workstation = self.workstation
        job = self._reading = BackgroundJob(lambda: (lines_of(workstation.runs()), workstation.read_only()), self)
        job.returned.connect(lambda found: self._show_lines(*found) if job is self._reading else None)
        job.failed.connect(self._fail)
        job.start()

    def show_run(self, run_id: str) -> None:
        """Clear the search and select a run."""
        self._wanted = run_id
        self.search.clear()
        self.refresh()

    def export(self) -> bool:
        """Request the export of the selected runs; return False if there are none."""
        chosen = self._chosen()
        if not chosen:
            return False
        more = f"-and-{len(chosen) - 1}-more" if len(chosen) > 1 else ""
        ids = baseline_first(chosen)
        self.export_requested.emit(ids, ids[0] + more)
        return True

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop computing verdicts while hidden: they would take CPU from a test on this computer."""
        super().hideEvent(event)
        self._verdicts.stop()

    # The list

    def _chosen(self) -> list[RunLine]:
        """Return the selected runs, else the current one."""
        current = self.table.current()
        return self.table.chosen() or ([current] if current is not None else [])

    def _show_lines(self, lines: Sequence[RunLine], newer: BenchwrightError | None) -> None:
        self.actions_of_runs.newer = newer
        first = not self.table.content.rows
        self.notice.hide()
        self._stack.setCurrentWidget(self._body if lines else self.empty)
        self.table.show_lines(lines)
        if self._wanted is not None:
            self._show_wanted(self._wanted)
        elif first and lines:
            self.table.select(lines[0].id)
        self.table.settle()
        self._count()
        if self.isVisible():
            self._verdicts.read(line.summary for line in lines)

    def _show_verdict(self, run: RunSummary) -> None:
        """Add the computed verdict to the run's line, which may have changed since."""
        for line in self.table.content.rows:
            if line.id == run.id and not line.summary.trust:
                summary = replace(line.summary, trust=run.trust, limited_by=run.limited_by)
                self.table.content.replace_row(line, lines_of([summary])[0])

    def _show_wanted(self, run_id: str) -> None:
        self._wanted = None
        if self.table.row_of(run_id) < 0:
            self.notice.show_message("warning", f"Run {run_id} is not in the library.")
            return
        self.table.select(run_id)
        self.table.scrollTo(self.table.currentIndex())

    def _search(self, text: str) -> None:
        self.table.search(text)
        self._count()

    def _count(self) -> None:
        total, shown = len(self.table.content.rows), len(self.table.content.shown)
        runs = count_text(total, "run")
        self.status.emit(runs if shown == total else f"{shown} of {runs}")
        self._unmatched.setText(f"No run matches “{self.search.text()}”. Press Esc to show all.")
        self._unmatched.setVisible(total > 0 and not shown)

    # The current run

    def _show_current(self) -> None:
        line, chosen = self.table.current(), self._chosen()
        self.actions_of_runs.show_chosen(chosen)
        for widget in (self.panel, self.run_side):
            widget.setVisible(line is not None)
        if line is not None:
            self.panel.show_line(line.summary, chosen)
            if not self._is_open(line):
                self.panel.wait()

    def _is_open(self, line: RunLine) -> bool:
        opened = self.panel.opened
        return opened is not None and opened.record.summary == line.summary

    def _open_current(self) -> None:
        line = self.table.current()
        if line is not None and not self._is_open(line):
            self._open(line.id)

    def _open(self, run_id: str) -> None:
        workstation = self.workstation
        job = self._opening = BackgroundJob(lambda: open_run(workstation, run_id), self)
        job.returned.connect(lambda opened: self._show_opened(job, opened))
        job.failed.connect(lambda error: self.panel.show_failure(error) if job is self._opening else None)
        job.start()

    def _show_opened(self, job: BackgroundJob, opened: OpenedRun) -> None:
        line = self.table.current()
        if job is self._opening and line is not None and line.id == opened.record.summary.id:
            self.panel.show_run(opened)
            self._show_verdict(opened.record.summary)

    def _read_output(self, run_id: str, trial: int) -> None:
        workstation = self.workstation
        BackgroundJob(lambda: workstation.output(run_id, trial), self).start(
            lambda output: self._show_output(run_id, trial, output), self._fail
        )

    def _show_output(self, run_id: str, trial: int, output: dict[str, bytes]) -> None:
        opened, view = self.panel.opened, self.panel.run_view
        if view is not None and opened is not None and opened.record.summary.id == run_id:
            view.set_output(trial, output)

    def _toggle_list(self) -> None:
        """Hide the list so that the run fills the page, or show it again."""
        alone = self._list.isVisible()
        self._list.setVisible(not alone)
        self._search_row.setVisible(not alone)
        self.actions_of_runs.open.setText("Show the list" if alone else "Show alone")
        (self.panel.tabs if alone else self.table).setFocus()

    # Actions

    def _compare(self) -> None:
        chosen = self._chosen()
        if len(chosen) > 1:
            self.compare_requested.emit(baseline_first(chosen))
        elif chosen and (parts := parts_side_by_side(chosen[0].summary)):
            self.compare_requested.emit(list(parts))

    def _select_sessions(self) -> None:
        if chosen := self._chosen():
            workstation, run_id = self.workstation, chosen[0].id
            BackgroundJob(lambda: workstation.sessions_of(run_id), self).start(self._show_sessions, self._fail)

    def _show_sessions(self, runs: Sequence[str]) -> None:
        """Select the sessions of a plan, all of them shown."""
        self.search.clear()
        self.table.select(*runs)
        self.status.emit(f"{count_text(len(runs), 'session')} of the same plan")

    def _study(self, show: Callable[[Workstation, Sequence[str], QWidget], object]) -> None:
        """Open a study of the selected runs."""
        if chosen := self._chosen():
            show(self.workstation, baseline_first(chosen), self)

    def _show_sample_size(self) -> None:
        """Open the sample size from the selected runs, which are sessions of one configuration."""
        if chosen := self._chosen():
            word = ",".join(sorted(line.id for line in chosen))
            show_sample_size(self.workstation, [word], self).plan_chosen.connect(self.repeat_requested)

    def _ask_for_name(self) -> None:
        if not (chosen := self._chosen()):
            return
        dialog = PinDialog([line.summary for line in chosen], self.workstation, self)
        ids = ",".join(sorted(line.id for line in chosen))
        dialog.accepted.connect(lambda: self._pin(ids, dialog.chosen(), dialog.oldest()))
        opened(dialog)

    def _pin(self, word: str, name: str, oldest: float | None, *, accept_invalid: bool = False) -> None:
        self._change_library(
            lambda: self.workstation.pin(word, name, oldest, accept_invalid=accept_invalid),
            f"Pinned as the baseline “{name}”",
            lambda error: self._ask_invalid(error, word, name, oldest),
        )

    def _ask_invalid(self, error: BenchwrightError, word: str, name: str, oldest: float | None) -> None:
        """Ask whether to pin an invalid result; show any other error."""
        if not isinstance(error, InvalidBaselineError):
            self._fail(error)
            return
        question = QuestionDialog("Pin an invalid result?", f"{error.message} {PINNED_INVALID}", "Pin anyway", self)
        question.accepted.connect(lambda: self._pin(word, name, oldest, accept_invalid=True))
        opened(question)

    def _unpin(self) -> None:
        chosen = self._chosen()
        name = chosen[0].summary.baseline if chosen else None
        if name is not None:
            self._change_library(lambda: self.workstation.unpin(name), f"Unpinned “{name}”; the run is kept")

    def _acknowledge(self, findings: tuple[Finding, ...], reason: str) -> None:
        """Store the reason for acknowledging findings with the run; an empty reason removes it."""
        if (opened := self.panel.opened) is None:
            return
        workstation, run_id = self.workstation, opened.record.summary.id
        given = with_reason_for(findings, reason)
        text = acknowledged_text(findings, reason)

        def show(record: RunRecord) -> None:
            self.panel.show_remarks(run_id, record.plan)
            self.status.emit(text)

        BackgroundJob(lambda: workstation.acknowledge(run_id, given), self).start(show, self._fail)

    def _repeat(self) -> None:
        if not (chosen := self._chosen()):
            return
        workstation, run_id = self.workstation, chosen[0].id
        BackgroundJob(lambda: workstation.plan_to_repeat(run_id), self).start(self.repeat_requested, self._fail)

    def _ask_another_tool(self) -> None:
        from widgets.crosscheck import open_crosscheck

        if chosen := self._chosen():
            dialog = open_crosscheck(self.workstation, chosen[0].id, self)
            dialog.plan_chosen.connect(self.repeat_requested)

    def _ask_to_delete(self) -> None:
        if not (chosen := self._chosen()):
            return
        question = DeleteQuestion(chosen, self)
        question.accepted.connect(lambda: self._delete([line.id for line in chosen]))
        opened(question)

    def _delete(self, run_ids: Sequence[str]) -> None:
        def delete() -> None:
            for run_id in run_ids:
                self.workstation.delete(run_id)

        self._change_library(delete, "Deleted" if len(run_ids) == 1 else f"{len(run_ids)} runs deleted")

    def _change_library(
        self, work: Callable[[], Any], text: str, failed: Callable[[BenchwrightError], None] | None = None
    ) -> None:
        """Change the library in the background, then refresh the list and show `text` in the status bar."""

        def show(_nothing: object) -> None:
            self.refresh()
            self.status.emit(text)

        BackgroundJob(work, self).start(show, failed or self._fail)

    def _fail(self, error: BenchwrightError) -> None:
        if not self.report_damage(error):
            self.notice.show_error(error)
        self.unreadable.show_error(error)
        self._stack.setCurrentWidget(self._body if self.table.content.rows else self.unreadable)
        self._show_current()

    # Building

    def _connect(self) -> None:
        actions = self.actions_of_runs
        self.addActions(list(actions.all()))
        self.table.addActions(list(actions.all()))
        actions.open.triggered.connect(self._toggle_list)
        actions.compare.triggered.connect(self._compare)
        actions.sessions.triggered.connect(self._select_sessions)
        actions.pin.triggered.connect(self._ask_for_name)
        actions.unpin.triggered.connect(self._unpin)
        actions.noise.triggered.connect(lambda: self._study(show_noise))
        actions.scaling.triggered.connect(lambda: self._study(show_scaling))
        actions.heat.triggered.connect(lambda: self._study(show_heat))
        actions.rounds.triggered.connect(lambda: self._study(show_rounds))
        actions.rank.triggered.connect(lambda: self._study(show_ranking))
        actions.sample_size.triggered.connect(self._show_sample_size)
        actions.export.triggered.connect(self.export)
        actions.repeat.triggered.connect(self._repeat)
        actions.crosscheck.triggered.connect(self._ask_another_tool)
        actions.delete.triggered.connect(self._ask_to_delete)
        self.table.moved.connect(self._show_current)
        self.table.rested.connect(self._open_current)
        self.table.activated.connect(self._toggle_list)
        self.panel.output_requested.connect(self._read_output)
        self.panel.workstation = self.workstation
        self.panel.read_history = self.workstation.history
        self.panel.history.run_chosen.connect(self.show_run)
        self.search.textChanged.connect(self._search)
        for keys, slot in (
            (QKeySequence.StandardKey.Find, self.search.setFocus),
            ("F5", self.refresh),
            ("Esc", self._reset_view),
        ):
            context = Qt.ShortcutContext.WidgetWithChildrenShortcut
            action = QAction(self, shortcut=QKeySequence(keys), shortcutContext=context)
            action.triggered.connect(slot)
            self.addAction(action)

    def _reset_view(self) -> None:
        """Show the list again; if it is visible, clear the search."""
        if not self._list.isVisible():
            self._toggle_list()
        else:
            self.search.clear()
            self.table.setFocus()

    def _build_empty(self) -> EmptyState:
        empty = EmptyState(
            "No runs yet",
            "The library stores every run: plan, commands, host facts, results and raw output. Pin a run as baseline, "
            "compare several, export or repeat one.",
            "Quick benchmark of this computer",
            lambda: self.quick_requested.emit(LOCAL),
            icon="library",
        )
        empty.add_action("Measure", self.measure_requested.emit)
        return empty

    def _arrange(self) -> None:
        self.search.setPlaceholderText("Find by name, host, test or state (Ctrl+F)")
        self.search.setAccessibleName("Find runs")
        self.search.setClearButtonEnabled(True)
        self._unmatched = Text(tone=Tone.MUTED)
        self._search_row = QWidget()
        first = row_in(self._search_row, SPACE[3])
        fill(first, Text("Library", font=text_font(TextSize.TITLE, bold=True), wrap=False), (self.search, 1))
        self._list = QWidget()
        self.table.setMinimumHeight(
            self.table.verticalHeader().defaultSectionSize() * (MIN_VISIBLE_ROWS + 1) + SPACE[1]
        )
        fill(column_in(self._list, SPACE[1]), self._unmatched, (self.table, 1))
        splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False, handleWidth=SPACE[2])
        splitter.addWidget(self._list)
        splitter.addWidget(self.panel)
        splitter.setSizes(_HEIGHTS)
        self._body = QWidget()
        rows = column_in(self._body, SPACE[2], (SPACE[3], SPACE[2], SPACE[3], SPACE[2]))
        fill(rows, self._search_row, self.notice, (splitter, 1))
        self._stack = QStackedLayout(self)
        for widget in (self._body, self.empty, self.unreadable):
            self._stack.addWidget(widget)


def _container(widget: QWidget) -> QWidget:
    """Return a parent for `widget` that stays visible when it is hidden."""
    container = QWidget()
    fill(column_in(container), widget)
    return container
