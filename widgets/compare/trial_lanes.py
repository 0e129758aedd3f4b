"""The trials of a metric, run by run: which values there are, which do not count, and why. No Qt."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.comparing.compare import Row
from app.events import State
from app.records import RunRecord, TrialRecord
from app.wording import run_letter
from suites.units import Unit
from suites.vocab import Labels, Metric
from widgets.compare.compared import Compared


@dataclass(frozen=True, slots=True)
class Dot:
    """One trial's value. `left_out` says why it does not count; it is empty for one that does."""

    value: float
    number: int
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """The trials of one run, and their median where one counts."""

    number: int
    dots: tuple[Dot, ...]
    median: float | None

    @property
    def letter(self) -> str:
        """How the run is called."""
        return run_letter(self.number)


def lanes_of(compared: Compared, row: Row) -> list[Lane]:
    """Return a lane for each run, the baseline first; a run that measured in another unit has an empty one."""
    return [_lane(compared.records[number], row, number) for number in range(len(row.sides))]


def _lane(record: RunRecord, row: Row, number: int) -> Lane:
    side = row.sides[number]
    if side is not None and side.metric.unit is not row.metric.unit:
        return Lane(number, (), None)
    step, host = (row.step, row.host) if side is None else (side.step, side.host)
    hosts = {host} if side is None else {host, *side.hosts}
    trials = [trial for trial in record.trials if trial.trial.step == step and trial.trial.host in hosts]
    dots = tuple(dot for trial in trials for dot in _dots(trial, row))
    return Lane(number, dots, None if side is None else side.median)


def _dots(trial: TrialRecord, row: Row) -> Iterator[Dot]:
    for figure in trial.figures:
        if _key(figure.metric, figure.labels) == _key(row.metric, row.labels):
            yield Dot(figure.value, trial.trial.number, _left_out(trial))


def _left_out(trial: TrialRecord) -> str:
    if trial.trial.warm_up:
        return "warm-up, not counted"
    if trial.state is not State.DONE:
        return f"{trial.state.value}, not counted" + (f": {trial.reason}" if trial.reason else "")
    return ""


def _key(metric: Metric, labelled: Labels) -> tuple[str, Labels, Unit]:
    return metric.name, labelled, metric.unit
