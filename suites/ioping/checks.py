"""What is known to fool people about ioping."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import KIB, MIB, SECTOR, accepts_direct, amount, room_in
from suites.disk_checks import direct_refused
from suites.ioping.parameters import DEFAULT_WORKING_SET, writes
from suites.vocab import Level

ENOUGH_REQUESTS = 100
"""Below, one slow request in a hundred is as likely as not missed, and weighs too much where it is met."""

MENDED_REQUESTS = 300
MENDED_WORKING_SET = 256 * MIB


def _cached(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.values["cache"] != "cached":
        return None
    what = "written to memory and not flushed" if writes(evidence.values) else "read from memory"
    return Outcome(
        f"With -C the blocks are {what}.",
        changes={"cache": "direct" if accepts_direct(evidence) else "default"},
    )


def _few_requests(evidence: StepEvidence) -> Outcome | None:
    count = int(evidence.values["count"])
    if count >= ENOUGH_REQUESTS:
        return None
    return Outcome(f"{count} requests, the first of them a warm-up.", changes={"count": MENDED_REQUESTS})


def _small_working_set(evidence: StepEvidence) -> Outcome | None:
    size = int(evidence.values["working_set"])
    if size > DEFAULT_WORKING_SET:
        return None
    room = room_in(evidence)
    fits = room is None or room > 2 * MENDED_WORKING_SET
    return Outcome(f"All requests fall in {amount(size)}.", changes={"working_set": MENDED_WORKING_SET} if fits else {})


def _unaligned(evidence: StepEvidence) -> Outcome | None:
    block = int(evidence.values["block_size"])
    if evidence.values["cache"] != "direct" or block % SECTOR == 0:
        return None
    return Outcome(f"block_size is {block} B, no multiple of {SECTOR} B.", changes={"block_size": 4 * KIB})


def _block_beyond_set(evidence: StepEvidence) -> Outcome | None:
    block, size = int(evidence.values["block_size"]), int(evidence.values["working_set"])
    if block <= size:
        return None
    return Outcome(f"A block is {amount(block)}, the working set {amount(size)}.", changes={"working_set": block})


IOPING_CHECKS = (
    direct_refused(lambda values: values["cache"] == "direct", {"cache": "default"}),
    Check(
        id="unaligned-direct",
        level=Level.ERROR,
        title="Direct I/O needs whole sectors",
        why="The first request ends the test with “Invalid argument”.",
        remedy=f"Use a block size that is a multiple of {SECTOR} B, better of 4 KiB.",
        source="open(2), O_DIRECT; tried with ioping 1.3 and blocks of 1,000 B.",
        needs="Direct I/O and the block size.",
        evaluate=_unaligned,
    ),
    Check(
        id="block-beyond-set",
        level=Level.ERROR,
        title="A block does not fit its file",
        why="ioping refuses a request that is larger than the working set, and measures nothing.",
        remedy="Give a working set of at least one block, better of many.",
        source="ioping(1), -s and -S.",
        needs="The block size and the working set.",
        evaluate=_block_beyond_set,
    ),
    Check(
        id="cached-requests",
        level=Level.WARNING,
        title="Memory answers for the disk",
        why="The figure is that of a copy in memory: 7 µs where the same disk took 370 µs.",
        remedy="Use direct I/O.",
        source="ioping(1), -C; measured with ioping 1.3 on a virtual disk.",
        needs="How requests pass the page cache.",
        evaluate=_cached,
    ),
    Check(
        id="few-requests",
        level=Level.WARNING,
        title="Too few requests to meet a slow one",
        why="A disk's latency is made by its rare slow requests: few samples miss them, or let one decide the mean.",
        remedy=f"Make {MENDED_REQUESTS} requests; with a shorter interval they take no longer.",
        source="practitioners' notes (one request of 1,000 ms hid in a mean of 1.65 ms).",
        needs="The number of requests.",
        evaluate=_few_requests,
    ),
    Check(
        id="small-working-set",
        level=Level.INFO,
        title="The device may answer from its own memory",
        why="A small file stays in the memory of the drive, the controller or the storage service, whatever the kernel "
        "does; ioping has just written it.",
        remedy=f"Use a working set of {amount(MENDED_WORKING_SET)}.",
        source="ioping(1), -S: the default is 1 MiB.",
        needs="The working set.",
        evaluate=_small_working_set,
    ),
)
