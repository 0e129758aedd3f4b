"""Parameters of the SNIA tests, their points, and departures from the standard."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from suites.fio.device import DEVICE, FIO_DIRECTORY, on_device
from suites.fio.parameters import DIRECT, IODEPTH, IOENGINE, NUMJOBS, RUNTIME, SIZE
from suites.parameters import (
    Choice,
    Parameter,
    Type,
    Value,
    Values,
    count_parameter,
    format_duration,
    format_size,
    parse_size,
    text_parameter,
)

IOPS, THROUGHPUT, LATENCY, SATURATION = "iops", "throughput", "latency", "saturation"
NONE, BLKDISCARD = "none", "blkdiscard"
BOTH, PTS = "both", "pts"

STANDARD_BLOCKS: Mapping[str, tuple[str, ...]] = {
    IOPS: ("1024k", "128k", "64k", "32k", "16k", "8k", "4k", "512"),
    THROUGHPUT: ("1024k", "64k", "8k", "4k", "512"),
    LATENCY: ("8k", "4k", "512"),
    SATURATION: ("4k",),
}
"""Block sizes of each test, as in TKperf after SNIA PTS."""

STANDARD_MIXES: Mapping[str, tuple[int, ...]] = {
    IOPS: (100, 95, 65, 50, 35, 5, 0),
    THROUGHPUT: (100, 0),
    LATENCY: (100, 65, 0),
    SATURATION: (0,),
}
"""Shares of reads in percent."""

STANDARD_SECONDS, STANDARD_ROUNDS, STANDARD_PASSES = 60.0, 25, 2

TRACKED_BLOCK: Mapping[str, int] = {IOPS: 4096, THROUGHPUT: 2**20, LATENCY: 4096, SATURATION: 4096}
"""Block size in bytes of the writes that are tracked for steady state."""


def _matrix(values: Values) -> bool:
    return values["test"] in {IOPS, LATENCY}


def _fills(values: Values) -> bool:
    return values["test"] == SATURATION


def _waits(values: Values) -> bool:
    return not _fills(values)


def _loads(values: Values) -> bool:
    return values["test"] != LATENCY


def _purges(values: Values) -> bool:
    return bool(on_device(values))


TEST = Parameter(
    name="test",
    title="Test",
    default=IOPS,
    help="Test of the SNIA Solid State Storage Performance Test Specification. Each runs until steady state.",
    choices=(
        Choice(IOPS, "IOPS: seven mixes of reads and writes, eight block sizes"),
        Choice(THROUGHPUT, "Throughput: reads and writes in sequence, five block sizes"),
        Choice(LATENCY, "Latency: one I/O at a time, three mixes, three block sizes"),
        Choice(SATURATION, "Write saturation: random writes of 4 KiB until enough is written"),
    ),
)

RANGE = replace(
    SIZE,
    title="size",
    default=0,
    minimum=0,
    help="Bytes of the device from its start, 0 for all; or the size of the file. The range is overwritten in "
    "sequence before measuring.",
)

PURGE = Parameter(
    name="purge",
    title="Purge",
    default=BLKDISCARD,
    help="How to empty a raw device first. blkdiscard (util-linux 2.36 or later) declares all blocks unused; it "
    "is not a secure erase, and a device without discard refuses it.",
    choices=(Choice(NONE, "none"), Choice(BLKDISCARD, "blkdiscard -f: discard the whole device")),
    applies=_purges,
)

PASSES = count_parameter(
    name="passes",
    title="Preconditioning",
    default=STANDARD_PASSES,
    help="Sequential overwrites of the range with blocks of 128 KiB before the first round.",
    unit="passes",
    option="--loops",
    maximum=10,
)

ROUNDS = count_parameter(
    name="rounds",
    title="Maximum rounds",
    default=STANDARD_ROUNDS,
    help="Each round measures every point once. After this many the test ends, steady or not.",
    maximum=100,
    applies=_waits,
)

CRITERION = Parameter(
    name="criterion",
    title="Criterion",
    default=BOTH,
    help="When to end the test. The window of the standard alone accepts a slow decay, far too high.",
    choices=(
        Choice(BOTH, "both: the window of the standard, and agreement with the five rounds before within 5 %"),
        Choice(PTS, "pts: the window of the standard alone, range up to 20 %, change up to 10 %"),
    ),
    applies=_waits,
)

POINT_TIME = replace(
    RUNTIME,
    title="runtime",
    default=STANDARD_SECONDS,
    minimum=1,
    maximum=3600,
    help="Measured time of each point in each round. The standard is one minute.",
)

BLOCKS = text_parameter(
    name="blocks",
    help="Replaces the standard’s block sizes: “128k, 4k”. A device with 4 KiB sectors refuses 512 B.",
    option="--bs",
    pattern=r"\s*[1-9]\d{0,6}[kKmM]?(?:\s*,\s*[1-9]\d{0,6}[kKmM]?){0,15}\s*",
    applies=_waits,
)

MIXES = text_parameter(
    name="mixes",
    help="Replaces the standard’s shares of reads, in percent: “100, 65, 0”.",
    unit="%",
    option="--rwmixread",
    pattern=r"\s*(?:100|\d{1,2})(?:\s*,\s*(?:100|\d{1,2})){0,15}\s*",
    applies=_matrix,
)

FILL = Parameter(
    name="fill",
    title="Write limit",
    type=Type.NUMBER,
    default=4.0,
    help="Writing ends after this multiple of the range, or earlier at the time limit.",
    unit="ranges",
    minimum=0.01,
    maximum=100,
    applies=_fills,
)

FILL_TIME = Parameter(
    name="fill_time",
    title="Time limit",
    type=Type.DURATION,
    default=86400.0,
    help="Writing ends after this time, whatever was written.",
    minimum=1,
    maximum=7 * 86400,
    applies=_fills,
)

SNIA_PARAMETERS = (
    FIO_DIRECTORY, DEVICE, TEST, RANGE, PURGE, PASSES, POINT_TIME, ROUNDS, CRITERION, FILL, FILL_TIME,
    replace(IODEPTH, default=32, applies=_loads), replace(NUMJOBS, applies=_loads,
    help="Number of threads, all on the same range."), replace(DIRECT, default=True),
    replace(IOENGINE, default="libaio"), BLOCKS, MIXES,
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class SniaPoint:
    """One point of a round: percent of reads, block size in bytes, and whether it is sequential."""

    reads: int
    block: int
    sequential: bool = False

    @property
    def rw(self) -> str:
        """The pattern as fio spells it."""
        words = {100: ("randread", "read"), 0: ("randwrite", "write")}
        return words.get(self.reads, ("randrw", "rw"))[self.sequential]

    @property
    def words(self) -> str:
        """The point as text."""
        mixed = {100: "reads", 0: "writes"}.get(self.reads, f"{self.reads} % reads")
        return f"{'sequential ' if self.sequential else ''}{mixed} of {format_size(self.block)}"

    @property
    def operation(self) -> str:
        """The tracked direction: writes if there are any."""
        return "read" if self.reads == 100 else "write"


def points(values: Values) -> tuple[SniaPoint, ...]:
    """Return the points of a round in order, each once: the block size changes first."""
    test = str(values["test"])
    sequential = test == THROUGHPUT
    return tuple(
        dict.fromkeys(SniaPoint(reads, block, sequential) for reads in _mixes(values) for block in _blocks(values))
    )


def tracked(values: Values) -> int:
    """Return the index of the tracked point: the standard's, or the nearest.

    It has the fewest reads, and the standard's block size or the one closest to it.
    """
    wanted = TRACKED_BLOCK[str(values["test"])]
    found = points(values)
    return min(range(len(found)), key=lambda place: (found[place].reads, abs(found[place].block - wanted)))


def most_rounds(values: Values) -> int:
    """Return the maximum number of rounds."""
    if not _fills(values):
        return int(values["rounds"])
    return max(1, -(-round(float(values["fill_time"]) * 1000) // round(float(values["runtime"]) * 1000)))


def fewest_rounds(values: Values) -> int:
    """Return the earliest round at which the test may be steady."""
    return min(int(values["rounds"]), 10 if values["criterion"] == BOTH else 5)


def fio_values(values: Values, point: SniaPoint) -> dict[str, Value]:
    """Return the values of a point for the checks of fio's own suite."""
    latency = values["test"] == LATENCY
    return {
        "rw": point.rw, "block_size": point.block, "rwmixread": min(99, max(1, point.reads)),
        "iodepth": 1 if latency else values["iodepth"], "numjobs": 1 if latency else values["numjobs"],
    }  # fmt: skip


