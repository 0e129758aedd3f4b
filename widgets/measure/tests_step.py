"""Second step: what is measured, grouped by what it puts under load."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.plans.plan import LOCAL
from suites.base import Suite
from suites.vocab import Resource
from widgets.measure.draft import DraftStep, PlanDraft, suites
from widgets.measure.question_card import QuestionBand
from widgets.measure.step_view import StepView, scrolled
from widgets.measure.suite_card import SuiteCard
from widgets.measure.tools import missing_programs, tool_words
from widgets.parts.notice import Picture
from widgets.parts.text import Text
from widgets.theme import SPACE, TextSize, text_font

TITLES = {
    Resource.CPU: "CPU",
    Resource.MEMORY: "Memory",
    Resource.DISK: "Disk",
    Resource.NETWORK: "Network",
    Resource.APPLICATION: "Database and application",
}


class TestsStep(StepView):
    """A card for every suite there is. A suite can be in the plan more than once, with other parameters."""

    __test__ = False  # the name means something else to pytest
    title = "Tests"
    install_requested = Signal(object)  # a Missing

    def __init__(self, draft: PlanDraft, parent: QWidget | None = None) -> None:
        explanation = "Every parameter is fitted to the host and can be changed in the next step."
        super().__init__(draft, "What shall be measured?", explanation, parent)
        self.cards: dict[str, SuiteCard] = {}
        self._peers: tuple[str, ...] = (LOCAL,)
        inner = QWidget()
        inner.setObjectName("page")
        self._list = QVBoxLayout(inner)
        self._list.setContentsMargins(0, 0, SPACE[1], 0)
        self._list.setSpacing(SPACE[1])
        self.band = QuestionBand()
        self._list.addWidget(self.band)
        for resource in Resource:
            of_resource = [suite for suite in suites() if suite.resource is resource]
            if of_resource:
                self._list.addLayout(_group_head(resource))
            for suite in of_resource:
                self._add_card(suite)
        self._list.addStretch(1)
        self.column.addWidget(scrolled(inner), 1)

    def set_peers(self, hosts: Sequence[str]) -> None:
        """Offer `hosts` as the other end of a network test."""
        self._peers = tuple(dict.fromkeys([LOCAL, *hosts]))

    def refresh(self) -> None:
        """Show the plan's steps and the tools of its hosts."""
        self.band.setVisible(not self.draft.steps)
        for card in self.cards.values():
            steps = self.draft.steps_of(card.suite)
            card.show_steps(steps, self._peers)
            values = [step.form.values() for step in steps]
            missing = missing_programs(card.suite, values, self.draft.hosts, self.draft.facts)
            card.show_tool(tool_words(card.suite, self.draft.hosts, self.draft.facts), missing)

    def problem(self) -> str:
        """Say that nothing is chosen."""
        return "" if self.draft.steps else "Pick at least one test."

    def focus_first(self) -> None:
        """Put the keyboard on the first suite."""
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
    row.addWidget(Picture(resource.value))
    row.addWidget(Text(TITLES[resource], font=text_font(TextSize.BODY, bold=True)), 1)
    return row
