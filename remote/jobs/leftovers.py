"""Private directories that a crash left on a host: found by their name, known by the nonce within."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from remote.script import answers, new_mark, run_script
from remote.session import Session

SCRIPT = "leftovers.sh"

TIMEOUT = 60.0

PLACES = ("/var/tmp", "/tmp")  # noqa: S108 (looked into, not written in)
"""Where a private directory is made when nobody names another place; the account's home is looked at, too."""


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """A directory with the name of one of ours. `age` is in seconds, `size` in bytes, None where it cannot be read.

    `own` tells that the account we use there made it and that its nonce lies within: only such can be removed.
    `account` is who owns it, `processes` how many of its jobs' processes still run.
    """

    path: str
    nonce: str
    account: str
    age: float | None
    size: int | None
    processes: int
    own: bool


def find_workspaces(session: Session, directories: Sequence[str] = ()) -> tuple[FoundWorkspace, ...]:
    """Return what was left in the usual places and in `directories`, the oldest first. Changes nothing."""
    mark = new_mark()
    said = answers(run_script(session, SCRIPT, mark, mark, *PLACES, *directories, timeout=TIMEOUT), mark)
    found = [workspace for word in said if re.fullmatch(r"left\d{1,3}", word) for workspace in _found(said, word)]
    return tuple(sorted(found, key=lambda workspace: -(workspace.age or 0.0)))


_LINE = re.compile(r"([0-9a-f]{16}) (own|other) ([^ ]{1,64}) (\d{1,12}) (\d{1,15}|-) (\d{1,6}) (/.{1,4000})")


def _found(said: Mapping[str, str], word: str) -> Iterator[FoundWorkspace]:
    match = _LINE.fullmatch(said[word])
    if match is None:
        return
    nonce, kind, account, made, size, processes, path = match.groups()
    now = said.get("now", "")
    yield FoundWorkspace(
        path=path,
        nonce=nonce,
        account=account,
        age=max(0.0, float(int(now) - int(made))) if re.fullmatch(r"\d{1,12}", now) else None,
        size=None if size == "-" else int(size) * 1024,
        processes=int(processes),
        own=kind == "own",
    )
