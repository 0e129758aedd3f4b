"""What is known to fool people about the pattern that fio is given: what a figure of it means, and what counts it."""

from suites.checks import Check, Outcome, StepEvidence
from suites.disk import KIB, MIB, SECTOR, accepts_direct, amount, disk_under
from suites.disk_checks import throughput_ceiling
from suites.facts import known
from suites.fio.more_parameters import draws_anew
from suites.fio.parameters import ONE_AT_A_TIME, largest_block, past_memory
from suites.parameters import Value, Values
from suites.vocab import Level

TUNED_BLOCK = 4 * KIB
TUNED_DEPTH = 32

LARGE_RANDOM_BLOCK = 16 * KIB
"""Blocks from which the throughput limit of a provisioned volume came before its IOPS limit (2012)."""


def _random(values: Values) -> bool:
    return str(values["rw"]).startswith("rand")


def in_flight(values: Values) -> int:
    """Return how many I/Os are under way at once: engines that wait for each do one for each job, whatever is asked."""
    waits = values["ioengine"] in ONE_AT_A_TIME or (values["ioengine"] == "libaio" and not values["direct"])
    return int(values["numjobs"]) * (1 if waits else int(values["iodepth"]))


def _one_in_flight(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not _random(values) or in_flight(values) > 1 or int(values["iodepth"]) > 1 or values["rate_iops"]:
        return None
    wanted: dict[str, Value] = {"ioengine": "libaio", "direct": True, "iodepth": TUNED_DEPTH}
    if not accepts_direct(evidence):
        wanted = {"numjobs": TUNED_DEPTH}
    return Outcome("1 job of depth 1.", changes={name: new for name, new in wanted.items() if values[name] != new})


def _throughput_ceiling(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    block = largest_block(values)
    if not _random(values) or block < LARGE_RANDOM_BLOCK:
        return None
    mended: dict[str, Value] = {"block_sizes": ""} if values["block_sizes"] else {}
    return Outcome(
        f"Blocks of {amount(block)} at random: 10,000 I/Os a second of them are {10_000 * block / 1e6:,.0f} MB/s.",
        changes={"block_size": TUNED_BLOCK, **mended},
    )


def _same_blocks(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not _random(values) or draws_anew(values) or evidence.trials < 2:
        return None
    return Outcome(f"randrepeat is 1, and there are {evidence.trials} trials.", changes={"randrepeat": False})


def _merged(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if values["rw"] not in {"read", "rw"} or past_memory(values):
        return None
    disk = disk_under(evidence)
    readahead = None if disk is None else known(disk.readahead)
    block = largest_block(values)
    if readahead is None or disk is None or block >= readahead:
        return None
    mended: dict[str, Value] = {"direct": True, **({"ioengine": "libaio"} if values["ioengine"] == "mmap" else {})}
    return Outcome(
        f"Blocks of {amount(block)} in sequence through memory; {disk.name} reads ahead {amount(readahead)} at a time: "
        f"{readahead // block} of fio's I/Os are one of the device's.",
        changes=mended if accepts_direct(evidence) else {},
    )


def _unaligned(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not values["direct"] or values["block_sizes"]:
        return None
    disk, block = disk_under(evidence), int(values["block_size"])
    sector = (None if disk is None else known(disk.sector)) or SECTOR
    if block % sector == 0:
        return None
    whose = SECTOR if disk is None else f"the {sector} B that {disk.name} takes"
    return Outcome(f"block_size is {block} B, no multiple of {whose}.", changes={"block_size": _whole(block, sector)})


def _whole(block: int, sector: int) -> int:
    return min(256 * MIB, -(-block // sector) * sector)


FIO_PATTERN_CHECKS = (
    Check(
        id="unaligned-direct",
        level=Level.ERROR,
        title="Direct I/O needs whole sectors",
        why="The first request ends the test with “Invalid argument”.",
        remedy="Use a block size that is a multiple of the device's sector, best of 4 KiB.",
        source="open(2), O_DIRECT; elbencho and fio refuse it likewise.",
        needs="Direct I/O and the block size; the sector of the disk below.",
        evaluate=_unaligned,
    ),
    Check(
        id="one-io-in-flight",
        level=Level.INFO,
        title="One I/O at a time measures the round trip",
        why="The figure is the reciprocal of the latency, not what the device can do. On one volume depth 1 and depth "
        "2 reached the same 2,000 I/Os a second, at twice the latency: neither figure says much without the other.",
        remedy=f"Use a depth of {TUNED_DEPTH} where I/Os a second are the question, and read them with their latency.",
        source="a storage engineer's fio series (2014); fio manual, iodepth.",
        needs="The pattern, the engine, the depth and the jobs.",
        evaluate=_one_in_flight,
    ),
    throughput_ceiling(_throughput_ceiling),
    Check(
        id="same-blocks-again",
        level=Level.INFO,
        title="Every trial goes to the same blocks",
        why="fio draws its random blocks from one seed each time. Direct I/O passes the page cache, but not that of "
        "the device, of a controller or of the provider's storage, which has them already: on one volume three trials "
        "gave 8,400, 15,600 and 22,300 I/Os a second, and 8,500, 6,200 and 6,700 with blocks of their own.",
        remedy="Set randrepeat to 0.",
        source="fio manual, randrepeat; measured on a file system over a cached device with fio 3.33.",
        needs="The pattern, randrepeat, and how many trials there are.",
        evaluate=_same_blocks,
    ),
    Check(
        id="readahead-merges",
        level=Level.WARNING,
        title="Readahead makes one I/O of many",
        why="The kernel fetches large pieces ahead and fio is answered from memory: 25,600 I/Os that fio counted were "
        "561 at the device. I/Os a second and latency are those of memory; only the throughput is the disk's.",
        remedy="Use direct I/O, or take the throughput alone.",
        source="a storage engineer's fio series (2014); blockdev(8), --getra.",
        needs="The pattern, direct I/O and the block size; the readahead of the disk below.",
        evaluate=_merged,
    ),
)
