"""Stopping rules of repetition: pure functions from the trials so far to a decision."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from app.centres import CONFIDENCE, student
from app.comparison.caveats import two_levels
from app.comparison.estimates import FEWEST_TRIALS, Ratio, centre_of, margin_edges, ratio_of
from app.comparison.verdicts import ComparisonVerdict, Scope, capped, verdict_of, verdict_text
from app.events import Decision
from app.plans.plan import Policy, Repetition
from app.plans.sequential import look_level
from suites.quantities import count_text, duration_text, ends_text, exact_share_text, share_text, shares_text
from suites.vocab import Better

HITS = 2
"""How often in a row the interval has to be narrow enough: a single hit is often chance."""


class Rule(Protocol):
    """A stopping rule. `values` are the trials of one metric in the order in which they ran."""

    def decide(self, values: Sequence[float], spent: float = 0.0, each: float | None = None) -> Decision:
        """Return whether to continue. `spent` are the seconds used so far, `each` those of a trial, if known."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTrials:
    """A fixed number of trials."""

    trials: int

    def decide(self, values: Sequence[float], spent: float = 0.0, each: float | None = None) -> Decision:
        """Stop after the last."""
        del spent
        more = max(0, self.trials - len(values))
        reason = f"{len(values)} of {self.trials} trials"
        return _timed(_described(Decision(not more, not more, len(values), reason, more), values), each)


@dataclass(frozen=True, slots=True)
class UntilInterval:
    """Stop when the 95 % interval of the centre is within ±`precision` of it HITS times in a row, or at the cap.

    Simulated for this project at ±2 %: 7, 14 and 27 trials at a spread of 1, 3 and 5 % between trials. The interval
    contains the true value in 93 to 95 % of cases for normal, heavy-tailed and moderately skewed trials, in 90 to 93 %
    for an exponential tail (table: help page Comparing runs). Autocorrelated trials are not covered.
    """

    precision: float
    minimum: int
    cap: int

    def decide(self, values: Sequence[float], spent: float = 0.0, each: float | None = None) -> Decision:
        """Stop once the interval has been narrow enough twice."""
        del spent
        count = len(values)
        in_a_row = 0
        while in_a_row < HITS and count - in_a_row >= self.minimum and self._narrow(values[: count - in_a_row]):
            in_a_row += 1
        settled = in_a_row >= HITS
        stop = settled or count >= self.cap
        needed = 0 if stop else self._forecast(values, in_a_row)
        more, beyond = _allowed(needed, count, self.minimum, self.cap)
        decided = Decision(stop, settled, count, self._reason(values, settled=settled), more, beyond=beyond)
        return _timed(replace(_described(decided, values), wanted=self.precision), each)

    def _narrow(self, values: Sequence[float]) -> bool:
        reach = centre_of(values).half
        return reach is not None and reach <= self.precision

    def _forecast(self, values: Sequence[float], in_a_row: int) -> int | None:
        """Estimate the remaining trials, at least: by Student's t if the spread stays, or as the interval shrinks."""
        count = len(values)
        if in_a_row:
            return HITS - in_a_row
        if count < 2:
            return max(self.minimum + HITS - 1 - count, 1)
        middle = statistics.fmean(values)
        if not middle:
            return None
        spread, reach = statistics.stdev(values) / abs(middle), centre_of(values).half
        for total in range(max(self.minimum, count + 1), self.cap + 1):
            by_spread = student(total - 1, CONFIDENCE) * spread / math.sqrt(total)
            by_reach = math.inf if reach is None else reach * math.sqrt(count / total)
            if min(by_spread, by_reach) <= self.precision:
                return total + HITS - 1 - count
        return self.cap + 1

    def _reason(self, values: Sequence[float], *, settled: bool) -> str:
        count = len(values)
        wanted = f"wanted ±{exact_share_text(self.precision)}"
        if count < self.minimum:
            return f"{count} of at least {self.minimum} trials"
        reach = centre_of(values).half
        shown = share_text(reach or 0.0) if settled else f"{shares_text(reach or 0.0, self.precision)[0]} %"
        found = "no interval" if reach is None else f"±{shown}"
        if settled:
            levels = "; bimodal: the centre may be at neither level" if two_levels(values) else ""
            return f"{found} after {count} trials, {wanted}{levels}"
        ended = f", the limit of the plan: {wanted} not reached" if count >= self.cap else f", {wanted}"
        return f"{found} after {count} trials{ended}"


