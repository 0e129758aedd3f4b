"""Runs side by side: metric by metric, the ratio to the first side, how sure it is, and what may be said."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.baselines.reference_verdict import against_published
from app.calibration.false_alarms import DEFAULT_MARGIN
from app.calibration.margins import Margin, margin_of
from app.comparing.assumptions import Caveat, of_centres, of_order, of_spread
from app.comparing.comparison import METHOD, Against, CompareError, Comparison, Row
from app.comparing.gate import OF_HOST, Difference, Weight, differences, relation, same_machine
from app.comparing.intervals import FEWEST_HOSTS, Ratio, holm, ratio_of
from app.comparing.levels import HOSTS_DOMINATE, WithinTrials
from app.comparing.pairing import left_out, paired, places
from app.comparing.sides import Place, Side
from app.comparing.verdicts import Verdict, Weighing, forecast, not_comparable, verdict_text, weighed
from app.records import RunRecord
from app.summary import MetricSummary, levels
from app.wording import figure_text, metric_text
from suites.errors import UnitError
from suites.units import convert
from suites.vocab import Metric

__all__ = ["Against", "CompareError", "Comparison", "Row", "Verdict", "compare", "judge", "verdict_text"]


def compare(
    given: Sequence[RunRecord | Sequence[RunRecord]],
    margin: float | None = None,
    *,
    overruled: str = "",
    within: WithinTrials | None = None,
) -> Comparison:
    """Compare runs, or groups of runs, with the first. `margin` is the share of the figure that does not matter; None
    leaves it to the calibrations of the hosts, and to DEFAULT_MARGIN where there are none.

    First the gate: what makes two places measure different things forbids to compare them, unless it is `overruled`
    with a reason, which stands in every verdict. Then a metric is better or worse where the 95 % interval of its
    ratio lies wholly beyond the margin, and shows no difference larger than the margin where it lies wholly within.
    All else is undecided. With fewer than FEWEST_TRIALS trials on a side there is no verdict, however far apart the
    figures lie; the ratio and its interval are shown all the same. `within` are the samples of the trials, for the
    levels of the spread.

    Raises CompareError for fewer than two sides, a run on two of them, or a margin that is no share.
    """
    sides = [Side([each] if isinstance(each, RunRecord) else each) for each in given]
    _check(sides, margin)
    chosen = DEFAULT_MARGIN if margin is None else margin
    table = _Table(sides, margin, overruled.strip(), within or {})
    rows = tuple(table.rows())
    remarks = tuple(dict.fromkeys(table.remarks()))
    notes = dict.fromkeys([*table.left_out(), *remarks, *_caveats(rows)])
    summaries = tuple(side.summary for side in sides)
    return Comparison(summaries, chosen, rows, tuple(notes), remarks, METHOD, overruled.strip())


def _check(sides: Sequence[Side], margin: float | None) -> None:
    if len(sides) < 2:
        raise CompareError("One run alone cannot be compared.", "Name at least two; the first is the baseline.")
    there = [
        (run.summary.id, step.name, host)
        for side in sides
        for run in side.runs
        for step in run.plan.steps
        for host in run.plan.hosts
    ]
    if len(set(there)) < len(there):
        raise CompareError("A run cannot be compared with itself.", "Name each run once.")
    if margin is not None and not 0 <= margin <= 1:
        raise CompareError(f"The margin is {margin:g}.", "Give a share from 0 to 1, such as 0.05 for 5 %.")


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two places that answer to each other, and what the gate says of them."""

    ours: Place
    theirs: Place
    differences: tuple[Difference, ...]
    relation: str
    same_machine: bool
    order: tuple[Caveat, ...]

    @property
    def fatal(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.weight is Weight.FATAL)


@dataclass(frozen=True, slots=True)
class _Open:
    """A ratio before all metrics of its side are judged together."""

    pair: _Pair
    ratio: Ratio
    weighing: Weighing
    caveats: tuple[Caveat, ...]
    centres: tuple[float, float]


