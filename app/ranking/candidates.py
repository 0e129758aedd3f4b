"""What is ranked: hosts of runs, or groups of runs, each with one value a trial of every metric that counts."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.calibration.calibration import Calibration
from app.comparing.centre import geometric_mean_of
from app.comparing.comparison import CompareError
from app.comparing.gate import Profile
from app.comparing.sides import Place, Side
from app.ranking.scores import Score
from app.records import RunRecord, TrialRecord
from suites.errors import UnitError
from suites.facts import known
from suites.units import Unit, convert
from suites.vocab import Better, Figure, Labels, Metric

BY_POINT = "_by_point"
"""What suites that sweep put behind a metric's name for its figure at each point."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What has to hold at the point of a sweep whose figure is taken: ``latency_p99 <= 1 ms``. `value` is in `unit`,
    or in the metric's own where none is given."""

    metric: str
    value: float
    unit: Unit | None = None
    at_most: bool = True

    def holds(self, figure: Figure) -> bool:
        """Return whether the limit holds for a figure of its metric."""
        try:
            edge = self.value if self.unit is None else convert(self.value, self.unit, figure.metric.unit)
        except UnitError as error:
            raise CompareError(f"The limit on {self.metric} cannot be read: {error.message}") from error
        return figure.value <= edge if self.at_most else figure.value >= edge

    @property
    def text(self) -> str:
        """The limit in words."""
        unit = f" {self.unit}" if self.unit is not None else ""
        return f"{self.metric} {'≤' if self.at_most else '≥'} {self.value:g}{unit}"


class Choice(Protocol):
    """Which figures of a metric count."""

    @property
    def limit(self) -> Limit | None:
        """What has to hold at the same point."""
        ...

    @property
    def labels(self) -> Labels | None:
        """The labels, None for those that come first."""
        ...

    @property
    def step(self) -> str:
        """The step, empty for whichever has the metric."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host of a run, or a group. `values` are by metric and then by trial, or by host where several are taken
    together; `steps` says which step a metric is of. `types` are the instance types of the hosts as far as known,
    `calibrations` by step those of the hosts, None for one that has none."""

    name: str
    word: str
    hosts: tuple[str, ...]
    metrics: Mapping[str, Metric] = field(hash=False)
    values: Mapping[str, Mapping[tuple[str, ...], float]] = field(hash=False)
    steps: Mapping[str, str] = field(hash=False)
    profiles: Mapping[str, Profile] = field(hash=False)
    types: Mapping[str, str] = field(default_factory=dict, hash=False)
    calibrations: Mapping[str, Sequence[Calibration | None]] = field(default_factory=dict, hash=False)

    def calibrated(self, metrics: Iterable[str]) -> list[Calibration | None]:
        """Return the calibrations behind some metrics, None for each host that has none for one of their steps."""
        steps = dict.fromkeys(self.steps[name] for name in metrics)
        return [one for step in steps for one in self.calibrations.get(step, ())]

    def score(self, weights: Mapping[str, float]) -> Score:
        """Return the score of the metrics in `weights`, each to the power of its share of the weights."""
        whole = sum(weights.values())
        parts: dict[str, dict[tuple[str, ...], float]] = {}
        for name, weight in weights.items():
            share = weight / whole * (1 if self.metrics[name].better is Better.HIGHER else -1)
            part = parts.setdefault(self.steps[name], {})
            for trial, value in self.values[name].items():
                part[trial] = part.get(trial, 0.0) + share * math.log(value)
        complete = [self._complete(step, part, weights) for step, part in parts.items()]
        return Score(tuple(complete), of_hosts=len(self.hosts) > 1)

    def _complete(
        self, step: str, part: Mapping[tuple[str, ...], float], weights: Mapping[str, float]
    ) -> tuple[float, ...]:
        """Return the values of the trials that have every metric of the step."""
        names = [name for name in weights if self.steps[name] == step]
        return tuple(value for trial, value in part.items() if all(trial in self.values[name] for name in names))

    def centre(self, metric: str) -> tuple[float, float | None, float | None]:
        """Return the geometric mean of a metric with its 95 % interval (Student's t on the logarithms)."""
        found = geometric_mean_of(tuple(self.values[metric].values()))
        return found.value, found.low, found.high


@dataclass(frozen=True, slots=True)
class _Spot:
    """One host of a run, or all hosts of a group, before anything is read of it."""

    word: str
    side: Side
    hosts: tuple[str, ...]


