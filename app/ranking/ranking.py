"""Ranking by a criterion: highest value, cheapest above a threshold, best per price, or best weighted mean."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.comparison.comparability import Weight, differences
from app.comparison.comparison import CompareError
from app.comparison.estimates import FEWEST_HOSTS, FEWEST_TRIALS
from app.comparison.sides import excluded_trials
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
)
from app.ranking.scores import Score, rank_intervals, ratio_between, separated, tied_groups
from app.records import RunRecord
from suites.verdict import Trust
from suites.vocab import Better, Metric


class ThresholdResult(StrEnum):
    """Whether a threshold is reached: the interval is entirely beyond it, entirely short of it, or across."""

    YES = "reached"
    NO = "missed"
    UNCHECKED = "not sure"


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A ranked candidate. `group` counts from 1; candidates of one group are tied.

    `value`, `low` and `high` are of the metric, or the ratio to the first candidate for several metrics. `ranks` is
    the bootstrap interval of its rank.
    """

    candidate: Candidate
    group: int
    value: float
    low: float | None
    high: float | None
    n: int
    ranks: tuple[int, int]
    price: Price | None = None
    per_price: float | None = None
    reached: ThresholdResult | None = None

    @property
    def trust(self) -> Trust | None:
        """The trust in its values; None without a verdict."""
        return None if self.candidate.verdict is None else self.candidate.verdict.trust


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The order with other weights: the names, tied ones joined by ``=``."""

    what: str
    order: str
    same: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates, the best first, and those that are not ranked, with the reason."""

    criteria: RankingCriteria
    metric: Metric | None  # None for several
    ranked: tuple[RankedCandidate, ...]
    left_out: tuple[tuple[str, str], ...]
    sensitivity: tuple[Sensitivity, ...]
    notes: tuple[str, ...]
    currency: str = ""
    margin: Margin = Margin(DEFAULT_MARGIN)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return max((ranked.group for ranked in self.ranked), default=0)


