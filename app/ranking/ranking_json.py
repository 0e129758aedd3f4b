"""A ranking as the public JSON of “best”."""

from typing import Any

from app.ranking.ranking import Ranked, Ranking

FORMAT = "benchwright-ranking/1"

Json = dict[str, Any]


def ranking_to_json(ranking: Ranking) -> Json:
    """Return the candidates, the best first, and how much the order hangs on."""
    question, metric = ranking.question, ranking.metric
    threshold = question.threshold
    return {
        "format": FORMAT,
        "goal": question.goal.value,
        "metrics": dict(question.weights),
        "unit": None if metric is None else metric.unit.value,
        "better": None if metric is None else metric.better.value,
        "threshold": None
        if threshold is None or metric is None
        else {"value": threshold.edge(metric), "at_least": threshold.at_least},
        "limit": None if question.limit is None else question.limit.text,
        "margin": ranking.margin,
        "margin_of": "; ".join(dict.fromkeys(one.origin for one in ranking.margins if one.origin)) or None,
        "currency": ranking.currency,
        "groups": ranking.groups,
        "candidates": [_ranked(ranked) for ranked in ranking.ranked],
        "left_out": [{"name": name, "reason": reason} for name, reason in ranking.left_out],
        "sensitivity": [{"what": one.what, "order": one.order, "same": one.same} for one in ranking.sensitivity],
        "overruled": question.overruled or None,
        "notes": list(ranking.notes),
    }


def _ranked(ranked: Ranked) -> Json:
    return {
        "name": ranked.candidate.name,
        "run": ranked.candidate.word,
        "hosts": list(ranked.candidate.hosts),
        "group": ranked.group,
        "value": ranked.value,
        "low": ranked.low,
        "high": ranked.high,
        "n": ranked.n,
        "ranks": list(ranked.ranks),
        "price": None if ranked.price is None else ranked.price.amount,
        "per_price": ranked.per_price,
        "reached": None if ranked.reached is None else ranked.reached.value,
    }
