"""LINPACK's parameters, its input files, and the sizes that fit a host."""

import math

from suites.facts import Facts, known
from suites.parameters import Choice, Parameter, Type, Values
from suites.sysbench.memory_size import available_memory
from suites.thread_checks import cpus_for

HPCC, XHPL, INTEL = "hpcc", "xhpl", "intel"

ELEMENT = 8
MEMORY_SHARE = 0.8
"""HPL's own advice (its TUNING file): the largest matrix takes 80 % of memory; the rest is for everything else."""

CORE_RATE = 5e9
"""FLOPS of a core with a slow BLAS: with it the largest tuned size takes about LONGEST seconds, else less."""

LONGEST = 60.0

LADDER = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000)
"""Sizes that are published everywhere; the last tuned one is what the host has memory and time for."""


def _named(values: Values) -> bool:
    return values["program"] != HPCC


def _blocked(values: Values) -> bool:
    return values["program"] != INTEL


PROGRAM = Parameter(
    name="program",
    title="Program",
    type=Type.CHOICE,
    default=HPCC,
    help="Whose LINPACK runs: HPL out of the package hpcc, an xhpl of your own, or Intel's.",
    choices=(
        Choice(HPCC, "hpcc, which is installed"),
        Choice(XHPL, "An xhpl on the host"),
        Choice(INTEL, "Intel's xlinpack on the host"),
    ),
)

PATH = Parameter(
    name="path",
    title="Its path",
    type=Type.TEXT,
    default="",
    help="The absolute path of the program on the host.",
    pattern=r"/.*",
    applies=_named,
    identity=False,
)

SIZES = Parameter(
    name="sizes",
    title="Sizes",
    type=Type.TEXT,
    default="1000",
    help="The orders of the matrices, such as “1000, 5000”. A matrix of order N takes 8 x N x N bytes.",
    pattern=r"\s*[1-9]\d{1,6}\s*(?:,\s*[1-9]\d{1,6}\s*){0,19}",
)

PROCESSES = Parameter(
    name="threads",
    title="Processes",
    type=Type.INTEGER,
    default=4,
    help="How many processes, or threads of Intel's program, work at once: one for each core.",
    option="mpirun -np, OMP_NUM_THREADS",
    minimum=1,
    maximum=4096,
)

BLOCK = Parameter(
    name="block",
    title="Block",
    type=Type.INTEGER,
    default=80,
    help="The side of the blocks in which the matrix is worked on (NB); fast libraries want 128 to 256.",
    option="NBs",
    minimum=1,
    maximum=2048,
    applies=_blocked,
)

PARAMETERS = (PROGRAM, PATH, SIZES, PROCESSES, BLOCK)


def sizes_of(values: Values) -> tuple[int, ...]:
    """Return the sizes, each once, in rising order."""
    return tuple(sorted({int(word) for word in str(values["sizes"]).split(",")}))


def matrix_bytes(size: int) -> int:
    """Return the bytes of a matrix of order `size`."""
    return ELEMENT * size * size


def grid(processes: int) -> tuple[int, int]:
    """Return the process grid P x Q: as square as can be, P the smaller, as HPL's TUNING file advises."""
    rows = next(rows for rows in range(math.isqrt(processes), 0, -1) if processes % rows == 0)
    return rows, processes // rows


def cores_for(facts: Facts | None) -> int | None:
    """Return how many processes suit the host: one for each core that may be used, or None."""
    cpus = None if facts is None else cpus_for(facts)
    cores = None if facts is None else known(facts.cpu.cores)
    return cpus if cpus is None or cores is None else min(cpus, cores)


def fitting_sizes(facts: Facts | None, block: int) -> tuple[tuple[int, ...], bool]:
    """Return the sizes of a sweep, and whether memory rather than time limits the largest."""
    available = None if facts is None else available_memory(facts)
    room = LADDER[-1] if available is None else math.isqrt(int(MEMORY_SHARE * available / ELEMENT))
    # 2/3 N^3 operations (HPL's count, but for lower orders) at the rate of all cores.
    patience = round((1.5 * LONGEST * CORE_RATE * (cores_for(facts) or 1)) ** (1 / 3))
    largest = max(block, min(room, patience) // block * block)
    return (*(size for size in LADDER if size < 0.8 * largest), largest), room < patience


def hpl_input(values: Values, *, for_hpcc: bool) -> str:
    """Return HPL.dat, or with `for_hpcc` hpccinf.txt, whose first 31 lines are the same."""
    sizes, (rows, columns) = sizes_of(values), grid(int(values["threads"]))
    lines = [
        "HPLinpack benchmark input file",
        "Written by Benchwright",
        "HPL.out      output file name (if any)",
        "6            device out (6=stdout,7=stderr,file)",
        f"{len(sizes)}            # of problems sizes (N)",
        f"{' '.join(map(str, sizes))}         Ns",
        "1            # of NBs",
        f"{values['block']}           NBs",
        "0            PMAP process mapping (0=Row-,1=Column-major)",
        "1            # of process grids (P x Q)",
        f"{rows}            Ps",
        f"{columns}            Qs",
        "16.0         threshold",
        "1            # of panel fact",
        "2            PFACTs (0=left, 1=Crout, 2=Right)",
        "1            # of recursive stopping criterium",
        "4            NBMINs (>= 1)",
        "1            # of panels in recursion",
        "2            NDIVs",
        "1            # of recursive panel fact.",
        "1            RFACTs (0=left, 1=Crout, 2=Right)",
        "1            # of broadcast",
        "1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)",
        "1            # of lookahead depth",
        "1            DEPTHs (>=0)",
        "2            SWAP (0=bin-exch,1=long,2=mix)",
        "64           swapping threshold",
        "0            L1 in (0=transposed,1=no-transposed) form",
        "0            U  in (0=transposed,1=no-transposed) form",
        "1            Equilibration (0=no,1=yes)",
        "8            memory alignment in double (> 0)",
    ]
    if for_hpcc:
        lines += [
            "##### This line (no. 32) is ignored (it serves as a separator). ######",
            "0            Number of additional problem sizes for PTRANS",
            "1200         values of N",
            "0            number of additional blocking sizes for PTRANS",
            "40           values of NB",
        ]
    return "\n".join(lines) + "\n"


def intel_input(values: Values) -> str:
    """Return the data file of Intel's program: leading dimensions are rounded up to whole cache lines."""
    sizes = sizes_of(values)
    leading = [-(-size // 8) * 8 for size in sizes]
    return "\n".join(
        (
            "Written by Benchwright",
            "Intel(R) LINPACK data",
            f"{len(sizes)}            # number of tests",
            f"{' '.join(map(str, sizes))} # problem sizes",
            f"{' '.join(map(str, leading))} # leading dimensions",
            f"{' '.join('2' for _ in sizes)} # times to run a test",
            f"{' '.join('4' for _ in sizes)} # alignment values (in KBytes)",
            "",
        )
    )
