"""Ranking by a criterion: highest value, cheapest above a threshold, best per price, or best weighted mean."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.comparison.comparability import Weight, differences
from app.comparison.comparison import CompareError
from app.comparison.joined import excluded_trials
from app.comparison.moments import NO_MOMENTS, Moments
from app.comparison.sides import Side, refuse_duets, refuse_repeated
from app.comparison.verdicts import Level
from app.margins import DEFAULT_MARGIN, Margin
from app.ranking.candidates import (
    Candidate,
    Price,
    Prices,
    RankingCriteria,
    RankingGoal,
    Threshold,
    candidates_of,
    one_currency,
    price_key,
)
from app.ranking.scores import Score, are_paired, ratio_between, separated, tied_groups
from app.records import RunRecord
from suites.verdict import Trust
from suites.vocab import Better, Metric


class ThresholdResult(StrEnum):
    """Whether a threshold is reached: the interval is entirely beyond it, across it, or entirely short of it."""

    YES = "reached"
    UNCHECKED = "not sure"
    NO = "missed"


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A ranked candidate. `group` counts from 1; candidates of one group are tied. 0: not ranked for lack of evidence.

    `value`, `low` and `high` are of the metric, or the ratio to the first candidate for several metrics.
    """

    candidate: Candidate
    group: int
    value: float
    low: float | None
    high: float | None
    n: int
    price: Price | None = None
    per_price: float | None = None
    reached: ThresholdResult | None = None

    @property
    def trust(self) -> Trust | None:
        """The trust in its values; None without a verdict."""
        return None if self.candidate.verdict is None else self.candidate.verdict.trust


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The order with other weights, where it changes: the names, tied ones joined by ``=``."""

    what: str
    order: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates, the best first, and those that are not ranked, with the reason.

    `unranked` are the ones of `left_out` that have a value, but too few for an interval.
    """

    criteria: RankingCriteria
    metric: Metric | None  # None for several
    ranked: tuple[RankedCandidate, ...]
    unranked: tuple[RankedCandidate, ...]
    left_out: tuple[tuple[str, str], ...]
    sensitivity: tuple[Sensitivity, ...]
    notes: tuple[str, ...]
    currency: str = ""
    margin: Margin = Margin(DEFAULT_MARGIN)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return max((ranked.group for ranked in self.ranked), default=0)


def rank(
    selectors: Sequence[str],
    sides: Sequence[Sequence[RunRecord]],
    criteria: RankingCriteria,
    moments: Moments = NO_MOMENTS,
) -> Ranking:
    """Rank the runs of `sides`; `selectors` are their names.

    A run has a candidate for each host; a group of runs is one candidate, whose hosts have equal weight. `moments` are
    those of compare(). Raises
    CompareError if nothing can be ranked, the criteria are incomplete, or a run counts twice or is a duet.
    """
    _check(criteria)
    groups = [Side(runs) for runs in sides]
    refuse_repeated(groups)
    refuse_duets(groups)
    found, left_out = candidates_of(selectors, sides, tuple(criteria.weights), criteria, moments)
    found, few = _replicated(found, criteria)
    left_out += [(one.name, reason) for one, reason in few]
    for gate in (_gated, _priced):
        found, more = gate(found, criteria)
        left_out += more
    if not found and not few:
        raise CompareError(
            "Nothing can be ranked.",
            "; ".join(f"{name}: {reason}" for name, reason in left_out)[:400].rstrip(".") + ".",
        )
    shown = [*found, *(one for one, _ in few)]
    metric = shown[0].metrics[next(iter(criteria.weights))] if len(criteria.weights) == 1 else None
    ranked = _ranked(found, criteria, metric) if found else []
    return Ranking(
        criteria,
        metric,
        tuple(ranked),
        tuple(_unranked(one, shown[0], criteria, metric) for one, _ in few),
        tuple(left_out),
        tuple(_sensitivity(found, criteria)),
        (*_notes(found, ranked, criteria), *_other_steps(sides, shown, criteria), *_excluded(sides)),
        one_currency(one.price for one in ranked if one.price is not None),
        _margin(shown, criteria),
    )


