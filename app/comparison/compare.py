"""Comparison of runs: for each metric the ratio to the first side, its 95 % interval and the verdict."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.baselines.reference import against_published
from app.centres import CONFIDENCE
from app.comparison.caveats import THE_BASELINE, THIS_RUN, Caveat, of_blocks, of_order
from app.comparison.cell_caveats import MOST_FAILED, of_failures, of_instances, of_units, of_verdicts
from app.comparison.comparability import (
    OF_HOST,
    PLACES,
    Difference,
    Profile,
    Weight,
    differences,
    relation,
    same_machine,
)
from app.comparison.comparison import CompareError, Comparison, ComparisonRow, RelativeFigure
from app.comparison.crossover import HalfEffect, overlap_caveat, overlaps
from app.comparison.estimates import FEWEST_TRIALS, Ratio, beyond_p, holm, widened, within_p
from app.comparison.family import descriptive
from app.comparison.joined import excluded_trials
from app.comparison.moments import NO_MOMENTS, MomentError, Moments
from app.comparison.notes import arithmetic_means, caveats_of, half_effects, lettered
from app.comparison.replication import OnFirst, Rounds, Units, units_of
from app.comparison.sides import (
    Censored,
    Side,
    StepHosts,
    all_hosts,
    cells_of_all,
    matched_hosts,
    refuse_repeated,
    step_hosts,
)
from app.comparison.verdicts import (
    OF_TRIALS,
    ComparisonVerdict,
    Level,
    VerdictEvidence,
    decide,
    decide_exact,
    forecast,
    not_comparable,
)
from app.margins import DEFAULTS, Margin, Margins
from app.plans.duet import Halves, halves_of
from app.plans.plan import Policy
from app.plans.sequential import look_level
from app.records import RunRecord
from app.sample_statistics import WithinTrials
from app.summary import MetricSummary, levels
from suites.errors import UnitError
from suites.units import convert
from suites.verdict import Trust
from suites.vocab import Metric, MetricKind


def compare(
    given: Sequence[RunRecord | Sequence[RunRecord]],
    margins: Margins = DEFAULTS,
    *,
    overruled: str = "",
    within: WithinTrials | None = None,
    tested: Collection[str] = (),
    moments: Moments = NO_MOMENTS,
    together: bool = False,
) -> Comparison:
    """Compare runs, or groups of runs, with the first.

    `margins` are the relative differences that do not matter. `overruled` is a reason to compare in spite of fatal
    differences; every verdict repeats it.
    `within` are the samples of the trials, for the variance levels. `tested` are names of metrics, or ALL_METRICS, that
    get a verdict besides the headline and tail metrics of each step; all others are descriptive (descriptive()).
    `moments` are the moments of runs that are not moments of their own: moment_error(). `together`: ComparisonCriteria.

    A metric is better or worse if the 95 % interval of its ratio is entirely beyond the margin, and the same if it is
    entirely within; else it is undecided. The interval is made at the highest level that is replicated (units_of). Both
    claims are corrected by Holm's method for all tested ratios of the comparison.

    Raises CompareError for fewer than two sides, or a run on two sides.
    """
    sides = [Side([each] if isinstance(each, RunRecord) else each) for each in given]
    _check(sides)
    table = _Table(
        sides, margins, overruled.strip(), within or {}, tested=frozenset(tested), moments=moments, together=together
    )
    rows = tuple(table.rows())
    remarks = tuple(lettered(table.remarks(), len(sides)))
    overruling = [f"Overruled: {overruled.strip()}"] if overruled.strip() else []
    caveats = tuple(lettered(caveats_of(rows), len(sides)))
    more = lettered([*half_effects(rows), *arithmetic_means(rows)], len(sides))
    excluded = [
        note
        for side in sides
        for run in side.runs  # an invalid run of a group stays excluded: its valid ones are the values
        for note in excluded_trials(run, invalid=not overruled.strip() or len(side.runs) > 1)
    ]
    notes = tuple(dict.fromkeys([*excluded, *overruling, *remarks, *caveats, *more]))
    summaries = tuple(side.summary for side in sides)
    repeated = (*overruling, *caveats)
    return Comparison(summaries, margins, rows, notes, remarks, repeated, overruled=overruled.strip(), moments=moments)


def _check(sides: Sequence[Side]) -> None:
    if len(sides) < 2:
        raise CompareError("A comparison needs at least two runs.", "Name two or more; the first is the baseline.")
    refuse_repeated(sides)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Corresponding cells of the baseline and another side, with their differences."""

    ours: StepHosts
    theirs: StepHosts
    differences: tuple[Difference, ...]
    relation: str
    same_machine: bool
    order: tuple[Caveat, ...]
    failures: tuple[tuple[str, Censored], ...]
    rounds: Rounds
    on_first: OnFirst
    halves: str
    overlaps: tuple[float, ...]

    @property
    def fatal(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.weight is Weight.FATAL)


