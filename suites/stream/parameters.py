"""The parameters of the STREAM kernels, and how large their arrays should be."""

from suites.facts import Facts
from suites.parameters import Parameter, Tuned, Type, Values, format_size
from suites.probe.probe import BUILD, SWEEP, THREADS
from suites.sysbench.memory_size import available_memory

CACHE_FACTOR = 4
"""STREAM's rule (its source, 5.10): each array at least four times the last-level cache of all sockets."""

ARRAYS = 3
ELEMENT = 8
MIB = 2**20

UNKNOWN_CACHE_ARRAY = 256 * MIB

BYTES_PER_ELEMENT = 80
"""Bytes of an element that one iteration moves: 16 for copy and scale, 24 for add and triad."""

SLOW_THREAD = 10e9
"""B/s that one thread moves on a slow server; the memory of a slow server gives four times that."""

WORTH_TIMING = 2.0
"""Seconds that a thread count should be measured: with 128 MiB arrays, ten iterations last a third of one."""

MOST_TIMES = 100
TIMES_OF_STREAM = 10


def own_kernels(values: Values) -> bool:
    """Whether our own kernels run, and not a program that the user named."""
    return not values["program"]


PROGRAM = Parameter(
    name="program",
    title="Own program",
    type=Type.TEXT,
    default="",
    help="The absolute path, on the host, of a STREAM program to run instead of Benchwright's kernels.",
    pattern=r"/.*",
)

ARRAY_SIZE = Parameter(
    name="array_size",
    title="Array size",
    type=Type.SIZE,
    default=10_000_000 * ELEMENT,
    help="The bytes of each of the three arrays: four times the last-level cache, or the cache is measured.",
    option="--elements",
    unit="B",
    minimum=MIB,
    maximum=2**40,
    applies=own_kernels,
)

TIMES = Parameter(
    name="times",
    title="Iterations",
    type=Type.INTEGER,
    default=TIMES_OF_STREAM,
    help="How often each kernel runs. The first does not count; the best of the others is the figure.",
    option="--times",
    minimum=2,
    maximum=MOST_TIMES,
    applies=own_kernels,
)

PARAMETERS = (ARRAY_SIZE, TIMES, THREADS, SWEEP, PROGRAM, BUILD)


def elements(values: Values) -> int:
    """Return how many elements each array has."""
    return int(values["array_size"]) // ELEMENT


def fitting_array(facts: Facts | None) -> Tuned:
    """Return the size of an array that measures memory: four times the cache, within half the available memory."""
    cache = None if facts is None else facts.last_level_cache()
    available = None if facts is None else available_memory(facts)
    wanted = UNKNOWN_CACHE_ARRAY if cache is None else -(-CACHE_FACTOR * cache // MIB) * MIB
    size = wanted if available is None else min(wanted, max(MIB, available // 2 // ARRAYS // MIB * MIB))
    if cache is None:
        return Tuned(size, f"The cache sizes are not known; {format_size(size)} is more than most caches hold.")
    words = f"{size / cache:.3g} times the {format_size(cache)} of last-level cache, all sockets together"
    if size < wanted:
        words += ": more would not fit into memory three times"
    return Tuned(size, f"{words}.")


def iteration_seconds(size: int, threads: int) -> float:
    """Return about how long one iteration over arrays of `size` bytes takes on a slow server."""
    return BYTES_PER_ELEMENT * (size / ELEMENT) / (min(threads, 4) * SLOW_THREAD)


def fitting_times(size: int) -> Tuned:
    """Return how many iterations are worth timing: two seconds of them on a current server, at least STREAM's ten."""
    times = min(MOST_TIMES, max(TIMES_OF_STREAM, round(WORTH_TIMING / iteration_seconds(size, 4))))
    return Tuned(times, f"{times} iterations take one to two seconds for each thread count; STREAM itself makes 10.")
