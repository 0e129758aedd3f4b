"""Exact commands, to be read, selected and copied."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication, QResizeEvent, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from widgets.measure.shell_lines import folded
from widgets.parts.icons import set_icon
from widgets.parts.text import MAXIMUM_TEXT, Text, Tone, visible
from widgets.theme import SPACE, code_font


class CommandView(QWidget):
    """A caption, a button that copies, and the commands as they would be typed."""

    def __init__(self, caption: str, lines: int = 4, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._exact = ""
        self.caption = Text(caption, Tone.MUTED)
        self.copy_button = QPushButton("Copy")
        set_icon(self.copy_button, "copy")
        self.copy_button.setAccessibleName(f"Copy: {caption}")
        self.copy_button.clicked.connect(self._copy)
        self._view = _Code(lines)
        self._view.setAccessibleName(caption)
        head = QHBoxLayout()
        head.setSpacing(SPACE[1])
        head.addWidget(self.caption, 1)
        head.addWidget(self.copy_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[0])
        column.addLayout(head)
        column.addWidget(self._view)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.set_text("")

    def text(self) -> str:
        """Return the exact commands."""
        return self._exact

    def set_caption(self, caption: str) -> None:
        """Say whose commands these are, to the eye and to a screen reader."""
        self.caption.setText(caption)
        self.copy_button.setAccessibleName(f"Copy: {caption}")
        self._view.setAccessibleName(caption)

    def set_text(self, text: str, absent: str = "") -> None:
        """Show `text`; where it is empty, show instead why it is `absent`."""
        self._exact = text
        self._view.show_command(text)
        self._view.setPlaceholderText(absent)
        self.copy_button.setEnabled(bool(text))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._exact)


class _Code(QPlainTextEdit):
    """Read-only text of fixed width, folded between words, as tall as its lines need within a limit."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._most = lines
        self._text = ""
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFont(code_font())
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._fold()

    def show_command(self, text: str) -> None:
        """Show `text`."""
        if text != self._text:
            self._text = text
            self._fold()

    def _fold(self) -> None:
        spare = 2 * int(self.document().documentMargin()) + 2 * self.frameWidth() + 4
        columns = (self.viewport().width() - spare) // max(1, self.fontMetrics().horizontalAdvance("0"))
        lines = folded(self._text, columns).split("\n")
        shown = "\n".join(visible(line[:MAXIMUM_TEXT]) for line in lines)
        if shown != self.toPlainText():
            self.setPlainText(shown)
        height = self.fontMetrics().lineSpacing() * min(self._most, max(1, len(lines)))
        self.setFixedHeight(height + 2 * SPACE[1])

    def sizeHint(self) -> QSize:
        """Return a modest width: the panel decides."""
        return QSize(200, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold anew for the width there is."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._fold()
