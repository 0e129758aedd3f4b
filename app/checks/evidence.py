"""Figures derived from a trial's evidence: CPU use, disk counters, bytes issued, I/Os in flight."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from suites.base import Workload
from suites.checks import CheckOutcome, NotChecked
from suites.disk import lowest_device
from suites.evidence import DONE, HostWatch, Point, TrialEvidence
from suites.facts import known
from suites.quantities import count_text
from suites.units import Unit, convert
from suites.vocab import ALL_DISKS, Figure, Labels, MetricKind, Resource, labels

COVERED = 0.9
"""Least share of the measured time that readings must cover for their sum to be that of the trial."""

HALF = 0.5
"""The share of the bytes a tool issued that must reach the device or link for the figure to be valid."""

Result = CheckOutcome | NotChecked | None

NOT_WATCHED = NotChecked("No telemetry of the host.")

NOT_WATCHED_THEN = NotChecked("No telemetry of the host in the measured time.")

RUNNING = "running"
"""The state of a trial in progress."""

AT_LEAST = 60.0
"""Assumed seconds of a trial without an estimate."""


def watched(find: Callable[[TrialEvidence, HostWatch], Result]) -> Callable[[TrialEvidence], Result]:
    """Return an evaluation that calls `find` with telemetry of the measured time of a running or completed trial."""
    return with_telemetry(
        lambda trial, watch: NOT_WATCHED_THEN if trial.done and not watch.counted else find(trial, watch)
    )


def with_telemetry(find: Callable[[TrialEvidence, HostWatch], Result]) -> Callable[[TrialEvidence], Result]:
    """Return an evaluation that calls `find` with the telemetry of a running or completed trial, whatever it covers."""

    def evaluate(trial: TrialEvidence) -> Result:
        if trial.state not in {DONE, RUNNING}:
            return None
        return NOT_WATCHED if trial.watch is None else find(trial, trial.watch)

    return evaluate


def host_watched(find: Callable[[HostWatch], Result]) -> Callable[[TrialEvidence], Result]:
    """Return an evaluation that calls `find` with the telemetry alone."""
    return watched(lambda _trial, watch: find(watch))


def length(trial: TrialEvidence, watch: HostWatch) -> float:
    """Return the total seconds of a trial: measured with samples, or estimated while it runs.

    A share of the estimate that is exceeded during the trial is still exceeded at its end.
    """
    if trial.state != RUNNING:
        return watch.counted
    return max(watch.seconds, trial.expected or AT_LEAST)


def part(trial: TrialEvidence, watch: HostWatch) -> float:
    """Return the elapsed share of a trial, from 0 to 1; 1 for a completed one."""
    return watch.counted / length(trial, watch) if watch.counted else 0.0


def counted(watch: HostWatch, metric: str) -> float | None:
    """Return the sum of an event counter over the measured time and all labels; None if it was not read."""
    found = [value for at in watch.labels_of(metric) for _, value in watch.points_at(metric, at)]
    return sum(found) if watch.labels_of(metric) else None


def total(watch: HostWatch, metric: str, values: Collection[str] | None = None) -> float | None:
    """Return the integral of a rate over the measured time, summed over all labels; None if it was not read.

    `values` are the labels' values that count, such as names of interfaces; None for all.
    """
    found = [
        watch.total(metric, **dict(at))
        for at in watch.labels_of(metric)
        if values is None or any(value in values for _, value in at)
    ]
    given = [value for value in found if value is not None]
    return sum(given) if given else None


def times_text(count: float) -> str:
    """Return a count as text: ``once``, ``4 times``."""
    return "once" if round(count) == 1 else f"{count:.0f} times"


THROTTLED = "cgroup_throttled"

BUSIEST = "core_busiest"


def cpus_of(trial: TrialEvidence) -> int | None:
    """Return the number of CPUs that the host's CPU percentages are relative to."""
    facts = trial.context.facts
    return None if facts is None else known(facts.cpu.threads) or known(facts.cpu.usable)


def usable_of(trial: TrialEvidence) -> float | None:
    """Return the number of CPUs that the tool may use: its affinity or its quota, whichever is smaller."""
    facts = trial.context.facts
    if facts is None:
        return None
    given = [float(one) for one in (known(facts.cpu.usable), known(facts.cpu.quota)) if one is not None]
    return min(given) if given else None


def busy(watch: HostWatch | None, cpus: int | None) -> float | None:
    """Return the mean number of CPUs in use by all processes; None if unknown."""
    if watch is None or not cpus:
        return None
    shares = [watch.mean(name) for name in ("cpu_user", "cpu_system")]
    given = [share for share in shares if share is not None]
    return sum(given) / 100 * cpus if len(given) == len(shares) else None


