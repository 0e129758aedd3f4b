"""Read-only view of exact commands, folded with backslashes, with a Copy button."""

import shlex
from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QResizeEvent, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

from app.plans.plan import Plan
from app.plans.totals import StepPreview
from suites.command_line import SHELL_WORD
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.text import MAXIMUM_TEXT, Text, Tone, visible
from widgets.theme import SPACE, code_font

_LEAST_COLUMNS = 20


def folded(text: str, columns: int) -> str:
    """Return shell lines broken between words with trailing backslashes; a shell parses the result identically.

    A word longer than a line is not broken. A line that cannot be folded safely is returned unchanged.
    """
    return "\n".join(_fold(line, max(_LEAST_COLUMNS, columns)) for line in text.split("\n"))


def _fold(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    lines, current = [], ""
    for word in SHELL_WORD.findall(line):
        if current and len(current) + len(word) + 3 > columns:
            lines.append(f"{current} \\")
            current = f"  {word}"
        else:
            current = f"{current} {word}" if current else word
    broken = "\n".join([*lines, current])
    # A line break inside a quoted argument would change it: fold only if the shell sees the same arguments.
    return broken if _arguments(broken.replace("\\\n", "")) == _arguments(line) else line


def _arguments(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


def shell_script(plan: Plan, previews: Sequence[StepPreview]) -> str:
    """Return a shell script of one trial of each step, grouped by host, to read and run by hand."""
    given = plan.repetition
    least = given.fewest + given.uncounted
    repeats = str(least) if given.most == given.fewest else f"at least {least}"
    lines = ["#!/bin/sh", f"# {_one_line(plan.name)}: one trial of each step; the plan runs {repeats}."]
    for host in plan.hosts:
        lines += ["", f"# On {_one_line(host)}"]
        for preview in previews:
            if preview.host == host:
                lines += [f"# {_one_line(preview.step)}", preview.text]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


class CommandView(QWidget):
    """Caption, Copy button and the commands."""

    def __init__(self, caption: str, lines: int = 4) -> None:
        super().__init__()
        self._exact = ""
        self.caption = Text(caption, Tone.MUTED)
        self.copy_button = push_button("Copy", self._copy, icon="copy", accessibleName=f"Copy: {caption}")
        self._view = _Code(lines)
        self._view.setAccessibleName(caption)
        head = in_row((self.caption, 1), self.copy_button, spacing=SPACE[1])
        fill(column_in(self, SPACE[0]), head, self._view)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.set_text("")

    def text(self) -> str:
        """Return the exact commands."""
        return self._exact

    def set_caption(self, caption: str) -> None:
        """Set the caption and the accessible names."""
        self.caption.setText(caption)
        self.copy_button.setAccessibleName(f"Copy: {caption}")
        self._view.setAccessibleName(caption)

    def set_text(self, text: str, absent: str = "") -> None:
        """Show `text`, or `absent` (the reason) where it is empty."""
        self._exact = text
        self._view.show_command(text)
        self._view.setPlaceholderText(absent)
        self.copy_button.setEnabled(bool(text))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._exact)


class _Code(QPlainTextEdit):
    """Read-only monospace text, folded between words, as tall as its lines up to a limit."""

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
        character = max(
            1.0, QFontMetricsF(self.font()).horizontalAdvance("0")
        )  # a fraction of a pixel a character adds up
        columns = int((self.viewport().width() - spare) / character)
        lines = folded(self._text, columns).split("\n")
        shown = "\n".join(visible(line[:MAXIMUM_TEXT]) for line in lines)
        if shown != self.toPlainText():
            self.setPlainText(shown)
        height = self.fontMetrics().lineSpacing() * min(self._most, max(1, len(lines)))
        self.setFixedHeight(height + 2 * SPACE[1])
        if "\nEOF\n" in shown:  # scroll to the command: the files that it needs come first
            self.moveCursor(QTextCursor.MoveOperation.End)
            self.ensureCursorVisible()

    def sizeHint(self) -> QSize:
        """Return a small width; the layout stretches it."""
        return QSize(200, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold again for the new width."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._fold()
