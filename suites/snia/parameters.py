"""The parameters of the SNIA tests, their points, and in what a step departs from the standard."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from suites.fio.device import DEVICE, FIO_DIRECTORY, on_device
from suites.fio.parameters import DIRECT, IODEPTH, IOENGINE, NUMJOBS, RUNTIME, SIZE
from suites.parameters import Choice, Parameter, Type, Value, Values, format_duration, format_size, parse_size

IOPS, THROUGHPUT, LATENCY, SATURATION = "iops", "throughput", "latency", "saturation"
NONE, BLKDISCARD = "none", "blkdiscard"
BOTH, PTS = "both", "pts"

STANDARD_BLOCKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        IOPS: ("1024k", "128k", "64k", "32k", "16k", "8k", "4k", "512"),
        THROUGHPUT: ("1024k", "64k", "8k", "4k", "512"),
        LATENCY: ("8k", "4k", "512"),
        SATURATION: ("4k",),
    }
)
"""Block sizes of each test, as TKperf has them of SNIA PTS."""

STANDARD_MIXES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {IOPS: (100, 95, 65, 50, 35, 5, 0), THROUGHPUT: (100, 0), LATENCY: (100, 65, 0), SATURATION: (0,)}
)
"""Shares of reads in percent."""

STANDARD_SECONDS, STANDARD_ROUNDS, STANDARD_PASSES = 60.0, 25, 2

TRACKED_BLOCK: Mapping[str, int] = MappingProxyType({IOPS: 4096, THROUGHPUT: 2**20, LATENCY: 4096, SATURATION: 4096})
"""Bytes of the writes by which a test tells whether it is steady."""


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
    type=Type.CHOICE,
    default=IOPS,
    help="Which test of the Solid State Storage Performance Test Specification. Each is followed until it is steady.",
    choices=(
        Choice(IOPS, "IOPS: seven mixes of reads and writes, eight block sizes"),
        Choice(THROUGHPUT, "Throughput: reads and writes in sequence, five block sizes"),
        Choice(LATENCY, "Latency: one I/O at a time, three mixes, three block sizes"),
        Choice(SATURATION, "Write saturation: random writes of 4 KiB until enough is written"),
    ),
)

RANGE = replace(
    SIZE,
    title="Active range",
    default=0,
    minimum=0,
    help="Bytes from the beginning of the device that are used, 0 for all of it; or the size of the file. The range "
    "is written over in sequence before anything is measured.",
)

PURGE = Parameter(
    name="purge",
    title="Purge",
    type=Type.CHOICE,
    default=BLKDISCARD,
    help="How a raw device is emptied first. blkdiscard (util-linux 2.36 or later) tells it that nothing on it is "
    "needed; it is no secure erase, and a device that knows no discard refuses it.",
    choices=(Choice(NONE, "Not at all"), Choice(BLKDISCARD, "blkdiscard -f: discard the whole device")),
    applies=_purges,
)

PASSES = Parameter(
    name="passes",
    title="Preconditioning",
    type=Type.INTEGER,
    default=STANDARD_PASSES,
    help="How often the range is written over in sequence, in blocks of 128 KiB, before the first round.",
    unit="passes",
    option="--loops",
    minimum=1,
    maximum=10,
)

ROUNDS = Parameter(
    name="rounds",
    title="Rounds at most",
    type=Type.INTEGER,
    default=STANDARD_ROUNDS,
    help="Every point is measured once a round. After so many the test ends, steady or not.",
    minimum=1,
    maximum=100,
    applies=_waits,
)

CRITERION = Parameter(
    name="criterion",
    title="Steady by",
    type=Type.CHOICE,
    default=BOTH,
    help="When the test may end. The window of the standard alone calls a slow decay steady, far too high.",
    choices=(
        Choice(BOTH, "The window of the standard, and the five rounds before it agree within 5 %"),
        Choice(PTS, "The window of the standard alone: range up to 20 %, change up to 10 %"),
    ),
    applies=_waits,
)

POINT_TIME = replace(
    RUNTIME,
    title="Time of a point",
    default=STANDARD_SECONDS,
    minimum=1,
    maximum=3600,
    help="Each point is measured for so long in each round. The standard is one minute.",
)

BLOCKS = Parameter(
    name="blocks",
    title="Block sizes",
    type=Type.TEXT,
    default="",
    help="In place of the standard’s: “128k, 4k”. A device whose smallest block is 4 KiB refuses 512 B.",
    option="--bs",
    pattern=r"\s*[1-9]\d{0,6}[kKmM]?(?:\s*,\s*[1-9]\d{0,6}[kKmM]?){0,15}\s*",
    applies=_waits,
)

MIXES = Parameter(
    name="mixes",
    title="Shares of reads",
    type=Type.TEXT,
    default="",
    help="In place of the standard’s, in percent: “100, 65, 0”.",
    unit="%",
    option="--rwmixread",
    pattern=r"\s*(?:100|\d{1,2})(?:\s*,\s*(?:100|\d{1,2})){0,15}\s*",
    applies=_matrix,
)

FILL = Parameter(
    name="fill",
    title="Write until",
    type=Type.NUMBER,
    default=4.0,
    help="So many times the active range is written, unless the time is up before.",
    unit="ranges",
    minimum=0.01,
    maximum=100,
    applies=_fills,
)

FILL_TIME = Parameter(
    name="fill_time",
    title="Time at most",
    type=Type.DURATION,
    default=86400.0,
    help="The writing ends after so long, whatever was written.",
    minimum=1,
    maximum=7 * 86400,
    applies=_fills,
)

SNIA_PARAMETERS = (
    FIO_DIRECTORY, DEVICE, TEST, RANGE, PURGE, PASSES, POINT_TIME, ROUNDS, CRITERION, FILL, FILL_TIME,
    replace(IODEPTH, default=32, applies=_loads), replace(NUMJOBS, applies=_loads,
    help="How many threads do the same at once, all on the same range."), replace(DIRECT, default=True),
    replace(IOENGINE, default="libaio"), BLOCKS, MIXES,
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class SniaPoint:
    """One point of a round: percent of reads, bytes of a block, and whether blocks follow each other."""

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
        """The point in words."""
        mixed = {100: "reads", 0: "writes"}.get(self.reads, f"{self.reads} % reads")
        return f"{'sequential ' if self.sequential else ''}{mixed} of {format_size(self.block)}"

    @property
    def operation(self) -> str:
        """The direction by which it is tracked: writes, where there are any."""
        return "read" if self.reads == 100 else "write"


def points(values: Values) -> tuple[SniaPoint, ...]:
    """Return the points of a round in their order, each once: the block size changes first."""
    test = str(values["test"])
    sequential = test == THROUGHPUT
    return tuple(
        dict.fromkeys(SniaPoint(reads, block, sequential) for reads in _mixes(values) for block in _blocks(values))
    )


def tracked(values: Values) -> int:
    """Return the number of the point by which the test tells whether it is steady: the standard's, or the nearest.

    It has the fewest reads, and of the block sizes the standard's, or the one next to it.
    """
    wanted = TRACKED_BLOCK[str(values["test"])]
    found = points(values)
    return min(range(len(found)), key=lambda place: (found[place].reads, abs(found[place].block - wanted)))


def most_rounds(values: Values) -> int:
    """Return how many rounds there are at most."""
    if not _fills(values):
        return int(values["rounds"])
    return max(1, -(-round(float(values["fill_time"]) * 1000) // round(float(values["runtime"]) * 1000)))


def fewest_rounds(values: Values) -> int:
    """Return after how many rounds the test may be steady at the earliest."""
    return min(int(values["rounds"]), 10 if values["criterion"] == BOTH else 5)


def fio_values(values: Values, point: SniaPoint) -> dict[str, Value]:
    """Return what of a point the checks of fio's own suite speak of."""
    latency = values["test"] == LATENCY
    return {
        "rw": point.rw, "block_size": point.block, "rwmixread": min(99, max(1, point.reads)),
        "iodepth": 1 if latency else values["iodepth"], "numjobs": 1 if latency else values["numjobs"],
    }  # fmt: skip


def departures(values: Values) -> Iterator[str]:
    """Yield in what a step departs from the standard, but for what it runs on and how that is purged."""
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
