"""Which is best, as the user defines it: highest, cheapest above a threshold, most for the money, best on the whole."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from app.calibration.margins import Margin, margin_of
from app.comparing.compare import CompareError
from app.comparing.gate import Weight, differences
from app.comparing.intervals import FEWEST_HOSTS, FEWEST_TRIALS
from app.ranking.candidates import Candidate, Limit, candidates_of
from app.ranking.prices import Price, Prices, one_currency
from app.ranking.scores import MarginOf, Score, rank_intervals, ratio_between, separated, tied_groups
from app.records import RunRecord
from suites.errors import UnitError
from suites.units import Unit, convert
from suites.vocab import Better, Labels, Metric


class Goal(StrEnum):
    """What best means. CHEAPEST asks for a threshold; PER_PRICE is work for the money."""

    HIGHEST = "highest"
    CHEAPEST = "cheapest"
    PER_PRICE = "per price"


class Reached(StrEnum):
    """Whether a threshold is reached: the whole interval beyond it, the whole interval short of it, or neither."""

    YES = "reached"
    NO = "missed"
    UNSURE = "not sure"


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a figure has to reach, in `unit`, or in the metric's own where none is given."""

    value: float
    at_least: bool = True
    unit: Unit | None = None

    def edge(self, metric: Metric) -> float:
        """Return the threshold in the unit of `metric`."""
        if self.unit is None:
            return self.value
        try:
            return convert(self.value, self.unit, metric.unit)
        except UnitError as error:
            raise CompareError(f"The threshold cannot be read: {error.message}", error.remedy) from error


@dataclass(frozen=True, slots=True)
class Question:
    """What best means. `weights` are those of the metrics by name; one metric alone weighs 1.

    `limit` is what has to hold at the same point of a sweep, `labels` which figure of the metric; `baseline` is the
    number of the word that scores are ratios to, where there are several metrics.
    """

    weights: Mapping[str, float]
    goal: Goal = Goal.HIGHEST
    threshold: Threshold | None = None
    limit: Limit | None = None
    labels: Labels | None = None
    step: str = ""
    prices: Prices = field(default_factory=dict)
    margin: float | None = None  # as compare() takes it: None leaves it to the calibrations of the hosts
    overruled: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. `group` counts from 1; candidates of one group are not told apart.

    `value`, `low` and `high` are those of the metric; of several metrics the ratio to the baseline. `ranks` is
    between which ranks it lies when its trials are drawn again.
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
    reached: Reached | None = None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How the order would be if something were weighed otherwise: the names, those not told apart joined by ``=``."""

    what: str
    order: str
    same: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates, the best first, and those that have no place, with the reason."""

    question: Question
    metric: Metric | None  # None where several are weighed
    ranked: tuple[Ranked, ...]
    left_out: tuple[tuple[str, str], ...]
    sensitivity: tuple[Sensitivity, ...]
    notes: tuple[str, ...]
    currency: str = ""
    margins: tuple[Margin, ...] = ()  # those by which pairs were held against each other, each once

    @property
    def margin(self) -> float:
        """The widest margin by which two were held against each other."""
        return max(margin.share for margin in self.margins)

    @property
    def groups(self) -> int:
        """How many groups can be told apart."""
        return max((ranked.group for ranked in self.ranked), default=0)


def rank(words: Sequence[str], sides: Sequence[Sequence[RunRecord]], question: Question) -> Ranking:
    """Rank what `sides` hold; `words` are how the user called them.

    One run gives a candidate for each of its hosts; a group of runs is one candidate, whose hosts weigh alike.
    Raises CompareError where nothing can be ranked, or the question lacks something.
    """
    _check(question)
    found, left_out = candidates_of(words, sides, tuple(question.weights), question)
    found, more = _gated(found, question)
    left_out += more
    found, more = _priced(found, question)
    left_out += more
    if not found:
        raise CompareError(
            "Nothing can be ranked.",
            "; ".join(f"{name}: {reason}" for name, reason in left_out)[:400].rstrip(".") + ".",
        )
    metric = found[0].metrics[next(iter(question.weights))] if len(question.weights) == 1 else None
    ranked = _ranked(found, question, metric)
    return Ranking(
        question,
        metric,
        tuple(ranked),
        tuple(left_out),
        tuple(_sensitivity(found, question)),
        tuple(_notes(found, ranked, question)),
        one_currency(one.price for one in ranked if one.price is not None),
        _margins(found, question),
    )


