"""View of a tool's raw output: bounded, plain text, without terminal control."""

import re
from collections import deque
from collections.abc import Mapping

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPlainTextEdit

from suites.line_parser import LineSplitter
from suites.perf import STREAM
from widgets.plots.redraw import Redraw
from widgets.theme import code_font

LINES = 5000
"""Lines kept in the view; the store has all of them."""

LINE_LIMIT = 4096
"""Characters shown of a line: Qt takes 49 s to lay out a line of a million."""

OUTPUT_SHOWN = 512 * 1024
"""Bytes shown of a stored output, from its end."""

_COMPLEX_LIMIT = 1024
"""LINE_LIMIT for a line beyond ASCII: shaping it costs several times as much."""

_MAX_LINES = 1000
"""Lines added per redraw while output arrives: more would block the window."""

_PEER = "peer "
"""Prefix of the stream names of the peer (server)."""

_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|.?)", re.DOTALL
)
"""CSI, OSC and other terminal escape sequences (ECMA-48, 5.4 and 8.3)."""

_INVISIBLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Control, zero-width and bidirectional characters, which could hide or reorder text."""

_COMPLEX = re.compile(
    "[^\t -~\u00a0-\u02ff\u0370-\u052f\u2010-\u2027\u2030-\u205e\u2070-\u2bff\u3000-\u9fff\uac00-\ud7a3\uff01-\uff5e]"
)
"""Combining marks and scripts that need shaping: drawing a page of them takes 0.1 s or more. They are shown as the
replacement character; tools run in the C locale print none."""


def shown(line: str) -> str:
    """Return `line` without escape sequences and invisible characters, cut at LINE_LIMIT."""
    limit = LINE_LIMIT if line.isascii() else _COMPLEX_LIMIT
    cut = line if len(line) <= limit else f"{line[: limit - 1]}…"
    if cut.isprintable() and line.isascii():
        return cut
    return _COMPLEX.sub("\ufffd", _INVISIBLE.sub("", _SEQUENCES.sub("", cut)))


class LogView(QPlainTextEdit):
    """The last LINES lines of output. It follows the end until the user scrolls up."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(LINES)
        self.setFont(code_font())
        self.setAccessibleName("Raw output")
        self.setPlaceholderText("Output of the tool appears here.")
        self._splitter = LineSplitter()
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._skipped = 0
        self._redraw = Redraw(self)
        self._redraw.due.connect(self._append)

    def write(self, data: bytes, stream: str = "stdout") -> None:
        """Add the next bytes of `stream`; not a profile, which has a page of its own."""
        if stream.startswith(STREAM):
            return
        mark = "peer: " if stream.startswith(_PEER) else ""
        self._add([mark + shown(line) for line in self._splitter.feed(data, stream)])

    def note(self, text: str) -> None:
        """Add a line that the tool did not print."""
        self._add([shown(line) for line in self._splitter.rest()])
        self._add([shown(text)])

    def load(self, output: Mapping[str, bytes]) -> None:
        """Replace the content with stored output by stream; of a long one, its end."""
        self.restart()
        lines: list[str] = []
        for stream, data in output.items():
            unshown = len(data) - OUTPUT_SHOWN
            lines += [f"── {stream} ──"] if len(output) > 1 else []
            lines += [f"… first {unshown} bytes not shown …"] if unshown > 0 else []
            splitter = LineSplitter()
            lines += [shown(line) for line in [*splitter.feed(data[-OUTPUT_SHOWN:]), *splitter.rest()]][-LINES:]
        self.setPlainText("\n".join(lines))

    def flush(self) -> None:
        """Show the last lines that have no line break."""
        self._add([shown(line) for line in self._splitter.rest()])

    def restart(self) -> None:
        """Empty the view."""
        self._splitter.rest()
        self._lines.clear()
        self._skipped = 0
        self.clear()

    def _add(self, lines: list[str]) -> None:
        over = len(self._lines) + len(lines) - _MAX_LINES
        self._skipped += max(over, 0)
        self._lines.extend(lines)
        if lines and self.isVisible():
            self._redraw.request()

    def _append(self) -> None:
        if not self._lines or not self.isVisible():
            return
        bar = self.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 1
        gap = [f"… {self._skipped} lines not shown; the stored output is complete …"] if self._skipped else []
        self.appendPlainText("\n".join([*gap, *self._lines]))
        self._lines.clear()
        self._skipped = 0
        if follows:
            bar.setValue(bar.maximum())

    def showEvent(self, event: QShowEvent) -> None:
        """Show output that came while the view was hidden."""
        super().showEvent(event)
        self._redraw.request()
