"""Plain-text labels, tool tips and clipboard texts: text from a host is never interpreted as markup."""

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum

from PySide6.QtCore import QEvent, QPointF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QApplication, QLabel, QSizePolicy, QToolTip, QWidget

from app.command_hints import with_library
from widgets.theme import TextSize, palette, text_font

_UNBREAKABLE = re.compile(
    r"(?<=\d) (?=(?:%|[kMGT]?i?B(?:/s)?|[kMG]?bit/s|[nµm]?s|min|h|d|IOPS|CPUs?|vCPU)(?!\w))|(?<=[±≥≤]) (?=\d)"
)
"""Spaces between a number and its unit, which must not break."""

_OPTION = re.compile(r"(?<!\S)--(?=\w)")
JOINER = "\u2060"
"""Word joiner: zero width, no line break."""

_INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
MAXIMUM_TEXT = 4096
"""Longer text is cut: Qt takes seconds to lay out a very long line."""


class Tone(StrEnum):
    """Colour of a text, by the name of a palette field."""

    NORMAL = "text"
    MUTED = "muted"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    GOOD = "good"


def visible(text: str) -> str:
    """Return `text` for display, cut at MAXIMUM_TEXT: control, bidirectional and zero-width characters are escaped.

    Proposed commands get the --library option if it is needed.
    """
    text = with_library(text)
    cut = text if len(text) <= MAXIMUM_TEXT else f"{text[: MAXIMUM_TEXT - 1]}…"
    if cut.isprintable():  # most are, and a table asks for thousands
        return cut
    return "".join(
        f"\\u{ord(letter):04x}" if unicodedata.category(letter) in _INVISIBLE and letter != "\n" else letter
        for letter in cut
    )


def tool_tip(text: str) -> str:
    """Return `text` escaped for a tool tip, which Qt could otherwise read as markup."""
    return f"<p style='white-space:pre-wrap'>{html.escape(visible(text))}</p>" if text else ""


def set_tool_tip(widget: QWidget, text: str) -> None:
    """Set a plain-text tool tip."""
    widget.setToolTip(tool_tip(text))


class Text(QLabel):
    """Plain-text label that wraps anywhere, so that no long path or host name widens its panel."""

    def __init__(
        self, text: str = "", tone: Tone = Tone.NORMAL, *, font: QFont | None = None, wrap: bool = True
    ) -> None:
        super().__init__()
        self._heights: dict[tuple[int, int], int] = {}  # layouts ask for the same few again and again
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
        """The text's tone."""
        return self._tone

    def set_tone(self, tone: Tone) -> None:
        """Set the tone."""
        self._tone = tone
        self.update()

    def setText(self, text: str) -> None:
        """Show `text`."""
        shown = visible(text)
        if shown == self.text():
            return
        self._heights.clear()
        super().setText(shown)
        self.updateGeometry()
        self.update()

    def setWordWrap(self, on: bool) -> None:  # noqa: FBT001 (Qt's own)
        """Let the text wrap, or not."""
        self._heights.clear()
        super().setWordWrap(on)

    def changeEvent(self, event: QEvent) -> None:
        """Measure anew: the font or the style may be another."""
        self._heights.clear()
        super().changeEvent(event)

    def hasHeightForWidth(self) -> bool:
        """Return whether the height depends on the width."""
        return self.wordWrap()

    def heightForWidth(self, width: int) -> int:
        """Return the height of the text in `width` pixels."""
        key = (width - self._margin_width(), self.logicalDpiY())
        height = self._heights.get(key)
        if height is None:
            height = self._heights[key] = math.ceil(self._lay_out(width)[1])
        return height + self._margin_height()

    def sizeHint(self) -> QSize:
        """Return the size of one line, or of a column of 60 characters."""
        metrics = self.fontMetrics()
        lines = self.text().split("\n")
        wide = max(metrics.horizontalAdvance(line) for line in lines) + 1 + self._margin_width()
        if not self.wordWrap():
            return QSize(wide, metrics.lineSpacing() * len(lines) + self._margin_height())
        width = min(wide, metrics.averageCharWidth() * 60)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """Return the least size: a narrow column, or the whole line without wrapping."""
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
        """Return the layout in `width` pixels and its height; a word longer than a line is broken."""
        layout = QTextLayout(
            _unbreakable(self.text(), code=QFontInfo(self.font()).fixedPitch()).replace("\n", "\u2028"),
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
    """Return `command` without line breaks after hyphens, which would split an option."""
    return re.sub(r"-(?=\S)", f"-{JOINER}", command)


def _unbreakable(text: str, *, code: bool = False) -> str:
    """Return `text` without line breaks between a number and its unit or within the dashes of an option.

    Only for layout: the clipboard and screen readers get the text itself.
    """
    if code:
        return unbroken(text)
    return _OPTION.sub(f"-{JOINER}-{JOINER}", _UNBREAKABLE.sub("\u00a0", text))


def strong() -> QFont:
    """Return the platform's font in bold."""
    return text_font(TextSize.BODY, bold=True)


def small() -> QFont:
    """Return the platform's font at 90 % of its size, for secondary text."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * 0.9)
    return font


class OneLine(QWidget):
    """One line of plain text, elided where it does not fit, that never widens its panel."""

    def __init__(
        self, font: QFont, colour: str = "text", alignment: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft
    ) -> None:
        super().__init__()
        self.setFont(font)
        self._colour, self._alignment = colour, alignment
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Return the whole text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show `text`."""
        shown = visible(text).replace("\n", " ")
        if shown != self._text:
            self._text = shown
            self.setAccessibleName(shown)
            self.updateGeometry()
            self.update()

    def set_colour(self, colour: str) -> None:
        """Set the colour: a field of the palette."""
        if colour != self._colour:
            self._colour = colour
            self.update()

    def sizeHint(self) -> QSize:
        """Return the size that shows all of it."""
        metrics = QFontMetricsF(self.font())
        return QSize(round(metrics.horizontalAdvance(self._text)) + 2, round(metrics.height()))

    def minimumSizeHint(self) -> QSize:
        """Return a small width: the text is elided."""
        return QSize(24, self.sizeHint().height())

    def fits(self) -> bool:
        """Return whether the whole text is shown."""
        return QFontMetricsF(self.font()).horizontalAdvance(self._text) <= self.width()

    def event(self, event: QEvent) -> bool:
        """Show an elided text as a tool tip, if there is no other tool tip."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and not self.toolTip():
            QToolTip.showText(event.globalPos(), "" if self.fits() else tool_tip(self._text), self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the elided text."""
        painter = QPainter(self)
        painter.setPen(QColor(getattr(palette(), self._colour)))
        shown = QFontMetricsF(self.font()).elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), int(self._alignment | Qt.AlignmentFlag.AlignVCenter), shown)


def sheet_text(rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return `rows` as tab-separated lines. Numbers have nine significant digits."""
    return "".join("\t".join(_cell(value) for value in row) + "\n" for row in rows)


def sheet_cell(text: str) -> str:
    """Return `text` as one cell: without tabs and line breaks, and never a formula."""
    plain = " ".join(visible(text).split())
    return f"'{plain}" if plain[:1] in {"=", "+", "-", "@"} else plain


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return sheet_cell(value) if isinstance(value, str) else f"{value:.9g}"
