"""Changes of the library that can be undone, and the bar that offers to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFrame

from app.library_rows import Annotation
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import push_button, tool_button
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, text_font

MOST = 50
"""Changes that can be undone."""


@dataclass(frozen=True, slots=True)
class UndoableChange:
    """What was done, and what undoes it."""

    text: str
    undo: Callable[[], object]


class LibraryChanges(QObject):
    """Makes changes in the background, and undoes them, the last one first."""

    changed = Signal(str)  # what was done
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self.done: list[UndoableChange] = []

    @property
    def last(self) -> UndoableChange | None:
        """The change that undo() undoes."""
        return self.done[-1] if self.done else None

    def annotate(self, changed: Mapping[str, Annotation], text: str) -> None:
        """Replace annotations of runs."""
        workstation = self._workstation

        def undoing(before: Mapping[str, Annotation]) -> Callable[[], object]:
            return lambda: workstation.annotate(before)

        self._do(lambda: workstation.annotate(changed), undoing, text)

    def save_search(self, name: str, search: str, text: str) -> None:
        """Store a search, or delete it if `search` is empty."""
        workstation = self._workstation

        def undoing(before: str) -> Callable[[], object]:
            return lambda: workstation.save_search(name, before)

        self._do(lambda: workstation.save_search(name, search), undoing, text)

    def undo(self) -> None:
        """Undo the last change."""
        if self.done:
            last = self.done.pop()
            BackgroundJob(last.undo, self).start(lambda _: self.changed.emit(f"Undone: {last.text}"), self.failed)

    def forget(self) -> None:
        """Forget the changes: they are of another library."""
        self.done.clear()

    def _do(self, work: Callable[[], object], undoing: Callable[..., Callable[[], object]], text: str) -> None:
        def finish(before: object) -> None:
            self.done = [*self.done, UndoableChange(text, undoing(before))][-MOST:]
            self.changed.emit(text)

        BackgroundJob(work, self).start(finish, self._fail)

    def _fail(self, error: BenchwrightError) -> None:
        self.failed.emit(error)


class UndoBar(QFrame):
    """One line about the last change with a button to undo it."""

    def __init__(self, changes: LibraryChanges) -> None:
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
        self.show()
