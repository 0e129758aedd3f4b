"""Parameters of the STREAM kernels, and the array size and iterations that suit a host."""

from suites.facts import Facts
from suites.memory_sizes import size_beyond_cache
from suites.parameters import Parameter, Tuned, Type, Values, text_parameter
from suites.probe import BUILD, SWEEP, THREADS

ARRAYS = 3
ELEMENT = 8
MIB = 2**20

BYTES_PER_ELEMENT = 80
"""Bytes per element that one iteration moves: 16 for copy and scale, 24 for add and triad."""

SLOW_THREAD = 10e9
"""B/s that one thread moves on a slow server; its whole memory delivers four times that."""

WORTH_TIMING = 2.0
"""Seconds to measure a thread count: with 128 MiB arrays, ten iterations last a third of one."""

MOST_TIMES = 100
TIMES_OF_STREAM = 10


def bundled_kernels(values: Values) -> bool:
    """Whether Benchwright's kernels run, and not a program of the user."""
    return not values["program"]


PROGRAM = text_parameter(
    name="program",
    title="Own program",
    help="Absolute path, on the host, of a STREAM program to run instead of Benchwright's kernels.",
    pattern=r"/.*",
)

ARRAY_SIZE = Parameter(
    name="array_size",
    title="Array size",
    type=Type.SIZE,
    default=10_000_000 * ELEMENT,
    help="Bytes of each of the three arrays: at least four times the last-level cache, else the cache is measured.",
    option="--elements",
    unit="B",
    minimum=MIB,
    maximum=2**40,
    applies=bundled_kernels,
)

TIMES = Parameter(
    name="times",
    title="Iterations",
    type=Type.INTEGER,
    default=TIMES_OF_STREAM,
    help="Runs of each kernel. The first does not count; the best of the others is the figure.",
    option="--times",
    minimum=2,
    maximum=MOST_TIMES,
    applies=bundled_kernels,
)

PARAMETERS = (ARRAY_SIZE, TIMES, THREADS, SWEEP, PROGRAM, BUILD)


def elements(values: Values) -> int:
    """Return the number of elements of each array."""
    return int(values["array_size"]) // ELEMENT


def fitting_array(facts: Facts | None) -> Tuned:
    """Return the size of an array that measures memory: four times the cache, within half the available memory."""
    return size_beyond_cache(
        facts, ARRAYS, ", all sockets together", "; larger arrays do not fit into memory three times"
    )


def iteration_seconds(size: int, threads: int) -> float:
    """Return the approximate time of one iteration over arrays of `size` bytes on a slow server."""
    return BYTES_PER_ELEMENT * (size / ELEMENT) / (min(threads, 4) * SLOW_THREAD)


def fitting_times(size: int) -> Tuned:
    """Return the number of iterations: two seconds of them on a current server, at least STREAM's ten."""
    times = min(MOST_TIMES, max(TIMES_OF_STREAM, round(WORTH_TIMING / iteration_seconds(size, 4))))
    return Tuned(times, f"{times} iterations take one to two seconds per thread count; STREAM itself makes 10.")
