"""Side panel of a run: verdict, findings, host and exact command."""

from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.checks.limits import LIMITED_BY
from app.plans.plan_remarks import Acknowledged, reason_of
from app.summary import telemetry_text
from suites.vocab import Finding
from widgets.live.messages import command_text, facts_text
from widgets.live.model import RunModel, StepKey, TrialView
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.findings import FindingList, open_summary
from widgets.parts.names import host_title
from widgets.parts.severity import VerdictView
from widgets.parts.text import Text, Tone, strong, visible
from widgets.theme import SPACE, code_font

_LINES = 6
"""Visible lines of the command; the rest scrolls."""


class RunSidePanel(QWidget):
    """Side panel of a run. Its findings have no actions; those of a stored run can be acknowledged."""

    def __init__(self, *, acknowledging: bool = False) -> None:
        super().__init__()
        self.verdict = VerdictView()
        self._findings_head = Text("Findings", font=strong())
        self.findings = FindingList(actions=False, acknowledging=acknowledging)
        self.findings.set_empty_text("No findings so far.")
        self._host_head, self.host = Text("Host", font=strong()), Text(tone=Tone.MUTED)
        self._command_head = Text("Exact command", font=strong())
        self.command = QPlainTextEdit(readOnly=True)
        self.command.setFont(code_font())
        self.command.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.command.setAccessibleName("Exact command")
        self.command.setTabChangesFocus(True)
        self.command.setFixedHeight(_LINES * self.command.fontMetrics().lineSpacing() + SPACE[3])
        self._shown: tuple[tuple[Finding, ...], tuple[Acknowledged, ...]] = ((), ())
        self.copy = push_button("Copy", self._copy)
        self.copy.setToolTip("Copy the exact command")
        self._command = ""
        command_row = in_row((self._command_head, 1), self.copy)
        column = column_in(self, SPACE[1], (SPACE[2], SPACE[2], SPACE[2], SPACE[2]))
        self.findings.set_head(self.verdict, self._findings_head)
        fill(column, (self.findings, 1), self._host_head, self.host, command_row, self.command)
        self.show_run(None, None, None)

    def show_run(self, model: RunModel | None, step_key: StepKey | None, view: TrialView | None) -> None:
        """Show the findings of `model`, the verdict on `step_key`, its host, and the commands of `view`."""
        self.verdict.show_verdict(None if model is None else model.verdicts.get(step_key))
        acknowledged = model.plan.acknowledged if model is not None and model.plan is not None else ()
        self._show_findings(_besides_limits(model) if model is not None else (), acknowledged)
        lines = _host_lines(model, step_key) if model is not None and step_key is not None else []
        self.host.setText("\n".join(filter(None, lines)))
        self._host_head.setText(host_title(step_key[1]) if step_key is not None else "Host")
        command = command_text(view.trial.commands) if view is not None else ""
        if command != self._command:
            self._command = command
            self.command.setPlainText(visible(command))
        _show_if(self._host_head, self.host, wanted=any(lines))
        _show_if(self._command_head, self.command, self.copy, wanted=bool(self._command))

    def show_remarks(self, acknowledged: tuple[Acknowledged, ...]) -> None:
        """Update which findings are acknowledged."""
        self._show_findings(self._shown[0], acknowledged)

    def _show_findings(self, findings: tuple[Finding, ...], acknowledged: tuple[Acknowledged, ...]) -> None:
        if (findings, acknowledged) == self._shown:
            return

        def why(finding: Finding) -> str:
            return reason_of(acknowledged, finding)

        self._shown = (findings, acknowledged)
        self.findings.set_findings(findings, why)
        counts = open_summary(self.findings.findings(), why)
        self._findings_head.setText(f"Findings: {counts}" if counts else "Findings")

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._command)


def _host_lines(model: RunModel, step_key: StepKey) -> list[str]:
    """Return the facts and the telemetry of the step's host, then those of its peer."""
    step, host = step_key
    peer = model.plan.step(step).peer
    lines: list[str] = []
    for name in dict.fromkeys((host, peer or host)):
        facts = model.facts.get(name)
        about = "" if facts is None else facts_text(facts)
        cost = telemetry_text(model.telemetry_program.get(name), model.telemetry_cost.get(name))
        lines += filter(None, ("" if name == host else f"Peer: {host_title(name)}", about, cost))
    return lines


def _besides_limits(model: RunModel) -> tuple[Finding, ...]:
    """Return the findings without the limits: the verdict on each step has the evidence of its own."""
    limits = {(LIMITED_BY.id, *step_key) for step_key in model.verdicts if step_key is not None}
    return tuple(one for one in model.findings if (one.id, one.step, one.host) not in limits)


def _show_if(*widgets: QWidget, wanted: bool) -> None:
    for widget in widgets:
        widget.setVisible(wanted)
