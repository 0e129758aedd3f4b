"""The wizard page: hosts, tests, parameters, findings, review. It requests a run and starts none itself."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QStackedWidget, QVBoxLayout, QWidget

from app.hosts.hosts import HostEntry
from app.plans.plan import Plan
from app.plans.plan_remarks import reason_of, with_reason, with_reason_for
from app.plans.presets import Filled
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.vocab import Finding
from widgets.jobs import BackgroundJob
from widgets.page import Page
from widgets.parts.boxes import column_in, fill
from widgets.parts.dialogs import opened
from widgets.parts.findings import acknowledged_text
from widgets.parts.notice import Notice
from widgets.parts.severity import counts_of
from widgets.theme import SPACE
from widgets.wizard.assessor import Assessment, Assessor
from widgets.wizard.draft import PlanDraft
from widgets.wizard.findings_step import NO_ISSUES, FindingsStep
from widgets.wizard.footer import Footer, blocker
from widgets.wizard.host_reader import HostReader, Reading
from widgets.wizard.hosts_step import HostsStep
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.parameters_step import ParametersStep
from widgets.wizard.plan_files import PlanFiles, merged
from widgets.wizard.plan_start import PlanStart
from widgets.wizard.remedies import ValueChange, changes_text, describe, make_changes, undo_changes
from widgets.wizard.review_step import ReviewStep
from widgets.wizard.side_panel import SidePanel
from widgets.wizard.step_bar import StepBar
from widgets.wizard.tests_step import Missing, TestsStep
from widgets.wizard.wizard_step import WizardStep

HOSTS, TESTS, PARAMETERS, FINDINGS, REVIEW = range(5)

CHECKING = "Checking the plan…"
INCOMPLETE = "Plan incomplete: not checked."


class MeasurePage(Page):
    """Wizard that builds a plan in five steps and emits it, frozen, as `run_requested`."""

    run_requested = Signal(object, object)  # the Plan, and the opened Plan it is based on or None

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self.draft = PlanDraft()
        self.assessment: Assessment | None = None
        self._entries: list[HostEntry] = []
        self._changes: tuple[ValueChange, ...] = ()
        self.reader = HostReader(workstation, asker, self)
        self.reader.changed.connect(self._host_changed)
        self.assessor = Assessor(workstation, self)
        self.assessor.assessed.connect(self._take_assessment)
        self.assessor.failed.connect(self._fail_assessment)
        self._files = PlanFiles(workstation, self)
        self._files.opened.connect(self.load)
        self._files.saved.connect(self._saved)
        self._files.failed.connect(self._show_error)
        self._build_steps()
        self._build_window()
        self._build_shortcuts()
        self.begin(())

    # Called by the window

    def begin(self, host_names: Sequence[str] = ()) -> None:
        """Start a new plan on `host_names`."""
        self.draft.reset(host_names)
        self._fresh(HOSTS)

    def load(self, plan: Plan, *, generated: bool = False) -> None:
        """Show `plan` on the Review step. `generated`: Benchwright generated it."""
        self.draft.adopt(plan, generated=generated)
        self._fresh(REVIEW)

    def _take_filled(self, filled: Filled, message: str) -> None:
        """Show the plan of a question; values it does not set are tuned to the host."""
        self.draft.adopt(filled.plan, filled.chosen, generated=True)
        self._fresh(REVIEW)
        if message:
            self.notice.show_message("info", message)

    def activated(self) -> None:
        """Read the hosts and baselines again, and the questions once."""
        self.plan_start.offer()
        self.review.repetition.read_baselines(self.workstation)
        BackgroundJob(self.workstation.hosts).start(self._take_hosts, self._show_error)

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
        message = f"Plan saved to {path}"
        self.status.emit(message)
        self.notice.show_message(
            "good", f"{message}.", f"Run it on the command line: benchwright run {shlex.quote(str(path))}"
        )

    # Building

    def _build_steps(self) -> None:
        def changes(finding: Finding) -> str:
            return describe(self.draft, finding)

        self.hosts = HostsStep(self.draft, self.reader)
        self.tests = TestsStep(self.draft)
        self.parameters = ParametersStep(self.draft)
        self.findings = FindingsStep(self.draft, changes)
        self.review = ReviewStep(self.draft)
        self._build_starting()
        self.steps: tuple[WizardStep, ...] = (self.hosts, self.tests, self.parameters, self.findings, self.review)
        for step in self.steps:
            step.changed.connect(self._user_edited)
        self.tests.install_requested.connect(self._install_missing)
        self.parameters.step_selected.connect(self._show_side)
        self.review.row_selected.connect(self._show_side)
        self.review.save_requested.connect(self._ask_save)
        self.findings.undo_requested.connect(self._undo)
        self.findings.recheck_requested.connect(self._reread_facts)
        self.panel = SidePanel(changes)
        self.panel.shown.connect(lambda shown: self.parameters.command.setVisible(not shown))
        self.side = self.panel
        for source in (self.findings, self.panel):
            source.apply_requested.connect(self._apply)
            source.install_requested.connect(self._install_finding)
            source.acknowledge_requested.connect(self._acknowledge)
            source.more_requested.connect(self.help_requested)

    def _build_starting(self) -> None:
        self.plan_start = PlanStart(
            self.draft, (self.hosts.band, self.tests.band), self, self.workstation.consents.remember_filled
        )
        self.plan_start.filled.connect(self._take_filled)
        self.plan_start.failed.connect(self._show_error)
        self.plan_start.emptied.connect(self.begin)

    def _build_window(self) -> None:
        self.bar = StepBar(tuple(step.title for step in self.steps))
        self.bar.chosen.connect(self.go)
        self.notice = Notice()
        self.stack = QStackedWidget()
        for step in self.steps:
            self.stack.addWidget(step)
        wizard = QWidget()
        fill(column_in(self), self.plan_start.hold(wizard))
        column = column_in(wizard, 0)
        column.addWidget(self.bar)
        padded = QVBoxLayout()
        padded.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], 0)
        padded.addWidget(self.notice)
        fill(column, padded, (self.stack, 1), self._build_footer())

    def _build_footer(self) -> Footer:
        self.footer = Footer()
        self.footer.back.clicked.connect(self.back)
        self.footer.new.clicked.connect(self.plan_start.ask_new)
        self.footer.open.clicked.connect(self._files.ask_open)
        self.footer.questions.clicked.connect(self.plan_start.show_questions)
        self.footer.next.clicked.connect(self.forward)
        return self.footer

    def _build_shortcuts(self) -> None:
        for keys, slot in (("Alt+Left", self.back), ("Alt+Right", self._next_step), ("Ctrl+Return", self._start)):
            shortcut = QShortcut(QKeySequence(keys), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    # Moving between the steps

    @property
    def current(self) -> int:
        """The index of the step that is shown."""
        return self.stack.currentIndex()

    def go(self, index: int) -> None:
        """Show the step `index`, or the last reachable one before it."""
        self.plan_start.show_wizard()
        self.stack.setCurrentIndex(min(index, self._reachable()))
        if self.current in {FINDINGS, REVIEW}:
            self.assessor.renew()
        self.steps[self.current].refresh()
        self.steps[self.current].focus_first()
        self._show()

    def back(self) -> None:
        """Go one step back."""
        if self.current > HOSTS:
            self.go(self.current - 1)

    def forward(self) -> None:
        """Go to the next step; on the last one, start."""
        if self.current < REVIEW:
            self._next_step()
        elif not self._obstacle():
            self.run_requested.emit(self.draft.plan(), self.draft.basis)

    def _next_step(self) -> None:
        if self.current < REVIEW and not self.steps[self.current].problem():
            self.go(self.current + 1)

    def _reachable(self) -> int:
        for index, step in enumerate(self.steps[:REVIEW]):  # a loaded plan can be reviewed without facts
            if step.problem() and not (index == HOSTS and self.draft.steps and self.draft.hosts):
                return index
        return REVIEW

    def _start(self) -> None:
        if self.current == REVIEW:
            self.forward()

    def _obstacle(self) -> str:
        """Return why the plan cannot start, or an empty string."""
        for step in self.steps:
            if problem := step.problem():
                return problem
        if self.assessor.busy or self.assessment is None:
            return self._waiting()
        return next((text for finding in self.assessment.findings if (text := blocker(finding))), "")

    # The draft changes

    def _fresh(self, index: int) -> None:
        self.assessment, self._changes = None, ()
        self.assessor.drop()
        self.notice.hide()
        self.findings.show_changes("")
        self.hosts.set_hosts(self._entries)
        self._edited()
        self.go(index)

    def _user_edited(self) -> None:
        self.notice.hide()
        self._edited()

    def _edited(self) -> None:
        """Handle a change of the draft: read missing facts, check the plan, refresh the page."""
        self.reader.need(self.draft.all_hosts(), self.draft.directories(), self.draft.devices())
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
        self.plan_start.set_hosts(names)
        self.hosts.set_hosts(entries)
        self._show()

    def _host_changed(self, host: str) -> None:
        state = self.reader.of(host)
        if state.reading is Reading.READ and state.facts is not None:
            self.draft.set_facts(state.facts)
        self._edited()

    def _take_assessment(self, assessment: Assessment) -> None:
        self.assessment = assessment
        self._show()

    def _fail_assessment(self, error: BenchwrightError) -> None:
        self.assessment = None
        self._show_error(error)
        self._show()

    # Remedies

    def _apply(self, finding: Finding) -> None:
        plan = self.draft.sketch()
        if plan is None:
            return
        workstation = self.workstation
        BackgroundJob(lambda: workstation.apply(plan, finding)).start(self._take_remedy, self._show_error)

    def _take_remedy(self, plan: Plan) -> None:
        self._changes = make_changes(self.draft, plan)
        self.draft.changed = plan.changed
        text = changes_text(self._changes)
        self.findings.show_changes(text)
        self.status.emit(text)
        self._edited()

    def _acknowledge(self, findings: tuple[Finding, ...], reason: str) -> None:
        for given in with_reason_for(findings, reason):
            self.draft.acknowledged = with_reason(self.draft.acknowledged, given)
        self.status.emit(acknowledged_text(findings, reason))
        self._edited()

    def _reason_of(self, finding: Finding) -> str:
        return reason_of(self.draft.acknowledged, finding)

    def _undo(self) -> None:
        undo_changes(self.draft, self._changes)
        self._changes = ()
        self.findings.show_changes("")
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
        opened(dialog)

    def _installed(self, host: str) -> None:
        self.reader.reread(host, self.draft.directories(), self.draft.devices())

    def _reread_facts(self) -> None:
        for host in self.draft.all_hosts():
            self._installed(host)

    # Showing

    def _show_error(self, error: BenchwrightError) -> None:
        self.notice.show_error(error)

    def _show(self) -> None:
        obstacle = self._obstacle() if self.current == REVIEW else self.steps[self.current].problem()
        begun = bool(self.draft.steps)
        self.footer.show_step(obstacle, first=self.current == HOSTS, last=self.current == REVIEW, begun=begun)
        self._show_assessment()
        self.bar.show_step(self.current, self._reachable(), self._details())
        self._show_side()

    def _details(self) -> tuple[str, ...]:
        draft = self.draft
        wrong = sum(len(step.form.problems()) for step in draft.steps)
        findings = () if self.assessment is None else merged(self.assessment.findings)
        found = next(iter(counts_of([each for each in findings if not self._reason_of(each)])), "")
        counts = [str(len(things)) if things else "" for things in (draft.hosts, draft.steps)]
        return (*counts, f"{wrong} invalid" if wrong else "", found, "")

    def _show_assessment(self) -> None:
        if self.assessment is not None:
            self.findings.show_report(merged(self.assessment.findings), self.assessment.skipped, self._reason_of)
            found = self.assessment
            self.review.show_previews(found.plan, found.previews, found.as_root)
        else:
            self.findings.show_waiting(self._waiting())
            self.review.show_previews(None, ())

    def _show_side(self) -> None:
        found = () if self.assessment is None else merged(self.assessment.findings)
        empty = self._waiting() if self.assessment is None else NO_ISSUES
        self.panel.choose(findings=self.current != FINDINGS, command=self.current not in {REVIEW, HOSTS})
        self.panel.show_findings(found, empty if self.draft.steps else "No test selected.", self._reason_of)
        selected = self.review.table.current() if self.current == REVIEW else None
        host = selected.host if selected is not None else next(iter(self.draft.hosts), "")
        self.panel.show_facts(self.draft.facts.get(host))
        text, absent = self._command()
        for view in (self.panel.command, self.parameters.command):
            view.set_text(text, absent)

    def _waiting(self) -> str:
        """Return why the current plan has no findings."""
        return CHECKING if self.assessor.busy else INCOMPLETE

    def _command(self) -> tuple[str, str]:
        """Return the exact command of the current step, and the reason where there is none."""
        step = self.parameters.current() if self.current == PARAMETERS else next(iter(self.draft.steps), None)
        if self.assessment is None or step is None:
            return "", "Available when every value is valid."
        texts = [preview.text for preview in self.assessment.previews if preview.step == step.name]
        return (texts[0] if texts else ""), ""

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Pass the focus to the current step."""
        super().focusInEvent(event)
        self.steps[self.current].focus_first()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next step on Enter; on a focused button, click it."""
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter} or event.modifiers() & ~KEYPAD:
            super().keyPressEvent(event)
            return
        focused = self.focusWidget()
        if isinstance(focused, QAbstractButton) and not isinstance(focused, QCheckBox):
            focused.click()
        elif self.current != REVIEW:
            self.forward()


KEYPAD = Qt.KeyboardModifier.KeypadModifier
