"""Repetition policies during a run: rules against a baseline, and the events of their decisions."""

from collections.abc import Iterator, Mapping

from app.checks import run_findings
from app.checks.run_findings import finding_of
from app.comparison.comparability import Profile, Weight, differences, tool_of
from app.comparison.sides import Key, Side, paired
from app.events import Event, FindingRaised, PolicyDecided, State
from app.margins import DEFAULTS
from app.plans.plan import Plan, PlanError, Policy, Step
from app.plans.repetition import Rule, UntilVerdict
from app.records import RunRecord
from app.runs.schedule import MakeRule, Schedule, Slot, StepKey, TrialsVerdict
from app.summary import MetricSummary
from suites.errors import UnitError
from suites.facts import Facts, known
from suites.quantities import metric_text
from suites.units import convert
from suites.verdict import trust_mark
from suites.vocab import Finding, Labels, Metric


def verdict_rules(plan: Plan, baseline: RunRecord | None, facts: Mapping[str, Facts]) -> MakeRule | None:
    """Return the rule factory of a plan with the policy UNTIL_VERDICT; None for every other plan.

    Comparability is checked first: if the baseline measured something else, no number of trials gives a verdict, and
    the rule reports that as its reason.
    """
    if plan.repetition.policy is not Policy.UNTIL_VERDICT or baseline is None:
        return None
    side = Side([baseline])
    baselines: dict[StepKey, tuple[dict[Key, MetricSummary], str]] = {}
    for ours, theirs in paired(plan, side).items():
        for host in ours.hosts:
            obstacle = _obstacle(plan, ours.step, host, facts, side.profile(theirs))
            of_hosts = _of_hosts(len(ours.hosts), len(theirs.hosts))
            baselines[ours.step.name, host] = side.figures(theirs), obstacle or of_hosts

    def make(key: StepKey, metric: Metric, labels: Labels) -> Rule:
        given = plan.repetition
        figures, obstacle = baselines.get(key, ({}, "step and host not in the baseline"))
        found = figures.get((metric.name, labels))
        values, unmet = _values(found, metric)
        margin = DEFAULTS.of(metric, [given])  # what the user set is in the plan
        return UntilVerdict(
            values, metric.better, margin.share, given.confidence, given.minimum, given.cap, obstacle or unmet,
            "" if found is None else trust_mark(found.trust),
        )  # fmt: skip

    return make


def _of_hosts(ours: int, theirs: int) -> str:
    """Return why more trials cannot settle a verdict over several hosts: each host then counts as one value."""
    return f"n counts hosts ({ours} against {theirs}), not trials" if max(ours, theirs) > 1 else ""


def _profile(plan: Plan, step: Step, host: str, facts: Mapping[str, Facts]) -> Profile:
    """Return the profile of a step before its first trial."""
    own = facts.get(host)
    version = None if own is None else known(own.tool(tool_of(step)).version)
    return Profile(
        steps=(step,),
        hosts=(host,),
        versions=frozenset() if version is None else frozenset({version}),
        facts=() if own is None else (own,),
        repetitions=(plan.repetition,),
    )


def _values(found: MetricSummary | None, metric: Metric) -> tuple[tuple[float, ...], str]:
    """Return the baseline's values in the unit of `metric`, or the reason there are none."""
    if found is None:
        return (), "metric not in the baseline"
    try:
        return tuple(convert(value, found.metric.unit, metric.unit) for value in found.values), ""
    except UnitError as error:
        return (), str(error)


def check_baseline(plan: Plan, baseline: RunRecord, sessions: int) -> None:
    """Raise PlanError if no number of trials gives a verdict against `baseline`.

    It is a published table, or has several `sessions` on a host, or has no step of `plan` that is comparable.
    """
    side, name = Side([baseline]), plan.repetition.baseline
    if baseline.published is not None:
        raise PlanError(
            f"“{name}” is a published table without variance: no verdict is possible.", "Use a baseline of runs."
        )
    if sessions > 1:
        raise PlanError(
            f"“{name}” has {sessions} sessions: the verdict then compares sessions, and the trials of this one session "
            "count as one value. More trials do not settle it.",
            "Choose a baseline of one run, or repeat a fixed number of trials in as many sessions.",
        )
    cells = paired(plan, side)
    obstacles = [
        _obstacle(plan, ours.step, host, {}, side.profile(cells[ours])) for ours in cells for host in ours.hosts
    ]
    if not all(obstacles):
        return
    reason = f"it is not comparable: {obstacles[0]}" if obstacles else "it has none of its steps"
    raise PlanError(
        f"The plan repeats until its verdict against “{name}” is settled, but {reason}.",
        "Choose a baseline of the same tests with a valid result, or another policy.",
    )


def _obstacle(plan: Plan, step: Step, host: str, facts: Mapping[str, Facts], baseline: Profile) -> str:
    """Return why a step on a host is not comparable with the baseline; empty if it is."""
    found = differences(_profile(plan, step, host, facts), baseline)
    return "; ".join(each.text for each in found if each.weight is Weight.FATAL)


def decided(verdict: TrialsVerdict | None) -> Iterator[Event]:
    """Yield the decision for a step, and a finding if its trials ended without an answer."""
    if verdict is None:
        return
    step, host = verdict.key
    yield PolicyDecided(host, step, verdict.metric, verdict.labels, verdict.decision)
    if verdict.decision.stop and not verdict.decision.settled:
        yield FindingRaised(_unsettled(verdict))


def replayed(record: RunRecord) -> dict[int, PolicyDecided]:
    """Return the decision after each trial of a stored run, by trial id.

    Decisions are recomputed, not stored: the rules are deterministic. Plans with UNTIL_VERDICT return none, since
    their baseline may have changed.
    """
    if record.plan.repetition.policy is Policy.UNTIL_VERDICT:
        return {}
    schedule, found = Schedule(record.plan), {}
    steps = {step.name: step for step in record.plan.steps}
    for trial in record.trials:
        one = trial.trial
        if trial.state is not State.DONE or one.step not in steps or one.host not in record.plan.hosts:
            continue
        verdict = schedule.record_trial(
            Slot(steps[one.step], one.host, one.number, one.warm_up), trial.figures, 0.0, 0.0
        )
        if verdict is not None:
            found[one.id] = PolicyDecided(one.host, one.step, verdict.metric, verdict.labels, verdict.decision)
    return found


def _unsettled(verdict: TrialsVerdict) -> Finding:
    decision, (step, host) = verdict.decision, verdict.key
    figure = metric_text(verdict.metric, verdict.labels) if verdict.metric is not None else step
    return finding_of(run_findings.NOT_SETTLED, host, f"{figure}: {decision.reason}.", step=step)
