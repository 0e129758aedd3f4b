"""Explanation of a row's verdict, with the differences that affect comparability."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.comparison.comparability import Difference, Weight
from app.comparison.comparison import ComparisonRow, run_name
from app.comparison.verdicts import UNSETTLED, ComparisonVerdict
from suites.quantities import first_upper, metric_text
from widgets.compare.compare_rows import Compared, CompareLine
from widgets.compare.messages import ICONS, explain, numbered_run_name
from widgets.live.messages import command_text
from widgets.parts.boxes import column_in, fill, in_column, in_row, scrolled
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import QuestionDialog, opened
from widgets.parts.names import step_host_label
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, set_tool_tip, strong
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.command_view import CommandView

_HEADS = {
    Weight.FATAL: ("Not comparable", Tone.ERROR),
    Weight.EXPLAINS: ("May explain a difference", Tone.NORMAL),
    Weight.HARMLESS: ("Harmless", Tone.MUTED),
}

LONGEST_REASON = 200


class GatePanel(QWidget):
    """Differences between two sides, grouped by weight; hidden if there are none."""

    overrule_requested = Signal(str)  # the reason
    restore_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        rows = column_in(self, SPACE[0])
        rows.addWidget(Text("Differences", font=strong()))
        self.lists: dict[Weight, Text] = {}
        for weight, (_, tone) in _HEADS.items():
            self.lists[weight] = Text(tone=tone)
            rows.addWidget(self.lists[weight])
        self.overruled = Text()
        rows.addWidget(self.overruled)
        self.overrule_button = push_button("Compare anyway…", self._ask)
        self.restore_button = push_button("Undo override", self._restore)
        fill(rows, self.overrule_button, self.restore_button)

    def show_gate(self, differences: Sequence[Difference], overruled: str) -> None:
        """Show `differences`; `overruled` is the reason given for comparing despite fatal ones, or empty."""
        fatal = any(each.weight is Weight.FATAL for each in differences)
        for weight, (head, _) in _HEADS.items():
            lines = [
                f"· {each.text}{f'. {each.why}' if each.why else ''}" for each in differences if each.weight is weight
            ]
            text = "\n".join([f"{head}:", *lines]) if lines else ""
            self.lists[weight].setText(text)
            self.lists[weight].setVisible(bool(text))
        self.overruled.setText(f"Overruled: {overruled}" if overruled and fatal else "")
        self.overruled.setVisible(bool(self.overruled.text()))
        self.overrule_button.setVisible(fatal and not overruled)
        self.restore_button.setVisible(fatal and bool(overruled))
        self.setVisible(bool(differences))

    def _restore(self) -> None:
        self.restore_requested.emit()

    def _ask(self) -> None:
        question = OverruleQuestion(self)
        question.accepted.connect(lambda: self.overrule_requested.emit(question.reason.text().strip()))
        opened(question)


class OverruleQuestion(QuestionDialog):
    """Asks for the reason to compare two sides that are not comparable."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(
            "Compare anyway?",
            "These runs did not measure the same thing. Your reason is shown with every verdict, in the table, the "
            "image and the exported files.",
            "Compare",
            parent,
        )
        self.reason = line_edit(
            "Reason", maxLength=LONGEST_REASON, placeholderText="for example: block size is under test"
        )
        self.form.addRow(Text("Reason", Tone.MUTED, wrap=False), self.reason)
        self.reason.textChanged.connect(self._check)
        self._check()
        self.reason.setFocus()

    def _check(self) -> None:
        given = bool(self.reason.text().strip())
        self.accept_button.setEnabled(given)
        self.make_default(self.accept_button if given else self.decline_button)
        self.reason.setFocus()


_COMMAND_LINES = 6


