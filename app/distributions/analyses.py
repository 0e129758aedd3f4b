"""Analyses of stored runs: distributions, noise, scaling, bursts, profiles, heat maps and rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from app.bursts import BurstAnalysis, burst_of, drains_of
from app.chart import Chart, rounds_charts
from app.comparison.comparison import CompareError, ComparisonRow
from app.comparison.sides import Side, StepHosts, refuse_repeated, step_hosts
from app.comparison.verdicts import ComparisonVerdict
from app.distributions.charts import heat_charts
from app.distributions.distribution import Distribution, DistributionKey, SideValues, distribution
from app.distributions.percentiles import TimedValue, TrialValues, ValueLevel, counted_values, trial_values
from app.distributions.studies import StudyKind, missing_for
from app.noise import MetricTrials, Noise, noise_of
from app.plans.plan import host_label
from app.profiles import PerfProfile, profiles_of
from app.records import PREFIX, RunRecord, SampleSeries
from app.scaling.scaling import ScalingAnalysis, headline_curves, scaling_of
from app.scaling.sweeps import curves_of, curves_of_steps, target_of
from app.summary import MetricSummary
from suites.errors import BenchwrightError
from suites.registry import histograms_of
from suites.units import Unit, convert
from suites.verdict import Trust, least_trusted
from suites.vocab import Better, Labels, MetricKind, Sample

if TYPE_CHECKING:
    from app.store.store import Store

FEWEST_SAMPLES = 4
"""Fewest samples of a trial for quartiles; with fewer, the figures of the trials are used."""

TrialKey = tuple[str, int]
"""The id of a run and of one of its trials."""


class SampleReader:
    """A caching reader of the values of trials from a store."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._samples: dict[str, SampleSeries] = {}
        self._bins: dict[tuple[str, TrialKey], Mapping[tuple[str, Labels], Mapping[int, int]]] = {}

    def best(self, suite_id: str, sides: Sequence[MetricSummary | None]) -> tuple[ValueLevel, list[list[TrialValues]]]:
        """Return the values of every side at the finest level that all trials have."""
        for source in (ValueLevel.REQUESTS, ValueLevel.SAMPLES):
            found = [self._side(source, suite_id, side) for side in sides]
            if all(trials is not None for trials in found):
                return source, [trials or [] for trials in found]
        return ValueLevel.TRIALS, [_trial_figures(side) for side in sides]

    def samples(self, side: MetricSummary) -> list[TrialValues]:
        """Return the samples of each trial of a side that has samples."""
        found = (self._sampled(side, key, host) for key, host in zip(side.trials, side.hosts, strict=True))
        return [one for one in found if one is not None]

    def _side(self, source: ValueLevel, suite_id: str, side: MetricSummary | None) -> list[TrialValues] | None:
        """Return the values of the trials of a side; None if one of them has none."""
        if side is None:
            return []
        found = []
        for key, host in zip(side.trials, side.hosts, strict=True):
            requests = source is ValueLevel.REQUESTS
            one = self._requests(suite_id, side, key, host) if requests else self._sampled(side, key, host)
            if one is None:
                return None
            found.append(one)
        return found

    def _requests(self, suite_id: str, side: MetricSummary, key: TrialKey, host: str) -> TrialValues | None:
        histograms = histograms_of(suite_id)
        if histograms is None or histograms.totals is None:
            return None
        if side.metric.kind is not MetricKind.TIME:
            return None
        if (suite_id, key) not in self._bins:
            output = {} if key[0].startswith(PREFIX) else self._store.output(*key)
            self._bins[suite_id, key] = histograms.totals(output.get("stdout", b""))
        given = self._bins[suite_id, key].items()
        bins = next((one for (family, at), one in given if at == side.labels and _is_of(side, family)), None)
        if not bins:
            return None
        scaled = {convert(float(value), Unit.NANOSECOND, side.metric.unit): count for value, count in bins.items()}
        found = counted_values(*key, host, scaled)
        worst = self._sampled(side, key, host)
        return found if worst is None else TrialValues(*key, host, found.values, found.counts, worst.worst)

    def _sampled(self, side: MetricSummary, key: TrialKey, host: str) -> TrialValues | None:
        run, trial = key
        if run not in self._samples:
            # Published tables have no samples.
            self._samples[run] = {} if run.startswith(PREFIX) else self._store.samples(run)
        samples = [
            TimedValue(convert(sample.value, sample.metric.unit, side.metric.unit), sample.time)
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


def _is_of(side: MetricSummary, family: str) -> bool:
    return side.metric.name.startswith(f"{family}_")


def _trial_figures(side: MetricSummary | None) -> list[TrialValues]:
    if side is None:
        return []
    entries = zip(side.balanced_values, side.trials, side.hosts, strict=True)
    return [trial_values(*key, host, [value]) for value, key, host in entries]


MOST_SHOWN = 12
"""Most distributions of a report image, which is one page."""

MOST_NAMED = 12
"""Most metrics that an error lists."""


class Analyses:
    """Analyses of the runs in a store; `chosen` returns the runs of selectors."""

    def __init__(self, store: "Store", chosen: Callable[[Sequence[str]], list[tuple[RunRecord, ...]]]) -> None:
        self._store, self._chosen = store, chosen

    def distributions(self, selectors: Sequence[str], metric: str = "", overruled: str = "") -> list[Distribution]:
        """Return the distribution of `metric` (by default each step's first) on every step and host.

        The first of `selectors` is the baseline. Raises CompareError if no side has the metric.
        """
        groups = self._chosen(selectors)
        ids = [Side(group).summary.id for group in groups]
        rows = list(_rows(groups, overruled))
        chosen = [row for row in rows if row.metric.name == metric] if metric else _headline_rows(rows)
        if not chosen:
            names = list(dict.fromkeys(row.metric.name for row in rows))[:MOST_NAMED]
            raise CompareError(f"No run has the metric “{metric[:60]}”.", f"Metrics: {', '.join(names) or 'none'}.")
        return self.describe(groups, ids, chosen)

    def of_row(self, selectors: Sequence[str], row: ComparisonRow) -> Distribution:
        """Return the distribution of one row of the comparison of `selectors`."""
        groups = self._chosen(selectors)
        (found,) = self.describe(groups, [Side(group).summary.id for group in groups], [row])
        return found

    def pictured(self, selectors: Sequence[str], rows: Sequence[ComparisonRow]) -> list[Distribution]:
        """Return the distributions for the report image: the first rate and time of each step, tested ones first."""
        groups = self._chosen(selectors)
        chosen: dict[tuple[str, str, MetricKind], ComparisonRow] = {}
        for row in sorted(rows, key=lambda row: not row.tested):
            if row.metric.kind in {MetricKind.RATE, MetricKind.TIME}:
                chosen.setdefault((row.step, row.host, row.metric.kind), row)
        ids = [Side(group).summary.id for group in groups]
        return self.describe(groups, ids, list(chosen.values())[:MOST_SHOWN])

    def noise(self, selectors: Sequence[str], *, everything: bool = False) -> Noise:
        """Return the noise study by the first metric of each step, or with `everything` by all metrics.

        Raises CompareError for a run that is selected twice.
        """
        refuse_repeated(map(Side, self._chosen(selectors)))
        reader = SampleReader(self._store)
        return noise_of([one for word in selectors for one in self._measured(word, reader, everything=everything)])

    def _measured(self, word: str, reader: SampleReader, *, everything: bool) -> Iterator[MetricTrials]:
        (group,) = self._chosen([word])
        side = Side(group)
        suites = {step.name: step.suite_id for step in side.steps}
        rows = list(_rows([group], ""))
        for row in rows if everything else _headline_rows(rows):
            summary = row.sides[0]
            if summary is not None:
                samples = tuple(tuple(map(float, one.values)) for one in reader.samples(summary))
                yield MetricTrials(
                    side.summary.id, row.step, suites[row.step], row.host, row.metric, row.labels,
                    summary.noise_values, samples, summary.verdict, summary.value,
                )  # fmt: skip

    def scaling(self, word: str, *, everything: bool = False) -> list[ScalingAnalysis]:
        """Return the curves of a run, or of a group of runs as one, over all swept labels and parameters.

        Sweeps within a step are in its labels; steps that differ in one parameter are the points of a curve too.
        """
        (group,) = self._chosen([word])
        side = Side(group)
        run = side.summary.id
        cells = {(step.name, host): StepHosts(step, (host,)) for step in side.steps for host in side.hosts}
        found = []
        for (step, host), cell in cells.items():
            target = target_of(cell.step)
            for curve in curves_of([figure for one in side.trials(cell) for figure in one.record.figures]):
                one = scaling_of(run, step, host, curve, side.verdict(cell), sessions=len(group))
                aimed = target is not None and target.metric == curve.metric
                found.append(replace(one, target=target.value) if target is not None and aimed else one)
        for suite, hosts in curves_of_steps(side).items():
            for host, own in hosts.items():
                verdicts = [side.verdict(cells[step.name, host]) for step in side.steps if step.suite_id == suite]
                counted = [one for one in verdicts if one is not None and one.trust is not Trust.INVALID]
                verdict = least_trusted(counted)
                found += [scaling_of(run, suite, host, curve, verdict, sessions=len(group)) for curve in own]
        return found if everything else headline_curves(found)

    def bursts(self, word: str) -> list[BurstAnalysis]:
        """Return the token bucket of each step and host of a run whose first metric is a rate.

        Of a figure without samples, as of iperf3's receiver, it is that of the same metric with samples.
        """
        found = []
        for record in self._chosen([word])[0]:
            samples = self._store.samples(record.summary.id)
            sampled = {(one.metric.name, one.labels) for given in samples.values() for one in given}
            cells: dict[tuple[str, str], list[ComparisonRow]] = {}
            for row in _headline_rows(list(_rows([(record,)], ""))):
                if row.metric.kind is MetricKind.RATE:
                    cells.setdefault((row.step, row.host), []).append(row)
            for (step, host), rows in cells.items():
                for row in [one for one in rows if (one.metric.name, one.labels) in sampled] or rows[:1]:
                    what = row.metric, row.labels
                    drains = drains_of(record, step, host, samples, what)
                    found.append(burst_of(record.summary.id, step, host, what, drains))
        return found

    def missing(self, record: RunRecord) -> dict[StudyKind, str]:
        """Return for each study that a stored run has no data for, what it needs."""
        found = missing_for([record])
        if StudyKind.BURST in found or record.published is not None:
            return found
        with suppress(BenchwrightError):  # what cannot be analysed says so in its tab
            drains = [drain for one in self.bursts(record.summary.id) for drain in one.drains]
            if all(drain.burst is None for drain in drains):
                why = f" {drains[0].reason}." if drains else ""
                found[StudyKind.BURST] = f"Needs a trial in which a burst ends.{why}"
        return found

    def profiles(self, word: str) -> list[PerfProfile]:
        """Return the profile of each step and host of a run; of a group of runs, of each run."""
        return [
            profile
            for record in self._chosen([word])[0]
            for profile in profiles_of(record, partial(self._store.output, record.summary.id))
        ]

    def heat(self, word: str) -> list[Chart]:
        """Return a latency heat map for each counted trial of a run whose tool records full histograms."""
        (group,) = self._chosen([word])
        return [
            chart
            for record in group
            for step in record.plan.steps
            for trial in record.trials_of(step.name)
            for chart in heat_charts(
                self._store.output(record.summary.id, trial.trial.id).get("stdout", b""),
                step.suite_id,
                f"{step.name} on {host_label(trial.trial.host)}, trial {trial.trial.number}",
            )
        ][:MOST_SHOWN]

    def rounds(self, word: str) -> list[Chart]:
        """Return a chart of the rounds for each trial of a run with rounds."""
        (group,) = self._chosen([word])
        return [
            chart
            for record in group
            for charts in rounds_charts(record, self._store.samples(record.summary.id)).values()
            for chart in charts
        ][:MOST_SHOWN]

    def describe(
        self, groups: Sequence[Sequence[RunRecord]], ids: Sequence[str], rows: Sequence[ComparisonRow]
    ) -> list[Distribution]:
        """Return the distributions of some rows of a comparison of `groups`."""
        reader = SampleReader(self._store)
        suites = {step.name: step.suite_id for group in groups for step in Side(group).steps}
        numbers = {
            (run.summary.id, trial.trial.id): trial.trial.number
            for group in groups
            for run in group
            for trial in run.trials
        }
        found = []
        for row in rows:
            sides = [None if side is None or side.metric.unit is not row.metric.unit else side for side in row.sides]
            source, best = reader.best(suites.get(row.step, ""), sides)
            values = [[replace(one, number=numbers[one.run, one.trial]) for one in side] for side in best]
            refused = ["", *(_refusal(row, number) for number in range(len(row.against)))]
            trusts = [None if side is None else side.trust for side in row.sides]
            given = [SideValues(*each) for each in zip(ids, values, refused, trusts, strict=True)]
            found.append(distribution(DistributionKey(row.step, row.host, row.metric, row.labels, source), given))
        return found


def _rows(groups: Sequence[tuple[RunRecord, ...]], overruled: str) -> Iterator[ComparisonRow]:
    """Yield the rows of a comparison, or of a single side."""
    if len(groups) > 1:
        from app.comparison.compare import compare

        yield from compare(groups, overruled=overruled).rows
        return
    side = Side(groups[0])
    for cell in step_hosts(side):
        for (_, labels), summary in side.figures(cell).items():
            yield ComparisonRow(cell.step.name, cell.host, summary.metric, labels, (summary,), ())


def _headline_rows(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        first.setdefault((row.step, row.host), row.metric.name)
    return [row for row in rows if first[row.step, row.host] == row.metric.name]


def _refusal(row: ComparisonRow, number: int) -> str:
    against = row.against[number]
    return against.reason if against.verdict is ComparisonVerdict.NOT_COMPARABLE else ""
