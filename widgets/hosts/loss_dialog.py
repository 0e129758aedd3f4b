"""The question before a device is overwritten: everything that is known of it, and its serial number to be typed."""

from PySide6.QtWidgets import QLineEdit, QWidget

from app.questions import LossQuestion
from widgets.parts.notice import FieldMessage
from widgets.parts.question import Question
from widgets.parts.text import Text, Tone
from widgets.theme import code_font


class LossDialog(Question):
    """Nothing but the whole confirmation lets go on. It is shown to be compared, and cannot be copied from here."""

    def __init__(self, question: LossQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            f"Lose everything on {question.device}?",
            f"The run overwrites this device of {question.host}. Nothing brings back what is on it. Compare what the "
            f"host says of it with the device you mean, then type its {question.confirmed_by}.",
            "Overwrite it",
            parent,
        )
        self._confirmation = question.confirmation
        self.add_fact("Host", question.host)
        for name, value in question.facts:
            self.add_fact(name, value, code=name in {"Device", "Known as", "Serial number", "Made of"})
        self.field = QLineEdit()
        self.field.setFont(code_font())
        self.field.setMaxLength(1000)
        self.field.setAccessibleName(f"The device’s {question.confirmed_by}")
        self.field.setPlaceholderText(f"Type the {question.confirmed_by}")
        self.field.textChanged.connect(self._compare)
        self.form.addRow(Text("Type it here", Tone.MUTED, wrap=False), self.field)
        self.message = FieldMessage()
        self.message.setMinimumHeight(2 * self.fontMetrics().lineSpacing())  # nothing jumps when it speaks
        self.form.addRow("", self.message)
        self.accept_button.setEnabled(False)
        self.make_default(self.decline_button)
        self.field.setFocus()

    def typed(self) -> str:
        """Return what was typed."""
        return self.field.text().strip()

    def _compare(self) -> None:
        typed = self.typed()
        right = typed == self._confirmation
        self.accept_button.setEnabled(right)
        if right:
            self.message.say("warning", "Everything on this device will be lost.")
        elif typed and not self._confirmation.startswith(typed):
            self.message.say("error", "This is another one. Nothing is written.")
        else:
            self.message.clear()
