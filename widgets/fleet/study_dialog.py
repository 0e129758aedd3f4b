"""Dialog that begins a fleet study: its fields, and hosts, time, cost and volume as they are entered."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QDialog, QFrame, QWidget

from app.fleet_study import FleetStudy
from app.plans.plan import LOCAL, Plan
from app.plans.recent import RecentPlan
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.fleet.study_draft import StudyDraft, StudyPreview, groups_text, plan_text, preview_of
from widgets.fleet.study_form import StudyForm
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, scrolled
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row, dialog_column, fit
from widgets.parts.notice import FieldMessage
from widgets.parts.text import Text
from widgets.theme import SPACE, scaled
from widgets.wizard.plan_files import PlanFiles

SIZE = (720, 560)
"""Width and height in pixels at the platform's default text size."""

NOTHING_CHOSEN = "Time, cost and volume of the study are estimated once plan and hosts are chosen."

SETTLED = 250
"""Milliseconds after the last change until the preview is made."""


class StudyDialog(QDialog):
    """Asks for a new study; `begun` when it is stored."""

    begun = Signal(object)  # a FleetStudy

    def __init__(
        self, workstation: Workstation, asker: Asker, parent: QWidget | None, draft: StudyDraft | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("New fleet study")
        self._workstation, self._asker = workstation, asker
        self.draft = draft or StudyDraft()
        self.preview: StudyPreview | None = None
        self._offered: list[Plan | RecentPlan] = []
        self._job: BackgroundJob | None = None
        self._files = PlanFiles(workstation, self, [LOCAL])  # the study has its own hosts
        self._files.opened.connect(self._take_file)
        self._files.failed.connect(self._show_unread)
        self.form = StudyForm()
        self.estimate, self.fault = Text(), FieldMessage()
        self.estimate.setAccessibleName("Estimate")
        self.start_button = push_button("Start study", lambda _checked: self.start(), primary=True)
        self.cancel_button = push_button("Cancel", lambda _checked: self.reject())
        self._settle = QTimer(self, singleShot=True, interval=SETTLED)
        self._settle.timeout.connect(self._make_preview)
        self.form.show_draft(self.draft)
        self.form.changed.connect(self._edited)
        self.form.file_requested.connect(self._files.ask_open)
        self.form.plan_chosen.connect(self._choose)
        inner = QWidget()
        inner.setObjectName("page")
        card = QFrame()
        card.setObjectName("card")
        fill(column_in(card, SPACE[1], (SPACE[2], SPACE[1], SPACE[2], SPACE[1])), self.estimate, self.fault)
        fill(column_in(inner, SPACE[2]), self.form, card, None)
        rows = dialog_column(self, "New fleet study")
        fill(rows, (scrolled(inner), 1), button_row(None, self.start_button, self.cancel_button))
        for button in (self.cancel_button, self.form.file_button):
            button.setAutoDefault(False)
        self.start_button.setDefault(True)
        fit(self, (scaled(SIZE[0]), scaled(SIZE[1])))
        if self.draft.plan is not None:
            self._offer([self.draft.plan], 0)
        BackgroundJob(self._files.recent, self).start(self._take_recent, self._show_fault)
        self._edited()
        (self.form.words if self.draft.plan is not None else self.form.plans).setFocus()

    def start(self) -> None:
        """Store the study, after the user's consent."""
        if self.preview is None or self.preview.plan is None:
            return
        plan, workstation, asker = self.preview.plan, self._workstation, self._asker
        self._set_busy(busy=True)
        job = BackgroundJob(lambda: workstation.begin_fleet_study(plan, asker), self)
        job.start(self._take_begun, self._show_fault, finished=lambda: self._set_busy(busy=False))

    def _take_begun(self, study: FleetStudy) -> None:
        self.begun.emit(study)
        self.accept()

    def _set_busy(self, *, busy: bool) -> None:
        self.form.setEnabled(not busy)
        self.start_button.setEnabled(not busy and self.preview is not None and self.preview.plan is not None)

    # Plans

    def _take_recent(self, recent: Sequence[RecentPlan]) -> None:
        given = [one for one in self._offered if isinstance(one, Plan)]
        self._offer([*given, *recent], 0 if given else -1)
        if recent and not given:
            self.form.plans.setCurrentIndex(0)
            self._choose(0)

    def _offer(self, offered: Sequence[Plan | RecentPlan], current: int) -> None:
        self._offered = list(offered)
        self.form.show_plans([_title(one) for one in offered], current)

    def _choose(self, number: int) -> None:
        chosen = self._offered[number]
        if isinstance(chosen, Plan):
            self.form.show_plan(chosen)
        else:
            self.form.show_plan(None)  # what is shown until it is read is another plan
            self._files.open_recent(chosen)

    def _take_file(self, plan: Plan) -> None:
        """Show a plan that was read; list one that is from a file of its own."""
        at = self.form.plans.currentIndex()
        chosen = self._offered[at] if 0 <= at < len(self._offered) else None
        if not (isinstance(chosen, RecentPlan) and chosen.name == plan.name):
            self._offer([plan, *self._offered], 0)
        self.form.show_plan(plan)

    # Preview

    def _edited(self) -> None:
        self.draft = self.form.draft(self.draft)
        self.form.fit(network=self.draft.has_network_test)
        self.preview = self._job = None  # a preview of earlier entries is dropped
        self.start_button.setEnabled(False)
        self._settle.start()

    def _make_preview(self) -> None:
        draft, workstation = self.draft, self._workstation
        if not draft.words.strip():
            self._show_preview(StudyPreview())
            return
        job = self._job = BackgroundJob(lambda: preview_of(workstation, draft), self)
        job.start(
            lambda preview: self._show_preview(preview) if job is self._job else None,
            lambda fault: self._show_fault(fault) if job is self._job else None,
        )

    def _show_preview(self, preview: StudyPreview) -> None:
        self.preview = preview
        self.form.groups.setText(groups_text(preview.groups))
        if preview.plan is not None:
            self.form.tests.setText(plan_text(preview.plan.plan))
        self.estimate.setText("\n".join(preview.lines) or NOTHING_CHOSEN)
        self.fault.clear()
        self.fault.setVisible(preview.fault is not None)
        if preview.fault is not None:
            self._show_fault(preview.fault)
        self.start_button.setEnabled(preview.plan is not None)

    def _show_unread(self, fault: BenchwrightError) -> None:
        """Show why a plan was not read; if there is no other one, until an entry changes."""
        if self.draft.plan is None:
            self._settle.stop()
            self._job = None
        self._show_fault(fault)

    def _show_fault(self, fault: BenchwrightError) -> None:
        self.fault.show()
        self.fault.show_message("info" if fault.cancelled else "error", f"{fault.message} {fault.remedy}".strip())


def _title(plan: Plan | RecentPlan) -> str:
    if isinstance(plan, Plan):
        return plan.name
    where = Path(plan.path).name if plan.path else f"run of {plan.when[:10]}"
    return f"{plan.name} ({where})"
