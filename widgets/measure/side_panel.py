"""Beside the wizard: what stands against the plan, the host's facts, and the exact command."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFormLayout, QSizePolicy, QVBoxLayout, QWidget

from suites.facts import Facts
from suites.vocab import Finding
from widgets.measure.command_view import CommandView
from widgets.measure.words import long_facts
from widgets.parts.finding_card import Describe, nothing
from widgets.parts.finding_list import FindingList, open_summary
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font


class SidePanel(QWidget):
    """Three sections; each is hidden where the middle of the window shows the same."""

    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(object, str)
    more_requested = Signal(str)
    shown = Signal(bool)  # whether the panel can be seen

    def __init__(self, describe: Describe, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: Facts | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[2], SPACE[2], SPACE[2], SPACE[2])
        column.setSpacing(SPACE[1])
        self._findings_head = Text("Findings", font=text_font(TextSize.BODY, bold=True))
        self.findings = FindingList(describe=describe)
        self.findings.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.findings.apply_requested.connect(self.apply_requested)
        self.findings.install_requested.connect(self.install_requested)
        self.findings.acknowledge_requested.connect(self.acknowledge_requested)
        self.findings.more_requested.connect(self.more_requested)
        self._facts_head = Text(font=text_font(TextSize.BODY, bold=True))
        self._facts_place = QWidget()
        self._form = QFormLayout(self._facts_place)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setHorizontalSpacing(SPACE[1])
        self._form.setVerticalSpacing(2)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self.command = CommandView("Exact command", lines=7)
        column.addWidget(self._findings_head)
        column.addWidget(self.findings)
        column.addSpacing(SPACE[0])
        column.addWidget(self._facts_head)
        column.addWidget(self._facts_place)
        column.addSpacing(SPACE[0])
        column.addWidget(self.command)
        column.addStretch(1)
        self.show_facts(None)
        self.show_findings((), "Nothing is planned yet.")

    def choose(self, *, findings: bool, command: bool) -> None:
        """Show the sections that the middle does not."""
        self._findings_head.setVisible(findings)
        self.findings.setVisible(findings)
        self.command.setVisible(command)

    def show_findings(self, findings: Sequence[Finding], empty: str, reason_of: Describe = nothing) -> None:
        """Show `findings`, those last that are acknowledged, or say `empty`."""
        count = open_summary(findings, reason_of)
        self._findings_head.setText(f"Findings: {count}" if count else "Findings")
        self.findings.set_findings(findings, reason_of)
        self.findings.set_empty_text(empty)

    def show_facts(self, facts: Facts | None) -> None:
        """Show what was read off a host; without any, nothing."""
        if facts is self._facts and facts is not None:
            return
        self._facts = facts
        while self._form.rowCount():
            self._form.removeRow(0)
        self._facts_head.setVisible(facts is not None)
        self._facts_place.setVisible(facts is not None)
        if facts is None:
            return
        self._facts_head.setText(host_title(facts.host))
        for name, words in long_facts(facts):
            tone = Tone.MUTED if words.startswith("absent: ") else Tone.NORMAL
            value = Text(words, tone, font=text_font(TextSize.SMALL))
            value.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            label = Text(name, Tone.MUTED, wrap=False, font=text_font(TextSize.SMALL))
            label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            self._form.addRow(label, value)

    def showEvent(self, event: QShowEvent) -> None:
        """Tell that the panel can be seen."""
        super().showEvent(event)
        self.shown.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Tell that the panel cannot be seen."""
        super().hideEvent(event)
        self.shown.emit(False)