@dataclass(frozen=True, slots=True)
class _Open:
    """A ratio before Holm's correction over all tested ratios; `exact` are figures without variance."""

    pair: _Pair
    ratio: Ratio
    units: Units
    evidence: VerdictEvidence
    caveats: tuple[Caveat, ...]
    exact: bool


_COUNTED = frozenset({MetricKind.COUNT, MetricKind.SHARE})
"""Kinds whose identical trials are exact; identical times and rates hide a variance below the resolution."""


class _Table:
    """The builder of the rows."""

    def __init__(
        self,
        sides: list[Side],
        margins: Margins,
        overruled: str,
        within: WithinTrials,
        *,
        tested: frozenset[str],
        moments: Moments,
        together: bool,
    ) -> None:
        self._sides = sides
        self._margins = margins
        self._overruled = overruled
        self._within = within
        self._matched = all_hosts if together else matched_hosts
        self._cells_of = cells_of_all if together else step_hosts
        self._tested = tested
        self._moments = moments
        self._pairs = [self._paired(side) for side in sides[1:]]

    def _paired(self, side: Side) -> dict[StepHosts, _Pair]:
        baseline = self._sides[0]
        found = {}
        for ours, theirs in self._matched(baseline, side).items():
            one, other = side.profile(theirs), baseline.profile(ours)
            on_first = baseline.halves(ours) | side.halves(theirs)
            records = ([counted.record for counted in one.trials(at)] for one, at in ((side, theirs), (baseline, ours)))
            found[ours] = _Pair(
                ours,
                theirs,
                differences(one, other),
                relation(one, other),
                same_machine(one, other),
                (
                    *of_order(side.moments(theirs), baseline.moments(ours)),
                    *of_blocks(side.starts(theirs), baseline.starts(ours)),
                ),
                ((THIS_RUN, side.censored(theirs)), (THE_BASELINE, baseline.censored(ours))),
                baseline.rounds(ours) | side.rounds(theirs),
                on_first,
                _halves(other) if on_first else "",
                overlaps(*records) if on_first else (),
            )
        return found

    def rows(self) -> Iterator[ComparisonRow]:
        rows = [row for found in self._cells() for row in self._rows_of(found)]
        figures = iter(self._corrected([figure for _, found in rows for figure in found]))
        for row, found in rows:
            yield replace(row, against=tuple(next(figures) for _ in found))

    def _cells(self) -> Iterator[list[StepHosts | None]]:
        """Yield the cells of all sides, matched: those of the baseline first, then those it does not have."""
        answered = list(dict.fromkeys(cell for pairs in self._pairs for cell in pairs))
        alone = [cell for cell in self._cells_of(self._sides[0]) if not _covered(cell, answered)]
        order = [step.name for step in self._sides[0].steps]
        for cell in sorted([*answered, *alone], key=lambda cell: order.index(cell.step.name)):
            found = (pairs.get(cell) for pairs in self._pairs)
            yield [cell, *(None if pair is None else pair.theirs for pair in found)]
        for number, pairs in enumerate(self._pairs, 1):
            theirs = [pair.theirs for pair in pairs.values()]
            for cell in self._cells_of(self._sides[number]):
                if not _covered(cell, theirs):
                    only: list[StepHosts | None] = [None] * len(self._sides)
                    only[number] = cell
                    yield only

    def remarks(self) -> Iterator[tuple[int, str]]:
        for number, pairs in enumerate(self._pairs, 1):
            for pair in pairs.values():
                for text in _remarks(pair):
                    yield number, text

    def _rows_of(self, found: list[StepHosts | None]) -> Iterator[tuple[ComparisonRow, list[RelativeFigure | _Open]]]:
        figures = [{} if cell is None else side.figures(cell) for cell, side in zip(found, self._sides, strict=True)]
        first = next(cell for cell in found if cell is not None)
        untested = descriptive(first.step, figures, self._tested)
        for key in dict.fromkeys(key for side in figures for key in side):
            metric = next(side[key].metric for side in figures if key in side)
            sides = tuple(_in_unit(side.get(key), metric) for side in figures)
            numbers = range(1, len(self._sides))
            why = untested.get(key, "")
            against = [self._against(found, sides, number, why) for number in numbers]
            spreads = tuple(levels(side[key], self._within) if key in side else None for side in figures)
            yield ComparisonRow(first.step.name, first.host, metric, key[1], sides, (), spreads, not why), against

    def _against(
        self, found: list[StepHosts | None], sides: Sequence[MetricSummary | None], number: int, untested: str
    ) -> RelativeFigure | _Open:
        ours, theirs = found[0], found[number]
        baseline, other = sides[0], sides[number]
        pair = None if ours is None else self._pairs[number - 1].get(ours)
        if pair is None or theirs is None:
            return _refused(f"step and host not in {self._called(0 if ours is None else number)}")
        if pair.fatal and not self._overruled:
            return _refused("; ".join(each.text for each in pair.fatal), pair.differences)
        if baseline is None or other is None:
            return _refused(f"metric not in {self._called(0 if baseline is None else number)}", pair.differences)
        if other.metric.unit is not baseline.metric.unit:
            return _refused(f"unit {other.metric.unit} against {baseline.metric.unit}", pair.differences)
        published = self._sides[number].published or self._sides[0].published
        if published is not None:
            values = (other.values, baseline.values)
            return against_published(published, baseline.metric, baseline.labels, values, pair.differences)
        return self._open(pair, (other, baseline), number, untested)

    def _margin_for(self, metric: Metric, number: int) -> Margin:
        """Return the margin of a metric for a side and the baseline."""
        return self._margins.of(metric, (*self._sides[0].repetitions, *self._sides[number].repetitions))

    def _look_level(self, units: Units, number: int) -> float:
        """Return the confidence level of the interval of a run that stopped at its verdict; 0 for every other one.

        It was compared after each trial: at its stop, a single look's interval excludes the ratio too often.
        """
        if units.level is not Level.TRIAL or min(units.counts) < FEWEST_TRIALS:
            return 0.0
        sides = self._sides[number].repetitions, self._sides[0].repetitions
        stopped = [
            look_level(own, other, given.minimum, given.cap, CONFIDENCE)
            for own, other, (given, *_) in zip(units.counts, reversed(units.counts), sides, strict=True)
            if given.policy is Policy.UNTIL_VERDICT
        ]
        return max(stopped, default=0.0)

    def _called(self, number: int) -> str:
        return f"the run {self._sides[number].summary.id}" if number else THE_BASELINE

    def _open(
        self, pair: _Pair, sides: tuple[MetricSummary, MetricSummary], number: int, untested: str
    ) -> RelativeFigure | _Open:
        other, baseline = sides
        units = units_of(other, baseline, pair.rounds, pair.on_first, self._moments)
        found = units.ratio()
        level = self._look_level(units, number)
        if level and isinstance(found, Ratio):
            found = widened(found, level)
        has_error = units.moments is not None and units.moments.of_both and isinstance(found, Ratio) and found.error
        moments = units.moments if has_error else None
        margin = self._margin_for(baseline.metric, number)
        barred = [f"{one.text} in {side_name}" for side_name, one in pair.failures if one.share > MOST_FAILED]
        barred += [caveat.text for caveat in of_verdicts(other, baseline) if caveat.id == Trust.INVALID]
        exact = units.exact and baseline.metric.kind in _COUNTED
        if isinstance(found, str) and (barred or not exact):
            return _unknown("; ".join(barred) or found, pair.differences, untested)
        evidence = VerdictEvidence(
            baseline.metric,
            margin.share,
            units.counts,
            units.level,
            units.pairs,
            units.scope,
            pair.relation,
            origin=margin.origin,
            barred="; ".join(barred),
            untested=untested,
            sequential=bool(level),
            moments=moments,
        )
        hosts = len(pair.theirs.hosts), len(pair.ours.hosts)
        caveats = (
            *(() if units.pairs in OF_TRIALS else _of_order(pair, moments)),
            *(() if pair.same_machine else of_instances(units, hosts)),
            *of_verdicts(other, baseline),
            *of_failures(pair.failures),
            *of_units(units, other, baseline),
            *_of_overlap(pair, units),
        )
        return _Open(pair, Ratio(math.nan) if isinstance(found, str) else found, units, evidence, caveats, exact)

    def _corrected(self, found: Sequence[RelativeFigure | _Open]) -> list[RelativeFigure]:
        """Return the figures, the p-values of all tested ratios corrected together by Holm's method.

        Claims of a difference and claims of equivalence are a family each. A ratio of too few values has no claim, and
        is not tested.
        """
        tested = {
            place: one.ratio
            for place, one in enumerate(found)
            if isinstance(one, _Open) and one.ratio.error and not (one.evidence.untested or one.evidence.needed)
        }
        margins = {place: one.evidence.margin for place, one in enumerate(found) if isinstance(one, _Open)}
        beyond, within = (
            dict(zip(tested, holm([p_of(ratio, margins[place]) for place, ratio in tested.items()]), strict=True))
            for p_of in (beyond_p, within_p)
        )
        return [
            one
            if isinstance(one, RelativeFigure)
            else self._figure(
                one, replace(one.evidence, tests=len(tested), p=beyond.get(place), p_same=within.get(place))
            )
            for place, one in enumerate(found)
        ]

    def _figure(self, found: _Open, evidence: VerdictEvidence) -> RelativeFigure:
        ratio, units = found.ratio, found.units
        if found.exact and not evidence.barred:
            verdict, text, reason = decide_exact((units.values[0], units.baseline[0]), evidence)
        else:
            verdict, text, reason = decide(ratio, evidence)
        if found.pair.fatal:
            override = f"overruled ({self._overruled}): {'; '.join(each.text for each in found.pair.fatal)}"
            text, reason = f"{text}, {override}", f"{reason}; {override}"
        return RelativeFigure(
            verdict,
            reason,
            None if math.isnan(ratio.value) else ratio.value,
            ratio.low,
            ratio.high,
            text,
            found.caveats,
            found.pair.differences,
            forecast(ratio, evidence) if verdict is ComparisonVerdict.UNDECIDED else None,
            evidence.p,
            evidence.p_same,
            evidence.margin,
            evidence.origin,
            units.centres,
            evidence.level,
            evidence.scope,
            evidence.pairs,
            evidence.counts,
            None if units.half_effect is None else _half_effect(found.pair, units.half_effect),
            ratio,
            evidence,
            found.exact,
        )


