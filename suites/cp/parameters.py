"""What can be chosen about a copy."""

from suites.disk import DIRECTORY, GIB, MIB
from suites.parameters import Choice, Parameter, Type, Values

SOURCE_NAME = "benchwright.dat"


def cold(values: Values) -> bool:
    """Whether the source is dropped from memory before it is copied."""
    return values["read"] == "cold"


def flushed(values: Values) -> bool:
    """Whether the clock runs until the copy is on the disk."""
    return values["flush"] == "sync"


SIZE = Parameter(
    name="size",
    title="File size",
    type=Type.SIZE,
    default=GIB,
    help="Bytes of the file that is copied, in whole MiB. It is made of random bytes before.",
    minimum=MIB,
    maximum=2**50,
)

READ = Parameter(
    name="read",
    title="Source",
    type=Type.CHOICE,
    default="cached",
    help="Whether the source may come from memory, where it is after it was made or copied before.",
    choices=(
        Choice("cached", "As it is: just made, or copied before"),
        Choice("cold", "Dropped from memory before each copy"),
    ),
)

FLUSH = Parameter(
    name="flush",
    title="Flush",
    type=Type.CHOICE,
    default="none",
    help="Whether the clock runs until the copy is on the disk.",
    choices=(Choice("none", "cp alone"), Choice("sync", "cp, then sync of the copy")),
)

REFLINK = Parameter(
    name="reflink",
    title="Reflink",
    type=Type.CHOICE,
    default="default",
    help="Whether the copy may share its source's blocks, or be made by the file server. cp 9 tries both untold.",
    option="--reflink",
    choices=(
        Choice("default", "As this cp does untold"),
        Choice("never", "never: every byte is read and written"),
        Choice("auto", "auto: share blocks where that works"),
    ),
)

CP_PARAMETERS = (DIRECTORY, SIZE, READ, FLUSH, REFLINK)
