"""A private directory on a host in which a step runs, and which is removed as a whole."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from remote.errors import JobError
from remote.plain import plain
from remote.script import ask, new_mark
from remote.session import Session

SCRIPT = "job.sh"

_FULL = "Free some space there or name another directory."
_WHY_NOT_MADE: Mapping[str, tuple[str, str]] = {
    "missing": ("there is no such directory", "Name a directory that exists."),
    "no directory": ("it is not a directory", "Name a directory."),
    "denied": ("it may not be entered", "Name a directory you may write in."),
    "full": ("the file system is full", _FULL),
    "gone": ("the directory is gone", "Start the step again."),
}
_UNSAFE = re.compile(r"unsafe (others|group|owner|unknown) ([^/]{0,256}) (/.{0,4000})", re.DOTALL)
_IDENTITY = re.compile(r"[0-9a-f-]{36}:\d{1,20}:\d{1,20}")
_COMPLAINTS: tuple[tuple[str, str, str], ...] = (
    ("Permission denied", "it may not be written in", "Name a directory you may write in."),
    ("Read-only file system", "its file system is mounted read-only", "Name a directory on another file system."),
    ("No space left", "the file system is full", _FULL),
    ("quota", "your disk quota is used up", _FULL),
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory of ours on a host, mode 0700. `nonce` is in its name and in a file in it.

    `identity` tells it from any other that is put in its place: boot id, device and inode, as ``BOOT:DEVICE:INODE``;
    empty where they are not known. They are compared within that boot only: a device may have another number in the
    next.
    """

    path: str
    nonce: str
    identity: str = ""

    @property
    def words(self) -> tuple[str, str, str]:
        """The arguments by which job.sh finds it."""
        return self.path, self.nonce, self.identity or "-"


def make_workspace(session: Session, directory: str, nonce: str = "") -> Workspace:
    """Make a private directory in `directory` on the host, under `nonce` or a new one.

    Raises JobError where `directory` is missing, not writable or full, or where another account may rename what is
    in it.
    """
    nonce = nonce or new_mark()
    said = ask(session, SCRIPT, "make", directory, nonce, "-")
    path = said.get("path")
    if path is None:
        raise _not_made(session.host, directory, said.get("error"))
    identity = said.get("identity", "")
    return Workspace(path, nonce, identity if _IDENTITY.fullmatch(identity) else "")


def remove_workspace(session: Session, workspace: Workspace) -> None:
    """End what still runs in the workspace and remove it; one that is gone already is no error.

    Raises JobError where the directory is not ours or something is left.
    """
    said = ask(session, SCRIPT, "remove", *workspace.words)
    if "removed" in said:
        return
    complaint = said.get("error", "the host gave no answer")
    if is_replaced(complaint):
        complaint = replaced(complaint)
    elif complaint.startswith("left"):
        complaint = f"processes cannot be ended: {complaint.removeprefix('left').strip()}"
    raise JobError(
        f"{workspace.path} on {session.host} was not removed: {complaint}.",
        "Look at it on the host and remove it by hand.",
        host=session.host,
    )


def is_replaced(complaint: str) -> bool:
    """Return whether job.sh found something else in place of the workspace, or the workspace open to others."""
    return complaint.partition(" ")[0] in {"foreign", "open"}


def replaced(complaint: str) -> str:
    """Return in words what job.sh found in place of the workspace."""
    word, _, account = complaint.partition(" ")
    if word == "open":
        return "other accounts may write in it"
    owner = f"; what is there now belongs to {plain(account, 32)}" if account else ""
    return f"it is not the directory that was made{owner}"


def explain(complaint: str) -> tuple[str, str]:
    """Return in words why something could not be written, and what to do, from the host's own `complaint`."""
    if is_replaced(complaint):
        return replaced(complaint), "Name a directory in which no other account may write."
    if complaint in _WHY_NOT_MADE:
        return _WHY_NOT_MADE[complaint]
    for sign, why, remedy in _COMPLAINTS:
        if sign.lower() in complaint.lower():
            return why, remedy
    return complaint.strip() or "the host gave no reason", "Try it by hand on the host."


def unsafe_words(complaint: str) -> tuple[str, str] | None:
    """Return who may replace files in a directory, by the `complaint` of guard.sh, and what to do; None if nobody."""
    match = _UNSAFE.fullmatch(complaint)
    if match is None:
        return None
    kind, name, parent = match[1], plain(match[2], 32) or "an unknown account", plain(match[3], 200)
    mend = f"Run chmod +t {parent} there, or name another directory, such as /var/tmp."
    if kind == "owner":
        who, mend = f"{parent} belongs to {name}", "Name a directory of the account itself, or /var/tmp."
    elif kind == "unknown":
        who, mend = f"{parent} cannot be looked at", "Name another directory, such as /var/tmp."
    else:
        writer = f"the group {name}" if kind == "group" else "every account"
        who = f"{parent} may be written by {writer} and has no sticky bit"
    return who, mend


def unsafe(host: str, complaint: str) -> JobError | None:
    """Return why nothing runs below a directory in which others may rename what is not theirs; None if it is safe."""
    words = unsafe_words(complaint)
    if words is None:
        return None
    harm = "so another account could replace the programs of the test"
    return JobError(f"Nothing was run on {host}: {words[0]}, {harm}.", words[1], host=host)


def _not_made(host: str, directory: str, complaint: str | None) -> JobError:
    if complaint is None:
        return JobError(
            f"{host} did not run a shell script: no answer came back.",
            "Check that the account has a POSIX shell and may run commands.",
            host=host,
        )
    error = unsafe(host, complaint)
    if error is not None:
        return error
    why, remedy = explain(complaint)
    return JobError(f"Nothing can be written in {directory} on {host}: {why}.", remedy, host=host)
