"""Side panel of the wizard: findings, host facts and the exact command."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFormLayout, QSizePolicy, QWidget

from suites.facts import Absent, Facts
from suites.vocab import Finding
from widgets.parts.boxes import column_in, fill
from widgets.parts.findings import Describe, FindingList, no_description, open_summary
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.command_view import CommandView
from widgets.wizard.messages import long_facts


class SidePanel(QWidget):
    """Three sections; each is hidden where the page itself shows the same."""

    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(tuple, str)
    more_requested = Signal(str)
    shown = Signal(bool)  # whether the panel is visible

    def __init__(self, describe: Describe) -> None:
        super().__init__()
        self._facts: Facts | None = None
        column = column_in(self, SPACE[1], (SPACE[2], SPACE[2], SPACE[2], SPACE[2]))
        self._findings_head = Text("Findings", font=text_font(TextSize.BODY, bold=True))
        self.findings = FindingList(describe=describe)
        self.findings.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.findings.apply_requested.connect(self.apply_requested)
        self.findings.install_requested.connect(self.install_requested)
        self.findings.acknowledge_requested.connect(self.acknowledge_requested)
        self.findings.more_requested.connect(self.more_requested)
        self._facts_head = Text(font=text_font(TextSize.BODY, bold=True))
        self._facts_form = QWidget()
        self._form = QFormLayout(self._facts_form)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setHorizontalSpacing(SPACE[1])
        self._form.setVerticalSpacing(2)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self.command = CommandView("Exact command", lines=7)
        column.addWidget(self._findings_head)
        fill(column, self.findings, SPACE[0], self._facts_head, self._facts_form, SPACE[0], self.command, None)
        self.show_facts(None)
        self.show_findings((), "No plan yet.")

    def choose(self, *, findings: bool, command: bool) -> None:
        """Show the sections that the page does not show."""
        self._findings_head.setVisible(findings)
        self.findings.setVisible(findings)
        self.command.setVisible(command)

    def show_findings(self, findings: Sequence[Finding], empty: str, reason_of: Describe = no_description) -> None:
        """Show `findings`, acknowledged ones last, or the text `empty`."""
        count = open_summary(findings, reason_of)
        self._findings_head.setText(f"Findings: {count}" if count else "Findings")
        self.findings.set_findings(findings, reason_of)
        self.findings.set_empty_text(empty)

    def show_facts(self, facts: Facts | None) -> None:
        """Show the facts of a host; hide the section for None."""
        if facts is self._facts and facts is not None:
            return
        self._facts = facts
        while self._form.rowCount():
            self._form.removeRow(0)
        self._facts_head.setVisible(facts is not None)
        self._facts_form.setVisible(facts is not None)
        if facts is None:
            return
        self._facts_head.setText(host_title(facts.host))
        for name, text in long_facts(facts):
            shown = (f"absent: {text.reason}", Tone.MUTED) if isinstance(text, Absent) else (text, Tone.NORMAL)
            value = Text(*shown, font=text_font(TextSize.SMALL))
            value.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            label = Text(name, Tone.MUTED, wrap=False, font=text_font(TextSize.SMALL))
            label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            self._form.addRow(label, value)

    def showEvent(self, event: QShowEvent) -> None:
        """Emit that the panel is visible."""
        super().showEvent(event)
        self.shown.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Emit that the panel is hidden."""
        super().hideEvent(event)
        self.shown.emit(False)
