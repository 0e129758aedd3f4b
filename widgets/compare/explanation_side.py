"""Beside the comparison: what was compared, why the verdict is that one, what would change it, and the commands."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.comparing.compare import Row
from app.wording import metric_text, run_name
from widgets.compare.compare_lines import CompareLine
from widgets.compare.compared import Compared
from widgets.compare.gate_panel import GatePanel
from widgets.compare.run_words import named_words
from widgets.compare.verdict_words import ICONS, explain
from widgets.live.words import command_text
from widgets.measure.command_view import CommandView
from widgets.parts.names import place_words
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, strong
from widgets.theme import SPACE, TextSize, text_font

_COMMAND_LINES = 6


class _Section(QWidget):
    """A caption and paragraphs; hidden while there are none."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(SPACE[0])
        self._rows.addWidget(Text(caption, font=strong()))
        self.text = Text()
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self._rows.addWidget(self.text)

    def show_paragraphs(self, paragraphs: Sequence[str]) -> None:
        """Show `paragraphs`."""
        shown = [paragraph for paragraph in paragraphs if paragraph]
        self.text.setText("\n".join(shown))
        self.text.setAccessibleName(self.text.text())
        self.setVisible(bool(shown))


class ExplanationSide(QWidget):
    """Follows the line that is chosen in the table."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Text(font=text_font(TextSize.HEADING, bold=True))
        self._place = Text(tone=Tone.MUTED)
        self._mark = Picture("undecided")
        self.verdict = Text(font=text_font(TextSize.BODY, bold=True))
        self.sentence = Text()
        self.compared = _Section("What was compared")
        self.why = _Section("Why")
        self.weakened = _Section("What weakens it")
        self.change = _Section("What would change it")
        self.gate = GatePanel()
        self.notes = _Section("Left out")
        self.method = _Section("How")
        self.commands = (CommandView("", _COMMAND_LINES), CommandView("", _COMMAND_LINES))
        self._build()
        self.show_nothing()

    def show_nothing(self) -> None:
        """There is no line to explain."""
        self._inner.hide()
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def show_line(self, compared: Compared, line: CompareLine) -> None:
        """Explain `line`; that of the baseline is explained by the first run against it."""
        row = line.row
        if row is None:
            self.show_nothing()
            return
        number = line.number or 1
        told = explain(compared.comparison, row, number)
        self._title.setText(metric_text(row.metric, row.labels))
        self._place.setText(place_words(row.step, row.host))
        name, colour = ICONS[told.verdict]
        self._mark.show_icon(name, colour)
        self.verdict.setText(told.said)
        runs = compared.comparison.runs
        self.sentence.setText(told.sentence)
        against = row.against[number - 1]
        self.gate.show_gate(against.differences, compared.comparison.overruled)
        self.compared.show_paragraphs([*told.compared, "One trial is one value.", *told.levels])
        self.why.show_paragraphs([told.why])
        self.weakened.show_paragraphs([f"· {caveat}" for caveat in told.weakened])
        self.change.show_paragraphs([told.change])
        self.notes.show_paragraphs([f"· {note}" for note in _notes(compared)])
        self.method.show_paragraphs([compared.comparison.method[:1].upper() + compared.comparison.method[1:] + "."])
        for view, place in zip(self.commands, (0, number), strict=True):
            view.set_caption(f"Exact command of {run_name(place)}")
            view.setToolTip("")
            view.set_text(_command(compared, row, place), "It was not measured here.")
            view.setAccessibleDescription(named_words(place, runs[place]))
        self._inner.show()
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def _build(self) -> None:
        self._inner = QWidget()
        rows = QVBoxLayout(self._inner)
        rows.setContentsMargins(SPACE[2], SPACE[2], SPACE[2], SPACE[2])
        rows.setSpacing(SPACE[2])
        head = QVBoxLayout()
        head.setSpacing(0)
        head.addWidget(self._title)
        head.addWidget(self._place)
        verdict = QHBoxLayout()
        verdict.setSpacing(SPACE[1])
        verdict.addWidget(self._mark, 0, Qt.AlignmentFlag.AlignTop)
        verdict.addWidget(self.verdict, 1)
        rows.addLayout(head)
        rows.addLayout(verdict)
        rows.addWidget(self.sentence)
        rows.addWidget(self.gate)
        for section in (self.compared, self.why, self.weakened, self.change):
            rows.addWidget(section)
        for view in self.commands:
            rows.addWidget(view)
        for section in (self.notes, self.method):
            rows.addWidget(section)
        rows.addStretch(1)
        area = self._area = QScrollArea()
        area.setWidget(self._inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName("What the verdict rests on")
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(area)


def _notes(compared: Compared) -> list[str]:
    """Return the notes that neither the gate tells nor a verdict that they weaken."""
    told = {caveat.text for row in compared.comparison.rows for each in row.against for caveat in each.caveats}
    left = [note for note in compared.comparison.notes if note not in compared.comparison.remarks]
    return [note for note in left if not any(text in note for text in told) and not note.startswith("Overruled: ")]


def _command(compared: Compared, row: Row, number: int) -> str:
    """Return the commands of the run's last trial of the step, counted or not; nothing where it has none."""
    side = row.sides[number]
    step, host = (row.step, row.host) if side is None else (side.step, side.host)
    hosts = {host} if side is None else {host, *side.hosts}
    here = (trial for trial in compared.records[number].trials if trial.trial.host in hosts)
    trials = [trial for trial in here if trial.trial.step == step]
    return command_text(trials[-1].trial.commands) if trials else ""
