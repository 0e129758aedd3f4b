"""Leftovers of runs on a host (private directories, leases, changed settings): find, remove, restore."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from app.events import SettingRestored
from app.json_converter import publish
from app.plans.plan import host_label
from app.plans.tuning import path_title
from app.timestamps import now
from remote.jobs.lease import account_leases, release, sweep, withdraw
from remote.jobs.leftovers import find_workspaces
from remote.jobs.workspace import Workspace, remove_workspace
from remote.privilege import as_root
from remote.tuning import RestoredSetting, notes, restore_settings
from suites.errors import BenchwrightError
from suites.quantities import age_text, quantity

if TYPE_CHECKING:
    from app.store.store import Store
    from remote.questions import Asker
    from remote.session import Session
    from remote.tuning import SettingNote


class LeftoverOwner(StrEnum):
    """Owner of a leftover.

    ENDED_RUN: an ended run of this library, removable. ACTIVE_RUN: an active run of this library. OTHERS: another user
    or library, never removed. CHANGED: a changed setting, restored by restore().
    """

    ENDED_RUN = "ours"
    ACTIVE_RUN = "under way"
    OTHERS = "others"
    CHANGED = "changed setting"


@dataclass(frozen=True, slots=True)
class Leftover:
    """A leftover on `host`: a private directory, a cgroup whose directory is gone, the lease of an ended run, or a
    changed `setting` (as text).

    `age` is in seconds and `size` in bytes, None if unknown. `account` owns it on the host; `processes` of its commands
    are running. `run_id` is None for another library; `identity` is the Workspace's, empty if unknown.
    """

    host: str
    path: str
    nonce: str
    account: str
    age: float | None
    size: int | None
    processes: int
    owner: LeftoverOwner
    run_id: str | None = None
    identity: str = ""
    is_lease: bool = False
    setting: str = ""


publish(Leftover, "host path lease=is_lease setting whose=owner run=run_id account age size processes")


def find(session: Session, store: Store) -> list[Leftover]:
    """Return Benchwright's directories on the session's host, the oldest first, then leases of ended runs of this
    library, then changed settings.
    """
    own = {used.workspace.nonce: used for used in store.workspaces()}
    running = store.running()
    parents = sorted({used.workspace.path.rpartition("/")[0] or "/" for used in own.values()})
    found = []
    for workspace in find_workspaces(session, parents, list(own)):
        used = own.get(workspace.nonce) if workspace.own else None
        run_id = None if used is None else used.run_id
        owner = LeftoverOwner.ACTIVE_RUN if run_id in running else LeftoverOwner.ENDED_RUN
        found.append(
            Leftover(
                session.host, workspace.path, workspace.nonce, workspace.account, workspace.age, workspace.size,
                workspace.processes, LeftoverOwner.OTHERS if run_id is None else owner, run_id,
                "" if used is None else used.workspace.identity,
            )
        )  # fmt: skip
    return found + _leases(session, store, running) + _settings(session, running)


def _settings(session: Session, running: Collection[str]) -> list[Leftover]:
    return [
        Leftover(
            session.host, note.path, "", "root", note.age, None, 0,
            LeftoverOwner.ACTIVE_RUN if note.run in running else LeftoverOwner.CHANGED,
            note.run, setting=note_text(note),
        )
        for note in notes(session)
    ]  # fmt: skip


def _leases(session: Session, store: Store, running: Collection[str]) -> list[Leftover]:
    leases = account_leases(session)
    ended = {run.id for run in store.runs()}.difference(running) if leases else set()
    return [
        Leftover(
            session.host, path, lease.nonce, lease.account, lease.age, None, int(lease.working),
            LeftoverOwner.ENDED_RUN, lease.run, is_lease=True,
        )
        for path, lease in leases
        if lease.run in ended
    ]  # fmt: skip


def remove(session: Session, store: Store, nonces: Sequence[str]) -> list[Leftover]:
    """Remove the leftovers in `nonces` of ended runs of this library; return the remaining ones on the host.

    Raise JobError if a directory cannot be removed.
    """
    paths = {used.workspace.nonce: used.workspace.path for used in store.workspaces()}
    for leftover in find(session, store):
        if leftover.nonce not in nonces or leftover.owner is not LeftoverOwner.ENDED_RUN:
            continue
        if leftover.is_lease:
            withdraw(session, leftover.nonce)
        else:
            whole = leftover.path.endswith(f"/benchwright-{leftover.nonce}")  # else it is a cgroup
            path = leftover.path if whole else paths[leftover.nonce]
            remove_workspace(session, Workspace(path, leftover.nonce, leftover.identity))
            store.forget_workspace(leftover.nonce)
            release(session, leftover.run_id or "")
    sweep(session)
    return find(session, store)


NO_NOTE = "no record on the host: it restarted, or the setting was restored"


def note_text(note: SettingNote) -> str:
    """Return a recorded change as text: ``CPU governor of CPU 0: performance (was powersave)``."""
    return f"{path_title(note.path)}: {note.during} (was {note.before})"


def recorded_text(note: SettingNote) -> str:
    """Return a recorded change with its run, workstation and age."""
    age = "" if note.age is None else f", {age_text(note.age)} ago"
    return f"{note_text(note)}, run {note.run} of {note.workstation}{age}"


HEAD = ("Path", "Owner", "Account", "Age", "Size", "Processes")
"""Column titles of leftover_row(); numbers from the fourth."""


def leftover_row(leftover: Leftover) -> list[str]:
    """Return the cells of a leftover in the order of HEAD."""
    run = f"lease of {leftover.run_id}" if leftover.is_lease else leftover.run_id
    owner = _OWNERS[leftover.owner]
    return [
        leftover.path,
        owner if run is None else f"{owner} ({run})",
        leftover.account,
        "" if leftover.age is None else age_text(leftover.age),
        "" if leftover.size is None else quantity(leftover.size),
        str(leftover.processes),
    ]


def still_changed(host: str, found: Sequence[Leftover]) -> tuple[str, ...]:
    """Return the settings of `host` that are still changed and how to restore them, each a line; none if none is."""
    changed = [leftover.setting for leftover in found if leftover.owner is LeftoverOwner.CHANGED]
    if not changed:
        return ()
    restore = f"Restore with: benchwright hosts restore {shlex.quote(host)}"
    return f"Still changed on {host_label(host)}: {'; '.join(changed)}.", restore


_OWNERS = {
    LeftoverOwner.ENDED_RUN: "this library",
    LeftoverOwner.ACTIVE_RUN: "this library, run not ended",
    LeftoverOwner.OTHERS: "other",
    LeftoverOwner.CHANGED: "changed setting",
}


def restore(session: Session, asker: Asker, store: Store) -> tuple[RestoredSetting, ...]:
    """Restore all settings recorded on the session's host; return the outcome of each.

    Log it in the host's log and with the runs of this library that changed them. Raise PrivilegeError without root.
    """
    host = session.host
    found = notes(session)
    done: tuple[RestoredSetting, ...] = ()
    if found:
        number = store.begin_action(host, "restore settings", f"benchwright hosts restore {shlex.quote(host)}")
        reason = "interrupted"
        try:
            root = as_root(session, asker, f"restore {len(found)} setting{'s' if len(found) > 1 else ''}")
            done = restore_settings(root)
            reason = ""
        except BenchwrightError as error:
            reason = error.message
            raise
        finally:
            log = "".join(f"{path_title(each.path)}: {each.problem or 'restored'}\n" for each in done)
            store.end_action(number, None if reason else 0, log.encode(), reason)
    known = {each.path: each for each in done}
    for change in store.pending_changes(host):
        path = change.change.path
        back = known.get(path, RestoredSetting(path, change.run_id, NO_NOTE))
        store.put_back(change.run_id, SettingRestored(host, path, now(), back.problem, back.kept))
    return done
