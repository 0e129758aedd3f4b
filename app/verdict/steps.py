"""Verdicts of a step on a host and of a run, from the findings before, during and after the trials."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.centres import centre_over
from app.checks.catalogue import DURING_CHECKS, DURING_IDS, OUTCOME_CHECKS, TRIAL_CHECKS, trust_left
from app.checks.elsewhere import MEASURED_ELSEWHERE
from app.checks.limits import LIMITED_BY, limiter_text
from app.checks.repetition import latency_text
from app.checks.run_findings import CHECK_FAILED, finding_of
from app.checks.version import CHECKS_VERSION
from app.plans.plan import host_label
from app.verdict.listing import SHAPES, VERIFIED_BY
from suites.checks import CheckOutcome, NotChecked
from suites.evidence import StepOutcomeEvidence, TrialEvidence
from suites.quantities import count_text, figure_text, first_upper, metric_text
from suites.verdict import Limiter, Trust, Verdict, worst
from suites.vocab import Finding, Severity

ENDED_TRIAL_CHECKS = tuple(check for check in (*TRIAL_CHECKS, *DURING_CHECKS) if check is not LIMITED_BY)
"""Checks of each ended trial, those during it once more. The limit has an outcome of its own."""

MOST_TRIALS = 2 / 3
"""The share of the trials that must have the same limit for the step to have it."""


@dataclass(frozen=True, slots=True)
class RatedFinding:
    """A finding with the trust it leaves in the result. `trial` is the id of the trial it describes."""

    finding: Finding
    trust: Trust
    trial: int | None = None


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """Verdict of a step on a host, the findings after the trials, and the checks that could not be made."""

    verdict: Verdict
    found: tuple[RatedFinding, ...] = ()
    not_checked: tuple[tuple[str, str], ...] = ()  # check id, reason


def new_findings(step: StepVerdict, raised: Iterable[Finding]) -> tuple[RatedFinding, ...]:
    """Return the findings of `step` without those that are the last `raised` of their check."""
    last = {(one.id, one.step, one.host): one for one in raised}
    return tuple(one for one in step.found if one.finding not in last.values())


def step_verdict(step: StepOutcomeEvidence) -> StepVerdict:
    """Return the verdict of a step on a host from its evidence."""
    not_checked: dict[str, NotChecked] = {}
    found = [*_of_step(step, not_checked), *_of_trials(step, not_checked)]
    limiter = _limiter(step, not_checked)
    if limiter is not None:
        found.append(limiter[1])
    failed = ", ".join(f"{check} ({one.because.rstrip('.')})" for check, one in not_checked.items() if one.defect)
    if failed:
        raised = finding_of(CHECK_FAILED, step.host, f"Could not be made: {failed}.", step=step.name)
        found.append(RatedFinding(raised, Trust.VALID))
    found.sort(key=lambda one: (-one.trust.rank, -one.finding.severity.rank))
    found, during = _with_shapes_seen(found, step.findings)
    earlier = list(_still_counting(during, {one.finding.id for one in found}, not_checked))
    level = worst(tuple(one.trust for one in (*found, *earlier)))
    found = [_with_trust(one, level) if one.finding.id == "goal" else one for one in found]
    limited = limiter[0] if limiter is not None else None
    by_trust = sorted((*found, *earlier), key=lambda one: -one.trust.rank)
    reducing = [one.finding for one in by_trust if one.trust is not Trust.VALID]
    rest = [one.finding for one in found if one.trust is Trust.VALID]
    rest += [one.finding for one in earlier if one.trust is Trust.VALID and _is_warning_before(one.finding)]
    summary = summary_of(step, level, limited, tuple(reducing))
    verdict = Verdict(level, limited, summary, (*reducing, *rest), step.name, step.host, CHECKS_VERSION)
    reasons = tuple((check, one.because) for check, one in not_checked.items())
    return StepVerdict(verdict, tuple(found), reasons)


def _is_warning_before(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO and finding.id not in DURING_IDS


def _with_trust(goal: RatedFinding, level: Trust) -> RatedFinding:
    """Return the finding on a goal with the trust in the result: an invalid figure meets no goal."""
    if not level.in_doubt:
        return goal
    doubt = "invalid: it decides nothing" if level is Trust.INVALID else str(level)
    measured = f"{goal.finding.measured} The result is {doubt}."
    return replace(goal, finding=replace(goal.finding, measured=measured))


def _with_shapes_seen(
    found: Sequence[RatedFinding], earlier: Iterable[Finding]
) -> tuple[list[RatedFinding], tuple[Finding, ...]]:
    """Return `found` with the shapes that were seen during the trials and are withdrawn, and `earlier` without these.

    A trial has one shape: that of all of it replaces those seen during it, unless one of them is more severe.
    """
    ends = {one.finding.id: one.finding.severity.rank for one in found if one.finding.id in SHAPES}
    if not ends:
        return list(found), tuple(earlier)
    highest = max(ends.values())
    withdrawn = [one for one in earlier if one.id in SHAPES - set(ends) and one.severity.rank <= highest]
    titles = ", ".join(dict.fromkeys(f"“{one.title}”" for one in withdrawn))
    last = next(one for one in found if one.finding.severity.rank == ends.get(one.finding.id) == highest)
    text = f"{last.finding.measured} Replaces {titles}, seen during the trial." if titles else last.finding.measured
    stated = replace(last, finding=replace(last.finding, measured=text))
    return [stated if one is last else one for one in found], tuple(one for one in earlier if one not in withdrawn)


def _still_counting(
    findings: Iterable[Finding], found: set[str], not_checked: dict[str, NotChecked]
) -> Iterator[RatedFinding]:
    """Yield the earlier findings that count: of those before the run, what VERIFIED_BY could not decide.

    Of those during the trials, the last of the most severe of each check that found nothing at the end.
    """
    live: dict[str, Finding] = {}
    for one in findings:
        seen = VERIFIED_BY.get(one.id)
        if one.id in DURING_IDS:
            before = live.get(one.id)
            if one.id not in found and (before is None or one.severity.rank >= before.severity.rank):
                live[one.id] = one
        elif seen is None or seen in not_checked:
            yield RatedFinding(one, trust_left(one))
    for one in live.values():
        yield RatedFinding(one, trust_left(one))


def _of_step(step: StepOutcomeEvidence, not_checked: dict[str, NotChecked]) -> Iterator[RatedFinding]:
    for check in OUTCOME_CHECKS:
        outcome = check.outcome(step)
        if isinstance(outcome, NotChecked):
            not_checked.setdefault(check.id, outcome)
        elif outcome is not None:
            yield RatedFinding(check.finding_for(outcome, step), check.leaves(outcome))


def _of_trials(step: StepOutcomeEvidence, not_checked: dict[str, NotChecked]) -> Iterator[RatedFinding]:
    counted = set(map(id, counted_trials(step.trials)))  # by identity: to compare thousands of trials is slow
    made = [(trial, [check.outcome(trial) for check in ENDED_TRIAL_CHECKS]) for trial in step.trials]
    for place, check in enumerate(ENDED_TRIAL_CHECKS):
        outcomes = [(trial, found[place]) for trial, found in made]
        positive = [(trial, outcome) for trial, outcome in outcomes if isinstance(outcome, CheckOutcome)]
        unchecked = [outcome for trial, outcome in outcomes if isinstance(outcome, NotChecked) and id(trial) in counted]
        failed = next((one for one in unchecked if one.defect), None)
        if failed or (unchecked and not positive):
            not_checked.setdefault(check.id, failed or unchecked[0])
        if positive:
            trial, outcome = max(positive, key=lambda one: check.leaves(one[1]).rank)
            whole = replace(outcome, measured=_counted(outcome.measured, len(positive), len(step.trials)))
            yield RatedFinding(check.finding_for(whole, trial), check.leaves(outcome), trial.id)


def counted_trials(trials: Sequence[TrialEvidence]) -> Sequence[TrialEvidence]:
    """Return the trials whose own process tree was counted; all if none was."""
    return [trial for trial in trials if not trial.uncounted] or trials


def _counted(measured: str, count: int, whole: int) -> str:
    if whole < 2:
        return measured
    return f"{measured} In {'all' if count == whole else f'{count} of'} {whole} trials."


def common_limiter(counts: Counter[Limiter]) -> Limiter | None:
    """Return the limit of at least MOST_TRIALS of the trials, which are counted by limit; None if they differ."""
    most, count = counts.most_common(1)[0]
    return most if count >= MOST_TRIALS * counts.total() else None


def _limiter(step: StepOutcomeEvidence, not_checked: dict[str, NotChecked]) -> tuple[Limiter, RatedFinding] | None:
    """Return the limit of the trials, with the evidence of the first such trial; None if there is none.

    Trials with different limits have none in common, unless most of them agree.
    """
    outcomes = [(trial, LIMITED_BY.outcome(trial)) for trial in counted_trials(step.done)]
    failed = next((one for _, one in outcomes if isinstance(one, NotChecked) and one.defect), None)
    if failed:
        not_checked[LIMITED_BY.id] = failed
    found = [(trial, one, one.limiter) for trial, one in outcomes if isinstance(one, CheckOutcome) and one.limiter]
    if not found or (step.elsewhere and all(limiter is Limiter.UNKNOWN for _, _, limiter in found)):
        return None
    counts = Counter(limiter for _, _, limiter in found)
    most, count = counts.most_common(1)[0]
    trial, outcome, _ = next(one for one in found if one[2] is most)
    if common_limiter(counts) is None:
        first = {one: outcome for _, outcome, one in reversed(found)}
        each = " ".join(
            f"{first_upper(_named(one))} ({number} of {len(found)}):{first[one].measured.partition(':')[2]}"
            for one, number in counts.most_common()
        )
        most = Limiter.UNKNOWN
        remedy = "Compare the host’s charts of these trials, remove the cause, and run it again."
        measured = f"Limit not identified: the trials had different limits. {each}"
        outcome = replace(outcome, measured=measured, remedy=remedy)
    elif len(counts) > 1:
        outcome = replace(outcome, measured=_counted(outcome.measured, count, len(step.done)))
    return most, RatedFinding(LIMITED_BY.finding_for(outcome, trial), Trust.VALID, trial.id)


def _named(limiter: Limiter) -> str:
    return "not identified" if limiter is Limiter.UNKNOWN else limiter_text(limiter)


def run_verdict(steps: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict of a run, the worst of its steps; None without steps.

    `limited_by` is set only if all steps have the same limit.
    """
    verdicts = tuple(steps)
    if not verdicts:
        return None
    limiters = {verdict.limited_by for verdict in verdicts}
    level = worst(tuple(verdict.trust for verdict in verdicts))
    if len(verdicts) == 1:
        return replace(verdicts[0], step=None, host=None)
    findings = [one for verdict in verdicts if verdict.trust is not Trust.VALID for one in verdict.findings]
    unique = [one for index, one in enumerate(findings) if one not in findings[:index]]
    limited = limiters.pop() if len(limiters) == 1 else None
    return Verdict(level, limited, summary_of_run(level, verdicts), tuple(unique), checks=CHECKS_VERSION)


