"""Who was busy while a trial ran: the processors, the tool, and what they were granted."""

from suites.evidence import HostWatch, TrialEvidence
from suites.facts import known
from suites.units import Unit, convert

THROTTLED = "cgroup_throttled"
BUSIEST = "core_busiest"
PACKETS, BEYOND = "allowance_exceeded", "allowance_exceeded_time"
"""What telemetry calls the time in which a quota kept tasks from the processors and the use of the busiest processor,
both in per cent; the packets and the seconds beyond what a cloud grants, each since the look before."""


def cpus_of(trial: TrialEvidence) -> int | None:
    """Return how many processors the host has, as its shares of time count them."""
    facts = trial.context.facts
    return None if facts is None else known(facts.cpu.threads) or known(facts.cpu.usable)


def usable_of(trial: TrialEvidence) -> float | None:
    """Return how many processors the tool may use: those it is let on, or fewer where a quota grants fewer."""
    facts = trial.context.facts
    if facts is None:
        return None
    given = [float(one) for one in (known(facts.cpu.usable), known(facts.cpu.quota)) if one is not None]
    return min(given) if given else None


def busy(watch: HostWatch | None, cpus: int | None) -> float | None:
    """Return how many processors were at work on average, whoever used them; None where it is not known."""
    if watch is None or not cpus:
        return None
    shares = [watch.mean(name) for name in ("cpu_user", "cpu_system")]
    given = [share for share in shares if share is not None]
    return sum(given) / 100 * cpus if len(given) == len(shares) else None


def busiest_core(watch: HostWatch | None) -> float | None:
    """Return the share, from 0 to 1, of the processor that was busiest at each moment; None where it is not known.

    One thread may move from processor to processor: the mean of each of them alone would hide it.
    """
    share = None if watch is None else watch.mean(BUSIEST)
    return None if share is None else share / 100


def held_back(watch: HostWatch | None) -> str:
    """Return what a cloud held back beyond what the instance or the volume is granted, in words; empty for nothing."""
    if watch is None:
        return ""
    packets = sum(value for at in watch.labels_of(PACKETS) for _, value in watch.points_at(PACKETS, at))
    seconds = sum(value for at in watch.labels_of(BEYOND) for _, value in watch.points_at(BEYOND, at))
    if packets:
        return f"{packets:.0f} packets were held back beyond the instance’s allowance."
    return f"The volume was asked for more than it is granted for {seconds:.3g} s." if seconds else ""


def tool_share(trial: TrialEvidence) -> float | None:
    """Return the share of one processor that each worker of the tool took, by its own account; None where not told."""
    if trial.suite.id == "fio":
        parts = [max((one.value for one in trial.all_of(name)), default=None) for name in ("cpu_user", "cpu_system")]
        given = [part for part in parts if part is not None]
        return sum(given) / 100 if given else None
    used = trial.all_of("cpu_time")
    elapsed = trial.value("elapsed")
    if used and elapsed:
        return convert(used[0].value, used[0].metric.unit, Unit.SECOND) / elapsed
    shares = [figure.value / 100 for figure in trial.all_of("cpu_utilization")]
    return max(shares, default=None)


def throttled(watch: HostWatch | None) -> float | None:
    """Return the share of the time, from 0 to 1, in which a quota kept the tool from the processors."""
    found = [] if watch is None else [watch.mean(THROTTLED, **dict(at)) for at in watch.labels_of(THROTTLED)]
    return max((share / 100 for share in found if share is not None), default=None)
