"""What a whole plan takes, summed from what one trial of each step takes. No Qt."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from app.plan import Order, Plan
from app.services import StepPreview


@dataclass(frozen=True, slots=True)
class Totals:
    """What a plan takes over all trials, warm-ups included.

    `written` and `network` are bytes; `space` is the most bytes that lie on one host at a time. Each is
    the sum of what is known; `open` names the fields in which some trial's share cannot be known before it runs.
    """

    trials: int
    duration: float
    written: int
    space: int
    network: int
    open: frozenset[str]


def totals(plan: Plan, previews: Sequence[StepPreview]) -> Totals:
    """Return the sums over `previews`, one for each host and step of `plan`."""
    repeats = plan.repetition.trials + plan.repetition.warm_ups
    trials = repeats * len(previews)
    estimates = [preview.estimate for preview in previews]
    columns: dict[str, list[float | None]] = {
        "duration": [each.duration for each in estimates],
        "written": [each.written for each in estimates],
        "network": [each.network for each in estimates],
    }
    return Totals(
        trials=trials,
        duration=repeats * _known(columns["duration"]) + plan.repetition.pause * max(0, trials - 1),
        written=int(repeats * _known(columns["written"])) + sum(each.prepared for each in estimates),
        space=_space(plan, previews),
        network=int(repeats * _known(columns["network"])),
        open=frozenset(name for name, column in columns.items() if None in column),
    )


def _known(column: Sequence[float | None]) -> float:
    return sum(value for value in column if value is not None)


def _space(plan: Plan, previews: Sequence[StepPreview]) -> int:
    """Interleaved, the files of every step lie there at once; in blocks, those of one step at a time."""
    by_host: dict[str, list[int]] = defaultdict(list)
    for preview in previews:
        by_host[preview.host].append(preview.estimate.space)
    together = sum if plan.order is Order.INTERLEAVED else max
    return max((together(spaces) for spaces in by_host.values()), default=0)