class _Section(QWidget):
    """Caption and paragraphs; hidden without paragraphs."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self._rows = column_in(self, SPACE[0])
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


class ExplanationPane(QWidget):
    """Explanation of the line that is selected in the table."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Text(font=text_font(TextSize.HEADING, bold=True))
        self._step_host = Text(tone=Tone.MUTED)
        self._mark = Picture("undecided")
        self.verdict = Text(font=text_font(TextSize.BODY, bold=True))
        self.sentence = Text()
        self.compared = _Section("Compared values")
        self.why = _Section("Reason")
        self.weakened = _Section("Caveats")
        self.change = _Section("To change the verdict")
        self.include_button = push_button("Include in the verdicts", visible=False)
        set_tool_tip(self.include_button, "Ctrl+I in the table")
        self.size_button = push_button("Sample size", visible=False)
        set_tool_tip(self.size_button, "Hosts, sessions and trials that show a difference, and their cost")
        self.gate = GatePanel()
        self.notes = _Section("Notes")
        self.method = _Section("Method")
        self.commands = (CommandView("", _COMMAND_LINES), CommandView("", _COMMAND_LINES))
        self._build()
        self.show_nothing()

    def show_nothing(self) -> None:
        """Clear the explanation."""
        self._inner.hide()
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def show_line(self, compared: Compared, line: CompareLine) -> None:
        """Explain `line`; for the baseline's line, explain the first run against it."""
        row = line.row
        if row is None:
            self.show_nothing()
            return
        number = line.number or 1
        found = explain(compared.comparison, row, number)
        self._title.setText(metric_text(row.metric, row.labels))
        self._step_host.setText(step_host_label(row.step, row.host))
        name, colour = ICONS[found.verdict]
        self._mark.show_icon(name, colour)
        self.verdict.setText(found.heading)
        runs = compared.comparison.runs
        self.sentence.setText(found.sentence)
        against = row.against[number - 1]
        self.sentence.setVisible(found.verdict is not ComparisonVerdict.NOT_COMPARABLE or not against.differences)
        self.gate.show_gate(against.differences, compared.comparison.overruled)
        self.compared.show_paragraphs([*found.compared, *found.levels])
        self.why.show_paragraphs([found.why])
        self.weakened.show_paragraphs([f"· {caveat}" for caveat in found.weakened])
        self.change.show_paragraphs([found.change])
        self.size_button.setVisible(found.verdict in UNSETTLED and not row.of_duets)
        self.notes.show_paragraphs([f"· {note}" for note in _notes(compared)])
        self.method.show_paragraphs([f"{first_upper(compared.comparison.method)}."])
        for view, side in zip(self.commands, (0, number), strict=True):
            view.set_caption(f"Exact command of {run_name(side)}")
            view.setToolTip("")
            view.set_text(_command(compared, row, side), "No command recorded.")
            view.setAccessibleDescription(numbered_run_name(side, runs[side]))
        self._inner.show()
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def _build(self) -> None:
        self._inner = QWidget()
        rows = column_in(self._inner, SPACE[2], (SPACE[2], SPACE[2], SPACE[2], SPACE[2]))
        head = in_column(self._title, self._step_host, spacing=0)
        verdict = in_row((self._mark, 0, Qt.AlignmentFlag.AlignTop), (self.verdict, 1), spacing=SPACE[1])
        fill(rows, head, verdict, self.sentence, self.gate, self.compared, self.why, self.weakened, self.change)
        for button in (self.size_button, self.include_button):
            fill(rows, (button, 0, Qt.AlignmentFlag.AlignLeft))
        for view in self.commands:
            rows.addWidget(view)
        fill(rows, self.notes, self.method, None)
        area = self._area = scrolled(self._inner)
        area.setAccessibleName("Explanation of the verdict")
        area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        fill(column_in(self), area)


def _notes(compared: Compared) -> list[str]:
    """Return the notes that are shown neither as a difference nor as a caveat."""
    shown = {*compared.comparison.remarks, *compared.comparison.repeated}
    return [note for note in compared.comparison.notes if note not in shown]


def _command(compared: Compared, row: ComparisonRow, number: int) -> str:
    """Return the commands of the run's last trial of the step, counted or not; empty without a trial."""
    side = row.sides[number]
    step, host = (row.step, row.host) if side is None else (side.step, side.host)
    hosts = {host} if side is None else {host, *side.hosts}
    here = (trial for trial in compared.records[number].trials if trial.trial.host in hosts)
    trials = [trial for trial in here if trial.trial.step == step]
    return command_text(trials[-1].trial.commands) if trials else ""
