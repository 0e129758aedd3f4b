"""Admission of host-runs: which may start now, beside those under way, within the limits of a study."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from app.fleet_study import FleetPlan, HostRun


def startable(
    waiting: Iterable[HostRun], under_way: Iterable[HostRun], plan: FleetPlan, at_most: int | None = None
) -> list[HostRun]:
    """Return the host-runs of `waiting` that may start now, in this order, at most `at_most`.

    One that may not start lets later ones pass. `waiting` is read only as far as necessary.
    """
    used = Counter(name for one in under_way for name in capacities(one, plan))
    free = plan.limits.at_once - used[_ALL]
    free = free if at_most is None else min(free, at_most)
    found: list[HostRun] = []
    if free <= 0:
        return found
    blocked: set[str] = set()  # hosts on which nothing starts: nothing is freed here
    for one in waiting:
        if one.host in blocked:
            continue
        needed = capacities(one, plan)
        if all(used[name] < capacity for name, capacity in needed.items()):
            used.update(needed.keys())
            found.append(one)
            if len(found) == free:
                break
        elif one.peer is None:
            blocked.add(one.host)
    return found


_ALL = "all"


class AdmissionQueue:
    """Host-runs that wait and those under way; starts what startable() would, each look at what was freed only."""

    def __init__(self, plan: FleetPlan) -> None:
        self._plan = plan
        self._used: Counter[str] = Counter()
        self._blocked: dict[str, list[tuple[int, HostRun]]] = defaultdict(list)  # heaps, by one full capacity of each
        self._freed: set[str] = set()

    def add(self, one: HostRun) -> None:
        """Let a host-run wait."""
        heapq.heappush(self._blocked[_ALL], (one.number, one))

    def end(self, one: HostRun) -> None:
        """Free what a host-run under way occupies."""
        needed = capacities(one, self._plan)
        self._used.subtract(needed.keys())
        self._freed.update(needed)

    def start(self) -> Iterator[HostRun]:
        """Yield the host-runs that start now, in the order of their numbers; they are then under way."""
        looked_at = {name for name in {_ALL, *self._freed} if self._blocked[name]}
        self._freed.clear()
        while self._used[_ALL] < self._plan.limits.at_once and (name := self._first(looked_at)):
            number, one = heapq.heappop(self._blocked[name])
            needed = capacities(one, self._plan)
            full = next((each for each, capacity in needed.items() if self._used[each] >= capacity), None)
            if full is None:
                self._used.update(needed.keys())
                yield one
                continue
            heapq.heappush(self._blocked[full], (number, one))
            looked_at.discard(full)
        self._freed |= looked_at

    def _first(self, names: set[str]) -> str:
        """Return under which of `names` the first host-run waits; empty if none does."""
        return min((name for name in names if self._blocked[name]), key=lambda one: self._blocked[one][0], default="")


def capacities(one: HostRun, plan: FleetPlan) -> Mapping[str, int]:
    """Return what a host-run occupies, by name, each with the number of host-runs that may occupy it at once."""
    return dict(_capacities(one, plan))


def _capacities(one: HostRun, plan: FleetPlan) -> Iterator[tuple[str, int]]:
    limits = plan.limits
    yield _ALL, limits.at_once
    for name in one.hosts:
        yield f"host {name}", 1
        host = plan.by_name.get(name)
        if host is None:  # the fixed peer of a step, which is not measured itself
            continue
        stated = host.attributes
        if limits.per_group is not None:
            yield f"group {host.group}", limits.per_group
        if limits.per_zone is not None and stated.zone:
            yield f"zone {stated.zone}", limits.per_zone
        if limits.per_storage is not None and stated.storage:
            yield f"storage {stated.storage}", limits.per_storage
        if stated.link and one.peer is not None:
            yield f"link {stated.link}", 1
