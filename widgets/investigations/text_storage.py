"""Stores the texts of investigations that are typed, and keeps each until it is stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.investigation import ChangedElsewhereError, Investigation
from app.paths import unstored_path
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.investigations.saved_text import SavedText
from widgets.jobs import BackgroundJob

SLOWEST = 30.0
"""Seconds that a text waits at most for one that is being stored."""

TextKey = tuple[str, str]
"""The id of an investigation and the place of a text in it, as in Investigation.text()."""


@dataclass(frozen=True, slots=True, eq=False)
class UnstoredText:
    """A typed text. `bases` are the texts that it may replace: what was stored, or under way, when the user began.

    `error` is why it was not stored; None while it is being stored.
    """

    title: str
    text: str
    bases: tuple[str, ...]
    error: BenchwrightError | None = None

    @property
    def conflicts(self) -> bool:
        """Whether it was refused because the stored text was changed elsewhere: the user decides."""
        return isinstance(self.error, ChangedElsewhereError)

    def failed(self, error: BenchwrightError) -> "UnstoredText":
        """Return it with the reason why it was not stored."""
        bases = (error.stored,) if isinstance(error, ChangedElsewhereError) else self.bases
        return replace(self, bases=bases, error=error)


def text_of(texts: Sequence[UnstoredText]) -> str:
    """Return texts below each other, each under its title."""
    return "\n\n".join(f"{one.title}:\n{one.text}" for one in texts)


def left_texts() -> Sequence[Path]:
    """Return the files of texts that could not be stored when a signal ended the window."""
    return sorted(unstored_path().glob("*.txt"))


class TextStorage(QObject):
    """Stores typed texts in the background. Those not stored yet, or refused, are kept and shown again."""

    stored = Signal(object)  # the Investigation
    refused = Signal(object)  # the BenchwrightError
    settled = Signal()  # no text is being stored any more

    def __init__(self, workstation: Workstation, field: Callable[[TextKey], SavedText | None], parent: QObject) -> None:
        """Store texts; `field` returns the field that shows one, if there is one."""
        super().__init__(parent)
        self._workstation = workstation
        self._field = field
        self._jobs: set[BackgroundJob] = set()
        self._kept: dict[TextKey, UnstoredText] = {}

    @property
    def is_settled(self) -> bool:
        """Whether no text is being stored."""
        return not self._jobs

    @property
    def unstored(self) -> Sequence[UnstoredText]:
        """What was requested to be stored, and is not."""
        for key in tuple(self._kept):
            self._forget_withdrawn(key)
        return tuple(self._kept.values())

    def store(self, key: TextKey, title: str, text: str, base: str) -> None:
        """Store a text that was typed in place of `base`."""
        earlier = self._kept.get(key)
        bases = () if earlier is None or earlier.conflicts else earlier.bases  # that may not be stored itself
        self._store(key, UnstoredText(title, text, (base, *bases)))

    def retry(self) -> Sequence[BackgroundJob]:
        """Store again what was refused and no field shows; return what is being stored."""
        for key, one in tuple(self._kept.items()):
            if one.error is not None and not one.conflicts and self._field(key) is None:
                self._store(key, replace(one, error=None))
        return tuple(self._jobs)

    def show(self, field: SavedText, key: TextKey, stored: str, *, other: bool) -> None:
        """Show what is stored, or what was typed and is not; `other` if the field has shown another content."""
        if not other:
            self._forget_withdrawn(key)
        kept = self._kept.get(key)
        if kept is None:
            field.show_text(stored, other=other)
        elif other:
            field.show_text(kept.text.strip(), other=True)
            if kept.error is not None:
                field.take_refused(kept.bases[0], held=kept.conflicts)

    def _store(self, key: TextKey, new: UnstoredText) -> None:
        (number, where), store, before = key, self._workstation.change_investigation, tuple(self._jobs)

        def changed(now: Investigation) -> Investigation:
            stored = now.text(where)
            return now.written(where, new.text, stored if stored in new.bases else new.bases[0])

        def work() -> tuple[Investigation, Investigation]:
            for earlier in before:  # of this text, perhaps
                earlier.wait(SLOWEST)
            return store(number, changed)

        def finish() -> None:
            self._jobs.discard(job)
            if not self._jobs:
                self.settled.emit()

        self._kept[key] = new
        if (field := self._field(key)) is not None:
            field.take_saved(new.text)
        job = BackgroundJob(work, self)
        self._jobs.add(job)
        job.start(
            lambda made: self._take_stored(key, new, made[1]), lambda error: self._take_refused(key, new, error),
            finished=finish,
        )  # fmt: skip

    def _take_stored(self, key: TextKey, new: UnstoredText, found: Investigation) -> None:
        if self._kept.get(key) is new:  # nothing else was typed since
            del self._kept[key]
        self.stored.emit(found)

    def _take_refused(self, key: TextKey, new: UnstoredText, error: BenchwrightError) -> None:
        field = self._field(key)
        if self._kept.get(key) is new:
            kept = self._kept[key] = new.failed(error)
            if field is not None:
                field.take_refused(kept.bases[0], held=kept.conflicts)
        kept_where = "" if field is not None else f" {new.title} is kept until the window is closed."
        self.refused.emit(BenchwrightError(error.message, f"{error.remedy}{kept_where}".strip()))

    def _forget_withdrawn(self, key: TextKey) -> None:
        """Forget a text that was not stored if the user has made it again what is stored."""
        kept, field = self._kept.get(key), self._field(key)
        if kept is not None and kept.error is not None and field is not None and not field.unsaved:
            del self._kept[key]