MOST_NAMED = 3
"""Findings listed by title; the rest are counted."""


def summary_of(step: StepOutcomeEvidence, level: Trust, limiter: Limiter | None, reducing: Sequence[Finding]) -> str:
    """Return the summary of a step: trust, figure, limit, then the titles of the findings that reduce the trust."""
    start = f"{level.value.capitalize()}: {_measured(step)}"
    unknown = "" if step.elsewhere else "; limit not identified"
    limited = {None: "", Limiter.UNKNOWN: unknown}
    sentence = start + limited.get(limiter, f", limited by {limiter_text(limiter)}") + "."
    if level is not Trust.UNVERIFIED:
        reducing = [one for one in reducing if one.id != MEASURED_ELSEWHERE.id]
    return f"{sentence} {_titles(reducing)}".strip()


def _measured(step: StepOutcomeEvidence) -> str:
    figure = step.headline
    if figure is None:
        return f"no figure for {step.name} on {host_label(step.host)}"
    values = step.over_trials(figure.metric.name, figure.labels)
    centre = centre_over(values, step.halves_over(figure.metric.name, figure.labels))
    shown = figure_text(figure.metric, centre.value, centre.half and centre.half * centre.value)
    text = f"{metric_text(figure.metric, figure.labels)} {shown}"
    latency = latency_text(step)
    count = len(values)
    trials = f"{'geometric mean' if min(values) > 0 else 'mean'} of {count_text(count, 'trial')}"
    if count == 1:
        if step.elsewhere:
            return f"{text}{f' {latency}' if latency else ''}"
        quick = step.planned == 1 and not step.suite.repeats_itself
        trials = "quick look: 1 trial, no interval" if quick else "1 trial"
    return f"{text}{f' {latency}' if latency else ''} ({trials})"


