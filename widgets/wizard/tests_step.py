"""Second step: a card for each suite with its check box, tool version and steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QPushButton, QWidget

from app.hosts.packages import has_program, installation_of
from app.plans.plan import LOCAL
from suites import registry
from suites.base import Suite, complete_values
from suites.facts import Facts, known
from suites.parameters import Values
from suites.vocab import Resource
from widgets.parts.boxes import column_in, fill, in_column, in_row, row_in, scrolled
from widgets.parts.controls import push_button, tool_button
from widgets.parts.fields import TitleBox
from widgets.parts.names import host_label, host_title
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.draft import DraftStep, PlanDraft
from widgets.wizard.questions_view import QuestionBand
from widgets.wizard.wizard_step import WizardStep, clear

FOUND = "installed"
"""Version text of a tool that is installed but reports no version."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Programs missing on a host. `install` is the command that installs them, None where unknown."""

    program: str
    host: str
    install: str | None


def missing_programs(
    suite: Suite, steps: Sequence[Values], hosts: Sequence[str], facts: Mapping[str, Facts]
) -> tuple[Missing, ...]:
    """Return the programs that steps of `suite` with these values need and the hosts lack.

    Without a step, the suite's defaults count. Hosts without facts, and programs that the facts do not cover, are
    not reported.
    """
    found = []
    for host in hosts:
        if host not in facts:
            continue
        wanted = steps or (complete_values(suite, {}),)
        needed = dict.fromkeys(program for values in wanted for program in suite.programs(values, facts[host]))
        missing = [program for program in needed if has_program(program, facts[host]) is False]
        if missing:
            titles = " and ".join(program.title for program in missing)
            found.append(Missing(titles, host, installation_of(missing, facts[host]).command))
    return tuple(found)


def tool_version_text(suite: Suite, hosts: Sequence[str], facts: Mapping[str, Facts]) -> str:
    """Return the version of the suite's tool on the hosts: ``fio-3.33``, or by host where they differ."""
    versions: dict[str, list[str]] = {}
    for host in hosts:
        if host in facts and (version := _version(suite, facts[host])) is not None:
            versions.setdefault(version, []).append(host_label(host))
    if len(versions) == 1 and sum(len(names) for names in versions.values()) == len(hosts):
        return next(iter(versions))
    return "; ".join(
        f"{version} on {names[0] if len(names) == 1 else f'{len(names)} hosts'}" for version, names in versions.items()
    )


def _version(suite: Suite, facts: Facts) -> str | None:
    tool = facts.tool(suite.tool)
    return known(tool.version) or (FOUND if known(tool.path) is not None else None)


class StepLine(QWidget):
    """One step of the suite: name, server host where it needs one, and a remove button."""

    removed = Signal(object)
    changed = Signal()

    def __init__(self, step: DraftStep, peers: Sequence[str]) -> None:
        super().__init__()
        self._step = step
        row = row_in(self, SPACE[1])
        name = Text(step.name)
        row.addWidget(name, 1)
        self.peer = QComboBox()
        if step.suite.needs_peer:
            fill(row, Text("server on", Tone.MUTED, wrap=False), self._fill_peers(peers))
        self.remove = tool_button(
            clicked=self._remove, icon="remove", accessibleName=f"Remove {step.name}", tip=f"Remove {step.name}"
        )
        row.addWidget(self.remove)

    def _fill_peers(self, peers: Sequence[str]) -> QComboBox:
        chosen = self._step.peer or LOCAL
        for peer in dict.fromkeys([*peers, chosen]):
            self.peer.addItem(host_title(peer), peer)
        self.peer.setCurrentIndex(self.peer.findData(chosen))
        self.peer.setAccessibleName(f"Server host of {self._step.name}")
        self.peer.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.peer.setMinimumContentsLength(12)
        self.peer.setMaximumWidth(220)
        self.peer.activated.connect(self._choose_peer)
        return self.peer

    def _choose_peer(self, index: int) -> None:
        self._step.peer = str(self.peer.itemData(index))
        self.changed.emit()

    def _remove(self) -> None:
        self.removed.emit(self._step)


