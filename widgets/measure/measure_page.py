"""The wizard inside the window: hosts, tests, parameters, findings, review; it asks for the run and starts none."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.hosts.hosts import HostEntry
from app.plans.plan import Plan
from app.plans.plan_remarks import Acknowledged, reason_of, with_reason
from app.plans.preset import Filled
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.vocab import Finding
from widgets.jobs import Job
from widgets.measure.assessor import Assessment, Assessor
from widgets.measure.blockers import blocker
from widgets.measure.changes import Change, change_words, describe, make_changes, take_back
from widgets.measure.draft import PlanDraft
from widgets.measure.findings_step import FindingsStep
from widgets.measure.foot import Foot
from widgets.measure.host_reader import HostReader, Reading
from widgets.measure.hosts_step import HostsStep
from widgets.measure.install_dialog import InstallDialog
from widgets.measure.merging import merged
from widgets.measure.parameters_step import ParametersStep
from widgets.measure.plan_files import PlanFiles
from widgets.measure.review_step import ReviewStep
from widgets.measure.side_panel import SidePanel
from widgets.measure.starting import Starting
from widgets.measure.step_bar import StepBar
from widgets.measure.step_view import StepView
from widgets.measure.tests_step import TestsStep
from widgets.measure.tools import Missing
from widgets.page import Page
from widgets.parts.notice import Notice
from widgets.parts.severity import summary
from widgets.theme import SPACE

HOSTS, TESTS, PARAMETERS, FINDINGS, REVIEW = range(5)

CHECKING = "The plan is being checked…"
INCOMPLETE = "The plan cannot be checked as it stands."


class MeasurePage(Page):
    """A plan is made here in five steps; `run_requested` carries it, frozen."""

    run_requested = Signal(object, object)  # a Plan, and the one it was made of: None where it was made here

    def __init__(self, workstation: Workstation, asker: Asker, parent: QWidget | None = None) -> None:
        super().__init__(workstation, asker, parent)
        self.draft = PlanDraft()
        self.assessment: Assessment | None = None
        self._entries: list[HostEntry] = []
        self._quick_for: str | None = None
        self._changes: tuple[Change, ...] = ()
        self.reader = HostReader(workstation, asker, self)
        self.reader.changed.connect(self._host_changed)
        self.assessor = Assessor(workstation, self)
        self.assessor.assessed.connect(self._take_assessment)
        self.assessor.failed.connect(self._fail_assessment)
        self._files = PlanFiles(workstation, self)
        self._files.opened.connect(self.load)
        self._files.saved.connect(self._saved)
        self._files.failed.connect(self._say_error)
        self._build_steps()
        self._build_window()
        self._build_shortcuts()
        self.begin(())

    # What the window asks for

    def begin(self, host_names: Sequence[str] = ()) -> None:
        """Start a new plan on `host_names`."""
        self._quick_for = None
        self.draft.reset(host_names)
        self._fresh(HOSTS)

    def begin_quick(self, name: str) -> None:
        """Read the facts of the host `name`, plan the quick benchmark, and show it ready to run."""
        self.draft.reset([name])
        self._quick_for = name
        self._fresh(HOSTS)
        self.reader.again(name)

    def load(self, plan: Plan, *, ours: bool = False) -> None:
        """Show `plan`, ready to run again or to be changed; `ours` says that Benchwright itself made it."""
        self._quick_for = None
        self.draft.adopt(plan, ours=ours)
        self._fresh(REVIEW)

    def _take_filled(self, filled: Filled, said: str) -> None:
        """Show the plan of a question, with what it leaves open tuned to the host."""
        self._quick_for = None
        self.draft.adopt(filled.plan, filled.chosen, ours=True)
        self._fresh(REVIEW)
        if said:
            self.notice.say("info", said)

    def activated(self) -> None:
        """Read the hosts and the baselines anew, and the questions once."""
        self.starting.offer()
        self.review.repetition.read_baselines(self.workstation)
        job = Job(self.workstation.hosts)
        job.returned.connect(self._take_hosts)
        job.failed.connect(self._say_error)
        job.start()

    def save_to(self, path: Path) -> None:
        """Write the plan to `path`."""
        plan = self.draft.sketch()
        if plan is not None:
            self._files.save_to(plan, path, self.draft.basis)

    def open_from(self, path: Path) -> None:
        """Read the plan at `path` and show it."""
        self._files.open_from(path)

    def _ask_save(self) -> None:
        plan = self.draft.sketch()
        if plan is not None:
            self._files.ask_save(plan, self.draft.basis)

    def _saved(self, path: Path) -> None:
        self.status.emit(f"Plan saved to {path}")
        self.notice.say(
            "good",
            f"The plan is saved as {path}.",
            f"Run it without a window: benchwright run {shlex.quote(str(path))}",
        )

    # Building

    def _build_steps(self) -> None:
        def words(finding: Finding) -> str:
            return describe(self.draft, finding)

        self.hosts = HostsStep(self.draft, self.reader)
        self.tests = TestsStep(self.draft)
        self.parameters = ParametersStep(self.draft)
        self.findings = FindingsStep(self.draft, words)
        self.review = ReviewStep(self.draft)
        self._build_starting()
        self.steps: tuple[StepView, ...] = (self.hosts, self.tests, self.parameters, self.findings, self.review)
        for step in self.steps:
            step.changed.connect(self._user_edited)
        self.tests.install_requested.connect(self._install_missing)
        self.parameters.step_selected.connect(self._show_side)
        self.review.row_selected.connect(self._show_side)
        self.review.save_requested.connect(self._ask_save)
        self.findings.undo_requested.connect(self._undo)
        self.findings.again_requested.connect(self._read_again)
        self.panel = SidePanel(words)
        self.panel.shown.connect(self._side_shown)
        self.side = self.panel
        for source in (self.findings, self.panel):
            source.apply_requested.connect(self._apply)
            source.install_requested.connect(self._install_finding)
            source.acknowledge_requested.connect(self._acknowledge)
            source.more_requested.connect(self.help_requested)

    def _build_starting(self) -> None:
        self.starting = Starting(
            self.draft, (self.hosts.band, self.tests.band), self, self.workstation.consents.filled_here
        )
        self.starting.filled.connect(self._take_filled)
        self.starting.failed.connect(self._say_error)
        self.starting.emptied.connect(self.begin)
        self.starting.planned.connect(lambda plan: self.load(plan, ours=True))

    def _build_window(self) -> None:
        self.bar = StepBar(tuple(step.title for step in self.steps))
        self.bar.chosen.connect(self.go)
        self.notice = Notice()
        self.stack = QStackedWidget()
        for step in self.steps:
            self.stack.addWidget(step)
        wizard = QWidget()
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.starting.hold(wizard))
        column = QVBoxLayout(wizard)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        padded = QVBoxLayout()
        padded.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], 0)
        padded.addWidget(self.notice)
        column.addLayout(padded)
        column.addWidget(self.stack, 1)
        column.addWidget(self._build_foot())

    def _build_foot(self) -> Foot:
        self.foot = Foot()
        self.foot.back.clicked.connect(self.back)
        self.foot.new.clicked.connect(self.starting.ask_anew)
        self.foot.open.clicked.connect(self._files.ask_open)
        self.foot.questions.clicked.connect(self.starting.show_questions)
        self.foot.next.clicked.connect(self.forward)
        return self.foot

    def _build_shortcuts(self) -> None:
        for keys, slot in (("Alt+Left", self.back), ("Alt+Right", self._next_step), ("Ctrl+Return", self._start)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    # Moving between the steps

    @property
    def current(self) -> int:
        """The index of the step that is shown."""
        return self.stack.currentIndex()

    def go(self, index: int) -> None:
        """Show the step `index`, or the last one before it that can be reached."""
        self.starting.show_wizard()
        self.stack.setCurrentIndex(min(index, self._reachable()))
        self.steps[self.current].refresh()
        self.steps[self.current].focus_first()
        self._show()

    def back(self) -> None:
        """Go one step back."""
        if self.current > HOSTS:
            self.go(self.current - 1)

    def forward(self) -> None:
        """Go one step on; from the last one, start."""
        if self.current == REVIEW:
            self._start()
        else:
            self._next_step()

    def _next_step(self) -> None:
        if self.current < REVIEW and not self.steps[self.current].problem():
            self.go(self.current + 1)

    def _reachable(self) -> int:
        for index, step in enumerate(self.steps[:REVIEW]):
            if step.problem() and not (index == HOSTS and self.draft.steps and self.draft.hosts):
                return index
        return REVIEW

    def _start(self) -> None:
        if self.current == REVIEW and not self._obstacle():
            self.run_requested.emit(self.draft.plan(), self.draft.basis)

    def _obstacle(self) -> str:
        """Return what keeps the plan from being started."""
        for step in self.steps:
            if problem := step.problem():
                return problem
        if self.assessor.busy or self.assessment is None:
            return self._waiting()
        return next((words for finding in self.assessment.findings if (words := blocker(finding))), "")

    # The draft changes

    def _fresh(self, index: int) -> None:
        self.assessment, self._changes = None, ()
        self.assessor.drop()
        self.notice.hide()
        self.findings.say_changed("")
        self.hosts.set_hosts(self._entries)
        self._edited()
        self.go(index)

    def _user_edited(self) -> None:
        self._quick_for = None
        self.notice.hide()
        self._edited()

    def _edited(self) -> None:
        """Take notice of a change: read what is missing, check the plan, show everything anew."""
        self.reader.need(self.draft.places(), self.draft.directories(), self.draft.devices())
        plan = self.draft.sketch()
        if plan is None:
            self.assessor.drop()
            self.assessment = None
        else:
            self.assessor.request(plan, self.draft.facts)
        self.steps[self.current].refresh()
        self._show()

    def _take_hosts(self, entries: list[HostEntry]) -> None:
        self._entries = entries
        names = [entry.name for entry in entries]
        self.tests.set_peers(names)
        self.starting.set_hosts(names)
        self.hosts.set_hosts(entries)
        self._show()

    def _host_changed(self, host: str) -> None:
        stands = self.reader.of(host)
        if stands.reading is Reading.READ and stands.facts is not None:
            self.draft.set_facts(stands.facts)
            if self._quick_for == host:
                self._quick_for = None
                self.starting.plan_quick(self.workstation, host, stands.facts)
        self._edited()

    def _take_assessment(self, assessment: Assessment) -> None:
        self.assessment = assessment
        self._show()

    def _fail_assessment(self, error: BenchwrightError) -> None:
        self.assessment = None
        self._say_error(error)
        self._show()

    # Remedies

    def _apply(self, finding: Finding) -> None:
        plan = self.draft.sketch()
        if plan is None:
            return
        workstation = self.workstation
        job = Job(lambda: workstation.apply(plan, finding))
        job.returned.connect(self._take_remedy)
        job.failed.connect(self._say_error)
        job.start()

    def _take_remedy(self, plan: Plan) -> None:
        self._changes = make_changes(self.draft, plan)
        self.draft.changed = plan.changed
        self.findings.say_changed(change_words(self._changes))
        self.status.emit(change_words(self._changes))
        self._edited()

    def _acknowledge(self, finding: Finding, reason: str) -> None:
        given = Acknowledged(finding.id, reason, finding.step)
        self.draft.acknowledged = with_reason(self.draft.acknowledged, given)
        self.status.emit(f"Acknowledged: {finding.title}" if reason else f"No longer acknowledged: {finding.title}")
        self._edited()

    def _reason_of(self, finding: Finding) -> str:
        return reason_of(self.draft.acknowledged, finding)

    def _undo(self) -> None:
        take_back(self.draft, self._changes)
        self._changes = ()
        self.findings.say_changed("")
        self._edited()

    def _install_finding(self, finding: Finding) -> None:
        if finding.install and finding.host:
            self._ask_install(finding.host, finding.install)

    def _install_missing(self, missing: Missing) -> None:
        if missing.install:
            self._ask_install(missing.host, missing.install)

    def _ask_install(self, host: str, command: str) -> None:
        dialog = InstallDialog(self.workstation, self.asker, host, command, self)
        dialog.installed.connect(self._installed)
        dialog.open()

    def _installed(self, host: str) -> None:
        self.reader.again(host, self.draft.directories(), self.draft.devices())

    def _read_again(self) -> None:
        for host in self.draft.places():
            self._installed(host)

    # Showing

    def _say_error(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)

    def _show(self) -> None:
        obstacle = self._obstacle() if self.current == REVIEW else self.steps[self.current].problem()
        begun = bool(self.draft.steps)
        self.foot.show_step(obstacle, first=self.current == HOSTS, last=self.current == REVIEW, begun=begun)
        self._show_assessment()
        self.bar.show_step(self.current, self._reachable(), self._details())
        self._show_side()

    def _details(self) -> tuple[str, ...]:
        draft = self.draft
        wrong = sum(len(step.form.problems()) for step in draft.steps)
        found = "" if self.assessment is None else self._standing(self.assessment).partition(",")[0]
        counts = [str(len(things)) if things else "" for things in (draft.hosts, draft.steps)]
        return (*counts, f"{wrong} not accepted" if wrong else "", found, "")

    def _standing(self, assessment: Assessment) -> str:
        """Return in words the findings that nobody has acknowledged."""
        return summary([found for found in merged(assessment.findings) if not self._reason_of(found)])

    def _show_assessment(self) -> None:
        if self.assessment is not None:
            self.findings.show_report(merged(self.assessment.findings), self.assessment.unsure, self._reason_of)
            found = self.assessment
            self.review.show_previews(found.plan, found.previews, found.as_root)
        else:
            self.findings.show_waiting(self._waiting())
            self.review.show_previews(None, ())

    def _show_side(self) -> None:
        found = () if self.assessment is None else merged(self.assessment.findings)
        empty = self._waiting() if self.assessment is None else "No check speaks against this plan."
        self.panel.choose(findings=self.current != FINDINGS, command=self.current not in {REVIEW, HOSTS})
        self.panel.show_findings(found, empty if self.draft.steps else "No test is chosen yet.", self._reason_of)
        selected = self.review.selected() if self.current == REVIEW else None
        host = selected.host if selected is not None else next(iter(self.draft.hosts), "")
        self.panel.show_facts(self.draft.facts.get(host))
        text, absent = self._command()
        for view in (self.panel.command, self.parameters.command):
            view.set_text(text, absent)

    def _waiting(self) -> str:
        """Return why there are no findings of the plan as it stands."""
        return CHECKING if self.assessor.busy else INCOMPLETE

    def _command(self) -> tuple[str, str]:
        """Return the exact command of the step in front, or why there is none."""
        step = self.parameters.current() if self.current == PARAMETERS else next(iter(self.draft.steps), None)
        if self.assessment is None or step is None:
            return "", "Shown when every value is accepted."
        texts = [preview.text for preview in self.assessment.previews if preview.step == step.name]
        return (texts[0] if texts else ""), ""

    def _side_shown(self, shown: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self.parameters.command.setVisible(not shown)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Pass the keyboard on to the step that is shown."""
        super().focusInEvent(event)
        self.steps[self.current].focus_first()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go on with Enter; on a button, press it."""
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter} or event.modifiers() & ~KEYPAD:
            super().keyPressEvent(event)
            return
        focused = self.focusWidget()
        if isinstance(focused, QAbstractButton) and not isinstance(focused, QCheckBox):
            focused.click()
        elif self.current != REVIEW:
            self.forward()


KEYPAD = Qt.KeyboardModifier.KeypadModifier