def departures(values: Values) -> Iterator[str]:
    """Yield the departures from the standard, except those of the target and the purge."""
    test = str(values["test"])
    if float(values["runtime"]) != STANDARD_SECONDS:
        yield f"{format_duration(float(values['runtime']))} a point instead of 1 min"
    if int(values["passes"]) < STANDARD_PASSES:
        yield "preconditioned by one pass instead of two"
    if test == SATURATION:
        if float(values["fill"]) < 4 and float(values["fill_time"]) < 86400:
            yield "neither four times the range nor 24 h"
        return
    if int(values["rounds"]) < STANDARD_ROUNDS:
        yield f"{values['rounds']} rounds at most instead of {STANDARD_ROUNDS}"
    if set(_blocks(values)) != {parse_size(text) for text in STANDARD_BLOCKS[test]}:
        yield "other block sizes"
    if set(_mixes(values)) != set(STANDARD_MIXES[test]):
        yield "other shares of reads"


def _blocks(values: Values) -> list[int]:
    given = str(values["blocks"]) if _waits(values) else ""
    return [parse_size(text) for text in (given.split(",") if given.strip() else STANDARD_BLOCKS[str(values["test"])])]


def _mixes(values: Values) -> list[int]:
    given = str(values["mixes"]) if _matrix(values) else ""
    return [int(text) for text in given.split(",")] if given.strip() else list(STANDARD_MIXES[str(values["test"])])
