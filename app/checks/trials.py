"""What can be said of a plan as a whole: how many trials it makes."""

from app.plan import Plan
from suites.vocab import Finding, Level

FOR_A_SPREAD = 3
"""Trials below which nothing can be said of how far they lie apart."""

FOR_AN_INTERVAL = 6
"""Trials below which no interval at 95 % covers the median, whatever was measured (order statistics; benchstat)."""


def few_trials(plan: Plan) -> Finding | None:
    """Return the finding that a plan makes few trials, or None."""
    trials = plan.repetition.fewest
    if trials >= FOR_AN_INTERVAL:
        return None
    what = "no spread can be told" if trials < FOR_A_SPREAD else "a spread can be told, but no interval at 95 %"
    return Finding(
        id="few-trials",
        level=Level.INFO,
        title="Few trials",
        measured=f"{trials} trial{'' if trials == 1 else 's'} of each step: {what}.",
        why="A difference between two hosts means nothing while it is not known how far trials on one host differ.",
        remedy=f"Make {FOR_AN_INTERVAL} trials or more for a comparison; fewer do for a first look.",
        source="benchstat: at least 6 samples for an interval at 95 %.",
    )
