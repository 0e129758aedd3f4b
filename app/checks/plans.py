"""Checks of a plan: required programs, number of trials, order, differences between hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.comparison.comparability import host_differences
from app.comparison.estimates import FEWEST_TRIALS
from app.hosts.packages import has_program, installation_of, works_without
from app.plans.context import step_context
from app.plans.duet import facts_seen
from app.plans.plan import Order, Plan, host_label
from suites.base import StepEvidence
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked, blocking_check
from suites.facts import Facts, known
from suites.programs import Program
from suites.quantities import count_text
from suites.vocab import Severity

FOR_A_SPREAD = 3
"""Fewest trials for a spread."""

DRIFT = 600.0
"""Seconds between two hosts' trials from which conditions may have drifted (RMIT: interleave)."""


@dataclass(frozen=True, slots=True)
class PlanEvidence:
    """Evidence of a whole plan; `facts` are keyed by host, for the hosts that were read."""

    plan: Plan
    facts: Mapping[str, Facts] = field(default_factory=dict)
    name: None = None
    host: None = None


def _few_trials(evidence: PlanEvidence) -> CheckOutcome | None:
    plan = evidence.plan
    trials = plan.repetition.fewest
    if trials >= FEWEST_TRIALS or plan.repetition.is_quick_look:  # its verdict says so
        return None
    return CheckOutcome(f"{count_text(trials, 'trial')} per step: {missing_statistics(trials)}.")


def missing_statistics(trials: int) -> str:
    """Return what fewer than FEWEST_TRIALS trials do not give."""
    if trials < 2:
        return "no spread and no 95 % interval"
    return "no verdict of a comparison; the 95 % interval assumes normally distributed trials"


def _one_after_another(evidence: PlanEvidence) -> CheckOutcome | NotChecked | None:
    plan = evidence.plan
    if plan.order not in {Order.BLOCK, Order.DUET} or len(plan.hosts) < 2:
        return None
    seconds = [_estimated(evidence, host) for host in plan.hosts]
    known_seconds = [value for value in seconds if value is not None]
    if len(known_seconds) < len(seconds):
        return NotChecked("The duration of the steps is unknown.")
    if max(known_seconds) < DRIFT:
        return None
    return CheckOutcome(
        f"All trials of a step on {host_label(plan.hosts[0])} come before those on {host_label(plan.hosts[1])}: "
        f"about {max(known_seconds) / 60:.0f} min apart."
    )


def _estimated(evidence: PlanEvidence, host: str) -> float | None:
    """Return the seconds of all trials of the longest step on one host; None if a duration is unknown."""
    trials = evidence.plan.repetition.fewest
    found = [
        step.suite.estimate(step.values, step_context(step, host, facts_seen(evidence.plan, evidence.facts))).duration
        for step in evidence.plan.steps_on(host)
    ]
    durations = [duration for duration in found if duration is not None]
    return max(durations) * trials if len(durations) == len(found) else None


def _hosts_differ(evidence: PlanEvidence) -> CheckOutcome | NotChecked | None:
    hosts = evidence.plan.hosts
    if len(hosts) < 2:
        return None
    read = [evidence.facts[host] for host in hosts if host in evidence.facts]
    if len(read) < len(hosts):
        return FACTS_NOT_READ
    found = {what: values for what, values in host_differences(evidence.plan.steps, read) if len(values) > 1}
    differing = [f"{what}: {_list(values)}" for what, values in found.items()]
    return CheckOutcome(f"The hosts differ in {'; '.join(differing)}.") if differing else None


def _one_host_twice(evidence: PlanEvidence) -> CheckOutcome | None:
    names: dict[str, list[str]] = {}
    for host in evidence.plan.hosts:
        boot = known(evidence.facts[host].system.boot_id) if host in evidence.facts else None
        if boot is not None:
            names.setdefault(boot, []).append(host_label(host))
    twice = [" and ".join(hosts) for hosts in names.values() if len(hosts) > 1]
    return CheckOutcome(f"{'; '.join(twice)} report the same boot id.") if twice else None


def _list(values: list[str]) -> str:
    shown = ", ".join(values[:3])
    return f"{shown} and {len(values) - 3} more" if len(values) > 3 else shown


FEW_TRIALS = Check(
    id="few-trials",
    of_result=False,
    severity=Severity.INFO,
    title=f"Fewer than {FEWEST_TRIALS} trials",
    why="Without the variation between trials on one host, a difference between hosts means nothing.",
    remedy=f"Run {FEWEST_TRIALS} trials or more for a comparison, or one for a quick look.",
    source="benchstat: at least 6 samples for an interval at 95 %.",
    needs="The repetition settings.",
    evaluate=_few_trials,
)

