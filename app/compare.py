"""Runs side by side: metric by metric, the ratio to the first run, how sure it is, and what may be said."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.intervals import FEWEST_TRIALS, Ratio, more_trials, ratio_of
from app.pairing import Place, left_out, obstacles, paired, places, remarks
from app.records import RunRecord, RunSummary
from app.summary import MetricSummary, summaries
from app.wording import share_text
from suites.errors import BenchwrightError
from suites.vocab import Better, Labels, Metric

METHOD = (
    "ratio of the geometric means of trials; 95 % interval by Welch's t on their logarithms; one trial is one value"
)


class CompareError(BenchwrightError):
    """These runs cannot be put side by side at all."""


class Verdict(StrEnum):
    """What may be said of a metric of two runs. SAME: the interval lies wholly within the margin."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Against:
    """One run's figure against the baseline's. `ratio`, `low` and `high` are None for `reason`."""

    verdict: Verdict
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one step on one host. `sides` has an entry for every run, None where a run has no figure;
    `against` one for every run but the first."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    sides: tuple[MetricSummary | None, ...]
    against: tuple[Against, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side; the first is the baseline. `notes` say what differs without forbidding to compare."""

    runs: tuple[RunSummary, ...]
    margin: float
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    method: str = METHOD


def verdict_text(verdict: Verdict, margin: float) -> str:
    """Return the verdict in words; a difference that was not found may still be there, within the margin."""
    return f"no difference larger than {share_text(margin)}" if verdict is Verdict.SAME else verdict.value


def compare(runs: Sequence[RunRecord], margin: float = 0.05) -> Comparison:
    """Compare `runs` with the first of them. `margin` is the share of the figure that does not matter to the user.

    A metric is better or worse where the 95 % interval of its ratio lies wholly beyond the margin, and shows no
    difference larger than the margin where it lies wholly within; the margin is taken on the logarithm, so that
    swapping the runs mirrors the verdict. All else is undecided. With fewer than FEWEST_TRIALS trials on a side
    there is no verdict, however far apart the figures lie; the ratio and its interval are shown all the same.

    Raises CompareError for fewer than two runs, a run given twice, or a margin that is no share.
    """
    ids = [run.summary.id for run in runs]
    if len(ids) < 2:
        raise CompareError("One run alone cannot be compared.", "Name at least two; the first is the baseline.")
    if len(set(ids)) < len(ids):
        raise CompareError("A run cannot be compared with itself.", "Name each run once.")
    if not 0 <= margin <= 1:
        raise CompareError(f"The margin is {margin:g}.", "Give a share from 0 to 1, such as 0.05 for 5 %.")
    table = _Table(list(runs), margin)
    summary = tuple(run.summary for run in runs)
    return Comparison(summary, margin, tuple(table.rows()), tuple(dict.fromkeys(table.notes())))


def comparison_to_json(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row for every metric of every run but the baseline."""
    return [
        _row_to_json(comparison, row, against, number)
        for row in comparison.rows
        for number, against in enumerate(row.against, 1)
    ]


def _row_to_json(comparison: Comparison, row: Row, against: Against, number: int) -> dict[str, Any]:
    baseline, side = row.sides[0], row.sides[number]
    return {
        "metric": row.metric.name,
        "unit": row.metric.unit.value,
        "better": row.metric.better.value,
        "ratio": against.ratio,
        "low": against.low,
        "high": against.high,
        "n": 0 if side is None else side.n,
        "margin": comparison.margin,
        "verdict": verdict_text(against.verdict, comparison.margin),
        "reason": against.reason,
        "step": row.step,
        "host": row.host if side is None else side.host,
        "labels": dict(row.labels),
        "run": comparison.runs[number].id,
        "value": None if side is None else side.median,
        "baseline": {
            "run": comparison.runs[0].id,
            "host": None if baseline is None else baseline.host,
            "n": 0 if baseline is None else baseline.n,
            "value": None if baseline is None else baseline.median,
        },
    }


Key = tuple[str, Labels]
"""What figures of one place are told apart by: the metric's name and labels."""


class _Table:
    """Builds the rows."""

    def __init__(self, runs: list[RunRecord], margin: float) -> None:
        self._runs = runs
        self._margin = margin
        self._pairs = [paired(runs[0], run) for run in runs[1:]]
        self._figures = [_by_place(run) for run in runs]

    def rows(self) -> Iterator[Row]:
        for place in places(self._runs[0]):
            yield from self._rows_of([place, *(pairs.get(place) for pairs in self._pairs)])
        for number, pairs in enumerate(self._pairs, 1):
            for place in places(self._runs[number]):
                if place not in pairs.values():
                    alone: list[Place | None] = [None] * len(self._runs)
                    alone[number] = place
                    yield from self._rows_of(alone)

    def notes(self) -> Iterator[str]:
        for run in self._runs:
            yield from left_out(run)
        for run, pairs in zip(self._runs[1:], self._pairs, strict=True):
            for ours, theirs in pairs.items():
                yield from remarks(self._runs[0], ours, run, theirs)

    def _rows_of(self, found: list[Place | None]) -> Iterator[Row]:
        sides = [
            {} if place is None else figures.get((place.step.name, place.host), {})
            for place, figures in zip(found, self._figures, strict=True)
        ]
        first = next(place for place in found if place is not None)
        for key in dict.fromkeys(key for side in sides for key in side):
            summary = tuple(side.get(key) for side in sides)
            metric = next(side.metric for side in summary if side is not None)
            against = tuple(self._against(found, summary, number) for number in range(1, len(self._runs)))
            yield Row(first.step.name, first.host, metric, key[1], summary, against)

    def _against(self, found: list[Place | None], sides: Sequence[MetricSummary | None], number: int) -> Against:
        ours, theirs = found[0], found[number]
        baseline, other = sides[0], sides[number]
        if ours is None or baseline is None:
            what = "has no such step and host" if ours is None else "has no figure of it"
            return Against(Verdict.NOT_COMPARABLE, f"the baseline {what}")
        if theirs is None or other is None:
            what = "has no such step and host" if theirs is None else "has no figure of it"
            return Against(Verdict.NOT_COMPARABLE, f"the run {self._runs[number].summary.id} {what}")
        reasons = obstacles(self._runs[0], ours, self._runs[number], theirs)
        if baseline.metric.unit is not other.metric.unit:
            reasons.append(f"unit {other.metric.unit} against {baseline.metric.unit}")
        if reasons:
            return Against(Verdict.NOT_COMPARABLE, "; ".join(reasons))
        return judge(baseline.metric.better, other.values, baseline.values, self._margin)


def judge(better: Better, values: Sequence[float], baseline: Sequence[float], margin: float) -> Against:
    """Return what the trials of a run say against those of the baseline, which measured the same thing."""
    ratio = ratio_of(values, baseline)
    if isinstance(ratio, str):
        return Against(Verdict.UNDECIDED, ratio)
    verdict = _verdict(ratio, better, margin)
    return Against(*_worded(verdict, ratio, margin, len(values), len(baseline)), ratio.value, ratio.low, ratio.high)


def _verdict(ratio: Ratio, better: Better, margin: float) -> Verdict:
    if ratio.low is None or ratio.high is None:
        return Verdict.UNDECIDED
    edge = math.log1p(margin)
    low, high = math.log(ratio.low), math.log(ratio.high)
    if low > edge or high < -edge:
        return Verdict.BETTER if (low > edge) == (better is Better.HIGHER) else Verdict.WORSE
    return Verdict.SAME if -edge <= low and high <= edge else Verdict.UNDECIDED


def _worded(verdict: Verdict, ratio: Ratio, margin: float, n: int, n_baseline: int) -> tuple[Verdict, str]:
    counts = f"{n} against {n_baseline}"
    if min(n, n_baseline) < FEWEST_TRIALS:
        far = verdict in {Verdict.BETTER, Verdict.WORSE}
        so_far = f"; so far the interval lies beyond {share_text(margin)}" if far else ""
        return Verdict.UNDECIDED, f"n = {counts}, at least {FEWEST_TRIALS} each are needed{so_far}"
    if ratio.low is None or ratio.high is None:
        return Verdict.UNDECIDED, ratio.reason
    if verdict is Verdict.UNDECIDED:
        more = more_trials(ratio, margin, (n, n_baseline))
        forecast = "far more trials" if more is None else f"about {more} more trial{'s' if more > 1 else ''}"
        return verdict, f"{forecast} on each side would settle it, n = {counts}"
    if verdict is Verdict.SAME:
        return verdict, f"95 % interval {ratio.low:.3f} to {ratio.high:.3f}, {counts} trials"
    way = "higher" if ratio.value > 1 else "lower"
    near, far_end = sorted((abs(ratio.low - 1), abs(ratio.high - 1)))
    share = share_text(abs(ratio.value - 1))
    return verdict, f"{way} by {share} (95 % interval {share_text(near)} to {share_text(far_end)}), {counts} trials"


def _by_place(run: RunRecord) -> dict[tuple[str, str], dict[Key, MetricSummary]]:
    found: dict[tuple[str, str], dict[Key, MetricSummary]] = {}
    for summary in summaries(run):
        found.setdefault((summary.step, summary.host), {})[summary.metric.name, summary.labels] = summary
    return found
