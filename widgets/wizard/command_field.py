"""The exact command of a step, which can be edited: what is typed or pasted is read back into the parameters."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from suites.command_line import UnreadWord
from suites.parameters import MAXIMUM_TEXT
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, code_font, palette
from widgets.wizard.command_view import folded

MOST_MARKS = 20
"""Maximum words that are underlined."""

LINES = 4
"""Visible lines before the text scrolls."""


class _Edit(QPlainTextEdit):
    """Plain text in a fixed-width font, as tall as its lines; Enter is not a line break, Esc reverts."""

    typed = Signal(bool)  # whether it was pasted
    left = Signal()
    reverted = Signal()
    resized = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._setting = False
        self._pasted = False
        self.setFont(code_font())
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)  # the window opens files
        self.setAccessibleName("Command")
        self.setPlaceholderText("Type or paste a command line")
        self.textChanged.connect(self._changed)

    def set_text(self, text: str) -> None:
        """Show `text`, folded with backslashes, without emitting `typed`."""
        character = max(1.0, QFontMetricsF(self.font()).horizontalAdvance("0"))
        columns = int((self.viewport().width() - 2 * self.document().documentMargin() - 4) / character)
        self._setting = True
        self.setPlainText(folded(text, columns))
        self._setting = False

    def mark(self, words: Sequence[str]) -> None:
        """Underline `words`."""
        style = QTextCharFormat()
        style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        style.setUnderlineColor(QColor(palette().error))
        marks = []
        for word in [each for each in words if each][:MOST_MARKS]:
            cursor = self.document().find(word)
            if not cursor.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor, mark.format = cursor, style
                marks.append(mark)
        self.setExtraSelections(marks)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Insert plain text, bounded; Benchwright does not execute it."""
        self._pasted = True
        bounded = QMimeData()
        bounded.setText(source.text()[: MAXIMUM_TEXT + 1])
        super().insertFromMimeData(bounded)
        self._pasted = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pass Enter to the page; revert on Esc."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            event.ignore()
        elif event.key() == Qt.Key.Key_Escape:
            self.reverted.emit()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Emit that the field was left, not for its own menu or for another window."""
        super().focusOutEvent(event)
        if event.reason() not in {Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason}:
            self.left.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the height to the wrapped lines."""
        super().resizeEvent(event)
        self._fit()
        if event.oldSize().width() != event.size().width() and not self._setting:
            self.resized.emit()

    def sizeHint(self) -> QSize:
        """Return a small width; the layout stretches it."""
        return QSize(200, self.height())

    def _changed(self) -> None:
        self._fit()
        if not self._setting:
            self.typed.emit(self._pasted)

    def _fit(self) -> None:
        lines = max(1, min(LINES, int(self.document().size().height())))
        self.setFixedHeight(self.fontMetrics().lineSpacing() * lines + 2 * SPACE[1] + 2)


class CommandField(QWidget):
    """Command, *Copy*, and one line about words that could not be read, with another way to run them."""

    began = Signal()  # the first change since the field was entered or reverted
    edited = Signal(str, bool)  # the text, whether it was pasted
    reverted = Signal()  # what was changed since `began` is to be undone
    alternative_requested = Signal(str)  # the text
    unread_changed = Signal(tuple)  # UnreadWord

    def __init__(self) -> None:
        super().__init__()
        self._exact = ""
        self._unread: tuple[UnreadWord, ...] = ()
        self._dirty = False
        self.edit = _Edit()
        self.edit.typed.connect(self._typed)
        self.edit.left.connect(self._leave)
        self.edit.reverted.connect(self._revert)
        self.edit.resized.connect(self._refold)
        self.copy_button = push_button("Copy", self._copy, icon="copy", accessibleName="Copy the command")
        self.note = Text(tone=Tone.WARNING)
        self.alternative = push_button("", lambda: self.alternative_requested.emit(self.text()))
        caption = Text("Command: edit it or paste one; Esc reverts", Tone.MUTED)
        head = in_row((caption, 1), self.copy_button, spacing=SPACE[1])
        foot = in_row((self.note, 1), self.alternative, spacing=SPACE[1])
        fill(column_in(self, SPACE[0]), head, self.edit, foot)
        self.show_unread((), "")

    def text(self) -> str:
        """Return the text of the field, unfolded."""
        return re.sub(r" \\\n +", " ", self.edit.toPlainText())

    def show_command(self, text: str) -> None:
        """Show the exact command; an edited text stays while it is edited, and the words that it could not read."""
        if text == self._exact:
            return
        self._exact = text
        if self._dirty or any(not each.word for each in self._unread):
            return
        self._show(" ".join([text, *self._blocking()]))

    def show_unread(self, unread: Sequence[UnreadWord], alternative: str, changed: str = "") -> None:
        """Show the first word that could not be read, and the title of a suite that can run the whole line.

        Where every word was read: what the line has `changed` besides the values.
        """
        if self._unread != tuple(unread):
            self._unread = tuple(unread)
            self.unread_changed.emit(self._unread)
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        self.note.setText(f"{unread[0].text}{more}" if unread else changed)
        self.note.setVisible(bool(unread or changed))
        self.note.set_tone(Tone.WARNING if self._blocking() else Tone.MUTED)
        self.alternative.setText(f"Use {alternative}")
        self.alternative.setVisible(bool(alternative))
        self.edit.mark(self._blocking())

    def _blocking(self) -> list[str]:
        """Return the words that prevent the start."""
        return [each.word for each in self._unread if each.blocks]

    def restore(self, unread: Sequence[UnreadWord]) -> None:
        """Leave the command of a step for that of another, which has words that were not read."""
        self._dirty, self._exact = False, ""
        self.show_unread(unread, "")

    def revert(self) -> None:
        """Show the exact command of the parameters."""
        self._dirty = False
        self.show_unread((), "")
        self._show(self._exact)

    def _revert(self) -> None:
        if self._dirty:
            self.reverted.emit()
        self.revert()

    def _show(self, text: str) -> None:
        self.edit.set_text(text)
        self.edit.moveCursor(QTextCursor.MoveOperation.Start)
        self.edit.mark(self._blocking())

    def _refold(self) -> None:
        if not self._dirty:
            self._show(self.text())

    def _typed(self, pasted: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        if not self._dirty:
            self._dirty = True
            self.began.emit()
        self.edited.emit(self.text(), pasted)

    def _leave(self) -> None:
        """Show the exact command if no word prevents the start, else leave the text as it is."""
        if self._dirty and not self._blocking():
            self._show(self._exact)
        self._dirty = False

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text())
