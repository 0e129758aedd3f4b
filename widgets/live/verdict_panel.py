"""The verdict on a step with its evidence, and the host it was measured on."""

from PySide6.QtWidgets import QWidget

from app.checks.version import CHECKS_VERSION
from app.rejudging.history_text import version_text
from app.summary import notes_text, telemetry_text
from widgets.live.messages import facts_text
from widgets.live.model import RunModel, StepKey
from widgets.parts.boxes import column_in, fill, scrolled
from widgets.parts.names import host_title
from widgets.parts.severity import VerdictView
from widgets.parts.text import Text, Tone, strong
from widgets.theme import SPACE


class VerdictPanel(QWidget):
    """Verdict, evidence of the limit and the next test, and the notes of the trials; then the host's facts."""

    def __init__(self) -> None:
        super().__init__()
        self.verdict = VerdictView()
        self.version = Text(tone=Tone.MUTED)
        self._pending = Text("The verdict is known when the step has ended.", Tone.MUTED)
        self.notes = Text()
        self._host_head, self.host = Text(font=strong()), Text(tone=Tone.MUTED)
        inner = QWidget()
        column = column_in(inner, SPACE[1], (SPACE[1], SPACE[1], SPACE[1], SPACE[1]))
        fill(column, self.verdict, self.version, self._pending, self.notes, self._host_head, self.host, None)
        fill(column_in(self), scrolled(inner))

    def show_step(self, model: RunModel, step_key: StepKey) -> None:
        """Show the verdict on `step_key` and its host."""
        verdict = model.verdicts.get(step_key)
        self.verdict.show_verdict(verdict)
        self._pending.setVisible(verdict is None)
        outdated = verdict is not None and verdict.checks != CHECKS_VERSION
        self.version.setVisible(outdated)
        if verdict is not None and outdated:
            self.version.setText(f"Judged by {version_text(verdict)}.")
        counted = (view for view in model.trials_at(step_key) if view.counts)
        notes = notes_text((view.trial.title, view.ended.parsed.notes) for view in counted if view.ended)
        self.notes.setText("\n".join(notes))
        self.notes.setVisible(bool(notes))
        lines = _host_lines(model, step_key)
        self._host_head.setText(host_title(step_key[1]))
        self.host.setText("\n".join(lines))
        for widget in (self._host_head, self.host):
            widget.setVisible(bool(lines))


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