def _check(question: Question) -> None:
    if not question.weights or any(not 0 < weight <= 1000 for weight in question.weights.values()):
        raise CompareError("A ranking needs a metric, and weights above zero.", "Give --metric NAME or NAME=WEIGHT.")
    if question.goal is Goal.CHEAPEST and question.threshold is None:
        raise CompareError("Cheapest needs a threshold.", "Say what has to be reached with --at-least or --at-most.")
    if question.goal is not Goal.HIGHEST and not question.prices:
        raise CompareError("There is no price.", "Give --price HOST=0.34 or --prices FILE.")
    if len(question.weights) > 1 and (question.threshold or question.limit):
        raise CompareError("A threshold is one of one metric.", "Name one metric, or leave the threshold out.")


def _gated(found: list[Candidate], question: Question) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return those that measured what the first did; of the others, why not."""
    kept, left = found[:1], []
    for one in found[1:]:
        fatal = {
            each.text
            for metric in question.weights  # whatever their steps are called
            for each in differences(one.profiles[one.steps[metric]], found[0].profiles[found[0].steps[metric]])
            if each.weight is Weight.FATAL
        }
        if fatal and not question.overruled:
            left.append((one.name, f"not comparable: {'; '.join(sorted(fatal))}"))
        else:
            kept.append(one)
    return kept, left


def _priced(found: list[Candidate], question: Question) -> tuple[list[Candidate], list[tuple[str, str]]]:
    if question.goal is Goal.HIGHEST:
        return found, []
    without = [(one.name, "its price is not given") for one in found if price_of(one, question.prices) is None]
    return [one for one in found if price_of(one, question.prices) is not None], without


def price_of(candidate: Candidate, prices: Prices) -> Price | None:
    """Return the price of a candidate: by its name, its host, or its instance type; of a group that of all hosts."""
    for name in (candidate.name, candidate.word):
        if name in prices:
            return prices[name]
    found = [prices.get(host) or prices.get(candidate.types.get(host, "")) for host in candidate.hosts]
    known = [price for price in found if price is not None]
    if not known or len(known) < len(found):
        return None
    currency = one_currency(known)
    return Price(sum(price.amount for price in known) / len(known), currency)


def _ranked(found: Sequence[Candidate], question: Question, metric: Metric | None) -> list[Ranked]:
    prices = [price_of(one, question.prices) for one in found]
    one_currency(price for price in prices if price is not None)
    scores = _scores(found, question)
    groups = tied_groups(scores, _margin_of(found, question))
    ranks = rank_intervals(scores)
    rows = []
    for number, group in enumerate(groups, 1):
        for place in group:
            value, low, high = _figure(found, place, question, metric)
            price = prices[place]
            per_price = None
            if price is not None:
                per_price = value / price.amount if metric is None or metric.better is Better.HIGHER else None
            reached = None
            if question.threshold is not None and metric is not None:
                reached = _reached(question.threshold, question.threshold.edge(metric), low, high)
            n = scores[place].n
            rows.append(Ranked(found[place], number, value, low, high, n, ranks[place], price, per_price, reached))
    if question.threshold is not None or question.goal is Goal.CHEAPEST:
        return _by_threshold(rows, cheapest=question.goal is Goal.CHEAPEST)
    return rows


def _scores(found: Sequence[Candidate], question: Question) -> list[Score]:
    """Return what is ranked: the score of each, by its price where money counts."""
    scores = [one.score(question.weights) for one in found]
    if question.goal is not Goal.PER_PRICE:
        return scores
    prices = [price_of(one, question.prices) for one in found]
    return [_for_money(score, price) for score, price in zip(scores, prices, strict=True)]


def _between(one: Candidate, other: Candidate, question: Question) -> Margin:
    """Return the margin by which two candidates are held against each other, by the rule of compare().

    Of several metrics it is the widest: their weighted mean moves by no more.
    """
    return margin_of(question.margin, [*one.calibrated(question.weights), *other.calibrated(question.weights)])


def _margin_of(found: Sequence[Candidate], question: Question) -> MarginOf:
    return lambda one, other: _between(found[one], found[other], question).share


def _margins(found: Sequence[Candidate], question: Question) -> tuple[Margin, ...]:
    """Return the margins by which pairs are held against each other, each once, the narrowest first."""
    pairs = itertools.combinations(found, 2) if len(found) > 1 else [(found[0], found[0])]
    margins = dict.fromkeys(_between(one, other, question) for one, other in pairs)
    return tuple(sorted(margins, key=lambda margin: margin.share))


def _for_money(score: Score, price: Price | None) -> Score:
    """Return a score by the price, which shifts it and does not spread."""
    if price is None:
        return score
    first, *rest = score.parts
    return replace(score, parts=(tuple(value - math.log(price.amount) for value in first), *rest))


def _figure(
    found: Sequence[Candidate], place: int, question: Question, metric: Metric | None
) -> tuple[float, float | None, float | None]:
    """Return the figure of a candidate with its interval: of one metric its own, of several the ratio to the first."""
    one = found[place]
    if metric is None:
        ratio = ratio_between(one.score(question.weights), found[0].score(question.weights))
        return (1.0, None, None) if place == 0 else (ratio.value, ratio.low, ratio.high)
    return one.centre(next(iter(question.weights)))


def _reached(threshold: Threshold, edge: float, low: float | None, high: float | None) -> Reached:
    if low is None or high is None:
        return Reached.UNSURE
    beyond, short = (low >= edge, high < edge) if threshold.at_least else (high <= edge, low > edge)
    return Reached.YES if beyond else Reached.NO if short else Reached.UNSURE


def _by_threshold(rows: list[Ranked], *, cheapest: bool) -> list[Ranked]:
    """Return what reaches the threshold first, then what may, then what does not; the cheapest first if asked."""
    order = tuple(Reached)

    def key(row: Ranked) -> tuple[float, ...]:
        cost = row.price.amount if cheapest and row.price is not None else 0.0
        return (order.index(row.reached or Reached.UNSURE), cost, row.group)

    found: list[Ranked] = []
    number, before = 0, None
    for row in sorted(rows, key=key):
        mark = key(row)[:2] if cheapest else key(row)
        number += mark != before
        before = mark
        found.append(replace(row, group=number))
    return found


def _sensitivity(found: Sequence[Candidate], question: Question) -> Iterator[Sensitivity]:
    """Yield the order without each metric, and with each weighed half and half as much again."""
    if len(question.weights) < 2 or question.goal is Goal.CHEAPEST:
        return
    first = _order(found, question)
    for name, weight in question.weights.items():
        less = {other: value for other, value in question.weights.items() if other != name}
        for what, weights in (
            (f"without {name}", less),
            (f"{name} weighed half", {**question.weights, name: weight / 2}),
            (f"{name} weighed 1.5 times", {**question.weights, name: weight * 1.5}),
        ):
            order = _order(found, replace(question, weights=weights))
            yield Sensitivity(what, order, order == first)


def _order(found: Sequence[Candidate], question: Question) -> str:
    scores = [one.score(question.weights) for one in found]
    if question.goal is Goal.PER_PRICE:
        scores = [_for_money(score, price_of(one, question.prices)) for score, one in zip(scores, found, strict=True)]
    groups = tied_groups(scores, _margin_of(found, question))
    return " > ".join(" = ".join(sorted(found[place].name for place in group)) for group in groups)


def _notes(found: Sequence[Candidate], ranked: Sequence[Ranked], question: Question) -> Iterator[str]:
    fewest = min((row.n for row in ranked if len(row.candidate.hosts) < 2), default=FEWEST_TRIALS)
    if fewest < FEWEST_TRIALS and len(ranked) > 1:
        yield f"Who has fewer than {FEWEST_TRIALS} trials is told apart from nobody."
    if any(len(one.hosts) < FEWEST_HOSTS for one in found) and len(found) > 1:
        yield f"It ranks these machines; of their types nothing is said before {FEWEST_HOSTS} hosts of each."
    if question.goal is not Goal.CHEAPEST:
        yield from _by_figure_alone(found, ranked, question)
    if question.overruled:
        yield f"Overruled: {question.overruled}"
    if question.limit is not None:
        yield f"Of each trial the best point at which {question.limit.text} holds."
    if len(question.weights) > 1:
        yield f"Weighted geometric mean of the ratios to {found[0].name}."


def _by_figure_alone(found: Sequence[Candidate], ranked: Sequence[Ranked], question: Question) -> Iterator[str]:
    """Yield who stands in a later place than somebody who is not shown to be better: a place is its leader's."""
    better = separated(_scores(found, question), _margin_of(found, question))
    for row in ranked:
        beneath = [
            other.candidate.name
            for other in ranked
            if other.group > row.group and other.reached == row.reached
            if not better[found.index(row.candidate)][found.index(other.candidate)]
        ]
        if beneath:
            names = ", ".join(beneath)
            yield f"{row.candidate.name} stands before {names} by its figure alone: nothing tells them apart."
