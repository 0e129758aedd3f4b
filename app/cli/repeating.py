"""The options of “plan new” that say how often, until when, and in which order."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from app.cli.common import speaks_to_people
from app.plans.plan import Order, Policy, Repetition
from app.plans.repetition_file import read_repetition


@dataclass(frozen=True, slots=True)
class Repeating:
    """How often and in which order."""

    repetition: Repetition
    order: Order
    seed: int | None


_PERCENT = click.FloatRange(0, 100)

_OPTIONS = (
    click.option("--trials", type=click.IntRange(1, 1000), show_default="3", help="So many trials of each step."),
    click.option("--precision", type=_PERCENT, metavar="PERCENT", help="Measure until the middle is known so well."),
    click.option("--baseline", metavar="NAME", help="Measure until the verdict against this pinned run is settled."),
    click.option("--budget", metavar="TIME", help="Measure for so long in all, as in 20min."),
    click.option("--margin", type=_PERCENT, metavar="PERCENT", help="With --baseline: what does not matter to you."),
    click.option("--confidence", type=click.Choice(["95", "99"]), help="With --baseline: how sure the verdict is."),
    click.option("--minimum", type=int, help="With --precision or --baseline: trials in any case."),
    click.option("--cap", type=int, help="With --precision or --baseline: trials at most."),
    click.option("--warm-ups", type=int, help="Trials before the first that counts."),
    click.option("--pause", type=float, metavar="SECONDS", help="Seconds between trials."),
    click.option(
        "--order", type=click.Choice([order.value for order in Order]), default=Order.BLOCK.value, show_default=True
    ),
    click.option("--seed", type=click.IntRange(0), help="Of the lots that the order draws; else one is drawn."),
)

_RULING = {"precision": Policy.UNTIL_INTERVAL, "baseline": Policy.UNTIL_VERDICT, "budget": Policy.BUDGET}
"""The option that chooses each policy; without one, the trials are counted."""


def repeats(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of repetition and order, and a `repeating` made of them."""

    @wraps(command)
    @speaks_to_people
    def repeating(*arguments: Any, order: str, seed: int | None, **named: Any) -> None:
        given = {name: named.pop(name) for name in _NAMES}
        command(*arguments, repeating=Repeating(_repetition(given), Order(order), seed), **named)

    made: Callable[..., None] = repeating
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


_NAMES = (
    "trials", "precision", "baseline", "budget", "margin", "confidence", "minimum", "cap", "warm_ups", "pause",
)  # fmt: skip


def _repetition(given: dict[str, Any]) -> Repetition:
    """Return the repetition that the options mean; raise PlanError where two of them contradict each other."""
    said = {name: value for name, value in given.items() if value is not None}
    policy = next((policy for name, policy in _RULING.items() if name in said), Policy.FIXED)
    if "confidence" in said:
        said["confidence"] = float(said["confidence"])
    return read_repetition({"policy": policy.value, **said})
