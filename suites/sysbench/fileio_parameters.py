"""Parameters of sysbench's file test, and predicates on their values."""

from suites.disk import DIRECTORY, GIB, KIB
from suites.parameters import Choice, Parameter, Type, Values, count_parameter, flag_parameter
from suites.sysbench.output import PERCENTILE, THREADS, TIME

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
    """Whether the blocks are sequential within a file."""
    return str(values["mode"]).startswith("seq")


def direct(values: Values) -> bool:
    """Whether I/Os bypass the page cache; mapped files never do, whatever flags they are opened with."""
    return values["extra_flags"] == "direct" and values["io_mode"] != "mmap"


def queues(values: Values) -> bool:
    """Whether a thread submits many requests before it waits for the first."""
    return values["io_mode"] == "async"


def _flushes_now_and_then(values: Values) -> bool:
    return writes(values) and not values["fsync_all"]


MODE = Parameter(
    name="mode",
    default="rndrd",
    help="Access pattern. sysbench has no default.",
    option="--file-test-mode",
    choices=(
        Choice("seqwr", "seqwr: sequential writes (creation)"),
        Choice("seqrewr", "seqrewr: sequential rewrites"),
        Choice("seqrd", "seqrd: sequential reads"),
        Choice("rndrd", "rndrd: random reads"),
        Choice("rndwr", "rndwr: random writes"),
        Choice("rndrw", "rndrw: random reads and writes"),
    ),
)

FILES = count_parameter(
    name="file_num",
    default=128,
    help="Number of files that share the total size. Each periodic fsync flushes all of them.",
    option="--file-num",
    maximum=10_000,
)

TOTAL_SIZE = Parameter(
    name="total_size",
    type=Type.SIZE,
    default=DEFAULT_TOTAL,
    help="Bytes of all files together.",
    option="--file-total-size",
    minimum=4 * KIB,
    maximum=2**50,
)

BLOCK_SIZE = Parameter(
    name="block_size",
    type=Type.SIZE,
    default=DEFAULT_BLOCK,
    help="Bytes of each read and write.",
    option="--file-block-size",
    minimum=512,
    maximum=GIB,
)

EXTRA_FLAGS = Parameter(
    name="extra_flags",
    default="none",
    help="Flags of open. Without one, the page cache may serve the I/O.",
    option="--file-extra-flags",
    choices=(
        Choice("none", "none: through the page cache"),
        Choice("direct", "direct: O_DIRECT, no page cache"),
        Choice("dsync", "dsync: each write waits for stable storage of its data"),
        Choice("sync", "sync: each write waits for stable storage of data and metadata"),
    ),
)

IO_MODE = Parameter(
    name="io_mode",
    default="sync",
    help="How requests are submitted to the kernel.",
    option="--file-io-mode",
    choices=(
        Choice("sync", "sync: pread and pwrite, one request per thread"),
        Choice("async", "async: Linux native asynchronous I/O, many in flight"),
        Choice("mmap", "mmap: memory mapped, always through the page cache"),
    ),
)

BACKLOG = count_parameter(
    name="async_backlog",
    default=128,
    help="Queue depth: requests each thread submits before it waits for them.",
    option="--file-async-backlog",
    maximum=65536,
    applies=queues,
)

FSYNC_FREQUENCY = Parameter(
    name="fsync_freq",
    type=Type.INTEGER,
    default=100,
    help="Requests after which every file is flushed; 0 is never while the clock runs.",
    option="--file-fsync-freq",
    unit="requests",
    minimum=0,
    maximum=10**9,
    applies=_flushes_now_and_then,
)

FSYNC_ALL = flag_parameter(
    name="fsync_all", help="Flush after each write, like a database log.", option="--file-fsync-all", applies=writes
)

FSYNC_END = flag_parameter(
    name="fsync_end",
    default=True,
    help="Flush every file once when the time is up.",
    option="--file-fsync-end",
    applies=_flushes_now_and_then,
)

FSYNC_MODE = Parameter(
    name="fsync_mode",
    default="fsync",
    help="System call that flushes. fdatasync skips a file's timestamps, which fsync writes, too.",
    option="--file-fsync-mode",
    choices=(Choice("fsync", "fsync"), Choice("fdatasync", "fdatasync")),
    applies=writes,
)

RATIO = Parameter(
    name="rw_ratio",
    type=Type.NUMBER,
    default=1.5,
    help="Reads per write in the mode rndrw.",
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
