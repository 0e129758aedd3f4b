"""Time, space and volume of a plan, summed from the estimates of its steps."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.plans.plan import Order, Plan, Policy
from suites.base import Command, Estimate
from suites.parameters import format_duration
from suites.quantities import count_text, duration_text, ends_text, quantity


@dataclass(frozen=True, slots=True)
class StepPreview:
    """The commands of a step on a host, and the estimate of one trial. `text` can be pasted into a shell there.

    `job_file` is the step as a job file of its tool, None if the tool does not read job files.
    """

    host: str
    step: str
    commands: tuple[Command, ...]
    estimate: Estimate
    text: str
    job_file: str | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """The cost of a plan over all trials, warm-ups included.

    `written` and `network` are bytes; `space` is the peak of bytes on one host. Each is the sum of the known
    estimates; `open` names the fields that some estimate lacks.
    """

    trials: int
    duration: float
    written: int
    space: int
    network: int
    open: frozenset[str]
    most: int | None = None  # the largest number of trials of an adaptive policy; None if only time limits it
    longest: float | None = None  # seconds that these would take
    grows: bool = False  # whether there may be more trials than `trials`
    quick: float | None = None  # seconds of a quick look; None if unknown, or if the plan is not longer
    sessions: int = 1  # all other fields are of one session
    every: float = 0.0  # seconds between the starts of two sessions
    prepared: int = 0  # bytes of `written` before the first trials, in a time that is not known

    def end(self, start: datetime) -> datetime:
        """Return when the last session ends at the latest, if the first starts at `start` and none fails.

        Each session is due a multiple of `every` after the first, at least half of `every` after the last has ended.
        """
        duration = self.longest or self.duration
        interval = self.every * max(1, math.ceil(duration / self.every + 0.5)) if self.every else 0.0
        return start + timedelta(seconds=(self.sessions - 1) * interval + duration)


def totals(plan: Plan, previews: Sequence[StepPreview]) -> Totals:
    """Return the sums over `previews`, one for each host and step of `plan`."""
    given = plan.repetition
    repeats = given.fewest + given.uncounted
    estimates = [preview.estimate for preview in previews]
    columns: dict[str, list[float | None]] = {
        "duration": [each.duration for each in estimates],
        "written": [each.written for each in estimates],
        "network": [each.network for each in estimates],
    }
    grows = given.most != given.fewest
    most = given.most + given.uncounted if grows and given.most is not None else None
    return Totals(
        trials=repeats * len(previews),
        duration=_duration(plan, columns["duration"], repeats),
        written=int(repeats * _known(columns["written"])) + sum(each.prepared for each in estimates),
        space=_space(plan, previews),
        prepared=sum(each.prepared for each in estimates),
        network=int(repeats * _known(columns["network"])),
        open=frozenset(name for name, column in columns.items() if None in column) - _fixed(plan),
        most=None if most is None else most * len(previews),
        longest=None if most is None else _duration(plan, columns["duration"], most),
        grows=grows,
        quick=_quick_look(plan, columns["duration"]),
        sessions=given.sessions,
        every=given.every if given.sessions > 1 else 0.0,
    )


def totals_text(sums: Totals) -> str:
    """Return the known sums in a line: ``12 trials, 2 min 50 s, 1.2 GiB written, 50 MiB of space``."""
    trials = count_text(sums.trials, "trial")
    if sums.grows:
        trials = (
            f"{ends_text(str(sums.trials), str(sums.most))} trials" if sums.most is not None else f"at least {trials}"
        )
    parts = [
        trials,
        _span(sums),
        _volume(sums.written, "written", is_open="written" in sums.open, grows=sums.grows),
        f"{quantity(sums.space)} of space" if sums.space else "",
        _volume(sums.network, "over the network", is_open="network" in sums.open, grows=sums.grows),
    ]
    whole = (", ".join(part for part in parts if part), quick_look_text(sums), sessions_text(sums))
    return "; ".join(part for part in whole if part)


def quick_look_text(sums: Totals) -> str:
    """Return how long one trial of each step takes: ``quick look: 35 s``; empty if that is unknown."""
    return "" if sums.quick is None else f"quick look: {duration_text(sums.quick)}"


def sessions_text(sums: Totals, start: datetime | None = None) -> str:
    """Return the sessions and when the last ends if the first starts at `start` (now), in local time.

    ``5 sessions, one every 1 d: until 2026-11-30 08:25``; empty for a single one.
    """
    if sums.sessions == 1:
        return ""
    until = f"{sums.end(start or datetime.now(UTC)).astimezone():%Y-%m-%d %H:%M}"
    return f"{sums.sessions} sessions, one every {format_duration(sums.every)}: until {until}"


def _span(sums: Totals) -> str:
    if "duration" in sums.open:
        return f"at least {duration_text(sums.duration)}" if sums.duration else "duration unknown"
    shortest = duration_text(sums.duration)
    return shortest if sums.longest is None else ends_text(shortest, duration_text(sums.longest))


def _volume(size: int, what: str, *, is_open: bool, grows: bool) -> str:
    if not size:
        return f"unknown volume {what}" if is_open else ""
    return f"{'at least ' if is_open or grows else ''}{quantity(size)} {what}"


def _duration(plan: Plan, column: Sequence[float | None], repeats: int) -> float:
    """Return the seconds of `repeats` trials of each step on each host, or the budget."""
    if plan.repetition.policy is Policy.BUDGET:
        return plan.repetition.budget
    at_once = 2 if plan.order is Order.DUET else 1
    pauses = max(0, repeats * len(column) // at_once - 1)
    return repeats * _known(column) / at_once + plan.repetition.pause * pauses


def _quick_look(plan: Plan, column: Sequence[float | None]) -> float | None:
    long = plan.repetition.policy is Policy.FIXED and not plan.repetition.is_quick_look
    return _known(column) if long and None not in column else None


def _fixed(plan: Plan) -> frozenset[str]:
    """Return the fields that the plan itself fixes."""
    return frozenset({"duration"}) if plan.repetition.policy is Policy.BUDGET else frozenset()


def _known(column: Sequence[float | None]) -> float:
    return sum(value for value in column if value is not None)


def _space(plan: Plan, previews: Sequence[StepPreview]) -> int:
    """Return the peak of one host: the files of all steps exist at once, in block order those of one step."""
    by_host: dict[str, list[int]] = defaultdict(list)
    for preview in previews:
        by_host[preview.host].append(preview.estimate.space)
    together = max if plan.order is Order.BLOCK else sum
    return max((together(spaces) for spaces in by_host.values()), default=0)