class _Table:
    """Builds the rows."""

    def __init__(self, sides: list[Side], margin: float | None, overruled: str, within: WithinTrials) -> None:
        self._sides = sides
        self._margin = margin
        self._overruled = overruled
        self._within = within
        self._pairs = [self._paired(side) for side in sides[1:]]

    def _paired(self, side: Side) -> dict[Place, _Pair]:
        baseline = self._sides[0]
        found = {}
        for ours, theirs in paired(baseline, side).items():
            one, other = side.profile(theirs), baseline.profile(ours)
            found[ours] = _Pair(
                ours,
                theirs,
                differences(one, other),
                relation(one, other),
                same_machine(one, other),
                tuple(of_order(side.moments(theirs), baseline.moments(ours))),
            )
        return found

    def rows(self) -> Iterator[Row]:
        rows = [row for found in self._places() for row in self._rows_of(found)]
        columns = [self._judged([found[number] for _, found in rows]) for number in range(len(self._pairs))]
        for place, (row, _) in enumerate(rows):
            yield replace(row, against=tuple(column[place] for column in columns))

    def _places(self) -> Iterator[list[Place | None]]:
        """Yield each place as every side has it: first the baseline's, then what it has not got."""
        answered = list(dict.fromkeys(place for pairs in self._pairs for place in pairs))
        alone = [place for place in places(self._sides[0]) if not _covered(place, answered)]
        order = [step.name for step in self._sides[0].steps]
        for place in sorted([*answered, *alone], key=lambda place: order.index(place.step.name)):
            found = (pairs.get(place) for pairs in self._pairs)
            yield [place, *(None if pair is None else pair.theirs for pair in found)]
        for number, pairs in enumerate(self._pairs, 1):
            theirs = [pair.theirs for pair in pairs.values()]
            for place in places(self._sides[number]):
                if not _covered(place, theirs):
                    only: list[Place | None] = [None] * len(self._sides)
                    only[number] = place
                    yield only

    def left_out(self) -> Iterator[str]:
        for side in self._sides:
            for run in side.runs:
                yield from left_out(run)
        if self._overruled:
            yield f"Overruled: {self._overruled}"

    def remarks(self) -> Iterator[str]:
        for pairs in self._pairs:
            for pair in pairs.values():
                yield from _remarks(pair)

    def _rows_of(self, found: list[Place | None]) -> Iterator[tuple[Row, list[Against | _Open]]]:
        figures = [{} if place is None else side.figures(place) for place, side in zip(found, self._sides, strict=True)]
        first = next(place for place in found if place is not None)
        for key in dict.fromkeys(key for side in figures for key in side):
            metric = next(side[key].metric for side in figures if key in side)
            sides = tuple(_in_unit(side.get(key), metric) for side in figures)
            against = [self._against(found, sides, number) for number in range(1, len(self._sides))]
            spreads = tuple(levels(side[key], self._within) if key in side else None for side in figures)
            yield Row(first.step.name, first.host, metric, key[1], sides, (), spreads), against

    def _against(
        self, found: list[Place | None], sides: Sequence[MetricSummary | None], number: int
    ) -> Against | _Open:
        ours, theirs = found[0], found[number]
        baseline, other = sides[0], sides[number]
        pair = None if ours is None else self._pairs[number - 1].get(ours)
        if pair is None or theirs is None:
            return _refused(f"{self._called(0 if ours is None else number)} has no such step and host")
        if pair.fatal and not self._overruled:
            return _refused("; ".join(each.text for each in pair.fatal), pair.differences)
        if baseline is None or other is None:
            return _refused(f"{self._called(0 if baseline is None else number)} has no figure of it", pair.differences)
        if other.metric.unit is not baseline.metric.unit:
            return _refused(f"unit {other.metric.unit} against {baseline.metric.unit}", pair.differences)
        published = self._sides[number].published or self._sides[0].published
        if published is not None:
            values = (other.values, baseline.values)
            return against_published(published, baseline.metric, baseline.labels, values, pair.differences)
        return self._open(pair, other, baseline, number)

    def _margin_for(self, pair: _Pair, number: int) -> Margin:
        """Return the margin for a pair of places, and whose it is: the hosts' own where all of them are calibrated."""
        found = (*self._sides[0].calibrations(pair.ours), *self._sides[number].calibrations(pair.theirs))
        return margin_of(self._margin, found)

    def _called(self, number: int) -> str:
        return f"the run {self._sides[number].summary.id}" if number else "the baseline"

    def _open(self, pair: _Pair, other: MetricSummary, baseline: MetricSummary, number: int) -> Against | _Open:
        pooled = len(pair.ours.hosts) > 1 or len(pair.theirs.hosts) > 1
        values, base = (_hosts(side) if pooled else side.values for side in (other, baseline))
        ratio = ratio_of(values, base)
        if isinstance(ratio, str):
            return _unknown(ratio, pair.differences)
        noun = "host" if pooled else "trial"
        margin = self._margin_for(pair, number)
        counts = (len(values), len(base))
        weighing = Weighing(baseline.metric, margin.share, counts, noun, pair.relation, origin=margin.origin)
        spread = _of_hosts if pooled else _of_trials
        centres = (statistics.geometric_mean(values), statistics.geometric_mean(base))
        caveats = (
            *pair.order,
            *_of_place(pair, pooled=pooled),
            *spread(other, baseline),
            *of_centres(baseline.metric, ratio, (other.median, baseline.median), centres, margin.share),
        )
        return _Open(pair, ratio, weighing, caveats, centres)

    def _judged(self, column: Sequence[Against | _Open]) -> list[Against]:
        """Return what may be said of every metric of one side: together, so that chance has no more than one try."""
        p_values = [found.ratio.p for found in column if isinstance(found, _Open) and found.ratio.p is not None]
        corrected = iter(holm(p_values))
        said = []
        for found in column:
            if isinstance(found, Against):
                said.append(found)
                continue
            p = None if found.ratio.p is None else next(corrected)
            said.append(self._said(found, replace(found.weighing, tests=len(p_values), p=p)))
        return said

    def _said(self, found: _Open, weighing: Weighing) -> Against:
        ratio = found.ratio
        verdict, text, reason = weighed(ratio, weighing)
        if found.pair.fatal:
            let_by = f"overruled ({self._overruled}): {'; '.join(each.text for each in found.pair.fatal)}"
            text, reason = f"{text}, {let_by}", f"{reason}; {let_by}"
        return Against(
            verdict,
            "; ".join([reason, *(caveat.text for caveat in found.caveats)]),
            ratio.value,
            ratio.low,
            ratio.high,
            text,
            found.caveats,
            found.pair.differences,
            forecast(ratio, weighing) if verdict is Verdict.UNDECIDED else None,
            weighing.p,
            weighing.margin if weighing.origin else None,
            weighing.origin,
            found.centres,
        )


