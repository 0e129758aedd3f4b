"""Investigations in the library. They outlive their runs."""

from collections.abc import Callable, Collection
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select

from app.formats import SIZE_LIMIT, FormatError, investigation_from_json, investigation_to_json, read_json
from app.investigation import (
    FIELDS,
    LONGEST_NAME,
    NAME,
    QUESTION,
    Investigation,
    InvestigationError,
    UnreadableInvestigation,
    check_entries,
    checked,
    new_id,
)
from app.store import schema
from app.store.errors import StoreError
from app.store.rows import storable, to_text
from app.timestamps import now
from app.user_texts import CONTROL
from suites.quantities import quantity

_TABLE = schema.investigations


def investigations(connection: Connection) -> list[Investigation]:
    """Return every investigation that can be read, the last changed first."""
    return [one for one in _every(connection) if isinstance(one, Investigation)]


def unreadable(connection: Connection) -> list[UnreadableInvestigation]:
    """Return the investigations that investigations() leaves out."""
    return [one for one in _every(connection) if isinstance(one, UnreadableInvestigation)]


def _every(connection: Connection) -> list[Investigation | UnreadableInvestigation]:
    query = select(_TABLE.c.id, _TABLE.c.name, _TABLE.c.content).order_by(_TABLE.c.changed.desc(), _TABLE.c.id)
    return [decoded(*row) for row in connection.execute(query)]


def known_runs(connection: Connection, wanted: Collection[str]) -> frozenset[str]:
    """Return those of some ids of runs that the library has."""
    runs = schema.runs.c
    return frozenset(run for run in wanted if connection.execute(select(runs.id).where(runs.id == run)).first())


def find(connection: Connection, word: str) -> Investigation:
    """Return the investigation with an id, else a name. Raises StoreError for none, several, or an unreadable one."""
    found = _find(connection, word)
    if isinstance(found, UnreadableInvestigation):
        raise StoreError(found.text, f"Delete it with: benchwright investigation delete {found.id}")
    return found


def _find(connection: Connection, word: str) -> Investigation | UnreadableInvestigation:
    every = _every(connection)
    found = [one for one in every if one.id == word] or [one for one in every if one.name == word]
    if not found:
        raise StoreError(f"There is no investigation “{word[:80]}”.", "List them with: benchwright investigation list")
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        raise StoreError(f"{len(found)} investigations are named “{word[:80]}”.", f"Use an id: {ids}.")
    return found[0]


def begin(connection: Connection, name: str, question: str = "") -> Investigation:
    """Store a new investigation. Raises InvestigationError for an invalid name or one that is taken."""
    made = now()
    found = Investigation(new_id(), checked(NAME, name), checked(QUESTION, question), created=made, changed=made)
    if any(one.name == found.name for one in _every(connection)):
        raise InvestigationError(f"There is an investigation “{found.name}” already.", "Choose another name.")
    return keep(connection, found)


def change(
    connection: Connection, word: str, changed: Callable[[Investigation], Investigation]
) -> tuple[Investigation, Investigation]:
    """Replace an investigation by what `changed` returns for it; return what it was and what it is."""
    before = find(connection, word)
    after = changed(before)
    if after == before:
        return before, before
    _delete(connection, before.id)
    return before, keep(connection, replace(after, changed=now()))


def remove(connection: Connection, word: str) -> Investigation:
    """Delete an investigation; its runs stay. Return it, for keep(); of an unreadable one only id and name."""
    found = _find(connection, word)
    _delete(connection, found.id)
    return found if isinstance(found, Investigation) else Investigation(found.id, found.name)


def keep(connection: Connection, found: Investigation) -> Investigation:
    """Store an investigation that the library lacks, and return it. Raises InvestigationError if it is too large."""
    content = to_text(investigation_to_json(found))
    if len(content) > SIZE_LIMIT:
        raise InvestigationError(
            f"The investigation has {quantity(len(content))}: nothing was stored.",
            f"The limit is {quantity(SIZE_LIMIT)}. Begin another investigation.",
        )
    row = {"id": found.id, "name": found.name, "changed": found.changed, "content": content}
    connection.execute(insert(_TABLE), storable(row))
    return found


def decoded(number: object, name: object, text: object) -> Investigation | UnreadableInvestigation:
    """Return an investigation from its row; a malformed one as unreadable."""
    try:
        if not isinstance(text, str):
            raise FormatError("Its content is not text.")  # noqa: TRY301 (reported as what is below)
        found = investigation_from_json(read_json(text, "Its content"))
        if found.id != number:
            raise FormatError("Its id is that of another.")  # noqa: TRY301
        check_entries(found)
        for where in (*FIELDS, *(one.id for one in found.entries)):
            text = found.text(where)
            if CONTROL.search(text):  # of an older version, or another program
                found = found.written(where, CONTROL.sub("\ufffd", text))
            else:
                checked(where, text)
    except (FormatError, InvestigationError) as error:
        reason = error.message.removeprefix("The investigation: ")
        return UnreadableInvestigation(str(number), str(name)[:LONGEST_NAME], reason)
    return found


def copy_missing(old: Connection, new: Connection) -> tuple[list[str], list[str]]:
    """Copy the investigations that a library lacks; return what was added, and what was not with the reason."""
    added, refused = [], []
    stored = {one.id: one for one in _every(new)}
    for found in reversed(_every(old)):
        known = stored.get(found.id)
        if isinstance(found, UnreadableInvestigation):
            refused.append(f"investigation {found.name}: {found.reason.rstrip('.')}")
        elif known is None:
            try:
                keep(new, found)
            except InvestigationError as error:
                refused.append(f"investigation {found.name}: {error.message.rstrip('.')}")
            else:
                added.append(f"investigation {found.name}")
        elif known != found:
            refused.append(f"investigation {found.name}: this library has another version of it")
    return added, refused


def _delete(connection: Connection, number: str) -> None:
    connection.execute(delete(_TABLE).where(_TABLE.c.id == number))
