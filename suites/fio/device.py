"""fio on a raw block device: no layout, no file system; writing destroys its data."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import combinations

from suites.base import Context, StepEvidence, own_directories
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.disk import DIRECTORY, KIB, MIB
from suites.facts import Absent, Facts, RawDevice, known
from suites.fio.parameters import total_size, writes
from suites.fio_job.targets import parts
from suites.parameters import Parameter, Type, Values, size_word
from suites.quantities import quantity
from suites.raw_device import confirmation, described, needs_root_to_judge, objections
from suites.vocab import Severity

_NAME = r"/dev/(?:[A-Za-z0-9_/.+@=-]|\\?:(?![/:]|$)){1,200}"
"""One device. The colons of /dev/disk/by-path need no escape: one that a slash follows separates two devices."""

_NO_PARENT = r"(?!.*\.\.)"

MOST_DEVICES = 16

SECTORS = 4 * KIB
"""Bytes of which the parts of several devices are multiples: of the sectors of any."""


def device_names(text: str) -> tuple[str, ...]:
    """Return the paths in `text`, which colons before a slash separate; in the order given, repetitions included."""
    return tuple(name.replace("\\:", ":") for name in re.split(r":(?=/|$)", text) if name)


def on_device(values: Values) -> str:
    """Return the path of the raw device that a step uses, of several their text; empty if it uses files."""
    return ":".join(device_names(str(values.get("device", ""))))


DEVICE = Parameter(
    name="device",
    title="filename (raw device)",
    type=Type.TEXT,
    default="",
    help="Block device to test instead of a directory, such as /dev/disk/by-id/…: no file system, no files. "
    "Writing destroys all its data and starts only after you type its serial number.",
    option="--filename",
    pattern=_NO_PARENT + _NAME,
    identity=False,
)

FIO_DEVICES = replace(
    DEVICE,
    help=f"{DEVICE.help.removesuffix('.')}. Colons separate several devices: each job uses all in turn, and each "
    "loss is confirmed.",
    pattern=rf"{_NO_PARENT}{_NAME}(?::{_NAME}){{0,{MOST_DEVICES - 1}}}:?",
)

FIO_DIRECTORY = replace(DIRECTORY, applies=lambda values: not on_device(values))

FIO_DIRECTORIES = replace(
    FIO_DIRECTORY,
    help=f"{DIRECTORY.help} Colons separate those of several volumes, which fio gives to its jobs in turn; a colon in "
    "a name is \\:.",
)


def joined_names(names: Iterable[str]) -> str:
    """Return `names` as parts() reads them."""
    return ":".join(name.replace(":", "\\:") for name in names)


def on_volumes(values: Values) -> tuple[Values, ...]:
    """Return the values of the jobs on each volume.

    fio gives the directories to its jobs in turn (filesetup.c). Each job opens all devices, and its size is divided
    among them (setup_files); its depth is not: all its I/Os may wait at the slowest.
    """
    devices = device_names(on_device(values))
    if devices:
        return tuple({**values, "device": path, "size": int(values["size"]) // len(devices)} for path in devices)
    paths = parts(str(values.get("directory", "")))
    jobs = [len(range(place, int(values["numjobs"]), len(paths))) for place in range(len(paths))]
    return tuple(
        {**values, "directory": path, "numjobs": max(1, own)} for path, own in zip(paths, jobs, strict=True)
    ) or (values,)


def directory_options(values: Values, context: Context) -> tuple[list[str], tuple[str, ...]]:
    """Return fio's option of several directories, and the prefix of the files in each; of one it needs none."""
    paths = [] if on_device(values) else [str(part["directory"]) for part in on_volumes(values)]
    paths = [*context.work_directories] or paths
    if len(paths) < 2:
        return [], ("",)
    return [f"--directory={joined_names(paths)}"], tuple(f"{path}/" for path in paths)


