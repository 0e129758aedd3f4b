"""First page: hosts, and tests with the questions and recent plans that fill them in."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from widgets.parts.boxes import column_in, fill
from widgets.parts.names import host_label
from widgets.parts.text import Text
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.draft import PlanDraft
from widgets.wizard.host_choices import HostChoices
from widgets.wizard.host_reader import HostReader
from widgets.wizard.messages import listed
from widgets.wizard.suite_choices import SuiteChoices
from widgets.wizard.wizard_step import WizardStep


class PlanStep(WizardStep):
    """Hosts on the left, tests on the right."""

    title = "Hosts and tests"

    def __init__(self, draft: PlanDraft, reader: HostReader) -> None:
        super().__init__(draft)
        self._reader = reader
        self.hosts = HostChoices(draft, reader)
        self.tests = SuiteChoices(draft)
        for part in (self.hosts, self.tests):
            part.changed.connect(self.changed)
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setChildrenCollapsible(False)
        self.split.setHandleWidth(SPACE[3])
        self.split.addWidget(_titled("Hosts", self.hosts))
        self.split.addWidget(_titled("Tests", self.tests))
        self.split.setStretchFactor(0, 1)
        self.split.setStretchFactor(1, 3)
        self.split.setSizes([240, 880])
        self.column.addWidget(self.split, 1)

    def refresh(self) -> None:
        """Show the hosts and tests of the draft."""
        self.hosts.refresh()
        self.tests.refresh()

    def problem(self) -> str:
        """Return whether hosts, their facts or tests are missing."""
        if not self.draft.hosts:
            return "Select at least one host."
        if not self.draft.steps:
            return "Select at least one test."
        removed = [host_label(host) for host in self.draft.all_hosts() if host in self.draft.removed]
        if removed:
            return f"No longer a host: {listed(removed)}. Select another host, or add it again on Hosts."
        return self._reader.problem(self.draft.hosts)

    def focus_first(self) -> None:
        """Focus the hosts; with hosts in the plan, the search for tests."""
        first = self.tests.field if self.draft.hosts else self.hosts.list
        first.setFocus(Qt.FocusReason.TabFocusReason)


def _titled(title: str, part: QWidget) -> QWidget:
    holder = QWidget()
    fill(column_in(holder, SPACE[1]), Text(title, font=text_font(TextSize.BODY, bold=True)), (part, 1))
    return holder