def _titles(reducing: Sequence[Finding]) -> str:
    titles = list(dict.fromkeys(finding.title for finding in reducing))
    if not titles:
        return ""
    more = len(titles) - MOST_NAMED
    listed = ". ".join(titles[:MOST_NAMED])
    return f"{listed}. And {more} more." if more > 0 else f"{listed}."


def summary_of_run(level: Trust, verdicts: Sequence[Verdict]) -> str:
    """Return the summary of a run: trust, and the number of results by trust."""
    counts = [(trust, sum(one.trust is trust for one in verdicts)) for trust in Trust]
    found = [(trust, count) for trust, count in counts if count]
    if len(found) == 1:
        return f"{level.value.capitalize()}: {_all_of(len(verdicts))}."
    parts = ", ".join(f"{count} {trust.value}" for trust, count in found)
    worst_ones = [step_host_text(one) for one in verdicts if one.trust is level]
    named = "; ".join(worst_ones[:MOST_NAMED]) + ("; …" if len(worst_ones) > MOST_NAMED else "")
    return f"{level.value.capitalize()}: of {len(verdicts)} results, {parts} ({named})."


def _all_of(results: int) -> str:
    return {1: "1 result", 2: "both results"}.get(results, f"all {results} results")


def step_host_text(verdict: Verdict) -> str:
    """Return step and host of a verdict; empty for a run."""
    if verdict.step is None:
        return ""
    return f"{verdict.step} on {host_label(verdict.host)}" if verdict.host else verdict.step


def verdict_text(verdict: Verdict) -> str:
    """Return trust and limit: ``valid with caveats, limited by the device``."""
    if verdict.limited_by is None:
        return verdict.trust.value
    if verdict.limited_by is Limiter.UNKNOWN:
        return f"{verdict.trust.value}, limit not identified"
    return f"{verdict.trust.value}, limited by {limiter_text(verdict.limited_by)}"