def _half_effect(pair: _Pair, ratio: Ratio) -> HalfEffect:
    return HalfEffect(pair.halves, ratio, min(pair.overlaps, default=None))


def _of_order(pair: _Pair, moments: MomentError | None) -> Iterator[Caveat]:
    """Yield the caveats on the order of the sides; an interval with the error of moments has their distance in time."""
    yield from (one for one in pair.order if moments is None or one.id != "drift")


def _of_overlap(pair: _Pair, units: Units) -> Iterator[Caveat]:
    found = overlap_caveat(pair.overlaps) if units.on_first else None
    if found is not None:
        yield found


def _halves(profile: Profile) -> str:
    """Return the halves of the CPUs of the host of a cell: ``CPUs 0-1 against 2-3``."""
    found = halves_of(profile.facts[0]) if profile.facts else ""
    return found.text if isinstance(found, Halves) else "the first half of the CPUs against the second"


def _in_unit(side: MetricSummary | None, metric: Metric) -> MetricSummary | None:
    """Return a side converted to the unit of `metric`; unchanged if the units cannot be converted."""
    if side is None or side.metric.unit is metric.unit:
        return side
    try:
        values = tuple(convert(value, side.metric.unit, metric.unit) for value in side.values)
    except UnitError:
        return side
    return replace(side, values=values, metric=replace(side.metric, unit=metric.unit))


def _refused(reason: str, found: tuple[Difference, ...] = ()) -> RelativeFigure:
    return RelativeFigure(ComparisonVerdict.NOT_COMPARABLE, reason, text=not_comparable(reason), differences=found)


def _unknown(reason: str, found: tuple[Difference, ...], untested: str) -> RelativeFigure:
    if untested:
        return RelativeFigure(ComparisonVerdict.NOT_TESTED, untested, text=f"not tested: {reason}", differences=found)
    return RelativeFigure(ComparisonVerdict.UNDECIDED, reason, text=f"undecided: {reason}", differences=found)


def _covered(cell: StepHosts, others: Iterable[StepHosts]) -> bool:
    """Return whether others, which may pool several hosts, contain a cell."""
    return any(cell.step == other.step and set(cell.hosts) <= set(other.hosts) for other in others)


def _remarks(pair: _Pair) -> Iterator[str]:
    """Yield the differences of a pair that are not fatal."""
    for difference in pair.differences:
        if difference.weight is Weight.FATAL:
            continue
        about = pair.theirs.host if difference.what in OF_HOST else pair.ours.step.name
        yield f"{about}: {difference.text}{f'. {difference.why}' if difference.what in PLACES else ''}"
