"""What the user added to a run of two libraries: the name, note, tags and lock that one lacks are added to it."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from app.library_rows import MOST_TAGS
from app.store import library_reader, run_locks


def add_missing(old: Connection, new: Connection, run: str) -> tuple[Sequence[str], Sequence[str]]:
    """Add to `run` what the user added to it in the other library only; return what was added, and what differs.

    Nothing is changed that the library has. A run that one of them has in the bin differs. Raises StoreError for an
    invalid text, ValueError or TypeError for a malformed one.
    """
    added: list[str] = []
    differing: list[str] = []
    there, here = library_reader.annotation(old, run), library_reader.annotation(new, run)
    changed = replace(here, name=here.name or there.name, note=here.note or there.note)
    for what, given, own in (("name", there.name, here.name), ("note", there.note, here.note)):
        if given and given != own:
            (differing if own else added).append(what)
    tags = tuple(tag for tag in there.tags if tag not in here.tags)
    if len(here.tags) + len(tags) > MOST_TAGS:
        differing.append("tags")
    elif tags:
        changed = replace(changed, tags=here.tags + tags)
        added.append("tags")
    if changed != here:
        library_reader.annotate(new, {run: changed})
    reason, own_reason = run_locks.reason_of(old, run), run_locks.reason_of(new, run)
    if reason and own_reason is None:
        run_locks.lock(new, [run], reason)
        added.append("lock")
    elif reason not in {None, own_reason}:
        differing.append("lock")
    if (there.binned is None) != (here.binned is None):
        differing.append(f"bin (only {'there' if here.binned is None else 'here'})")
    return added, differing