def busiest_core(watch: HostWatch | None) -> float | None:
    """Return the mean use, from 0 to 1, of the busiest CPU at each moment; None if unknown.

    A single thread may migrate between CPUs, so the mean of any one CPU would hide it.
    """
    share = None if watch is None else watch.mean(BUSIEST)
    return None if share is None else share / 100


def tool_share(trial: TrialEvidence) -> float | None:
    """Return each worker's use of one CPU, as reported by the tool; None if it reports none."""
    parts = [max((one.value for one in trial.all_of(name)), default=None) for name in ("cpu_user", "cpu_system")]
    given = [part for part in parts if part is not None]
    if given and trial.suite.uniform:
        return sum(given) / 100
    used = trial.all_of("cpu_time")
    elapsed = trial.value("elapsed")
    if used and elapsed:
        return convert(used[0].value, used[0].metric.unit, Unit.SECOND) / elapsed
    shares = [figure.value / 100 for figure in trial.all_of("cpu_utilization")]
    return max(shares, default=None)


MEASURING_ERROR = 0.03
"""Excess of a part over its whole that is measuring error: of two samplers, cut a fraction of a second apart."""


def share(part: float | None, whole: float | None) -> float | None:
    """Return `part` as a share of `whole`, at most 1; None if one is unknown or the part is impossibly large.

    2 CPUs of a quota of 1.5, or 308 % of the segments, show that the two were not counted over the same processes or
    time: no share can be derived.
    """
    if part is None or not whole or part < 0 or part > (1 + MEASURING_ERROR) * whole:
        return None
    return min(1.0, part / whole)


def tool_cpus(trial: TrialEvidence) -> float | None:
    """Return the mean number of CPUs that the test's own processes used; None if they were not counted."""
    return _cpus(trial, "tool_cpu_user", "tool_cpu_system")


def other_cpus(trial: TrialEvidence) -> float | None:
    """Return the mean number of CPUs used by other processes; None if the test's were not counted."""
    return _cpus(trial, "other_cpu")


def _cpus(trial: TrialEvidence, *metrics: str) -> float | None:
    cpus = cpus_of(trial)
    means = [None if trial.watch is None else trial.watch.mean(metric) for metric in metrics]
    given = [mean for mean in means if mean is not None]
    return sum(given) / 100 * cpus if cpus and len(given) == len(metrics) else None


_WORKERS = ("clients", "threads", "numjobs", "streams", "copies")
"""Parameters that set how many work at once."""


def workers_of(trial: TrialEvidence) -> int | None:
    """Return the threads, jobs, clients or streams that the step requests; None if it requests none."""
    given = (trial.values.get(name) for name in _WORKERS)
    return workload_of(trial).workers or next((one for one in given if isinstance(one, int) and one), None)


def workers_parameter(trial: TrialEvidence) -> str:
    """Return the parameter that sets how many work at once; empty if the suite has none."""
    names = {parameter.name for parameter in trial.suite.parameters}
    return next((one for one in _WORKERS if one in names), "")


IO_RESOURCES = frozenset({Resource.DISK, Resource.NETWORK})


@dataclass(frozen=True, slots=True)
class Contention:
    """CPUs that the test got and asked for, and that other processes had; `lost` is the share of its time lost."""

    got: float
    asked: float
    others: float
    lost: float

    @property
    def text(self) -> str:
        """The CPUs as a clause."""
        return f"the test got {self.got:.3g} of the {count_text(self.asked, 'CPU')} that it asked for"


def contention(trial: TrialEvidence) -> Contention | None:
    """Return how much CPU time the test lost to other processes; None if it was not counted.

    A test asks for the CPUs that its threads ran on or waited for, at most those that it may use. What it did not get
    and others did is lost: a share of at least its workers' time, as a program that sleeps loses nothing. A latency of
    its wake-ups does: what it waited of the time it asked for, if others had half the CPUs.
    """
    got, others, usable = tool_cpus(trial), other_cpus(trial), usable_of(trial)
    waiting = None if trial.watch is None else trial.watch.mean("tool_waiting")
    server_elsewhere = (trial.suite.uses_server and trial.values.get("server") != "own") or trial.peer == trial.host
    if got is None or others is None or waiting is None or not usable or server_elsewhere:
        return None
    asked = max(got, min(got + waiting, usable))
    wakes = others >= HALF * usable and _measures_wake_ups(trial)
    whole = asked if wakes else max(asked, min(workers_of(trial) or 1, usable))
    if not whole:  # it neither ran nor waited
        return None
    return Contention(got, asked, others, min(asked - got, others) / whole)


SHORT_OPERATION = 0.01
"""The share of a trial up to which a time is that of one operation of many, not of the work."""


