"""Plans that were run or saved lately."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from app.plans.plan import Plan
from app.records import RunSummary
from app.timestamps import now

MOST_RECENT = 8
"""Plans listed."""


@dataclass(frozen=True, slots=True)
class RecentPlan:
    """A plan with its hosts, steps and the time (UTC, ISO 8601) of its run or saving.

    `run` is the id of its run, `path` the file that it was saved to; without both, it was neither run nor saved.
    """

    name: str
    hosts: tuple[str, ...]
    steps: tuple[str, ...]
    when: str
    run: str = ""
    path: str = ""


def recent_of(plan: Plan, path: Path | None = None) -> RecentPlan:
    """Return the entry of a plan that is saved to `path`, or kept, now."""
    steps = tuple(step.name for step in plan.steps)
    return RecentPlan(plan.name, plan.hosts, steps, now(), path="" if path is None else str(path))


def recent_plans(runs: Iterable[RunSummary], saved: Iterable[RecentPlan]) -> tuple[RecentPlan, ...]:
    """Return the latest plans, each name with its hosts and steps once, and every plan that is in no run or file."""
    of_runs = (RecentPlan(run.name, run.hosts, run.steps, run.started, run=run.id) for run in runs)
    newest = sorted([*of_runs, *saved], key=lambda each: each.when, reverse=True)
    listed: list[RecentPlan] = []
    known = set()
    for each in newest:
        key = (each.name, each.hosts, each.steps)
        if key not in known or not (each.run or each.path):
            listed.append(each)
        known.add(key)
    return tuple(listed[:MOST_RECENT])


def with_saved(stored: str, plan: RecentPlan) -> str:
    """Return the stored list of saved plans with `plan` first."""
    others = [each for each in read_saved(stored) if each.path != plan.path]
    return json.dumps([asdict(each) for each in [plan, *others][:MOST_RECENT]])


def read_saved(stored: str, exists: Callable[[Path], bool] = lambda _path: True) -> Sequence[RecentPlan]:
    """Return the plans of a stored list whose file `exists`; what is not such a list is empty."""
    found = []
    with suppress(ValueError, TypeError, KeyError):
        for each in json.loads(stored or "[]"):
            hosts, steps = tuple(map(str, each["hosts"])), tuple(map(str, each["steps"]))
            found.append(RecentPlan(str(each["name"]), hosts, steps, str(each["when"]), path=str(each["path"])))
    return [each for each in found if exists(Path(each.path))]
