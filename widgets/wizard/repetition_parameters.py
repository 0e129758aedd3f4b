"""Repetition and order as parameters, so that the wizard draws and checks them like those of a suite. No Qt."""

from collections.abc import Callable, Mapping
from functools import partial

from app.plans.plan import CAP, DAY, MAXIMUM_TRIALS, MINIMUM, Order, Plan, PlanError, Policy, Repetition
from app.plans.validation import LEAST_EVERY, MOST_EVERY, MOST_SESSIONS, check_repetition
from suites.parameters import Choice, Parameter, Type, Value, Values, flag_parameter, text_parameter

QUICK = "quick"
"""The choice of a quick look, which is a fixed number of one trial."""


def _under(*policies: Policy) -> Callable[[Values], bool]:
    """Return a predicate: the parameter is used under these policies only."""
    return lambda values: values.get("policy") in policies


def _repeats(values: Values) -> bool:
    return int(values.get("sessions", 1)) > 1


def _alone(values: Values) -> bool:
    return values.get("order") != Order.DUET.value


def _drawn(values: Values) -> bool:
    return Order(str(values.get("order", Order.BLOCK))).drawn


_percentage = partial(Parameter, type=Type.NUMBER, unit="%", maximum=100)
_limit = partial(
    Parameter,
    type=Type.INTEGER,
    minimum=MINIMUM,
    maximum=MAXIMUM_TRIALS,
    applies=_under(Policy.UNTIL_INTERVAL, Policy.UNTIL_VERDICT),
)

REPETITION = (
    Parameter(
        name="policy",
        title="Stopping rule",
        default=Policy.FIXED.value,
        choices=(
            Choice(Policy.FIXED.value, "Fixed number"),
            Choice(QUICK, "Quick look"),
            Choice(Policy.UNTIL_INTERVAL.value, "Until precise"),
            Choice(Policy.UNTIL_VERDICT.value, "Until a verdict"),
            Choice(Policy.BUDGET.value, "Time budget"),
        ),
        help="When to stop repeating a step on a host. “Quick look” is one trial without an interval. “Until a "
        "verdict” needs a baseline and the fewest trials.",
    ),
    Parameter(
        name="trials",
        title="Trials",
        type=Type.INTEGER,
        default=MINIMUM,
        minimum=1,
        maximum=MAXIMUM_TRIALS,
        help="Trials of each step on each host. A 95 % interval needs at least six.",
        applies=_under(Policy.FIXED),
    ),
    _percentage(
        name="precision",
        title="Target precision ±",
        default=2.0,
        minimum=0.1,
        help="Stops when the 95 % interval of the result is within ± this share of it, twice in a row. At ±2 %, a "
        "spread of 1, 3 or 5 % between trials takes about 7, 14 or 27 trials.",
        applies=_under(Policy.UNTIL_INTERVAL),
    ),
    text_parameter(
        name="baseline",
        title="Baseline",
        help="Name of a pinned run. Its step must measure the same.",
        applies=_under(Policy.UNTIL_VERDICT),
    ),
    text_parameter(
        name="margin",
        title="Equivalence margin ± [%]",
        pattern=r"\d{1,3}(\.\d{1,4})?",
        help="Largest difference that does not matter. Stops when the interval of the ratio is entirely outside or "
        "entirely inside the margin. Empty: that of the metric, yours or 5 % (10 % from p99 up).",
        applies=_under(Policy.UNTIL_VERDICT),
    ),
    Parameter(
        name="confidence",
        title="Confidence",
        default="95",
        choices=(Choice("95", "95 %"), Choice("99", "99 %")),
        help="At 95 %, a false “better”, “worse” or “smaller” has at most 2.5 % each, at 99 % 0.5 %, over all trials.",
        applies=_under(Policy.UNTIL_VERDICT),
    ),
    _limit(
        name="minimum",
        title="Minimum trials",
        default=MINIMUM,
        help="Trials that always run. A 95 % interval needs at least six.",
    ),
    _limit(
        name="cap",
        title="Maximum trials",
        default=CAP,
        help="Stops the step as undecided after this many trials and estimates how many more it needs.",
    ),
    Parameter(
        name="budget",
        title="Time budget",
        type=Type.DURATION,
        default=600.0,
        minimum=1,
        maximum=30 * 86400,
        help="Shared by all steps and hosts. Each step runs at least once on each host.",
        applies=_under(Policy.BUDGET),
    ),
    Parameter(
        name="warm_ups",
        title="Warm-ups",
        type=Type.INTEGER,
        default=0,
        minimum=0,
        maximum=MAXIMUM_TRIALS,
        help="Trials before the first counted one. They are stored, marked and excluded from the statistics.",
    ),
    Parameter(
        name="pause",
        title="Pause between trials",
        type=Type.DURATION,
        default=0.0,
        minimum=0,
        maximum=86400,
        help="Lets caches, CPU credits and temperature settle.",
    ),
    flag_parameter(
        name="profile",
        title="Profiled trial",
        help="One more trial of each step under perf, after those that count: counters and sampled stacks (flame "
        "graph) of the processes on the host under test. It is stored, marked and excluded from the statistics.",
        applies=_alone,
    ),
    Parameter(
        name="sessions",
        title="Sessions",
        type=Type.INTEGER,
        default=1,
        minimum=1,
        maximum=MOST_SESSIONS,
        help="Runs of this plan, spread over time. Trials of one run share its moment: only several sessions show how "
        "results differ from day to day. Later sessions start by themselves while Benchwright is open.",
    ),
    Parameter(
        name="every",
        title="Session every",
        type=Type.DURATION,
        default=DAY,
        minimum=LEAST_EVERY,
        maximum=MOST_EVERY,
        help="Time from the start of one session to the next. A session that was missed runs when possible.",
        applies=_repeats,
    ),
    Parameter(
        name="order",
        title="Order",
        default=Order.BLOCK.value,
        choices=(
            Choice(Order.BLOCK.value, "Step by step"),
            Choice(Order.INTERLEAVED.value, "Interleaved"),
            Choice(Order.RANDOMISED.value, "Randomised order"),
            Choice(Order.ABBA.value, "ABBA, randomised"),
            Choice(Order.DUET.value, "Duet, both at once"),
        ),
        help="Interleaved: trial 1 of every step on every host, then trial 2, so that drift affects all alike. "
        "Randomised: periodic load affects all alike, too. ABBA: every second round mirrors the previous one. "
        "Duet: two steps at the same moment, each pinned to half of the CPUs, halves swapped by trial.",
    ),
    text_parameter(
        name="seed",
        title="Random seed",
        pattern=r"\d{1,18}",
        help="The same number gives the same order. Empty: a seed is generated and stored with the run.",
        applies=_drawn,
    ),
)
"""Parameters of the form. Shares are in percent here."""


