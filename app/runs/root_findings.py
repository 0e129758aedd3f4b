"""What is found about running as root on a host, and about settings that were changed there."""

import shlex
from collections.abc import Sequence

from app.checks import raised
from app.checks.raised import Place, finding_of
from app.events import HostChange
from app.moments import age_text
from app.plans.tuning import path_title
from remote.tuning import Note
from suites.vocab import Finding

NOT_TUNED = raised.NOT_TUNED.id
HOST_CHANGED = raised.HOST_CHANGED.id
HOST_TUNED = raised.HOST_TUNED.id

MOST = 4
"""Settings that are named; the others are counted."""


def not_tuned(host: str, reason: str) -> Finding:
    """Return the finding that `host` was not changed as the plan asks, and that the run went on all the same."""
    return finding_of(raised.NOT_TUNED, Place(host), reason)


def host_tuned(host: str, changes: Sequence[HostChange], *, drops_caches: bool) -> Finding:
    """Return the finding that `host` was changed for the run, as its plan asks."""
    told = [f"{change.what}: {change.during}, before {change.before}" for change in changes[:MOST]]
    if len(changes) > MOST:
        told.append(f"{len(changes) - MOST} more")
    if drops_caches:
        told.append("the page cache is dropped before each trial")
    return finding_of(
        raised.HOST_TUNED, Place(host), f"{'; '.join(told)}." if told else "Everything was as the plan asks already."
    )


def host_changed(host: str, notes: Sequence[Note]) -> Finding:
    """Return the finding that an earlier run left settings of `host` changed."""
    told = [f"{path_title(note.path)} is {note.during} instead of {note.before}" for note in notes[:MOST]]
    more = f", and {len(notes) - MOST} more" if len(notes) > MOST else ""
    first = notes[0]
    age = "" if first.age is None else f", {age_text(first.age)} ago"
    return finding_of(
        raised.HOST_CHANGED,
        Place(host),
        f"{'; '.join(told)}{more} (run {first.run} of {first.workstation}{age}).",
        f"Put it back with: benchwright hosts restore {shlex.quote(host)}",
    )
