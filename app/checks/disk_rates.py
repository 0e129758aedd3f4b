"""Checks of a disk trial: whether rate, block size, depth and the link to a volume agree."""

from collections.abc import Iterator

from app.checks.evidence import in_flight, watched_disks, workload_of
from app.checks.network import on_network_file_system, only_link, over
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.evidence import TrialCheck, TrialEvidence
from suites.facts import known
from suites.identities import SLACK
from suites.outputs import OPEN_LOOP
from suites.quantities import quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Trust
from suites.vocab import Labels, Resource, Severity

VOLUME_SHARE = 0.896
"""The share of a link's speed that a volume behind it can use: 896 of 1000 Mbit/s, 112 MB/s (check M26)."""

SAME_RATE = 0.02
"""Tolerated relative difference of IOPS × block size and bandwidth: tools print rounded figures (check M25)."""

SAME_DEPTH = 0.10
"""Tolerated relative excess of IOPS × latency over the depth: start and end of the run (check M24, Little’s law)."""

LEAST_RATE = 10.0
"""Least bandwidth in its unit: below it, two printed decimals are too coarse for the identity."""


def _over_volume(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    facts = trial.context.facts
    if trial.suite.resource is not Resource.DISK or not trial.done or not on_network_file_system(trial):
        return None
    link = only_link(facts)
    speed = None if link is None else known(link.speed)
    rates = [convert(one.value, one.metric.unit, Unit.BYTES_PER_SECOND) for one in trial.all_of("bandwidth")]
    if link is None or not speed or not rates:
        return NotChecked("The link to the volume, or its speed, is unknown.")
    ceiling = VOLUME_SHARE * speed / 8
    if not over(max(rates), ceiling):
        return None
    return CheckOutcome(
        f"{quantity(max(rates), Unit.BYTES_PER_SECOND)} from a volume behind {link.name} "
        f"({quantity(float(speed), Unit.BITS_PER_SECOND)}, at most {quantity(ceiling, Unit.BYTES_PER_SECOND)})."
    )


def _pairs(trial: TrialEvidence) -> Iterator[tuple[Labels, float, float, Unit]]:
    """Yield the labels, IOPS, bandwidth and its unit of each operation that has both."""
    rates = {figure.labels: figure for figure in trial.all_of("bandwidth")}
    for figure in trial.all_of("iops"):
        rate = rates.get(figure.labels)
        if rate is not None and rate.value >= LEAST_RATE:
            yield figure.labels, figure.value, rate.value, rate.metric.unit


def _half_unit(value: float) -> float:
    """Return half a unit of the last digit of a count that may be printed as ``2.1k`` or ``1.3M``; 0 for any other."""
    for power in (1e6, 1e3):
        if value >= power:
            return 0.05 * power if value % (0.1 * power) == 0 else 0.0
    return 0.0


def _other_block(trial: TrialEvidence) -> CheckOutcome | None:
    block = trial.values.get("block_size")
    if not trial.done or not trial.suite.uniform or not isinstance(block, int) or trial.values.get("block_sizes"):
        return None
    for at, ios, rate, unit in _pairs(trial):
        given = convert(rate, unit, Unit.BYTES_PER_SECOND)
        deviation = abs(ios * block / given - 1)
        if deviation > max(SAME_RATE, _half_unit(ios) / ios + SLACK if ios else 0.0):
            reported = quantity(given, Unit.BYTES_PER_SECOND)
            expected = quantity(ios * block, Unit.BYTES_PER_SECOND)
            operation = dict(at).get("operation", "all")
            return CheckOutcome(
                f"{operation}: {ios:.0f} IOPS × {block} B = {expected}; the tool reports {reported} "
                f"({share_text(deviation)} difference)."
            )
    return None


def _too_many(trial: TrialEvidence) -> CheckOutcome | None:
    found, most = in_flight(trial), workload_of(trial).concurrency
    waits = any(note.startswith(OPEN_LOOP) for note in trial.notes)
    if not trial.done or waits or found is None or most is None or found <= (1 + SAME_DEPTH) * most:
        return None
    return CheckOutcome(f"Rate × mean latency = {found:.3g} in flight; requested: {most}.")


FEW_IN_FLIGHT = 4
"""I/Os in flight below which the tool's own time between two I/Os matters unless each takes SLOW_IO."""

SLOW_IO = 100e-6
"""Seconds of a whole request, of which fio's own time is less than a tenth."""


def _waits(trial: TrialEvidence) -> bool:
    latencies = [convert(one.value, one.metric.unit, Unit.SECOND) for one in trial.all_of("total_latency_mean")]
    return bool(latencies) and min(latencies) >= SLOW_IO


def _half_empty(trial: TrialEvidence) -> CheckOutcome | None:
    """Report fewer than half of the requested I/Os in flight on average."""
    found, requested = in_flight(trial), workload_of(trial)
    most = requested.concurrency
    if not trial.done or found is None or most is None or found >= most / 2:
        return None
    if most < FEW_IN_FLIGHT and not _waits(trial):
        return None
    if requested.rate_limit is not None or isinstance(watched_disks(trial), NotChecked):
        return None
    return CheckOutcome(f"IOPS × mean latency = {found:.3g} in flight; requested: {most}.")


DISK_RATES: tuple[TrialCheck, ...] = (
    after_check(
        id="over-volume-link",
        severity=Severity.ERROR,
        title="Bandwidth exceeds the volume’s link",
        why="The page cache, or another cache on the path, served the I/O.",
        remedy="Use direct I/O, or files of at least twice the memory.",
        source="896 of 1000 Mbit/s: measured on a volume behind such a link.",
        evaluate=_over_volume,
        needs="the bandwidth, and the speed of the link to a network file system",
        trust=Trust.INVALID,
    ),
    after_check(
        id="rate-against-block",
        severity=Severity.ERROR,
        title="IOPS and bandwidth disagree",
        why="IOPS × block size must equal the bandwidth. Either a unit is wrong, or the block size is not the "
        "requested one.",
        remedy="Check the block sizes in the tool’s own output; report a bug if they are as requested.",
        source="Identity: IOPS × block size = bandwidth.",
        evaluate=_other_block,
        needs="IOPS, bandwidth and one block size",
        trust=Trust.INVALID,
    ),
    after_check(
        id="more-in-flight-than-asked",
        severity=Severity.ERROR,
        title="Rate and latency disagree (Little’s law)",
        why="More I/Os in flight than requested are impossible: one of the two figures is wrong, or they cover "
        "different times.",
        remedy="Compare both with the tool’s own output; check whether the clock was stepped during the trial.",
        source="Little’s law: rate × latency = number in flight.",
        evaluate=_too_many,
        needs="rate, mean latency, and the depth or threads",
        trust=Trust.DOUBTFUL,
    ),
    after_check(
        id="queue-half-empty",
        title="Queue depth not reached",
        why="The figure is that of a smaller depth: the tool submits more slowly than the device completes.",
        remedy="Use more jobs or a cheaper engine (io_uring), or request the depth that is reached.",
        source="Little’s law: rate × latency = number in flight.",
        evaluate=_half_empty,
        needs="IOPS, mean latency and the depth",
    ),
)
