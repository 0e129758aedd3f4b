"""fio's parameters: what Benchwright sets of its many options, in fio's own terms."""

from suites.disk import DIRECTORY, GIB, KIB, MIB
from suites.parameters import Choice, Parameter, Type, Values


def writes(values: Values) -> bool:
    """Whether the pattern writes."""
    return values["rw"] not in {"read", "randread"}


def mixes(values: Values) -> bool:
    """Whether the pattern both reads and writes."""
    return values["rw"] in {"rw", "randrw"}


def total_size(values: Values) -> int:
    """Return the bytes of all files: one for each job."""
    return int(values["size"]) * int(values["numjobs"])


RW = Parameter(
    name="rw",
    title="Pattern",
    type=Type.CHOICE,
    default="read",
    help="In sequence or at random, reading, writing or both.",
    option="--rw",
    choices=(
        Choice("read", "Read in sequence"),
        Choice("write", "Write in sequence"),
        Choice("randread", "Read at random"),
        Choice("randwrite", "Write at random"),
        Choice("rw", "Read and write in sequence"),
        Choice("randrw", "Read and write at random"),
    ),
)

RWMIXREAD = Parameter(
    name="rwmixread",
    title="Share of reads",
    type=Type.INTEGER,
    default=50,
    help="How many of a hundred I/Os are reads, where the pattern mixes reads and writes.",
    unit="%",
    option="--rwmixread",
    minimum=1,
    maximum=99,
    applies=mixes,
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="Block size",
    type=Type.SIZE,
    default=4 * KIB,
    help="Bytes of each I/O. Small blocks find the limit of I/Os per second, large ones that of bandwidth.",
    option="--bs",
    minimum=512,
    maximum=256 * MIB,
)

IODEPTH = Parameter(
    name="iodepth",
    title="Queue depth",
    type=Type.INTEGER,
    default=1,
    help="I/Os each job keeps in flight. Only libaio (with direct I/O) and io_uring can have more than one.",
    option="--iodepth",
    minimum=1,
    maximum=4096,
)

NUMJOBS = Parameter(
    name="numjobs",
    title="Jobs",
    type=Type.INTEGER,
    default=1,
    help="How many threads do the same at once, each with a file of its own; their figures are added.",
    option="--numjobs",
    minimum=1,
    maximum=256,
)

DIRECT = Parameter(
    name="direct",
    title="Direct I/O",
    type=Type.FLAG,
    default=False,
    help="Go past the page cache (O_DIRECT), so that the device is measured and not memory.",
    option="--direct",
)

SIZE = Parameter(
    name="size",
    title="File size",
    type=Type.SIZE,
    default=GIB,
    help="Bytes of each job's file. fio has no default. The files are written in full before the first trial.",
    option="--size",
    minimum=MIB,
    maximum=64 * 1024 * GIB,
)

RUNTIME = Parameter(
    name="runtime",
    title="Runtime",
    type=Type.DURATION,
    default=0.0,
    help="Measure for so long, going round and round in the file; 0 ends each job when its file is done once.",
    option="--runtime, --time_based",
    minimum=0,
    maximum=7 * 86400,
)

RAMP_TIME = Parameter(
    name="ramp_time",
    title="Ramp",
    type=Type.DURATION,
    default=0.0,
    help="Run for so long before anything counts.",
    option="--ramp_time",
    minimum=0,
    maximum=86400,
)

IOENGINE = Parameter(
    name="ioengine",
    title="Engine",
    type=Type.CHOICE,
    default="psync",
    help="How I/Os are handed to the kernel.",
    option="--ioengine",
    choices=(
        Choice("psync", "pread and pwrite: one I/O at a time"),
        Choice("libaio", "Linux native asynchronous I/O"),
        Choice("io_uring", "io_uring: the fastest, where the kernel permits it"),
    ),
)

RATE_IOPS = Parameter(
    name="rate_iops",
    title="Rate limit",
    type=Type.INTEGER,
    default=0,
    help="At most so many I/Os per second, for each job and direction: latency at a given load. 0 is no limit.",
    unit="1/s",
    option="--rate_iops",
    minimum=0,
    maximum=10_000_000,
)

FSYNC = Parameter(
    name="fsync",
    title="Flush every",
    type=Type.INTEGER,
    default=0,
    help="Call fsync after so many writes, as a database's log does with 1; 0 is never.",
    option="--fsync",
    minimum=0,
    maximum=1_000_000,
    applies=writes,
)

END_FSYNC = Parameter(
    name="end_fsync",
    title="Flush at the end",
    type=Type.FLAG,
    default=False,
    help="Call fsync once when a job has written everything.",
    option="--end_fsync",
    applies=writes,
)

FIO_PARAMETERS = (
    DIRECTORY, RW, RWMIXREAD, BLOCK_SIZE, IODEPTH, NUMJOBS, DIRECT, SIZE, RUNTIME, RAMP_TIME, IOENGINE,
    RATE_IOPS, FSYNC, END_FSYNC,
)  # fmt: skip
