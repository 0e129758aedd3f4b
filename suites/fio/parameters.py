"""fio's parameters: what Benchwright sets of its many options, in fio's own terms."""

import re

from suites.disk import DIRECTORY, GIB, KIB, MIB
from suites.fio.more_parameters import MORE_PARAMETERS
from suites.parameters import Choice, Parameter, Type, Values, parse_size


def writes(values: Values) -> bool:
    """Whether the pattern writes."""
    return values["rw"] not in {"read", "randread"}


def mixes(values: Values) -> bool:
    """Whether the pattern both reads and writes."""
    return values["rw"] in {"rw", "randrw"}


def past_memory(values: Values) -> bool:
    """Whether every I/O goes past the page cache; mmap works in it, whatever flags its files are opened with."""
    return bool(values["direct"]) and values["ioengine"] != "mmap"


def _one_block_size(values: Values) -> bool:
    return not values["block_sizes"]


def _ends_by_size(values: Values) -> bool:
    return not values["runtime"]


def block_options(values: Values, single: str) -> list[str]:
    """Return fio's option for the block sizes; `single` is the one block size as fio writes it."""
    several = str(values["block_sizes"])
    if not several:
        return [f"--bs={single}"]
    option = "bssplit" if "/" in several or ":" in several else "bsrange" if "-" in several else "bs"
    return [f"--{option}={several}"]


def largest_block(values: Values) -> int:
    """Return the bytes of the largest block that an I/O may have."""
    several = re.sub(r"/\d+", "", str(values["block_sizes"]))
    return max((parse_size(size) for size in re.findall(r"\d+[kKmM]?", several)), default=int(values["block_size"]))


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
    applies=_one_block_size,
)

_SOME = r"[1-9]\d{0,8}[kKmM]?"
_SPLIT = rf"{_SOME}(?:/(?:100|\d{{1,2}}))?(?::{_SOME}(?:/(?:100|\d{{1,2}}))?){{0,63}}"

BLOCK_SIZES = Parameter(
    name="block_sizes",
    title="Several block sizes",
    type=Type.TEXT,
    default="",
    help="In place of one block size: a range “4k-64k”; reads and writes apart “4k,64k”; shares “4k/60:64k/40”.",
    option="--bsrange, --bs, --bssplit",
    pattern=rf"{_SOME}-{_SOME}(?:,{_SOME}-{_SOME})?|{_SPLIT}(?:,{_SPLIT})?",
)

IODEPTH = Parameter(
    name="iodepth",
    title="Queue depth",
    type=Type.INTEGER,
    default=1,
    help="I/Os each job keeps in flight. Only libaio (with direct I/O), io_uring and posixaio can have more than one.",
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
        Choice("sync", "lseek, then read or write: one I/O at a time"),
        Choice("pvsync2", "preadv2 and pwritev2: one I/O at a time"),
        Choice("libaio", "Linux native asynchronous I/O"),
        Choice("io_uring", "io_uring: the fastest, where the kernel permits it"),
        Choice("posixaio", "POSIX asynchronous I/O, by threads of the C library"),
        Choice("mmap", "Memory mapped: always through the page cache"),
    ),
)

ONE_AT_A_TIME = frozenset({"psync", "sync", "pvsync2", "mmap"})
"""Engines that wait for each I/O before the next."""

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

LOOPS = Parameter(
    name="loops",
    title="Passes",
    type=Type.INTEGER,
    default=1,
    help="How often each job goes through its file, where no runtime ends it.",
    option="--loops",
    minimum=1,
    maximum=10_000,
    applies=_ends_by_size,
)

COMPRESSIBLE = Parameter(
    name="buffer_compress_percentage",
    title="Compressible share",
    type=Type.INTEGER,
    default=0,
    help="How far the written data can be compressed: 0 is random data, 100 is zeros.",
    unit="%",
    option="--buffer_compress_percentage",
    minimum=0,
    maximum=100,
    applies=writes,
)

REFILL_BUFFERS = Parameter(
    name="refill_buffers",
    title="New data for each write",
    type=Type.FLAG,
    default=False,
    help="Fill each block anew, so that a device cannot find duplicates; it takes CPU time.",
    option="--refill_buffers",
    applies=writes,
)

FIO_PARAMETERS = (
    DIRECTORY, RW, RWMIXREAD, BLOCK_SIZE, BLOCK_SIZES, IODEPTH, NUMJOBS, DIRECT, SIZE, RUNTIME, RAMP_TIME, IOENGINE,
    RATE_IOPS, FSYNC, END_FSYNC, LOOPS, COMPRESSIBLE, REFILL_BUFFERS, *MORE_PARAMETERS,
)  # fmt: skip