def _check(criteria: RankingCriteria) -> None:
    if not criteria.weights or any(not 0 < weight <= 1000 for weight in criteria.weights.values()):
        raise CompareError("A ranking needs a metric, and weights above zero.", "Set --metric NAME or NAME=WEIGHT.")
    if criteria.goal is RankingGoal.CHEAPEST and criteria.threshold is None:
        raise CompareError("Cheapest needs a threshold.", "Set --at-least or --at-most.")
    if criteria.goal is not RankingGoal.HIGHEST and not criteria.prices:
        raise CompareError("No price is given.", "Set --price HOST=0.34 or --prices FILE.")
    if len(criteria.weights) > 1 and (criteria.threshold or criteria.limit):
        raise CompareError("A threshold needs a single metric.", "Set one metric, or remove the threshold.")


def _replicated(
    found: list[Candidate], criteria: RankingCriteria
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Return the candidates with enough values of the highest level that one of them has; the others with the reason.

    The interval of the trials of one session leaves out what differs between sessions, and that of the sessions of one
    host what differs between hosts: beside candidates of several it is too narrow.
    """
    scores = [one.score(criteria.weights) for one in found]
    order = list(Level)
    highest = max((order.index(score.level) for score in scores if not score.shortage), default=0)
    enough, few = [], []
    for one, score in zip(found, scores, strict=True):
        lower = order.index(score.level) < highest
        reason = score.shortage or (f"one {order[highest]}, beside candidates of several" if lower else "")
        if reason:
            few.append((one, reason))
        else:
            enough.append(one)
    return enough, few


def _gated(found: list[Candidate], criteria: RankingCriteria) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return the candidates comparable with the first, and the others with the reason."""
    comparable, excluded = found[:1], []
    for one in found[1:]:
        fatal = {
            each.text
            for metric in criteria.weights  # step names may differ
            for each in differences(one.profiles[one.steps[metric]], found[0].profiles[found[0].steps[metric]])
            if each.weight is Weight.FATAL
        }
        if fatal and not criteria.overruled:
            excluded.append((one.name, f"not comparable: {'; '.join(sorted(fatal))}"))
        else:
            comparable.append(one)
    return comparable, excluded


def _priced(found: list[Candidate], criteria: RankingCriteria) -> tuple[list[Candidate], list[tuple[str, str]]]:
    if criteria.goal is RankingGoal.HIGHEST:
        return found, []
    priced = [one for one in found if price_of(one, criteria.prices) is not None]
    return priced, [(one.name, _missing_price(one, criteria.prices)) for one in found if one not in priced]


def price_of(candidate: Candidate, prices: Prices) -> Price | None:
    """Return the price of a candidate by its name, host or instance type; of a group, the mean of its hosts."""
    for name in (candidate.name, candidate.selector):
        if name in prices:
            return prices[name]
    found = _prices_of_hosts(candidate, prices)
    known = [price for price in found if price is not None]
    if not known or len(known) < len(found):
        return None
    currency = one_currency(known)
    return Price(sum(price.amount for price in known) / len(known), currency)


def _prices_of_hosts(candidate: Candidate, prices: Prices) -> list[Price | None]:
    return [
        prices.get(price_key(candidate.selector, host)) or prices.get(host) or prices.get(candidate.types.get(host, ""))
        for host in candidate.hosts
    ]


def _missing_price(candidate: Candidate, prices: Prices) -> str:
    """Return why a candidate has no price."""
    found = _prices_of_hosts(candidate, prices)
    missing = found.count(None)
    return "no price" if missing == len(found) else f"no price of {missing} of {len(found)} hosts"


def _ranked(found: Sequence[Candidate], criteria: RankingCriteria, metric: Metric | None) -> list[RankedCandidate]:
    prices = [price_of(one, criteria.prices) for one in found]
    one_currency(price for price in prices if price is not None)
    scores = _scores(found, criteria)
    groups = tied_groups(scores, _margin(found, criteria).share)
    rows = []
    for number, group in enumerate(groups, 1):
        for index in group:
            value, low, high = _figure(found[index], found[0], criteria, metric)
            price = prices[index]
            per_price = None
            if price is not None:
                per_price = value / price.amount if metric is None or metric.better is Better.HIGHER else None
            reached = None
            if criteria.threshold is not None and metric is not None:
                reached = _reached(criteria.threshold, criteria.threshold.edge(metric), low, high)
            n = scores[index].n
            rows.append(RankedCandidate(found[index], number, value, low, high, n, price, per_price, reached))
    if criteria.threshold is not None or criteria.goal is RankingGoal.CHEAPEST:
        return _by_threshold(rows, cheapest=criteria.goal is RankingGoal.CHEAPEST)
    return rows


def _scores(found: Sequence[Candidate], criteria: RankingCriteria) -> list[Score]:
    """Return the score of each candidate, divided by its price for PER_PRICE."""
    scores = [one.score(criteria.weights) for one in found]
    if criteria.goal is not RankingGoal.PER_PRICE:
        return scores
    prices = [price_of(one, criteria.prices) for one in found]
    return [_per_price(score, price) for score, price in zip(scores, prices, strict=True)]


def _margin(found: Sequence[Candidate], criteria: RankingCriteria) -> Margin:
    """Return the margin of the candidates; of several metrics the widest, for one score of all."""
    return criteria.margins.widest(found[0].metrics[name] for name in criteria.weights)


def _per_price(score: Score, price: Price | None) -> Score:
    """Return a score divided by the price, a constant without variance."""
    if price is None:
        return score
    first, *rest = score.parts
    return replace(score, parts=(tuple(value - math.log(price.amount) for value in first), *rest))


def _unranked(
    one: Candidate, reference: Candidate, criteria: RankingCriteria, metric: Metric | None
) -> RankedCandidate:
    value, _, _ = _figure(one, reference, criteria, metric)
    return RankedCandidate(one, 0, value, None, None, one.score(criteria.weights).n)


def _figure(
    one: Candidate, reference: Candidate, criteria: RankingCriteria, metric: Metric | None
) -> tuple[float, float | None, float | None]:
    """Return the value of a candidate with its interval; for several metrics the ratio to the `reference`."""
    if metric is not None:
        return one.centre(next(iter(criteria.weights)))  # the figure of a sweep has another name
    if one is reference:
        return 1.0, None, None
    ratio = ratio_between(one.score(criteria.weights), reference.score(criteria.weights))
    return ratio.value, ratio.low, ratio.high


def _reached(threshold: Threshold, edge: float, low: float | None, high: float | None) -> ThresholdResult:
    if low is None or high is None:
        return ThresholdResult.UNCHECKED
    beyond, short = (low >= edge, high < edge) if threshold.at_least else (high <= edge, low > edge)
    return ThresholdResult.YES if beyond else ThresholdResult.NO if short else ThresholdResult.UNCHECKED


def _by_threshold(rows: list[RankedCandidate], *, cheapest: bool) -> list[RankedCandidate]:
    """Sort by reached, not sure, missed; with `cheapest` by price within these."""
    order = tuple(ThresholdResult)

    def key(row: RankedCandidate) -> tuple[float, ...]:
        cost = row.price.amount if cheapest and row.price is not None else 0.0
        return (order.index(row.reached or ThresholdResult.UNCHECKED), cost, row.group)

    found: list[RankedCandidate] = []
    number, before = 0, None
    for row in sorted(rows, key=key):
        mark = key(row)[:2] if cheapest else key(row)
        number += mark != before
        before = mark
        found.append(replace(row, group=number))
    return found


def _sensitivity(found: Sequence[Candidate], criteria: RankingCriteria) -> Iterator[Sensitivity]:
    """Yield each change of the order without a metric, and with its weight x 0.5 or x 1.5."""
    if not found or len(criteria.weights) < 2 or criteria.goal is RankingGoal.CHEAPEST:
        return
    first = _order(found, criteria)
    for name, weight in criteria.weights.items():
        less = {other: value for other, value in criteria.weights.items() if other != name}
        for what, weights in (
            (f"without {name}", less),
            (f"{name} x 0.5", {**criteria.weights, name: weight / 2}),
            (f"{name} x 1.5", {**criteria.weights, name: weight * 1.5}),
        ):
            order = _order(found, replace(criteria, weights=weights))
            if order != first:
                yield Sensitivity(what, order)


def _order(found: Sequence[Candidate], criteria: RankingCriteria) -> str:
    groups = tied_groups(_scores(found, criteria), _margin(found, criteria).share)
    return " > ".join(" = ".join(sorted(found[index].name for index in group)) for group in groups)


def _excluded(sides: Sequence[Sequence[RunRecord]]) -> Iterator[str]:
    """Yield what does not count of each run; an invalid run that is no part of a group is itself not ranked."""
    for runs in sides:
        for run in runs:
            yield from (f"{line}." for line in excluded_trials(run, invalid=len(runs) > 1))


def _other_steps(
    sides: Sequence[Sequence[RunRecord]], found: Sequence[Candidate], criteria: RankingCriteria
) -> Iterator[str]:
    """Yield a note on the steps that have a metric and are not ranked, because each candidate has its first step."""
    ranked = dict.fromkeys(step for one in found for step in one.steps.values())
    measured = dict.fromkeys(
        step.name
        for run in itertools.chain(*sides)
        for step in run.plan.steps
        for trial in run.trials_of(step.name)
        if any(one.metric.name in criteria.weights for one in trial.figures)
    )
    if not criteria.step and (others := [step for step in measured if step not in ranked]):
        yield f"Ranked by {', '.join(ranked)}; also measured by {', '.join(others)}: --step selects one."


_ONE_EACH = {
    Level.TRIAL: "In one session on one host each: ranks can differ in other sessions, and for other hosts of a type.",
    Level.SESSION: "On one host each: ranks can differ for other hosts of a type.",
}
"""What a ranking does not claim, by the level of its values."""


_PAIRED = {Level.TRIAL: "round", Level.SESSION: "session", Level.HOST: "host"}
"""What the values of a pair share, by their level."""


def _notes(found: Sequence[Candidate], ranked: Sequence[RankedCandidate], criteria: RankingCriteria) -> Iterator[str]:
    if len(found) > 1 and (own := _ONE_EACH.get(found[0].level)):
        yield own
    pairs = [both for both in itertools.combinations(_scores(found, criteria), 2) if are_paired(*both)]
    if pairs:
        alone = any(
            set(ours) ^ set(theirs) for one, other in pairs for ours, theirs in zip(one.units, other.units, strict=True)
        )
        rest = "; those without a partner are left out of the pairs" if alone else ""
        yield f"Values of the same {_PAIRED[found[0].level]} are compared in pairs{rest}."
    if found and criteria.goal is not RankingGoal.CHEAPEST:
        yield from _by_figure_only(found, ranked, criteria)
    for row in ranked:
        if row.candidate.verdict is not None and row.trust is not None and row.trust.in_doubt:
            yield f"{row.candidate.name} is {row.candidate.verdict.text}."
    if criteria.overruled:
        yield f"Overruled: {criteria.overruled}"
    if criteria.limit is not None:
        yield f"Value: for each trial, the best point with {criteria.limit.text}."
    if len(criteria.weights) > 1 and found:
        yield f"Weighted geometric mean of the ratios to {found[0].name}."


def _by_figure_only(
    found: Sequence[Candidate], ranked: Sequence[RankedCandidate], criteria: RankingCriteria
) -> Iterator[str]:
    """Yield candidates ranked above others from which they are not separated: a rank is decided by its leader."""
    better = separated(_scores(found, criteria), _margin(found, criteria).share)
    for row in ranked:
        beneath = [
            other.candidate.name
            for other in ranked
            if other.group > row.group and other.reached == row.reached
            if not better[found.index(row.candidate)][found.index(other.candidate)]
        ]
        if beneath:
            names = ", ".join(beneath)
            yield f"{row.candidate.name} is above {names} by its value only: not significantly different."
