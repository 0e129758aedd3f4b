"""Fleet studies that no process runs, because theirs has ended or was stopped."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.fleet.runner import worker_name
from app.fleet_study import FleetStudy, HostRun
from app.store.host_runs import START_TIMEOUT
from app.store.ownership import this_computer
from app.timestamps import seconds_between


@dataclass(frozen=True, slots=True)
class IdleStudy:
    """A study that is not over and that no process runs; `since` is when one last changed it (UTC, ISO 8601)."""

    study: FleetStudy
    since: str


def idle_since(study: FleetStudy, host_runs: Sequence[HostRun], recorded: Collection[str], clock: str) -> str | None:
    """Return since when no other process runs a study that is not over or paused; None if one does or may do so.

    One that was ended is not over while a host-run is under way: resuming the study settles it.

    `recorded` are the runs that a process records. Between host-runs, the process that carried the last one is looked
    for if it is of this computer; of another it counts as alive until START_TIMEOUT after a host-run is due.
    """
    pending = [one for one in host_runs if (one.state.active if study.ended else not one.state.over)]
    if (study.ended is None and study.paused is not None) or study.by_workers or not pending:
        return None
    if any(one.run in recorded for one in pending if one.state.active):
        return None
    since = max(one.changed for one in host_runs)
    last = max((one for one in host_runs if one.worker), key=lambda one: one.changed, default=None)
    if last is not None and (last.worker == worker_name() or _is_gone(last.worker)):
        return since
    due = min(one.due for one in pending)
    return since if seconds_between(max(since, due), clock) > START_TIMEOUT else None


def _is_gone(worker: str) -> bool:
    """Return whether `worker`, as worker_name() writes it, was a process of this computer that has ended."""
    own = re.fullmatch(rf"{re.escape(this_computer())} \(process (\d+)\)", worker)
    return own is not None and not Path("/proc", own[1]).exists()
