"""The question before a plan does more than run benchmark tools: all that it does, word for word."""

from PySide6.QtCore import QMimeData, QTimer
from PySide6.QtGui import QColor, QShowEvent, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QTextEdit, QWidget

from app.questions import ConsentItem, ConsentQuestion
from widgets.parts.notice import FieldMessage
from widgets.parts.question import Question
from widgets.parts.text import JOINER, unbroken
from widgets.theme import SPACE, TextSize, code_font, palette, text_font

WIDTH, HEIGHT = 760, 360
"""Pixels: the dialog's width, and the list's height at most; with what is around it, it fits a window of 1024 x 700."""


class ConsentDialog(Question):
    """Shows what a plan executes, copies, sends and changes. Only who has seen all of it can agree to it."""

    def __init__(self, question: ConsentQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            "Plan needs your consent",
            f"“{question.plan}” does more than run benchmark tools. Consent is stored for this content and "
            "these hosts.",
            "Agree and run",
            parent,
        )
        self.setMinimumWidth(WIDTH)
        self.list = _EffectList(question.items)
        self.list.verticalScrollBar().valueChanged.connect(self._look)
        self.list.verticalScrollBar().rangeChanged.connect(self._look)
        self.form.addRow(self.list)
        self.message = FieldMessage()
        self.form.addRow(self.message)
        self._seen = False
        self.accept_button.setEnabled(False)
        self.make_default(self.decline_button)
        self.list.setFocus()

    def _look(self) -> None:
        """Let the user agree once the end of the list was shown."""
        self._seen = self._seen or (self.isVisible() and self.list.shows_end())
        self.accept_button.setEnabled(self._seen)
        if not self._seen:
            self.message.say("info", "Scroll to the end of the list to agree.")
        elif self.list.verticalScrollBar().maximum() > 0:
            self.message.say("good", "The end of the list was shown.")
        else:
            self.message.clear()

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the height to what is shown, and look whether the list is seen whole."""
        super().showEvent(event)
        if (rows := self.layout()) is not None and not event.spontaneous():
            self.resize(self.width(), rows.totalHeightForWidth(self.width()))
        QTimer.singleShot(0, self, self._look)  # its layout is made first


class _EffectList(QTextEdit):
    """What a plan does, verbatim: long lines and long words are wrapped, so that nothing is beyond the edge."""

    def __init__(self, items: tuple[ConsentItem, ...]) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabChangesFocus(True)
        self.setAccessibleName("What the plan does")
        self.document().setDocumentMargin(SPACE[2])
        cursor = QTextCursor(self.document())
        for index, item in enumerate(items):
            self._add(cursor, item, first=index == 0)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.document().setTextWidth(WIDTH - 2 * SPACE[4] - self.verticalScrollBar().sizeHint().width())
        self.setMinimumHeight(min(HEIGHT, round(self.document().size().height()) + SPACE[1]))

    def toPlainText(self) -> str:
        """Return the text without what keeps its words together."""
        return super().toPlainText().replace(JOINER, "")

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy the text without what keeps its words together."""
        copied = QMimeData()
        copied.setText(self.textCursor().selection().toPlainText().replace(JOINER, ""))
        return copied

    def shows_end(self) -> bool:
        """Return whether the last line is in sight. The scroll bar alone does not tell: its range lags the layout."""
        height = self.document().size().height()  # lays out all of it
        return self.verticalScrollBar().value() + self.viewport().height() >= height - 1

    def _add(self, cursor: QTextCursor, item: ConsentItem, *, first: bool) -> None:
        colours = palette()
        head, faint, code = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
        head.setFont(text_font(TextSize.BODY, bold=True))
        faint.setForeground(QColor(colours.muted))
        code.setFont(code_font())
        above, inset = QTextBlockFormat(), QTextBlockFormat()
        above.setTopMargin(0 if first else SPACE[3])
        above.setBottomMargin(SPACE[0])
        inset.setLeftMargin(SPACE[2])
        if first:
            cursor.setBlockFormat(above)
        else:
            cursor.insertBlock(above)
        cursor.insertText(item.action, head)
        cursor.insertText(f"   {item.what}", faint)
        cursor.insertBlock(inset)
        cursor.insertText(unbroken(item.text), code)
