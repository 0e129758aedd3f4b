"""Last step: the frozen plan, its exact commands, duration and volumes."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QFormLayout, QLineEdit, QWidget

from app.checks.before import SkippedCheck
from app.plans.plan import TELEMETRY_INTERVALS, Order, Plan
from app.plans.plan_changes import remarks_text
from app.plans.totals import StepPreview, Totals, quick_look_text, sessions_text, totals
from app.runs.root_commands import RootCommand
from suites.base import Estimate
from suites.quantities import count_text
from widgets.parts.boxes import column_in, fill, scrolled
from widgets.parts.controls import push_button
from widgets.parts.flow_layout import flowing
from widgets.parts.names import host_label, host_title
from widgets.parts.notice import FieldMessage
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.command_view import CommandView, shell_script
from widgets.wizard.draft import PlanDraft
from widgets.wizard.messages import UNKNOWN, duration, size
from widgets.wizard.repetition_form import RepetitionForm
from widgets.wizard.tuning_form import TuningForm
from widgets.wizard.wizard_step import WizardStep

MAXIMUM_ROWS = 10
"""Visible rows of the table before it scrolls."""


class ReviewStep(WizardStep):
    """Name, question, goal, repetition, a row for each host and step, totals, and the command of the selected row."""

    title = "Review"
    save_requested = Signal()
    row_selected = Signal()

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__(draft)
        self.explanation = Text(tone=Tone.MUTED)
        self.column.addWidget(self.explanation)
        self._plan: Plan | None = None
        self._previews: tuple[StepPreview, ...] = ()
        inner = QWidget()
        inner.setObjectName("page")
        self._list = column_in(inner, SPACE[2], (0, SPACE[1], 0, 0))
        self._list.addLayout(self._build_names())
        self.repetition = RepetitionForm(draft)
        self.repetition.changed.connect(draft.retune)  # in a duet a step has half of the CPUs
        self.repetition.changed.connect(self.changed)
        self._list.addWidget(self.repetition)
        self.table = Table(
            "Steps and hosts", TableModel(COLUMNS), identity=lambda preview: (preview.step, preview.host)
        )
        self.table.moved.connect(self._select)
        self._list.addWidget(self.table)
        self.changed_values = Text(tone=Tone.MUTED)
        self.changed_values.setAccessibleName("Applied remedies and acknowledged findings")
        self._list.addWidget(self.changed_values)
        self.skipped = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self._list.addWidget(self.skipped)
        self.totals = Text(font=text_font(TextSize.BODY, bold=True))
        self._list.addWidget(self.totals)
        self.command = CommandView("Exact command", lines=5)
        self._list.addWidget(self.command)
        self.tuning = TuningForm(draft)
        self.tuning.changed.connect(self.changed)
        fill(self._list, self.tuning, self._build_buttons(), None)
        self.column.addWidget(scrolled(inner), 1)

    def refresh(self) -> None:
        """Show the draft's name, question, goal, repetition and tuning."""
        self.name_field.setPlaceholderText(self.draft.suggested_name())
        self.goal_field.setPlaceholderText(f"optional, such as {self.draft.goal_example()}")
        texts = (self.draft.name, self.draft.question, self.draft.goals)
        for field, text in zip((self.name_field, self.question_field, self.goal_field), texts, strict=True):
            if field.text() != text:
                field.setText(text)
                field.setCursorPosition(0)  # show the beginning of a long text
        wrong_goal = self.draft.goal_problem()
        self.goal_message.setVisible(bool(wrong_goal))
        if wrong_goal:
            self.goal_message.show_message("error", wrong_goal)
        seconds = self.draft.telemetry_interval
        if self.interval.findData(seconds) < 0:  # of a plan file
            self.interval.addItem(f"{seconds:g} s", seconds)
        self.interval.setCurrentIndex(self.interval.findData(seconds))
        self.repetition.refresh()
        self.tuning.refresh()
        wrong = bool(self.problem())
        self.save_button.setEnabled(self._plan is not None and not wrong)

    def show_previews(
        self, plan: Plan | None, previews: Sequence[StepPreview], as_root: Sequence[RootCommand] = ()
    ) -> None:
        """Show the commands of `plan` and those that run as root; clear both without a plan."""
        self._plan, self._previews = plan, tuple(previews)
        self.tuning.show_commands(as_root)
        self._show_remarks(plan)
        self.table.show_rows(self._previews)
        self.table.setFixedHeight(self.table.whole_height(MAXIMUM_ROWS))
        self._show_totals()
        self.script_button.setEnabled(bool(previews))
        self.refresh()

    def show_skipped(self, skipped: Sequence[SkippedCheck]) -> None:
        """Show why some checks were not made."""
        reasons = dict.fromkeys(each.because for each in skipped)
        self.skipped.setText(f"Not checked: {' '.join(reasons)}")
        self.skipped.setVisible(bool(reasons))

    def problem(self) -> str:
        """Return which of goal, repetition and tuning is invalid."""
        if self.draft.goal_problem():
            return "Invalid goal."
        if self.draft.repetition.problems() or self.draft.repetition_problem():
            return "Invalid value in the repetition."
        wrong = self.draft.tuning.problems() or self.draft.tuning_problem()
        return "Invalid value in the host tuning." if wrong else ""

    def focus_first(self) -> None:
        """Focus the table."""
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _build_names(self) -> QFormLayout:
        self.name_field, self.question_field, self.goal_field = QLineEdit(), QLineEdit(), QLineEdit()
        self.goal_message = FieldMessage()
        self.goal_field.textEdited.connect(self._aim)
        self.question_field.setPlaceholderText("optional, stored with the run")
        self.name_field.textEdited.connect(self._rename)
        self.question_field.textEdited.connect(self._ask)
        form = QFormLayout()
        form.setHorizontalSpacing(SPACE[2])
        form.setVerticalSpacing(SPACE[1])
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        fields = (self.name_field, self.question_field, self.goal_field)
        for name, field in zip(("Plan", "Question", "Goal"), fields, strict=True):
            field.setMaxLength(500)
            field.setAccessibleName(name)
            label = Text(name, Tone.MUTED, wrap=False)
            label.setMinimumHeight(field.sizeHint().height())
            form.addRow(label, field)
        form.addRow("", self.goal_message)
        self.interval = QComboBox()
        self.interval.setAccessibleName("Telemetry interval")
        self.interval.setToolTip("Time between samples of the hosts’ counters; 0.1 s shows short disturbances.")
        for seconds in TELEMETRY_INTERVALS:
            self.interval.addItem(f"{seconds:g} s", seconds)
        self.interval.activated.connect(self._sample)
        label = Text("Telemetry", Tone.MUTED, wrap=False)
        label.setMinimumHeight(self.interval.sizeHint().height())
        form.addRow(label, flowing(self.interval))
        return form

    def _build_buttons(self) -> QWidget:
        self.script_button = push_button("Copy all as shell script", self._copy_script, icon="copy")
        self.save_button = push_button("Save plan…", self.save_requested, icon="save")
        self.job_file_button = push_button(
            "Copy as job file", self._copy_job_file, icon="copy", tip="The selected step as a job file of its tool"
        )
        return flowing(self.script_button, self.job_file_button, self.save_button, spacing=SPACE[1])

    def _show_totals(self) -> None:
        if self._plan is None or not self._previews:
            self.totals.setText("")
            self.explanation.setText("")
            return
        sums = totals(self._plan, self._previews)
        time = _total(duration(sums.duration), is_open="duration" in sums.open, nothing=not sums.duration)
        if sums.longest is not None and "duration" not in sums.open:
            time = f"{time} to {duration(sums.longest)}"
        written = UNKNOWN if "written" in sums.open else _total(size(sums.written), is_open=sums.grows, nothing=False)
        network = _total(size(sums.network), is_open="network" in sums.open or sums.grows, nothing=not sums.network)
        together = "two" if self._plan.order is Order.DUET else "one"
        self.explanation.setText(f"{_trials(sums)} on {_hosts(self._plan)}, {together} at a time.")
        parts = [
            f"Total: {time}",
            f"written: {written}" if sums.written or "written" in sums.open else "",
            f"space: {size(sums.space)}" if sums.space else "",
            f"network: {network}" if sums.network or "network" in sums.open else "",
            quick_look_text(sums),
            sessions_text(sums),
        ]
        self.totals.setText("  ·  ".join(part for part in parts if part))

    def _show_remarks(self, plan: Plan | None) -> None:
        """Show the applied remedies and acknowledged findings."""
        lines = [] if plan is None else remarks_text(plan)
        self.changed_values.setText("\n".join(lines))
        self.changed_values.setVisible(bool(lines))

    def _show_command(self) -> None:
        preview = self.table.current()
        self.command.set_text(preview.text if preview is not None else "")
        self.job_file_button.setVisible(preview is not None and preview.job_file is not None)
        if preview is not None:
            self.command.set_caption(f"Exact command: {preview.step} on {host_label(preview.host)}")

    def _select(self) -> None:
        self._show_command()
        self.row_selected.emit()

    def _rename(self, name: str) -> None:
        self.draft.name = name
        self.changed.emit()

    def _ask(self, question: str) -> None:
        self.draft.question = question
        self.changed.emit()

    def _aim(self, goals: str) -> None:
        self.draft.goals = goals
        self.changed.emit()

    def _sample(self) -> None:
        self.draft.telemetry_interval = self.interval.currentData()
        self.changed.emit()

    def _copy_job_file(self) -> None:
        preview = self.table.current()
        if preview is not None and preview.job_file is not None:
            QGuiApplication.clipboard().setText(preview.job_file)

    def _copy_script(self) -> None:
        if self._plan is not None:
            QGuiApplication.clipboard().setText(shell_script(self._plan, self._previews))


