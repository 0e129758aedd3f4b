"""What is known to fool people about steady-state tests, and what one costs in time and wear."""

from dataclasses import replace

from suites.base import version_of
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.disk import GIB, KIB, MIB, amount, disk_under
from suites.facts import known
from suites.fio.checks import FIO_CHECKS
from suites.fio.device import on_device
from suites.fio.device_checks import DEVICE_CHECKS
from suites.parameters import Value, Values, format_size
from suites.snia.commands import range_size
from suites.snia.cost import cost, times
from suites.snia.parameters import (
    NONE,
    PTS,
    SATURATION,
    SNIA_PARAMETERS,
    departures,
    fio_values,
    points,
    tracked,
)
from suites.vocab import Level

OLDEST_FIO = (3, 0)
"""The first version whose output has bw_bytes and clat_ns, which the script on the host reads."""

_OWN = frozenset(parameter.name for parameter in SNIA_PARAMETERS)

NOT_OF_POINTS = frozenset(
    {"ends-before-its-size", "one-io-in-flight", "short-runtime", "readahead-merges", "unaligned-direct"}
)
"""A point always has a time and a minute is long enough, QD1 is what the latency test is about, it writes, and blocks
below the device's own are told of all points."""

NOT_HERE = frozenset({"device-never-written", "fresh-device"})
"""It is written over in full before anything is measured."""

_FIXED: dict[str, Value] = {
    "block_sizes": "", "ramp_time": 0.0, "loops": 1, "fsync": 0, "end_fsync": False, "rate_iops": 0,
    "randrepeat": False, "buffer_compress_percentage": 0, "refill_buffers": False, "verify": "none", "invalidate": True,
    "fadvise_hint": "1", "steady_state": "", "steady_duration": 0.0, "steady_ramp": 0.0, "prewarm": False,
}  # fmt: skip


def as_fio(values: Values, size: int) -> dict[str, Value]:
    """Return the tracked point as the values of a step of fio, on a range of `size` bytes.

    It writes, whatever the point does: every test writes the range over before.
    """
    shared = {name: values[name] for name in ("directory", "device", "direct", "ioengine", "runtime")}
    return {
        **_FIXED,
        **shared,
        **fio_values(values, points(values)[tracked(values)]),
        "rw": "randwrite",
        "size": max(MIB, size),
    }


def _asked_of_fio(check: StepCheck) -> StepCheck:
    """Return `check` of fio's own suite, asked of the point that is tracked."""

    def evaluate(evidence: StepEvidence) -> Outcome | CannotTell | None:
        size = int(evidence.values["size"]) or range_size(evidence.values, evidence.context) or 0
        values = as_fio(evidence.values, size)
        if on_device(evidence.values):
            values["numjobs"] = 1  # all jobs work on the same range
        said = check.evaluate(replace(evidence, values=values))
        if isinstance(said, Outcome):
            return replace(said, changes={name: value for name, value in said.changes.items() if name in _OWN})
        return said

    return replace(check, evaluate=evaluate)


