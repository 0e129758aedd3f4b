"""fio's parameters in fio's own terms."""

import re
from collections.abc import Mapping

from suites.disk import DIRECTORY, GIB, KIB, MIB, flushed_in_time
from suites.parameters import Choice, Parameter, Type, Value, Values, parse_size

# Rarer parameters: steady state, verification, page cache hints.


NONE = "none"


def waits_for_steady_state(values: Values) -> bool:
    """Whether the run ends at steady state."""
    return bool(values["steady_state"])


def _on_device(values: Values) -> bool:
    return bool(values.get("device", ""))


def writes(values: Values) -> bool:
    """Whether the pattern writes."""
    return values["rw"] not in {"read", "randread"}


def trims(values: Values) -> bool:
    """Whether the pattern discards blocks, as only a job file can ask for."""
    return "trim" in str(values["rw"])


def mixes(values: Values) -> bool:
    """Whether the pattern both reads and writes."""
    return values["rw"] in {"rw", "randrw"}


def is_random(values: Values) -> bool:
    """Whether the offsets are random."""
    return str(values["rw"]).startswith("rand")


def redraws_offsets(values: Values) -> bool:
    """Whether each run draws new random blocks."""
    return is_random(values) and not values.get("randrepeat", True)  # a stored step may predate the parameter


STEADY_STATE = Parameter(
    name="steady_state",
    type=Type.TEXT,
    default="",
    help="End within runtime as soon as the rate is steady: “iops:2%” = no second deviates more from the mean, "
    "“iops_slope:0.1%” = no slope over the window; bw and lat likewise.",
    option="--steadystate",
    pattern=r"(?:iops|bw|lat)(?:_slope)?:\d{1,9}(?:\.\d{1,6})?%?",
)

STEADY_DURATION = Parameter(
    name="steady_duration",
    type=Type.DURATION,
    default=30.0,
    help="Window in which the rate must be steady.",
    option="--ss_dur",
    minimum=2,
    maximum=86400,
    applies=waits_for_steady_state,
)

STEADY_RAMP = Parameter(
    name="steady_ramp",
    type=Type.DURATION,
    default=0.0,
    help="Time before the window starts. For writes to an empty drive, the time to fill it.",
    option="--ss_ramp",
    minimum=0,
    maximum=7 * 86400,
    applies=waits_for_steady_state,
)

RANDREPEAT = Parameter(
    name="randrepeat",
    type=Type.FLAG,
    default=True,
    help="Same random seed, so the same blocks in the same order, in each run (fio's default). A cache below can "
    "then serve every run but the first.",
    option="--randrepeat",
    applies=is_random,
)

VERIFY = Parameter(
    name="verify",
    type=Type.CHOICE,
    default=NONE,
    help="Write a checksum into each block and read it back after all writes. The reads are reported, too.",
    option="--verify",
    choices=(Choice(NONE, "No"), Choice("crc32c", "CRC-32C"), Choice("xxhash", "xxHash"), Choice("sha256", "SHA-256")),
    applies=writes,
)

INVALIDATE = Parameter(
    name="invalidate",
    type=Type.FLAG,
    default=True,
    help="Drop the file from the page cache before each job. Without it, a second run reads from memory.",
    option="--invalidate",
)

FADVISE = Parameter(
    name="fadvise_hint",
    type=Type.CHOICE,
    default="1",
    help="fadvise hint about the coming I/Os, which controls the kernel's readahead.",
    option="--fadvise_hint",
    choices=(
        Choice("1", "1: as the pattern"),
        Choice("0", "Nothing"),
        Choice("random", "random"),
        Choice("sequential", "sequential"),
    ),
)

PREWARM = Parameter(
    name="prewarm",
    title="Read all blocks first",
    type=Type.FLAG,
    default=False,
    help="Read the tested range once before the first trial. A volume made from a snapshot fetches its blocks on "
    "first access.",
    applies=_on_device,
)

MORE_PARAMETERS = (
    RANDREPEAT, STEADY_STATE, STEADY_DURATION, STEADY_RAMP, VERIFY, INVALIDATE, FADVISE, PREWARM,
)  # fmt: skip


