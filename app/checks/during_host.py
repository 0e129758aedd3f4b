"""What takes a host away from a trial while it runs: stolen time, heat, quotas, swapping, lack of memory."""

import statistics

from app.checks.during_words import counted, host_watched, part, times_text, watched
from app.wording import bytes_text, duration_text, quantity, share_text
from suites.checks import CannotTell, Check, Outcome, TrialCheck, When
from suites.evidence import HostWatch, TrialEvidence
from suites.units import Unit
from suites.verdict import Trust
from suites.vocab import Level

STOLEN, MUCH_STOLEN = 0.01, 0.10
"""Shares of the processor time from which what the hypervisor took is told, and makes a result doubtful (check M09)."""

KEPT_BACK = 0.05
"""The share of the time in which a quota keeps tasks from a processor from which it shows in a figure."""

SWAPPED_IN, SWAPPED_OUT = 2**20, 16 * 2**20
"""Bytes. What comes back was needed; of what goes, much never is again."""

SHORT_OF_MEMORY = 0.05
"""The share of the time in which some task waited for memory."""

CLOCK_FELL = 0.10
"""The share by which the clock of busy processors has to fall."""

BUSY = 50.0
"""Per cent of its time that the busiest processor works, below which its clock may fall because it rests."""

LOOKS = 6
"""Looks at the clock, one in five seconds, from which its course is told."""

NEAR_LIMIT = 95.0
"""Per cent of the limit from which a processor may be slowed down at any moment."""


