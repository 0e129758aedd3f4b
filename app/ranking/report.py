"""A ranking as a table, as CSV, and as the public JSON of “best”."""

from collections.abc import Iterator
from typing import Annotated, TypedDict

from app.export import csv_text
from app.json_converter import Json, publish, published
from app.ranking.candidates import RankingGoal
from app.ranking.ranking import RankedCandidate, Ranking
from suites.quantities import direction_text, ends_text, exact_share_text, exact_text, figure_text, range_text
from suites.verdict import trust_mark
from suites.vocab import Better, Metric

HEAD = (
    "Rank", "Candidate", "Value", "95 % interval", "n", "Price", "Per price", "Threshold", "Verdict",
)  # fmt: skip

RIGHT_ALIGNED = (2, 4)


def ranking_rows(ranking: Ranking) -> list[list[str]]:
    """Return a line for each candidate with a value; tied ones have the same rank, those not ranked a dash."""
    return [_row(ranking, one) for one in (*ranking.ranked, *ranking.unranked)]


def shown_columns(ranking: Ranking) -> list[int]:
    """Return the indices of the columns, without empty ones of prices, thresholds and verdicts."""
    rows = ranking_rows(ranking)
    return [number for number in range(len(HEAD)) if number < 5 or any(row[number] for row in rows)]


def rank_text(ranking: Ranking, group: int) -> str:
    """Return the rank of a group: ``1``, or ``2–4`` for three tied ones; a dash for 0."""
    if not group:
        return "–"
    before = sum(ranked.group < group for ranked in ranking.ranked)
    own = sum(ranked.group == group for ranked in ranking.ranked)
    return str(before + 1) if own == 1 else f"{before + 1}–{before + own}"


def _row(ranking: Ranking, ranked: RankedCandidate) -> list[str]:
    per_price = ""
    if ranked.per_price is not None and ranking.metric is not None:
        unit = f"1 {ranking.currency}".strip()
        per_price = f"{figure_text(ranking.metric, ranked.per_price)} for {unit} an hour"
    return [
        rank_text(ranking, ranked.group),
        ranked.candidate.name,
        figure(ranking.metric, ranked.value),
        _interval(ranking.metric, ranked),
        str(ranked.n),
        "" if ranked.price is None else ranked.price.text,
        per_price,
        "" if ranked.reached is None else ranked.reached.value,
        trust_mark(ranked.trust),
    ]


def figure(metric: Metric | None, value: float) -> str:
    """Return the formatted value, or the ratio for several metrics."""
    return f"{value:.3f}x" if metric is None else figure_text(metric, value)


def _interval(metric: Metric | None, ranked: RankedCandidate) -> str:
    if ranked.low is None or ranked.high is None:
        return ""
    if metric is None:
        return ends_text(f"{ranked.low:.3f}", f"{ranked.high:.3f}")
    return range_text(metric, ranked.low, ranked.high, (ranked.high - ranked.low) / 2)


def closing_lines(ranking: Ranking) -> list[str]:
    """Return the lines below the table: exclusions, sensitivity, notes, method."""
    lines = [f"{name} is not ranked: {reason}." for name, reason in ranking.left_out]
    orders: dict[str, list[str]] = {}
    for one in ranking.sensitivity:
        orders.setdefault(one.order, []).append(one.what)
    lines += [f"Order {', or '.join(whats)}: {order}." for order, whats in orders.items()]
    lines += ranking.notes
    if ranking.criteria.goal is not RankingGoal.CHEAPEST and len(ranking.ranked) > 1:
        lines += _rank_line(ranking)
    return lines


def _rank_line(ranking: Ranking) -> Iterator[str]:
    """Yield the sentence on what one rank, or if none is shared, what different ranks mean."""
    ranks, results = {one.group for one in ranking.ranked}, {one.reached for one in ranking.ranked}
    if len(ranks) < len(ranking.ranked):
        what = "Candidates of one rank are tied"
    elif len(results) == len(ranking.ranked):  # the threshold alone separates them
        return
    elif len(results) > 1:
        what = "Within one result of the threshold, each rank is separate"
    else:
        what = "Each rank is separate"
    of = "one metric; a comparison corrects for all its metrics" if ranking.metric is not None else "one score"
    basis = f"95 % intervals of the ratios, Holm's correction for all pairs of {of}"
    yield f"{what} at a margin of {margin_text(ranking)} ({basis})."