def past_memory(values: Values) -> bool:
    """Whether every I/O bypasses the page cache; mmap never does, whatever flags its files are opened with."""
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
    """Return the bytes of the largest possible block."""
    return max(block_choices(values))


def block_choices(values: Values) -> tuple[int, ...]:
    """Return the bytes of each block size, or of the ends of a range of them."""
    several = re.sub(r"/\d+", "", str(values["block_sizes"]))
    sizes = tuple(parse_size(size) for size in re.findall(r"\d+[kKmM]?", several))
    return sizes or (int(values["block_size"]),)


def total_size(values: Values) -> int:
    """Return the bytes of all files: one per job, unless the jobs share one."""
    return int(values["size"]) * (1 if job_option(values, "shared_file") else int(values["numjobs"]))


JOB_OPTIONS: Mapping[str, Value] = {
    "shared_file": "", "random_distribution": "random", "repeated_data": "", "pause": 0.0, "pause_blocks": 1,
    "rate": 0, "rate_iops_both": 0, "offload": False, "latency_target": 0.0, "not_stated": "",
}  # fmt: skip
"""Traits that only a job file can set, with the value that fio's own suite has. `shared_file` and `repeated_data` are
how files are shared and data repeats; `pause` is thinktime in seconds after `pause_blocks` blocks. `rate` (B/s) and
`rate_iops_both` are limits of all directions of a job together, `offload` is io_submit_mode=offload. `not_stated` are
the parameters that an output from elsewhere does not state: nothing is found by their values."""


def job_option(values: Values, name: str) -> Value:
    """Return a trait that only a job file can set."""
    return values.get(name, JOB_OPTIONS[name])


def is_stated(values: Values, *names: str) -> bool:
    """Return whether all of these parameters are known of an output from elsewhere; true of every step of a plan."""
    return set(names).isdisjoint(str(job_option(values, "not_stated")).split())


def writes_per_sync(values: Values) -> int:
    """Return the writes of a job between two calls of fsync or fdatasync; 0 if there are none."""
    given = [int(values.get(name, 0)) for name in ("fsync", "fdatasync")]  # a stored step may predate the second
    return min((every for every in given if every), default=0) if writes(values) else 0


def flush_interval(values: Values) -> int:
    """Return the bytes that a job writes between two flushes; 0 without periodic flushes."""
    return writes_per_sync(values) * largest_block(values)


def flushes(values: Values) -> bool:
    """Whether the writes are flushed while the clock runs, often enough that the disk determines the figure.

    With a runtime, end_fsync does not suffice: the same blocks are overwritten in the page cache again and again.
    Measured: 7.9 GiB/s with end_fsync in 3 s of 64 KiB blocks, where direct I/O gave 1.8 GiB/s. Likewise an interval
    that is rare.
    """
    interval = flush_interval(values)
    if not values["runtime"]:
        is_small = not is_stated(values, "size") or interval < int(values["size"]) * int(values["loops"])
        return bool(values["end_fsync"]) or (bool(interval) and is_small)
    return flushed_in_time(writes_per_sync(values), largest_block(values), int(values["size"]))


RW = Parameter(
    name="rw",
    type=Type.CHOICE,
    default="read",
    help="Access pattern: sequential or random; reads, writes or both.",
    option="--rw",
    choices=(
        Choice("read", "read: sequential reads"),
        Choice("write", "write: sequential writes"),
        Choice("randread", "randread: random reads"),
        Choice("randwrite", "randwrite: random writes"),
        Choice("rw", "rw: sequential reads and writes"),
        Choice("randrw", "randrw: random reads and writes"),
    ),
)

RWMIXREAD = Parameter(
    name="rwmixread",
    type=Type.INTEGER,
    default=50,
    help="Share of reads in a mixed pattern.",
    unit="%",
    option="--rwmixread",
    minimum=1,
    maximum=99,
    applies=mixes,
)

