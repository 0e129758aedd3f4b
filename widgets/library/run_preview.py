"""Preview of the selected runs: the panel of one run, which is read in the background, or a comparison of several."""

from collections.abc import Sequence
from functools import cached_property

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.distributions.studies import StudyKind
from app.library_rows import LibraryRow
from app.plans.plan_remarks import with_reason_for
from app.records import RunRecord
from app.services import Workstation
from suites.vocab import Finding
from widgets.jobs import BackgroundJob
from widgets.library.compare_preview import ComparePreview
from widgets.library.run_actions import RunActions
from widgets.library.run_panel import RunPanel
from widgets.library.run_reader import OpenedRun, open_run
from widgets.parts.issue_line import acknowledged_text

AHEAD = 400
"""Milliseconds after a run is shown until the comparison is made: a selection of several would wait for it."""


class RunPreview(QStackedWidget):
    """Shows the selected runs; hidden without any."""

    read = Signal(object)  # the RunSummary of a run that was opened
    failed = Signal(object)  # a BenchwrightError
    status = Signal(str)
    plan_chosen = Signal(object)  # a Plan

    def __init__(self, actions: RunActions, workstation: Workstation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation, self._actions = workstation, actions
        self._chosen: Sequence[LibraryRow] = ()
        self._opening: BackgroundJob | None = None
        self.panel = RunPanel(actions, workstation, self)
        self.setMinimumSize(320, 180)
        self.addWidget(self.panel)
        self.panel.sample_size.plan_chosen.connect(self.plan_chosen)
        self.panel.drawer.acknowledge_requested.connect(self._acknowledge)
        self.panel.output_requested.connect(self._read_output)
        self.panel.read_history = workstation.history
        self._ahead = QTimer(self, singleShot=True, interval=AHEAD)
        self._ahead.timeout.connect(lambda: self.comparison)

    @cached_property
    def comparison(self) -> ComparePreview:
        """The comparison of several runs, made once a run was shown for a while, or when it is needed."""
        made = ComparePreview(self._actions, self._workstation, self)
        self.addWidget(made)
        made.sample_size.plan_chosen.connect(self.plan_chosen)
        return made

    def show_chosen(self, chosen: Sequence[LibraryRow], *, shown: bool) -> None:
        """Show the summary of the selected run, or the comparison of several, if the preview is to be `shown`."""
        self._chosen, several = chosen, len(chosen) > 1
        self.setVisible(bool(chosen) and shown)
        self.setCurrentWidget(self.comparison if several else self.panel)
        if several:
            self.comparison.show_runs(chosen)
        elif chosen:
            self.panel.show_line(chosen[0])

    def open_current(self) -> None:
        """Read the selected run if it is to be seen and is not shown yet."""
        if len(self._chosen) == 1 and not self.isHidden() and not self._is_open(self._chosen[0]):
            self._open(self._chosen[0].id)

    def bring_sample_size(self) -> None:
        """Bring the sample size of the selected runs to the front, or report what it needs."""
        studies = (self.comparison if len(self._chosen) > 1 else self.panel).studies
        self.status.emit(studies.bring(StudyKind.SAMPLE_SIZE))

    def _is_open(self, row: LibraryRow) -> bool:
        opened = self.panel.opened
        return opened is not None and opened.record.summary == row.summary

    def _open(self, run_id: str) -> None:
        workstation = self._workstation
        job = self._opening = BackgroundJob(lambda: open_run(workstation, run_id), self)
        job.returned.connect(lambda opened: self._show_opened(job, opened))
        job.failed.connect(lambda error: self.panel.show_failure(error) if job is self._opening else None)
        job.start()

    def _show_opened(self, job: BackgroundJob, opened: OpenedRun) -> None:
        if job is self._opening and self._chosen and self._chosen[0].id == opened.record.summary.id:
            self.panel.show_run(opened)
            self._ahead.start()
            self.read.emit(opened.record.summary)

    def _read_output(self, run_id: str, trial: int) -> None:
        workstation = self._workstation
        BackgroundJob(lambda: workstation.output(run_id, trial), self).start(
            lambda output: self._show_output(run_id, trial, output), self.failed
        )

    def _show_output(self, run_id: str, trial: int, output: dict[str, bytes]) -> None:
        opened, view = self.panel.opened, self.panel.run_view
        if view is not None and opened is not None and opened.record.summary.id == run_id:
            view.set_output(trial, output)

    def _acknowledge(self, findings: tuple[Finding, ...], reason: str) -> None:
        """Store the reason for acknowledging findings with the run; an empty reason removes it."""
        if (opened := self.panel.opened) is None:
            return
        workstation, run_id = self._workstation, opened.record.summary.id
        given = with_reason_for(findings, reason)
        text = acknowledged_text(findings, reason)

        def show(record: RunRecord) -> None:
            self.panel.show_remarks(run_id, record.plan)
            self.status.emit(text)

        BackgroundJob(lambda: workstation.acknowledge(run_id, given), self).start(show, self.failed)
