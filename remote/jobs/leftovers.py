"""Find workspaces and cgroups that a crash left on a host, by their names and nonces."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from remote.script import answers, new_mark, run_script
from remote.session import Session

SCRIPT = "leftovers.sh"

TIMEOUT = 60.0

DEFAULT_LOCATIONS = ("/var/tmp", "/tmp")  # noqa: S108 (looked into, not written in)
"""Default locations of workspaces; the account's home is searched, too."""


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """A directory with the name of a workspace, or the cgroup of a command whose workspace is gone.

    `age` is in seconds, `size` in bytes; None if unknown. `own` is whether the session's account made it and it
    contains its nonce: only such a workspace can be removed. `account` is the owner, `processes` the number of its
    jobs' processes that still run.
    """

    path: str
    nonce: str
    account: str
    age: float | None
    size: int | None
    processes: int
    own: bool
    is_cgroup: bool = False


def find_workspaces(
    session: Session, directories: Sequence[str] = (), nonces: Sequence[str] = ()
) -> tuple[FoundWorkspace, ...]:
    """Return the workspaces in the default locations and in `directories`, oldest first. Changes nothing.

    A cgroup is found only by its nonce in `nonces`.
    """
    mark = new_mark()
    reply = answers(
        run_script(session, SCRIPT, mark, mark, " ".join(nonces), *DEFAULT_LOCATIONS, *directories, timeout=TIMEOUT),
        mark,
    )
    found = [workspace for key in reply if re.fullmatch(r"left\d{1,3}", key) for workspace in _found(reply, key)]
    with_directory = {workspace.nonce for workspace in found if not workspace.is_cgroup}
    leftovers = (each for each in found if not (each.is_cgroup and each.nonce in with_directory))
    return tuple(sorted(leftovers, key=lambda workspace: -(workspace.age or 0.0)))


_LINE = re.compile(r"([0-9a-f]{16}) (own|other|group) ([^ ]{1,64}) (\d{1,12}) (\d{1,15}|-) (\d{1,6}) (/.{1,4000})")


def _found(reply: Mapping[str, str], key: str) -> Iterator[FoundWorkspace]:
    match = _LINE.fullmatch(reply[key])
    if match is None:
        return
    nonce, kind, account, made, size, processes, path = match.groups()
    now = reply.get("now", "")
    yield FoundWorkspace(
        path=path,
        nonce=nonce,
        account=account,
        age=max(0.0, float(int(now) - int(made))) if re.fullmatch(r"\d{1,12}", now) else None,
        size=None if size == "-" else int(size) * 1024,
        processes=int(processes),
        own=kind != "other",
        is_cgroup=kind == "group",
    )
