"""Help that needs no network: a tour, the words, the rules of measurement, the keys."""

import re
from typing import Any

from PySide6.QtCore import QByteArray, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QImage,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextTable,
)
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QListWidgetItem, QTextBrowser, QVBoxLayout, QWidget

import resources
from app.questions import Asker
from app.services import Workstation
from widgets.page import Page
from widgets.parts.text import Text
from widgets.theme import SPACE, TextSize, palette, text_font

TOPICS = {
    "tour": "Three-minute tour",
    "words": "Words",
    "rules": "Rules of measurement",
    "checks": "Checks",
    "verdicts": "Verdicts",
    "truth": "Proved on known truth",
    "telemetry": "Telemetry",
    "comparison": "How runs are compared",
    "baselines": "Baselines, best and history",
    "connections": "Connections",
    "survival": "When something breaks",
    "safety": "Root, raw devices, installing",
    "faults": "Faults and hostile input",
    "keyboard": "Keyboard",
    "suites": "What was tried",
    "formats": "Formats for machines",
}
"""The pages in resources/help, by the name of the file; that of the checks is made of their own words."""

CHECKS, CHECK = "checks", "check-"
"""The page that lists all checks, and how the topic of one of them begins."""

READING_WIDTH = 640
"""Pixels after which a line of prose is hard to follow."""


_NOTHING = QByteArray(b" ")
_PICTURE = re.compile(r"\.\./pictures/([a-z]{1,20})\.png")
"""How a page of the help names a picture of ours."""


