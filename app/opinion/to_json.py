"""Second opinions as the public JSON of “second-opinion” and “agree”."""

from typing import Any

from app.formats import plan_to_json
from app.opinion.agreement import Agreement, Figure, Outcome
from app.opinion.proposing import Proposal
from app.opinion.words import agreement_line, why_lines

Json = dict[str, Any]


def proposal_to_json(found: Proposal) -> Json:
    """Return the plan, what it carries over, and what it cannot."""
    return {
        "suite": found.kin.suite,
        "other": found.kin.other,
        "question": found.plan.question,
        "carried": [
            {"parameter": one.ours, "value": one.value, "as": one.theirs, "written": one.written}
            for one in found.carried
        ],
        "lost": list(found.lost),
        "apart": found.kin.apart or None,
        "plan": plan_to_json(found.plan),
    }


def agreement_to_json(found: Agreement) -> Json:
    """Return what two tools say of one thing. Shares are shares: 0.05 is 5 %."""
    ratio = found.ratio
    return {
        "host": found.host,
        "ours": _figure(found.ours),
        "theirs": _figure(found.theirs),
        "outcome": found.outcome.value,
        "ratio": None if ratio is None else ratio.value,
        "low": None if ratio is None else ratio.low,
        "high": None if ratio is None else ratio.high,
        "factor": found.factor,
        "margin": found.margin,
        "margin_of": found.origin or None,
        "text": agreement_line(found),
        "why": list(why_lines(found)),
        "explained": [one.id for one in found.explained],
        "against": [one.id for one in found.against],
        "unknown": found.outcome is Outcome.DIFFER and not found.explained,
    }


def _figure(one: Figure) -> Json:
    return {
        "step": one.step,
        "suite": one.suite,
        "metric": one.metric.name,
        "unit": one.metric.unit.value,
        "labels": dict(one.labels),
        "value": one.value,
        "n": one.n,
    }
