"""The page of every run that was kept: found, looked at, pinned, compared, exported, repeated, deleted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from app.comparing.choosing import parts_side_by_side
from app.plans.plan import LOCAL
from app.plans.plan_remarks import Acknowledged
from app.questions import Asker
from app.records import RunSummary
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.vocab import Finding
from widgets.charts.studies import show_heat, show_noise, show_rounds, show_scaling
from widgets.jobs import Job
from widgets.library.delete_question import DeleteQuestion
from widgets.library.opened_run import OpenedRun, open_run
from widgets.library.pin_dialog import PinDialog
from widgets.library.run_actions import RunActions
from widgets.library.run_lines import RunLine, baseline_first, lines_of
from widgets.library.run_panel import RunPanel
from widgets.library.run_table import RunTable
from widgets.library.unreadable import Unreadable
from widgets.library.verdict_reader import VerdictReader
from widgets.live.run_side import RunSide
from widgets.page import Page
from widgets.parts.empty_state import EmptyState
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.rank.rank_dialog import show_ranking
from widgets.theme import SPACE, TextSize, text_font

_HEIGHTS = (160, 530)
SEEN = 4
"""Runs that are seen however low the window is."""

_WAY = "The library tells which runs there are."


class LibraryPage(Page):
    """A table of runs, the one under the cursor beneath it, what explains it on the side. All reading is a Job."""

    compare_requested = Signal(list)  # ids of runs, the baseline first
    repeat_requested = Signal(object)  # a Plan
    export_requested = Signal(list, str)  # ids of runs, and what the files are called
    measure_requested = Signal()
    quick_requested = Signal(str)  # the name of a host

    def __init__(self, workstation: Workstation, asker: Asker, parent: QWidget | None = None) -> None:
        super().__init__(workstation, asker, parent)
        self._reading: Job | None = None
        self._opening: Job | None = None
        self._wanted: str | None = None
        self._verdicts = VerdictReader(workstation, self)
        self._verdicts.judged.connect(self._show_verdict)
        self.run_side = RunSide(acknowledging=True)
        self.run_side.findings.set_empty_text("No check found anything in this run.")
        self.run_side.findings.more_requested.connect(self.help_requested)
        self.run_side.findings.acknowledge_requested.connect(self._acknowledge)
        self.side = _holding(self.run_side)
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
        """Read the library anew."""
        self.refresh()

    def refresh(self) -> None:
        """Read which runs there are; the cursor stays where it is."""
        workstation = self.workstation
        job = self._reading = Job(lambda: (lines_of(workstation.runs()), workstation.read_only()), self)
        job.returned.connect(lambda found: self._show_lines(*found) if job is self._reading else None)
        job.failed.connect(self._fail)
        job.start()

    def show_run(self, run_id: str) -> None:
        """Put the cursor on a run, whatever was searched for."""
        self._wanted = run_id
        self.search.clear()
        self.refresh()

    def export(self) -> bool:
        """Offer to export the selected runs; return whether there are any."""
        chosen = self._chosen()
        if not chosen:
            return False
        more = f"-and-{len(chosen) - 1}-more" if len(chosen) > 1 else ""
        ids = baseline_first(chosen)
        self.export_requested.emit(ids, ids[0] + more)
        return True

    def hideEvent(self, event: QHideEvent) -> None:
        """Judge nothing while nobody looks: what is measured meanwhile is to have the processors."""
        super().hideEvent(event)
        self._verdicts.stop()

    # The list

    def _chosen(self) -> list[RunLine]:
        """Return the selected runs, else the one under the cursor."""
        current = self.table.current()
        return self.table.chosen() or ([current] if current is not None else [])

    def _show_lines(self, lines: Sequence[RunLine], newer: BenchwrightError | None) -> None:
        self.actions_of_runs.newer = newer
        first = not self.table.runs.lines
        self.notice.hide()
        self._stack.setCurrentWidget(self._body if lines else self.empty)
        self.table.show_lines(lines)
        if self._wanted is not None:
            self._show_wanted(self._wanted)
        elif first and lines:
            self.table.select([lines[0].id])
        self.table.settle()
        self._count()
        if self.isVisible():
            self._verdicts.read(line.summary for line in lines)

    def _show_verdict(self, run: RunSummary) -> None:
        """Show what a run was judged to be beside what else is known of it by now."""
        for line in self.table.runs.lines:
            if line.id == run.id and not line.summary.trust:
                judged = replace(line.summary, trust=run.trust, limited_by=run.limited_by)
                self.table.runs.show_line(lines_of([judged])[0])

    def _show_wanted(self, run_id: str) -> None:
        self._wanted = None
        if self.table.runs.row_of(run_id) < 0:
            self.notice.say("warning", f"The run {run_id} is not in the library.", _WAY)
            return
        self.table.select([run_id])
        self.table.scrollTo(self.table.currentIndex())

    def _search(self, words: str) -> None:
        self.table.search(words)
        self._count()

    def _count(self) -> None:
        there, shown = len(self.table.runs.lines), len(self.table.runs.shown)
        runs = f"{there} run{'' if there == 1 else 's'}"
        self.status.emit(runs if shown == there else f"{shown} of {runs}")
        self._unmatched.setText(f"No run has “{self.search.text()}” in its name, hosts, tests or state. Esc shows all.")
        self._unmatched.setVisible(there > 0 and not shown)

    # The run under the cursor

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
        job = self._opening = Job(lambda: open_run(workstation, run_id), self)
        job.returned.connect(lambda opened: self._show_opened(job, opened))
        job.failed.connect(lambda error: self.panel.show_failure(error) if job is self._opening else None)
        job.start()

    def _show_opened(self, job: Job, opened: OpenedRun) -> None:
        line = self.table.current()
        if job is self._opening and line is not None and line.id == opened.record.summary.id:
            self.panel.show_run(opened)
            self._show_verdict(opened.record.summary)

    def _read_output(self, run_id: str, trial: int) -> None:
        workstation = self.workstation
        job = Job(lambda: workstation.output(run_id, trial), self)
        job.returned.connect(lambda output: self._show_output(run_id, trial, output))
        job.failed.connect(self._fail)
        job.start()

    def _show_output(self, run_id: str, trial: int, output: dict[str, bytes]) -> None:
        opened, view = self.panel.opened, self.panel.run_view
        if view is not None and opened is not None and opened.record.summary.id == run_id:
            view.set_output(trial, output)

    def _turn_alone(self) -> None:
        """Give the run the whole page, or the list its place back."""
        alone = self._list.isVisible()
        self._list.setVisible(not alone)
        self._search_row.setVisible(not alone)
        self.actions_of_runs.open.setText("Show the list" if alone else "Show alone")
        (self.panel.tabs if alone else self.table).setFocus()

    # What can be done

    def _compare(self) -> None:
        chosen = self._chosen()
        if len(chosen) > 1:
            self.compare_requested.emit(baseline_first(chosen))
        elif chosen and (parts := parts_side_by_side(chosen[0].summary)):
            self.compare_requested.emit(list(parts))

    def _study(self, show: Callable[[Workstation, Sequence[str], QWidget], object]) -> None:
        """Open a window of charts of the selected runs."""
        if chosen := self._chosen():
            show(self.workstation, baseline_first(chosen), self)

    def _ask_for_name(self) -> None:
        if not (chosen := self._chosen()):
            return
        dialog = PinDialog([line.summary for line in chosen], self.workstation, self)
        ids = ",".join(sorted(line.id for line in chosen))
        dialog.accepted.connect(lambda: self._pin(ids, dialog.chosen(), dialog.oldest()))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _pin(self, word: str, name: str, oldest: float | None) -> None:
        self._do(lambda: self.workstation.pin(word, name, oldest), f"Pinned as the baseline “{name}”")

    def _unpin(self) -> None:
        chosen = self._chosen()
        name = chosen[0].summary.baseline if chosen else None
        if name is not None:
            self._do(lambda: self.workstation.unpin(name), f"“{name}” is no baseline any more; the run stays")

    def _acknowledge(self, finding: Finding, reason: str) -> None:
        """Keep with the run why a finding of it may stand, or no longer where there is no reason."""
        if (opened := self.panel.opened) is None:
            return
        workstation, run_id = self.workstation, opened.record.summary.id
        given = Acknowledged(finding.id, reason, finding.step)
        said = f"Acknowledged: {finding.title}" if reason else f"No longer acknowledged: {finding.title}"
        job = Job(lambda: workstation.acknowledge(run_id, [given]), self)
        job.returned.connect(lambda record: self.panel.show_remarks(run_id, record.plan))
        job.returned.connect(lambda _record: self.status.emit(said))
        job.failed.connect(self._fail)
        job.start()

    def _repeat(self) -> None:
        if not (chosen := self._chosen()):
            return
        workstation, run_id = self.workstation, chosen[0].id
        job = Job(lambda: workstation.plan_again(run_id), self)
        job.returned.connect(self.repeat_requested)
        job.failed.connect(self._fail)
        job.start()

    def _ask_another_tool(self) -> None:
        from widgets.opinion.opinion_dialog import ask_for_opinion

        if chosen := self._chosen():
            dialog = ask_for_opinion(self.workstation, chosen[0].id, self)
            dialog.plan_chosen.connect(self.repeat_requested)

    def _ask_to_delete(self) -> None:
        if not (chosen := self._chosen()):
            return
        question = DeleteQuestion(chosen, self)
        question.accepted.connect(lambda: self._delete([line.id for line in chosen]))
        question.finished.connect(question.deleteLater)
        question.open()

    def _delete(self, run_ids: Sequence[str]) -> None:
        def delete() -> None:
            for run_id in run_ids:
                self.workstation.delete(run_id)

        self._do(delete, "Deleted" if len(run_ids) == 1 else f"{len(run_ids)} runs deleted")

    def _do(self, work: Callable[[], Any], said: str) -> None:
        """Change the library off the window's thread, say what was done, and show how it stands then."""
        job = Job(work, self)
        job.returned.connect(lambda _nothing: self.refresh())
        job.returned.connect(lambda _nothing: self.status.emit(said))
        job.failed.connect(self._fail)
        job.start()

    def _fail(self, error: BenchwrightError) -> None:
        if not self.tell_damage(error):
            self.notice.say_error(error)
        self.unreadable.show_error(error)
        self._stack.setCurrentWidget(self._body if self.table.runs.lines else self.unreadable)
        self._show_current()

    # Building

    def _connect(self) -> None:
        actions = self.actions_of_runs
        self.addActions(list(actions.all()))
        self.table.addActions(list(actions.all()))
        actions.open_requested.connect(self._turn_alone)
        actions.compare_requested.connect(self._compare)
        actions.pin_requested.connect(self._ask_for_name)
        actions.unpin_requested.connect(self._unpin)
        actions.noise_requested.connect(lambda: self._study(show_noise))
        actions.scaling_requested.connect(lambda: self._study(show_scaling))
        actions.heat_requested.connect(lambda: self._study(show_heat))
        actions.rounds_requested.connect(lambda: self._study(show_rounds))
        actions.rank_requested.connect(lambda: self._study(show_ranking))
        actions.export_requested.connect(self.export)
        actions.repeat_requested.connect(self._repeat)
        actions.opinion_requested.connect(self._ask_another_tool)
        actions.delete_requested.connect(self._ask_to_delete)
        self.table.moved.connect(self._show_current)
        self.table.rested.connect(self._open_current)
        self.table.activated.connect(self._turn_alone)
        self.panel.output_requested.connect(self._read_output)
        self.panel.scaling_requested.connect(lambda run: show_scaling(self.workstation, [run], self))
        self.panel.read_history = self.workstation.history
        self.panel.history.run_chosen.connect(self.show_run)
        self.search.textChanged.connect(self._search)
        for keys, reached in (
            (QKeySequence(QKeySequence.StandardKey.Find), self.search.setFocus),
            (QKeySequence("F5"), self.refresh),
            (QKeySequence("Esc"), self._come_back),
        ):
            made = QAction(self)
            made.setShortcut(keys)
            made.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            made.triggered.connect(reached)
            self.addAction(made)

    def _come_back(self) -> None:
        """Show the list again, or the whole of it."""
        if not self._list.isVisible():
            self._turn_alone()
        else:
            self.search.clear()
            self.table.setFocus()

    def _build_empty(self) -> EmptyState:
        empty = EmptyState(
            "No runs yet",
            "Every run is kept here from its first second: its plan and commands, the facts of its hosts, every "
            "figure and the raw output. Pin one as the baseline, put several side by side, export, or repeat one.",
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
        first = QHBoxLayout(self._search_row)
        first.setContentsMargins(0, 0, 0, 0)
        first.setSpacing(SPACE[3])
        first.addWidget(Text("Library", font=text_font(TextSize.TITLE, bold=True), wrap=False))
        first.addWidget(self.search, 1)
        self._list = QWidget()
        self.table.setMinimumHeight(self.table.verticalHeader().defaultSectionSize() * (SEEN + 1) + SPACE[1])
        runs = QVBoxLayout(self._list)
        runs.setContentsMargins(0, 0, 0, 0)
        runs.setSpacing(SPACE[1])
        runs.addWidget(self._unmatched)
        runs.addWidget(self.table, 1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(SPACE[2])
        splitter.addWidget(self._list)
        splitter.addWidget(self.panel)
        splitter.setSizes(_HEIGHTS)
        self._body = QWidget()
        rows = QVBoxLayout(self._body)
        rows.setContentsMargins(SPACE[3], SPACE[2], SPACE[3], SPACE[2])
        rows.setSpacing(SPACE[2])
        for widget in (self._search_row, self.notice):
            rows.addWidget(widget)
        rows.addWidget(splitter, 1)
        self._stack = QStackedLayout(self)
        for widget in (self._body, self.empty, self.unreadable):
            self._stack.addWidget(widget)


def _holding(widget: QWidget) -> QWidget:
    """Return a place for `widget` that stays when it is hidden."""
    place = QWidget()
    column = QVBoxLayout(place)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(widget)
    return place
