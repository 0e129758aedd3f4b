"""A ranking in words: the lines of its table, for terminal, window and CSV."""

from app.export import csv_text
from app.ranking.ranking import Goal, Ranked, Ranking
from app.wording import direction_text, figure_text, range_text, share_text
from suites.vocab import Metric

HEAD = (
    "Place", "Candidate", "Figure", "95 % interval", "n", "Rank, resampled", "Price", "Per price", "Threshold",
)  # fmt: skip

RIGHT_ALIGNED = (2, 4)


def ranking_rows(ranking: Ranking) -> list[list[str]]:
    """Return a line for each candidate. Those of one place are not told apart."""
    return [_row(ranking, ranked) for ranked in ranking.ranked]


def shown_columns(ranking: Ranking) -> list[int]:
    """Return the columns that say something: without prices and thresholds theirs are left out."""
    rows = ranking_rows(ranking)
    return [number for number in range(len(HEAD)) if number < 6 or any(row[number] for row in rows)]


def place_text(ranking: Ranking, group: int) -> str:
    """Return the place of a group: ``1``, or ``2–4`` where three are not told apart."""
    before = sum(ranked.group < group for ranked in ranking.ranked)
    own = sum(ranked.group == group for ranked in ranking.ranked)
    return str(before + 1) if own == 1 else f"{before + 1}–{before + own}"


def _row(ranking: Ranking, ranked: Ranked) -> list[str]:
    low, high = ranked.ranks
    per_price = ""
    if ranked.per_price is not None and ranking.metric is not None:
        unit = f"1 {ranking.currency}".strip()
        per_price = f"{figure_text(ranking.metric, ranked.per_price)} for {unit} an hour"
    return [
        place_text(ranking, ranked.group),
        ranked.candidate.name,
        figure(ranking.metric, ranked.value),
        _interval(ranking.metric, ranked),
        str(ranked.n),
        str(low) if low == high else f"{low}–{high}",
        "" if ranked.price is None else ranked.price.text,
        per_price,
        "" if ranked.reached is None else ranked.reached.value,
    ]


def figure(metric: Metric | None, value: float) -> str:
    """Return a figure in words; of several metrics it is a ratio."""
    return f"{value:.3f}x" if metric is None else figure_text(metric, value)


def _interval(metric: Metric | None, ranked: Ranked) -> str:
    if ranked.low is None or ranked.high is None:
        return ""
    if metric is None:
        return f"{ranked.low:.3f} to {ranked.high:.3f}"
    return range_text(metric, ranked.low, ranked.high, (ranked.high - ranked.low) / 2)


def closing_lines(ranking: Ranking) -> list[str]:
    """Return what has to be known to read the table."""
    lines = [f"{name} has no place: {reason}." for name, reason in ranking.left_out]
    changed = [one for one in ranking.sensitivity if not one.same]
    lines += [f"{one.what}: {one.order}" for one in changed]
    if ranking.sensitivity and not changed:
        lines.append("The order is the same without any one metric, and with any weight halved or raised by half.")
    lines += ranking.notes
    if ranking.question.goal is not Goal.CHEAPEST:
        lines.append(
            f"Candidates of one place are not told apart by {margin_text(ranking)} "
            "(95 % intervals of their ratios, Holm's correction for all pairs)."
        )
    return lines


def margin_text(ranking: Ranking) -> str:
    """Return the margin in words, and whose it is: ``3 %, this host’s own of 12 Nov``; of several pairs all."""
    return " or ".join(
        f"{share_text(margin.share)}{f', {margin.origin}' if margin.origin else ''}" for margin in ranking.margins
    )


def title(ranking: Ranking) -> str:
    """Return what is ranked, in a line."""
    question = ranking.question
    what = ", ".join(name if weight == 1 else f"{name} x {weight:g}" for name, weight in question.weights.items())
    what = what if ranking.metric is None else ranking.metric.title
    way = "" if ranking.metric is None else f", {direction_text(ranking.metric.better)}"
    edge = ""
    if question.threshold is not None and ranking.metric is not None:
        word = "at least" if question.threshold.at_least else "at most"
        edge = f", {word} {figure_text(ranking.metric, question.threshold.edge(ranking.metric))}"
    return f"{question.goal.value.capitalize()}: {what}{way}{edge}"


def ranking_csv(ranking: Ranking) -> str:
    """Return the table as CSV, with numbers as numbers."""
    unit = "ratio" if ranking.metric is None else ranking.metric.unit.value
    head = ["place", "candidate", "run", "value", "low", "high", "unit", "n", "rank_low", "rank_high", "price",
            "currency", "per_price", "threshold"]  # fmt: skip
    rows = [
        (
            place_text(ranking, one.group), one.candidate.name, one.candidate.word, one.value, one.low, one.high, unit,
            one.n, *one.ranks, None if one.price is None else one.price.amount, ranking.currency, one.per_price,
            None if one.reached is None else one.reached.value,
        )
        for one in ranking.ranked
    ]  # fmt: skip
    return csv_text([dict(zip(head, row, strict=True)) for row in rows], head)