def margin_text(ranking: Ranking) -> str:
    """Return the margin with its origin: ``3 %, yours``."""
    margin = ranking.margin
    return f"{exact_share_text(margin.share)}{f', {margin.origin}' if margin.origin else ''}"


def title(ranking: Ranking) -> str:
    """Return goal, metrics and threshold in a line."""
    criteria = ranking.criteria
    what = ", ".join(name if weight == 1 else f"{name} x {weight:g}" for name, weight in criteria.weights.items())
    what = what if ranking.metric is None else ranking.metric.title
    way = "" if ranking.metric is None else f", {direction_text(ranking.metric.better)}"
    edge = ""
    if criteria.threshold is not None and ranking.metric is not None:
        word = "at least" if criteria.threshold.at_least else "at most"
        edge = f", {word} {exact_text(ranking.metric, criteria.threshold.edge(ranking.metric))}"
    lowest = ranking.metric is not None and ranking.metric.better is Better.LOWER
    goal = "lowest" if lowest and criteria.goal is RankingGoal.HIGHEST else criteria.goal.value
    return f"{goal.capitalize()}: {what}{way}{edge}"


def ranking_csv(ranking: Ranking) -> str:
    """Return the table as CSV, with numbers as numbers."""
    unit = "ratio" if ranking.metric is None else ranking.metric.unit.value
    head = ["place", "candidate", "run", "value", "low", "high", "unit", "n", "price", "currency",
            "per_price", "threshold", "trust"]  # fmt: skip
    rows = [
        (
            rank_text(ranking, one.group) if one.group else None, one.candidate.name, one.candidate.selector,
            one.value, one.low, one.high, unit, one.n, None if one.price is None else one.price.amount,
            ranking.currency, one.per_price, None if one.reached is None else one.reached.value,
            None if one.trust is None else str(one.trust),
        )
        for one in (*ranking.ranked, *ranking.unranked)
    ]  # fmt: skip
    return csv_text([dict(zip(head, row, strict=True)) for row in rows], head)


FORMAT = "benchwright-ranking/2"

publish(
    RankedCandidate,
    "name=candidate.name run=candidate.selector hosts=candidate.hosts group value low high n price=price.amount "
    "per_price reached trust",
)
publish(
    Ranking,
    "goal=criteria.goal metrics=criteria.weights unit=metric.unit better=metric.better limit=criteria.limit.text "
    "margin=margin.share currency groups candidates=ranked unranked sensitivity overruled=criteria.overruled notes",
)


class RankingThreshold(TypedDict):
    """The threshold that candidates must reach, in the unit of the ranking."""

    value: float
    at_least: bool


class LeftOutCandidate(TypedDict):
    """A candidate that is not ranked, and why."""

    name: str
    reason: str


class RankingKeys(TypedDict):
    """Keys of a ranking beside those of Ranking."""

    format: Annotated[str, FORMAT]
    threshold: RankingThreshold | None
    margin_of: str | None
    left_out: list[LeftOutCandidate]
    overruled: str | None


RankingJson = Annotated[Json, Ranking, RankingKeys]


def ranking_to_json(ranking: Ranking) -> RankingJson:
    """Return the public JSON of a ranking."""
    found, threshold, metric = published(ranking), ranking.criteria.threshold, ranking.metric
    return {
        "format": FORMAT,
        **found,
        "threshold": None
        if threshold is None or metric is None
        else {"value": threshold.edge(metric), "at_least": threshold.at_least},
        "margin_of": ranking.margin.origin or None,
        "left_out": [{"name": name, "reason": reason} for name, reason in ranking.left_out],
        "overruled": found["overruled"] or None,
    }
