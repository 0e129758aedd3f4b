"""What a plan's policy needs to know of the baseline it runs against, and what its decisions say during a run."""

from collections.abc import Iterator, Mapping

from app.checks import raised
from app.checks.raised import Place, finding_of
from app.comparing.gate import Profile, Weight, differences, tool_of
from app.comparing.pairing import paired
from app.comparing.sides import Key, Side
from app.events import Event, FindingRaised, PolicyDecided, State
from app.plans.plan import Plan, PlanError, Policy, Step
from app.plans.repetition import Rule, UntilVerdict
from app.records import RunRecord, SampleSeries
from app.runs.schedule import Judged, MakeRule, PlaceKey, Schedule, Turn, deciding
from app.runs.unsteady_start import start_findings
from app.summary import MetricSummary
from app.wording import metric_text
from suites.base import Parsed
from suites.errors import UnitError
from suites.facts import Facts, known
from suites.units import convert
from suites.vocab import Finding, Labels, Metric


def verdict_rules(plan: Plan, baseline: RunRecord | None, facts: Mapping[str, Facts]) -> MakeRule | None:
    """Return what makes the rules of a plan that runs until its verdict is settled; None for every other plan.

    The gate comes first: where the baseline measured something else, no number of trials brings a verdict, and the
    rule says so.
    """
    if plan.repetition.policy is not Policy.UNTIL_VERDICT or baseline is None:
        return None
    side = Side([baseline])
    answers: dict[PlaceKey, tuple[dict[Key, MetricSummary], str]] = {}
    for ours, theirs in paired(plan, side).items():
        for host in ours.hosts:
            gate = differences(_profile(plan, ours.step, host, facts), side.profile(theirs))
            obstacle = "; ".join(each.text for each in gate if each.weight is Weight.FATAL)
            of_hosts = _of_hosts(len(ours.hosts), len(theirs.hosts))
            answers[ours.step.name, host] = side.figures(theirs), obstacle or of_hosts

    def make(place: PlaceKey, metric: Metric, labels: Labels) -> Rule:
        given = plan.repetition
        figures, obstacle = answers.get(place, ({}, "the baseline has no such step and host"))
        values, lacking = _values(figures.get((metric.name, labels)), metric)
        return UntilVerdict(
            values, metric.better, given.margin, given.confidence, given.minimum, given.cap, obstacle or lacking
        )

    return make


def _of_hosts(ours: int, theirs: int) -> str:
    """Return why no trial settles a verdict in which hosts are taken together, for then each host is one value."""
    return f"it rests on hosts, {ours} against {theirs}, and trials add none" if max(ours, theirs) > 1 else ""


def _profile(plan: Plan, step: Step, host: str, facts: Mapping[str, Facts]) -> Profile:
    """Return what is known of a place before its first trial."""
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
    """Return the baseline's trials in the unit of `metric`, or why there are none."""
    if found is None:
        return (), "the baseline has no figure of it"
    try:
        return tuple(convert(value, found.metric.unit, metric.unit) for value in found.values), ""
    except UnitError as error:
        return (), str(error)


def check_baseline(plan: Plan, baseline: RunRecord) -> None:
    """Raise PlanError where no step of `plan` could ever be settled against `baseline`."""
    answered = {ours.step.name for ours in paired(plan, Side([baseline]))}
    if not answered:
        name = plan.repetition.baseline
        raise PlanError(
            f"The plan runs until its verdict against “{name}” is settled, and “{name}” has none of its steps.",
            "Name a baseline that measured the same, or choose another policy.",
        )


def decided(judged: Judged | None) -> Iterator[Event]:
    """Yield what the trials of a place say about going on, and the finding that they ended without an answer."""
    if judged is None:
        return
    step, host = judged.place
    yield PolicyDecided(host, step, judged.metric, judged.labels, judged.decision)
    if judged.decision.stop and not judged.decision.settled:
        yield FindingRaised(_unsettled(judged))


def replayed(record: RunRecord) -> dict[int, PolicyDecided]:
    """Return what was decided after each trial of a stored run, by the trial's id.

    Nothing of that is stored: the same rule says the same of the same trials. What a plan waited for a verdict on is
    left out, for its baseline may have become another since.
    """
    if record.plan.repetition.policy is Policy.UNTIL_VERDICT:
        return {}
    schedule, found = Schedule(record.plan), {}
    steps = {step.name: step for step in record.plan.steps}
    for trial in record.trials:
        one = trial.trial
        if trial.state is not State.DONE or one.step not in steps or one.host not in record.plan.hosts:
            continue
        judged = schedule.took(Turn(steps[one.step], one.host, one.number, one.warm_up), trial.figures, 0.0, 0.0)
        if judged is not None:
            found[one.id] = PolicyDecided(one.host, one.step, judged.metric, judged.labels, judged.decision)
    return found


def unsteady_starts(turn: Turn, parsed: Parsed) -> Iterator[Finding]:
    """Yield a finding for each leading figure of a trial whose start differs from its rest."""
    if not turn.warm_up:
        names = {figure.metric.name for figure in deciding(turn.step, parsed.figures)}
        for name in names:
            yield from start_findings(parsed.figures, parsed.samples, name, turn.step.name, turn.host)


def missed_starts(record: RunRecord, samples: SampleSeries, place: PlaceKey) -> Iterator[FindingRaised]:
    """Yield the findings about starts of a place's trials that are not stored: Benchwright ended before they were."""
    stored = zip(record.findings, record.finding_trials or (None,) * len(record.findings), strict=True)
    known = {(trial, finding.measured) for finding, trial in stored if finding.id == raised.UNSTEADY_START.id}
    for one in record.trials:
        trial = one.trial
        if one.state is State.DONE and (trial.step, trial.host) == place:
            turn = Turn(record.plan.step(trial.step), trial.host, trial.number, trial.warm_up)
            for finding in unsteady_starts(turn, Parsed(one.figures, samples.get(trial.id, ()))):
                if (trial.id, finding.measured) not in known:
                    yield FindingRaised(finding, trial.id)


def _unsettled(judged: Judged) -> Finding:
    decision, (step, host) = judged.decision, judged.place
    figure = metric_text(judged.metric, judged.labels) if judged.metric is not None else step
    return finding_of(raised.NOT_SETTLED, Place(host, step), f"{figure}: {decision.reason}.")
