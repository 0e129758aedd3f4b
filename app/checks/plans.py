"""Checks of a plan as a whole: its question, how many trials it makes, in which order, and on which hosts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from app.plans.plan import Order, Plan
from suites.checks import CannotTell, Check, Outcome
from suites.facts import Absent, Facts, known
from suites.vocab import Level

FOR_A_SPREAD = 3
"""Trials below which nothing can be said of how far they lie apart."""

FOR_AN_INTERVAL = 6
"""Trials below which no interval at 95 % covers the median, whatever was measured (order statistics; benchstat)."""

DRIFT = 600.0
"""Seconds after which what is measured second is measured under other conditions (RMIT: interleave)."""


@dataclass(frozen=True, slots=True)
class PlanEvidence:
    """What a check of a whole plan may look at; `facts` are by host, as far as they were read."""

    plan: Plan
    facts: Mapping[str, Facts] = field(default_factory=dict)
    name: None = None
    host: None = None


def _few_trials(evidence: PlanEvidence) -> Outcome | None:
    trials = evidence.plan.repetition.fewest
    if trials >= FOR_AN_INTERVAL:
        return None
    what = "no spread can be told" if trials < FOR_A_SPREAD else "a spread can be told, but no interval at 95 %"
    return Outcome(f"{trials} trial{'' if trials == 1 else 's'} of each step: {what}.")


def _no_question(evidence: PlanEvidence) -> Outcome | None:
    return None if evidence.plan.question.strip() else Outcome("The plan names no question.")


def _one_after_another(evidence: PlanEvidence) -> Outcome | CannotTell | None:
    plan = evidence.plan
    if plan.order is not Order.BLOCK or len(plan.hosts) < 2:
        return None
    seconds = [_estimated(evidence, host) for host in plan.hosts]
    known_seconds = [value for value in seconds if value is not None]
    if len(known_seconds) < len(seconds):
        return CannotTell("How long the steps take is not known.")
    if max(known_seconds) < DRIFT:
        return None
    return Outcome(
        f"All trials of a step on {plan.hosts[0]} come before those on {plan.hosts[1]}: "
        f"about {max(known_seconds) / 60:.0f} min apart."
    )


def _estimated(evidence: PlanEvidence, host: str) -> float | None:
    """Return the seconds that the longest step takes on one host, or None where one cannot be known."""
    from app.plans.context import step_context

    trials = evidence.plan.repetition.fewest
    found = [
        step.suite.estimate(step.values, step_context(step, host, evidence.facts)).duration
        for step in evidence.plan.steps
    ]
    durations = [duration for duration in found if duration is not None]
    return max(durations) * trials if len(durations) == len(found) else None


_COMPARED: tuple[tuple[str, Callable[[Facts], object]], ...] = (
    ("kernel", lambda facts: facts.system.kernel),
    ("instance type", lambda facts: facts.cloud.instance_type),
    ("processor", lambda facts: facts.cpu.model),
    ("governor", lambda facts: facts.cpu.governor),
)
"""What makes two hosts differ beside the thing that is to be compared."""


def _hosts_differ(evidence: PlanEvidence) -> Outcome | CannotTell | None:
    hosts = evidence.plan.hosts
    if len(hosts) < 2:
        return None
    read = [evidence.facts[host] for host in hosts if host in evidence.facts]
    if len(read) < len(hosts):
        return CannotTell("The facts of every host have not been read.")
    differing = [f"{what}: {_list(values)}" for what, get in _COMPARED if len(values := _values(read, get)) > 1]
    return Outcome(f"They differ in {'; '.join(differing)}.") if differing else None


def _values(read: Iterable[Facts], get: Callable[[Facts], object]) -> list[str]:
    return list(dict.fromkeys(str(known(value)) for facts in read if not isinstance(value := get(facts), Absent)))


def _list(values: list[str]) -> str:
    shown = ", ".join(values[:3])
    return f"{shown} and {len(values) - 3} more" if len(values) > 3 else shown


FEW_TRIALS = Check(
    id="few-trials",
    level=Level.INFO,
    title="Few trials",
    why="A difference between two hosts means nothing while it is not known how far trials on one host differ.",
    remedy=f"Make {FOR_AN_INTERVAL} trials or more for a comparison; fewer do for a first look.",
    source="benchstat: at least 6 samples for an interval at 95 %.",
    needs="The repetition.",
    evaluate=_few_trials,
)

NO_QUESTION = Check(
    id="no-question",
    level=Level.INFO,
    title="No question is written down",
    why="The best benchmark is your own application; any other figure has to be tied back to it. Volumes that won by "
    "I/Os a second lost with the application on them.",
    remedy="Write down which question of your application this stands for, and what figure would answer it.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2.",
    needs="The plan's question.",
    evaluate=_no_question,
)

ONE_AFTER_ANOTHER = Check(
    id="one-host-after-another",
    level=Level.WARNING,
    title="One host is measured long after the other",
    why="What drifts in the meantime, neighbours and the time of day among it, looks like a difference between them: "
    "in simulated drift 31 % of such comparisons found one that was not there, of randomised pairs 5 %.",
    remedy="Let the hosts take turns: order interleaved, randomised or abba.",
    source="Randomised multiple interleaved trials (Abedi and Brecht 2017); simulated for this project.",
    needs="The order, the hosts, and how long the steps take.",
    evaluate=_one_after_another,
)

HOSTS_DIFFER = Check(
    id="hosts-differ",
    level=Level.INFO,
    title="The hosts differ in more than their names",
    why="An old kernel in an image made three of five instances vary by nearly 50 %: the image, not the instance type. "
    "What differs belongs to the comparison.",
    remedy="Make them alike in all but what is in question, or say what the comparison is of.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2.",
    needs="Kernel, instance type, processor and governor of every host.",
    evaluate=_hosts_differ,
)

PLAN_CHECKS = (NO_QUESTION, FEW_TRIALS, ONE_AFTER_ANOTHER, HOSTS_DIFFER)
