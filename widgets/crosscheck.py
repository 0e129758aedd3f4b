"""Cross-check: dialog to choose another tool for a step, and panel of the outcome."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QScrollArea, QVBoxLayout, QWidget

from app.crosscheck.agreement import Agreement, AgreementOutcome
from app.crosscheck.proposal import Proposal, can_check, equivalents_of
from app.crosscheck.report import agreement_line, proposal_lines, why_lines
from app.records import RunRecord
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.registry import suite as find_suite
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row, dialog_column, fit, opened
from widgets.parts.names import host_title
from widgets.parts.notice import Notice, Picture
from widgets.parts.text import Text, Tone, strong
from widgets.theme import SPACE

SIZE = (620, 460)

NEAREST = "Closest match"

EXPLANATION = "Both tools run interleaved with equivalent parameters, in one plan. *Edit plan* shows it before it runs."


_ICONS = {
    AgreementOutcome.AGREE: "good",
    AgreementOutcome.DIFFER: "warning",
    AgreementOutcome.UNDECIDED: "info",
    AgreementOutcome.OTHER_QUANTITY: "info",
    AgreementOutcome.NOT_COMPARABLE: "info",
}


class AgreementPanel(QScrollArea):
    """Panel with the agreement between the tools of one run."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setAccessibleName("Cross-check")
        self.lines: list[str] = []

    def show_agreements(self, found: Sequence[Agreement]) -> None:
        """Show `found`."""
        sheet = QWidget()
        column = column_in(sheet, SPACE[1], (0, SPACE[2], SPACE[1], SPACE[2]))
        self.lines = []
        for one in found:
            self._add(column, one)
        column.addStretch(1)
        self.setWidget(sheet)

    def _add(self, column: QVBoxLayout, one: Agreement) -> None:
        icon = Picture(_ICONS[one.outcome])
        icon.setAccessibleName(one.outcome.value)
        head = in_row(
            icon, (Text(f"{host_title(one.host)}: {agreement_line(one)}", font=strong()), 1), spacing=SPACE[1]
        )
        column.addLayout(head)
        why = list(why_lines(one))
        self.lines += [agreement_line(one), *why]
        for line in why:
            column.addWidget(Text(line, Tone.MUTED))
        column.addSpacing(SPACE[2])


class CrossCheckDialog(QDialog):
    """Dialog to choose a step and the tool to check it. Reads the run and makes the plan in the background."""

    plan_chosen = Signal(object)  # a Plan

    def __init__(self, workstation: Workstation, run: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation, self._run = workstation, run
        self._suites: dict[str, str] = {}
        self._job: BackgroundJob | None = None
        self.proposal: Proposal | None = None
        self.setWindowTitle("Check with another tool")
        fit(self, SIZE)
        self.step, self.tool = QComboBox(), QComboBox()
        self.lines = Text()
        self.notice = Notice()
        self.open_button = push_button("Edit plan", lambda _checked: self._choose(), primary=True, enabled=False)
        self.close_button = push_button("Cancel", self.reject, autoDefault=False)
        self._arrange()
        self.step.activated.connect(lambda _index: self._offer_tools())
        self.tool.activated.connect(lambda _index: self._propose())
        BackgroundJob(lambda: workstation.load(run), self).start(self._offer, self._fail)

    def _offer(self, record: RunRecord) -> None:
        self._suites = {step.name: step.suite_id for step in record.plan.steps if can_check(step)}
        self.step.addItems(list(self._suites))
        if not self._suites:
            self.notice.show_message(
                "info", "No other tool measures what this run measures.", "Repeat the run on another host."
            )
            return
        self._offer_tools()

    def _offer_tools(self) -> None:
        self.tool.clear()
        self.tool.addItem(NEAREST, "")
        for pair in equivalents_of(self._suites[self.step.currentText()]):
            self.tool.addItem(find_suite(pair.other).title, pair.other)
        self._propose()

    def _propose(self) -> None:
        self.proposal = None
        self.open_button.setEnabled(False)
        self.lines.setText("")
        step, tool = self.step.currentText(), str(self.tool.currentData() or "")  # an empty tool: the closest match
        workstation, run = self._workstation, self._run
        job = self._job = BackgroundJob(lambda: workstation.cross_check(run, step, tool), self)
        job.returned.connect(lambda found: self._show(found) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def _show(self, found: Proposal) -> None:
        self.proposal = found
        self.notice.hide()
        self.lines.setText("\n".join(proposal_lines(found)))
        self.open_button.setEnabled(True)

    def _fail(self, error: BenchwrightError) -> None:
        self.proposal = None
        self.open_button.setEnabled(False)
        self.notice.show_error(error)

    def _choose(self) -> None:
        if self.proposal is not None:
            self.plan_chosen.emit(self.proposal.plan)
            self.accept()

    def _arrange(self) -> None:
        rows = dialog_column(self, "Check with another tool")
        rows.addWidget(Text(EXPLANATION, Tone.MUTED))
        form = QFormLayout()
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Step", self.step)
        form.addRow("Tool", self.tool)
        fill(rows, form, self.notice, self.lines, None, button_row(None, self.open_button, self.close_button))


def open_crosscheck(workstation: Workstation, run: str, parent: QWidget) -> CrossCheckDialog:
    """Open the dialog over `parent`; closing deletes it."""
    return opened(CrossCheckDialog(workstation, run, parent))
