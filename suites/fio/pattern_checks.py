"""Checks of the access pattern of a fio step: block size, depth, repeated offsets and readahead."""

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.disk import KIB, accepts_direct, disk_under, throughput_ceiling, unaligned_direct
from suites.facts import known
from suites.fio.parameters import (
    block_choices,
    in_flight,
    is_random,
    is_stated,
    largest_block,
    past_memory,
    redraws_offsets,
)
from suites.fio.tuning import DEPTH
from suites.parameters import Value
from suites.quantities import count_text, quantity
from suites.vocab import Severity

TUNED_BLOCK = 4 * KIB

LARGE_RANDOM_BLOCK = 16 * KIB
"""Block size from which the throughput limit of a provisioned volume preceded its IOPS limit (2012)."""


def _one_in_flight(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not is_stated(values, "rw", "iodepth"):
        return None
    if not is_random(values) or in_flight(values) > 1 or int(values["iodepth"]) > 1 or values["rate_iops"]:
        return None
    wanted: dict[str, Value] = {"ioengine": "libaio", "direct": True, "iodepth": DEPTH}
    if not accepts_direct(evidence):
        wanted = {"numjobs": DEPTH}
    return CheckOutcome(
        "numjobs=1, iodepth=1.", changes={name: new for name, new in wanted.items() if values[name] != new}
    )


def _throughput_ceiling(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    block = largest_block(values)
    if not is_stated(values, "rw") or not is_random(values) or block < LARGE_RANDOM_BLOCK:
        return None
    extra: dict[str, Value] = {"block_sizes": ""} if values["block_sizes"] else {}
    return CheckOutcome(
        f"Random blocks of {quantity(block)}: 10,000 IOPS of them are {10_000 * block / 1e6:,.0f} MB/s.",
        changes={"block_size": TUNED_BLOCK, **extra},
    )


def _same_blocks(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not is_stated(values, "rw") or not is_random(values) or redraws_offsets(values) or evidence.trials < 2:
        return None
    return CheckOutcome(f"randrepeat=1 with {evidence.trials} trials.", changes={"randrepeat": False})


def _merged(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if values["rw"] not in {"read", "rw"} or past_memory(values):
        return None
    disk = disk_under(evidence)
    readahead = None if disk is None else known(disk.readahead)
    block = largest_block(values)
    if readahead is None or disk is None or block >= readahead:
        return None
    extra: dict[str, Value] = {"direct": True, **({"ioengine": "libaio"} if values["ioengine"] == "mmap" else {})}
    return CheckOutcome(
        f"Sequential blocks of {quantity(block)} through the page cache; readahead of {disk.name} is "
        f"{quantity(readahead)}: {count_text(readahead // block, 'I/O')} of fio are one of the device.",
        changes=extra if accepts_direct(evidence) else {},
    )


FIO_PATTERN_CHECKS = (
    unaligned_direct(lambda values: bool(values["direct"]), block_choices),
    Check(
        id="one-io-in-flight",
        severity=Severity.INFO,
        title="Queue depth is 1",
        why="The figure is the reciprocal of the latency, not the device's capability. Example (another "
        "host): depth 1 and depth 2 both gave 2,000 IOPS, at twice the latency.",
        remedy=f"Set iodepth to {DEPTH} to measure IOPS, and read them together with the latency.",
        source="a storage engineer's fio series (2014); fio manual, iodepth.",
        needs="Pattern, ioengine, iodepth, numjobs.",
        evaluate=_one_in_flight,
    ),
    throughput_ceiling(_throughput_ceiling),
    Check(
        id="same-blocks-again",
        severity=Severity.INFO,
        title="Trials repeat the same blocks",
        why="fio uses the same random seed each time. Direct I/O bypasses the page cache but no cache of the "
        "device, the controller or the provider. Example (another host): three trials gave 8,400, 15,600 and 22,300 "
        "IOPS; with a new seed each, 8,500, 6,200 and 6,700.",
        remedy="Set randrepeat to 0.",
        source="fio manual, randrepeat; measured on a file system over a cached device with fio 3.33.",
        needs="Pattern, randrepeat, number of trials.",
        evaluate=_same_blocks,
    ),
    Check(
        id="readahead-merges",
        severity=Severity.WARNING,
        title="Readahead merges the I/Os",
        why="The kernel prefetches large pieces and the page cache serves fio: IOPS and latency are the page cache's; "
        "only the throughput is the disk's. Example (another host): 25,600 I/Os of fio were 561 at the device.",
        remedy="Use direct I/O, or read only the throughput.",
        source="a storage engineer's fio series (2014); blockdev(8), --getra.",
        needs="Pattern, direct I/O, block size; the disk's readahead.",
        evaluate=_merged,
    ),
)
