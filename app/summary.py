"""Figures of a run summarised over its trials: one trial is one value."""

import statistics
from dataclasses import dataclass

from app.comparing.levels import Levels, WithinTrials, levels_of
from app.records import RunRecord
from suites.vocab import Labels, Metric


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of a step on a host, or on several taken together, over the trials that count.

    `hosts` and `trials` tell of each value on which host it was measured, and in which trial (run id, trial id).
    """

    step: str
    host: str
    metric: Metric
    labels: Labels
    values: tuple[float, ...]
    hosts: tuple[str, ...] = ()
    trials: tuple[tuple[str, int], ...] = ()

    @property
    def n(self) -> int:
        """How many trials there are."""
        return len(self.values)

    @property
    def median(self) -> float:
        """The median of the trials."""
        return statistics.median(self.values)

    @property
    def minimum(self) -> float:
        """The lowest trial."""
        return min(self.values)

    @property
    def maximum(self) -> float:
        """The highest trial."""
        return max(self.values)

    @property
    def cov(self) -> float | None:
        """The coefficient of variation, standard deviation by mean; None for fewer than two trials or a zero mean."""
        if self.n < 2 or not (mean := statistics.fmean(self.values)):
            return None
        return statistics.stdev(self.values) / abs(mean)

    def by_host(self) -> dict[str, list[int]]:
        """Return the places of the values of each host."""
        found: dict[str, list[int]] = {}
        for place, host in enumerate(self.hosts or [self.host] * self.n):
            found.setdefault(host, []).append(place)
        return found

    @property
    def uncertainty(self) -> float | None:
        """Half the distance between the lowest and highest trial; it decides how many digits the median shows."""
        return (self.maximum - self.minimum) / 2 if self.n > 1 else None


def levels(summary: MetricSummary, within: WithinTrials) -> Levels | None:
    """Return where the spread of a metric comes from; `within` are the samples of its trials."""
    key = (summary.metric.name, summary.labels)
    samples = [within.get(trial, {}).get(key) for trial in summary.trials]
    hosts = [[summary.values[place] for place in found] for found in summary.by_host().values()]
    return levels_of(hosts, [one for one in samples if one is not None])


def summaries(record: RunRecord) -> tuple[MetricSummary, ...]:
    """Return every metric of every step and host of `record` that has a trial that counts."""
    gathered: dict[tuple[str, str, Metric, Labels], list[tuple[float, tuple[str, int]]]] = {}
    for step in record.plan.steps:
        for trial in record.trials_of(step.name):
            for figure in trial.figures:
                key = (step.name, trial.trial.host, figure.metric, figure.labels)
                gathered.setdefault(key, []).append((figure.value, (record.summary.id, trial.trial.id)))
    return tuple(
        MetricSummary(
            *key, tuple(value for value, _ in found), (key[1],) * len(found), tuple(trial for _, trial in found)
        )
        for key, found in gathered.items()
    )
