"""The board of a study: for each host its state, progress, values and most severe finding; the odd ones first."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.fleet.study import Sessions, host_centre
from app.fleet_study import FigureKey, FleetPlan, FleetStudy, HostRun, HostRunState, RunProgress
from app.natural_order import natural_key
from suites.quantities import metric_text, times_text
from suites.verdict import Trust
from suites.vocab import Severity


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A host of a study, or a pair of hosts. `host_runs` are its host-runs in order, `current` the one to look at.

    `values` are the counted trials of the board's figure over all sessions that are done or under way, `value` the
    centre of the host (app.fleet.study.host_centre), and `off` its distance from the median of the group, as a share;
    None with fewer than FEWEST_OF_GROUP hosts that have values. `apart`: the distance is large for the group. That is
    no verdict: see app.fleet.lemons. `unknown` are the suites of the plan that this version does not have.
    """

    title: str
    group: str
    host_runs: tuple[HostRun, ...]
    progress: RunProgress | None = None
    planned: int | None = None
    values: tuple[float, ...] = ()
    value: float | None = None
    off: float | None = None
    apart: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def current(self) -> HostRun:
        """The host-run under way, else the latest that was started, else the first."""
        active = [one for one in self.host_runs if one.state.active]
        started = [one for one in self.host_runs if one.run or one.state.over]
        return (active or started or self.host_runs[:1])[-1]

    @property
    def state(self) -> HostRunState:
        """The state of the current host-run; waiting if a later session waits."""
        return self.current.state

    @property
    def doing(self) -> str:
        """What it does: the step and trial under way, why it waits or failed, or its unknown suites."""
        return "; ".join(filter(None, (*self.unknown_suites, self._doing)))

    @property
    def unknown_suites(self) -> tuple[str, ...]:
        """A text for each unknown suite."""
        return tuple(f"{suite}: unknown suite" for suite in self.unknown)

    @property
    def worker_awaited(self) -> str:
        """Why the current host-run, which may have begun, waits for a worker; empty if it does not."""
        if self.state is HostRunState.READY:
            return "waits for a worker"
        if self.state is HostRunState.RUNNING and not self.current.worker:
            return self.current.reason or "its worker ended: waits for another"
        return ""

    @property
    def _doing(self) -> str:
        one, progress = self.current, self.progress
        if self.worker_awaited:
            return self.worker_awaited
        if one.state is HostRunState.RUNNING and progress is not None:
            whole = "" if self.planned is None else f"/{self.planned}"
            step = progress.step or ("between trials" if progress.ended else "before the first trial")
            return f"{step} {progress.ended}{whole}"
        return one.reason

    @property
    def finding(self) -> str:
        """The most severe finding of the current run."""
        return "" if self.progress is None else self.progress.finding


@dataclass(frozen=True, slots=True)
class Board:
    """All rows of a study, and the figure of which they show the values; None before the first one."""

    study: FleetStudy
    rows: tuple[BoardRow, ...]
    figure: FigureKey | None = None
    figures: tuple[FigureKey, ...] = ()
    medians: Mapping[str, float] = field(default_factory=dict)

    @property
    def host_runs(self) -> tuple[HostRun, ...]:
        """The host-runs of all rows."""
        return tuple(one for row in self.rows for one in row.host_runs)

    @property
    def figure_text(self) -> str:
        """The step and metric of the values."""
        return "" if self.figure is None else f"{self.figure[0]}: {metric_text(self.figure[1], self.figure[2])}"


FEWEST_OF_GROUP = 5
"""Hosts with values from which a distance from the median of their group is shown."""

OUTLIER_SCORE = 3.5
"""Modified z-score from which a host is apart. Source: Iglewicz and Hoaglin (1993)."""

LEAST_DISTANCE = 0.05
"""Distance from the median below which no host is apart."""


MOST_OFF = 1.0
"""Distance from the median above which the ratio is shown."""


class BoardReader:
    """Reads the board of a study; what is stored of runs that ended is read once. From one thread at a time."""

    def __init__(self, read_progress: Callable[[Sequence[str]], Mapping[str, RunProgress]]) -> None:
        """`read_progress` returns the progress of runs."""
        self._read = read_progress
        self._known: dict[str, RunProgress] = {}

    def board(self, study: FleetStudy, host_runs: Sequence[HostRun], figure: FigureKey | None = None) -> Board:
        """Return the board of a study whose host-runs are `host_runs`."""
        runs = [one.run for one in host_runs if one.run]
        read = self._read([run for run in runs if run not in self._known])
        progress = {**{run: self._known[run] for run in runs if run in self._known}, **read}
        ended = {one.run for one in host_runs if one.state.over}
        self._known.update({run: found for run, found in read.items() if run in ended})
        return board_of(study, host_runs, progress, figure)


