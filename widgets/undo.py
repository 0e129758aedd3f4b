"""Changes that can be undone, one stack for the window, and the bar that offers to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFrame

from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import push_button, tool_button
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, text_font

MOST = 50
"""Changes that can be undone."""

BeforeT = TypeVar("BeforeT")


@dataclass(frozen=True, slots=True)
class UndoableChange:
    """What was done, what undoes it, and where to report the result: the text of what was done, or a
    BenchwrightError."""

    text: str
    undo: Callable[[], object]
    report: Callable[[str], object]
    fail: Callable[[BenchwrightError], object]


class UndoStack(QObject):
    """Makes changes in the background, and undoes them, the last one first. `action` is *Undo* (Ctrl+Z)."""

    changed = Signal(str)  # what was done

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.done: list[UndoableChange] = []
        self.action = QAction("Undo", self, shortcut=QKeySequence(QKeySequence.StandardKey.Undo))
        self.action.triggered.connect(self.undo)
        self._offer()

    @property
    def last(self) -> UndoableChange | None:
        """The change that undo() undoes."""
        return self.done[-1] if self.done else None

    def do(
        self,
        work: Callable[[], BeforeT],
        undo: Callable[[BeforeT], object],
        text: str,
        report: Callable[[str], object],
        fail: Callable[[BenchwrightError], object],
    ) -> None:
        """Do `work`, described by `text`; `undo` gets what `work` returned. The rest is as in UndoableChange."""

        def finish(before: BeforeT) -> None:
            self.add(UndoableChange(text, lambda: undo(before), report, fail))

        BackgroundJob(work, self).start(finish, fail)

    def add(self, made: UndoableChange) -> None:
        """Add a change that was made, and report it."""
        self.done = [*self.done, made][-MOST:]
        self._report(made.text, made.report)

    def undo(self) -> None:
        """Undo the last change."""
        if self.done:
            last = self.done.pop()
            self._offer()
            done = f"Undone: {last.text}"
            BackgroundJob(last.undo, self).start(lambda _: self._report(done, last.report), last.fail)

    def forget(self) -> None:
        """Forget the changes: they are of another library."""
        self.done.clear()
        self._offer()

    def _offer(self) -> None:
        self.action.setEnabled(bool(self.done))
        self.action.setToolTip("Nothing to undo" if self.last is None else f"Undo: {self.last.text}")

    def _report(self, text: str, report: Callable[[str], object]) -> None:
        self._offer()
        self.changed.emit(text)
        report(text)


class UndoBar(QFrame):
    """One line about the last change, with a button to undo it. Hidden at first."""

    def __init__(self, changes: UndoStack) -> None:
        super().__init__()
        self._changes = changes
        self.setObjectName("card")
        self.text = OneLine(text_font(TextSize.BODY))
        self.undo_button = push_button("Undo", changes.undo, tip="Undo (Ctrl+Z)")
        self.close_button = tool_button("×", self.hide, tip="Close")
        self.close_button.setAccessibleName("Close")
        fill(row_in(self, SPACE[1], (SPACE[2], 2, SPACE[0], 2)), (self.text, 1), self.undo_button, self.close_button)
        changes.changed.connect(self._show)
        self.hide()

    def _show(self, text: str) -> None:
        self.text.set_text(text)
        self.setAccessibleName(text)
        self.undo_button.setVisible(self._changes.last is not None and self._changes.last.text == text)
        page = self.parentWidget()
        self.setVisible(page is not None and page.isVisible())  # a page in the back reports nothing later