class SuiteCard(QFrame):
    """Check box, summary of the suite, its tool on the hosts, its steps."""

    ticked = Signal(object, bool)  # the Suite
    another_requested = Signal(object)  # the Suite
    removed = Signal(object)  # the DraftStep
    changed = Signal()
    install_requested = Signal(object)  # a Missing

    def __init__(self, suite: Suite) -> None:
        super().__init__()
        self.setObjectName("card")
        self.suite = suite
        self.lines: list[StepLine] = []
        self.install_buttons: list[QPushButton] = []
        self._missing: tuple[Missing, ...] | None = None
        self._steps: list[tuple[DraftStep, str, str | None]] | None = None
        column = column_in(self, SPACE[0], (SPACE[2], SPACE[1], SPACE[2], SPACE[1]))
        fill(column, self._build_head(), Text(suite.summary, Tone.MUTED))
        self._tools = in_column(spacing=SPACE[0])
        column.addLayout(self._tools)
        self._list = in_column(spacing=SPACE[0])
        column.addLayout(self._list)

    def show_steps(self, steps: Sequence[DraftStep], peers: Sequence[str]) -> None:
        """Show the plan's steps of this suite."""
        self.box.setChecked(bool(steps))
        self.another.setVisible(bool(steps))
        drawn = [(step, step.name, step.peer) for step in steps]
        if drawn == self._steps:
            return
        self._steps = drawn
        clear(self._list)
        worth_lines = len(steps) > 1 or self.suite.needs_peer
        self.lines = [StepLine(step, peers) for step in steps] if worth_lines else []
        for line in self.lines:
            line.removed.connect(self.removed)
            line.changed.connect(self.changed)
            self._list.addWidget(line)

    def show_tool(self, versions: str, missing: tuple[Missing, ...]) -> None:
        """Show the versions found and the hosts that lack the tool."""
        self._version.setText(versions)
        if missing == self._missing:
            return
        self._missing = missing
        clear(self._tools)
        self.install_buttons = []
        for each in missing:
            self._tools.addWidget(self._missing_line(each))

    def _build_head(self) -> QHBoxLayout:
        self.box = TitleBox(self.suite.title)
        self.box.clicked.connect(lambda ticked: self.ticked.emit(self.suite, ticked))
        self._version = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self._version.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.another = push_button(
            "Add another", self._ask_another, icon="add", accessibleName=f"Add another {self.suite.title}"
        )
        return in_row(self.box, (self._version, 1), self.another, spacing=SPACE[2])

    def _missing_line(self, missing: Missing) -> QWidget:
        line = QWidget()
        row = row_in(line, SPACE[1])
        row.addWidget(Picture("warning"))
        row.addWidget(Text(f"{missing.program}: not installed on {host_label(missing.host)}.", Tone.WARNING), 1)
        if missing.install:
            button = QPushButton("Install…")
            button.setAccessibleName(f"Install {missing.program} on {missing.host}")
            set_tool_tip(button, f"Asks for confirmation, then runs: {missing.install}")
            button.clicked.connect(lambda: self.install_requested.emit(missing))
            self.install_buttons.append(button)
            row.addWidget(button)
        return line

    def _ask_another(self) -> None:
        self.another_requested.emit(self.suite)


TITLES = {
    Resource.CPU: "CPU",
    Resource.MEMORY: "Memory",
    Resource.DISK: "Disk",
    Resource.NETWORK: "Network",
    Resource.APPLICATION: "Database and application",
}


class TestsStep(WizardStep):
    """A card for every suite. A plan can have several steps of one suite."""

    __test__ = False  # keep pytest from collecting a class named Test…
    title = "Tests"
    install_requested = Signal(object)  # a Missing

    def __init__(self, draft: PlanDraft) -> None:
        explanation = "Parameters are tuned to the first host. Change them on the next step."
        super().__init__(draft, "Tests", explanation)
        self.cards: dict[str, SuiteCard] = {}
        self._peers: tuple[str, ...] = (LOCAL,)
        inner = QWidget()
        inner.setObjectName("page")
        self._list = column_in(inner, SPACE[1], (0, 0, SPACE[1], 0))
        self.band = QuestionBand()
        self._list.addWidget(self.band)
        for resource in Resource:
            of_resource = [suite for suite in registry.SUITES if suite.resource is resource]
            if of_resource:
                self._list.addLayout(_group_head(resource))
            for suite in of_resource:
                self._add_card(suite)
        self._list.addStretch(1)
        self.column.addWidget(scrolled(inner), 1)

    def set_peers(self, hosts: Sequence[str]) -> None:
        """Offer `hosts` as the server host of a network test."""
        self._peers = tuple(dict.fromkeys([LOCAL, *hosts]))

    def refresh(self) -> None:
        """Show the plan's steps and the tools of its hosts."""
        self.band.setVisible(not self.draft.steps)
        for card in self.cards.values():
            steps = self.draft.steps_of(card.suite)
            card.show_steps(steps, self._peers)
            values = [step.form.values() for step in steps]
            missing = missing_programs(card.suite, values, self.draft.hosts, self.draft.facts)
            card.show_tool(tool_version_text(card.suite, self.draft.hosts, self.draft.facts), missing)

    def problem(self) -> str:
        """Return whether a test is missing."""
        return "" if self.draft.steps else "Select at least one test."

    def focus_first(self) -> None:
        """Focus the first suite."""
        first = next(iter(self.cards.values()), None)
        if first is not None:
            first.box.setFocus(Qt.FocusReason.TabFocusReason)

    def _add_card(self, suite: Suite) -> None:
        card = SuiteCard(suite)
        card.ticked.connect(self._tick)
        card.another_requested.connect(self._add)
        card.removed.connect(self._remove)
        card.changed.connect(self.changed)
        card.install_requested.connect(self.install_requested)
        self.cards[suite.id] = card
        self._list.addWidget(card)

    def _tick(self, suite: Suite, ticked: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        if ticked:
            self.draft.add_step(suite)
        else:
            for step in self.draft.steps_of(suite):
                self.draft.remove_step(step)
        self.changed.emit()

    def _add(self, suite: Suite) -> None:
        self.draft.add_step(suite)
        self.changed.emit()

    def _remove(self, step: DraftStep) -> None:
        self.draft.remove_step(step)
        self.changed.emit()


def _group_head(resource: Resource) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(0, SPACE[1], 0, 0)
    row.setSpacing(SPACE[1])
    fill(row, Picture(resource.value), (Text(TITLES[resource], font=text_font(TextSize.BODY, bold=True)), 1))
    return row