BLOCK_SIZE = Parameter(
    name="block_size",
    type=Type.SIZE,
    default=4 * KIB,
    help="Block size: bytes of each I/O. Small blocks reach the IOPS limit, large ones the throughput limit.",
    option="--bs",
    minimum=512,
    maximum=256 * MIB,
    applies=_one_block_size,
)

_SOME = r"[1-9]\d{0,8}[kKmM]?"
_SPLIT = rf"{_SOME}(?:/(?:100|\d{{1,2}}))?(?::{_SOME}(?:/(?:100|\d{{1,2}}))?){{0,63}}"

BLOCK_SIZES = Parameter(
    name="block_sizes",
    title="bsrange, bssplit",
    type=Type.TEXT,
    default="",
    help="Several block sizes instead of bs: a range “4k-64k”; reads and writes separately “4k,64k”; shares "
    "“4k/60:64k/40”.",
    option="--bsrange, --bs, --bssplit",
    pattern=rf"{_SOME}-{_SOME}(?:,{_SOME}-{_SOME})?|{_SPLIT}(?:,{_SPLIT})?",
)

IODEPTH = Parameter(
    name="iodepth",
    type=Type.INTEGER,
    default=1,
    help="Queue depth: I/Os in flight per job. Only libaio (with direct=1), io_uring and posixaio exceed 1.",
    option="--iodepth",
    minimum=1,
    maximum=4096,
)

NUMJOBS = Parameter(
    name="numjobs",
    type=Type.INTEGER,
    default=1,
    help="Number of threads that run the job, each with its own file; their figures are added up.",
    option="--numjobs",
    minimum=1,
    maximum=256,
)

DIRECT = Parameter(
    name="direct",
    type=Type.FLAG,
    default=False,
    help="Use O_DIRECT to bypass the page cache and measure the device.",
    option="--direct",
)

SIZE = Parameter(
    name="size",
    type=Type.SIZE,
    default=GIB,
    help="Bytes of each job's file; fio has no default. The files are written in full before the first trial.",
    option="--size",
    minimum=MIB,
    maximum=64 * 1024 * GIB,
)

RUNTIME = Parameter(
    name="runtime",
    type=Type.DURATION,
    default=0.0,
    help="Measured time; the job loops over its file until then. 0 ends each job after one pass over its file.",
    option="--runtime, --time_based",
    minimum=0,
    maximum=7 * 86400,
)

RAMP_TIME = Parameter(
    name="ramp_time",
    type=Type.DURATION,
    default=0.0,
    help="Time to run before measuring.",
    option="--ramp_time",
    minimum=0,
    maximum=86400,
)

IOENGINE = Parameter(
    name="ioengine",
    type=Type.CHOICE,
    default="psync",
    help="How I/Os are submitted to the kernel.",
    option="--ioengine",
    choices=(
        Choice("psync", "psync: pread and pwrite, one I/O at a time"),
        Choice("sync", "sync: lseek, then read or write, one I/O at a time"),
        Choice("pvsync2", "pvsync2: preadv2 and pwritev2, one I/O at a time"),
        Choice("libaio", "libaio: Linux native asynchronous I/O"),
        Choice("io_uring", "io_uring: the fastest, where the kernel permits it"),
        Choice("posixaio", "posixaio: asynchronous I/O by threads of the C library"),
        Choice("mmap", "mmap: memory mapped, always through the page cache"),
    ),
)

ONE_AT_A_TIME = frozenset(
    {"psync", "sync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate", "falloc", "filecreate", "filestat",
     "filedelete", "e4defrag", "exec", "cpuio", "net", "netsplice", "pmemblk", "libpmem", "dev-dax", "mtd", "http",
     "gfapi", "libhdfs"}
)  # fmt: skip
"""Engines that wait for each I/O before the next (fio, FIO_SYNCIO); vsync gathers neighbouring I/Os up to iodepth."""


def one_in_flight(values: Values) -> bool:
    """Whether each job has one I/O in flight, whatever its iodepth; with io_submit_mode=offload, threads wait."""
    if job_option(values, "offload"):
        return False
    return values["ioengine"] in ONE_AT_A_TIME or (values["ioengine"] == "libaio" and not values["direct"])


