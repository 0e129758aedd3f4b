"""What runs say beyond their medians: distributions, noise, scaling; read together for window and command line."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from app.chart import Chart
from app.comparing.comparison import CompareError, Row
from app.comparing.gathering import Gathering
from app.comparing.pairing import places
from app.comparing.sides import Place, Side
from app.comparing.verdicts import Verdict
from app.distributions.distribution import Described, Distribution, Given, distribution
from app.distributions.heat import heat_charts
from app.distributions.reading import Reader
from app.noise.noise import Measured, Noise, noise_of
from app.plans.plan import Step, host_words
from app.records import RunRecord
from app.rounds import rounds_charts
from app.scaling import Scaling, scaling_of
from app.scaling.scaling import leading
from app.scaling.steps import curves_of_steps
from app.scaling.sweeps import curves_of
from suites.vocab import Figure, Kind

if TYPE_CHECKING:
    from app.store import Store

MOST_PICTURED = 12
"""Distributions in one picture: it has to stay a page."""

MOST_NAMED = 12
"""Metrics that a refusal lists."""


class Describing:
    """Describes what words mean, as app.comparing.choosing.choose() takes them, out of a store."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._gathering = Gathering(store)

    def distributions(self, words: Sequence[str], metric: str = "", overruled: str = "") -> list[Distribution]:
        """Return the distribution of `metric` (by default each step's first) on every step and host.

        The first of `words` is the baseline. Raises CompareError where no side has the metric.
        """
        groups = self._gathering.chosen(words)
        ids = [Side(group).summary.id for group in groups]
        rows = list(_rows(groups, overruled))
        chosen = [row for row in rows if row.metric.name == metric] if metric else _leading(rows)
        if not chosen:
            names = list(dict.fromkeys(row.metric.name for row in rows))[:MOST_NAMED]
            raise CompareError(f"No run has the metric “{metric[:60]}”.", f"They have {', '.join(names) or 'none'}.")
        return self.describe(groups, ids, chosen)

    def of_row(self, words: Sequence[str], row: Row) -> Distribution:
        """Return the distribution of one row of the comparison of `words`."""
        groups = self._gathering.chosen(words)
        (found,) = self.describe(groups, [Side(group).summary.id for group in groups], [row])
        return found

    def pictured(self, words: Sequence[str], rows: Sequence[Row]) -> list[Distribution]:
        """Return the distributions that stand for the steps in a picture: the first metric and the first latency."""
        groups = self._gathering.chosen(words)
        chosen: dict[tuple[str, str, Kind], Row] = {}
        for row in rows:
            if row.metric.kind in {Kind.RATE, Kind.TIME}:
                chosen.setdefault((row.step, row.host, row.metric.kind), row)
        ids = [Side(group).summary.id for group in groups]
        return self.describe(groups, ids, list(chosen.values())[:MOST_PICTURED])

    def noise(self, words: Sequence[str], *, everything: bool = False) -> Noise:
        """Return how repeatable each step, host and run is: by the first metric of each step, or by `everything`."""
        reader = Reader(self._store)
        return noise_of([one for word in words for one in self._measured(word, reader, everything=everything)])

    def _measured(self, word: str, reader: Reader, *, everything: bool) -> Iterator[Measured]:
        (group,) = self._gathering.chosen([word])
        side = Side(group)
        suites = {step.name: step.suite_id for step in side.steps}
        rows = list(_rows([group], ""))
        for row in rows if everything else _leading(rows):
            summary = row.sides[0]
            if summary is not None:
                samples = tuple(tuple(map(float, one.values)) for one in reader.samples(summary))
                yield Measured(
                    side.summary.id, row.step, suites[row.step], row.host, row.metric, row.labels,
                    summary.values, samples,
                )  # fmt: skip

    def scaling(self, word: str, *, everything: bool = False) -> list[Scaling]:
        """Return the curves of a run, or of a group of runs as one, over whatever was swept.

        What a run swept itself stands in its labels; beside that, steps that differ in one parameter are points.
        """
        (group,) = self._gathering.chosen([word])
        side = Side(group)
        run = side.summary.id
        found = [
            scaling_of(run, step.name, host, curve)
            for step in side.steps
            for host in side.hosts
            for curve in curves_of(_figures(side, step, host))
        ]
        for suite, hosts in curves_of_steps(side).items():
            found += [scaling_of(run, suite, host, curve) for host, own in hosts.items() for curve in own]
        return found if everything else leading(found)

    def heat(self, word: str) -> list[Chart]:
        """Return a latency heat map for each trial that counts of a run, where its tool keeps the whole histogram."""
        (group,) = self._gathering.chosen([word])
        return [
            chart
            for record in group
            for step in record.plan.steps
            for trial in record.trials_of(step.name)
            for chart in heat_charts(
                self._store.output(record.summary.id, trial.trial.id).get("stdout", b""),
                step.suite_id,
                f"{step.name} on {host_words(trial.trial.host)}, trial {trial.trial.number}",
            )
        ][:MOST_PICTURED]

    def rounds(self, word: str) -> list[Chart]:
        """Return a chart of its rounds for each trial of a run that went on round by round until it was steady."""
        (group,) = self._gathering.chosen([word])
        return [
            chart
            for record in group
            for charts in rounds_charts(record, self._store.samples(record.summary.id)).values()
            for chart in charts
        ][:MOST_PICTURED]

    def describe(
        self, groups: Sequence[Sequence[RunRecord]], ids: Sequence[str], rows: Sequence[Row]
    ) -> list[Distribution]:
        """Return the distributions of some rows of a comparison of `groups`."""
        reader = Reader(self._store)
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
            given = [Given(*each) for each in zip(ids, values, refused, strict=True)]
            found.append(distribution(Described(row.step, row.host, row.metric, row.labels, source), given))
        return found


def _rows(groups: Sequence[tuple[RunRecord, ...]], overruled: str) -> Iterator[Row]:
    """Yield the rows of a comparison, or those of one side alone."""
    if len(groups) > 1:
        from app.comparing.compare import compare

        yield from compare(groups, overruled=overruled).rows
        return
    side = Side(groups[0])
    for place in places(side):
        for (_, labels), summary in side.figures(place).items():
            yield Row(place.step.name, place.host, summary.metric, labels, (summary,), ())


def _figures(side: Side, step: Step, host: str) -> list[Figure]:
    return [figure for counted in side.trials(Place(step, (host,))) for figure in counted.record.figures]


def _leading(rows: Sequence[Row]) -> list[Row]:
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        first.setdefault((row.step, row.host), row.metric.name)
    return [row for row in rows if first[row.step, row.host] == row.metric.name]


def _refusal(row: Row, number: int) -> str:
    against = row.against[number]
    return against.reason if against.verdict is Verdict.NOT_COMPARABLE else ""
