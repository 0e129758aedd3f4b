"""Did it break limits: ceilings of links and volumes, and the identities that every figure has to keep."""

from collections.abc import Iterator

from app.checks.after_disk import COUNTED, depth_of, disk_below
from app.checks.after_network import link_of, only_link, speed_of, throughput
from app.wording import quantity, share_text
from suites.checks import CannotTell, Check, Outcome, TrialCheck, When
from suites.disk import NETWORK_KINDS
from suites.evidence import TrialEvidence
from suites.facts import known
from suites.units import Unit, convert
from suites.verdict import Trust
from suites.vocab import Labels, Level, Resource

LINK_SHARE = 0.97
"""The share of a link's speed that data can have at most: Ethernet, IP and TCP headers take 3 to 6 % of 1500-byte
frames, 1 % of 9000-byte ones (check M26)."""

VOLUME_SHARE = 0.896
"""The share of a link's speed that a volume behind it delivers: 896 of 1000 Mbit/s, 112 MB/s (check M26)."""

SAME_RATE = 0.02
"""By which share I/Os times block may differ from the bandwidth: rounding of what tools print (check M25)."""

SAME_DEPTH = 0.10
"""By which share I/Os times latency may exceed the depth: start and end of the run (check M24, Little’s law)."""

LEAST_RATE = 10.0
"""Of a bandwidth below ten of its unit, two printed decimals are not enough for the identity."""


def over(value: float, ceiling: float) -> bool:
    """Return whether `value` is beyond `ceiling` by more than rounding."""
    return value > ceiling * 1.001


def _over_link(trial: TrialEvidence) -> Outcome | CannotTell | None:
    if trial.suite.resource is not Resource.NETWORK or not trial.done:
        return None
    link = link_of(trial)
    if isinstance(link, CannotTell):
        return link
    speed, rate = speed_of(link), _one_way(trial)
    if isinstance(speed, CannotTell):
        return speed
    if rate is None or not over(rate, LINK_SHARE * speed):
        return None
    told = quantity(speed, Unit.BITS_PER_SECOND)
    return Outcome(
        f"{quantity(rate, Unit.BITS_PER_SECOND)} of data over {link.name}, whose speed is {told}: at most "
        f"{share_text(LINK_SHARE)} of that can be data."
    )


def _one_way(trial: TrialEvidence) -> float | None:
    """Return the faster of the directions: a link has its speed each way."""
    received = [one.value for one in trial.all_of("throughput") if dict(one.labels).get("end") == "receiver"]
    return max(received) if received else throughput(trial)


def _over_volume(trial: TrialEvidence) -> Outcome | CannotTell | None:
    facts = trial.context.facts
    if trial.suite.resource is not Resource.DISK or not trial.done or facts is None:
        return None
    directory = facts.directory(str(trial.values.get(trial.suite.directory_parameter or "", "")))
    if directory is None or known(directory.kind) not in NETWORK_KINDS:
        return None
    link = only_link(facts)
    speed = None if link is None else known(link.speed)
    rates = [convert(one.value, one.metric.unit, Unit.BYTES_PER_SECOND) for one in trial.all_of("bandwidth")]
    if link is None or not speed or not rates:
        return CannotTell("The link to the volume, or its speed, is not known.")
    ceiling = VOLUME_SHARE * speed / 8
    if not over(max(rates), ceiling):
        return None
    return Outcome(
        f"{quantity(max(rates), Unit.BYTES_PER_SECOND)} from a volume behind {link.name} of "
        f"{quantity(float(speed), Unit.BITS_PER_SECOND)}, which carries {quantity(ceiling, Unit.BYTES_PER_SECOND)}."
    )


def _pairs(trial: TrialEvidence) -> Iterator[tuple[Labels, float, float, Unit]]:
    """Yield I/Os a second and bandwidth, of each operation that has both."""
    rates = {figure.labels: figure for figure in trial.all_of("bandwidth")}
    for figure in trial.all_of("iops"):
        rate = rates.get(figure.labels)
        if rate is not None and rate.value >= LEAST_RATE:
            yield figure.labels, figure.value, rate.value, rate.metric.unit


def _other_block(trial: TrialEvidence) -> Outcome | None:
    block = trial.values.get("block_size")
    if not trial.done or trial.suite.id not in COUNTED or not isinstance(block, int) or trial.values.get("block_sizes"):
        return None
    for at, ios, rate, unit in _pairs(trial):
        given = convert(rate, unit, Unit.BYTES_PER_SECOND)
        apart = abs(ios * block / given - 1)
        if apart > SAME_RATE:
            told = quantity(given, Unit.BYTES_PER_SECOND)
            made = quantity(ios * block, Unit.BYTES_PER_SECOND)
            which = dict(at).get("operation", "all")
            return Outcome(
                f"{which}: {ios:.0f} I/Os a second of {block} B make {made}, the tool says {told}: "
                f"{share_text(apart)} apart."
            )
    return None


