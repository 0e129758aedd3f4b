"""Private directory on a host in which a step runs and which is removed afterwards."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from remote.errors import JobError
from remote.questions import plain
from remote.script import new_mark, query_script
from remote.session import Session

SCRIPT = "job.sh"

_FULL = "Free space there, or set another directory."
_CREATION_FAILURES: Mapping[str, tuple[str, str]] = {
    "missing": ("the directory does not exist", "Set an existing directory."),
    "no directory": ("it is not a directory", "Set a directory."),
    "denied": ("permission denied", "Set a writable directory."),
    "full": ("the file system is full", _FULL),
    "gone": ("the directory is gone", "Start the step again."),
}
_UNSAFE = re.compile(r"unsafe (others|group|owner|unknown) ([^/]{0,256}) (/.{0,4000})", re.DOTALL)
_IDENTITY = re.compile(r"[0-9a-f-]{36}:\d{1,20}:\d{1,20}")
_COMPLAINTS: tuple[tuple[str, str, str], ...] = (
    ("Permission denied", "permission denied", "Set a writable directory."),
    ("Read-only file system", "its file system is mounted read-only", "Set a directory on another file system."),
    ("No space left", "the file system is full", _FULL),
    ("quota", "the disk quota is exceeded", _FULL),
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A private directory on a host, mode 0700. `nonce` is in its name and in a file in it.

    `identity` detects a replaced directory: boot id, device and inode, as ``BOOT:DEVICE:INODE``; empty if unknown. It
    is compared within that boot only: device numbers may change at the next.
    """

    path: str
    nonce: str
    identity: str = ""

    @property
    def words(self) -> tuple[str, str, str]:
        """The arguments of job.sh that identify the workspace."""
        return self.path, self.nonce, self.identity or "-"


def make_workspace(session: Session, directory: str, nonce: str = "") -> Workspace:
    """Create a private directory in `directory` on the host, with `nonce` or a new one.

    Raises JobError if `directory` is missing, not writable or full, or if another account may rename its entries.
    """
    nonce = nonce or new_mark()
    reply = query_script(session, SCRIPT, "make", directory, nonce, "-")
    path = reply.get("path")
    if path is None:
        raise _creation_error(session.host, directory, reply.get("error"))
    identity = reply.get("identity", "")
    return Workspace(path, nonce, identity if _IDENTITY.fullmatch(identity) else "")


def remove_workspace(session: Session, workspace: Workspace) -> None:
    """End the workspace's processes and remove it; a missing workspace is no error.

    Raises JobError if the directory was replaced or cannot be removed completely.
    """
    reply = query_script(session, SCRIPT, "remove", *workspace.words)
    if "removed" in reply:
        return
    complaint, remedy = reply.get("error", "no answer from the host"), "Check it on the host and remove it by hand."
    if is_replaced(complaint):
        complaint = replaced(complaint)
    elif complaint.startswith("left"):
        complaint = f"processes cannot be ended: {complaint.removeprefix('left').strip()}"
    elif complaint.startswith("mounted "):
        point = complaint.removeprefix("mounted ").strip()
        complaint, remedy = f"{point} is mounted in it", "Unmount it on the host, then remove the directory by hand."
    elif complaint.startswith("cgroup "):
        complaint = f"its cgroup {complaint.removeprefix('cgroup ').strip()} cannot be removed"
    raise JobError(f"{workspace.path} on {session.host} was not removed: {complaint}.", remedy, host=session.host)


def is_replaced(complaint: str) -> bool:
    """Return whether job.sh found the workspace replaced, or writable by other accounts."""
    return complaint.partition(" ")[0] in {"foreign", "open"}


def replaced(complaint: str) -> str:
    """Return the text for a `complaint` of job.sh about a replaced workspace."""
    word, _, account = complaint.partition(" ")
    if word == "open":
        return "other accounts may write in it"
    owner = f" (owner: {plain(account, 32)})" if account else ""
    return f"it is not the workspace that was created{owner}"


def explain(complaint: str) -> tuple[str, str]:
    """Return the reason why a write failed, and the remedy, for the host's `complaint`."""
    if is_replaced(complaint):
        return replaced(complaint), "Set a directory in which no other account may write."
    if complaint in _CREATION_FAILURES:
        return _CREATION_FAILURES[complaint]
    for sign, reason, remedy in _COMPLAINTS:
        if sign.lower() in complaint.lower():
            return reason, remedy
    return complaint.strip() or "no reason reported", "Try it by hand on the host."


def unsafe_text(complaint: str) -> tuple[str, str] | None:
    """Return who may replace files in a directory, and the remedy, by the `complaint` of guard.sh; None if safe."""
    match = _UNSAFE.fullmatch(complaint)
    if match is None:
        return None
    kind, name, parent = match[1], plain(match[2], 32) or "an unknown account", plain(match[3], 200)
    remedy = f"Run chmod +t {parent} there, or set another directory, such as /var/tmp."
    if kind == "owner":
        reason, remedy = f"{parent} belongs to {name}", "Set a directory of the account itself, or /var/tmp."
    elif kind == "unknown":
        reason, remedy = f"{parent} cannot be read", "Set another directory, such as /var/tmp."
    else:
        writer = f"the group {name}" if kind == "group" else "every account"
        reason = f"{parent} is writable by {writer} and has no sticky bit"
    return reason, remedy


def unsafe(host: str, complaint: str) -> JobError | None:
    """Return the error for a directory in which other accounts may rename entries; None if it is safe."""
    found = unsafe_text(complaint)
    if found is None:
        return None
    reason, remedy = found
    harm = "so another account could replace the programs of the test"
    return JobError(f"Nothing was run on {host}: {reason}, {harm}.", remedy, host=host)


def _creation_error(host: str, directory: str, complaint: str | None) -> JobError:
    if complaint is None:
        return JobError(
            f"{host} did not run a shell script: no answer.",
            "Check that the account has a POSIX shell and may run commands.",
            host=host,
        )
    error = unsafe(host, complaint)
    if error is not None:
        return error
    reason, remedy = explain(complaint)
    return JobError(f"{directory} on {host} is not writable: {reason}.", remedy, host=host)
