"""Simulation of a study: when each host-run starts and ends, with given durations and failures, within the limits."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from app.fleet.admission import startable
from app.fleet_study import FleetPlan, HostRun

Fails = Callable[[HostRun, int], bool]
"""Returns whether an attempt of a host-run, from 1, fails."""

RETRY = 60.0
"""Seconds until a failed host-run may start again, times its attempts."""


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One attempt of a host-run, with its start and end in seconds; `failed` for good or to be tried again."""

    one: HostRun
    start: float
    end: float
    failed: bool = False


def simulated(
    plan: FleetPlan, seconds: Callable[[HostRun], float], fails: Fails = lambda _one, _attempt: False
) -> list[SimulatedRun]:
    """Return every attempt of every host-run in the order of the starts.

    A session starts a multiple of the plan's interval after the first. A failed attempt takes its whole time.
    """
    waiting = {one.number: one for one in plan.host_runs()}
    due = {number: (one.session - 1) * plan.plan.repetition.every for number, one in waiting.items()}
    attempts = dict.fromkeys(waiting, 0)
    under_way: dict[int, HostRun] = {}
    ends: list[tuple[float, int, bool]] = []
    found: list[SimulatedRun] = []
    clock = 0.0
    while waiting or under_way:
        ready = (one for number, one in waiting.items() if due[number] <= clock)
        for one in startable(ready, under_way.values(), plan):
            del waiting[one.number]
            under_way[one.number] = one
            attempts[one.number] += 1
            failed = fails(one, attempts[one.number])
            end = clock + seconds(one)
            heapq.heappush(ends, (end, one.number, failed))
            found.append(SimulatedRun(one, clock, end, failed))
        if not ends:
            clock = max(clock, min(due[number] for number in waiting))
            continue
        clock, number, failed = heapq.heappop(ends)
        one = under_way.pop(number)
        if failed and attempts[number] <= plan.retries:
            waiting[number] = one
            due[number] = clock + RETRY * attempts[number]
    return found
