"""Reads what distributions are made of: the samples of trials, and the requests that a tool counted itself."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from app.baselines.baselines import PREFIX
from app.distributions.values import Moment, Source, TrialValues, counted_values, trial_values
from app.records import SampleSeries
from app.summary import MetricSummary
from suites.fio.histogram import latency_bins
from suites.units import Unit, convert
from suites.vocab import Better, Kind, Labels, Sample

if TYPE_CHECKING:
    from app.store import Store

FEWEST_SAMPLES = 4
"""Samples of a trial below which not even its quartiles are carried: the trials' own figures say as much."""

TrialKey = tuple[str, int]
"""The id of a run and of one of its trials."""

REQUESTS = {"fio": latency_bins}
"""Suites whose tools count every request by its latency, in nanoseconds, and how that is read of their output."""


class Reader:
    """Reads the values of trials out of a store, every run once."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._samples: dict[str, SampleSeries] = {}
        self._bins: dict[tuple[str, TrialKey], Mapping[Labels, Mapping[int, int]]] = {}

    def best(self, suite_id: str, sides: Sequence[MetricSummary | None]) -> tuple[Source, list[list[TrialValues]]]:
        """Return the values of every side, as fine as every trial of all of them has them."""
        for source in (Source.REQUESTS, Source.SAMPLES):
            found = [self._side(source, suite_id, side) for side in sides]
            if all(trials is not None for trials in found):
                return source, [trials or [] for trials in found]
        return Source.TRIALS, [_figures(side) for side in sides]

    def samples(self, side: MetricSummary) -> list[TrialValues]:
        """Return the samples of each trial of a side that has some."""
        found = (self._sampled(side, key, host) for key, host in zip(side.trials, side.hosts, strict=True))
        return [one for one in found if one is not None]

    def _side(self, source: Source, suite_id: str, side: MetricSummary | None) -> list[TrialValues] | None:
        """Return the values of the trials of a side; None where one of them has none."""
        if side is None:
            return []
        found = []
        for key, host in zip(side.trials, side.hosts, strict=True):
            requests = source is Source.REQUESTS
            one = self._requests(suite_id, side, key, host) if requests else self._sampled(side, key, host)
            if one is None:
                return None
            found.append(one)
        return found

    def _requests(self, suite_id: str, side: MetricSummary, key: TrialKey, host: str) -> TrialValues | None:
        read = REQUESTS.get(suite_id)
        if read is None or side.metric.kind is not Kind.TIME or not side.metric.name.startswith("latency"):
            return None
        if (suite_id, key) not in self._bins:
            output = {} if key[0].startswith(PREFIX) else self._store.output(*key)
            self._bins[suite_id, key] = read(output.get("stdout", b""))
        bins = self._bins[suite_id, key].get(side.labels)
        if not bins:
            return None
        scaled = {convert(float(value), Unit.NANOSECOND, side.metric.unit): count for value, count in bins.items()}
        found = counted_values(*key, host, scaled)
        worst = self._sampled(side, key, host)
        return found if worst is None else TrialValues(*key, host, found.values, found.counts, worst.worst)

    def _sampled(self, side: MetricSummary, key: TrialKey, host: str) -> TrialValues | None:
        run, trial = key
        if run not in self._samples:
            # A published table has figures alone.
            self._samples[run] = {} if run.startswith(PREFIX) else self._store.samples(run)
        samples = [
            Moment(convert(sample.value, sample.metric.unit, side.metric.unit), sample.time)
            for sample in self._samples[run].get(trial, ())
            if _counts(sample, side)
        ]
        if len(samples) < FEWEST_SAMPLES:
            return None
        pick = max if side.metric.better is Better.LOWER else min
        worst = pick(samples, key=lambda moment: moment.value)
        return trial_values(run, trial, host, [moment.value for moment in samples], worst)


def _counts(sample: Sample, side: MetricSummary) -> bool:
    return not sample.warm_up and sample.metric.name == side.metric.name and sample.labels == side.labels


def _figures(side: MetricSummary | None) -> list[TrialValues]:
    if side is None:
        return []
    entries = zip(side.values, side.trials, side.hosts, strict=True)
    return [trial_values(*key, host, [value]) for value, key, host in entries]