def device_options(values: Values, size: str) -> list[str]:
    """Return fio's options for the device; `size` is that of one job's range as fio writes it.

    Jobs use consecutive ranges from the start, as they would use separate files. A job that only reads runs with
    --readonly.
    """
    paths = device_names(on_device(values))
    if not paths:
        return []
    options = [f"--filename={joined_names(paths)}"]
    if int(values["numjobs"]) > 1:
        each = int(values["size"]) // len(paths)
        options.append(f"--offset_increment={size if len(paths) == 1 else size_word(-(-each // SECTORS) * SECTORS)}")
    return options if writes(values) else [*options, "--readonly"]


def needs_root(values: Values, context: Context) -> bool:
    """Whether the step runs as root: to read what only root may read, and for any write.

    Only root sees all users of a device, and they are checked right before the test begins.
    """
    paths, facts = device_names(on_device(values)), context.facts
    if not paths or (facts is not None and known(facts.system.user) == "root"):
        return False
    devices = [None if facts is None else facts.device(path) for path in paths]
    return writes(values) or any(device is None or device.readable is not True for device in devices)


def part_of_device(values: Values) -> int:
    """Return the bytes from the device's start that all jobs together use."""
    return max(MIB, total_size(values))


# Checks of fio on a raw device, including those that protect its data.


WORN = 75.0
"""Percent of its rated endurance from which a drive counts as worn, as in sbc-bench."""


def _device(evidence: StepEvidence) -> RawDevice | NotChecked | None:
    """Return the step's device, None if it uses files, or why nothing is known of it."""
    path, facts = on_device(evidence.values), evidence.context.facts
    if not path:
        return None
    found = None if facts is None else facts.device(path)
    return found or NotChecked(f"No facts of {path} on this host.")


