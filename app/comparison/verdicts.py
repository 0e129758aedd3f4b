"""Verdicts on ratios: the claim that the interval and its level of replication support, as a sentence."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from app.centres import CONFIDENCE
from app.comparison.estimates import ERROR, FEWEST_HOSTS, FEWEST_TRIALS, NO_VARIANCE, Ratio, margin_edges, more_trials
from app.comparison.moments import MomentError
from app.comparison.sentences import change_text, claim_text, interval_text
from suites.quantities import count_text, exact_share_text
from suites.vocab import Better, Metric

FEWEST_SESSIONS = 3
"""Sessions that a claim beyond single sessions needs on each side. With 3 % between sessions and 1 % within, intervals
of 3 sessions against 3 cover the true ratio in 96 % of cases, those of the trials of one session against one in 17 %
(simulated for this project)."""

FEWEST_OF_HOSTS = 2
"""Sessions that a claim on hosts beyond single sessions needs on each side: see moment_error()."""

FEWEST_EXACT = 3
"""Fewest identical trials of a counter without variance on each side: two can agree by rounding."""


class Level(StrEnum):
    """The level of the values of a ratio: trials of a session (a run), means of sessions, or means of hosts."""

    TRIAL = "trial"
    SESSION = "session"
    HOST = "host"


OF_TRIALS = frozenset({"rounds", "duets"})
"""Names of the pairs of single trials."""

FEWEST = {Level.TRIAL: FEWEST_TRIALS, Level.SESSION: FEWEST_SESSIONS, Level.HOST: FEWEST_HOSTS}
"""Fewest values on each side, or fewest pairs, that a verdict needs."""


class Scope(StrEnum):
    """What a claim may speak of.

    ACROSS: the level is replicated. BETWEEN_SESSIONS: each side has a single session, whose moment the claim cannot
    leave out; ONE_SESSION: one side has. BETWEEN_MOMENTS: they have several, none of which a host repeats.
    BETWEEN_HOSTS: the sides are two hosts of one session. BETWEEN_BLOCKS: they are steps of one session on one host,
    all trials of one after those of the other. WITHIN_SESSION: they share its rounds.
    """

    ACROSS = ""
    BETWEEN_SESSIONS = "between these two sessions"
    ONE_SESSION = "between one session and several"
    BETWEEN_MOMENTS = "between these sessions"
    BETWEEN_HOSTS = "between these two hosts in one session"
    BETWEEN_BLOCKS = "between two blocks of one session"
    WITHIN_SESSION = "within one session"


SINGLE = frozenset({Scope.BETWEEN_SESSIONS, Scope.ONE_SESSION, Scope.BETWEEN_MOMENTS})
"""The scopes in which more sessions, not more trials, widen the claim."""


class ComparisonVerdict(StrEnum):
    """The verdict on a metric of two sides. SAME: the interval is entirely within the margin.

    DIFFERS and AGREES are what single sessions can show, HOSTS_ and BLOCKS_ what two hosts or blocks of one session
    can. NOT_TESTED: the metric is descriptive, outside the family of tests.
    """

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    DIFFERS = "differs between sessions"
    AGREES = "agrees between sessions"
    HOSTS_DIFFER = "differs between hosts"
    HOSTS_AGREE = "agrees between hosts"
    BLOCKS_DIFFER = "differs between blocks"
    BLOCKS_AGREE = "agrees between blocks"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"
    NOT_COMPARABLE = "not comparable"


CAPPED = {
    Scope.BETWEEN_SESSIONS: (ComparisonVerdict.DIFFERS, ComparisonVerdict.AGREES),
    Scope.ONE_SESSION: (ComparisonVerdict.DIFFERS, ComparisonVerdict.AGREES),
    Scope.BETWEEN_MOMENTS: (ComparisonVerdict.DIFFERS, ComparisonVerdict.AGREES),
    Scope.BETWEEN_HOSTS: (ComparisonVerdict.HOSTS_DIFFER, ComparisonVerdict.HOSTS_AGREE),
    Scope.BETWEEN_BLOCKS: (ComparisonVerdict.BLOCKS_DIFFER, ComparisonVerdict.BLOCKS_AGREE),
}
"""The verdicts on a difference and on an equivalence in a scope whose moments are part of the difference."""

DIFFERENT = frozenset({ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, *(differs for differs, _ in CAPPED.values())})
"""The verdicts that claim a difference beyond the margin."""

EQUIVALENT = frozenset({ComparisonVerdict.SAME, *(agrees for _, agrees in CAPPED.values())})
"""The verdicts that claim that a difference is smaller than the margin."""

UNSETTLED = frozenset({ComparisonVerdict.UNDECIDED, ComparisonVerdict.DIFFERS, ComparisonVerdict.AGREES})
"""The verdicts that more hosts, sessions or trials may change."""


def verdict_of(ratio: Ratio, better: Better, margin: float) -> ComparisonVerdict:
    """Return the verdict by the interval: entirely beyond the margin, entirely within it, or undecided.

    The margin is a change of the baseline (margin_edges).
    """
    if ratio.low is None or ratio.high is None:
        return ComparisonVerdict.UNDECIDED
    return _verdict_on(math.log(ratio.low), math.log(ratio.high), better, margin)


def _verdict_on(low: float, high: float, better: Better, margin: float) -> ComparisonVerdict:
    """Return the verdict on an interval of logarithms."""
    least, most = margin_edges(margin)
    if low > most + _ROUNDING or high < least - _ROUNDING:
        return ComparisonVerdict.BETTER if (low > most) == (better is Better.HIGHER) else ComparisonVerdict.WORSE
    within = least - _ROUNDING <= low and high <= most + _ROUNDING
    return ComparisonVerdict.SAME if within else ComparisonVerdict.UNDECIDED


_ROUNDING = 1e-12
"""Logarithms that differ by rounding alone: a change equal to the margin is within it."""


def capped(verdict: ComparisonVerdict, scope: Scope) -> ComparisonVerdict:
    """Return what a claim by the interval alone may say in `scope`."""
    if scope not in CAPPED or verdict not in DIFFERENT | EQUIVALENT:
        return verdict
    return CAPPED[scope][verdict in EQUIVALENT]


def verdict_text(verdict: ComparisonVerdict, margin: float) -> str:
    """Return the verdict as text; SAME names the margin."""
    return f"smaller than the {exact_share_text(margin)} margin" if verdict is ComparisonVerdict.SAME else verdict.value


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """The inputs of a verdict besides the ratio.

    `counts` are the numbers of values of this side and the baseline at `level`, in pairs if `pairs` names these.
    `relation` is the text of relation(). `tests` ratios are tested together; `p` and `p_same` are the p-values of a
    ratio beyond and within the margin, corrected for that; None without a test. `barred` is why there is no claim
    whatever the ratio: an invalid side, too many failed trials. `untested` is why the metric is descriptive; empty
    if it is tested. `moments` are those that hosts of both sides share, if the interval has their error.
    """

    metric: Metric
    margin: float
    counts: tuple[int, int]
    level: Level = Level.TRIAL
    pairs: str = ""
    scope: Scope = Scope.ACROSS
    relation: str = ""
    tests: int = 1
    p: float | None = None
    p_same: float | None = None
    origin: str = ""  # of the margin
    barred: str = ""
    untested: str = ""
    sequential: bool = False  # the interval allows for a look after every trial
    moments: MomentError | None = None

    @property
    def one_session(self) -> bool:
        """Whether the mean of one session is compared with those of several."""
        return self.scope is Scope.ONE_SESSION and self.level is not Level.HOST

    @property
    def single(self) -> bool:
        """Whether more sessions, not more trials, widen the claim; more hosts narrow its interval."""
        return self.scope in SINGLE and self.level is not Level.HOST

    @property
    def needed(self) -> int:
        """The further values on each side without which there is no verdict; 0 if there are enough."""
        if self.one_session:
            return max(0, FEWEST_SESSIONS - max(self.counts))
        return max(0, FEWEST[self.level] - min(self.counts))

    @property
    def counted(self) -> str:
        """The counts as text: ``8 against 10 trials``, ``10 pairs of hosts, 3 against 2 sessions``, ``8 rounds``."""
        if self.pairs in OF_TRIALS:
            return count_text(self.counts[0], self.pairs.removesuffix("s"))
        pairs = f"{count_text(self.counts[0], 'pair')} of {self.pairs}" if self.pairs else ""
        units = pairs or _counts_text(self.counts, self.level)
        return units if self.moments is None else f"{units}, {_counts_text(self.moments.counts, Level.SESSION)}"

    def deciding(self, ratio: Ratio) -> tuple[Level, tuple[int, int], Ratio]:
        """Return the level of which more values narrow the interval most, its counts, and the ratio with its spread.

        Sessions, if moments that hosts share are more than half of the squared error.
        """
        of = self.moments
        if self.needed or of is None or of.squared <= ratio.error**2 / 2:
            return self.level, self.counts, ratio
        return Level.SESSION, of.counts, replace(ratio, spread=of.spread, spread_baseline=of.spread)

    def against(self) -> str:
        """Return the counts as text; empty if the relation of the sides is the same text."""
        return "" if self.counted == self.relation else self.counted

    def within(self, *, exact: bool = False) -> str:
        """Return that a change is within the margin, with its origin; an `exact` change may be as large as it."""
        origin = f" ({self.origin})" if self.origin else ""
        text = (
            f"within the {exact_share_text(self.margin)} margin"
            if exact
            else verdict_text(ComparisonVerdict.SAME, self.margin)
        )
        return f"{text}{origin}"

    def context(self, *, margin: bool = True) -> str:
        """Return the text behind every interval: counts, relation, margin and its origin."""
        origin = f" ({self.origin})" if self.origin else ""
        width = f"margin ±{exact_share_text(self.margin)}{origin}" if margin else ""
        looks = "sequential interval" if self.sequential else ""
        return ", ".join(part for part in (self.against(), looks, self.relation, width) if part)


def _counts_text(counts: tuple[int, int], level: Level) -> str:
    return f"{counts[0]} against {count_text(counts[1], level)}"


def decide(ratio: Ratio, evidence: VerdictEvidence) -> tuple[ComparisonVerdict, str, str]:
    """Return the verdict on `ratio`, its sentence, and its reason."""
    if evidence.untested:
        text = f"{change_text(ratio)}, not tested ({evidence.untested}), {evidence.context()}"
        return ComparisonVerdict.NOT_TESTED, text, evidence.untested
    alone = verdict_of(ratio, evidence.metric.better, evidence.margin)
    reason = _obstacle(ratio, alone, evidence)
    if reason:
        return ComparisonVerdict.UNDECIDED, _undecided(ratio, evidence, alone), reason
    scope = f"{evidence.scope}: " if evidence.scope else ""
    beyond = _OF_HOSTS if evidence.scope in SINGLE and not evidence.single else BEYOND.get(evidence.scope, "")
    further = f"; {beyond}" if beyond else ""
    if alone is ComparisonVerdict.SAME:
        text = f"{scope}{change_text(ratio, evidence.margin)}, {evidence.within()}, {evidence.context(margin=False)}"
        reason = f"the interval is entirely within the margin{further}"
    else:
        text = f"{scope}{claim_text(ratio, evidence.metric, evidence.margin)}, {evidence.context()}"
        reason = f"the interval is entirely beyond the margin{further}"
    return capped(alone, evidence.scope), text, reason


_OF_SESSIONS = f"a claim beyond these sessions needs {FEWEST_SESSIONS} sessions on each side"
_OF_HOSTS = f"a claim beyond these sessions needs {FEWEST_OF_HOSTS} on each side, of the same hosts"
BEYOND = {
    Scope.BETWEEN_SESSIONS: _OF_SESSIONS,
    Scope.ONE_SESSION: _OF_SESSIONS,
    Scope.BETWEEN_MOMENTS: _OF_SESSIONS,
    Scope.BETWEEN_HOSTS: f"a claim beyond these hosts needs {FEWEST_HOSTS} hosts on each side",
    Scope.BETWEEN_BLOCKS: "drift of the host between the blocks counts as a difference: run the steps interleaved",
}
"""What a claim beyond the scope needs."""


def _obstacle(ratio: Ratio, alone: ComparisonVerdict, evidence: VerdictEvidence) -> str:
    """Return why there is no claim; empty for one."""
    if evidence.barred:
        return evidence.barred
    if evidence.needed:
        return _too_few(alone, evidence)
    if ratio.low is None or ratio.high is None:
        return ratio.reason
    if alone is ComparisonVerdict.UNDECIDED:
        sign = ratio.low > 1 or ratio.high < 1
        certain = ": a difference exists, but it may be within the margin" if sign else ""
        return f"the interval, {interval_text(ratio, evidence.margin)}, crosses an edge of the margin{certain}"
    corrected = _corrected(alone, evidence)
    where = "within" if alone is ComparisonVerdict.SAME else "beyond"
    return f"{where} the margin alone, but not after {corrected}" if corrected else ""


def _corrected(alone: ComparisonVerdict, evidence: VerdictEvidence) -> str:
    """Return the correction after which a claim by the interval alone does not hold; empty if it does."""
    p = evidence.p_same if alone is ComparisonVerdict.SAME else evidence.p
    if alone is ComparisonVerdict.UNDECIDED or p is None or p < ERROR:
        return ""
    return f"Holm's correction for {count_text(evidence.tests, 'ratio')} (p = {p:.2f})"


def decide_exact(sides: tuple[float, float], evidence: VerdictEvidence) -> tuple[ComparisonVerdict, str, str]:
    """Return the verdict on figures that are identical in every trial of a side, its sentence, and its reason."""
    ours, theirs = sides
    reason = "exact: identical in every trial of a side"
    if ours == theirs:
        verdict, text = ComparisonVerdict.SAME, "identical in every trial"
    elif min(sides) <= 0:
        better = (ours > theirs) == (evidence.metric.better is Better.HIGHER)
        verdict = ComparisonVerdict.BETTER if better else ComparisonVerdict.WORSE
        text = f"{ours:g} against {theirs:g} in every trial, which is {verdict}"
    else:
        ratio = Ratio(ours / theirs)
        log = math.log(ratio.value)
        verdict = _verdict_on(log, log, evidence.metric.better, evidence.margin)
        same = verdict is ComparisonVerdict.SAME
        change = change_text(ratio) if same else claim_text(ratio, evidence.metric)
        text = f"in every trial {change}{f', {evidence.within(exact=True)}' if same else ''}"
    context = evidence.context(margin=verdict is not ComparisonVerdict.SAME)
    if evidence.untested:
        return ComparisonVerdict.NOT_TESTED, f"{text}, {evidence.context()}", evidence.untested
    scope = f"{evidence.scope}: " if evidence.scope else ""
    return capped(verdict, evidence.scope), f"{scope}{text}, {context}", reason


def not_comparable(reasons: str) -> str:
    """Return the sentence for results that are not comparable."""
    return f"not comparable: {reasons}"


def forecast(ratio: Ratio, evidence: VerdictEvidence) -> int | None:
    """Return the least number of further values on each side that would settle an undecided ratio; None if too many.

    They are of the deciding() level; of single sessions, sessions: more of their trials do not widen the claim.
    """
    if evidence.single:
        return FEWEST_SESSIONS - 1
    if ratio.low is None:
        return evidence.needed or None
    confidence = CONFIDENCE
    if verdict_of(ratio, evidence.metric.better, evidence.margin) is not ComparisonVerdict.UNDECIDED:
        if evidence.needed:
            return evidence.needed
        confidence = 1 - ERROR / max(1, evidence.tests)  # what Holm's correction asks for at most
    _, counts, spread = evidence.deciding(ratio)
    more = more_trials(spread, evidence.margin, counts, confidence)
    return None if more is None else max(more, evidence.needed)


def _undecided(ratio: Ratio, evidence: VerdictEvidence, alone: ComparisonVerdict) -> str:
    interval = "" if ratio.low is None else f"{change_text(ratio, evidence.margin)}, "
    corrected = "" if evidence.barred or evidence.needed else _corrected(alone, evidence)
    verdict = f"undecided after {corrected}" if corrected else "undecided"
    return f"{verdict}: {interval}{_advice(ratio, evidence)}, {evidence.context()}"


def _advice(ratio: Ratio, evidence: VerdictEvidence) -> str:
    """Return what would settle an undecided ratio."""
    if evidence.barred:
        return "repeat the run"
    if evidence.scope is Scope.BETWEEN_BLOCKS and not evidence.needed:
        return "run the steps interleaved"
    single = evidence.single
    if ratio.low is None and ratio.reason and (not evidence.needed or ratio.reason.endswith(NO_VARIANCE)):
        return ratio.reason
    level, counts, _ = evidence.deciding(ratio)
    noun = Level.SESSION if single else level
    more = forecast(ratio, evidence)
    amount = f"far more {noun}s" if more is None else f"at least {count_text(more, f'more {noun}')}"
    if evidence.pairs and level is evidence.level:
        return amount
    of_trials = single and evidence.level is Level.TRIAL  # their numbers say nothing of the sessions
    side = "" if of_trials else insufficient_side(more or 0, counts)
    return f"{amount} {side or 'on each side'}"


def insufficient_side(more: int, counts: tuple[int, int]) -> str:
    """Return the side that alone needs further values: ``of the baseline``; empty if both do."""
    here, there = counts
    if not more or here == there or min(counts) + more > max(counts):
        return ""
    return "of this run" if here < there else "of the baseline"


def _too_few(alone: ComparisonVerdict, evidence: VerdictEvidence) -> str:
    far = alone in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
    so_far = f"; so far the interval is beyond {exact_share_text(evidence.margin)}" if far else ""
    fewest = FEWEST[evidence.level]
    if evidence.pairs:
        return f"n = {evidence.counts[0]} {evidence.pairs}, needs at least {fewest}{so_far}"
    return f"n = {evidence.counts[0]} against {evidence.counts[1]}, needs at least {fewest} each{so_far}"
