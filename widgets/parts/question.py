"""A question in the window's own look: a title, what it means, and two buttons that say what they do."""

from collections.abc import Callable

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QPushButton, QVBoxLayout, QWidget

from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, code_font, restyle, text_font

WIDTH = 520


class Question(QDialog):
    """A dialog with a title, explaining text, fields and buttons. The Enter key declines until told otherwise.

    Show it with open(): nothing waits for it, `accepted` and `rejected` tell the answer.
    """

    def __init__(
        self, title: str, explanation: str, accept_text: str, parent: QWidget | None, *, decline_text: str = "Cancel"
    ) -> None:
        """Ask `title`; without a `decline_text` there is nothing to decline, only something to read."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setMinimumWidth(WIDTH)
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(SPACE[3])
        self.form.setVerticalSpacing(SPACE[1])
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self.accept_button = QPushButton(accept_text)
        self.decline_button = QPushButton(decline_text)
        self._buttons = buttons = QDialogButtonBox()
        if (row := buttons.layout()) is not None:
            row.setSpacing(SPACE[1])
        buttons.addButton(self.accept_button, QDialogButtonBox.ButtonRole.AcceptRole)
        if decline_text:
            buttons.addButton(self.decline_button, QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text(title, font=text_font(TextSize.HEADING, bold=True)))
        rows.addWidget(Text(explanation))
        rows.addLayout(self.form)
        rows.addStretch(1)
        rows.addSpacing(SPACE[1])
        rows.addWidget(buttons)
        self.make_default(self.decline_button if decline_text else self.accept_button)

    def add_way_out(self, text: str, callback: Callable[[], None]) -> QPushButton:
        """Add a third answer beside the two: it closes the question and calls `callback`."""
        button = QPushButton(text)
        button.setAutoDefault(False)
        button.clicked.connect(self.reject)
        button.clicked.connect(lambda: callback())  # noqa: PLW0108 (clicked hands over whether it is checked)
        self._buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
        return button

    def add_fact(self, name: str, value: str, *, code: bool = False) -> Text:
        """Add a line that tells `name`; return the label of its value."""
        label = Text(value, font=code_font() if code else None)
        label.setAccessibleName(f"{name}: {label.text()}")
        self.form.addRow(Text(name, Tone.MUTED, wrap=False), label)
        return label

    def make_default(self, button: QPushButton) -> None:
        """Let the Enter key press `button` and no other; a yes that Enter gives leads the eye, too."""
        for each in (self.accept_button, self.decline_button):
            each.setAutoDefault(each is button)
            each.setDefault(each is button)
        restyle(self.accept_button, "primary", button is self.accept_button and bool(self.decline_button.text()))
        button.setFocus()
