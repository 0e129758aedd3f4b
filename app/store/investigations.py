"""Investigations in the library. They outlive their runs."""

import json
from collections.abc import Callable, Collection
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select

from app.formats import FormatError, investigation_from_json, investigation_to_json
from app.investigation import (
    CONCLUSION,
    MOST_ENTRIES,
    NAME,
    QUESTION,
    Investigation,
    InvestigationError,
    checked,
    new_id,
)
from app.store import schema
from app.store.errors import StoreError
from app.store.rows import storable, to_text
from app.timestamps import now

_TABLE = schema.investigations


def investigations(connection: Connection) -> list[Investigation]:
    """Return every investigation, the last changed first."""
    query = select(_TABLE.c.id, _TABLE.c.content).order_by(_TABLE.c.changed.desc(), _TABLE.c.id)
    return [decoded(number, text) for number, text in connection.execute(query)]


def known_runs(connection: Connection, wanted: Collection[str]) -> frozenset[str]:
    """Return those of some ids of runs that the library has."""
    runs = schema.runs.c
    return frozenset(run for run in wanted if connection.execute(select(runs.id).where(runs.id == run)).first())


def find(connection: Connection, word: str) -> Investigation:
    """Return the investigation with an id, else a name. Raises StoreError for none or several."""
    every = investigations(connection)
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
    if any(one.name == found.name for one in investigations(connection)):
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
    """Delete an investigation; its runs stay. Return it, for keep()."""
    found = find(connection, word)
    _delete(connection, found.id)
    return found


def keep(connection: Connection, found: Investigation) -> Investigation:
    """Store an investigation that the library does not have, and return it."""
    row = {
        "id": found.id, "name": found.name, "changed": found.changed,
        "content": to_text(investigation_to_json(found)),
    }  # fmt: skip
    connection.execute(insert(_TABLE).values(storable(row)))
    return found


def decoded(number: str, text: str) -> Investigation:
    """Return an investigation from its stored JSON. Raises StoreError if it is malformed."""
    try:
        found = investigation_from_json(json.loads(text))
        ids = {entry.id for entry in found.entries}
        if found.id != number or len(ids) != len(found.entries) or len(ids) > MOST_ENTRIES:
            raise ValueError(found.id)  # noqa: TRY301 (reported as what json and cattrs raise)
        for where in (NAME, QUESTION, CONCLUSION, *ids):
            checked(where, found.text(where))
    except (FormatError, InvestigationError, ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"The investigation {str(number)[:80]} is malformed.") from error
    return found


def copy_missing(old: Connection, new: Connection) -> tuple[list[str], list[str]]:
    """Copy the investigations that a library lacks; return what was added, and what was not with the reason."""
    added, refused = [], []
    stored = {one.id: one for one in investigations(new)}
    for number, text in old.execute(select(_TABLE.c.id, _TABLE.c.content).order_by(_TABLE.c.changed)):
        try:
            found = decoded(number, text)
        except StoreError:
            refused.append(f"investigation {str(number)[:80]}: malformed")
            continue
        if found.id not in stored:
            keep(new, found)
            added.append(f"investigation {found.name}")
        elif stored[found.id] != found:
            refused.append(f"investigation {found.name}: this library has another version of it")
    return added, refused


def _delete(connection: Connection, number: str) -> None:
    connection.execute(delete(_TABLE).where(_TABLE.c.id == number))
