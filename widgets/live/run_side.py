"""What explains a run, on the right: its findings, its host in a few lines, the exact command."""

from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.plans.plan_remarks import Acknowledged, reason_of
from suites.vocab import Finding
from widgets.live.model import Place, RunModel, TrialView
from widgets.live.words import command_text, cost_text, facts_text
from widgets.parts.finding_list import FindingList, open_summary
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone, strong, visible
from widgets.parts.trust import VerdictView
from widgets.theme import SPACE, code_font

_LINES = 6
"""Lines of the command that are seen at once; the rest scrolls."""


class RunSide(QWidget):
    """Follows a model; findings of a run are told, not acted on, but those of a stored one can be acknowledged."""

    def __init__(self, *, acknowledging: bool = False) -> None:
        super().__init__()
        self.verdict = VerdictView()
        self._findings_head = Text("Findings", font=strong())
        self.findings = FindingList(actions=False, acknowledging=acknowledging)
        self.findings.set_empty_text("No finding so far.")
        self._host_head, self.host = Text("Host", font=strong()), Text(tone=Tone.MUTED)
        self._command_head = Text("Exact command", font=strong())
        self.command = QPlainTextEdit()
        self.command.setReadOnly(True)
        self.command.setFont(code_font())
        self.command.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.command.setAccessibleName("Exact command")
        self.command.setTabChangesFocus(True)
        self.command.setFixedHeight(_LINES * self.command.fontMetrics().lineSpacing() + SPACE[3])
        self._shown: tuple[tuple[Finding, ...], tuple[Acknowledged, ...]] = ((), ())
        self.copy = QPushButton("Copy")
        self.copy.setToolTip("Copy the exact command")
        self.copy.clicked.connect(self._copy)
        self._command = ""
        command_row = QHBoxLayout()
        command_row.addWidget(self._command_head, 1)
        command_row.addWidget(self.copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[2], SPACE[2], SPACE[2], SPACE[2])
        column.setSpacing(SPACE[1])
        column.addWidget(self.verdict)
        column.addWidget(self._findings_head)
        column.addWidget(self.findings, 1)
        column.addWidget(self._host_head)
        column.addWidget(self.host)
        column.addLayout(command_row)
        column.addWidget(self.command)
        self.show_run(None, None, None)

    def show_run(self, model: RunModel | None, place: Place | None, view: TrialView | None) -> None:
        """Show what is known of `model`, the verdict on `place` and its host, and the command of `view`."""
        self.verdict.show_verdict(None if model is None else model.verdicts.get(place))
        acknowledged = model.plan.acknowledged if model is not None and model.plan is not None else ()
        self._show_findings(tuple(model.findings) if model is not None else (), acknowledged)
        facts = model.facts.get(place[1]) if model is not None and place is not None else None
        words = [facts_text(facts)] if facts is not None else []
        if model is not None and model.telemetry_cost:
            words.append(cost_text(model))
        self.host.setText("\n".join(words))
        self._host_head.setText(host_title(place[1]) if place is not None else "Host")
        command = command_text(view.trial.commands) if view is not None else ""
        if command != self._command:
            self._command = command
            self.command.setPlainText(visible(command))
        _show_if(bool(words), self._host_head, self.host)
        _show_if(bool(self._command), self._command_head, self.command, self.copy)

    def show_remarks(self, acknowledged: tuple[Acknowledged, ...]) -> None:
        """Show what of the findings is acknowledged by now; all else stays as it is."""
        self._show_findings(self._shown[0], acknowledged)

    def _show_findings(self, findings: tuple[Finding, ...], acknowledged: tuple[Acknowledged, ...]) -> None:
        if (findings, acknowledged) == self._shown:
            return

        def why(finding: Finding) -> str:
            return reason_of(acknowledged, finding)

        self._shown = (findings, acknowledged)
        self.findings.set_findings(findings, why)
        counts = open_summary(findings, why)
        self._findings_head.setText(f"Findings: {counts}" if counts else "Findings")

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._command)


def _show_if(wanted: bool, *widgets: QWidget) -> None:  # noqa: FBT001 (private; reads as a sentence)
    for widget in widgets:
        widget.setVisible(wanted)