def _trials(sums: Totals) -> str:
    if sums.grows and sums.most is not None:
        return f"{sums.trials} to {sums.most} trials"
    trials = count_text(sums.trials, "trial")
    return f"At least {trials}" if sums.grows else trials


def _hosts(plan: Plan) -> str:
    return host_label(plan.hosts[0]) if len(plan.hosts) == 1 else f"{len(plan.hosts)} hosts"


def _total(known: str, *, is_open: bool, nothing: bool) -> str:
    if is_open:
        return UNKNOWN if nothing else f"at least {known}"
    return known


def _written(estimate: Estimate) -> str:
    """Return the bytes written: once before the first trial, plus by each trial."""
    if not estimate.prepared:
        return size(estimate.written)
    each = f" + {size(estimate.written)}" if estimate.written != 0 else ""
    return f"{size(estimate.prepared)}{each}"


COLUMNS: tuple[TableColumn[StepPreview], ...] = (
    TableColumn("Step", lambda preview: preview.step, stretch=True),
    TableColumn(
        "Host", lambda preview: host_title(preview.host), stretch=True,
        needed=lambda previews: len({preview.host for preview in previews}) > 1,
    ),
    TableColumn("One trial", lambda preview: duration(preview.estimate.duration), align=RIGHT),
    TableColumn(
        "Written", lambda preview: _written(preview.estimate), align=RIGHT,
        needed=lambda previews: any(each.estimate.written or each.estimate.prepared for each in previews),
    ),
    TableColumn(
        "Space", lambda preview: size(preview.estimate.space), align=RIGHT,
        needed=lambda previews: any(each.estimate.space for each in previews),
    ),
    TableColumn(
        "Network", lambda preview: size(preview.estimate.network), align=RIGHT,
        needed=lambda previews: any(each.estimate.network for each in previews),
    ),
)  # fmt: skip
"""Columns of the table. A volume of 0 or unknown in every row has no column (the totals name it), nor a single host."""