def _measures_wake_ups(trial: TrialEvidence) -> bool:
    """Whether the headline is the latency of operations that wait for nothing but a timer or the CPU."""
    head, seconds = trial.headline, trial.duration or trial.expected
    if head is None or head.metric.kind is not MetricKind.TIME or trial.suite.resource in IO_RESOURCES or not seconds:
        return False
    return convert(head.value, head.metric.unit, Unit.SECOND) <= SHORT_OPERATION * seconds


def throttled(watch: HostWatch | None) -> float | None:
    """Return the share of the time, from 0 to 1, in which a cgroup quota throttled the tool; None if unknown."""
    found = [] if watch is None else [watch.mean(THROTTLED, **dict(at)) for at in watch.labels_of(THROTTLED)]
    return max((min(1.0, share / 100) for share in found if share is not None), default=None)


def at_peer(trial: TrialEvidence) -> TrialEvidence | None:
    """Return the trial with the telemetry and facts of its peer in place of its host’s; None if not watched."""
    watch = trial.peer_watch
    if watch is None or trial.peer is None:
        return None
    context = replace(trial.context, facts=watch.before)
    return replace(trial, context=context, host=trial.peer, peer=trial.host, watch=watch, peer_watch=trial.watch)


READ, WRITE = "read", "write"

MIXED = "mixed"
"""Reads and writes together, as a tool labels a figure of which it does not report the parts."""

OWN_RATE = {READ: "tool_read_rate", WRITE: "tool_write_rate"}
"""The rate at the block layer of the test's own processes."""


@dataclass(frozen=True, slots=True)
class IoCount:
    """Bytes and I/Os in one direction; None if unknown."""

    size: float | None = None
    ios: float | None = None


def seconds_of(trial: TrialEvidence) -> float | None:
    """Return the seconds that the tool reports it measured, else the requested ones, without the ramp.

    The duration of an output from elsewhere is what it reports; what it does not state was not requested so.
    """
    for metric in ("elapsed", "total_time", "wall_time"):
        found = trial.all_of(metric)
        if found:
            return convert(found[0].value, found[0].metric.unit, Unit.SECOND)
    requested, rate = workload_of(trial), trial.sum_of("bandwidth")
    if trial.elsewhere and trial.duration:
        return trial.duration - requested.ramp if trial.duration > requested.ramp else trial.duration
    if requested.seconds or requested.size is None:
        return min((one for one in (requested.seconds, trial.duration) if one), default=None)
    return requested.size / rate if rate else None


def issued(trial: TrialEvidence, operation: str) -> IoCount | None:
    """Return the bytes and I/Os that the tool reports it read or wrote; None if it did not, or reports none.

    MIXED are those of a pattern that reads and writes, of which the tool does not report the parts.
    """
    if not trial.suite.uniform:
        return None
    copied = trial.value("copied")
    if copied is not None:
        return IoCount(copied) if operation in workload_of(trial).copied else None
    seconds = seconds_of(trial)
    if seconds is None:
        return None
    size = _total(trial, "bandwidth", operation, seconds, Unit.BYTES_PER_SECOND)
    ios = _total(trial, "iops", operation, seconds, Unit.PER_SECOND)
    return None if size is None else IoCount(size, ios)


def _total(trial: TrialEvidence, metric: str, operation: str, seconds: float, unit: Unit) -> float | None:
    rates = [convert(one.value, one.metric.unit, unit) for one in figures_of(trial, metric, operation)]
    return sum(rates) * seconds if rates else None


def figures_of(trial: TrialEvidence, metric: str, operation: str) -> tuple[Figure, ...]:
    """Return the figures of a metric in one direction; a mixed figure is that of a pattern of one direction."""
    pattern = trial.suite.traits(trial.values, trial.context.facts).operation
    mixed = None if pattern == "trim" else {READ: READ, WRITE: WRITE}.get(str(pattern), MIXED)
    labelled = ((one, dict(one.labels).get("operation")) for one in trial.all_of(metric))
    return tuple(one for one, at in labelled if (mixed if at == MIXED else at) == operation)


def directions(trial: TrialEvidence) -> tuple[str, ...]:
    """Return the directions that the tool reports apart, or MIXED alone."""
    return (MIXED,) if figures_of(trial, "bandwidth", MIXED) else (READ, WRITE)


def disks_of(trial: TrialEvidence) -> list[str | None]:
    """Return the name of the whole disk or loop device of each volume of a trial, None where not known."""
    facts, volumes = trial.context.facts, trial.suite.volumes(trial.values)
    return [None if facts is None else lowest_device(trial.suite, part, facts) for part in volumes]


