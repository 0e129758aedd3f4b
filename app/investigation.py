"""Investigations: a question, an ordered list of runs, comparisons and texts, each with a note, and a conclusion.

Figures are never part of one: they are read from its runs when it is shown, so that a changed verdict shows.
"""

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.records import PREFIX
from app.user_texts import checked_text
from suites.errors import BenchwrightError
from suites.quantities import count_text

NAME, QUESTION, CONCLUSION = "name", "question", "conclusion"
FIELDS = (NAME, QUESTION, CONCLUSION)
"""Texts of an investigation, besides the notes of its entries."""

LONGEST_NAME = 120
LONGEST_TEXT = 64 * 1024
MOST_ENTRIES = 500
"""Bounds in characters and entries: a library may come from another computer."""


class InvestigationError(BenchwrightError):
    """An invalid change of an investigation."""


class ChangedElsewhereError(InvestigationError):
    """A text that was changed since it was read; `stored` is what it is now."""

    def __init__(self, stored: str) -> None:
        super().__init__(
            "This text was changed elsewhere: nothing was stored.",
            f"It is now “{shortened(stored)}”. Store yours again to replace it.",
        )
        self.stored = stored


class EntryKind(StrEnum):
    """What an entry is."""

    RUN = "run"
    COMPARISON = "comparison"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class InvestigationEntry:
    """An entry. `selectors` are those of its run, or of the sides of a comparison, the baseline first, with whole ids.

    `title` names them as they were when it was added: a run may be deleted. The note of a text is the text itself.
    """

    id: str
    kind: EntryKind
    selectors: tuple[str, ...] = ()
    title: str = ""
    note: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The ids of its runs, each once, and the selectors of its published tables."""
        pieces = (piece for selector in self.selectors for piece in selector.split(","))
        return tuple(dict.fromkeys(one if one.startswith(PREFIX) else re.split("[@:]", one)[0] for one in pieces))

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of its runs, each once."""
        return tuple(one for one in self.parts if not one.startswith(PREFIX))


@dataclass(frozen=True, slots=True)
class Investigation:
    """An investigation. `created` and `changed` are UTC, ISO 8601."""

    id: str
    name: str
    question: str = ""
    entries: tuple[InvestigationEntry, ...] = ()
    conclusion: str = ""
    created: str = ""
    changed: str = ""

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of its runs, each once, in the order of its entries."""
        return tuple(dict.fromkeys(run for entry in self.entries for run in entry.runs))

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that a person has written."""
        own = (self.name, self.question, *(entry.note for entry in self.entries), self.conclusion)
        return tuple(filter(None, own))

    def entry(self, entry_id: str) -> InvestigationEntry:
        """Return an entry. Raises InvestigationError if it was removed."""
        return self.entries[self.position(entry_id)]

    def position(self, entry_id: str) -> int:
        """Return the position of an entry, from 0. Raises InvestigationError if it was removed."""
        for number, entry in enumerate(self.entries):
            if entry.id == entry_id:
                return number
        raise InvestigationError("This entry was removed elsewhere: nothing was stored.", "Add it again.")

    def text(self, where: str) -> str:
        """Return one of FIELDS, or the note of the entry with the id `where`."""
        return str(getattr(self, where)) if where in FIELDS else self.entry(where).note

    def written(self, where: str, text: str, base: str | None = None) -> "Investigation":
        """Return it with a text replaced; `where` is as in text(), `base` what was there when the user began.

        Raises ChangedElsewhereError if it is neither `base` nor `text` any more, and InvestigationError for a text that
        is too long or has control characters, or a name that is empty.
        """
        text, stored = checked(where, text), self.text(where)
        if base is not None and stored not in {base, text}:
            raise ChangedElsewhereError(stored)
        if where == NAME:
            return replace(self, name=text)
        if where == QUESTION:
            return replace(self, question=text)
        if where == CONCLUSION:
            return replace(self, conclusion=text)
        return replace(self, entries=tuple(replace(one, note=text) if one.id == where else one for one in self.entries))

    def added(self, entries: Sequence[InvestigationEntry], at: int | None = None) -> "Investigation":
        """Return it with entries inserted at a position, by default at the end. Raises InvestigationError for many."""
        known = {one.id for one in self.entries}
        new = [one for one in entries if one.id not in known]
        if len(self.entries) + len(new) > MOST_ENTRIES:
            raise InvestigationError(
                f"An investigation has at most {MOST_ENTRIES} entries.", "Begin another investigation."
            )
        place = len(self.entries) if at is None else at
        made = [replace(one, note=checked(one.id, one.note)) for one in new]
        return replace(self, entries=(*self.entries[:place], *made, *self.entries[place:]))

    def moved(self, entry_id: str, to: int) -> "Investigation":
        """Return it with an entry at the position `to`, from 0; beyond the ends it is the first or last."""
        entry = self.entry(entry_id)
        others = [one for one in self.entries if one.id != entry_id]
        place = min(max(to, 0), len(others))
        return replace(self, entries=(*others[:place], entry, *others[place:]))

    def without(self, entry_ids: Iterable[str]) -> "Investigation":
        """Return it without some entries."""
        gone = set(entry_ids)
        return replace(self, entries=tuple(one for one in self.entries if one.id not in gone))


@dataclass(frozen=True, slots=True)
class UnreadableInvestigation:
    """An investigation of which only `id` and `name` can be read; `reason` is a sentence."""

    id: str
    name: str
    reason: str

    @property
    def text(self) -> str:
        """What cannot be read and why."""
        return f"The investigation “{self.name}” ({self.id[:SHORT]}) cannot be read: {self.reason}"


def check_entries(found: Investigation) -> None:
    """Raise InvestigationError unless entries have ids of their own and as many runs as their kind needs."""
    if len({one.id for one in found.entries} | {*FIELDS}) < len(found.entries) + len(FIELDS):
        raise InvestigationError("Two entries have the same id.")
    if len(found.entries) > MOST_ENTRIES:
        raise InvestigationError(f"It has {len(found.entries):,} entries; the limit is {MOST_ENTRIES}.")
    for number, one in enumerate(found.entries, 1):
        given = len(one.selectors)
        if not {EntryKind.TEXT: given == 0, EntryKind.RUN: given == 1, EntryKind.COMPARISON: given > 1}[one.kind]:
            raise InvestigationError(f"Entry {number}, a {one.kind}, has {count_text(given, 'run')}.")


def new_id() -> str:
    """Return a new id of an investigation or an entry."""
    return secrets.token_hex(5)


def text_entry(text: str) -> InvestigationEntry:
    """Return an entry of text."""
    return InvestigationEntry(new_id(), EntryKind.TEXT, note=text)


def checked(where: str, text: str) -> str:
    """Return a text as it is stored. Raises InvestigationError as checked_text(), and for an empty name."""
    longest = LONGEST_NAME if where == NAME else LONGEST_TEXT
    what = "The name" if where == NAME else "The text"
    text = checked_text(what, text, longest, InvestigationError, lines=where != NAME)
    if where == NAME and not text:
        raise InvestigationError("The name is empty.", "Enter a name.")
    return text


SHORT = 80


def shortened(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"
