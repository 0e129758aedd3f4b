"""fio's rarer parameters: what ends a run by itself, what is checked of the data, what the page cache is told."""

from suites.parameters import Choice, Parameter, Type, Values

NONE = "none"


def waits_for_steady_state(values: Values) -> bool:
    """Whether the run ends when its rate is steady."""
    return bool(values["steady_state"])


def _on_device(values: Values) -> bool:
    return bool(values.get("device", ""))


def _writes(values: Values) -> bool:
    return values["rw"] not in {"read", "randread"}


def _random(values: Values) -> bool:
    return str(values["rw"]).startswith("rand")


def draws_anew(values: Values) -> bool:
    """Whether a run draws blocks of its own instead of those of every other run."""
    return _random(values) and not values.get("randrepeat", True)  # a stored step may be older than the parameter


STEADY_STATE = Parameter(
    name="steady_state",
    title="Steady state",
    type=Type.TEXT,
    default="",
    help="End as soon as the rate is steady, within the runtime: “iops:2%” no second further from the mean, "
    "“iops_slope:0.1%” no slope over the window; bw and lat alike.",
    option="--steadystate",
    pattern=r"(?:iops|bw|lat)(?:_slope)?:\d{1,9}(?:\.\d{1,6})?%?",
)

STEADY_DURATION = Parameter(
    name="steady_duration",
    title="Steady window",
    type=Type.DURATION,
    default=30.0,
    help="For so long the rate has to be steady.",
    option="--ss_dur",
    minimum=2,
    maximum=86400,
    applies=waits_for_steady_state,
)

STEADY_RAMP = Parameter(
    name="steady_ramp",
    title="Before the window",
    type=Type.DURATION,
    default=0.0,
    help="Nothing is looked at for so long; with writes to an empty drive, until it has been filled.",
    option="--ss_ramp",
    minimum=0,
    maximum=7 * 86400,
    applies=waits_for_steady_state,
)

RANDREPEAT = Parameter(
    name="randrepeat",
    title="Same blocks each time",
    type=Type.FLAG,
    default=True,
    help="Each run goes to the same blocks in the same order, as fio has it: a cache below may answer all but one run.",
    option="--randrepeat",
    applies=_random,
)

VERIFY = Parameter(
    name="verify",
    title="Verify",
    type=Type.CHOICE,
    default=NONE,
    help="Put a checksum into each block and read it back when all is written. The reads are reported as well.",
    option="--verify",
    choices=(
        Choice(NONE, "No"),
        Choice("crc32c", "CRC-32C"),
        Choice("xxhash", "xxHash"),
        Choice("sha256", "SHA-256"),
    ),
    applies=_writes,
)

INVALIDATE = Parameter(
    name="invalidate",
    title="Drop cached pages",
    type=Type.FLAG,
    default=True,
    help="Before a job begins, its file is dropped from the page cache. Without that, a second run reads from memory.",
    option="--invalidate",
)

FADVISE = Parameter(
    name="fadvise_hint",
    title="Hint to the kernel",
    type=Type.CHOICE,
    default="1",
    help="What the kernel is told of the coming I/Os (fadvise), by which it reads ahead.",
    option="--fadvise_hint",
    choices=(
        Choice("1", "As the pattern is"),
        Choice("0", "Nothing"),
        Choice("random", "At random"),
        Choice("sequential", "In sequence"),
    ),
)

PREWARM = Parameter(
    name="prewarm",
    title="Touch every block first",
    type=Type.FLAG,
    default=False,
    help="Read the part of the device once before the first trial, as a volume made from a snapshot needs it: its "
    "blocks are fetched when they are first touched.",
    applies=_on_device,
)

MORE_PARAMETERS = (
    RANDREPEAT, STEADY_STATE, STEADY_DURATION, STEADY_RAMP, VERIFY, INVALIDATE, FADVISE, PREWARM,
)  # fmt: skip
