"""Recent plans, questions and tests in one list that is searched as one types, and the steps of the plan."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QWidget

from app.hosts.packages import has_program
from app.plans.plan import LOCAL
from app.plans.preset_costs import PresetCost
from app.plans.presets import Preset
from app.plans.recent import RecentPlan
from suites import registry
from suites.base import Suite, complete_values
from suites.facts import Facts, known
from suites.quantities import duration_text
from suites.vocab import Resource
from widgets.parts.boxes import column_in, fill, in_column, in_row, row_in
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.flow_layout import flowing
from widgets.parts.names import host_label, host_title
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.choice_list import ChoiceEntry, ChoiceList
from widgets.wizard.draft import DraftStep, PlanDraft
from widgets.wizard.messages import listed
from widgets.wizard.wizard_step import clear

FOUND = "installed"
"""Version text of a tool that is installed but reports no version."""

RESOURCES = {
    Resource.CPU: "CPU",
    Resource.MEMORY: "memory",
    Resource.DISK: "disk",
    Resource.NETWORK: "network",
    Resource.APPLICATION: "application",
}

RECENT, QUESTIONS = "Recent plans", "Questions"


def tool_text(suite: Suite, draft: PlanDraft) -> str:
    """Return the version of the suite's tool on the hosts, or which hosts lack a program that its steps need."""
    hosts = [host for host in draft.hosts if host in draft.facts]
    wanted = [step.form.values() for step in draft.steps_of(suite)] or [complete_values(suite, {})]
    incomplete = {
        host: missing
        for host in hosts
        if (missing := _missing(suite, wanted, draft.facts[host]))
    }  # fmt: skip
    if incomplete:
        programs = " and ".join(dict.fromkeys(name for names in incomplete.values() for name in names))
        return f"no {programs} on {listed(map(host_label, incomplete))}"
    versions = dict.fromkeys(text for host in hosts if (text := _version(suite, draft.facts[host])) is not None)
    return ", ".join(versions)


def _missing(suite: Suite, wanted: Sequence[Mapping[str, object]], facts: Facts) -> list[str]:
    needed = dict.fromkeys(program for values in wanted for program in suite.programs(values, facts))  # type: ignore[arg-type]
    return [program.title for program in needed if has_program(program, facts) is False]


def _version(suite: Suite, facts: Facts) -> str | None:
    tool = facts.tool(suite.tool)
    return known(tool.version) or (FOUND if known(tool.path) is not None else None)


def minutes_text(preset: Preset) -> str:
    """Return the durations of the preset: ``up to 6 min, quick look 1 min``; empty where they depend on the answers."""
    if preset.minutes is None:
        return ""
    quick = preset.quick_minutes
    look = "" if quick is None else f", quick look {duration_text(quick * 60)}"
    return f"up to {duration_text(preset.minutes * 60)}{look}"


class StepLine(QWidget):
    """One step of the plan: name, server host where it needs one, another of its suite, remove."""

    def __init__(self, step: DraftStep, peers: Sequence[str], changed: Callable[[], object]) -> None:
        super().__init__()
        self._step, self._changed = step, changed
        row = row_in(self, SPACE[0])
        fill(row, Text(step.name, wrap=False))
        self.peer = QComboBox()
        if step.suite.needs_peer:
            fill(row, Text("server on", Tone.MUTED, wrap=False), self._fill_peers(peers))
        self.remove = tool_button(icon="remove", accessibleName=f"Remove {step.name}", tip=f"Remove {step.name}")
        self.another = tool_button(icon="add", accessibleName=f"Add another {step.suite.title}", tip="Add another")
        fill(row, self.another, self.remove)

    def _fill_peers(self, peers: Sequence[str]) -> QComboBox:
        chosen = self._step.peer or LOCAL
        for peer in dict.fromkeys([*peers, chosen]):
            self.peer.addItem(host_title(peer), peer)
        self.peer.setCurrentIndex(self.peer.findData(chosen))
        self.peer.setAccessibleName(f"Server host of {self._step.name}")
        self.peer.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.peer.setMinimumContentsLength(10)
        self.peer.activated.connect(self._choose_peer)
        return self.peer

    def _choose_peer(self, index: int) -> None:
        self._step.peer = str(self.peer.itemData(index))
        self._changed()


