"""Proposes another tool for a step of a run, says what is carried over to it, and hands over the plan."""

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.opinion.kinship import kin_of
from app.opinion.proposing import Proposal, can_check
from app.opinion.words import proposal_lines
from app.records import RunRecord
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.registry import suite as find_suite
from widgets.jobs import Job
from widgets.parts.notice import Notice
from widgets.parts.screen import fit
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font

SIZE = (620, 460)

NEAREST = "The nearest"

EXPLANATION = "Both are asked the same, interleaved, in one plan. Look at it on Measure before it runs."


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is chosen: a step and a suite, both by name; an empty suite is the nearest."""

    step: str
    suite: str


class OpinionDialog(QDialog):
    """Asks which tool is to check which step. Reading the run and making the plan are Jobs."""

    plan_chosen = Signal(object)  # a Plan

    def __init__(self, workstation: Workstation, run: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation, self._run = workstation, run
        self._suites: dict[str, str] = {}
        self._job: Job | None = None
        self.proposal: Proposal | None = None
        self.setWindowTitle("Check with another tool")
        fit(self, SIZE)
        self.step, self.tool = QComboBox(), QComboBox()
        self.lines = Text()
        self.notice = Notice()
        self.open_button = QPushButton("Open on Measure")
        self.open_button.setProperty("primary", True)
        self.open_button.setEnabled(False)
        self.open_button.clicked.connect(lambda _checked: self._choose())
        self.close_button = QPushButton("Cancel")
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.reject)
        self._arrange()
        self.step.activated.connect(lambda _index: self._offer_tools())
        self.tool.activated.connect(lambda _index: self._propose())
        job = Job(lambda: workstation.load(run), self)
        job.returned.connect(self._offer)
        job.failed.connect(self._fail)
        job.start()

    def _offer(self, record: RunRecord) -> None:
        self._suites = {step.name: step.suite_id for step in record.plan.steps if can_check(step)}
        self.step.addItems(list(self._suites))
        if not self._suites:
            self.notice.say("info", "No other tool here measures what this run does.", "Check it on another host.")
            return
        self._offer_tools()

    def _offer_tools(self) -> None:
        self.tool.clear()
        self.tool.addItem(NEAREST, "")
        for kin in kin_of(self._suites[self.step.currentText()]):
            self.tool.addItem(find_suite(kin.other).title, kin.other)
        self._propose()

    def _propose(self) -> None:
        asked = _Asked(self.step.currentText(), str(self.tool.currentData() or ""))
        workstation, run = self._workstation, self._run
        job = self._job = Job(lambda: workstation.second_opinion(run, asked.step, asked.suite), self)
        job.returned.connect(lambda found: self._show(found) if job is self._job else None)
        job.failed.connect(self._fail)
        job.start()

    def _show(self, found: Proposal) -> None:
        self.proposal = found
        self.notice.hide()
        self.lines.setText("\n".join(proposal_lines(found)))
        self.open_button.setEnabled(True)

    def _fail(self, error: BenchwrightError) -> None:
        self.proposal = None
        self.open_button.setEnabled(False)
        self.notice.say_error(error)

    def _choose(self) -> None:
        if self.proposal is not None:
            self.plan_chosen.emit(self.proposal.plan)
            self.accept()

    def _arrange(self) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text("Check with another tool", font=text_font(TextSize.HEADING, bold=True)))
        rows.addWidget(Text(EXPLANATION, Tone.MUTED))
        form = QFormLayout()
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Step", self.step)
        form.addRow("Tool", self.tool)
        rows.addLayout(form)
        rows.addWidget(self.notice)
        rows.addWidget(self.lines)
        rows.addStretch(1)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.setSpacing(SPACE[1])
        foot.addWidget(self.open_button)
        foot.addWidget(self.close_button)
        rows.addLayout(foot)


def ask_for_opinion(workstation: Workstation, run: str, parent: QWidget) -> OpinionDialog:
    """Open the window over `parent`; it goes when it is closed."""
    dialog = OpinionDialog(workstation, run, parent)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog
