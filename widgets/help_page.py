"""Offline help: the pages of resources/help and the catalogue of checks."""

import re
from typing import Any

from PySide6.QtCore import QByteArray, QSignalBlocker, QSize, Qt, QUrl, Signal
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
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QTextBrowser

import resources
from app.questions import Asker
from app.services import Workstation
from suites.registry import help_page, help_table
from suites.vocab import Resource
from widgets.page import PAGE_MARGINS, Page, PageName, page_title
from widgets.parts.boxes import column_in, fill, in_row
from widgets.theme import SPACE, TextSize, palette, text_font

TOPICS = {
    "tour": "Three-minute tour",
    "words": "Glossary",
    "rules": "Rules of measurement",
    "checks": "Checks",
    "verdicts": "Verdicts",
    "judging": "Outputs from elsewhere",
    "truth": "Validation against known limits",
    "telemetry": "Telemetry",
    "library": "Library and its filter",
    "investigations": "Investigations",
    "comparison": "Comparing runs",
    "repetition": "Repetition and calibration",
    "analyses": "Distributions, noise, scaling, bursts, profiles",
    "baselines": "Baselines, best and history",
    "gate": "Gate for regressions",
    "connections": "Connections",
    "inventory": "Inventory, groups and sameness",
    "queue": "Queue",
    "fleet": "Fleet studies",
    "workers": "Workers",
    "survival": "Interrupted runs",
    "sessions": "Sessions",
    "sample-size": "Sample size",
    "duet": "Duet",
    "safety": "Root, raw devices, installing",
    "faults": "Faults and hostile input",
    "keyboard": "Keyboard",
    "suites": "Supported tools",
    "formats": "JSON and file formats",
    "architecture": "Architecture",
}
"""Titles of the pages in resources/help by file name; the page of checks is generated."""

CHECKS, CHECK = "checks", "check-"
"""Topic of the list of checks, and prefix of the topic of one check."""

SUITES, SUITE = "suites", "suite-"
"""Topic of all suites, and prefix of that of one; its parameter follows after #."""

READING_WIDTH = 640
"""Largest width in pixels of a line of prose."""


_NOTHING = QByteArray(b" ")
_PICTURE = re.compile(r"\.\./pictures/([a-z]{1,20})\.png")
"""Path of a picture in a help page."""


class _Browser(QTextBrowser):
    """Browser of the help's Markdown that loads nothing but its pictures."""

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
        """Return a picture of the help scaled to the line width, for anything else a blank.

        Not an empty array: QTextDocument would then read the file itself.
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
        """Emit `narrowed` when the line width changes, to which pictures are scaled."""
        super().resizeEvent(event)
        bar = self.verticalScrollBar().sizeHint().width()  # even if hidden: otherwise a picture could toggle it
        line = max(1, min(READING_WIDTH - SPACE[4], self.width() - bar - SPACE[3]))
        if line != self._line:
            self._line = line
            self.narrowed.emit()


class HelpPage(Page):
    """List of topics and the current page."""

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
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
        self.topic = ""
        self.browser = _Browser()
        # Queued: setting a text can show the scroll bar and so change the width again.
        self.browser.narrowed.connect(self._fit_pictures, Qt.ConnectionType.QueuedConnection)
        self.browser.anchorClicked.connect(lambda link: self.show_topic(link.fileName().removesuffix(".md")))
        self.topics.currentItemChanged.connect(self._read)
        self._arrange()
        self.show_topic("tour")

    def show_topic(self, topic: str) -> None:
        """Show the page of `topic`; ignore an unknown one."""
        listed = CHECKS if topic.startswith(CHECK) else SUITES if topic.startswith(SUITE) else topic
        if listed not in TOPICS:
            return
        with QSignalBlocker(self.topics):  # the page is rendered once, below
            self.topics.setCurrentRow(list(TOPICS).index(listed))
        self._show(topic)

    def changeEvent(self, event: Any) -> None:
        """Render the page again in new colours."""
        super().changeEvent(event)
        if event.type() is event.Type.PaletteChange and self.topics.currentItem() is not None:
            self._show(self.topic)

    def _read(self, item: QListWidgetItem) -> None:
        self._show(str(item.data(Qt.ItemDataRole.UserRole)))

    def _show(self, topic: str) -> None:
        self.topic, heading = topic, topic.partition("#")[2]
        self.browser.setMarkdown(text_of(topic))
        typeset(self.browser.document())
        self.browser.verticalScrollBar().setValue(_top_of(self.browser.document(), heading))

    def _fit_pictures(self) -> None:
        """Render a page with pictures again at the current line width."""
        if self.topic and "../pictures/" in text_of(self.topic):
            position = self.browser.verticalScrollBar().value()
            self._show(self.topic)
            self.browser.verticalScrollBar().setValue(position)

    def _arrange(self) -> None:
        self.browser.setMaximumWidth(READING_WIDTH)
        row = in_row(self.topics, (self.browser, 1), spacing=SPACE[4])
        row.addStretch(0)
        rows = column_in(self, SPACE[2], PAGE_MARGINS)
        fill(rows, page_title(PageName.HELP), (row, 1))


def _top_of(document: QTextDocument, heading: str) -> int:
    """Return the position in pixels of a heading of a parameter; 0 if there is none."""
    block = document.begin()
    while block.isValid():
        if block.blockFormat().headingLevel() == 3 and block.text() == heading:
            return round(document.documentLayout().blockBoundingRect(block).top())
        block = block.next()
    return 0


def text_of(topic: str) -> str:
    """Return the page of `topic` as Markdown; for an unknown check, the list of checks."""
    if topic.startswith(SUITE):
        return help_page(topic.removeprefix(SUITE).partition("#")[0])
    if topic != CHECKS and not topic.startswith(CHECK):
        text = resources.read_text(f"help/{topic}.md")
        return re.sub(
            r"^<!-- suites: (\w+) -->$", lambda found: help_table(Resource(found[1])), text, flags=re.MULTILINE
        )
    from app.checks.catalogue import UnknownCheckError, entry, overview, page

    try:
        return page(entry(topic.removeprefix(CHECK))) if topic != CHECKS else overview()
    except UnknownCheckError:
        return overview()


def typeset(document: QTextDocument) -> None:
    """Apply the theme's sizes, spacing and colours to parsed Markdown.

    In one edit block: otherwise a long table is laid out again after each of its blocks, which takes seconds.
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
    if block.nonBreakableLines():  # a line of code: no space to the next one
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
        cursor.setCharFormat(look)  # replaces Markdown's format, whose relative sizes would win


def _set_code(cursor: QTextCursor, block: QTextBlockFormat) -> None:
    following = cursor.block().next()
    ends = not following.isValid() or not following.blockFormat().nonBreakableLines()
    block.setLineHeight(100, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)  # no gaps in the background
    block.setNonBreakableLines(False)  # wrap code on a narrow page
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
