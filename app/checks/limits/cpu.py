"""Limits of the CPU: quota, steal, other processes, one thread, the tool itself, all CPUs of the test."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from app.checks.cpu import THROTTLED_SHARE
from app.checks.evidence import (
    IO_RESOURCES,
    busy,
    contention,
    cpus_of,
    other_cpus,
    share,
    throttled,
    tool_cpus,
    tool_share,
    usable_of,
    workers_of,
    workers_parameter,
    workload_of,
)
from app.checks.limits.hypothesis import FULL, UNCOUNTED, Hypothesis, objections
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.evidence import TrialCheck, TrialEvidence
from suites.facts import known
from suites.quantities import count_text, first_upper, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter
from suites.vocab import Resource

LOST = 0.1
"""The share of the CPU time asked for that others had from which they limit the test: Red Hat's bound for steal time,
above which nothing can be concluded."""

DELAYED = 0.5
"""The share of a worker's time spent waiting for a CPU from which it limits a disk or network test."""

OFTEN = 2000.0
"""Context switches of one computing thread per second: a full time slice lasts 1 ms or more (kernel, sched-design)."""

BLOCKED = 0.2
"""The share of the threads' time from which a lock, not the CPUs, limits a CPU test. Measured with four threads of
sysbench: 28 % on one mutex, 46 % on one lock, 2 % without."""

RUNNING = 0.85
"""The share of a thread's time on a CPU from which it did nothing but compute."""

HALF_BUSY = 0.5
"""The share of a worker's time up to which it did not wait for the CPU, whatever else ran."""

PERIOD = 0.1
"""Seconds of a period of a CPU quota, unless set otherwise (kernel, sched-bwc: cfs_period_us)."""

ONE_AT_A_TIME = 1.15
"""CPUs in use up to which several threads ran one after another."""

WITH_FIO_JOBS = "Use larger blocks, or measure the disk with fio and several numjobs."
"""What to do next where one thread of a disk tool is the limit, and it can have no more."""

ALONE = "Give the program its own option for threads if it has one, or run several at once: other CPUs are idle."
"""What to do next where a program has no parameter for its threads."""


@dataclass(frozen=True, slots=True)
class Use:
    """Mean CPUs in use; None if not counted. `usable` are those that the test may use, `workers` its threads."""

    usable: float | None
    test: float | None
    every: float | None
    waiting: float
    thread: float | None
    workers: int | None
    reported: float | None

    @property
    def running(self) -> float | None:
        """Return the CPUs of the test, else those of all processes, which UNCOUNTED speaks against."""
        return self.every if self.test is None else self.test

    @property
    def demand(self) -> float | None:
        """Return the share of a worker's time that it ran or waited for a CPU, else that its tool reports."""
        return self.reported if self.test is None else min(1.0, (self.test + self.waiting) / (self.workers or 1))


def use_of(trial: TrialEvidence) -> Use:
    """Return the CPUs that the test and others used."""
    watch = trial.watch
    waiting, thread = (None if watch is None else watch.mean(name) for name in ("tool_waiting", "tool_busiest_thread"))
    every = busy(watch, cpus_of(trial))
    return Use(
        usable_of(trial), tool_cpus(trial), every, waiting or 0.0,
        None if thread is None else thread / 100, workers_of(trial), tool_share(trial),
    )  # fmt: skip


def use_text(trial: TrialEvidence) -> str:
    """Return whose CPU time it was: ``CPU: test 41 %, others 12 %``; empty if unknown."""
    use, cpus = use_of(trial), cpus_of(trial)
    shares = {"test": share(use.test, cpus), "others": share(other_cpus(trial), cpus)}
    named = [f"{name} {share_text(found)}" for name, found in shares.items() if found is not None]
    if named:
        return f"CPU: {', '.join(named)}"
    every = share(use.every, cpus)
    return "" if every is None else f"CPU {share_text(every)} (all processes)"


