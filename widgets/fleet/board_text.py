"""Texts of the board of a study. No Qt."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.fleet.board import OUTLIER_SCORE, Board, BoardRow, off_text
from app.fleet.progress import ends_text
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.library_table import local_moment
from app.timestamps import now
from suites.quantities import count_text, duration_text, listed
from suites.vocab import Better, Severity

MOST_CARRIERS = 2
"""Processes named in the head of a board."""

MARKS: Mapping[HostRunState, str] = {
    HostRunState.WAITING: "·",
    HostRunState.READY: "·",
    HostRunState.RUNNING: "▸",
    HostRunState.DONE: "✓",
    HostRunState.FAILED: "✗",
    HostRunState.SKIPPED: "–",
}
"""Mark of a session, for what is copied; the table draws shapes."""


@dataclass(frozen=True, slots=True)
class BoardHead:
    """What the head of a board shows. `remaining` are the seconds until the end, None if unknown; `own`: this window
    runs the study; `idle_since`: when it last changed, if no process runs it; `workers`: how many workers are alive."""

    study: FleetStudy
    remaining: float | None = None
    carriers: tuple[str, ...] = ()
    own: bool = False
    idle_since: str | None = None
    workers: int = 0

    @property
    def idle(self) -> bool:
        """Whether no process runs the study."""
        return not self.own and self.idle_since is not None

    @property
    def done(self) -> int:
        """The number of host-runs that are over."""
        return self.study.total - self.study.left

    @property
    def share(self) -> float:
        """The share of host-runs that are over."""
        return self.done / self.study.total if self.study.total else 0.0


def carriers_of(host_runs: Iterable[HostRun]) -> tuple[str, ...]:
    """Return the processes that carry host-runs under way."""
    return tuple(sorted({one.worker for one in host_runs if one.state.active and one.worker}))


def counts_text(study: FleetStudy) -> str:
    """Return the counts of host-runs: ``43 of 120 host-runs done, 3 failed, 16 running``."""
    counts = study.counts
    others = (HostRunState.FAILED, HostRunState.RUNNING, HostRunState.READY, HostRunState.SKIPPED)
    parts = [f"{counts[state]} {state.value}" for state in others if counts.get(state)]
    done = f"{counts.get(HostRunState.DONE, 0)} of {count_text(study.total, 'host-run')} done"
    return ", ".join([done, *parts])


def end_text(head: BoardHead, clock: datetime) -> str:
    """Return when the study ends, by the local time `clock`, or why that is not known."""
    study = head.study
    if study.ended is not None:
        return f"ended {local_moment(study.ended)}"
    if study.paused is not None:
        return "paused"
    if head.idle_since is not None and not head.own:
        return f"not running since {moment_text(head.idle_since)}: Resume continues it"
    if study.by_workers and not head.workers:
        return "no worker takes host-runs: start one with benchwright worker"
    left = "end not known yet"
    if head.remaining is not None:
        left = f"about {duration_text(head.remaining)} left, ends about {ends_text(head.remaining, clock)}"
    workers = (
        count_text(head.workers, "worker")
        if study.by_workers
        else listed(head.carriers, MOST_CARRIERS) or "another Benchwright"
    )
    return left if head.own else f"{left}, run by {workers}"


def shown_host_run(row: BoardRow) -> HostRun:
    """Return the host-run whose state is that of the row: under way, else failed, else the next, else the latest."""
    if row.current.state.active:
        return row.current
    failed = [one for one in row.host_runs if one.state is HostRunState.FAILED]
    waiting = [one for one in row.host_runs if one.state is HostRunState.WAITING]
    return failed[-1] if failed else waiting[0] if waiting else row.current


def state_text(row: BoardRow, stopping: Collection[int] = ()) -> str:
    """Return what a host does, or why not; `stopping` are the numbers of the host-runs that were asked to stop."""
    return "; ".join((*row.unknown_suites, _state_text(row, stopping)))


def _state_text(row: BoardRow, stopping: Collection[int]) -> str:
    current = shown_host_run(row)
    if current.state.active:
        if current.number in stopping:
            return "stopping"
        return row.worker_awaited or _trials_text(row)
    return _waiting_text(current) if current.state is HostRunState.WAITING else _ended_text(current)


def _ended_text(one: HostRun) -> str:
    """Return a state with its reason, unless that is the state: ``failed: Connection refused``, ``skipped``."""
    return ": ".join(dict.fromkeys(filter(None, (one.state.value, one.reason))))


def host_text(row: BoardRow, stopping: Collection[int] = ()) -> str:
    """Return a host with what it does, or why not, and its most severe finding."""
    return " · ".join(filter(None, (row.title, state_text(row, stopping), row.finding)))


def _trials_text(row: BoardRow) -> str:
    """Return the trials that have ended, and the step under way: ``3/6 trials, fio``."""
    if row.progress is None:
        return "connecting"
    ended, planned = row.progress.ended, row.planned
    trials = count_text(ended, "trial") if planned is None else f"{ended}/{count_text(planned, 'trial')}"
    return ", ".join(filter(None, (trials, row.progress.step)))


def _waiting_text(one: HostRun) -> str:
    if one.reason:
        return f"waiting: {one.reason}"
    if one.due <= now():
        return "waiting"
    return f"next at {moment_text(one.due)}"


def moment_text(moment: str) -> str:
    """Return a moment in local time, without the day if that is today."""
    return local_moment(moment).removeprefix(local_moment(now())[:10]).strip()


def session_text(one: HostRun) -> str:
    """Return the state of a host-run in a line: ``session 2: failed, 3 attempts: Connection refused``."""
    attempts = f", {count_text(one.attempts, 'attempt')}" if one.attempts > 1 else ""
    due = f", from {local_moment(one.due)[:16]}" if one.state is HostRunState.WAITING and one.due else ""
    reason = f": {one.reason}" if one.reason not in {"", one.state.value} else ""
    return f"session {one.session}: {one.state.value}{attempts}{due}{reason}"


def marks_text(row: BoardRow) -> str:
    """Return a mark for each session: ``✓✓▸·``."""
    return "".join(MARKS[one.state] for one in row.host_runs)


def is_worse(row: BoardRow, board: Board | None) -> bool | None:
    """Return whether a row is worse than its group; None if that is not known."""
    if row.off is None or board is None or board.figure is None:
        return None
    return (row.off < 0) is (board.figure[1].better is Better.HIGHER)


def distance_text(row: BoardRow, board: Board | None) -> str:
    """Return the distance from the median of the group, with the direction if it is large: ``worse −12 %``."""
    word = {True: "worse ", False: "better ", None: ""}[is_worse(row, board)] if row.apart else ""
    return f"{word}{off_text(row)}"


def distance_tip(row: BoardRow) -> str:
    """Return what the distance is from, and why it is marked."""
    if row.off is None:
        return "No distance: five hosts of the group need values."
    large = (
        f" The modified z-score exceeds {OUTLIER_SCORE}: an outlier of its group, not yet a verdict."
        if row.apart
        else ""
    )
    return f"{off_text(row)} from the median of {row.group}.{large}"


def severity_of(row: BoardRow) -> Severity | None:
    """Return the severity of the most severe finding of a row."""
    return None if row.progress is None else row.progress.severity


def searched_text(row: BoardRow) -> str:
    """Return what the filter searches: host, group, states, reasons, finding, and “outlier”."""
    states = dict.fromkeys(one.state.value for one in row.host_runs)
    parts = [row.title, row.group, *states, state_text(row), row.finding, "outlier" if row.apart else ""]
    return " ".join(parts).casefold()


def study_title(study: FleetStudy) -> str:
    """Return the name and the size of a study: ``volume check · 60 hosts``."""
    return f"{study.name} · {count_text(len(study.plan.hosts), 'host')}"