def values_of(plan: Plan) -> dict[str, Value]:
    """Return the form's values for `plan`."""
    given = plan.repetition
    values: dict[str, Value] = {
        "policy": QUICK if given.is_quick_look else given.policy.value,
        "confidence": f"{100 * given.confidence:g}",
        "order": plan.order.value,
        "seed": "" if plan.seed is None else str(plan.seed),
    }
    for name in ("trials", "baseline", "minimum", "cap", "budget", "warm_ups", "pause", "profile", "sessions", "every"):
        values[name] = getattr(given, name)
    if given.is_quick_look:
        values["trials"] = MINIMUM  # for the user who selects the fixed number
    values["precision"] = round(100 * given.precision, 9)
    values["margin"] = "" if given.margin is None else f"{round(100 * given.margin, 9):g}"
    return values


def repetition_of(values: Mapping[str, Value]) -> Repetition:
    """Return the Repetition of the form's values."""
    quick = values["policy"] == QUICK
    return Repetition(
        trials=1 if quick else int(values["trials"]),
        warm_ups=int(values["warm_ups"]),
        pause=float(values["pause"]),
        profile=bool(values["profile"]) and _alone(values),
        policy=Policy.FIXED if quick else Policy(str(values["policy"])),
        precision=float(values["precision"]) / 100,
        baseline=str(values["baseline"]).strip(),
        margin=round(float(values["margin"]) / 100, 9) if values["margin"] else None,
        confidence=float(values["confidence"]) / 100,
        minimum=int(values["minimum"]),
        cap=int(values["cap"]),
        budget=float(values["budget"]),
        sessions=int(values["sessions"]),
        every=float(values["every"]) if _repeats(values) else DAY,
    )


def order_of(values: Mapping[str, Value]) -> tuple[Order, int | None]:
    """Return the order and seed of the form's values."""
    order, seed = Order(str(values["order"])), str(values["seed"])
    return order, int(seed) if order.drawn and seed else None


def problem_of(values: Mapping[str, Value], pinned: frozenset[str] | None) -> str:
    """Return the conflict between the values, or an empty string. `pinned`: names of the baselines, None if unknown."""
    repetition = repetition_of(values)
    try:
        check_repetition(repetition)
    except PlanError as error:
        return str(error)
    wanted = repetition.baseline
    if repetition.policy is Policy.UNTIL_VERDICT and pinned is not None and wanted not in pinned:
        known = f"Pinned runs: {', '.join(sorted(pinned))}." if pinned else "Pin a run in the library first."
        return f"No run is pinned as “{wanted}”. {known}"
    return ""
