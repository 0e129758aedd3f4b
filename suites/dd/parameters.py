"""dd's operands as parameters."""

from suites.disk import DIRECTORY, GIB, MIB
from suites.parameters import Choice, Parameter, Type, Values, count_parameter

ZERO, URANDOM, PREPARED, FILE = "/dev/zero", "/dev/urandom", "prepared", "file"

TUNED_BLOCK = MIB


def writes(values: Values) -> bool:
    """Whether the copy writes the file; otherwise it reads it back."""
    return values["input"] != FILE


def reads(values: Values) -> bool:
    """Whether the copy reads the file back."""
    return not writes(values)


def copied(values: Values) -> int:
    """Return the bytes of one copy."""
    return int(values["block_size"]) * int(values["count"])


INPUT = Parameter(
    name="input",
    title="if",
    default=ZERO,
    help="Source of the copy. Zeros may compress; /dev/urandom is limited by a CPU; random bytes prepared in a file "
    "are read from the page cache, unless it is dropped before each trial.",
    option="if=",
    choices=(
        Choice(ZERO, "/dev/zero: write zeros to a file"),
        Choice(URANDOM, "/dev/urandom: write random bytes to a file"),
        Choice(PREPARED, "prepared: write random bytes that a file has ready"),
        Choice(FILE, "file: read a file back"),
    ),
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="bs",
    type=Type.SIZE,
    default=512,
    help="Bytes of each read and write, one after the other.",
    option="bs=",
    minimum=1,
    maximum=GIB,
)

COUNT = count_parameter(
    name="count",
    default=1024,
    help="Number of blocks. dd has no default: /dev/zero and /dev/urandom have no end.",
    option="count=",
    maximum=10**12,
)

FLUSH = Parameter(
    name="flush",
    title="conv, oflag",
    default="none",
    help="When written data reaches the disk. Without a flush dd measures the page cache.",
    option="conv=, oflag=",
    choices=(
        Choice("none", "none: writeback after the clock stops"),
        Choice("fdatasync", "conv=fdatasync: one flush before the clock stops"),
        Choice("direct", "oflag=direct: O_DIRECT, no page cache"),
        Choice("dsync", "oflag=dsync: each block waits for stable storage"),
    ),
    applies=writes,
)

READ = Parameter(
    name="read",
    title="iflag",
    default="cached",
    help="How the file is read. It was just written: without direct I/O the page cache serves it.",
    option="iflag=",
    choices=(
        Choice("cached", "none: through the page cache"),
        Choice("direct", "iflag=direct: O_DIRECT, no page cache"),
    ),
    applies=reads,
)

DD_PARAMETERS = (DIRECTORY, INPUT, BLOCK_SIZE, COUNT, FLUSH, READ)
