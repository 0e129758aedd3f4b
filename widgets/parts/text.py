"""Plain text on the screen: words from a host are shown as they are, never as markup, and wrap anywhere."""

import html
import math
import re
import unicodedata
from enum import StrEnum

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontInfo, QPainter, QPaintEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.proposed import with_library
from widgets.theme import palette

_UNBREAKABLE = re.compile(
    r"(?<=\d) (?=(?:%|[kMGT]?i?B(?:/s)?|[kMG]?bit/s|[nµm]?s|min|h|d|IOPS|CPUs?|vCPU)(?!\w))|(?<=[±≥≤]) (?=\d)"
)
"""The space between a figure and its unit: no line ends there."""

_OPTION = re.compile(r"(?<!\S)--(?=\w)")
JOINER = "\u2060"
"""Takes no room, and no line ends at it."""

_INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
MAXIMUM_TEXT = 4096
"""Longer text is cut: Qt takes seconds to lay out one very long line."""


class Tone(StrEnum):
    """What a text's colour says: the names are those of the theme's palette."""

    NORMAL = "text"
    MUTED = "muted"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    GOOD = "good"


def visible(text: str) -> str:
    """Return `text` as it is shown: control, bidirectional and zero-width characters written out, cut at a safe length.

    Proposed commands name the library.
    """
    text = with_library(text)
    cut = text if len(text) <= MAXIMUM_TEXT else f"{text[: MAXIMUM_TEXT - 1]}…"
    return "".join(
        f"\\u{ord(letter):04x}" if unicodedata.category(letter) in _INVISIBLE and letter != "\n" else letter
        for letter in cut
    )


def tool_tip(text: str) -> str:
    """Return `text` for a tool tip that shows it literally; Qt would read markup in it otherwise."""
    return f"<p style='white-space:pre-wrap'>{html.escape(visible(text))}</p>" if text else ""


def set_tool_tip(widget: QWidget, text: str) -> None:
    """Give `widget` a tool tip that shows `text` literally."""
    widget.setToolTip(tool_tip(text))


class Text(QLabel):
    """A label of plain text that wraps anywhere, so that no long path or host name widens its panel."""

    def __init__(
        self,
        text: str = "",
        tone: Tone = Tone.NORMAL,
        *,
        font: QFont | None = None,
        wrap: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._tone = tone
        if font is not None:
            self.setFont(font)
        self.setWordWrap(wrap)
        policy = QSizePolicy(
            QSizePolicy.Policy.Preferred if wrap else QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Minimum
        )
        policy.setHeightForWidth(wrap)
        self.setSizePolicy(policy)
        self.setText(text)

    @property
    def tone(self) -> Tone:
        """What the colour says."""
        return self._tone

    def set_tone(self, tone: Tone) -> None:
        """Change what the colour says."""
        self._tone = tone
        self.update()

    def setText(self, text: str) -> None:
        """Show `text`."""
        super().setText(visible(text))
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """Say that the height follows the width where the text wraps."""
        return self.wordWrap()

    def heightForWidth(self, width: int) -> int:
        """Return the height the text takes in `width` pixels."""
        _layout, height = self._lay_out(width)
        return math.ceil(height) + self._margin_height()

    def sizeHint(self) -> QSize:
        """Return a comfortable size: one line, or a column of reading width."""
        metrics = self.fontMetrics()
        lines = self.text().split("\n")
        wide = max(metrics.horizontalAdvance(line) for line in lines) + 1 + self._margin_width()
        if not self.wordWrap():
            return QSize(wide, metrics.lineSpacing() * len(lines) + self._margin_height())
        width = min(wide, metrics.averageCharWidth() * 60)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """Return the least useful size: a short column, or the whole line where nothing wraps."""
        if not self.wordWrap():
            return self.sizeHint()
        return QSize(min(self.sizeHint().width(), self.fontMetrics().averageCharWidth() * 8), 0)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the text in the tone's colour."""
        painter = QPainter(self)
        colours = palette()
        tone = Tone.MUTED if not self.isEnabled() else self._tone
        painter.setPen(QColor(getattr(colours, tone.value)))
        inside = self.contentsRect()
        layout, height = self._lay_out(self.width())
        spare = 0.0 if self.alignment() & Qt.AlignmentFlag.AlignTop else (inside.height() - height) / 2
        layout.draw(painter, QPointF(inside.left(), inside.top() + max(0.0, spare)))

    def _lay_out(self, width: int) -> tuple[QTextLayout, float]:
        """Return the lines in `width` pixels and their height; a word longer than a line breaks anywhere."""
        layout = QTextLayout(
            _kept_together(self.text(), code=QFontInfo(self.font()).fixedPitch()).replace("\n", "\u2028"),
            self.font(),
            self,
        )
        option = QTextOption(self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask)
        wrap = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
        option.setWrapMode(wrap if self.wordWrap() else QTextOption.WrapMode.ManualWrap)
        layout.setTextOption(option)
        layout.beginLayout()
        height, line = 0.0, layout.createLine()
        while line.isValid():
            line.setLineWidth(max(1, width - self._margin_width()))
            line.setPosition(QPointF(0, height))
            height += line.height()
            line = layout.createLine()
        layout.endLayout()
        return layout, height

    def _margin_width(self) -> int:
        margins = self.contentsMargins()
        return margins.left() + margins.right()

    def _margin_height(self) -> int:
        margins = self.contentsMargins()
        return margins.top() + margins.bottom()


def unbroken(command: str) -> str:
    """Return `command` as it is laid out: no line ends behind a hyphen, which would make two words of one."""
    return re.sub(r"-(?=\S)", f"-{JOINER}", command)


def _kept_together(text: str, *, code: bool = False) -> str:
    """Return `text` as it is laid out: no line ends between a figure and its unit, nor within the dashes of an option.

    What is copied or read out is the text itself.
    """
    if code:
        return unbroken(text)
    return _OPTION.sub(f"-{JOINER}-{JOINER}", _UNBREAKABLE.sub("\u00a0", text))


def strong() -> QFont:
    """Return the platform's font in bold."""
    from PySide6.QtWidgets import QApplication

    font = QFont(QApplication.font())
    font.setBold(True)
    return font


def small() -> QFont:
    """Return the platform's font one size down, for what explains and does not lead."""
    from PySide6.QtWidgets import QApplication

    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * 0.9)
    return font