def in_flight(trial: TrialEvidence) -> float | None:
    """Return how many I/Os or events were under way on average: their rate times their latency (Little’s law)."""
    latencies = {figure.labels: figure for figure in trial.all_of("latency_mean")}
    found = []
    for metric in ("iops", "events_per_second"):
        for figure in trial.all_of(metric):
            latency = latencies.get(figure.labels)
            if latency is not None:
                found.append(figure.value * convert(latency.value, latency.metric.unit, Unit.SECOND))
    return sum(found) if found else None


def _most_in_flight(trial: TrialEvidence) -> int | None:
    threads = trial.values.get("threads")
    if trial.suite.id in {"sysbench-cpu", "sysbench-threads"} and isinstance(threads, int) and threads:
        return threads
    return depth_of(trial) if trial.suite.id == "fio" else None


def _too_many(trial: TrialEvidence) -> Outcome | None:
    found, most = in_flight(trial), _most_in_flight(trial)
    if not trial.done or found is None or most is None or found <= (1 + SAME_DEPTH) * most:
        return None
    return Outcome(f"Rate times mean latency gives {found:.3g} at once, and {most} were asked for.")


def _half_empty(trial: TrialEvidence) -> Outcome | None:
    """Say that the depth was not kept: less than half of it was under way on average."""
    found, most = in_flight(trial), depth_of(trial)
    if trial.suite.id != "fio" or not trial.done or found is None or most is None or most < 4 or found >= most / 2:
        return None
    if trial.values.get("rate_iops") or isinstance(disk_below(trial), CannotTell):
        return None
    return Outcome(f"I/Os a second times mean latency gives {found:.3g} in flight; {most} were asked for.")


OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="over-link",
        level=Level.ERROR,
        title="More than the link can carry",
        why="It did not go over that link, or it was not counted where it arrived.",
        remedy="Check which way the data takes (ip route get), and whether both ends are where they are thought to be.",
        source="Ethernet framing; link speed in /sys/class/net.",
        evaluate=_over_link,
        when=When.AFTER,
        needs="the throughput, the busiest interface and its speed",
        trust=Trust.INVALID,
    ),
    Check(
        id="over-volume-link",
        level=Level.ERROR,
        title="More than the volume’s link can carry",
        why="Memory answered for the volume: the page cache here, or a cache on the way.",
        remedy="Use direct I/O, or files of at least twice the memory.",
        source="896 of 1000 Mbit/s: what a volume behind such a link delivers.",
        evaluate=_over_volume,
        when=When.AFTER,
        needs="the bandwidth, and the speed of the link to a network file system",
        trust=Trust.INVALID,
    ),
    Check(
        id="rate-against-block",
        level=Level.ERROR,
        title="I/Os and bandwidth contradict each other",
        why="I/Os a second times the block are the bandwidth. Where they are not, a unit is mistaken or the blocks are "
        "not those asked for.",
        remedy="Check the block sizes in the tool’s own output; report it where they are as asked.",
        source="Identity: I/Os a second × block = bandwidth.",
        evaluate=_other_block,
        when=When.AFTER,
        needs="I/Os a second, bandwidth and one block size",
        trust=Trust.INVALID,
    ),
    Check(
        id="more-in-flight-than-asked",
        level=Level.ERROR,
        title="Rate and latency contradict each other",
        why="No more can be under way than was asked for. One of the two figures is wrong, or they are of different "
        "times.",
        remedy="Compare both with the tool’s own output; look for a clock that was set while it ran.",
        source="Little’s law: rate × latency = number in flight.",
        evaluate=_too_many,
        when=When.AFTER,
        needs="rate, mean latency, and the depth or threads",
        trust=Trust.DOUBTFUL,
    ),
    Check(
        id="queue-half-empty",
        level=Level.WARNING,
        title="The queue was not kept full",
        why="The figure is that of a smaller depth: the tool did not keep up with what the device takes.",
        remedy="Use more jobs, or a cheaper engine (io_uring); or ask for the depth that is reached.",
        source="Little’s law: rate × latency = number in flight.",
        evaluate=_half_empty,
        when=When.AFTER,
        needs="I/Os a second, mean latency and the depth",
    ),
)