def quota(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the cgroup quota: throttled time, else use at the quota (kernel, sched-bwc: nr_throttled).

    The best of several passes escapes it if a pass fits into what a period grants: STREAM at a quota of 37 % reached
    95 % of its rate in passes of 12 ms, and 36 % in passes of a second.
    """
    facts, use, time = trial.context.facts, use_of(trial), throttled(trial.watch)
    granted = None if facts is None else known(facts.cpu.quota)
    at_quota = share(use.running, granted)
    text = (
        ""
        if at_quota is None or granted is None
        else f"{share_text(at_quota)} of the quota of {count_text(granted, 'CPU')} in use"
    )
    then = "Quote the figure with the quota, or lift the quota to measure the host."
    against = objections(
        (_escapes(trial, granted), "the figure is the best of several passes, and one fits into a period"),
        (time is None and use.test is None, UNCOUNTED),
        (at_quota is not None and at_quota < HALF_BUSY, "the test used little of the quota"),
    )
    if time is not None and time >= THROTTLED_SHARE:
        # The kernel adds the time up over all CPUs.
        periods = None if trial.watch is None else trial.watch.mean("cgroup_throttled_periods")
        counter = "the quota was exhausted" + (
            "" if periods is None else f" in {min(periods, 100.0):.0f} % of its periods"
        )
        counter += f", {text}" if text else ""
        yield Hypothesis(Limiter.QUOTA, min(1.0, time), counter, then, against, THROTTLED_SHARE)
    elif time is None and granted is not None and granted < (cpus_of(trial) or 0):
        within = objections(((use.workers or math.inf) <= granted, "it has no more threads than the quota grants CPUs"))
        yield Hypothesis(Limiter.QUOTA, at_quota, text, then, (*against, *within))


def _escapes(trial: TrialEvidence, granted: float | None) -> bool:
    """Return whether the best pass over the working set takes no more CPU time than a period grants."""
    traits, best = trial.suite.traits(trial.values, trial.context.facts), trial.headline
    if granted is None or best is None or best.value <= 0:
        return False
    if traits.working_set is None or not workload_of(trial).best_of:
        return False
    seconds = traits.working_set / convert(best.value, best.metric.unit, Unit.BYTES_PER_SECOND)
    return seconds * (traits.threads or 1) <= granted * PERIOD


def lost(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the CPU time that other guests and other processes had while the test wanted it."""
    use, cpus = use_of(trial), cpus_of(trial)
    stolen = None if trial.watch is None else trial.watch.mean("cpu_steal")
    if stolen and cpus and use.every is not None:
        gone, ran = stolen / 100 * cpus, use.every
        counter = f"{share_text(gone / (gone + ran))} of the CPU time asked for was stolen by other guests"
        then = "Run it at another time, or on dedicated cores."
        yield Hypothesis(Limiter.STEAL, gone / (gone + ran), counter, then, _not_wanted(trial, use), LOST)
    beside = contention(trial)
    if beside is None:
        return
    often = _switching(trial, use)
    if use.demand is not None and often:
        counter = f"its threads were blocked {share_text(1 - use.demand)} of the time; {often[0]}"
        yield Hypothesis(Limiter.ONE_THREAD, 1 - use.demand, counter, "Run it with fewer threads.", (), BLOCKED)
    delayed = min(1.0, use.waiting / (use.workers or 1))
    least = DELAYED if trial.suite.resource in IO_RESOURCES else LOST
    asleep = max(0.0, 1 - beside.asked / min(use.workers or 1, use.usable or 1))
    little = f"it neither ran nor waited for a CPU {share_text(asleep)} of the time"
    seldom = f"its threads waited for a CPU only {share_text(delayed)} of the time, less than {share_text(least)}"
    against = objections(
        (delayed < least and (delayed < LOST or (use.demand or 0.0) < FULL), seldom),
        (trial.suite.resource is Resource.APPLICATION and asleep > HALF_BUSY, little),
    )
    counter, then = f"{beside.text}, other processes had {beside.others:.3g}", "Stop them and run it again."
    yield Hypothesis(Limiter.OTHERS, beside.lost, counter, then, (*against, *often), LOST)


def _not_wanted(trial: TrialEvidence, use: Use) -> tuple[str, ...]:
    """Return that it is unknown whose CPU time it was, or that the workers of a disk or network test wanted little."""
    demand, io = use.demand, trial.suite.resource in IO_RESOURCES
    little = "" if demand is None else f"its threads ran or waited for a CPU only {share_text(demand)} of the time"
    return objections((use.test is None, UNCOUNTED), (io and demand is not None and demand < HALF_BUSY, little))


def _switching(trial: TrialEvidence, use: Use) -> tuple[str, ...]:
    """Return that the threads of a CPU test switched far more often than the scheduler makes them: they synchronise."""
    switches = None if trial.watch is None else trial.watch.mean("tool_switches")
    workers = use.workers or 1
    if trial.suite.resource is not Resource.CPU or workers < 2 or switches is None or switches < OFTEN * workers:
        return ()
    return (f"each of its threads switched {switches / workers:.0f} times a second",)


def generator(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the CPU of the load generator: one worker of it computed all the time."""
    use, resource = use_of(trial), trial.suite.resource
    per_worker = None if use.test is None or not use.workers else share(use.test, use.workers)
    if resource is Resource.DISK:
        each = share(per_worker if use.reported is None else use.reported, 1.0)
        counter = "" if each is None else f"each worker of {trial.suite.tool} used {share_text(each)} of a CPU"
        more, engine = workers_parameter(trial), "ioengine" in trial.values
        then = f"Raise {more}{', or use a cheaper engine such as io_uring' * engine}." if more else WITH_FIO_JOBS
        yield Hypothesis(Limiter.TOOL, each, counter, then)
    if resource is Resource.APPLICATION and trial.suite.uses_server:
        clients, threads = trial.values.get("clients"), trial.values.get("threads")
        if isinstance(clients, int) and isinstance(threads, int) and clients >= 2 * threads:
            each = share(use.thread, 1.0)
            counter = "" if each is None else f"the busiest thread used {share_text(each)} of a CPU"
            crowded = objections(((share(use.every, use.usable) or 1.0) >= FULL, "the CPUs are saturated"))
            counter += f", {count_text(threads, 'thread')} of {trial.suite.tool} served {count_text(clients, 'client')}"
            then = "Run it with more client threads, or from another host."
            yield Hypothesis(Limiter.CLIENT, each, counter, then, crowded, 0.95)


def processors(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield that the test used all its CPUs, or that its threads, or a lock, did not let it use more."""
    use, resource = use_of(trial), trial.suite.resource
    if use.usable is None:
        return
    part, against = share(use.running, use.usable), _not_wanted(trial, use)
    owner = "all processes" if use.test is None else "the test"
    of_all = f" of {count_text(use.usable, 'CPU')}"
    counter = "" if use.running is None else f"{owner} used {min(use.running, use.usable):.3g}{of_all}"
    if resource is not Resource.MEMORY:
        speaks = (*against, *_switching(trial, use))
        yield Hypothesis(Limiter.CPU, part, counter, "Use more or faster CPUs.", speaks)
    if use.test is not None and (part is None or part < FULL) and resource is not Resource.NETWORK:
        yield from _threads(trial, use, use.test, counter, against)


def _threads(
    trial: TrialEvidence, use: Use, test: float, counter: str, against: tuple[str, ...]
) -> Iterator[Hypothesis]:
    """Yield that all threads of the test computed, or one at a time, while CPUs were idle."""
    more, disk = workers_parameter(trial), trial.suite.resource is Resource.DISK
    then = f"Raise {more}: if the rate stays, they wait for one lock." if more else WITH_FIO_JOBS if disk else ALONE
    usable, workers = use.usable or 0.0, use.workers
    if workload_of(trial).moves_memory and workers != 1 and not fits_caches(trial):
        return  # few threads may saturate the memory
    if workers is not None and not trial.suite.uses_server and workers < usable:
        each = share(test, workers)
        text = f"{counter}, with {count_text(workers, 'thread')}"
        yield Hypothesis(Limiter.ONE_THREAD, each, text, then, against, RUNNING)
    if use.thread is None:
        return
    alone = use.thread >= FULL and test < 1 + HALF_BUSY
    in_turn = (workers or 1) > 1 and RUNNING <= test <= ONE_AT_A_TIME
    if alone or in_turn:
        text = f"{counter}, its busiest thread {share_text(min(1.0, use.thread))} of one"
        crowded = objections((use.waiting >= HALF_BUSY, "its threads waited for a CPU"))
        yield Hypothesis(Limiter.ONE_THREAD, min(1.0, max(use.thread, test)), text, then, crowded + against, RUNNING)


def fits_caches(trial: TrialEvidence) -> bool:
    """Return whether the working set is known to fit in the last-level caches."""
    facts = trial.context.facts
    size = trial.suite.traits(trial.values, facts).working_set
    cache = None if facts is None else facts.last_level_cache()
    return size is not None and cache is not None and size <= cache


def _quota_bound(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    found = next(quota(trial), None) if trial.done else None
    if found is None:
        return None
    if found.used is None or UNCOUNTED in found.against:
        return NotChecked("Neither cgroup throttling nor the test’s own CPU use is known.")
    return CheckOutcome(f"{first_upper(found.counter)}.") if found.explains else None


QUOTA_BOUND: TrialCheck = after_check(
    id="quota-bound",
    title="CPU quota limits the result",
    why="The figure is that of the quota, not of the CPU.",
    remedy="Quote it with the quota, or lift the quota (docker --cpus, systemd CPUQuota) to measure the host.",
    source="kernel, cgroup-v2 and sched-bwc: nr_throttled.",
    evaluate=_quota_bound,
    needs="throttling of the tool’s cgroup, or the quota and CPU use",
)
