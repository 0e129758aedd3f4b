"""Who was busy while a trial ran: the processors, the tool, and what they were granted."""

from suites.evidence import HostWatch, TrialEvidence
from suites.facts import known
from suites.units import Unit, convert

THROTTLED = ("cgroup_throttled", "cpu_throttled")
"""What telemetry may call the time in which a group was kept from the processors, in per cent of the time."""

CORE_BUSY = "core_busy"
"""What telemetry calls the use of one processor, in per cent, with the label ``cpu``."""


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


def busiest_core(watch: HostWatch | None) -> tuple[str, float] | None:
    """Return the name and the share, from 0 to 1, of the processor that was busiest on average, where each is read."""
    found = [] if watch is None else [(dict(at), at) for at in watch.labels_of(CORE_BUSY)]
    shares = [
        (named.get("cpu", ""), mean / 100)
        for named, at in found
        if watch is not None and (mean := watch.mean(CORE_BUSY, **dict(at))) is not None
    ]
    return max(shares, key=lambda one: one[1], default=None)


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
    for name in THROTTLED if watch is not None else ():
        found = [watch.mean(name, **dict(at)) for at in watch.labels_of(name)] if watch is not None else []
        given = [share for share in found if share is not None]
        if given:
            return max(given) / 100
    return None
