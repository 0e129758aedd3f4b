"""What the actions on selected runs do: baselines, analyses, plans, names, tags, the bin."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtWidgets import QWidget

from app.baselines.baselines import InvalidBaselineError
from app.library_rows import Annotation, LibraryRow
from app.services import Workstation
from app.timestamps import now
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.library.run_actions import RunActions
from widgets.library.run_dialogs import DeleteQuestion, LockDialog, PinDialog, TextQuestion
from widgets.parts.dialogs import QuestionDialog, opened
from widgets.undo import UndoStack

PINNED_INVALID = "A comparison with it has no verdict."


class RunCommands(QObject):
    """Does what the actions of the library ask for; `chosen` returns the selected runs."""

    changed = Signal(str)  # the library has changed; what was done
    failed = Signal(object)  # a BenchwrightError
    again_requested = Signal(object)  # a Plan to run at once
    repeat_requested = Signal(object)  # a Plan to edit

    def __init__(
        self,
        workstation: Workstation,
        actions: RunActions,
        chosen: Callable[[], list[LibraryRow]],
        page: QWidget,
        undo: UndoStack,
    ) -> None:
        super().__init__(page)
        self._workstation, self._chosen, self._page, self._undo = workstation, chosen, page, undo
        self.tags: Sequence[str] = ()
        actions.pin.triggered.connect(self._ask_for_name)
        actions.unpin.triggered.connect(self._unpin)
        actions.again.triggered.connect(lambda: self._read_plan(self.again_requested))
        actions.edit_plan.triggered.connect(lambda: self._read_plan(self.repeat_requested))
        actions.crosscheck.triggered.connect(self._ask_another_tool)
        actions.tag.triggered.connect(self._ask_for_tags)
        actions.lock.triggered.connect(self._ask_why_to_lock)
        actions.unlock.triggered.connect(lambda: self._unlock(self._chosen()))
        actions.delete.triggered.connect(lambda: self._move(now()))
        actions.restore.triggered.connect(lambda: self._move(None))
        actions.erase.triggered.connect(self._ask_to_erase)

    # Names, notes, tags, the bin

    def edit(self, row: LibraryRow, field: str, text: str) -> None:
        """Store a name, a note or tags that were entered in place."""
        old, plain = row.annotation, " ".join(text.split())
        new = {
            "name": lambda: replace(old, name=plain),
            "note": lambda: replace(old, note=plain),
            "tag": lambda: replace(old, tags=_tags(plain)),
        }[field]()
        done = {"name": f"Renamed to “{plain}”", "note": "Note changed", "tag": "Tags changed"}[field]
        if new != old:
            self._annotate({row.id: new}, done)

    def save_search(self, search: str) -> None:
        """Ask for the name of a search and save it."""
        dialog = TextQuestion("Save this search", search, "Name", self._page)
        dialog.accepted.connect(
            lambda: (
                self._store_search(dialog.text(), search, f"Saved the search “{dialog.text()}”")
                if dialog.text()
                else None
            )
        )
        opened(dialog)

    def delete_search(self, name: str) -> None:
        """Delete a saved search."""
        self._store_search(name, "", f"Deleted the search “{name}”")

    def _store_search(self, name: str, search: str, done: str) -> None:
        save = self._workstation.save_search
        self._undo.do(
            lambda: save(name, search), lambda before: save(name, before), done, self.changed.emit, self.failed.emit
        )

    def _ask_for_tags(self) -> None:
        rows = self._chosen()
        if not rows:
            return
        common = [tag for tag in rows[0].annotation.tags if all(tag in row.annotation.tags for row in rows)]
        text = f"Tags of {count_text(len(rows), 'run')}, separated by commas."
        dialog = TextQuestion("Tag runs", text, "Tags", self._page, self.tags)
        dialog.field.setText(", ".join(common))
        dialog.accepted.connect(lambda: self._set_tags(rows, common, _tags(dialog.text())))
        opened(dialog)

    def _set_tags(self, rows: Sequence[LibraryRow], common: Sequence[str], tags: Sequence[str]) -> None:
        """Give the rows the tags; those that they had in common and that are not given are removed."""

        def of(row: LibraryRow) -> Annotation:
            kept = [tag for tag in row.annotation.tags if tag not in common]
            return replace(row.annotation, tags=tuple(dict.fromkeys((*kept, *tags))))

        self._annotate({row.id: of(row) for row in rows}, f"Tagged {count_text(len(rows), 'run')}")

    def _move(self, binned: str | None) -> None:
        """Put the selected runs into the bin, or take them out."""
        rows = self._chosen()
        runs = count_text(len(rows), "run")
        done = f"Restored {runs}" if binned is None else f"{runs} moved to the bin"
        self._annotate({row.id: replace(row.annotation, binned=binned) for row in rows}, done)

    def _annotate(self, changed: Mapping[str, Annotation], done: str) -> None:
        annotate = self._workstation.annotate
        if changed:
            self._undo.do(lambda: annotate(changed), annotate, done, self.changed.emit, self.failed.emit)

    def _ask_to_erase(self) -> None:
        self._question_deletion(self._chosen())

    def _question_deletion(self, chosen: Sequence[LibraryRow]) -> None:
        """Ask whether to delete runs for good; locked ones can be unlocked first, which asks again."""
        if not chosen:
            return
        question = DeleteQuestion(chosen, self._page)
        if locked := [row for row in chosen if row.lock]:
            unlocked = [replace(row, lock="") for row in chosen]
            question.add_extra_button(
                f"Unlock {count_text(len(locked), 'run')}",
                lambda: self._unlock(locked, lambda: self._question_deletion(unlocked)),
            )
        question.accepted.connect(lambda: self._erase([row.id for row in chosen]))
        opened(question)

    def _erase(self, runs: Sequence[str]) -> None:
        def delete() -> None:
            for run in runs:
                self._workstation.delete(run)

        self._change(delete, f"{count_text(len(runs), 'run')} deleted for good")

    # Locks

    def _ask_why_to_lock(self) -> None:
        if not (chosen := self._chosen()):
            return
        dialog = LockDialog(chosen, self._page)
        ids = [row.id for row in chosen]
        lock = self._workstation.lock
        dialog.accepted.connect(
            lambda: self._change(lambda: lock(ids, dialog.text()), f"{count_text(len(ids), 'run')} locked")
        )
        opened(dialog)

    def _unlock(self, rows: Sequence[LibraryRow], then: Callable[[], None] | None = None) -> None:
        """Remove the locks of runs, then go on with `then`."""
        ids = [row.id for row in rows if row.lock]
        job = BackgroundJob(lambda: self._workstation.unlock(ids), self)
        job.returned.connect(lambda _: self.changed.emit(f"{count_text(len(ids), 'run')} unlocked"))
        if then is not None:
            job.returned.connect(lambda _: then())
        job.start(failed=self.failed)

    # Baselines

    def _ask_for_name(self) -> None:
        if not (chosen := self._chosen()):
            return
        dialog = PinDialog([row.summary for row in chosen], self._workstation, self._page)
        ids = ",".join(sorted(row.id for row in chosen))
        dialog.accepted.connect(lambda: self._pin(ids, dialog.chosen(), dialog.oldest()))
        opened(dialog)

    def _pin(self, word: str, name: str, oldest: float | None, *, accept_invalid: bool = False) -> None:
        self._change(
            lambda: self._workstation.pin(word, name, oldest, accept_invalid=accept_invalid),
            f"Pinned as the baseline “{name}”",
            lambda error: self._ask_invalid(error, word, name, oldest),
        )

    def _ask_invalid(self, error: BenchwrightError, word: str, name: str, oldest: float | None) -> None:
        """Ask whether to pin an invalid result; report any other error."""
        if not isinstance(error, InvalidBaselineError):
            self.failed.emit(error)
            return
        text = f"{error.message} {PINNED_INVALID}"
        question = QuestionDialog("Pin an invalid result?", text, "Pin anyway", self._page)
        question.accepted.connect(lambda: self._pin(word, name, oldest, accept_invalid=True))
        opened(question)

    def _unpin(self) -> None:
        chosen = self._chosen()
        name = chosen[0].summary.baseline if chosen else None
        if name is not None:
            self._change(lambda: self._workstation.unpin(name), f"Unpinned “{name}”; the run is kept")

    # Analyses and plans

    def _read_plan(self, requested: SignalInstance) -> None:
        if not (chosen := self._chosen()):
            return
        workstation, run_id = self._workstation, chosen[0].id
        BackgroundJob(lambda: workstation.plan_to_repeat(run_id), self).start(requested, self.failed)

    def _ask_another_tool(self) -> None:
        from widgets.crosscheck import open_crosscheck

        if chosen := self._chosen():
            dialog = open_crosscheck(self._workstation, chosen[0].id, self._page)
            dialog.plan_chosen.connect(self.repeat_requested)

    def _change(
        self, work: Callable[[], Any], done: str, failed: Callable[[BenchwrightError], None] | None = None
    ) -> None:
        """Change the library in the background."""
        BackgroundJob(work, self).start(lambda _: self.changed.emit(done), failed or self.failed)


def _tags(text: str) -> tuple[str, ...]:
    """Return the tags in a text, each once."""
    return tuple(dict.fromkeys(filter(None, (" ".join(tag.split()) for tag in text.split(",")))))
