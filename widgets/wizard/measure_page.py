"""The wizard page: hosts and tests, parameters, review. It requests a run and starts none itself."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QStackedWidget, QVBoxLayout

from app.hosts.hosts import HostEntry
from app.plans.plan import Plan
from app.plans.preset_costs import PresetCost, preset_cost
from app.plans.presets import Filled, Preset, presets
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from suites.vocab import Finding
from widgets.jobs import BackgroundJob
from widgets.page import Page
from widgets.parts.boxes import column_in, fill
from widgets.parts.dialogs import opened
from widgets.parts.notice import Notice
from widgets.theme import SPACE
from widgets.wizard.assessor import Assessment, Assessor
from widgets.wizard.draft import PlanDraft
from widgets.wizard.footer import Footer, blocker
from widgets.wizard.host_choices import renamed_hosts
from widgets.wizard.host_reader import HostReader, Reading
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.parameters_step import ParametersStep
from widgets.wizard.plan_files import PlanFiles
from widgets.wizard.plan_issues import PlanIssues
from widgets.wizard.plan_start import PlanStart
from widgets.wizard.plan_step import PlanStep
from widgets.wizard.review_step import ReviewStep
from widgets.wizard.step_bar import StepBar
from widgets.wizard.wizard_step import WizardStep

PLAN, PARAMETERS, REVIEW = range(3)

CHECKING = "Checking the plan…"
INCOMPLETE = "Plan incomplete: not checked"


class MeasurePage(Page):
    """Wizard that builds a plan on three pages and emits it, frozen, as `run_requested`."""

    run_requested = Signal(object, object)  # the Plan, and the opened Plan it is based on or None
    fleet_requested = Signal(object)  # the Plan

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self.draft = PlanDraft()
        self.assessment: Assessment | None = None
        self._entries: list[HostEntry] = []
        self._start_pending = False
        self._listing: BackgroundJob | None = None
        self.reader = HostReader(workstation, asker, self)
        self.reader.changed.connect(self._host_changed)
        self.assessor = Assessor(workstation, self)
        self.assessor.assessed.connect(self._take_assessment)
        self.assessor.failed.connect(self._fail_assessment)
        self._files = PlanFiles(workstation, self)
        self._files.opened.connect(self.load)
        self._files.job_opened.connect(self._take_job)
        self._files.saved.connect(self._saved)
        self._files.failed.connect(self._show_error)
        self._build_steps()
        self._build_window()
        self._build_shortcuts()
        self.begin(())

    # Called by the window

    def begin(self, host_names: Sequence[str] = ()) -> None:
        """Start a new plan on `host_names`. An unsaved plan that is replaced is among the recent ones."""
        self._keep()
        self.draft.reset(host_names)
        self._fresh(PLAN)

    def load(self, plan: Plan, *, generated: bool = False) -> None:
        """Show `plan` on the page Review. `generated`: Benchwright generated it."""
        self._keep()
        self.draft.adopt(plan, generated=generated)
        self._fresh(REVIEW)

    def load_job_file(self, path: Path) -> None:
        """Start a new plan that runs the fio job file at `path`, on the hosts of the present plan."""
        self._files.open_job_file(path, self.draft.hosts)

    def _take_job(self, plan: Plan) -> None:
        """Show the parameters of a plan that runs a job file; its other values are tuned to the host."""
        self._keep()
        self.draft.adopt(plan, {step.name: frozenset({"job"}) for step in plan.steps})
        self._fresh(PARAMETERS)

    def _take_filled(self, filled: Filled, message: str) -> None:
        """Show the plan of a question; values it does not set are tuned to the host."""
        self._keep()
        self.draft.adopt(filled.plan, filled.chosen, generated=True)
        self._fresh(REVIEW)
        if message:
            self.notice.show_message("info", message)

    def activated(self) -> None:
        """Read hosts, baselines and recent plans again, and the questions once."""
        if not self.plan_step.tests.presets:
            BackgroundJob(_costed_presets).start(self.plan_step.tests.set_presets, self._show_error)
        self._list_recent()
        self.review.repetition.read_baselines(self.workstation)
        self.list_hosts()

    def list_hosts(self) -> None:
        """Read the hosts again: the plan follows those that were renamed, added or removed."""
        BackgroundJob(self.workstation.hosts).start(self._take_hosts, self._show_error)

    def _keep(self) -> None:
        """Keep the present plan among the recent ones, unless it is unchanged since it was opened."""
        plan = self.draft.sketch() if self.draft.steps else None
        if plan is not None and plan != self.draft.basis:
            self._files.keep(plan)
            self._list_recent()

    def _list_recent(self) -> None:
        job = self._listing = BackgroundJob(self._files.recent, self)
        job.returned.connect(lambda plans: self.plan_step.tests.set_recent(plans) if job is self._listing else None)
        job.start(failed=self._show_error)

    def take_focus(self) -> None:
        """Focus the first field of the page that is shown."""
        self.steps[self.current].focus_first()

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
        self.plan_step = PlanStep(self.draft, self.reader)
        self.parameters = ParametersStep(self.draft)
        self.review = ReviewStep(self.draft)
        self.steps: tuple[WizardStep, ...] = (self.plan_step, self.parameters, self.review)
        for step in self.steps:
            step.changed.connect(self._user_edited)
        self.review.save_requested.connect(self._ask_save)
        self.plan_start = PlanStart(self.draft, self, self.workstation.consents.remember_filled)
        self.plan_start.filled.connect(self._take_filled)
        self.plan_start.failed.connect(self._show_error)
        self.plan_step.tests.preset_chosen.connect(self.plan_start.choose)
        self.plan_step.tests.plan_chosen.connect(self._files.open_recent)
        self.issues = self.drawer = PlanIssues(self.draft, self.workstation, self.asker)
        self.issues.edited.connect(self._edited)
        self.issues.failed.connect(self._show_error)
        self.issues.reported.connect(self.status)
        self.issues.install_requested.connect(self._install_finding)
        self.issues.recheck_requested.connect(self._reread_facts)
        self.issues.help_requested.connect(self.help_requested)

    def _build_window(self) -> None:
        self.bar = StepBar(tuple(step.title for step in self.steps))
        self.bar.chosen.connect(self.go)
        self.notice = Notice()
        self.stack = QStackedWidget()
        for step in self.steps:
            self.stack.addWidget(step)
        column = column_in(self, 0)
        column.addWidget(self.bar)
        padded = QVBoxLayout()
        padded.setContentsMargins(SPACE[3], SPACE[1], SPACE[3], 0)
        padded.addWidget(self.notice)
        fill(column, padded, (self.stack, 1), self._build_footer(), self.issues)

    def _build_footer(self) -> Footer:
        self.footer = Footer()
        self.footer.back.clicked.connect(self.back)
        self.footer.open.clicked.connect(self._files.ask_open)
        self.footer.next.clicked.connect(self.forward)
        self.footer.fleet.clicked.connect(self._request_fleet)
        return self.footer

    def _build_shortcuts(self) -> None:
        for keys, slot in (("Alt+Left", self.back), ("Alt+Right", self._next_step), ("Ctrl+Return", self._start)):
            shortcut = QShortcut(QKeySequence(keys), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    # Moving between the pages

    @property
    def current(self) -> int:
        """The index of the page that is shown."""
        return self.stack.currentIndex()

    def go(self, index: int) -> None:
        """Show the page `index`, or the last reachable one before it."""
        self.stack.setCurrentIndex(min(index, self._reachable()))
        if self.current == REVIEW:
            self.assessor.renew()
        self.steps[self.current].refresh()
        self.steps[self.current].focus_first()
        self._show()

    def back(self) -> None:
        """Go one page back."""
        if self.current > PLAN:
            self.go(self.current - 1)

    def forward(self) -> None:
        """Go to the next page; on the last one, start."""
        if self.current < REVIEW:
            self._next_step()
        else:
            self._start()

    def _next_step(self) -> None:
        if self.current < REVIEW and not self.steps[self.current].problem():
            self.go(self.current + 1)

    def _reachable(self) -> int:
        for index, step in enumerate(self.steps[:REVIEW]):  # a loaded plan can be reviewed without facts
            if step.problem() and not (index == PLAN and self.draft.steps and self.draft.hosts):
                return index
        return REVIEW

    def _start(self) -> None:
        """Start from any page, once the plan is checked; if something blocks it, show the page Review."""
        obstacle = self._obstacle()
        self._start_pending = obstacle == CHECKING or self.reader.waiting
        if not obstacle:
            self.run_requested.emit(self.draft.plan(), self.draft.basis)
        elif not self._start_pending:
            self.go(REVIEW)

    def _request_fleet(self) -> None:
        if (plan := self.draft.sketch()) is not None:
            self.fleet_requested.emit(plan)

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
        self.assessment = None
        self.assessor.drop()
        self.notice.hide()
        self._start_pending = False
        self.issues.reset()
        self.plan_step.hosts.set_hosts(self._entries)
        self._edited()
        self.go(index)

    def _user_edited(self) -> None:
        self.notice.hide()
        self._start_pending = False
        self._edited()

    def _edited(self) -> None:
        """Handle a change of the draft: read missing facts, check the plan, refresh the page."""
        hosts = [host for host in self.draft.all_hosts() if host not in self.draft.removed]
        self.reader.need(hosts, self.draft.directories(), self.draft.devices())
        plan = self.draft.sketch()
        if plan is None:
            self.assessor.drop()
            self.assessment = None
        else:
            self.assessor.request(plan, self.draft.facts)
        self.steps[self.current].refresh()
        self._show()

    def _take_hosts(self, entries: list[HostEntry]) -> None:
        before, self._entries = self._entries, entries
        names = [entry.name for entry in entries]
        renamed = renamed_hosts(before, entries)
        for old, new in renamed.items():
            self.draft.rename_host(old, new)
        known = {entry.name for entry in before}
        for name in [entry.name for entry in entries if entry not in before and entry.name in known]:
            self.reader.forget(name)
            self.draft.facts.pop(name, None)
        self.draft.removed = (self.draft.removed | known).difference(names)
        self.plan_step.tests.set_peers(names)
        self.plan_start.set_hosts(names)
        self.plan_step.hosts.set_hosts(entries)
        self._edited()

    def _host_changed(self, host: str) -> None:
        state = self.reader.of(host)
        if state.reading is Reading.READ and state.facts is not None:
            self.draft.set_facts(state.facts)
        self._edited()

    def _take_assessment(self, assessment: Assessment) -> None:
        self.assessment = assessment
        self._show()
        if self._start_pending:
            self._start()

    def _fail_assessment(self, error: BenchwrightError) -> None:
        self.assessment = None
        self._show_error(error)
        self._show()

    # Hosts

    def _install_finding(self, finding: Finding) -> None:
        if finding.install and finding.host:
            self._ask_install(finding.host, finding.install)

    def _ask_install(self, host: str, command: str) -> None:
        dialog = InstallDialog(self.workstation, self.asker, host, command, self)
        dialog.installed.connect(self._installed)
        opened(dialog)

    def _installed(self, host: str) -> None:
        self.reader.reread(host, self.draft.directories(), self.draft.devices())

    def _reread_facts(self, hosts: Sequence[str]) -> None:
        for host in hosts:
            self._installed(host)

    # Showing

    def _show_error(self, error: BenchwrightError) -> None:
        self.notice.show_error(error)

    def _show(self) -> None:
        obstacle = self._obstacle() if self.current == REVIEW else self.steps[self.current].problem()
        self.footer.show_step(obstacle, first=self.current == PLAN, last=self.current == REVIEW)
        self._show_assessment()
        self.bar.show_step(self.current, self._reachable(), self._details())

    def _details(self) -> tuple[str, ...]:
        draft = self.draft
        wrong = sum(len(step.problems()) for step in draft.steps)
        counted = ((draft.hosts, "host"), (draft.steps, "test"))
        counts = [count_text(len(things), noun) for things, noun in counted if things]
        return (", ".join(counts), f"{wrong} invalid" if wrong else "", "")

    def _show_assessment(self) -> None:
        found = self.assessment
        self.issues.show_assessment(found, self._waiting())
        self.review.show_skipped(() if found is None else found.skipped)
        if found is not None:
            self.review.show_previews(found.plan, found.previews, found.as_root)
        else:
            self.review.show_previews(None, ())

    def _waiting(self) -> str:
        """Return why the current plan has no findings."""
        return CHECKING if self.assessor.busy else INCOMPLETE

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Pass the focus to the current page."""
        super().focusInEvent(event)
        self.steps[self.current].focus_first()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next page on Enter; on a focused button, click it."""
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter} or event.modifiers() & ~KEYPAD:
            super().keyPressEvent(event)
            return
        focused = self.focusWidget()
        if isinstance(focused, QAbstractButton) and not isinstance(focused, QCheckBox):
            focused.click()
        elif self.current != REVIEW:
            self.forward()


KEYPAD = Qt.KeyboardModifier.KeypadModifier


def _costed_presets() -> list[tuple[Preset, PresetCost | None]]:
    return [(preset, preset_cost(preset)) for preset in presets()]