def in_flight(values: Values) -> int:
    """Return the requested number of I/Os in flight."""
    return int(values["numjobs"]) * (1 if one_in_flight(values) else int(values["iodepth"]))


def verifies_after(values: Values) -> bool:
    """Whether the reads of a job are those that verify what it wrote before."""
    return values.get("verify", NONE) != NONE and values["rw"] in {"write", "randwrite"}


def iops_limit(values: Values) -> float:
    """Return the I/Os per second, in both directions, that each job is limited to; 0 without a limit.

    Each direction reaches rate_iops, whatever rwmixread (tried with fio 3.33).
    """
    own = float(values["rate_iops"]) * (2 if mixes(values) else 1)
    given = [
        float(job_option(values, "rate_iops_both")) or own,
        float(job_option(values, "rate")) / largest_block(values),
    ]
    return min((limit for limit in given if limit), default=0.0)


def pause_limit(values: Values) -> float:
    """Return the I/Os per second of all jobs that thinktime leaves if the device took no time; 0 without thinktime."""
    pause = float(job_option(values, "pause"))
    return int(job_option(values, "pause_blocks")) / pause * int(values["numjobs"]) if pause else 0.0


NO_DEVICE = frozenset(
    {"nbd", "rbd", "rados", "http", "libiscsi", "nfs", "gfapi", "gfapi_async", "libhdfs", "dfs", "net", "netsplice",
     "rdma", "librpma_apm_client", "librpma_gpspm_client", "null", "cpuio", "libblkio"}
)  # fmt: skip
"""Engines of job files that reach other hosts or no storage, without a block device of this one (fio manual, I/O
engine)."""

RATE_IOPS = Parameter(
    name="rate_iops",
    type=Type.INTEGER,
    default=0,
    help="IOPS limit per job and direction, to measure latency at a given load. 0: no limit.",
    unit="1/s",
    option="--rate_iops",
    minimum=0,
    maximum=10_000_000,
)

FSYNC = Parameter(
    name="fsync",
    type=Type.INTEGER,
    default=0,
    help="Call fsync after this many writes; 1 acts like a database log, 0 is never.",
    option="--fsync",
    minimum=0,
    maximum=1_000_000,
    applies=writes,
)

FDATASYNC = Parameter(
    name="fdatasync",
    type=Type.INTEGER,
    default=0,
    help="Call fdatasync after this many writes; 1 acts like the log of etcd, 0 is never.",
    option="--fdatasync",
    minimum=0,
    maximum=1_000_000,
    applies=writes,
)

END_FSYNC = Parameter(
    name="end_fsync",
    type=Type.FLAG,
    default=False,
    help="Call fsync once after a job has written everything.",
    option="--end_fsync",
    applies=writes,
)

LOOPS = Parameter(
    name="loops",
    type=Type.INTEGER,
    default=1,
    help="Passes of each job over its file where no runtime is set.",
    option="--loops",
    minimum=1,
    maximum=10_000,
    applies=_ends_by_size,
)

COMPRESSIBLE = Parameter(
    name="buffer_compress_percentage",
    type=Type.INTEGER,
    default=0,
    help="Compressibility of the written data: 0 is random data, 100 is zeros.",
    unit="%",
    option="--buffer_compress_percentage",
    minimum=0,
    maximum=100,
    applies=writes,
)

REFILL_BUFFERS = Parameter(
    name="refill_buffers",
    type=Type.FLAG,
    default=False,
    help="Refill the buffer before each write, so that a device cannot deduplicate; costs CPU time.",
    option="--refill_buffers",
    applies=writes,
)

FIO_PARAMETERS = (
    DIRECTORY, RW, RWMIXREAD, BLOCK_SIZE, BLOCK_SIZES, IODEPTH, NUMJOBS, DIRECT, SIZE, RUNTIME, RAMP_TIME, IOENGINE,
    RATE_IOPS, FSYNC, FDATASYNC, END_FSYNC, LOOPS, COMPRESSIBLE, REFILL_BUFFERS, *MORE_PARAMETERS,
)  # fmt: skip