class SuiteChoices(QWidget):
    """One searchable list of recent plans, questions and tests, and a line for each step of the plan."""

    changed = Signal()
    preset_chosen = Signal(object)  # a Preset
    plan_chosen = Signal(object)  # a RecentPlan

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__()
        self._draft = draft
        self._peers: tuple[str, ...] = (LOCAL,)
        self.presets: dict[str, tuple[Preset, PresetCost | None]] = {}
        self.recent: dict[str, RecentPlan] = {}
        self._drawn: list[tuple[DraftStep, str, str | None]] | None = None
        self.lines: list[StepLine] = []
        self.field = line_edit(
            "Find a question, test or recent plan",
            self._filter,
            placeholderText="Find a question, test or recent plan; Enter takes it",
            clearButtonEnabled=True,
        )
        self.field.installEventFilter(self)
        self.list = ChoiceList("Tests", ("Name", "What it answers", "Time, cost, tool"), stretched=1, first=0.46)
        self.list.ticked.connect(self._tick)
        self.list.taken.connect(self._take)
        self.list.currentItemChanged.connect(self._show_answer)
        self.answer = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self._steps = in_column(spacing=0)
        self._head = Text("Steps of the plan", Tone.MUTED, wrap=False, font=text_font(TextSize.SMALL))
        fill(
            column_in(self, SPACE[1]),
            self.field,
            (self.list, 1),
            self.answer,
            in_row((self._head, 0, Qt.AlignmentFlag.AlignTop), (self._steps, 1), spacing=SPACE[2]),
        )

    def set_peers(self, hosts: Sequence[str]) -> None:
        """Offer `hosts` as the server host of a network test."""
        self._peers = tuple(dict.fromkeys([LOCAL, *hosts]))
        self._drawn = None

    def set_presets(self, found: Sequence[tuple[Preset, PresetCost | None]]) -> None:
        """Offer presets with their costs."""
        self.presets = {f"preset {preset.name}": (preset, cost) for preset, cost in found}
        self.refresh()

    def set_recent(self, plans: Sequence[RecentPlan]) -> None:
        """Offer recent plans."""
        self.recent = {f"plan {number}": plan for number, plan in enumerate(plans)}
        self.refresh()

    def refresh(self) -> None:
        """Show the tests with the tools of the plan's hosts, and the plan's steps."""
        recent = [] if self._draft.steps else [_recent_entry(key, plan) for key, plan in self.recent.items()]
        questions = [_preset_entry(key, *found) for key, found in self.presets.items()]
        self.list.show_entries([*recent, *questions, *(self._suite_entry(suite) for suite in registry.SUITES)])
        drawn = [(step, step.name, step.peer) for step in self._draft.steps]
        if drawn != self._drawn:
            self._drawn = drawn
            self._draw_lines()

    def add(self, suite_id: str) -> DraftStep:
        """Add a step of a suite."""
        step = self._draft.add_step(registry.suite(suite_id))
        self.changed.emit()
        return step

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list with the keys of the field; take the current row with Enter."""
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            key = Qt.Key(event.key())
            if key in {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}:
                self.list.keyPressEvent(event)
                return True
            plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and plain and self.field.text().strip():
                self.list.take()
                self.field.clear()
                return True
        return super().eventFilter(watched, event)

    def _suite_entry(self, suite: Suite) -> ChoiceEntry:
        count = len(self._draft.steps_of(suite))
        title = f"{suite.title} (x{count})" if count > 1 else suite.title
        texts = (title, suite.summary, tool_text(suite, self._draft))
        return ChoiceEntry(suite.id, texts, f"Tests: {RESOURCES[suite.resource]}", ticked=bool(count))

    def _draw_lines(self) -> None:
        clear(self._steps)
        self.lines = [StepLine(step, self._peers, self.changed.emit) for step in self._draft.steps]
        for line, step in zip(self.lines, self._draft.steps, strict=True):
            line.remove.clicked.connect(lambda _checked=False, step=step: self._remove(step))
            line.another.clicked.connect(lambda _checked=False, step=step: self.add(step.suite.id))
        if self.lines:
            self._steps.addWidget(flowing(*self.lines, spacing=SPACE[2]))
        self._head.setVisible(bool(self.lines))

    def _remove(self, step: DraftStep) -> None:
        self._draft.remove_step(step)
        self.changed.emit()

    def _tick(self, suite_id: str, ticked: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        if ticked:
            self.add(suite_id)
            return
        for step in self._draft.steps_of(registry.suite(suite_id)):
            self._draft.remove_step(step)
        self.changed.emit()

    def _take(self, key: str) -> None:
        if key in self.presets:
            self.preset_chosen.emit(self.presets[key][0])
        elif key in self.recent:
            self.plan_chosen.emit(self.recent[key])

    def _show_answer(self) -> None:
        """Show what the current row answers in full: its column may be narrow."""
        key = self.list.current_key()
        self.answer.setText(self.list.entry(key).texts[1] if key else "")

    def _filter(self, text: str) -> None:
        self.list.set_filter(text)


def _preset_entry(key: str, preset: Preset, cost: PresetCost | None) -> ChoiceEntry:
    time = "" if preset.minutes is None else f"≤ {duration_text(preset.minutes * 60)}"
    inputs = "; ".join(f"{ask.parameter.title}{' (optional)' if ask.optional else ''}" for ask in preset.asks)
    tip = "\n".join(filter(None, (preset.answers, minutes_text(preset), f"Asks for: {inputs}" if inputs else "")))
    costs = ", ".join(filter(None, (time, cost.text if cost else "")))
    return ChoiceEntry(
        key, (preset.title, preset.answers, costs), QUESTIONS, tip=tip, also=f"{preset.keywords} {inputs}"
    )


def _recent_entry(key: str, plan: RecentPlan) -> ChoiceEntry:
    what = f"{listed(plan.steps)} on {listed(map(host_label, plan.hosts))}"
    kind = f"saved to {plan.path}" if plan.path else "run"
    return ChoiceEntry(key, (plan.name, what, age_text(plan.when)), RECENT, tip=f"{plan.name}\n{what}\n{kind}")


def age_text(when: str) -> str:
    """Return how long ago a time (UTC, ISO 8601) is, in its largest unit."""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(when).astimezone(UTC)).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