def board_of(
    study: FleetStudy,
    host_runs: Iterable[HostRun],
    progress: Mapping[str, RunProgress],
    figure: FigureKey | None = None,
) -> Board:
    """Return the board with the values of `figure`, by default the headline metric of the first step."""
    by_title: dict[tuple[str, str], list[HostRun]] = defaultdict(list)
    for one in host_runs:
        by_title[one.title, one.group].append(one)
    figures = tuple(dict.fromkeys(key for found in progress.values() for key in found.figures))
    chosen = figure if figure in figures else _first_figure(study.plan, figures)
    rows = [_row(study, found, progress, chosen) for found in by_title.values()]
    values = _values_of_groups(rows)
    medians = {group: statistics.median(found) for group, found in values.items()}
    by_name = sorted(rows, key=lambda row: (natural_key(row.group), natural_key(row.title)))
    placed = sorted((_placed(row, values) for row in by_name), key=_oddest_first)
    return Board(study, tuple(placed), chosen, figures, medians)


def _first_figure(plan: FleetPlan, figures: Sequence[FigureKey]) -> FigureKey | None:
    steps = [step.name for step in plan.plan.steps]

    def place(key: FigureKey) -> tuple[int, bool]:
        step = steps.index(key[0]) if key[0] in steps else len(steps)
        return step, key[1].name != plan.headlines.get(key[0])

    return min(figures, key=place, default=None)


def _row(
    study: FleetStudy, host_runs: Sequence[HostRun], progress: Mapping[str, RunProgress], figure: FigureKey | None
) -> BoardRow:
    sessions = {
        str(one.session): found.figures.get(figure, ())
        for one in host_runs
        if one.state is HostRunState.DONE or one.state.active  # results count no other
        if figure is not None and (found := progress.get(one.run)) is not None and _counts(found, figure)
    }
    values = tuple(value for own in sessions.values() for value in own)
    row = BoardRow(host_runs[0].title, host_runs[0].group, tuple(host_runs), values=values)
    return replace(
        row,
        progress=progress.get(row.current.run),
        planned=planned_trials(study.plan, row.current),
        value=_centre({session: own for session, own in sessions.items() if own}),
        unknown=study.plan.unknown_suites,
    )


def _centre(host: Sessions) -> float | None:
    """Return the centre of a host as results have it; of values that have no logarithm the median of medians."""
    if all(value > 0 for own in host.values() for value in own):
        return host_centre(host) if host else None
    return statistics.median(map(statistics.median, host.values()))


def _counts(found: RunProgress, figure: FigureKey) -> bool:
    return found.trusts.get(figure[0]) is not Trust.INVALID


def planned_trials(plan: FleetPlan, one: HostRun) -> int | None:
    """Return the trials of a host-run, warm-ups included; None if their number depends on the results or is unknown."""
    repetition = plan.plan.repetition
    if plan.unknown_suites or repetition.most != repetition.fewest or repetition.most is None:
        return None
    steps = plan.solo_steps if one.peer is None else plan.plan_of(one).steps
    return len(steps) * (repetition.most + repetition.uncounted)


def _values_of_groups(rows: Iterable[BoardRow]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.value is not None:
            values[row.group].append(row.value)
    return {group: found for group, found in values.items() if len(found) >= FEWEST_OF_GROUP}


def _placed(row: BoardRow, groups: Mapping[str, Sequence[float]]) -> BoardRow:
    """Return a row with its distance from the median of its group."""
    values = groups.get(row.group)
    if row.value is None or values is None or not (median := statistics.median(values)):
        return row
    deviation = statistics.median(abs(value - median) for value in values)
    score = 0.6745 * abs(row.value - median) / deviation if deviation else float("inf")
    off = row.value / median - 1
    return replace(row, off=off, apart=score > OUTLIER_SCORE and abs(off) > LEAST_DISTANCE)


def _oddest_first(row: BoardRow) -> tuple[int, float]:
    """Sort failed hosts first, then those with an error, then those apart; the rest by group and name."""
    if any(one.state is HostRunState.FAILED for one in row.host_runs):
        return 0, 0.0
    if row.progress is not None and row.progress.severity is Severity.ERROR:
        return 1, 0.0
    return (2, -abs(row.off or 0.0)) if row.apart else (3, 0.0)


def off_text(row: BoardRow) -> str:
    """Return the distance from the median of the group: ``−12.3 %``, ``5.1x``; empty without one."""
    if row.off is None:
        return ""
    if row.off > MOST_OFF:
        return times_text(1 + row.off)
    percent = round(100 * row.off, 1) + 0.0  # no negative zero
    return f"{percent:+.1f} %".replace("-", "−")


def study_state(study: FleetStudy, *, idle: bool = False) -> str:
    """Return the state of a study: ``12 running, 3 failed``; of one that no process runs ``not running, 15 left``."""
    if study.paused is not None and study.ended is None:
        return "paused"
    texts = ["not running", f"{study.left} left"] if idle else []
    texts += [
        f"{count} {state.value}"
        for state, count in study.counts.items()
        if count and (study.over or state is not HostRunState.DONE) and (state.over or not idle)
    ]
    done = all(state is HostRunState.DONE for state, count in study.counts.items() if count)
    return "done" if done else ", ".join(texts)
