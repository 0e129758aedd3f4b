"""What is found about running as root on a host, and about settings that were changed there."""

from collections.abc import Sequence

from app.ages import age_text
from app.tuning import path_title
from remote.tuning import Note
from suites.vocab import Finding, Level

NOT_TUNED = "not-tuned"
HOST_CHANGED = "host-changed"


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


def host_changed(host: str, notes: Sequence[Note]) -> Finding:
    """Return the finding that an earlier run left settings of `host` changed."""
    told = [f"{path_title(note.path)} is {note.during} instead of {note.before}" for note in notes[:4]]
    more = f", and {len(notes) - 4} more" if len(notes) > 4 else ""
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
