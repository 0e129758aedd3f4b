"""What the user added to a run of two libraries: what one lacks is added to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, select

from app.formats import plan_from_json
from app.library_rows import MOST_TAGS
from app.plans.plan_remarks import Acknowledged
from app.store import library_reader, run_locks, run_writer, schema


@dataclass(frozen=True, slots=True)
class Additions:
    """What was added to a run, and what differs and was left."""

    added: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


def add_missing(old: Connection, new: Connection, run: str) -> Additions:
    """Add to `run` what the user added to it in the other library only. Nothing is changed that the library has.

    A run that one of them has in the bin differs. Raises StoreError for an invalid text, FormatError, ValueError,
    TypeError or AttributeError for what is malformed.
    """
    found = Additions()
    _add_texts(old, new, run, found)
    reason, own_reason = run_locks.reason_of(old, run), run_locks.reason_of(new, run)
    if reason and own_reason is None:
        run_locks.lock(new, [run], reason)
        found.added.append("lock")
    elif reason not in {None, own_reason}:
        found.differing.append("lock")
    _add_acknowledged(old, new, run, found)
    return found


def _add_texts(old: Connection, new: Connection, run: str, found: Additions) -> None:
    there, here = library_reader.annotation(old, run), library_reader.annotation(new, run)
    changed = replace(here, name=here.name or there.name, note=here.note or there.note)
    for what, text, own in (("name", there.name, here.name), ("note", there.note, here.note)):
        if text and text != own:
            (found.differing if own else found.added).append(what)
    tags = tuple(tag for tag in there.tags if tag not in here.tags)
    if len(here.tags) + len(tags) > MOST_TAGS:
        found.differing.append("tags")
    elif tags:
        changed = replace(changed, tags=here.tags + tags)
        found.added.append("tags")
    if changed != here:
        library_reader.annotate(new, {run: changed})
    if (there.binned is None) != (here.binned is None):
        found.differing.append(f"bin (only {'there' if here.binned is None else 'here'})")


def _add_acknowledged(old: Connection, new: Connection, run: str, found: Additions) -> None:
    given, own = (_acknowledged(each, run) for each in (old, new))
    missing = tuple(one for key, one in given.items() if key not in own)
    if missing:
        run_writer.change_acknowledged(
            new, run, lambda plan: replace(plan, acknowledged=(*plan.acknowledged, *missing))
        )
        found.added.append("acknowledgements")
    if any(own[key] != one for key, one in given.items() if key in own):
        found.differing.append("acknowledgements")


def _acknowledged(connection: Connection, run: str) -> Mapping[tuple[str, str | None], Acknowledged]:
    """Return the acknowledged findings of a run by finding and step."""
    content = json.loads(connection.execute(select(schema.runs.c.plan).where(schema.runs.c.id == run)).scalar_one())
    found = plan_from_json(content).acknowledged if content.get("acknowledged") else ()
    return {(one.finding, one.step): one for one in found}
