"""Checks of what a cloud lends: bursts of network and volumes, volumes that are filled at first touch, local disks."""

import re

from app.checks.disks import disk_below
from suites.base import device_of
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import GIB, amount
from suites.facts import BlockDevice, Facts, known
from suites.vocab import Level, Resource

SMALL_SIZES = frozenset({"nano", "micro", "small", "medium", "large", "xlarge", "2xlarge", "4xlarge"})
"""Sizes of AWS whose bandwidth is documented as “up to”: 16 vCPUs or fewer (EC2 User Guide, network bandwidth)."""

BUCKET = 3600.0
"""Seconds for which AWS says that a network burst may last; c5.xlarge fell to 1.14 Gbit/s after 13 minutes."""

NETWORK_BLOCKS = "Amazon Elastic Block Store"
LOCAL_BLOCKS = "Amazon EC2 NVMe Instance Storage"
"""What the two kinds of NVMe devices on AWS call themselves."""

SMALL_VOLUME = 1000 * GIB
"""Below it a gp2 volume earns fewer than the 3,000 I/Os a second that it bursts to (3 for each GiB)."""

LEAST_EARNED = 100
"""I/Os a second that a gp2 volume earns however small it is (EBS User Guide, gp2 volume performance)."""

CREDITS = 5.4e6
"""I/Os that a gp2 volume has in store when it is new, and at most (the same source)."""


def _network_burst(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.suite.resource is not Resource.NETWORK:
        return None
    ends = [facts for facts in (evidence.context.facts, evidence.context.peer_facts) if facts is not None]
    if not ends:
        return CannotTell("The facts of neither end have been read.")
    lent = [kind for facts in ends if (kind := _lent_bandwidth(facts)) is not None]
    trial = evidence.suite.estimate(evidence.values, evidence.context).duration
    if not lent or trial is None or trial * evidence.trials >= BUCKET:
        return None
    return Outcome(
        f"{' and '.join(dict.fromkeys(lent))} may burst for 5 to 60 min; {evidence.trials} trials take "
        f"{trial * evidence.trials / 60:.2g} min."
    )


def _lent_bandwidth(facts: Facts) -> str | None:
    kind = known(facts.cloud.instance_type)
    found = None if kind is None else re.fullmatch(r"[a-z0-9-]+\.([a-z0-9]+)", kind)
    return kind if found is not None and found[1] in SMALL_SIZES else None


def _disk(evidence: StepEvidence) -> BlockDevice | CannotTell | None:
    """Return the whole disk that the step works on, or None where it works on none."""
    return disk_below(evidence) if evidence.suite.resource is Resource.DISK else None


def _volume_burst(evidence: StepEvidence) -> Outcome | None:
    disk = _disk(evidence)
    if not isinstance(disk, BlockDevice) or known(disk.model) != NETWORK_BLOCKS:
        return None  # where nothing is known of the disk, others say so
    size = known(disk.size)
    if size is None or size >= SMALL_VOLUME:
        return None
    earned = max(LEAST_EARNED, 3 * size // GIB)
    return Outcome(
        f"{disk.name} is an EBS volume of {amount(size)}; the host is not told of which type. As gp2 it earns "
        f"{earned:,} I/Os a second, and bursts to 3,000 for {CREDITS / max(1, 3000 - earned) / 60:.0f} min."
    )


def _first_touch(evidence: StepEvidence) -> Outcome | None:
    disk = _disk(evidence)
    if not isinstance(disk, BlockDevice) or known(disk.model) != NETWORK_BLOCKS:
        return None
    if not device_of(evidence.suite, evidence.values):
        return None  # files are written before they are read
    return Outcome(f"{disk.name} is an EBS volume; whether it was made from a snapshot is not told to the host.")


def _local_disk(evidence: StepEvidence) -> Outcome | None:
    disk = _disk(evidence)
    if not isinstance(disk, BlockDevice) or known(disk.model) != LOCAL_BLOCKS:
        return None
    return Outcome(f"{disk.name} is a local disk of the instance.")


NETWORK_BURST = Check(
    id="network-burst",
    level=Level.WARNING,
    title="The bandwidth is lent",
    why="Instances of this size have a bandwidth of “up to”: a good start is paid with credits, and the baseline is "
    "several times less. c5.xlarge fell to 1.14 Gbit/s after 13 minutes.",
    remedy="Measure until it falls, for an hour at most, and report both levels; or use a larger size.",
    source="AWS, Amazon EC2 instance network bandwidth; Uta and others (NSDI 2020).",
    needs="The instance types of both ends; the time, and how many trials.",
    evaluate=_network_burst,
)

VOLUME_BURST = Check(
    id="volume-burst",
    level=Level.INFO,
    title="The volume may live on credits",
    why="A gp2 volume below 1 TiB is fast until its credits are gone, then many times slower. gp3 and io2 are not.",
    remedy="Look up the volume's type. Of gp2, measure beyond the burst and report both levels, or change it to gp3.",
    source="AWS, Amazon EBS General Purpose volumes: 5.4 million credits, 3 I/Os a second for each GiB.",
    needs="The model and size of the disk below.",
    evaluate=_volume_burst,
)

FIRST_TOUCH = Check(
    id="snapshot-volume",
    level=Level.INFO,
    title="Blocks may be fetched at first touch",
    why="A volume that was made from a snapshot fetches each block from far away when it is read for the first time.",
    remedy="Read every block once before measuring, unless the first touch is the question.",
    source="AWS, Initialize Amazon EBS volumes.",
    needs="Whether a raw device is read; its model.",
    evaluate=_first_touch,
)

LOCAL_DISK = Check(
    id="ephemeral-disk",
    level=Level.INFO,
    title="A local disk varies from instance to instance",
    why="Chosen for repeatability, local disks were the worst choice of all: each instance has another drive, of "
    "another age. What is on them is lost when the instance stops.",
    remedy="Measure the noise itself: several instances, several trials on each. Provisioned volumes vary less.",
    source="A database vendor's study of noise (2019): most tests below 10 % by (max - min) / median on provisioned "
    "volumes only.",
    needs="The model of the disk below.",
    evaluate=_local_disk,
)

CLOUD_CHECKS = (NETWORK_BURST, VOLUME_BURST, FIRST_TOUCH, LOCAL_DISK)
