"""Above the selected run: its name, how it ended, where and when it ran, what it asks."""

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.events import State
from app.records import RunRecord, RunSummary
from widgets.library.run_lines import RunLine, local_time, took
from widgets.library.run_model import STATE_ICONS
from widgets.parts.names import host_title
from widgets.parts.notice import FieldMessage, Picture
from widgets.parts.one_line import OneLine
from widgets.parts.text import set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

_LEVELS = {State.PARTIAL: "warning", State.FAILED: "error", State.RUNNING: "info"}


class RunHead(QWidget):
    """Three lines; the third only where there is a question, and one more where the run did not end well."""

    def __init__(self) -> None:
        super().__init__()
        self.name = OneLine(text_font(TextSize.HEADING, bold=True))
        self.place = OneLine(text_font(TextSize.BODY), "muted")
        self.question = OneLine(text_font(TextSize.BODY))
        self.mark = Picture("good")
        self.state = OneLine(text_font(TextSize.BODY))
        self.reason = FieldMessage()
        first = QHBoxLayout()
        first.setSpacing(SPACE[1])
        first.addWidget(self.name, 1)
        first.addWidget(self.mark)
        first.addWidget(self.state)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(2)
        rows.addLayout(first)
        for widget in (self.place, self.question, self.reason):
            rows.addWidget(widget)

    def show_line(self, run: RunSummary, chosen: Sequence[RunLine]) -> None:
        """Show what the table knows of `run`, at once; say so where others are selected beside it."""
        beside = f"   shown of {len(chosen)} selected" if len(chosen) > 1 else ""
        self.name.set_text(run.name + beside)
        hosts = ", ".join(host_title(host) for host in run.hosts)
        parts = (local_time(run.started), hosts, ", ".join(run.steps), took(run), run.id)
        self.place.set_text(" · ".join(part for part in parts if part))
        set_tool_tip(self.place, "\n".join(part for part in parts if part))
        self.question.set_text(run.question)
        self.question.setVisible(bool(run.question))
        self.mark.show_icon(STATE_ICONS[run.state])
        self.state.set_text(run.standing)
        self._say(run.state, "")

    def show_record(self, record: RunRecord) -> None:
        """Show also why the run did not end well."""
        self._say(record.summary.state, record.reason)

    def _say(self, state: State, reason: str) -> None:
        self.reason.setVisible(bool(reason) and state in _LEVELS)
        if reason and state in _LEVELS:
            self.reason.say(_LEVELS[state], reason)
