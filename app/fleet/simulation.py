"""Simulation of a study: when each host-run starts and ends, with given durations and failures, within the limits."""

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from app.fleet.admission import AdmissionQueue
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
    every = plan.plan.repetition.every
    due = [((one.session - 1) * every, one.number, one) for one in plan.host_runs()]
    heapq.heapify(due)
    attempts: Counter[int] = Counter()
    ends: list[tuple[float, int, HostRun, bool]] = []
    found: list[SimulatedRun] = []
    waiting, clock = AdmissionQueue(plan), 0.0
    while due or ends:
        clock = max(clock, min(moments[0][0] for moments in (due, ends) if moments))
        while ends and ends[0][0] <= clock:
            _, number, one, failed = heapq.heappop(ends)
            waiting.end(one)
            if failed and attempts[number] <= plan.retries:
                heapq.heappush(due, (clock + RETRY * attempts[number], number, one))
        while due and due[0][0] <= clock:
            waiting.add(heapq.heappop(due)[2])
        for one in waiting.start():
            attempts[one.number] += 1
            failed = fails(one, attempts[one.number])
            end = clock + seconds(one)
            heapq.heappush(ends, (end, one.number, one, failed))
            found.append(SimulatedRun(one, clock, end, failed))
    return found
