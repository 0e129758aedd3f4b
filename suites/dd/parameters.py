"""dd's operands as parameters."""

from suites.disk import DIRECTORY, GIB, MIB
from suites.parameters import Choice, Parameter, Type, Values

ZERO, URANDOM, FILE = "/dev/zero", "/dev/urandom", "file"

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
    title="Input",
    type=Type.CHOICE,
    default=ZERO,
    help="What is copied. Zeros compress to nothing; random bytes are slow to make; a file is written, then read.",
    option="if=",
    choices=(
        Choice(ZERO, "Write zeros to a file"),
        Choice(URANDOM, "Write random bytes to a file"),
        Choice(FILE, "Read a file back"),
    ),
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="Block size",
    type=Type.SIZE,
    default=512,
    help="Bytes of each read and write, one after the other.",
    option="bs=",
    minimum=1,
    maximum=GIB,
)

COUNT = Parameter(
    name="count",
    title="Blocks",
    type=Type.INTEGER,
    default=1024,
    help="How many blocks are copied. dd has no default: zeros and random bytes have no end.",
    option="count=",
    minimum=1,
    maximum=10**12,
)

FLUSH = Parameter(
    name="flush",
    title="Flush",
    type=Type.CHOICE,
    default="none",
    help="When what is written reaches the disk. Without a flush, dd measures memory.",
    option="conv=, oflag=",
    choices=(
        Choice("none", "Not while the clock runs"),
        Choice("fdatasync", "conv=fdatasync: once, before the clock stops"),
        Choice("direct", "oflag=direct: each block, past the page cache"),
        Choice("dsync", "oflag=dsync: each block, and wait until it is safe"),
    ),
    applies=writes,
)

READ = Parameter(
    name="read",
    title="Read",
    type=Type.CHOICE,
    default="cached",
    help="Where the file is read from. It has just been written, so without direct I/O it comes from memory.",
    option="iflag=",
    choices=(
        Choice("cached", "Through the page cache"),
        Choice("direct", "iflag=direct: past the page cache"),
    ),
    applies=reads,
)

DD_PARAMETERS = (DIRECTORY, INPUT, BLOCK_SIZE, COUNT, FLUSH, READ)