def _unusable(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    device = _device(evidence)
    if not isinstance(device, RawDevice):
        return device
    if isinstance(device.node, Absent):
        return CheckOutcome(f"{device.path}: {device.node.reason}.")
    size, wanted = known(device.size), part_of_device(evidence.values)
    if size is not None and wanted > size:
        jobs = int(evidence.values["numjobs"])
        return CheckOutcome(
            f"{device.path} has {quantity(size)}; the jobs work on {quantity(wanted)}.",
            remedy="Reduce size or numjobs.",
            changes={"size": size // jobs // 2**20 * 2**20} if size // jobs >= 2**20 else {},
        )
    return None


def _in_use(evidence: StepEvidence) -> CheckOutcome | None:
    device = _device(evidence)
    if not isinstance(device, RawDevice) or isinstance(device.node, Absent):
        return None  # reported by the check above
    if writes(evidence.values):
        found_objections = () if needs_root_to_judge(device) else objections(device)
        return CheckOutcome(f"{described(device)}. {' '.join(found_objections)}") if found_objections else None
    uses = known(device.uses) or ()
    if not uses:
        return None
    return CheckOutcome(
        f"{described(device)}. {' '.join(objections(device)[:8])}",
        remedy="Keep its other users idle during the measurement.",
        why="Reading is harmless. I/O of the other users is part of the figures.",
        severity=Severity.INFO,
    )


def _destroys(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    device = _device(evidence)
    if not writes(evidence.values) or not isinstance(device, RawDevice) or isinstance(device.node, Absent):
        return device if writes(evidence.values) and isinstance(device, NotChecked) else None
    if objections(device) and not needs_root_to_judge(device):
        return None  # refused by another check
    facts = evidence.context.facts
    token = confirmation(device, () if facts is None else facts.devices)
    token = "" if isinstance(token, Absent) else token
    holds = "" if device.written is not True else " Its first or last MiB is not empty: it holds data."
    return CheckOutcome(
        f"{described(device)}. {evidence.values['rw']} overwrites its content.{holds}",
        remedy=f"Make sure that its content is not needed. When the run starts, type “{token}” to confirm.",
    )


def _never_written(evidence: StepEvidence) -> CheckOutcome | None:
    device = _device(evidence)
    if writes(evidence.values) or not isinstance(device, RawDevice) or device.written is not False:
        return None
    return CheckOutcome(f"The first and last MiB of {device.path} hold only zeros.")


def _fresh(evidence: StepEvidence) -> CheckOutcome | None:
    device = _device(evidence)
    if not writes(evidence.values) or not isinstance(device, RawDevice) or device.written is not False:
        return None
    facts = evidence.context.facts
    node = (known(device.node) or "").rpartition("/")[2]
    disk = None if facts is None else facts.block_device(node)
    if disk is not None and disk.rotational is True:
        return None
    return CheckOutcome(f"The first and last MiB of {device.path} hold only zeros.")


def _worn(evidence: StepEvidence) -> CheckOutcome | None:
    device = _device(evidence)
    used = known(device.endurance_used) if isinstance(device, RawDevice) else None
    if used is None or used <= WORN or not isinstance(device, RawDevice):
        return None  # most cloud drives do not report it
    return CheckOutcome(f"{device.path} reports {used:.0f} % of its rated writes used (SMART).")


def _idle_volume(evidence: StepEvidence) -> CheckOutcome | None:
    jobs, paths = int(evidence.values["numjobs"]), own_directories(evidence.suite, evidence.values)
    if not paths or jobs % len(paths) == 0:
        return None
    even = CheckOutcome(
        f"numjobs is {jobs} for {len(paths)} directories.", changes={"numjobs": -(-jobs // len(paths)) * len(paths)}
    )
    if jobs < len(paths):
        return even
    why = "The directories have different numbers of jobs: the aggregate is not that of the volumes under equal load."
    return replace(even, why=why, severity=Severity.WARNING)


def _repeated(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    facts, paths = evidence.context.facts, device_names(on_device(evidence.values))
    if facts is None:
        return FACTS_NOT_READ if paths else None
    alike: list[CheckOutcome] = []
    for one, other in combinations([facts.device(path) or RawDevice(path=path) for path in paths], 2):
        if one.path == other.path:
            return CheckOutcome(f"{one.path} is given twice.")
        both = f"{one.path} and {other.path}"
        node, disk, file = (_alike(each(one), each(other)) for each in (_node, partial(_disk, facts), _file))
        if node or file:
            return CheckOutcome(f"{both} are one device, {node or file}.")
        if disk in {_node(one), _node(other)} - {""}:
            return CheckOutcome(f"{both} are a disk and its partition.")
        serial = _alike(known(one.serial) or "", known(other.serial) or "")
        if disk or serial:
            what = f"are on one disk, {disk}" if disk else f"have the same serial number, {serial}"
            alike.append(CheckOutcome(f"{both} {what}.", severity=Severity.WARNING))
    return next(iter(alike), None)


def _alike(one: str, other: str) -> str:
    return one if one == other else ""


def _node(device: RawDevice) -> str:
    """Return the kernel's path of a device; empty if not known."""
    return known(device.node) or ""


def _file(device: RawDevice) -> str:
    return known(device.backing_file) or ""


def _disk(facts: Facts, device: RawDevice) -> str:
    """Return the kernel's path of the whole disk of a device or partition; empty if not known."""
    found = facts.block_device(_node(device).rpartition("/")[2])
    parent = known(found.parent) if found is not None and known(found.kind) == "part" else None
    return _node(device) if parent is None else f"/dev/{parent}"


def _one_volume(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    facts, paths = evidence.context.facts, own_directories(evidence.suite, evidence.values)
    if on_device(evidence.values):
        return None
    if facts is None:
        return FACTS_NOT_READ
    found = {path: facts.directory(path) for path in paths}
    mounts = [None if one is None else known(one.mount) for one in found.values()]
    shared = next((mount for mount in mounts if mount is not None and mounts.count(mount) > 1), None)
    if shared is not None:
        same = [path for path, mount in zip(paths, mounts, strict=True) if mount == shared]
        return CheckOutcome(f"{' and '.join(same)} are on one file system, {shared}.")
    return NotChecked("The file system of a directory is not known.") if None in mounts else None


VOLUME_CHECKS = (
    Check(
        id="one-device-twice",
        severity=Severity.ERROR,
        blocks=True,
        title="Devices are one disk",
        why="The jobs share one disk: the figure is not the sum of several.",
        remedy="Give each disk once.",
        source="fio manual, filename; /sys on the host.",
        needs="The devices and their facts on the host.",
        evaluate=_repeated,
    ),
    Check(
        id="volume-without-load",
        severity=Severity.ERROR,
        blocks=True,
        title="Volume without a job",
        why="fio gives the directories to its jobs in turn. A directory without a job is not measured.",
        remedy="Set numjobs to a multiple of the number of directories.",
        source="fio manual, directory; filesetup.c, set_name_idx.",
        needs="directory, numjobs.",
        evaluate=_idle_volume,
    ),
    Check(
        id="one-volume-twice",
        severity=Severity.WARNING,
        title="Directories on one volume",
        why="The jobs share one volume: the figure is not the sum of several.",
        remedy="Set directories on different volumes.",
        source="/proc/self/mountinfo on the host.",
        needs="The file systems of the directories.",
        evaluate=_one_volume,
    ),
)

DEVICE_CHECKS = (
    Check(
        id="device-unusable",
        severity=Severity.ERROR,
        blocks=True,
        title="Device cannot be used",
        why="The tool would exit at once, or fill a file in memory with the device’s name.",
        remedy="Give the path of a block device of this host, preferably below /dev/disk/by-id.",
        source="stat(2) and /sys on the host.",
        needs="The device's path and its facts on the host.",
        evaluate=_unusable,
    ),
    Check(
        id="device-in-use",
        severity=Severity.ERROR,
        blocks=True,
        title="Device is in use",
        why="Writing would destroy data in use. Benchwright refuses it; confirming does not help.",
        remedy="Choose another device, or take this one out of use and remove its signatures (wipefs).",
        source="/sys, mountinfo of every process, swaps, wipefs and O_EXCL on the host.",
        needs="Pattern; users of the device (complete only as root).",
        evaluate=_in_use,
    ),
    Check(
        id="destroys-data",
        of_result=False,
        severity=Severity.ERROR,
        title="All data on the device is lost",
        why="A write test of a raw device overwrites it. The content cannot be restored.",
        remedy="Make sure that its content is not needed.",
        source="The plan; the device's facts.",
        needs="Pattern; the device's facts.",
        evaluate=_destroys,
    ),
    Check(
        id="device-never-written",
        severity=Severity.WARNING,
        title="Device may never have been written",
        why="SSDs, thin volumes and cloud volumes answer reads of unwritten blocks without reading them: far "
        "faster than with data.",
        remedy="First fill the same range with a write test, if its content is not needed.",
        source="SNIA Solid State Storage Performance Test Specification; AWS, Initialize Amazon EBS volumes.",
        needs="Pattern; the first and last MiB of the device, read as root.",
        evaluate=_never_written,
    ),
    Check(
        id="fresh-device",
        severity=Severity.WARNING,
        title="Device may not be in steady state",
        why="An SSD that was never filled has erased blocks ready; a thin volume has yet to allocate. Once "
        "overwritten, the same test is slower, often by a factor: fresh, transition, steady state.",
        remedy="Write twice its capacity in sequence, then write at random until the figure stops falling.",
        source="SNIA Solid State Storage Performance Test Specification; TKperf, which does so.",
        needs="Pattern; the first and last MiB of the device, read as root; whether it rotates.",
        evaluate=_fresh,
    ),
    Check(
        id="device-worn",
        severity=Severity.WARNING,
        title="Drive is worn",
        why="A worn drive corrects more errors and has fewer spare blocks. It may be slower than others of its model.",
        remedy="Measure a less worn drive, or report the wear with the figure.",
        source="smartctl, percentage_used (NVMe) and endurance_used; sbc-bench warns above 75 %.",
        needs="The wear reported by SMART (smartctl as root).",
        evaluate=_worn,
    ),
)