ONE_AFTER_ANOTHER = Check(
    id="one-host-after-another",
    title="Hosts measured one after another",
    why="Drift between them (neighbours, time of day) looks like a difference: in simulated drift, 31 % of such "
    "comparisons found a difference that did not exist, against 5 % of randomised pairs.",
    remedy="Set the order to interleaved, randomised or abba.",
    source="Randomised multiple interleaved trials (Abedi and Brecht 2017); simulated for this project.",
    needs="The order, the hosts, and the duration of the steps.",
    evaluate=_one_after_another,
)

HOSTS_DIFFER = Check(
    id="hosts-differ",
    of_result=False,
    severity=Severity.INFO,
    title="Hosts differ in configuration",
    why="The comparison includes these differences. An old kernel in an image made three of five instances vary by "
    "nearly 50 %.",
    remedy="Make the hosts alike except in what you compare, or state what you compare.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2.",
    needs="Instance type, CPU, memory, kernel, tool versions, file system and device of every host.",
    evaluate=_hosts_differ,
)

ONE_HOST_TWICE = Check(
    id="one-host-twice",
    title="Two hosts are one machine",
    why="The names lead to one kernel, or to containers on it: a difference between them is noise, and each finds the "
    "files and caches of the other.",
    remedy="Remove one of the names, or check the addresses of the saved hosts.",
    source="/proc/sys/kernel/random/boot_id: each boot of a kernel has another.",
    needs="The boot id of every host.",
    evaluate=_one_host_twice,
)


def _shared_place(evidence: PlanEvidence) -> CheckOutcome | None:
    plan = evidence.plan
    found = [
        f"{step.name} on {_list([host_label(host) for host in plan.hosts if host not in values])}: {name} "
        f"{step.values[name] or 'empty'}"
        for step in plan.steps
        for name, values in step.by_host.items()
        if set(plan.hosts) - set(values)
    ]
    return CheckOutcome(f"{'; '.join(found)}.") if found else None


SHARED_PLACE = Check(
    id="shared-place",
    of_result=False,
    severity=Severity.INFO,
    title="Hosts without a place of their own",
    why="These hosts use the value for all others.",
    remedy="Give each host its own value, as in --set directory@HOST=/srv.",
    source="The plan.",
    needs="The values of single hosts.",
    evaluate=_shared_place,
)

PLAN_CHECKS = (FEW_TRIALS, ONE_AFTER_ANOTHER, HOSTS_DIFFER, ONE_HOST_TWICE, SHARED_PLACE)


def _tool_missing(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    facts = evidence.context.facts
    needed = evidence.suite.programs(evidence.values, facts)
    if not needed:
        return None
    return FACTS_NOT_READ if facts is None else missing_programs(needed, facts, evidence.host)


def missing_programs(
    needed: Sequence[Program], facts: Facts, host: str, *, otherwise: str = ""
) -> CheckOutcome | NotChecked | None:
    """Return that programs of a step are not installed on `host`; or why that is unknown.

    `otherwise` is what to do without them; by default the tests that work there are named.
    """
    found = {program.title: has_program(program, facts) for program in needed}
    missing = [program for program in needed if found[program.title] is False]
    if not missing:
        unknown = [title for title, there in found.items() if there is None]
        return NotChecked(f"Not checked on this host: {' and '.join(unknown)}.") if unknown else None
    way = installation_of(missing, facts)
    install = f"Install it: {way.command}" if way.command else _manual_install(missing)
    names, where = " and ".join(map(_name, missing)), host_label(host)
    return CheckOutcome(
        measured=f"{names} {_WERE[len(missing) > 1]} not found on {where}.",
        remedy=" ".join(part for part in (install, way.note, otherwise or works_without(facts)) if part),
        install=way.command,
    )


_WERE = {False: "was", True: "were"}


def _name(program: Program) -> str:
    """Return the program's title, and the names searched for in brackets if they differ."""
    names = ", ".join(program.names)
    return names if program.names == (program.title,) else f"{program.title} ({names})"


def _manual_install(missing: list[Program]) -> str:
    packages = [next(iter(program.packages.values()), program.title) for program in missing]
    return f"Install the package {' and '.join(packages)} with the host's own tools."


TOOL_MISSING = blocking_check(
    id="tool-missing",
    title="Required program not installed",
    why="The test cannot run without it. Installing changes the host, so Benchwright does it only on request.",
    remedy="Install it.",
    source="command -v on the host.",
    needs="Whether the host has the tool, compiler or server that the step needs.",
    evaluate=_tool_missing,
)