def _in_unit(side: MetricSummary | None, metric: Metric) -> MetricSummary | None:
    """Return a side in the unit of `metric`; one that measures something else stays as it is."""
    if side is None or side.metric.unit is metric.unit:
        return side
    try:
        values = tuple(convert(value, side.metric.unit, metric.unit) for value in side.values)
    except UnitError:
        return side
    return replace(side, values=values, metric=replace(side.metric, unit=metric.unit))


def _of_trials(other: MetricSummary, baseline: MetricSummary) -> Iterator[Caveat]:
    for side, whose in ((other, "this run"), (baseline, "the baseline")):
        yield from of_spread(side.values, whose, [figure_text(side.metric, value) for value in side.values])


def _of_hosts(other: MetricSummary, baseline: MetricSummary) -> Iterator[Caveat]:
    for side, whose in ((other, "this run"), (baseline, "the baseline")):
        found = levels(side, {})
        if found is not None and found.icc is not None and found.icc > HOSTS_DOMINATE:
            text = f"hosts, not trials, decide what {whose} shows: {found.icc:.0%} of its spread is theirs"
            yield Caveat("hosts-dominate", text)


def _refused(reason: str, gate: tuple[Difference, ...] = ()) -> Against:
    return Against(Verdict.NOT_COMPARABLE, reason, text=not_comparable(reason), differences=gate)


def _unknown(reason: str, gate: tuple[Difference, ...]) -> Against:
    return Against(Verdict.UNDECIDED, reason, text=f"undecided: {reason}", differences=gate)


def _covered(place: Place, others: Iterable[Place]) -> bool:
    """Return whether a place of one host is among others, which may take several hosts together."""
    return any(place.step == other.step and set(place.hosts) <= set(other.hosts) for other in others)


def _hosts(side: MetricSummary) -> tuple[float, ...]:
    """Return one value a host: the geometric mean of its trials, or the mean where one is not above zero."""
    groups = [[side.values[place] for place in found] for found in side.by_host().values()]
    return tuple(statistics.geometric_mean(group) if min(group) > 0 else statistics.fmean(group) for group in groups)


def _of_place(pair: _Pair, *, pooled: bool) -> Iterator[Caveat]:
    if pair.same_machine:
        return
    fewest = min(len(pair.ours.hosts), len(pair.theirs.hosts))
    if not pooled or fewest < FEWEST_HOSTS:
        text = f"two machines of one type differ, too: nothing is said of types before {FEWEST_HOSTS} hosts a side"
        yield Caveat("other-instance", text)


def _caveats(rows: Iterable[Row]) -> Iterator[str]:
    """Yield what weakens verdicts: what holds for a whole place once, the rest with the metric."""
    for row in rows:
        for against in row.against:
            for caveat in against.caveats:
                metric = "" if caveat.id in _OF_PLACE else f", {metric_text(row.metric, row.labels)}"
                yield f"{row.step} on {row.host}{metric}: {caveat.text}"


_OF_PLACE = frozenset({"drift", "other-instance", "reference"})
"""Caveats that hold for every metric of a place."""


def _remarks(pair: _Pair) -> Iterator[str]:
    """Yield what differs between two places and does not forbid to compare them."""
    for difference in pair.differences:
        if difference.weight is Weight.FATAL:
            continue
        about = pair.theirs.host if difference.what in OF_HOST else pair.ours.step.name
        yield f"{about}: {difference.text}{f'. {difference.why}' if difference.what == 'host' else ''}"


def judge(metric: Metric, values: Sequence[float], baseline: Sequence[float], margin: float) -> Against:
    """Return what trials say against those of a baseline that measured the same thing, for this metric alone."""
    ratio = ratio_of(values, baseline)
    if isinstance(ratio, str):
        return _unknown(ratio, ())
    weighing = Weighing(metric, margin, (len(values), len(baseline)), p=ratio.p)
    verdict, text, reason = weighed(ratio, weighing)
    more = forecast(ratio, weighing) if verdict is Verdict.UNDECIDED else None
    return Against(verdict, reason, ratio.value, ratio.low, ratio.high, text, more=more, p=ratio.p)
