"""The gate of a comparison: what differs between both sides, how much it matters, and a way past it with a reason."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.comparing.gate import Difference, Weight
from widgets.parts.question import Question
from widgets.parts.text import Text, Tone, strong
from widgets.theme import SPACE

_HEADS = {
    Weight.FATAL: ("Forbids to compare", Tone.ERROR),
    Weight.EXPLAINS: ("May explain a difference", Tone.NORMAL),
    Weight.HARMLESS: ("Harmless", Tone.MUTED),
}

LONGEST_REASON = 200


class GatePanel(QWidget):
    """What differs, by what it means. Hidden where nothing does."""

    overrule_requested = Signal(str)  # the reason
    restore_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[0])
        rows.addWidget(Text("What differs", font=strong()))
        self.lists: dict[Weight, Text] = {}
        for weight, (_, tone) in _HEADS.items():
            self.lists[weight] = Text(tone=tone)
            rows.addWidget(self.lists[weight])
        self.overruled = Text()
        rows.addWidget(self.overruled)
        self.overrule_button = QPushButton("Compare all the same…")
        self.overrule_button.clicked.connect(self._ask)
        self.restore_button = QPushButton("Hold to it again")
        self.restore_button.clicked.connect(self._restore)
        for button in (self.overrule_button, self.restore_button):
            rows.addWidget(button)

    def show_gate(self, differences: Sequence[Difference], overruled: str) -> None:
        """Show `differences`; `overruled` is the reason for which the fatal ones were let by, empty where not."""
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
        question.finished.connect(question.deleteLater)
        question.open()


class OverruleQuestion(Question):
    """Asks why two sides are compared that measured different things."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(
            "Compare what measured different things?",
            "The figures are then put side by side as if they meant the same. Your reason stands beside every verdict, "
            "in the table, the picture and the files.",
            "Compare",
            parent,
        )
        self.reason = QLineEdit()
        self.reason.setMaxLength(LONGEST_REASON)
        self.reason.setAccessibleName("Reason")
        self.reason.setPlaceholderText("such as: the block size is the question")
        self.form.addRow(Text("Reason", Tone.MUTED, wrap=False), self.reason)
        self.reason.textChanged.connect(self._check)
        self._check()
        self.reason.setFocus()

    def _check(self) -> None:
        given = bool(self.reason.text().strip())
        self.accept_button.setEnabled(given)
        self.make_default(self.accept_button if given else self.decline_button)
        self.reason.setFocus()