class _Browser(QTextBrowser):
    """Shows our own Markdown. Nothing is loaded from anywhere else, whatever a text asks for."""

    narrowed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._line = READING_WIDTH - SPACE[4]
        self.setOpenLinks(False)
        self.setAccessibleName("Help")
        self.setObjectName("bare")
        self.document().setDocumentMargin(0)
        self.setViewportMargins(0, 0, SPACE[2], 0)

    def loadResource(self, _kind: int, name: QUrl | str) -> Any:
        """Load our own pictures, as wide as a line, and nothing else.

        An empty answer would not do: the document would then read the file itself.
        """
        wanted = _PICTURE.fullmatch(name.toString() if isinstance(name, QUrl) else name)
        if wanted is None:
            return _NOTHING
        picture = QImage.fromData(resources.read_bytes(f"pictures/{wanted[1]}.png"))
        ratio = self.devicePixelRatioF()
        width = round(self._line * ratio)
        fitting = picture.scaledToWidth(width, Qt.TransformationMode.SmoothTransformation)
        fitting.setDevicePixelRatio(ratio)
        return fitting

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell when a line has another width: pictures are to be as wide as one."""
        super().resizeEvent(event)
        bar = self.verticalScrollBar().sizeHint().width()  # shown or not: else a picture could make it come and go
        line = max(1, min(READING_WIDTH - SPACE[4], self.width() - bar - SPACE[3]))
        if line != self._line:
            self._line = line
            self.narrowed.emit()


class HelpPage(Page):
    """A list of topics, and the one that is read."""

    def __init__(self, workstation: Workstation, asker: Asker, parent: QWidget | None = None) -> None:
        super().__init__(workstation, asker, parent)
        self.topics = QListWidget()
        self.topics.setObjectName("bare")
        self.topics.setAccessibleName("Topics")
        for topic, title in TOPICS.items():
            item = QListWidgetItem(title)
            wide = self.topics.fontMetrics().horizontalAdvance(title)
            item.setSizeHint(QSize(wide, self.topics.fontMetrics().height() + 2 * SPACE[1]))
            item.setData(Qt.ItemDataRole.UserRole, topic)
            self.topics.addItem(item)
        self.topics.setFixedWidth(self.topics.sizeHintForColumn(0) + 2 * SPACE[2])
        self._topic = ""
        self.browser = _Browser()
        # Later: a text that is being set brings its scroll bar, and with it another width.
        self.browser.narrowed.connect(self._fit_pictures, Qt.ConnectionType.QueuedConnection)
        self.browser.anchorClicked.connect(lambda link: self.show_topic(link.fileName().removesuffix(".md")))
        self.topics.currentItemChanged.connect(self._read)
        self._arrange()
        self.show_topic("tour")

    def show_topic(self, topic: str) -> None:
        """Show the page about `topic`; an unknown one changes nothing."""
        if topic.startswith(CHECK):
            self.topics.setCurrentRow(list(TOPICS).index(CHECKS))
            self._show(topic)
        elif topic in TOPICS:
            self.topics.setCurrentRow(list(TOPICS).index(topic))
            self._show(topic)

    def changeEvent(self, event: Any) -> None:
        """Set the text anew in new colours."""
        super().changeEvent(event)
        if event.type() is event.Type.PaletteChange and self.topics.currentItem() is not None:
            self._show(self._topic)

    def _read(self, item: QListWidgetItem) -> None:
        self._show(str(item.data(Qt.ItemDataRole.UserRole)))

    def _show(self, topic: str) -> None:
        self._topic = topic
        self.browser.setMarkdown(text_of(topic))
        typeset(self.browser.document())
        self.browser.verticalScrollBar().setValue(0)

    def _fit_pictures(self) -> None:
        """Set a page with pictures anew in the width that a line has now."""
        if self._topic and "../pictures/" in text_of(self._topic):
            read = self.browser.verticalScrollBar().value()
            self._show(self._topic)
            self.browser.verticalScrollBar().setValue(read)

    def _arrange(self) -> None:
        self.browser.setMaximumWidth(READING_WIDTH)
        row = QHBoxLayout()
        row.setSpacing(SPACE[4])
        row.addWidget(self.topics)
        row.addWidget(self.browser, 1)
        row.addStretch(0)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[3], SPACE[4], SPACE[2])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text("Help", font=text_font(TextSize.TITLE, bold=True)))
        rows.addLayout(row, 1)


def text_of(topic: str) -> str:
    """Return the page about `topic` in Markdown; of a check that is not known, the list of all."""
    if topic != CHECKS and not topic.startswith(CHECK):
        return resources.read_text(f"help/{topic}.md")
    from app.checks.catalogue import UnknownCheckError, entry, overview, page

    try:
        return page(entry(topic.removeprefix(CHECK))) if topic != CHECKS else overview()
    except UnknownCheckError:
        return overview()


def typeset(document: QTextDocument) -> None:
    """Give the parsed Markdown the theme's sizes, spacing and colours.

    In one edit: a long table would otherwise be laid out anew after each of its blocks, for seconds.
    """
    edit = QTextCursor(document)
    edit.beginEditBlock()
    block = document.begin()
    while block.isValid():
        _set_block(QTextCursor(block), block.blockFormat())
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _set_table(frame)
    edit.endEditBlock()


def _set_block(cursor: QTextCursor, block: QTextBlockFormat) -> None:
    level = block.headingLevel()
    if block.nonBreakableLines():  # a line of code: it stands close to the next one
        _set_code(cursor, block)
        return
    block.setLineHeight(135, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    block.setTopMargin(SPACE[4] if level == 2 else 0)
    block.setBottomMargin(SPACE[1] if cursor.currentTable() is None else 0)
    cursor.setBlockFormat(block)
    if level:
        look = QTextCharFormat()
        look.setFont(text_font(TextSize.TITLE if level == 1 else TextSize.HEADING, bold=True))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.setCharFormat(look)  # in place of Markdown's own, whose relative sizes would win over ours


def _set_code(cursor: QTextCursor, block: QTextBlockFormat) -> None:
    following = cursor.block().next()
    ends = not following.isValid() or not following.blockFormat().nonBreakableLines()
    block.setLineHeight(100, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)  # no stripes between
    block.setNonBreakableLines(False)  # code wraps, too, where the page is narrow
    block.setBackground(QBrush(QColor(palette().raised)))
    block.setTopMargin(0)
    block.setBottomMargin(SPACE[2] if ends else 0)
    cursor.setBlockFormat(block)


def _set_table(table: QTextTable) -> None:
    look = table.format()
    look.setBorder(0)
    look.setCellPadding(SPACE[0])
    look.setCellSpacing(0)
    look.setTopMargin(SPACE[1])
    look.setBottomMargin(SPACE[2])
    table.setFormat(look)
    for column in range(table.columns()):
        head = QTextCharFormat()
        head.setForeground(QBrush(QColor(palette().muted)))
        cursor = table.cellAt(0, column).firstCursorPosition()
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(head)
