"""Limits that are known because the lab sets them: what is measured of them, and whether they are named."""

from functools import partial

from tests.lab.known_limits import LIMITS, KnownLimit, Recovered, recover
from tests.lab.staging import Stage
from tests.perf.outcome import Met, Outcome
from tests.perf.stage import on_a_stage

CLOSE = 0.03


def outcomes() -> list[Outcome]:
    """Return for each known limit what was measured, and what the verdict names as the limit."""
    return [_line(limit, on_a_stage(partial(_recover, limit), limit.tools)) for limit in LIMITS]


def _recover(limit: KnownLimit, stage: Stage) -> Recovered:
    return recover(stage, limit)


def _line(limit: KnownLimit, found: Recovered | str) -> Outcome:
    aim = f"within {CLOSE:.0%}, named {limit.limiter}"
    if isinstance(found, str):
        return Outcome(limit.name, "–", f"not staged, because {found}", aim, Met.UNDECIDED)
    good = abs(found.error) <= CLOSE and found.limiter is limit.limiter
    met = Met.MET if good else Met.UNDECIDED if found.disturbed else Met.MISSED
    figure = f"{found.measured:.6g} of {found.truth:.6g} {found.unit}".strip()
    others = ", others were at work" if found.disturbed else ""
    return Outcome(limit.name, figure, f"{found.error:+.2%}, named {found.limiter or 'nothing'}{others}", aim, met)