def _no_range(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    least = max(point.block for point in points(values))
    if on_device(values) and not int(values["size"]):
        return None
    if int(values["size"]) >= least:
        return None
    what = f"The active range is {format_size(int(values['size']))}" if int(values["size"]) else "No file size is given"
    return Outcome(f"{what}; the largest block is {format_size(least)}.", changes={"size": GIB})


def _small_sector(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values, facts = evidence.values, evidence.context.facts
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    if on_device(values):
        device = facts.device(on_device(values))
        node = "" if device is None else (known(device.node) or "").rpartition("/")[2]
        disk = facts.block_device(node)
    else:
        disk = disk_under(evidence)
    sector = None if disk is None else known(disk.sector)
    if disk is None or sector is None:
        return CannotTell("The smallest block of the disk is not known.")
    refused = {point.block for point in points(values) if point.block % sector}
    if not refused or not values["direct"]:
        return None
    left = dict.fromkeys(point.block for point in points(values) if point.block not in refused)
    sizes = ", ".join(f"{block // KIB}k" if block % KIB == 0 else str(block) for block in left)
    return Outcome(
        f"{disk.name} takes blocks of {format_size(sector)} and more; "
        f"{', '.join(format_size(block) for block in sorted(refused))} is tested.",
        changes={"blocks": sizes} if sizes else {},
    )


def _old_fio(evidence: StepEvidence) -> Outcome | None:
    version = version_of(evidence.context.facts, "fio")
    if version is None or version >= OLDEST_FIO:
        return None
    return Outcome(f"fio is version {'.'.join(map(str, version))}.")


def _departs(evidence: StepEvidence) -> Outcome | None:
    said = list(departures(evidence.values))
    return Outcome(f"{'; '.join(said).capitalize()}.") if said else None


def _cannot_purge(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not on_device(values):
        return Outcome(
            "It works on a file: the device below is neither purged nor written over as a whole, and the file system "
            f"takes part. The file of {amount(int(values['size']))} is written over "
            f"{times(int(values['passes']))} before the first round.",
            remedy="Give a raw device whose content can go; or quote the figures as those of a file on this volume.",
        )
    if values["purge"] == NONE:
        return Outcome("The device is not purged; what was written to it before is part of its state.")
    return Outcome(
        "blkdiscard tells the device that nothing on it is needed. Whether it erases anything then is its own affair.",
        remedy="Where the drive can do it, erase it with nvme format or hdparm yourself before, and purge not at all.",
    )


def _pts_alone(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if values["test"] == SATURATION or values["criterion"] != PTS:
        return None
    return Outcome("The test ends as soon as the window of five rounds is steady.", changes={"criterion": "both"})


SNIA_CHECKS: tuple[StepCheck, ...] = (
    *(_asked_of_fio(check) for check in FIO_CHECKS if check.id not in NOT_OF_POINTS),
    *(_asked_of_fio(check) for check in DEVICE_CHECKS if check.id not in NOT_HERE),
    Check(
        id="no-active-range",
        level=Level.ERROR,
        title="There is no file to work on",
        why="fio needs to know how large the file is; only a raw device has a size of its own.",
        remedy="Give the size of the file, as large as the volume allows.",
        source="fio manual, size.",
        needs="The active range, the device and the block sizes.",
        evaluate=_no_range,
    ),
    Check(
        id="block-under-sector",
        level=Level.ERROR,
        title="The device refuses its smallest blocks",
        why="With direct I/O a block has to be a multiple of the device’s own. fio ends with “Invalid argument” in the "
        "middle of the first round.",
        remedy="Leave the smaller blocks out.",
        source="open(2), O_DIRECT; TKperf leaves 512 B out on drives of 4 KiB blocks.",
        needs="The block sizes; the smallest block that the disk takes.",
        evaluate=_small_sector,
    ),
    Check(
        id="fio-before-3",
        level=Level.ERROR,
        title="This fio is too old for rounds",
        why="What decides between two rounds reads fio’s output on the host, and before 3.0 it had other names: the "
        "test would end after its first round.",
        remedy="Install fio 3.0 or later.",
        source="fio’s own HOWTO and release notes: bw_bytes and clat_ns.",
        needs="The version of fio.",
        evaluate=_old_fio,
    ),
    Check(
        id="not-by-the-standard",
        level=Level.WARNING,
        title="Not by the standard",
        why="Figures of the SNIA tests are compared with those of other drives. A shortened test may end before the "
        "drive has left its fresh state, and must not be quoted as one of the standard.",
        remedy="Give the standard’s times, rounds and points; or quote the figure with what was changed.",
        source="SNIA Solid State Storage Performance Test Specification; TKperf, which has its numbers.",
        needs="Time of a point, rounds, passes, block sizes and shares of reads.",
        evaluate=_departs,
    ),
    Check(
        id="cannot-purge",
        level=Level.INFO,
        title="What of the standard’s purge is possible here",
        why="The standard begins with an erased drive. A cloud volume or a file knows no secure erase: what the "
        "provider keeps below it is nobody’s to reset.",
        remedy="Quote it with the figure.",
        source="SNIA PTS, purge; TKperf, which goes on without a purge where there is no secure erase.",
        needs="The device and the purge.",
        evaluate=_cannot_purge,
    ),
    Check(
        id="standard-window-alone",
        level=Level.WARNING,
        title="The standard’s window calls a slow decay steady",
        why="A rate that falls slowly stays within 20 % all the way: the figure is 29 % too high or more. "
        "A cliff that comes later is never seen: three times too high.",
        remedy="Let two windows agree: at least ten rounds.",
        source="Simulated for this project: decays and cliffs of known size.",
        needs="What ends the test.",
        evaluate=_pts_alone,
    ),
    Check(
        id="steady-state-cost",
        level=Level.INFO,
        title="What this test costs in time and wear",
        why="It runs until it is steady: how long that takes is not known before. What is written wears the drive.",
        remedy="Make sure that the host and the device are not needed meanwhile.",
        source="The plan; SMART, where it tells.",
        needs="The points, their time, the rounds and the range.",
        evaluate=cost,
    ),
)
