"""The parameters of the block test, and how much memory it takes."""

from dataclasses import replace

from suites.facts import Facts
from suites.parameters import Choice, Parameter, Tuned, Type, Values, format_size, parse_size
from suites.probe.probe import BUILD_ON_HOST, SWEEP, THREADS
from suites.sysbench.memory_size import CACHE_FACTOR, UNKNOWN_CACHE_BLOCK, available_memory

MIB, GIB = 2**20, 2**30

LARGEST_BLOCK = 4 * GIB
"""What the probe accepts."""

LARGEST_SET = GIB
"""Bytes of the largest set that is chased through untold: building a longer chain takes many seconds."""

_SIZE = r"\s*[1-9]\d{0,11}\s*(?:[kKmMgG]i?)?[bB]?\s*"

OPERATIONS = Parameter(
    name="operations",
    title="Operations",
    type=Type.CHOICE,
    default="all",
    help="Copy blocks (a copied byte counts once), read them, or write them.",
    option="--operations",
    choices=(
        Choice("all", "Copy, read and write"),
        *(Choice(name, name.capitalize()) for name in ("copy", "read", "write")),
    ),
)

PATTERNS = Parameter(
    name="patterns",
    title="Order",
    type=Type.CHOICE,
    default="both",
    help="Take the blocks in the order they lie in memory, or from random places.",
    option="--patterns",
    choices=(Choice("both", "Sequential, then random"), Choice("sequential", "Sequential"), Choice("random", "Random")),
)

BLOCKS = Parameter(
    name="blocks",
    title="Block sizes",
    type=Type.TEXT,
    default="1 B, 1 KiB, 64 KiB, 1 MiB",
    help="Sizes such as “1 B, 4 KiB”. Below 64 KiB the call that moves a block weighs as much as the block.",
    option="--blocks",
    pattern=rf"{_SIZE}(?:,{_SIZE}){{0,63}}",
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=1.0,
    help="How long each combination of operation, order, block size and threads is measured.",
    option="--time",
    unit="s",
    minimum=0.1,
    maximum=86400,
)

MEMORY = Parameter(
    name="memory",
    title="Memory",
    type=Type.SIZE,
    default=64 * MIB,
    help="The memory that all threads go through together, as source and as much again as target.",
    option="--memory",
    unit="B",
    minimum=MIB,
    maximum=2**40,
)

LARGEST_WORKING_SET = Parameter(
    name="largest_set",
    title="Latency up to",
    type=Type.SIZE,
    default=64 * MIB,
    help="The largest working set whose true latency is measured, from 4 KiB up in steps; 0 leaves it out.",
    option="--chase",
    unit="B",
    minimum=0,
    maximum=2**40,
)

BLOCK_THREADS = replace(THREADS, default=1, help="How many threads work at once; 0 is one for each usable CPU.")
BLOCK_SWEEP = replace(SWEEP, default="single")

PARAMETERS = (
    OPERATIONS,
    PATTERNS,
    BLOCKS,
    MEMORY,
    LARGEST_WORKING_SET,
    BLOCK_THREADS,
    BLOCK_SWEEP,
    TIME,
    BUILD_ON_HOST,
)


def block_sizes(values: Values) -> tuple[int, ...]:
    """Return the block sizes in bytes, each once, in the order given."""
    return tuple(dict.fromkeys(parse_size(word) for word in str(values["blocks"]).split(",")))


def footprint(values: Values, threads: int) -> int:
    """Return the bytes that the test takes at most: source and target of all threads, or the largest working set."""
    part = max(int(values["memory"]) // threads, *block_sizes(values))
    return max(2 * part * threads, int(values["largest_set"]))


def fitting_memory(facts: Facts | None) -> Tuned:
    """Return how much memory to go through: four times the cache, within a quarter of what is available."""
    cache = None if facts is None else facts.last_level_cache()
    available = None if facts is None else available_memory(facts)
    wanted = UNKNOWN_CACHE_BLOCK if cache is None else -(-CACHE_FACTOR * cache // MIB) * MIB
    size = wanted if available is None else min(wanted, max(MIB, available // 4 // MIB * MIB))
    if cache is None:
        return Tuned(size, f"The cache sizes are not known; {format_size(size)} is more than most caches hold.")
    return Tuned(
        size, f"{size / cache:.3g} times the {format_size(cache)} of last-level cache, so that memory is measured."
    )
