"""What earlier runs left on a host: told from what others left, and removed only where it is ours."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.store import Store
from remote.jobs.lease import own_leases, release, sweep, withdraw
from remote.jobs.leftovers import find_workspaces
from remote.jobs.workspace import Workspace, remove_workspace
from remote.session import Session


class Whose(StrEnum):
    """Whose a directory is.

    OURS: its run has ended, and it can be removed. UNDER_WAY: of a run of ours that has not ended. OTHERS: of somebody
    else, or of another library: it is never removed from here.
    """

    OURS = "ours"
    UNDER_WAY = "under way"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Leftover:
    """A private directory of Benchwright on `host`, or the directory of a lease of a run that has ended.

    `age` is in seconds, `size` in bytes, None where not known.

    `account` owns it there, `processes` of its commands still run. `run_id` is None where it is not of this library,
    `identity` is Workspace's, empty where it is not known.
    """

    host: str
    path: str
    nonce: str
    account: str
    age: float | None
    size: int | None
    processes: int
    whose: Whose
    run_id: str | None = None
    identity: str = ""
    is_lease: bool = False


def find(session: Session, store: Store) -> list[Leftover]:
    """Return every directory of Benchwright on the session's host, the oldest first, then the leases of runs of this
    library that have ended.
    """
    ours = {used.workspace.nonce: used for used in store.workspaces()}
    running = store.running()
    parents = sorted({used.workspace.path.rpartition("/")[0] or "/" for used in ours.values()})
    found = []
    for workspace in find_workspaces(session, parents):
        used = ours.get(workspace.nonce) if workspace.own else None
        run_id = None if used is None else used.run_id
        whose = Whose.OTHERS if run_id is None else Whose.UNDER_WAY if run_id in running else Whose.OURS
        found.append(
            Leftover(
                session.host,
                workspace.path,
                workspace.nonce,
                workspace.account,
                workspace.age,
                workspace.size,
                workspace.processes,
                whose,
                run_id,
                "" if used is None else used.workspace.identity,
            )
        )
    return found + _leases(session, store, running)


def _leases(session: Session, store: Store, running: Collection[str]) -> list[Leftover]:
    leases = own_leases(session)
    ended = {run.id for run in store.runs()}.difference(running) if leases else set()
    return [
        Leftover(
            session.host, path, lease.nonce, lease.account, lease.held, None, int(lease.working), Whose.OURS, lease.run,
            is_lease=True,
        )
        for path, lease in leases
        if lease.run in ended
    ]  # fmt: skip


def remove(session: Session, store: Store, nonces: Sequence[str]) -> list[Leftover]:
    """Remove what is OURS and in `nonces`; return what is left on the host.

    Raises JobError where a directory cannot be removed.
    """
    for leftover in find(session, store):
        if leftover.nonce not in nonces or leftover.whose is not Whose.OURS:
            continue
        if leftover.is_lease:
            withdraw(session, leftover.nonce)
        else:
            remove_workspace(session, Workspace(leftover.path, leftover.nonce, leftover.identity))
            store.forget_workspace(leftover.nonce)
            release(session, leftover.run_id or "")
    sweep(session)
    return find(session, store)