@watched
def _stolen(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    so_far, highest = watch.mean("cpu_steal"), watch.highest("cpu_steal")
    if so_far is None or highest is None:
        return CannotTell("The host does not tell how much of its time is stolen.")
    share = so_far / 100 * part(trial, watch)
    if share <= STOLEN:
        return None
    return Outcome(
        f"{share_text(so_far / 100)} of the processor time of {duration_text(watch.seconds)} was stolen, "
        f"up to {highest:.0f} % in one second.",
        level=Level.ERROR if share > MUCH_STOLEN else Level.WARNING,
    )


@host_watched
def _hot(watch: HostWatch) -> Outcome | CannotTell | None:
    events = counted(watch, "throttle_events")
    if events is None:
        return CannotTell("The host does not count how often its processors are slowed down, as virtual ones do not.")
    if not events:
        return None
    heat = watch.highest("temperature_of_limit")
    told = "" if heat is None else f", at up to {heat:.0f} % of the temperature they bear"
    return Outcome(f"Processors were slowed down {times_text(events)} in {duration_text(watch.seconds)}{told}.")


@host_watched
def _clock_fell(watch: HostWatch) -> Outcome | CannotTell | None:
    points = watch.points("clock_frequency")
    if not points:
        return CannotTell("The host does not tell its processors’ clock, as virtual ones do not.")
    loads = dict(watch.points("core_busiest"))
    worked = [value for time, value in points if loads.get(time, 100.0) >= BUSY]
    third = len(worked) // 3
    if len(worked) < LOOKS:
        return None
    first, last = statistics.median(worked[:third]), statistics.median(worked[-third:])
    if last > (1 - CLOCK_FELL) * first:
        return None
    return Outcome(f"The processors’ clock fell from {_hertz(first)} to {_hertz(last)} while they were at work.")


def _hertz(cycles: float) -> str:
    return f"{cycles / 1e9:.2f} GHz"


@watched
def _quota(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    kept, periods = watch.mean("cgroup_throttled"), watch.mean("cgroup_throttled_periods")
    if kept is None or periods is None:
        return CannotTell("The control group of what is measured does not count its throttling.")
    if kept / 100 * part(trial, watch) < KEPT_BACK:
        return None
    return Outcome(
        f"A quota was used up in {periods:.0f} % of its periods, and kept tasks from a processor for "
        f"{share_text(kept / 100)} of {duration_text(watch.seconds)}."
    )


@host_watched
def _swapped(watch: HostWatch) -> Outcome | CannotTell | None:
    came, went = watch.total("swap_in"), watch.total("swap_out")
    if came is None or went is None:
        return CannotTell("The host does not count what it swaps.")
    if came < SWAPPED_IN and went < SWAPPED_OUT:
        return None
    return Outcome(
        f"{bytes_text(came)} were read back from swap and {bytes_text(went)} written to it in "
        f"{duration_text(watch.seconds)}."
    )


@host_watched
def _killed(watch: HostWatch) -> Outcome | CannotTell | None:
    kills = counted(watch, "out_of_memory_kills")
    if kills is None:
        return CannotTell("The host does not count whom it kills for lack of memory.")
    if not kills:
        return None
    return Outcome(f"The kernel killed {kills:.0f} process{'' if kills == 1 else 'es'} because memory had run out.")


@watched
def _short(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    waited = watch.mean("pressure_memory")
    if waited is None:
        return CannotTell("The kernel of the host does not tell how long tasks wait (PSI).")
    if waited / 100 * part(trial, watch) < SHORT_OF_MEMORY:
        return None
    least = min(watch.values("memory_available"), default=None)
    left = "" if least is None else f"; {quantity(least, Unit.BYTE)} were left at the least"
    return Outcome(
        f"Some task waited for memory for {share_text(waited / 100)} of {duration_text(watch.seconds)}{left}."
    )


@host_watched
def _near_limit(watch: HostWatch) -> Outcome | CannotTell | None:
    heat = watch.highest("temperature_of_limit")
    if heat is None:
        return CannotTell("The host has no sensor of its processors’ heat, as virtual ones have none.")
    return Outcome(f"The processors reached {heat:.0f} % of the temperature they bear.") if heat >= NEAR_LIMIT else None


OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="cpu-stolen",
        level=Level.WARNING,
        title="The hypervisor took processor time away",
        why="The host wanted to run and was not let: others on the same machine ran. The figure is lower by about that "
        "much, and another hour gives another one.",
        remedy="Run it again at another time; or move the host, or take a type with processors of its own.",
        source="Red Hat: steal time; above 10 % nothing can be concluded.",
        evaluate=_stolen,
        when=When.DURING,
        needs=f"the stolen time in /proc/stat: above {share_text(STOLEN)}, an error above {share_text(MUCH_STOLEN)}",
    ),
    Check(
        id="cpu-too-hot",
        level=Level.WARNING,
        title="Processors were slowed down for their heat",
        why="The figure is that of a hot host: cold or better cooled it would be higher.",
        remedy="Let it cool down and mend its cooling; or quote the figure as that of lasting load.",
        source="thermal_throttle in /sys; BenchExec refuses results with it.",
        evaluate=_hot,
        when=When.DURING,
        needs="the throttle counters of the processors, every five seconds",
    ),
    Check(
        id="clock-fell",
        level=Level.WARNING,
        title="The processors’ clock fell",
        why="The trial mixes two clocks: a short boost, and the one that lasts.",
        remedy="Warm up until the boost is over, or fix the clock; quote the lasting figure.",
        source="sbc-bench compares the clock at the start with that at the end.",
        evaluate=_clock_fell,
        when=When.DURING,
        needs=f"the clock every five seconds, at least {LOOKS} times while a processor is at work",
    ),
    Check(
        id="quota-throttled",
        level=Level.WARNING,
        title="A quota keeps tasks from the processors",
        why="The figure becomes that of the quota, not of the processors below it.",
        remedy="Quote it with the quota; or lift it (docker --cpus, systemd CPUQuota) to measure the host.",
        source="kernel, cgroup-v2 and sched-bwc: nr_throttled and the throttled time.",
        evaluate=_quota,
        when=When.DURING,
        needs="cpu.stat of the control group of what is measured, and of those above it",
        trust=Trust.VALID,  # after the trial, quota-bound says what that means for the result
    ),
    Check(
        id="swapped",
        level=Level.WARNING,
        title="The host swapped",
        why="What waits for swap does no work: the figure tells of the disk below the swap, too.",
        remedy="Free memory or use a smaller working set, and run it again.",
        source="pswpin and pswpout in /proc/vmstat; BenchExec refuses results with them.",
        evaluate=_swapped,
        when=When.DURING,
        needs="the kernel’s counters of swapping",
    ),
    Check(
        id="killed-for-memory",
        level=Level.ERROR,
        title="Memory ran out",
        why="Processes were killed while it ran: what is measured may have lost a part of itself.",
        remedy="Use a smaller working set or fewer threads.",
        source="oom_kill in /proc/vmstat.",
        evaluate=_killed,
        when=When.DURING,
        needs="the kernel’s count of processes that it killed",
    ),
    Check(
        id="memory-short",
        level=Level.WARNING,
        title="Tasks waited for memory",
        why="The kernel was busy freeing memory, and whatever needed some stood still meanwhile.",
        remedy="Use a smaller working set, or end what else needs memory.",
        source="kernel, accounting/psi.",
        evaluate=_short,
        when=When.DURING,
        needs="pressure stall information of memory",
    ),
    Check(
        id="near-heat-limit",
        level=Level.INFO,
        title="The processors are nearly too hot",
        why="They are slowed down from there on, at first for moments that no counter of seconds shows.",
        remedy="Mend the cooling, or expect a lower figure under lasting load.",
        source="Sensors of the host (hwmon).",
        evaluate=_near_limit,
        when=When.DURING,
        needs="a sensor of the processors’ temperature with a limit, every five seconds",
    ),
)