def watched_disks(trial: TrialEvidence) -> tuple[str, ...] | NotChecked:
    """Return the names of the whole disks or loop devices that the step uses, or why one is unknown or not watched."""
    facts, watch = trial.context.facts, trial.watch
    if trial.suite.resource is not Resource.DISK:
        return NotChecked("Not a disk test.")
    if facts is None or watch is None:
        return NOT_WATCHED
    if workload_of(trial).no_device:
        return NotChecked("The I/O uses no block device of this host.")
    names = disks_of(trial)
    found = [name for name in names if name is not None and (("device", name),) in watch.labels_of("disk_read_rate")]
    return tuple(dict.fromkeys(found)) if len(found) == len(names) else NotChecked("No I/O counters of a disk in use.")


def disk_and_watch(trial: TrialEvidence) -> tuple[str, HostWatch] | NotChecked:
    """Return the disk of watched_disks() with the telemetry of its host, or why there is none.

    Several disks are one, “sda and sdb”, which has the sum of their I/O and at each time the use of the busiest.
    """
    disks, watch = watched_disks(trial), trial.watch
    if isinstance(disks, NotChecked) or watch is None:
        return disks if isinstance(disks, NotChecked) else NOT_WATCHED
    name = " and ".join(disks)
    return name, watch if len(disks) == 1 else replace(watch, series={**watch.series, **_joined(watch, disks, name)})


def _joined(watch: HostWatch, disks: Collection[str], name: str) -> dict[tuple[str, Labels], tuple[Point, ...]]:
    found = {}
    for metric, join in _JOINED.items():
        each = [dict(watch.series.get((metric, labels(device=disk)), ())) for disk in disks]
        times = sorted(set[float].intersection(*map(set, each)))
        if times:
            found[metric, labels(device=name)] = tuple((time, join(one[time] for one in each)) for time in times)
    return found


_JOINED: Mapping[str, Callable[[Iterable[float]], float]] = {
    "disk_read_rate": sum, "disk_write_rate": sum, "disk_read_ios": sum, "disk_write_ios": sum, "disk_busy": max,
}  # fmt: skip


def reached(watch: HostWatch, disk: str, operation: str) -> IoCount:
    """Return the kernel's counts at the disk over the measured time."""
    if operation == MIXED:
        ways = [reached(watch, disk, one) for one in (READ, WRITE)]
        return IoCount(sum_of_both(*(one.size for one in ways)), sum_of_both(*(one.ios for one in ways)))
    return IoCount(
        watch.total(f"disk_{operation}_rate", device=disk), watch.total(f"disk_{operation}_ios", device=disk)
    )


def most_reached(trial: TrialEvidence, operation: str) -> float | None:
    """Return the bytes that all disks of the host did, the most that can be of the trial; None if not counted whole."""
    watch, metric = trial.watch, f"disk_{operation}_rate"
    if watch is None:
        return None
    if operation == MIXED:
        return sum_of_both(most_reached(trial, READ), most_reached(trial, WRITE))
    names = [dict(at).get("device", "") for at in watch.labels_of(metric)]
    names = [ALL_DISKS] if ALL_DISKS in names else names
    if not names or any(watch.covered(metric, device=name) < COVERED for name in names):
        return None
    return sum(watch.total(metric, device=name) or 0.0 for name in names)


def sum_of_both(one: float | None, other: float | None) -> float | None:
    """Return the sum; None if one is unknown."""
    return None if one is None or other is None else one + other


def in_sequence(trial: TrialEvidence) -> bool:
    """Return whether the I/O is sequential, so that the kernel may merge neighbouring I/Os."""
    pattern = str(trial.values.get("rw", trial.values.get("mode", "seq")))
    return not pattern.startswith(("rand", "rnd"))


def in_flight(trial: TrialEvidence) -> float | None:
    """Return the mean number of I/Os or events in flight: rate × mean latency (Little’s law)."""
    found = []
    for metric in ("iops", "events_per_second", "syncs_per_second"):
        for figure in trial.all_of(metric):
            latency = trial.latency("mean", figure.labels)
            if latency is not None:
                found.append(figure.value * convert(latency.value, latency.metric.unit, Unit.SECOND))
    return sum(found) if found else None


def as_measured(trial: TrialEvidence) -> TrialEvidence:
    """Return the trial as one of the equivalent suite, such as fio for a job file of one section."""
    suite, values = trial.suite.measured_as(trial.values, trial.context.facts)
    return trial if suite is trial.suite else replace(trial, suite=suite, values=values)


def workload_of(trial: TrialEvidence) -> Workload:
    """Return the workload that the trial's step requests of its tool."""
    return trial.suite.workload(trial.values)


def moves_bytes(trial: TrialEvidence) -> bool:
    """Whether the tool reports bytes of I/O that are all alike."""
    return trial.suite.uniform and bool(trial.all_of("bandwidth"))