def rank(selectors: Sequence[str], sides: Sequence[Sequence[RunRecord]], criteria: RankingCriteria) -> Ranking:
    """Rank the runs of `sides`; `selectors` are their names.

    A run has a candidate for each host; a group of runs is one candidate, whose hosts have equal weight. Raises
    CompareError if nothing can be ranked, or the criteria are incomplete.
    """
    _check(criteria)
    found, left_out = candidates_of(selectors, sides, tuple(criteria.weights), criteria)
    found, more = _gated(found, criteria)
    left_out += more
    found, more = _priced(found, criteria)
    left_out += more
    if not found:
        raise CompareError(
            "Nothing can be ranked.",
            "; ".join(f"{name}: {reason}" for name, reason in left_out)[:400].rstrip(".") + ".",
        )
    metric = found[0].metrics[next(iter(criteria.weights))] if len(criteria.weights) == 1 else None
    ranked = _ranked(found, criteria, metric)
    return Ranking(
        criteria,
        metric,
        tuple(ranked),
        tuple(left_out),
        tuple(_sensitivity(found, criteria)),
        (*_notes(found, ranked, criteria), *_other_steps(sides, found, criteria), *_excluded(sides)),
        one_currency(one.price for one in ranked if one.price is not None),
        _margin(found, criteria),
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
    without = [(one.name, "no price") for one in found if price_of(one, criteria.prices) is None]
    return [one for one in found if price_of(one, criteria.prices) is not None], without


def price_of(candidate: Candidate, prices: Prices) -> Price | None:
    """Return the price of a candidate by its name, host or instance type; of a group, the mean of its hosts."""
    for name in (candidate.name, candidate.selector):
        if name in prices:
            return prices[name]
    found = [prices.get(host) or prices.get(candidate.types.get(host, "")) for host in candidate.hosts]
    known = [price for price in found if price is not None]
    if not known or len(known) < len(found):
        return None
    currency = one_currency(known)
    return Price(sum(price.amount for price in known) / len(known), currency)


def _ranked(found: Sequence[Candidate], criteria: RankingCriteria, metric: Metric | None) -> list[RankedCandidate]:
    prices = [price_of(one, criteria.prices) for one in found]
    one_currency(price for price in prices if price is not None)
    scores = _scores(found, criteria)
    groups = tied_groups(scores, _margin(found, criteria).share)
    ranks = rank_intervals(scores)
    rows = []
    for number, group in enumerate(groups, 1):
        for index in group:
            value, low, high = _figure(found, index, criteria, metric)
            price = prices[index]
            per_price = None
            if price is not None:
                per_price = value / price.amount if metric is None or metric.better is Better.HIGHER else None
            reached = None
            if criteria.threshold is not None and metric is not None:
                reached = _reached(criteria.threshold, criteria.threshold.edge(metric), low, high)
            n = scores[index].n
            rows.append(
                RankedCandidate(found[index], number, value, low, high, n, ranks[index], price, per_price, reached)
            )
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


def _figure(
    found: Sequence[Candidate], index: int, criteria: RankingCriteria, metric: Metric | None
) -> tuple[float, float | None, float | None]:
    """Return the value of a candidate with its interval; for several metrics the ratio to the first candidate."""
    one = found[index]
    if metric is None:
        ratio = ratio_between(one.score(criteria.weights), found[0].score(criteria.weights))
        return (1.0, None, None) if index == 0 else (ratio.value, ratio.low, ratio.high)
    return one.centre(next(iter(criteria.weights)))


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
    """Yield the order without each metric, and with each weight x 0.5 and x 1.5."""
    if len(criteria.weights) < 2 or criteria.goal is RankingGoal.CHEAPEST:
        return
    first = _order(found, criteria)
    for name, weight in criteria.weights.items():
        less = {other: value for other, value in criteria.weights.items() if other != name}
        for what, weights in (
            (f"without {name}", less),
            (f"{name} weighed half", {**criteria.weights, name: weight / 2}),
            (f"{name} weighed 1.5 times", {**criteria.weights, name: weight * 1.5}),
        ):
            order = _order(found, replace(criteria, weights=weights))
            yield Sensitivity(what, order, order == first)


def _order(found: Sequence[Candidate], criteria: RankingCriteria) -> str:
    scores = [one.score(criteria.weights) for one in found]
    if criteria.goal is RankingGoal.PER_PRICE:
        scores = [_per_price(score, price_of(one, criteria.prices)) for score, one in zip(scores, found, strict=True)]
    groups = tied_groups(scores, _margin(found, criteria).share)
    return " > ".join(" = ".join(sorted(found[index].name for index in group)) for group in groups)


def _excluded(sides: Sequence[Sequence[RunRecord]]) -> Iterator[str]:
    """Yield what does not count of each group of runs."""
    for run in (run for runs in sides if len(runs) > 1 for run in runs):
        yield from (f"{line}." for line in excluded_trials(run))


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


def _notes(found: Sequence[Candidate], ranked: Sequence[RankedCandidate], criteria: RankingCriteria) -> Iterator[str]:
    fewest = min((row.n for row in ranked if len(row.candidate.hosts) < 2), default=FEWEST_TRIALS)
    if fewest < FEWEST_TRIALS and len(ranked) > 1:
        yield f"Fewer than {FEWEST_TRIALS} trials: not separated from any other."
    if any(len(one.hosts) < FEWEST_HOSTS for one in found) and len(found) > 1:
        yield f"The ranking is of these machines; ranking their types needs {FEWEST_HOSTS} hosts of each."
    if criteria.goal is not RankingGoal.CHEAPEST:
        yield from _by_figure_only(found, ranked, criteria)
    for row in ranked:
        if row.candidate.verdict is not None and row.trust in {Trust.DOUBTFUL, Trust.INVALID}:
            yield f"{row.candidate.name} is {row.candidate.verdict.text}."
    if criteria.overruled:
        yield f"Overruled: {criteria.overruled}"
    if criteria.limit is not None:
        yield f"Value: for each trial, the best point with {criteria.limit.text}."
    if len(criteria.weights) > 1:
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
