"""Checks of cloud limits: network and volume bursts, instance stores, network allowances, provisioned volumes."""

import re
from collections import Counter

from app.checks.evidence import counted, watched, watched_disks
from app.checks.storage_layers import whole_disk
from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked, during_check
from suites.disk import GIB
from suites.evidence import HostWatch, TrialCheck, TrialEvidence
from suites.facts import BlockDevice, Facts, known
from suites.quantities import count_text, duration_text, quantity
from suites.vocab import Resource, Severity

SMALL_SIZES = frozenset({"nano", "micro", "small", "medium", "large", "xlarge", "2xlarge", "4xlarge"})
"""Sizes of AWS whose bandwidth is documented as “up to”: 16 vCPUs or fewer (EC2 User Guide, network bandwidth)."""

BUCKET = 3600.0
"""Longest documented network burst of AWS in seconds; c5.xlarge fell to 1.14 Gbit/s after 13 minutes."""

NETWORK_BLOCKS = "Amazon Elastic Block Store"

LOCAL_BLOCKS = "Amazon EC2 NVMe Instance Storage"
"""Model names of the two kinds of NVMe devices on AWS."""

SMALL_VOLUME = 1000 * GIB
"""Size below which the baseline of a gp2 volume (3 IOPS per GiB) is less than its burst of 3,000 IOPS."""

LEAST_EARNED = 100
"""Least baseline IOPS of a gp2 volume (EBS User Guide, gp2 volume performance)."""

CREDITS = 5.4e6
"""I/O credits of a new gp2 volume, which is also the maximum (the same source)."""


