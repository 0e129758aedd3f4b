"""Raw output as it arrives: bounded, plain, never slower than reading."""

import re
from collections import deque
from collections.abc import Mapping

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from suites.base import LineSplitter
from widgets.plots.redraw import Redraw
from widgets.theme import code_font

LINES = 5000
"""Lines kept on screen; the store has all of them."""

LINE_LIMIT = 4096
"""Characters of a line that are shown: Qt takes 49 s to lay out a line of a million."""

OUTPUT_SHOWN = 512 * 1024
"""Bytes of a stored output that are shown, from its end."""

_COMPLEX_LIMIT = 1024
"""The same for a line beyond ASCII: shaping such text costs several times as much."""

_AT_ONCE = 1000
"""Lines added in one go while output arrives: more would hold up the window."""

_PEER = "peer "
"""Before the name of a stream that the server end printed."""

_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|.?)", re.DOTALL
)
"""What a terminal would obey: CSI, OSC and other escape sequences (ECMA-48, 5.4 and 8.3)."""

_UNSEEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Control, zero-width and bidirectional characters, which could hide or reorder what is read."""

_UNDRAWN = re.compile(
    "[^\t -~\u00a0-\u02ff\u0370-\u052f\u2010-\u2027\u2030-\u205e\u2070-\u2bff\u3000-\u9fff\uac00-\ud7a3\uff01-\uff5e]"
)
"""Marks that pile up and scripts that must be shaped: drawing a page of them takes a tenth of a second and more.
They are shown as the replacement character; tools asked to speak the C locale print none."""


def shown(line: str) -> str:
    """Return `line` as it is shown: without what a terminal would obey, cut at LINE_LIMIT."""
    limit = LINE_LIMIT if line.isascii() else _COMPLEX_LIMIT
    cut = line if len(line) <= limit else f"{line[: limit - 1]}…"
    if cut.isprintable() and line.isascii():
        return cut
    return _UNDRAWN.sub("\ufffd", _UNSEEN.sub("", _SEQUENCES.sub("", cut)))


class LogView(QPlainTextEdit):
    """The last LINES lines of output. It follows the end until the user scrolls up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(LINES)
        self.setFont(code_font())
        self.setAccessibleName("Raw output")
        self.setPlaceholderText("What the tool prints appears here as it arrives.")
        self._splitter = LineSplitter()
        self._lines: deque[str] = deque(maxlen=_AT_ONCE)
        self._skipped = 0
        self._redraw = Redraw(self)
        self._redraw.due.connect(self._append)

    def write(self, data: bytes, stream: str = "stdout") -> None:
        """Take the next bytes of `stream`."""
        mark = "peer: " if stream.startswith(_PEER) else ""
        self._take([mark + shown(line) for line in self._splitter.feed(data, stream)])

    def note(self, text: str) -> None:
        """Add a line of our own."""
        self._take([shown(line) for line in self._splitter.rest()])
        self._take([shown(text)])

    def load(self, output: Mapping[str, bytes]) -> None:
        """Show stored output by stream instead of what is shown: the end of it, where it is long."""
        self.restart()
        lines: list[str] = []
        for stream, data in output.items():
            unshown = len(data) - OUTPUT_SHOWN
            lines += [f"── {stream} ──"] if len(output) > 1 else []
            lines += [f"… the first {unshown} bytes are not shown …"] if unshown > 0 else []
            splitter = LineSplitter()
            lines += [shown(line) for line in [*splitter.feed(data[-OUTPUT_SHOWN:]), *splitter.rest()]][-LINES:]
        self.setPlainText("\n".join(lines))

    def flush(self) -> None:
        """Show what never ended in a line break."""
        self._take([shown(line) for line in self._splitter.rest()])

    def restart(self) -> None:
        """Empty the view."""
        self._splitter.rest()
        self._lines.clear()
        self._skipped = 0
        self.clear()

    def _take(self, lines: list[str]) -> None:
        over = len(self._lines) + len(lines) - _AT_ONCE
        self._skipped += max(over, 0)
        self._lines.extend(lines)
        if lines and self.isVisible():
            self._redraw.request()

    def _append(self) -> None:
        if not self._lines or not self.isVisible():
            return
        bar = self.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 1
        gap = [f"… {self._skipped} lines are not shown; the stored output has them …"] if self._skipped else []
        self.appendPlainText("\n".join([*gap, *self._lines]))
        self._lines.clear()
        self._skipped = 0
        if follows:
            bar.setValue(bar.maximum())

    def showEvent(self, event: QShowEvent) -> None:
        """Show what came while nobody looked."""
        super().showEvent(event)
        self._redraw.request()
