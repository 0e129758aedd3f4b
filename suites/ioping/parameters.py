"""ioping's options as parameters."""

from suites.disk import DIRECTORY, GIB, KIB, MIB
from suites.parameters import Choice, Parameter, Type, Values

DEFAULT_WORKING_SET = MIB


def writes(values: Values) -> bool:
    """Whether the requests write."""
    return values["operation"] == "write"


OPERATION = Parameter(
    name="operation",
    title="Requests",
    type=Type.CHOICE,
    default="read",
    help="What each request does.",
    option="-W",
    choices=(Choice("read", "Read"), Choice("write", "Write")),
)

COUNT = Parameter(
    name="count",
    title="Number of requests",
    type=Type.INTEGER,
    default=10,
    help="How many requests are made; the first is a warm-up. ioping has no default: it goes on until it is stopped.",
    option="-c",
    minimum=2,
    maximum=10**6,
)

INTERVAL = Parameter(
    name="interval",
    title="Interval",
    type=Type.DURATION,
    default=1.0,
    help="Time from the beginning of one request to the next.",
    option="-i",
    unit="s",
    minimum=0.001,
    maximum=60,
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="Block size",
    type=Type.SIZE,
    default=4 * KIB,
    help="Bytes of each request.",
    option="-s",
    minimum=512,
    maximum=GIB,
)

WORKING_SET = Parameter(
    name="working_set",
    title="Working set",
    type=Type.SIZE,
    default=DEFAULT_WORKING_SET,
    help="Bytes of the file in which the requests fall; ioping writes it first.",
    option="-S",
    minimum=4 * KIB,
    maximum=2**50,
)

CACHE = Parameter(
    name="cache",
    title="Page cache",
    type=Type.CHOICE,
    default="default",
    help="Whether memory may answer a request.",
    option="-D, -C",
    choices=(
        Choice("default", "Dropped before a read, flushed after a write"),
        Choice("direct", "-D: direct I/O, past the page cache"),
        Choice("cached", "-C: neither dropped nor flushed"),
    ),
)

LINEAR = Parameter(
    name="linear",
    title="In sequence",
    type=Type.FLAG,
    default=False,
    help="Requests follow each other instead of falling at random.",
    option="-L",
)

BATCH = Parameter(
    name="batch",
    title="Exact figures",
    type=Type.FLAG,
    default=False,
    help="Print the statistics in whole nanoseconds instead of three digits; the requests are then not shown.",
    option="-B",
    identity=False,
)

IOPING_PARAMETERS = (DIRECTORY, OPERATION, CACHE, BLOCK_SIZE, WORKING_SET, COUNT, INTERVAL, LINEAR, BATCH)