def candidates_of(
    words: Sequence[str], sides: Sequence[Sequence[RunRecord]], metrics: Sequence[str], choice: Choice
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return what can be ranked by all of `metrics`, and of the rest the name and why not."""
    found: list[Candidate] = []
    left: list[tuple[str, str]] = []
    spots = list(_spots(words, sides))
    for name, spot in zip(_names(spots), spots, strict=True):
        made = _candidate(name, spot, metrics, choice)
        reason = made if isinstance(made, str) else _other_unit(made, found[0] if found else made)
        if isinstance(made, str) or reason:
            left.append((name, reason))
        else:
            found.append(made)
    return found, left


def _spots(words: Sequence[str], sides: Sequence[Sequence[RunRecord]]) -> Iterator[_Spot]:
    for word, runs in zip(words, sides, strict=True):
        side = Side(runs)
        if len(runs) > 1:
            yield _Spot(word, side, side.hosts)
        else:
            yield from (_Spot(word, side, (host,)) for host in side.hosts)


def _names(spots: Sequence[_Spot]) -> list[str]:
    """Return a name for each candidate: its host where that says it all, else its run beside it."""
    hosts = [spot.hosts[0] if len(spot.hosts) == 1 else f"{len(spot.hosts)} hosts" for spot in spots]
    short = [spot.word if len(spot.word) <= 40 else f"{spot.word[:37]}…" for spot in spots]
    return [
        host if hosts.count(host) == 1 and len(spot.hosts) == 1 else f"{word} ({host})"
        for host, word, spot in zip(hosts, short, spots, strict=True)
    ]


def _candidate(name: str, spot: _Spot, metrics: Sequence[str], choice: Choice) -> Candidate | str:
    known_metrics: dict[str, Metric] = {}
    values: dict[str, dict[tuple[str, ...], float]] = {}
    steps: dict[str, str] = {}
    profiles: dict[str, Profile] = {}
    calibrations: dict[str, list[Calibration | None]] = {}
    for metric in metrics:
        for step in spot.side.steps:
            place = Place(step, spot.hosts)
            taken = _taken(spot.side, place, metric, choice) if choice.step in {"", step.name} else []
            if taken:
                steps[metric], known_metrics[metric] = step.name, taken[0][1]
                profiles[step.name] = spot.side.profile(place)
                calibrations[step.name] = spot.side.calibrations(place)
                values[metric] = _by_trial(taken, spot.hosts)
                break
        else:
            return f"it has no figure “{metric[:60]}” that counts"
        if any(value <= 0 for value in values[metric].values()):
            return f"{metric} is not above zero, so it has no ratio"
    for measured in profiles:
        if not set.intersection(*(set(values[metric]) for metric in metrics if steps[metric] == measured)):
            return f"no trial of {measured} has all of the metrics"
    types = _types(spot.side)
    return Candidate(name, spot.word, spot.hosts, known_metrics, values, steps, profiles, types, calibrations)


def _types(side: Side) -> dict[str, str]:
    """Return the instance types of hosts, as far as known."""
    facts = {host: own for run in side.runs for host, own in run.facts_before.items()}
    return {host: kind for host, own in facts.items() if (kind := known(own.cloud.instance_type)) is not None}


def _other_unit(one: Candidate, first: Candidate) -> str:
    """Return that a candidate's metric is in another unit than the first's, or an empty string."""
    for name, metric in one.metrics.items():
        if metric.unit is not first.metrics[name].unit:
            return f"{name} is in {metric.unit}, not in {first.metrics[name].unit}"
    return ""


def _taken(side: Side, place: Place, metric: str, choice: Choice) -> list[tuple[float, Metric, tuple[str, ...], str]]:
    """Return of every trial that counts the one figure of `metric`: its value, metric, trial and host."""
    found: list[tuple[float, Metric, tuple[str, ...], str]] = []
    for counted in side.trials(place):
        figure = _figure(counted.record, metric, choice)
        if figure is not None:
            key = (counted.key[0], str(counted.key[1]))
            found.append((figure.value, figure.metric, key, counted.record.trial.host))
    return found


def _figure(record: TrialRecord, metric: str, choice: Choice) -> Figure | None:
    """Return the figure that is asked for: the first, that with the labels, or the best point where the limit holds."""
    own = [figure for figure in record.figures if figure.metric.name in _names_of(metric, choice.limit)]
    if choice.labels is not None:
        own = [figure for figure in own if set(choice.labels) <= set(figure.labels)]
    if choice.limit is None:
        return own[0] if own else None
    wanted = _names_of(choice.limit.metric, choice.limit)
    limits = {figure.labels: figure for figure in record.figures if figure.metric.name in wanted}
    held = [figure for figure in own if figure.labels in limits and choice.limit.holds(limits[figure.labels])]
    if not held:
        return None
    best = max if held[0].metric.better is Better.HIGHER else min
    return best(held, key=lambda figure: figure.value)


def _names_of(metric: str, limit: Limit | None) -> tuple[str, ...]:
    """Return the names of a metric; under a limit that at the points of a sweep as well, which have their own."""
    return (metric,) if limit is None else (metric, f"{metric}{BY_POINT}")


def _by_trial(
    taken: Sequence[tuple[float, Metric, tuple[str, ...], str]], hosts: Sequence[str]
) -> dict[tuple[str, ...], float]:
    """Return the values by trial; of several hosts one value each, the geometric mean of its trials."""
    metric = taken[0][1]
    values = [(convert(value, one.unit, metric.unit), key, host) for value, one, key, host in taken]
    if len(hosts) < 2:
        return {key: value for value, key, _ in values}
    by_host: dict[str, list[float]] = {}
    for value, _, host in values:
        by_host.setdefault(host, []).append(value)
    return {
        (host,): statistics.geometric_mean(own) if min(own) > 0 else statistics.fmean(own)
        for host, own in by_host.items()
    }
