"""A private directory on a host in which a step runs, and which is removed as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass

from remote.errors import JobError
from remote.script import ask, new_mark
from remote.session import Session

SCRIPT = "job.sh"

_FULL = "Free some space there or name another directory."
_WHY_NOT_MADE: Mapping[str, tuple[str, str]] = {
    "missing": ("there is no such directory", "Name a directory that exists."),
    "no directory": ("it is not a directory", "Name a directory."),
    "denied": ("it may not be entered", "Name a directory you may write in."),
    "full": ("the file system is full", _FULL),
}
_COMPLAINTS: tuple[tuple[str, str, str], ...] = (
    ("Permission denied", "it may not be written in", "Name a directory you may write in."),
    ("Read-only file system", "its file system is mounted read-only", "Name a directory on another file system."),
    ("No space left", "the file system is full", _FULL),
    ("quota", "your disk quota is used up", _FULL),
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory of ours on a host, mode 0700. `nonce` is in its name and in a file in it."""

    path: str
    nonce: str


def make_workspace(session: Session, directory: str, nonce: str = "") -> Workspace:
    """Make a private directory in `directory` on the host, under `nonce` or a new one.

    Raises JobError where `directory` is missing, not writable or full.
    """
    nonce = nonce or new_mark()
    said = ask(session, SCRIPT, "make", directory, nonce)
    path = said.get("path")
    if path is None:
        raise _not_made(session.host, directory, said.get("error"))
    return Workspace(path, nonce)


def remove_workspace(session: Session, workspace: Workspace) -> None:
    """End what still runs in the workspace and remove it; one that is gone already is no error.

    Raises JobError where the directory is not ours or something is left.
    """
    said = ask(session, SCRIPT, "remove", workspace.path, workspace.nonce)
    if "removed" in said:
        return
    complaint = said.get("error", "the host gave no answer")
    if complaint == "foreign":
        complaint = "it is not the directory that was made"
    elif complaint.startswith("left"):
        complaint = f"processes cannot be ended: {complaint.removeprefix('left').strip()}"
    raise JobError(
        f"{workspace.path} on {session.host} was not removed: {complaint}.",
        "Look at it on the host and remove it by hand.",
        host=session.host,
    )


def explain(complaint: str) -> tuple[str, str]:
    """Return in words why something could not be written, and what to do, from the host's own `complaint`."""
    if complaint in _WHY_NOT_MADE:
        return _WHY_NOT_MADE[complaint]
    for sign, why, remedy in _COMPLAINTS:
        if sign.lower() in complaint.lower():
            return why, remedy
    return complaint.strip() or "the host gave no reason", "Try it by hand on the host."


def _not_made(host: str, directory: str, complaint: str | None) -> JobError:
    if complaint is None:
        return JobError(
            f"{host} did not run a shell script: no answer came back.",
            "Check that the account has a POSIX shell and may run commands.",
            host=host,
        )
    why, remedy = explain(complaint)
    return JobError(f"Nothing can be written in {directory} on {host}: {why}.", remedy, host=host)
