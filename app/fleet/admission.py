"""Admission of host-runs: which may start now, beside those under way, within the limits of a study."""

from collections import Counter
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
    for one in waiting:
        needed = capacities(one, plan)
        if all(used[name] < capacity for name, capacity in needed.items()):
            used.update(needed.keys())
            found.append(one)
            if len(found) == free:
                break
    return found


_ALL = "all"


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
