"""What is known to fool people about fio on a raw device, and what keeps them from losing one."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import amount
from suites.facts import Absent, RawDevice, known
from suites.fio.device import on_device, part_of_device
from suites.fio.parameters import writes
from suites.raw_device import confirmation, described, needs_root_to_judge, objections
from suites.vocab import Level

WORN = 75.0
"""Per cent of its rated endurance from which a drive counts as worn, as sbc-bench has it."""


def _device(evidence: StepEvidence) -> RawDevice | CannotTell | None:
    """Return the step's device, None where it works on files, or why nothing is known of it."""
    path, facts = on_device(evidence.values), evidence.context.facts
    if not path:
        return None
    found = None if facts is None else facts.device(path)
    return found or CannotTell(f"Nothing was read about {path} on this host.")


def _unusable(evidence: StepEvidence) -> Outcome | CannotTell | None:
    device = _device(evidence)
    if not isinstance(device, RawDevice):
        return device
    if isinstance(device.node, Absent):
        return Outcome(f"{device.path}: {device.node.reason}.")
    size, wanted = known(device.size), part_of_device(evidence.values)
    if size is not None and wanted > size:
        jobs = int(evidence.values["numjobs"])
        return Outcome(
            f"{device.path} has {amount(size)}; the jobs work on {amount(wanted)}.",
            remedy="Give a smaller size, or fewer jobs.",
            changes={"size": size // jobs // 2**20 * 2**20} if size // jobs >= 2**20 else {},
        )
    return None


def _in_use(evidence: StepEvidence) -> Outcome | None:
    device = _device(evidence)
    if not isinstance(device, RawDevice) or isinstance(device.node, Absent):
        return None  # the check above says so already
    if writes(evidence.values):
        said = () if needs_root_to_judge(device) else objections(device)
        return Outcome(f"{described(device)}. {' '.join(said)}") if said else None
    uses = known(device.uses) or ()
    if not uses:
        return None
    return Outcome(
        f"{described(device)}. {' '.join(objections(device)[:8])}",
        remedy="Keep the others quiet while it is measured.",
        why="Reading harms nothing. What the others do with the device meanwhile is part of the figures.",
        level=Level.INFO,
    )


def _destroys(evidence: StepEvidence) -> Outcome | CannotTell | None:
    device = _device(evidence)
    if not writes(evidence.values) or not isinstance(device, RawDevice) or isinstance(device.node, Absent):
        return device if writes(evidence.values) and isinstance(device, CannotTell) else None
    if objections(device) and not needs_root_to_judge(device):
        return None  # it is not started at all
    token = confirmation(device)
    token = "" if isinstance(token, Absent) else token
    holds = "" if device.written is not True else " Its first or last MiB is not empty: something was written there."
    return Outcome(
        f"{described(device)}. {evidence.values['rw']} writes over what is on it.{holds}",
        remedy=f"Make sure that its content is not needed. When the run starts you are asked to type “{token}”.",
    )


def _never_written(evidence: StepEvidence) -> Outcome | None:
    device = _device(evidence)
    if writes(evidence.values) or not isinstance(device, RawDevice) or device.written is not False:
        return None
    return Outcome(f"The first and last MiB of {device.path} hold nothing but zeros.")


def _fresh(evidence: StepEvidence) -> Outcome | None:
    device = _device(evidence)
    if not writes(evidence.values) or not isinstance(device, RawDevice) or device.written is not False:
        return None
    facts = evidence.context.facts
    node = (known(device.node) or "").rpartition("/")[2]
    disk = None if facts is None else facts.block_device(node)
    if disk is not None and disk.rotational is True:
        return None
    return Outcome(f"The first and last MiB of {device.path} hold nothing but zeros.")


def _worn(evidence: StepEvidence) -> Outcome | None:
    device = _device(evidence)
    used = known(device.endurance_used) if isinstance(device, RawDevice) else None
    if used is None or used <= WORN or not isinstance(device, RawDevice):
        return None  # most drives in clouds tell nothing of it
    return Outcome(f"{device.path} has used {used:.0f} % of the writes that it is rated for, by its own account.")


DEVICE_CHECKS = (
    Check(
        id="device-unusable",
        level=Level.ERROR,
        title="The device cannot be used",
        why="The tool would end at once and measure nothing; or, worse, fill a file in memory with the device’s name.",
        remedy="Give the path of a block device of this host, best one below /dev/disk/by-id.",
        source="stat(2) and /sys on the host.",
        needs="The device's path, and what the host says of it.",
        evaluate=_unusable,
    ),
    Check(
        id="device-in-use",
        level=Level.ERROR,
        title="The device is in use",
        why="Writing to it would destroy what others have there. It is never done, whatever is confirmed.",
        remedy="Choose another device; or take this one out of use yourself, and remove what names it (wipefs).",
        source="/sys, mountinfo of every process, swaps, wipefs and O_EXCL on the host.",
        needs="The pattern; who uses the device, which is seen best as root.",
        evaluate=_in_use,
    ),
    Check(
        id="destroys-data",
        level=Level.ERROR,
        title="Everything on this device is lost",
        why="A write test of a raw device overwrites it. Nothing brings back what was there.",
        remedy="Make sure that its content is not needed.",
        source="The plan; the device as the host describes it.",
        needs="The pattern; the device as the host describes it.",
        evaluate=_destroys,
    ),
    Check(
        id="device-never-written",
        level=Level.WARNING,
        title="The device may never have been written to",
        why="Solid-state, thin and cloud volumes answer for blocks that were never written without looking for them: "
        "reads are then far faster than they will be with data.",
        remedy="Fill the device first with a write test of the same part, where its content can go.",
        source="SNIA Solid State Storage Performance Test Specification; AWS, Initialize Amazon EBS volumes.",
        needs="The pattern; the first and last MiB of the device, read as root.",
        evaluate=_never_written,
    ),
    Check(
        id="fresh-device",
        level=Level.WARNING,
        title="A fresh device is faster than a used one",
        why="A solid-state drive that was never filled has empty blocks at hand; a thin volume has yet to find room. "
        "Once it was written over, the same test is slower, often by a factor: fresh, then transition, then steady.",
        remedy="Fill it in sequence, twice its capacity, then write at random until the figure no longer falls.",
        source="SNIA Solid State Storage Performance Test Specification; TKperf, which does so.",
        needs="The pattern; the first and last MiB of the device, read as root; whether it rotates.",
        evaluate=_fresh,
    ),
    Check(
        id="device-worn",
        level=Level.WARNING,
        title="The drive is worn",
        why="A worn drive corrects more errors and has fewer blocks to spare. It may be slower than its like, "
        "and what it shows says little of them.",
        remedy="Measure a drive with less wear, or say with the figure how worn this one is.",
        source="smartctl, percentage_used (NVMe) and endurance_used; sbc-bench warns above 75 %.",
        needs="What SMART tells of the device's endurance, read as root by smartctl.",
        evaluate=_worn,
    ),
)