def _network_burst(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.suite.resource is not Resource.NETWORK:
        return None
    ends = [facts for facts in (evidence.context.facts, evidence.context.peer_facts) if facts is not None]
    if not ends:
        return NotChecked("Facts of both ends are missing.")
    burstable = [kind for facts in ends if (kind := _burstable_bandwidth(facts)) is not None]
    trial = evidence.suite.estimate(evidence.values, evidence.context).duration
    if not burstable or trial is None or trial * evidence.trials >= BUCKET:
        return None
    return CheckOutcome(
        f"{' and '.join(dict.fromkeys(burstable))} may burst for 5 to 60 min; {evidence.trials} trials take "
        f"{trial * evidence.trials / 60:.2g} min."
    )


def _burstable_bandwidth(facts: Facts) -> str | None:
    kind = known(facts.cloud.instance_type)
    found = None if kind is None else re.fullmatch(r"[a-z0-9-]+\.([a-z0-9]+)", kind)
    return kind if found is not None and found[1] in SMALL_SIZES else None


def _disk(evidence: StepEvidence) -> BlockDevice | NotChecked | None:
    """Return the whole disk that the step works on, or None where it works on none."""
    return whole_disk(evidence) if evidence.suite.resource is Resource.DISK else None


def _volume_burst(evidence: StepEvidence) -> CheckOutcome | None:
    disk = _disk(evidence)
    if not isinstance(disk, BlockDevice) or known(disk.model) != NETWORK_BLOCKS:
        return None  # other checks report an unknown disk
    size = known(disk.size)
    if size is None or size >= SMALL_VOLUME:
        return None
    earned = max(LEAST_EARNED, 3 * size // GIB)
    return CheckOutcome(
        f"{disk.name} is an EBS volume of {quantity(size)}; its type is not visible to the host. A gp2 volume of this "
        f"size has {earned:,} IOPS, and bursts to 3,000 for {CREDITS / max(1, 3000 - earned) / 60:.0f} min."
    )


def _first_touch(evidence: StepEvidence) -> CheckOutcome | None:
    disk = _disk(evidence)
    if not isinstance(disk, BlockDevice) or known(disk.model) != NETWORK_BLOCKS:
        return None
    if not evidence.suite.device(evidence.values):
        return None  # files are written before they are read
    return CheckOutcome(f"{disk.name} is an EBS volume; the host cannot see whether it was created from a snapshot.")


def _local_disk(evidence: StepEvidence) -> CheckOutcome | None:
    disk = _disk(evidence)
    if not isinstance(disk, BlockDevice) or known(disk.model) != LOCAL_BLOCKS:
        return None
    return CheckOutcome(f"{disk.name} is an instance store (local NVMe disk).")


NETWORK_BURST = Check(
    id="network-burst",
    title="Burstable instance: network burst",
    why="This size has “up to” bandwidth: a burst on credits over a baseline several times lower. c5.xlarge fell to "
    "1.14 Gbit/s after 13 minutes.",
    remedy="Measure until throughput falls, for an hour at most, and report both levels; or use a larger size.",
    source="AWS, Amazon EC2 instance network bandwidth; Uta et al. (NSDI 2020).",
    needs="Instance types of both ends; runtime and number of trials.",
    evaluate=_network_burst,
)

VOLUME_BURST = Check(
    id="volume-burst",
    severity=Severity.INFO,
    title="Volume may have burst credits",
    why="A gp2 volume below 1 TiB is fast until its credits are used up, then many times slower. gp3 and io2 have no "
    "such burst.",
    remedy="Look up the volume type. If it is gp2, measure beyond the burst and report both levels, or change it to "
    "gp3.",
    source="AWS, Amazon EBS General Purpose volumes: 5.4 million credits, 3 IOPS per GiB.",
    needs="Model and size of the disk.",
    evaluate=_volume_burst,
)

FIRST_TOUCH = Check(
    id="snapshot-volume",
    severity=Severity.INFO,
    title="Volume may load from a snapshot",
    why="A volume created from a snapshot fetches each block from remote storage on first read.",
    remedy="Read every block once before measuring, unless you want to measure first-touch latency.",
    source="AWS, Initialize Amazon EBS volumes.",
    needs="Whether the test uses a raw device; its model.",
    evaluate=_first_touch,
)

LOCAL_DISK = Check(
    id="ephemeral-disk",
    severity=Severity.INFO,
    title="Instance store varies between instances",
    why="Each instance has another drive of another age, and its data is lost when the instance stops. In one study "
    "instance stores were the least repeatable choice.",
    remedy="Measure the noise: several instances, several trials on each. Provisioned volumes vary less.",
    source="A database vendor's study of noise (2019): most tests below 10 % by (max - min) / median on provisioned "
    "volumes only.",
    needs="Model of the disk.",
    evaluate=_local_disk,
)

EXCEEDED_PACKETS, EXCEEDED_SECONDS = "allowance_exceeded", "allowance_exceeded_time"
"""Telemetry metrics: packets, and seconds, beyond a cloud's limits since the previous reading."""


def allowance_text(watch: HostWatch | None) -> str:
    """Return the packets or seconds beyond the limits of the instance or volume; empty for none."""
    if watch is None:
        return ""
    packets, seconds = counted(watch, EXCEEDED_PACKETS), counted(watch, EXCEEDED_SECONDS)
    if packets:
        return f"{count_text(packets, 'packet')} were queued or dropped beyond the instance’s allowance."
    return f"I/O exceeded the volume’s provisioned limit for {seconds:.3g} s." if seconds else ""


EXCEEDED = 0.1
"""Least reported time in seconds above a volume's provisioned limit."""

_NO_ALLOWANCES = (
    "No allowance counters: they need an ENA adapter with ethtool, or an EBS volume with nvme-cli and root."
)


@watched
def _network_allowance(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    if counted(watch, EXCEEDED_PACKETS) is None:
        return NotChecked(_NO_ALLOWANCES)
    kinds: Counter[str] = Counter()
    for at in watch.labels_of(EXCEEDED_PACKETS):
        named = dict(at)
        kinds[f"{named.get('interface', '')} {named.get('allowance', '')}".strip()] += round(
            sum(value for _, value in watch.points_at(EXCEEDED_PACKETS, at))
        )
    found = [f"{count_text(count, 'packet')} ({kind})" for kind, count in kinds.most_common(4) if count > 0]
    if not found:
        return None
    return CheckOutcome(
        f"Queued or dropped beyond the instance’s allowance: {', '.join(found)}.",
        severity=Severity.ERROR if trial.suite.resource is Resource.NETWORK else Severity.INFO,
    )


@watched
def _volume_limit(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    seconds = counted(watch, EXCEEDED_SECONDS)
    if seconds is None:
        return NotChecked(_NO_ALLOWANCES)
    if seconds < EXCEEDED:
        return None
    disks = watched_disks(trial)
    here = () if isinstance(disks, NotChecked) else disks
    elsewhere = here and sum(sum(watch.values(EXCEEDED_SECONDS, device=disk)) for disk in here) < EXCEEDED
    of_disks = trial.suite.resource in {Resource.DISK, Resource.APPLICATION} and not elsewhere
    return CheckOutcome(
        f"I/O exceeded the volume’s provisioned limit for {duration_text(seconds)} of {duration_text(watch.counted)}.",
        severity=Severity.WARNING if of_disks else Severity.INFO,
    )


STEP_CHECKS = (NETWORK_BURST, VOLUME_BURST, FIRST_TOUCH, LOCAL_DISK)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    during_check(
        id="allowance-exceeded",
        severity=Severity.ERROR,
        title="Cloud network allowance exceeded",
        why="The figure is that of the instance’s allowance, which may be a burst that ends.",
        remedy="Use a larger instance type, or quote the figure as the type’s.",
        source="Amazon EC2, ENA: bw_in, bw_out, pps, conntrack and linklocal_allowance_exceeded.",
        evaluate=_network_allowance,
        needs="ethtool on the host and an ENA adapter, every ten seconds",
    ),
    during_check(
        id="volume-limit-reached",
        title="Provisioned volume limit reached",
        why="The figure is the provisioned limit, not what the device or the instance can do.",
        remedy="Quote it with the provisioned limit, or provision more IOPS or throughput.",
        source="Amazon EBS detailed performance statistics: performance_exceeded.",
        evaluate=_volume_limit,
        needs="nvme-cli and root on the host and an EBS volume, every ten seconds",
    ),
)
