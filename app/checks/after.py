"""The checks of after, and the verdict that their findings make of a step."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.checks import (
    after_claims,
    after_happened,
    after_limiter,
    after_limits,
    after_matters,
    after_reproduce,
    after_time,
)
from app.checks.after_limiter import LIMITED_BY
from app.checks.after_words import summary_of, summary_of_run
from app.checks.during import DURING_CHECKS, OF_THE_WHOLE
from suites.checks import CannotTell, Outcome, OutcomeCheck, TrialCheck
from suites.evidence import StepOutcomeEvidence
from suites.verdict import Limiter, Trust, Verdict, trust_of, worst
from suites.vocab import Finding

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    *after_happened.OF_A_TRIAL,
    *after_limits.OF_A_TRIAL,
    *after_claims.OF_A_TRIAL,
    *after_time.OF_A_TRIAL,
    *after_reproduce.OF_A_TRIAL,
    *after_limiter.OF_A_TRIAL,
)
"""What is asked of each trial. What the trials of a step agree in is said once."""

STEP_CHECKS: tuple[OutcomeCheck, ...] = (
    *after_happened.OF_A_STEP,
    *after_reproduce.OF_A_STEP,
    *after_matters.OF_A_STEP,
)
"""What is asked of all trials of a step on a host together."""

FAMILIES: tuple[tuple[str, tuple[TrialCheck | OutcomeCheck, ...]], ...] = (
    ("After: did it happen", (*after_happened.OF_A_STEP, *after_happened.OF_A_TRIAL)),
    ("After: did it break limits", after_limits.OF_A_TRIAL),
    ("After: did it measure what it claims", after_claims.OF_A_TRIAL),
    ("After: why not double", after_limiter.OF_A_TRIAL),
    ("After: did it hold its rate", after_time.OF_A_TRIAL),
    ("After: does it reproduce", (*after_reproduce.OF_A_STEP, *after_reproduce.OF_A_TRIAL)),
    ("After: does it matter", after_matters.OF_A_STEP),
)
"""The checks of after by the question they answer."""

FORETOLD = {
    "page-cache": "not-from-the-device",
    "read-after-write": "not-from-the-device",
    "source-in-memory": "not-from-the-device",
    "unflushed-write": "not-from-the-device",
    "random-source": "generator-bound",
    "short-runtime": "too-brief",
    "cpu-quota": "quota-bound",
}
"""Findings of before, by the check of after that looks whether it came so: where that can tell, it alone counts."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding, and how far the result may still be believed where it holds. `trial` is the first it is about."""

    finding: Finding
    trust: Trust
    trial: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a step on a host, the findings of after it rests on, and the checks that could not tell."""

    verdict: Verdict
    found: tuple[Judged, ...] = ()
    cannot_tell: tuple[tuple[str, str], ...] = ()  # check, and why


def after_checks() -> tuple[TrialCheck | OutcomeCheck, ...]:
    """Return every check of after."""
    return (*TRIAL_CHECKS, *STEP_CHECKS)


def made_anew() -> frozenset[str]:
    """Return the ids of the checks that are made of a whole trial or step, whatever was found of it before."""
    return frozenset(check.id for check in (*after_checks(), *DURING_CHECKS))


def untold(judgement: Judgement, told: Iterable[Finding]) -> tuple[Judged, ...]:
    """Return the findings of `judgement` but for those that some trial's own finding has told while it ran."""
    during = {check.id for check in DURING_CHECKS}
    known = {(one.id, one.step, one.host) for one in told if one.id in during}
    return tuple(one for one in judgement.found if (one.finding.id, one.finding.step, one.finding.host) not in known)


