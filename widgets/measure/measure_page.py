"""The wizard inside the window: hosts, tests, parameters, findings, review; it asks for the run and starts none."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.hosts import HostEntry
from app.plan import Plan
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding
from widgets.icons import set_icon
from widgets.jobs import Job
from widgets.measure.assessor import Assessment, Assessor
from widgets.measure.blockers import blocker
from widgets.measure.changes import Change, change_words, describe, make_changes, take_back
from widgets.measure.draft import PlanDraft
from widgets.measure.findings_step import FindingsStep
from widgets.measure.host_reader import HostReader, Reading
from widgets.measure.hosts_step import HostsStep
from widgets.measure.install_dialog import InstallDialog
from widgets.measure.merging import merged
from widgets.measure.parameters_step import ParametersStep
from widgets.measure.review_step import ReviewStep
from widgets.measure.side_panel import SidePanel
from widgets.measure.step_bar import StepBar
from widgets.measure.step_view import StepView
from widgets.measure.tests_step import TestsStep
from widgets.measure.tools import Missing
from widgets.notice import Notice
from widgets.page import Page
from widgets.severity import summary
from widgets.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE

HOSTS, TESTS, PARAMETERS, FINDINGS, REVIEW = range(5)

CHECKING = "The plan is being checked…"
INCOMPLETE = "The plan is not complete yet."


class MeasurePage(Page):
    """A plan is made here in five steps; `run_requested` carries it, frozen."""

    run_requested = Signal(object)  # a Plan

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
        self._build_steps()
        self._build_window()
        self._build_shortcuts()
        self.begin(())

    # What the window asks for

    def begin(self, host_names: Sequence[str]) -> None:
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

    def load(self, plan: Plan) -> None:
        """Show `plan`, ready to run again or to be changed."""
        self._quick_for = None
        self.draft.adopt(plan)
        self._fresh(REVIEW)

    def activated(self) -> None:
        """Read the list of hosts anew."""
        job = Job(self.workstation.hosts)
        job.returned.connect(self._take_hosts)
        job.failed.connect(self._say_error)
        job.start()

    # Saving and opening

    def save_to(self, path: Path) -> None:
        """Write the plan to `path`."""
        try:
            plan = self.draft.plan()
        except BenchwrightError as error:
            self._say_error(error)
            return
        workstation = self.workstation

        def save() -> Path:
            workstation.save_plan(plan, path)
            return path

        job = Job(save)
        job.returned.connect(self._saved)
        job.failed.connect(self._say_error)
        job.start()

    def open_from(self, path: Path) -> None:
        """Read the plan at `path` and show it."""
        workstation = self.workstation
        job = Job(lambda: workstation.load_plan(path))
        job.returned.connect(self.load)
        job.failed.connect(self._say_error)
        job.start()

    def _ask_save(self) -> None:
        dialog = self._file_dialog("Save plan", QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(f"{self.draft.name.strip() or 'plan'}.toml".replace("/", "-"))
        dialog.fileSelected.connect(lambda path: self.save_to(Path(path)))
        dialog.open()

    def _ask_open(self) -> None:
        dialog = self._file_dialog("Open plan", QFileDialog.AcceptMode.AcceptOpen)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.open_from(Path(path)))
        dialog.open()

    def _file_dialog(self, title: str, mode: QFileDialog.AcceptMode) -> QFileDialog:
        dialog = QFileDialog(self, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(mode)
        dialog.setNameFilters(["Plans (*.toml)", "All files (*)"])
        dialog.setDefaultSuffix("toml")
        return dialog

    def _saved(self, path: Path) -> None:
        self.status.emit(f"Plan saved to {path}")
        self.notice.say("good", f"The plan is saved as {path}.", "Run it without a window: benchwright run FILE")

    # Building

    def _build_steps(self) -> None:
        def words(finding: Finding) -> str:
            return describe(self.draft, finding)

        self.hosts = HostsStep(self.draft, self.reader)
        self.tests = TestsStep(self.draft)
        self.parameters = ParametersStep(self.draft)
        self.findings = FindingsStep(self.draft, words)
        self.review = ReviewStep(self.draft)
        self.steps: tuple[StepView, ...] = (self.hosts, self.tests, self.parameters, self.findings, self.review)
        for step in self.steps:
            step.changed.connect(self._edited)
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

    def _build_window(self) -> None:
        self.bar = StepBar(tuple(step.title for step in self.steps))
        self.bar.chosen.connect(self.go)
        self.notice = Notice()
        self.stack = QStackedWidget()
        for step in self.steps:
            self.stack.addWidget(step)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        padded = QVBoxLayout()
        padded.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], 0)
        padded.addWidget(self.notice)
        column.addLayout(padded)
        column.addWidget(self.stack, 1)
        column.addLayout(self._build_foot())

    def _build_foot(self) -> QHBoxLayout:
        self.back_button = QPushButton("Back")
        set_tool_tip(self.back_button, "Alt+Left")
        self.back_button.clicked.connect(self.back)
        self.open_button = QPushButton("Open plan…")
        set_icon(self.open_button, "folder")
        self.open_button.clicked.connect(self._ask_open)
        self.next_button = QPushButton("Next")
        self.next_button.setProperty("primary", True)
        self.next_button.clicked.connect(self.forward)
        self.hint = Text(tone=Tone.MUTED)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        foot = QHBoxLayout()
        foot.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], SPACE[2])
        foot.setSpacing(SPACE[2])
        foot.addWidget(self.back_button)
        foot.addWidget(self.open_button)
        foot.addWidget(self.hint, 1)
        foot.addWidget(self.next_button)
        return foot

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
            self.run_requested.emit(self.draft.plan())

    def _obstacle(self) -> str:
        """Return what keeps the plan from being started."""
        for step in self.steps:
            if problem := step.problem():
                return problem
        if self.assessor.busy or self.assessment is None:
            return CHECKING
        return next((words for finding in self.assessment.findings if (words := blocker(finding))), "")

    # The draft changes

    def _fresh(self, index: int) -> None:
        self.assessment, self._changes = None, ()
        self.notice.hide()
        self.findings.say_changed("")
        self.hosts.set_hosts(self._entries)
        self._edited()
        self.go(index)

    def _edited(self) -> None:
        """Take notice of a change: read what is missing, check the plan, show everything anew."""
        self.reader.need(self.draft.places(), self.draft.directories())
        plan = self.draft.sketch()
        if plan is None:
            self.assessor.drop()
            self.assessment = None
        elif self.assessment is None or self.assessment.plan != plan or self.assessor.busy:
            self.assessor.request(plan, self.draft.facts)
        self.steps[self.current].refresh()
        self._show()

    def _take_hosts(self, entries: list[HostEntry]) -> None:
        self._entries = entries
        self.tests.set_peers([entry.name for entry in entries])
        self.hosts.set_hosts(entries)
        self._show()

    def _host_changed(self, host: str) -> None:
        stands = self.reader.of(host)
        if stands.reading is Reading.READ and stands.facts is not None:
            self.draft.set_facts(stands.facts)
            self.assessment = None
            if self._quick_for == host:
                self._plan_quick(host, stands.facts)
        self._edited()

    def _plan_quick(self, host: str, facts: Facts) -> None:
        self._quick_for = None
        workstation = self.workstation
        job = Job(lambda: workstation.quick_plan(host, facts))
        job.returned.connect(self.load)
        job.failed.connect(self._say_error)
        job.start()

    def _take_assessment(self, assessment: Assessment) -> None:
        self.assessment = assessment
        self._show()

    def _fail_assessment(self, error: BenchwrightError) -> None:
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
        self.findings.say_changed(change_words(self._changes))
        self.status.emit(change_words(self._changes))
        self._edited()

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
        self.reader.again(host, self.draft.directories())

    def _read_again(self) -> None:
        for host in self.draft.places():
            self._installed(host)

    # Showing

    def _say_error(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)

    def _show(self) -> None:
        obstacle = self._obstacle() if self.current == REVIEW else self.steps[self.current].problem()
        self.hint.setText(obstacle)
        self.next_button.setEnabled(not obstacle)
        self.next_button.setText("Start" if self.current == REVIEW else "Next")
        set_tool_tip(self.next_button, "Ctrl+Return" if self.current == REVIEW else "Alt+Right")
        self.back_button.setEnabled(self.current > HOSTS)
        self._show_assessment()
        self.bar.show_step(self.current, self._reachable(), self._details())
        self._show_side()

    def _details(self) -> tuple[str, ...]:
        draft = self.draft
        wrong = sum(len(step.form.problems()) for step in draft.steps)
        found = "" if self.assessment is None else summary(merged(self.assessment.findings)).partition(",")[0]
        counts = [str(len(things)) if things else "" for things in (draft.hosts, draft.steps)]
        return (*counts, f"{wrong} not accepted" if wrong else "", found, "")

    def _show_assessment(self) -> None:
        if self.assessment is not None:
            self.findings.show_report(merged(self.assessment.findings), self.assessment.unsure)
            self.review.show_previews(self.assessment.plan, self.assessment.previews)
        else:
            self.findings.show_waiting(CHECKING if self.assessor.busy else INCOMPLETE)
            self.review.show_previews(None, ())

    def _show_side(self) -> None:
        found = () if self.assessment is None else merged(self.assessment.findings)
        waiting = CHECKING if self.assessor.busy else INCOMPLETE
        empty = waiting if self.assessment is None else "No check speaks against this plan."
        self.panel.choose(findings=self.current != FINDINGS, command=self.current not in {REVIEW, HOSTS})
        self.panel.show_findings(found, empty if self.draft.steps else "No test is chosen yet.")
        selected = self.review.selected() if self.current == REVIEW else None
        host = selected.host if selected is not None else next(iter(self.draft.hosts), "")
        self.panel.show_facts(self.draft.facts.get(host))
        text, absent = self._command()
        for view in (self.panel.command, self.parameters.command):
            view.set_text(text, absent)

    def _command(self) -> tuple[str, str]:
        """Return the exact command of the step in front, or why there is none."""
        step = self.parameters.current() if self.current == PARAMETERS else next(iter(self.draft.steps), None)
        if self.assessment is None or step is None:
            return "", "Shown when every value is accepted."
        texts = [preview.text for preview in self.assessment.previews if preview.step == step.name]
        return (texts[0] if texts else ""), ""

    def _side_shown(self, shown: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self.parameters.command.setVisible(not shown)

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