@dataclass(frozen=True, slots=True)
class UntilVerdict:
    """Stop when the interval of the ratio to a baseline is entirely outside or inside the margin, or at the cap.

    The interval is sequential (look_levels): a look after every trial does not raise the error. With 95 % confidence a
    false “better”, a false “worse” and a false “smaller” have at most 2.5 % each, for normal trials of equal
    spread; 4 % if the trials vary three times as much as those of the baseline. Figures: help page Comparing runs.
    """

    baseline: tuple[float, ...]
    better: Better
    margin: float
    confidence: float
    minimum: int
    cap: int
    obstacle: str = ""  # why no number of trials gives a verdict
    mark: str = ""  # the trust in the baseline, if it is reduced

    def decide(self, values: Sequence[float], spent: float = 0.0, each: float | None = None) -> Decision:
        """Stop once there is a verdict, or cannot be one."""
        del spent
        count = len(values)
        ratio = self._ratio(values)
        found = ComparisonVerdict.UNDECIDED if isinstance(ratio, str) else verdict_of(ratio, self.better, self.margin)
        found = capped(found, Scope.BETWEEN_SESSIONS)  # the run and its baseline are a session each
        verdict = "" if found is ComparisonVerdict.UNDECIDED else verdict_text(found, self.margin)
        hopeless = self._hopeless()
        settled = bool(verdict) and count >= self.minimum and not hopeless
        stop = settled or count >= self.cap or (bool(hopeless) and count >= self.minimum)
        if hopeless:
            reason = f"{count_text(count, 'trial')}; no verdict possible: {hopeless}"
        elif count < self.minimum:
            reason = f"{count} of at least {self.minimum} trials"
        else:
            reason = self._reason(count, ratio, verdict)
        needed = 0 if stop else self._forecast(count, ratio, verdict)
        more, beyond = _allowed(needed, count, self.minimum, self.cap)
        decided = Decision(stop, settled, count, reason, more, beyond=beyond)
        return _timed(self._described(decided, ratio), each)

    def _ratio(self, values: Sequence[float]) -> Ratio | str:
        if not values or not self.baseline:
            return "no trials to compare"
        return ratio_of(values, self.baseline, self._level(len(values)))

    def _level(self, count: int) -> float:
        """Return the confidence level of the interval after `count` trials; before the first look that of the first."""
        if self._hopeless():
            return self.confidence
        return look_level(count, len(self.baseline), self.minimum, self.cap, self.confidence)

    def _hopeless(self) -> str:
        if self.obstacle:
            return self.obstacle
        if len(self.baseline) < FEWEST_TRIALS:
            return f"the baseline has {count_text(len(self.baseline), 'trial')}, a verdict needs {FEWEST_TRIALS}"
        return ""

    def _forecast(self, count: int, ratio: Ratio | str, verdict: str) -> int | None:
        """Return the trials until the interval excludes the nearest edge, if ratio and spreads stay as they are."""
        needed = max(1, self.minimum - count)
        if self._hopeless() or verdict:
            return needed
        if isinstance(ratio, str) or ratio.low is None:
            return needed if count < self.minimum else None
        distance = min(abs(math.log(ratio.value) - edge) for edge in margin_edges(self.margin))
        known = ratio.spread_baseline**2 / len(self.baseline)
        for total in range(count + needed, self.cap + 1):
            reach = student(total + len(self.baseline) - 2, self._level(total))
            if reach * math.sqrt(ratio.spread**2 / total + known) <= distance:
                return total - count
        return self.cap + 1

    def _reason(self, count: int, ratio: Ratio | str, verdict: str) -> str:
        interval = ratio if isinstance(ratio, str) else ratio.reason
        if not isinstance(ratio, str) and ratio.low is not None and ratio.high is not None:
            level = f"{share_text(self.confidence)} sequential CI"
            interval = (
                f"ratio {ratio.value:.3f} ({level} {ends_text(f'{ratio.low:.3f}', f'{ratio.high:.3f}', link='–')})"
            )
        mark = f" (baseline: {self.mark})" if self.mark else ""
        result = f"{interval} after {count} trials, margin ±{exact_share_text(self.margin)}{mark}"
        if verdict:
            return f"{result}: {verdict}"
        return f"{result}: undecided{' at the limit of the plan' if count >= self.cap else ''}"

    def _described(self, decided: Decision, ratio: Ratio | str) -> Decision:
        if isinstance(ratio, str):
            return replace(decided, of_ratio=True, wanted=self.margin)
        reach = None if ratio.low is None or ratio.high is None else max(ratio.high, 1 / ratio.low) - 1
        return replace(
            decided, value=ratio.value, low=ratio.low, high=ratio.high, reach=reach, wanted=self.margin, of_ratio=True
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """As many trials as fit into a number of seconds, at least one."""

    seconds: float

    def decide(self, values: Sequence[float], spent: float = 0.0, each: float | None = None) -> Decision:
        """Stop if the next trial would exceed the time."""
        remaining = self.seconds - spent
        takes = each if each is not None else (spent / len(values) if values else None)
        stop = bool(values) and (remaining <= 0 or (takes is not None and takes > remaining))
        more = 0 if stop else None if not takes else max(1, int(remaining / takes))
        used = f"{duration_text(spent)} of {duration_text(self.seconds)} used"
        decided = _described(Decision(stop, stop, len(values), "", more), values)
        reach = "" if decided.reach is None else f"±{share_text(decided.reach)} after "
        return _timed(replace(decided, reason=f"{reach}{count_text(len(values), 'trial')}, {used}"), takes)


def _allowed(needed: int | None, count: int, minimum: int, cap: int) -> tuple[int | None, bool]:
    """Return the trials to expect of those `needed` after `count`, and whether the plan may allow too few.

    The spread of fewer trials than `minimum` foretells nothing.
    """
    left = cap - count
    return (needed, False) if needed is None or needed <= left else (left, count >= minimum)


def _described(decided: Decision, values: Sequence[float]) -> Decision:
    if not values:
        return decided
    centre = centre_of(values)
    return replace(decided, value=centre.value, low=centre.low, high=centre.high, reach=centre.half)


def _timed(decided: Decision, each: float | None) -> Decision:
    known = decided.more is not None and each is not None
    return replace(decided, seconds=(decided.more or 0) * (each or 0.0)) if known else decided


def rule_of(repetition: Repetition, cells: int) -> Rule:
    """Return the rule for `cells` steps on hosts; that of UNTIL_VERDICT has no baseline yet."""
    match repetition.policy:
        case Policy.FIXED:
            return FixedTrials(repetition.trials)
        case Policy.UNTIL_INTERVAL:
            return UntilInterval(repetition.precision, repetition.minimum, repetition.cap)
        case Policy.BUDGET:
            return Budget(repetition.budget / max(1, cells))
        case Policy.UNTIL_VERDICT:
            return UntilVerdict(
                (), Better.HIGHER, repetition.margin or 0.0, CONFIDENCE, repetition.minimum, repetition.cap
            )