def judge_step(step: StepOutcomeEvidence) -> Judgement:
    """Return what the evidence of a step on a host says of its result."""
    unsure: dict[str, str] = {}
    found = [*_of_step(step, unsure), *_of_trials(step, unsure)]
    limiter = _limiter(step)
    if limiter is not None:
        found.append(limiter[1])
    found.sort(key=lambda one: (-one.trust.rank, -one.finding.level.rank))
    earlier = [Judged(one, trust_of(one.level)) for one in step.findings if _still_counts(one, unsure)]
    level = worst(tuple(one.trust for one in (*found, *earlier)))
    limited = limiter[0] if limiter is not None else None
    weighing = [one.finding for one in (*found, *earlier) if one.trust is not Trust.VALID]
    rest = [one.finding for one in found if one.trust is Trust.VALID]
    summary = summary_of(step, level, limited, tuple(weighing))
    verdict = Verdict(level, limited, summary, (*weighing, *rest), step.name, step.host)
    return Judgement(verdict, tuple(found), tuple(unsure.items()))


def _still_counts(finding: Finding, unsure: dict[str, str]) -> bool:
    """Return whether a finding of before or during weighs: not where a check of after has seen how it came."""
    seen = FORETOLD.get(finding.id)
    return seen is None or seen in unsure


def _of_step(step: StepOutcomeEvidence, unsure: dict[str, str]) -> Iterator[Judged]:
    for check in STEP_CHECKS:
        outcome = check.evaluate(step)
        if isinstance(outcome, CannotTell):
            unsure.setdefault(check.id, outcome.because)
        elif outcome is not None:
            yield Judged(check.worded(outcome, step), check.leaves(outcome))


def _of_trials(step: StepOutcomeEvidence, unsure: dict[str, str]) -> Iterator[Judged]:
    for check in (*TRIAL_CHECKS, *OF_THE_WHOLE):
        if check is LIMITED_BY:
            continue
        said = [(trial, check.evaluate(trial)) for trial in step.trials]
        spoken = [(trial, outcome) for trial, outcome in said if isinstance(outcome, Outcome)]
        silent = [outcome.because for _, outcome in said if isinstance(outcome, CannotTell)]
        if silent and not spoken:
            unsure.setdefault(check.id, silent[0])
        if spoken:
            trial, outcome = max(spoken, key=lambda one: check.leaves(one[1]).rank)
            whole = replace(outcome, measured=_counted(outcome.measured, len(spoken), len(step.trials)))
            yield Judged(check.worded(whole, trial), check.leaves(outcome), trial.id)


def _counted(measured: str, count: int, whole: int) -> str:
    if whole < 2:
        return measured
    return f"{measured} So in {'all' if count == whole else f'{count} of'} {whole} trials."


def _limiter(step: StepOutcomeEvidence) -> tuple[Limiter, Judged] | None:
    """Return what limited most of the trials, with the evidence of the first of them."""
    said = [(trial, LIMITED_BY.evaluate(trial)) for trial in step.done]
    named = [(trial, outcome) for trial, outcome in said if isinstance(outcome, Outcome) and outcome.limiter]
    if not named:
        return None
    counts = Counter(outcome.limiter for _, outcome in named)
    most = counts.most_common(1)[0][0]
    trial, outcome = next(one for one in named if one[1].limiter is most)
    told = outcome if len(counts) == 1 else replace(
        outcome, measured=_counted(outcome.measured, counts[most], len(step.done))
    )  # fmt: skip
    if most is None:
        return None
    return most, Judged(LIMITED_BY.worded(told, trial), Trust.VALID, trial.id)


def judge_run(steps: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict on a whole run: the worst of its steps; None where there is none.

    `limited_by` is named where all steps agree in it.
    """
    verdicts = tuple(steps)
    if not verdicts:
        return None
    limiters = {verdict.limited_by for verdict in verdicts}
    level = worst(tuple(verdict.level for verdict in verdicts))
    if len(verdicts) == 1:
        return replace(verdicts[0], step=None, host=None)
    findings = [one for verdict in verdicts if verdict.level is not Trust.VALID for one in verdict.findings]
    unique = [one for place, one in enumerate(findings) if one not in findings[:place]]
    limited = limiters.pop() if len(limiters) == 1 else None
    return Verdict(level, limited, summary_of_run(level, verdicts), tuple(unique))
