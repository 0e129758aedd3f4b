"""What is found about running as root on a host, and about settings that were changed there."""

from collections.abc import Sequence

from app.ages import age_text
from app.events import HostChange
from app.tuning import path_title
from remote.tuning import Note
from suites.vocab import Finding, Level

NOT_TUNED = "not-tuned"
HOST_CHANGED = "host-changed"
HOST_TUNED = "host-tuned"

MOST = 4
"""Settings that are named; the others are counted."""


def not_tuned(host: str, reason: str) -> Finding:
    """Return the finding that `host` was not changed as the plan asks, and that the run went on all the same."""
    return Finding(
        id=NOT_TUNED,
        level=Level.WARNING,
        title="The host is not as the plan asks",
        measured=reason,
        why="The plan asks for another state of the host, and to go on without it where it cannot be had. The figures "
        "are those of the host as it is, and compare badly with those of one that was changed.",
        remedy="Sign in as root or let the account use sudo; or take the change out of the plan.",
        source="The host’s own answer.",
        host=host,
    )


def host_tuned(host: str, changes: Sequence[HostChange], *, drops_caches: bool) -> Finding:
    """Return the finding that `host` was changed for the run, as its plan asks."""
    told = [f"{change.what}: {change.during}, before {change.before}" for change in changes[:MOST]]
    if len(changes) > MOST:
        told.append(f"{len(changes) - MOST} more")
    if drops_caches:
        told.append("the page cache is dropped before each trial")
    return Finding(
        id=HOST_TUNED,
        level=Level.INFO,
        title="The host was changed for the run",
        measured=f"{'; '.join(told)}." if told else "Everything was as the plan asks already.",
        why="The figures are those of the host as it was changed, not as its owner keeps it.",
        remedy="Compare only with runs for which it was changed alike.",
        source="The plan; the kernel’s own files, read before and after.",
        host=host,
    )


def host_changed(host: str, notes: Sequence[Note]) -> Finding:
    """Return the finding that an earlier run left settings of `host` changed."""
    told = [f"{path_title(note.path)} is {note.during} instead of {note.before}" for note in notes[:MOST]]
    more = f", and {len(notes) - MOST} more" if len(notes) > MOST else ""
    first = notes[0]
    age = "" if first.age is None else f", {age_text(first.age)} ago"
    return Finding(
        id=HOST_CHANGED,
        level=Level.WARNING,
        title="An earlier run left the host changed",
        measured=f"{'; '.join(told)}{more} (run {first.run} of {first.workstation}{age}).",
        why="The figures are not those of the host as its owner keeps it.",
        remedy=f"Put it back with: benchwright hosts restore {host}",
        source="/run/benchwright-changes on the host.",
        host=host,
    )
