"""How often, until when and in which order, as the wizard asks for it: drawn and checked like any parameter. No Qt."""

from collections.abc import Callable, Mapping

from app.plans.plan import CAP, MAXIMUM_TRIALS, MINIMUM, Order, Plan, PlanError, Policy, Repetition, check_repetition
from suites.parameters import Choice, Parameter, Type, Value, Values


def _under(*policies: Policy) -> Callable[[Values], bool]:
    """Say that a parameter has an effect under some policies alone."""
    return lambda values: values.get("policy") in policies


def _drawn(values: Values) -> bool:
    return Order(str(values.get("order", Order.BLOCK))).drawn


_UNTIL = (Policy.UNTIL_INTERVAL, Policy.UNTIL_VERDICT)

REPETITION = (
    Parameter(
        name="policy",
        title="Measure",
        type=Type.CHOICE,
        default=Policy.FIXED.value,
        choices=(
            Choice(Policy.FIXED.value, "So many trials"),
            Choice(Policy.UNTIL_INTERVAL.value, "Until it is precise"),
            Choice(Policy.UNTIL_VERDICT.value, "Until a verdict"),
            Choice(Policy.BUDGET.value, "For so much time"),
        ),
        help="What ends the trials of a step on a host. “Until a verdict” needs a baseline and the fewest trials.",
    ),
    Parameter(
        name="trials",
        title="Trials",
        type=Type.INTEGER,
        default=3,
        minimum=1,
        maximum=MAXIMUM_TRIALS,
        help="How often each step is measured on each host. An interval needs three; a verdict needs six or more.",
        applies=_under(Policy.FIXED),
    ),
    Parameter(
        name="precision",
        title="Within ± percent",
        type=Type.NUMBER,
        unit="%",
        default=2.0,
        minimum=0.1,
        maximum=100,
        help="Stops once both edges of the middle’s 95 % interval lie so near to it, twice in a row. At ±2 % a spread "
        "of 1, 3 and 5 % between trials takes about 7, 14 and 27 trials.",
        applies=_under(Policy.UNTIL_INTERVAL),
    ),
    Parameter(
        name="baseline",
        title="Against the baseline",
        type=Type.TEXT,
        default="",
        help="The name under which a run is pinned. Its step must measure the same.",
        applies=_under(Policy.UNTIL_VERDICT),
    ),
    Parameter(
        name="margin",
        title="Margin ± percent",
        type=Type.NUMBER,
        unit="%",
        default=5.0,
        minimum=0,
        maximum=100,
        help="A difference that does not matter to you. Stops once the interval of the ratio lies wholly beyond the "
        "margin, or wholly within it.",
        applies=_under(Policy.UNTIL_VERDICT),
    ),
    Parameter(
        name="confidence",
        title="Confidence",
        type=Type.CHOICE,
        default="95",
        choices=(Choice("95", "95 %"), Choice("99", "99 %")),
        help="At 95 %, 8 of 100 verdicts are wrong where the difference is exactly the margin; at 99 %, 2.",
        applies=_under(Policy.UNTIL_VERDICT),
    ),
    Parameter(
        name="minimum",
        title="Trials at least",
        type=Type.INTEGER,
        unit="trials",
        default=MINIMUM,
        minimum=MINIMUM,
        maximum=MAXIMUM_TRIALS,
        help="Trials in any case. Fewer than six carry no interval at 95 %.",
        applies=_under(*_UNTIL),
    ),
    Parameter(
        name="cap",
        title="Trials at most",
        type=Type.INTEGER,
        unit="trials",
        default=CAP,
        minimum=MINIMUM,
        maximum=MAXIMUM_TRIALS,
        help="Trials after which a step is given up as unsettled; how many more it would take is said then.",
        applies=_under(*_UNTIL),
    ),
    Parameter(
        name="budget",
        title="Time for all trials",
        type=Type.DURATION,
        default=600.0,
        minimum=1,
        maximum=30 * 86400,
        help="Shared by all steps and hosts alike. Each is measured once in any case.",
        applies=_under(Policy.BUDGET),
    ),
    Parameter(
        name="warm_ups",
        title="Warm-ups",
        type=Type.INTEGER,
        default=0,
        minimum=0,
        maximum=MAXIMUM_TRIALS,
        help="Trials before the first that counts. They are kept, marked, and never mixed in.",
    ),
    Parameter(
        name="pause",
        title="Pause between trials",
        type=Type.DURATION,
        default=0.0,
        minimum=0,
        maximum=86400,
        help="Gives caches, credits and temperature time to settle.",
    ),
    Parameter(
        name="order",
        title="Order",
        type=Type.CHOICE,
        default=Order.BLOCK.value,
        choices=(
            Choice(Order.BLOCK.value, "Step by step"),
            Choice(Order.INTERLEAVED.value, "Interleaved"),
            Choice(Order.RANDOMISED.value, "Rounds drawn by lot"),
            Choice(Order.ABBA.value, "ABBA, drawn by lot"),
        ),
        help="Interleaved: trial 1 of every step on every host, then trial 2; a drift of the host then hits all alike. "
        "By lot, what comes in cycles does so, too. ABBA: each second round mirrors the one before.",
    ),
    Parameter(
        name="seed",
        title="Seed of the lots",
        type=Type.TEXT,
        default="",
        pattern=r"\d{1,18}",
        help="A whole number gives the same order again. Empty: one is drawn, and kept with the run.",
        applies=_drawn,
    ),
)
"""What the form asks. Shares are in percent here."""

_PERCENT = frozenset({"precision", "margin"})


def values_of(plan: Plan) -> dict[str, Value]:
    """Return what the form shows for `plan`."""
    given = plan.repetition
    values: dict[str, Value] = {
        "policy": given.policy.value,
        "confidence": f"{100 * given.confidence:g}",
        "order": plan.order.value,
        "seed": "" if plan.seed is None else str(plan.seed),
    }
    for name in ("trials", "baseline", "minimum", "cap", "budget", "warm_ups", "pause"):
        values[name] = getattr(given, name)
    return values | {name: round(100 * getattr(given, name), 9) for name in _PERCENT}


def repetition_of(values: Mapping[str, Value]) -> Repetition:
    """Return the repetition that the form's values mean."""
    return Repetition(
        trials=int(values["trials"]),
        warm_ups=int(values["warm_ups"]),
        pause=float(values["pause"]),
        policy=Policy(str(values["policy"])),
        precision=float(values["precision"]) / 100,
        baseline=str(values["baseline"]).strip(),
        margin=float(values["margin"]) / 100,
        confidence=float(values["confidence"]) / 100,
        minimum=int(values["minimum"]),
        cap=int(values["cap"]),
        budget=float(values["budget"]),
    )


def order_of(values: Mapping[str, Value]) -> tuple[Order, int | None]:
    """Return the order and the seed that the form's values mean."""
    order, seed = Order(str(values["order"])), str(values["seed"])
    return order, int(seed) if order.drawn and seed else None


def problem_of(values: Mapping[str, Value], pinned: frozenset[str] | None) -> str:
    """Return what is wrong with the values as a whole, or an empty string. `pinned` names the baselines, if known."""
    repetition = repetition_of(values)
    try:
        check_repetition(repetition)
    except PlanError as error:
        return str(error)
    wanted = repetition.baseline
    if repetition.policy is Policy.UNTIL_VERDICT and pinned is not None and wanted not in pinned:
        known = f"There are {', '.join(sorted(pinned))}." if pinned else "Pin a run in the library first."
        return f"No run is pinned as “{wanted}”. {known}"
    return ""
