"""The parameters of sysbench's file test, and what follows from them."""

from suites.disk import DIRECTORY, GIB, KIB
from suites.parameters import Choice, Parameter, Type, Values
from suites.sysbench.common import PERCENTILE, THREADS, TIME

DEFAULT_TOTAL = 2 * GIB
DEFAULT_BLOCK = 16 * KIB
CREATION = "seqwr"

_READING = frozenset({"seqrd", "rndrd", "rndrw"})
_WRITING = frozenset({"seqwr", "seqrewr", "rndwr", "rndrw"})


def reads(values: Values) -> bool:
    """Whether the test reads."""
    return values["mode"] in _READING


def writes(values: Values) -> bool:
    """Whether the test writes."""
    return values["mode"] in _WRITING


def mixes(values: Values) -> bool:
    """Whether the test reads and writes."""
    return values["mode"] == "rndrw"


def in_sequence(values: Values) -> bool:
    """Whether the blocks follow each other within a file."""
    return str(values["mode"]).startswith("seq")


def direct(values: Values) -> bool:
    """Whether I/Os go past the page cache: mapped files are in it, whatever flags they are opened with."""
    return values["extra_flags"] == "direct" and values["io_mode"] != "mmap"


def queues(values: Values) -> bool:
    """Whether a thread hands over many requests before it waits for the first."""
    return values["io_mode"] == "async"


def _flushes_now_and_then(values: Values) -> bool:
    return writes(values) and not values["fsync_all"]


MODE = Parameter(
    name="mode",
    title="Mode",
    type=Type.CHOICE,
    default="rndrd",
    help="What is done to the files. sysbench has no default.",
    option="--file-test-mode",
    choices=(
        Choice("seqwr", "Write in sequence (creation)"),
        Choice("seqrewr", "Rewrite in sequence"),
        Choice("seqrd", "Read in sequence"),
        Choice("rndrd", "Read at random"),
        Choice("rndwr", "Write at random"),
        Choice("rndrw", "Read and write at random"),
    ),
)

FILES = Parameter(
    name="file_num",
    title="Files",
    type=Type.INTEGER,
    default=128,
    help="How many files share the total size. Each periodic fsync is done on every one of them.",
    option="--file-num",
    minimum=1,
    maximum=10_000,
)

TOTAL_SIZE = Parameter(
    name="total_size",
    title="Total size",
    type=Type.SIZE,
    default=DEFAULT_TOTAL,
    help="Bytes of all files together.",
    option="--file-total-size",
    minimum=4 * KIB,
    maximum=2**50,
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="Block size",
    type=Type.SIZE,
    default=DEFAULT_BLOCK,
    help="Bytes of each read and write.",
    option="--file-block-size",
    minimum=512,
    maximum=GIB,
)

EXTRA_FLAGS = Parameter(
    name="extra_flags",
    title="Open flags",
    type=Type.CHOICE,
    default="none",
    help="How the files are opened. Without a flag, memory may answer for the disk.",
    option="--file-extra-flags",
    choices=(
        Choice("none", "Through the page cache"),
        Choice("direct", "direct: past the page cache"),
        Choice("dsync", "dsync: each write waits until its data are safe"),
        Choice("sync", "sync: each write waits until data and records are safe"),
    ),
)

IO_MODE = Parameter(
    name="io_mode",
    title="I/O by",
    type=Type.CHOICE,
    default="sync",
    help="How requests are handed to the kernel.",
    option="--file-io-mode",
    choices=(
        Choice("sync", "pread and pwrite: each thread waits for each request"),
        Choice("async", "Linux native asynchronous I/O: many at once"),
        Choice("mmap", "Memory mapped: always through the page cache"),
    ),
)

BACKLOG = Parameter(
    name="async_backlog",
    title="Requests at once",
    type=Type.INTEGER,
    default=128,
    help="How many requests each thread hands over before it waits for them.",
    option="--file-async-backlog",
    minimum=1,
    maximum=65536,
    applies=queues,
)

FSYNC_FREQUENCY = Parameter(
    name="fsync_freq",
    title="fsync after",
    type=Type.INTEGER,
    default=100,
    help="Requests after which every file is flushed; 0 never does it while the clock runs.",
    option="--file-fsync-freq",
    unit="requests",
    minimum=0,
    maximum=10**9,
    applies=_flushes_now_and_then,
)

FSYNC_ALL = Parameter(
    name="fsync_all",
    title="fsync each write",
    type=Type.FLAG,
    default=False,
    help="Flush after each write, as a database's log does.",
    option="--file-fsync-all",
    applies=writes,
)

FSYNC_END = Parameter(
    name="fsync_end",
    title="fsync at the end",
    type=Type.FLAG,
    default=True,
    help="Flush every file once when the time is up.",
    option="--file-fsync-end",
    applies=_flushes_now_and_then,
)

FSYNC_MODE = Parameter(
    name="fsync_mode",
    title="Flush by",
    type=Type.CHOICE,
    default="fsync",
    help="The call that flushes. fdatasync leaves out the times of a file, which fsync writes too.",
    option="--file-fsync-mode",
    choices=(Choice("fsync", "fsync"), Choice("fdatasync", "fdatasync")),
    applies=writes,
)

RATIO = Parameter(
    name="rw_ratio",
    title="Reads for each write",
    type=Type.NUMBER,
    default=1.5,
    help="Reads for each write in the mixed mode.",
    option="--file-rw-ratio",
    minimum=0,
    maximum=1000,
    applies=mixes,
)

FILEIO_PARAMETERS = (
    DIRECTORY,
    MODE,
    BLOCK_SIZE,
    TOTAL_SIZE,
    FILES,
    EXTRA_FLAGS,
    IO_MODE,
    BACKLOG,
    FSYNC_FREQUENCY,
    FSYNC_ALL,
    FSYNC_END,
    FSYNC_MODE,
    RATIO,
    THREADS,
    TIME,
    PERCENTILE,
)
