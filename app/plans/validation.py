"""Validation of plans: hosts, steps, values, repetition, tuning and goals."""

from collections import Counter

from app.plans.goals import check_goals
from app.plans.plan import (
    DAY,
    LOCAL,
    MAXIMUM_TRIALS,
    MINIMUM,
    MOST_PAUSE,
    TELEMETRY_INTERVALS,
    Order,
    Plan,
    PlanError,
    Policy,
    Repetition,
    Step,
)
from app.plans.tuning import check_tuning
from suites.errors import ParameterError
from suites.parameters import format_duration


def validate(plan: Plan, *, usable_goals: bool = True) -> Plan:
    """Return `plan` if it is valid; raise PlanError or ParameterError naming the fault.

    Plans of stored runs are checked too: a library can contain any value.
    """
    if not plan.hosts:
        raise PlanError("The plan has no host.", f'Add hosts = ["{LOCAL}"] for this computer.')
    for host, count in Counter(plan.hosts).items():
        if not host.strip() or not host.isprintable():
            raise PlanError(f"Invalid host name “{host[:60]}”.", "Use a name from “benchwright hosts”.")
        if count > 1:
            raise PlanError(f"The plan lists the host {host} twice.", "Name each host once.")
    if not plan.steps:
        raise PlanError("The plan has no step.", "Add at least one [[step]] with a suite.")
    names = [step.name for step in plan.steps]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"Two steps are named “{name}”.", "Give each step a unique name.")
    for step in plan.steps:
        _check_by_host(step, plan.hosts)
    check_repetition(plan.repetition)
    check_duet(plan.order, plan.repetition.policy, len(plan.steps))
    check_profile(plan.order, plan.repetition)
    check_tuning(plan.tuning)
    _check_interval(plan.telemetry_interval)
    if usable_goals:  # an older version may have accepted others
        check_goals(plan.goals, plan.steps)
    return plan


def check_duet(order: Order, policy: Policy, steps: int) -> None:
    """Raise PlanError if `order` is DUET and the policy or the number of steps does not fit."""
    if order is not Order.DUET:
        return
    if steps != 2:
        raise PlanError(
            f"A duet has 2 steps, this plan has {steps}.",
            "Name the same step twice for an A/A check, or choose another order.",
        )
    if policy not in DUET_POLICIES:
        raise PlanError(
            f"The policy {policy} is of one step; a duet repeats pairs of two.",
            "Set a number of trials or a time budget.",
        )


def check_profile(order: Order, repetition: Repetition) -> None:
    """Raise PlanError if a duet is to be profiled: both sides would be sampled, on half of the CPUs each."""
    if repetition.profile and order is Order.DUET:
        raise PlanError("A duet has no profiled trial.", "Profile the steps in a plan of another order.")


def _check_interval(seconds: float) -> None:
    least, most = TELEMETRY_INTERVALS[0], TELEMETRY_INTERVALS[-1]
    if not least <= seconds <= most:
        raise PlanError(f"telemetry_interval is {seconds:g}.", f"Set {least:g} to {most:g} seconds.")


def _check_by_host(step: Step, hosts: tuple[str, ...]) -> None:
    """Raise PlanError for a value of a host that is not of the plan, or that makes its test another one.

    Raises ParameterError for a value that its parameter rejects or would change.
    """
    for name, values in step.by_host.items():
        unknown = [host for host in values if host not in hosts]
        if unknown:
            raise PlanError(
                f"{step.name}: {name} names {', '.join(unknown)[:120]}, not a host of the plan.",
                f"Its hosts are {', '.join(hosts)[:200]}.",
            )
    tests = {host: step.on(host).fingerprint() for host in hosts if step.by_host}
    other = next((host for host in tests if tests[host] != tests[hosts[0]]), None)
    if other is not None:
        raise PlanError(
            f"{step.name} measures something else on {other} than on {hosts[0]}, such as a device instead of files.",
            "Give each host the same kind of place, or use two plans.",
        )
    for host in tests or hosts[:1]:
        _check_values(step.on(host))


def _check_values(step: Step) -> None:
    """Raise ParameterError for a value that its parameter rejects or would change."""
    for parameter in step.suite.parameters:
        value = step.values.get(parameter.name, parameter.default)
        if parameter.parse(value) != value:
            raise ParameterError(
                f"{step.name}: {parameter.name} is {str(value)[:60]!r}.", "Set a valid value in the plan."
            )


_BOUNDS: dict[str, tuple[float, float]] = {
    "trials": (1, MAXIMUM_TRIALS),
    "warm_ups": (0, MAXIMUM_TRIALS),
    "pause": (0, MOST_PAUSE),
    "precision": (0.001, 1),
    "margin": (0, 1),
    "minimum": (MINIMUM, MAXIMUM_TRIALS),
    "cap": (MINIMUM, MAXIMUM_TRIALS),
    "budget": (1, 30 * 86400),
}
"""Bounds of the fields of a repetition."""

MOST_SESSIONS = 1000
LEAST_EVERY = 600.0
"""Least seconds between two sessions: sessions closer to each other share their moment."""
MOST_EVERY = 366 * DAY

DUET_POLICIES = frozenset({Policy.FIXED, Policy.BUDGET})
"""Policies of a duet: the others stop by the figures of one step."""

CONFIDENCES = (0.95, 0.99)


def check_repetition(given: Repetition) -> None:
    """Raise PlanError if a field that the policy uses is out of bounds, or fields contradict each other."""
    ruling = given.ruling()
    for name, (low, high) in _BOUNDS.items():
        value = ruling.get(name, low)
        if value is None:  # a margin by metric
            continue
        if not isinstance(value, int | float) or not low <= value <= high:
            raise PlanError(f"repetition.{name} is {value:g}.", f"Set {low:g} to {high:g}.")
    if not 1 <= given.sessions <= MOST_SESSIONS:
        raise PlanError(f"repetition.sessions is {given.sessions}.", f"Set 1 to {MOST_SESSIONS}.")
    if not LEAST_EVERY <= given.every <= MOST_EVERY:
        raise PlanError(
            f"repetition.every is {format_duration(given.every)}.",
            f"Set {format_duration(LEAST_EVERY)} to {format_duration(MOST_EVERY)}.",
        )
    if "cap" in ruling and given.cap < given.minimum:
        raise PlanError(f"repetition.cap is {given.cap}.", f"Set at least the minimum, {given.minimum}.")
    if given.policy is Policy.UNTIL_VERDICT:
        if not given.baseline.strip():
            raise PlanError("The policy until-verdict has no baseline.", "Set baseline to the name of a pinned run.")
        if given.confidence not in CONFIDENCES:
            raise PlanError(f"repetition.confidence is {given.confidence:g}.", "Set 0.95 or 0.99.")
