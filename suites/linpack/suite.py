"""linpack: systems of linear equations of rising size, solved by HPL or a vendor's program, residuals checked."""

import math
import re

from suites.base import Command, Context, Effect, EffectKind, StepEvidence, Suite, TestedTool
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.equivalents import CPU_QUESTION, THREADS_MAPPING, Equivalent, MetricMapping
from suites.facts import Absent, Facts, cpus_for, known
from suites.host_files import HostFile
from suites.linpack.output import METRICS, LinpackParser
from suites.memory_sizes import NO_HUGE_PAGES, available_memory, cache_for, memory_outcome
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat
from suites.parameters import (
    Choice,
    Parameter,
    Tuned,
    Value,
    Values,
    count_parameter,
    format_size,
    text_parameter,
)
from suites.programs import Program, same_package_name
from suites.sweep import peak_of
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.vocab import Resource, Severity

# LINPACK's parameters, its input files, and the sizes for a host.


HPCC, XHPL, INTEL = "hpcc", "xhpl", "intel"

ELEMENT = 8
MEMORY_SHARE = 0.8
"""HPL's own advice (its TUNING file): the largest matrix takes 80 % of memory, the rest is for everything else."""

CORE_RATE = 5e9
"""FLOPS of a core with a slow BLAS: assumed where the peak is not known."""

BLAS_SHARE = 0.7
"""Share of the theoretical peak that an optimised library reaches in HPL; TOP500 systems of CPUs reach 60 to 90 %."""

LONGEST = 300.0
"""Seconds of the largest tuned size."""

LADDER = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000)
"""Sizes used in published results; the last tuned one is limited by memory and time."""


def _named(values: Values) -> bool:
    return values["program"] != HPCC


def _blocked(values: Values) -> bool:
    return values["program"] != INTEL


PROGRAM = Parameter(
    name="program",
    title="Program",
    default=HPCC,
    help="LINPACK program: HPL from the package hpcc, your own xhpl, or Intel's. The "
    "figure depends on the BLAS library, which the run reports: a core reached 2 GFLOPS with Debian's reference "
    "BLAS, 20 with OpenBLAS.",
    choices=(
        Choice(HPCC, "hpcc: the installed package"),
        Choice(XHPL, "xhpl: a program on the host"),
        Choice(INTEL, "Intel xlinpack: a program on the host"),
    ),
)

PATH = text_parameter(
    name="path",
    title="Program path",
    help="Absolute path of the program on the host.",
    pattern=r"/.*",
    applies=_named,
    identity=False,
)

SIZES = text_parameter(
    name="sizes",
    title="Sizes",
    default="1000",
    help="Matrix orders, such as “1000, 5000”. Order N takes 8 x N x N bytes.",
    pattern=r"\s*[1-9]\d{1,6}\s*(?:,\s*[1-9]\d{1,6}\s*){0,19}",
)

PROCESSES = count_parameter(
    name="threads",
    title="Processes",
    default=4,
    help="Number of processes, or of threads of Intel's program: one per core.",
    option="mpirun -np, OMP_NUM_THREADS",
    maximum=4096,
)

BLOCK = count_parameter(
    name="block",
    title="NB",
    default=80,
    help="Block size NB of the matrix; optimised libraries want 128 to 256.",
    option="NBs",
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
    """Return the process grid P x Q: as square as possible, P the smaller, as HPL's TUNING file advises."""
    rows = next(rows for rows in range(math.isqrt(processes), 0, -1) if processes % rows == 0)
    return rows, processes // rows


def cores_for(facts: Facts | None) -> int | None:
    """Return the number of processes for the host, one per usable core, or None."""
    cpus = None if facts is None else cpus_for(facts)
    cores = None if facts is None else known(facts.cpu.cores)
    return cpus if cpus is None or cores is None else min(cpus, cores)


def _rate(facts: Facts | None) -> float:
    """Return the FLOPS of all cores: of an optimised library where the peak is known, else of a slow one."""
    cores, peak = cores_for(facts) or 1, peak_of(facts)
    return CORE_RATE * cores if isinstance(peak, Absent) else BLAS_SHARE * 1e9 * peak.gflops(cores)


def _why_largest(largest: int, facts: Facts | None, *, limited: bool) -> str:
    """Return what limits the largest size, and the memory that it covers."""
    available = available_memory(facts)
    share = "" if available is None else f" {matrix_bytes(largest) / available:.0%} of the available memory"
    seconds = 2 / 3 * largest**3 / _rate(facts)
    library = "a slow library" if isinstance(peak_of(facts), Absent) else f"{BLAS_SHARE:.0%} of the theoretical peak"
    if limited:
        return f"covers{share}, about {seconds:.2g} s with {library}"
    covers = f" and covers{share}; 80 % would take longer" if share else ""
    return f"takes about {seconds:.2g} s with {library}{covers}"


def fitting_sizes(facts: Facts | None, block: int) -> tuple[tuple[int, ...], bool]:
    """Return the sizes of a sweep, and whether memory rather than time limits the largest."""
    available = available_memory(facts)
    room = LADDER[-1] if available is None else math.isqrt(int(MEMORY_SHARE * available / ELEMENT))
    # 2/3 N^3 operations (HPL's count, without lower orders) at the rate of all cores.
    patience = round((1.5 * LONGEST * _rate(facts)) ** (1 / 3))
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


# Checks of a LINPACK step.


def _better_sizes(evidence: StepEvidence) -> str:
    sizes, _limited = fitting_sizes(evidence.context.facts, int(evidence.values["block"]))
    return ", ".join(map(str, sizes))


def _no_path(evidence: StepEvidence) -> CheckOutcome | None:
    if evidence.values["program"] == HPCC or evidence.values["path"]:
        return None
    return CheckOutcome(f"program is {evidence.values['program']}, and path is empty.")


def _no_mpi(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    facts = evidence.context.facts
    if evidence.values["program"] == INTEL:
        return None
    if facts is None:
        return FACTS_NOT_READ
    tool = facts.tool("mpirun")
    if known(tool.path) is not None or known(tool.version) is not None:
        return None
    return CheckOutcome(f"mpirun was not found on {evidence.host}.")


def _too_small(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    largest = max(sizes_of(evidence.values))
    changes: dict[str, Value] = {"sizes": _better_sizes(evidence)}
    return memory_outcome(evidence, matrix_bytes(largest), f"The matrix of order {largest} takes", changes)


def _in_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    largest = max(sizes_of(evidence.values))
    taken = matrix_bytes(largest)
    cache = cache_for(evidence, taken)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    better = _better_sizes(evidence)
    sizes, _limited = fitting_sizes(evidence.context.facts, int(evidence.values["block"]))
    return CheckOutcome(
        f"The largest matrix, of order {largest}, takes {taken / 2**20:.3g} MiB; the last-level cache holds "
        f"{format_size(cache)}.",
        changes={"sizes": better} if max(sizes) > largest else {},
    )


LINPACK_NO_PATH = Check(
    id="linpack-no-path",
    severity=Severity.ERROR,
    blocks=True,
    title="Program path missing",
    why="The test cannot start.",
    remedy="Set the absolute path of the program on the host, or use hpcc.",
    source="The step's parameters.",
    needs="The program and its path.",
    evaluate=_no_path,
)

LINPACK_NO_MPI = Check(
    id="linpack-no-mpi",
    severity=Severity.ERROR,
    blocks=True,
    title="mpirun is not installed",
    why="HPL's processes are started with mpirun.",
    remedy="Install it: the package openmpi-bin on Debian.",
    source="command -v on the host.",
    needs="The program; whether the host has mpirun.",
    evaluate=_no_mpi,
)

LINPACK_TOO_LARGE = Check(
    id="memory-too-small",
    of_result=False,
    severity=Severity.ERROR,
    title="Matrix does not fit into memory",
    why="The host would swap and the figure be the disk's, or the kernel would kill the program.",
    remedy="Use smaller sizes: 80 % of memory at most.",
    source="HPL, TUNING: the largest problem should take about 80 % of memory.",
    needs="Memory of the step; the host's available memory and cgroup limit.",
    evaluate=_too_small,
)

LINPACK_SMALL = Check(
    id="linpack-small",
    title="Matrices too small",
    why="LINPACK's rate grows with the matrix size; small ones measure start-up and caches.",
    remedy="Add a size that exceeds the caches.",
    source="HPL, TUNING; published sweeps grow by a third from size 1000 to 10000.",
    needs="Sizes; the host's last-level cache.",
    evaluate=_in_cache,
)

LINPACK_CHECKS = (
    LINPACK_NO_PATH,
    LINPACK_NO_MPI,
    LINPACK_TOO_LARGE,
    LINPACK_SMALL,
    NO_HUGE_PAGES,
    MORE_THREADS_THAN_CPUS,
)


TUNED_BLOCK = 192
"""Optimum of OpenBLAS and similar; HPL's TUNING file names 32 to 256."""

HPC_CHALLENGE = Program(
    "hpcc",
    ("hpcc",),
    {"apt": "hpcc openmpi-bin libopenblas0-pthread", "dnf": "hpcc-openmpi openmpi", "zypper": "hpcc"},
    version=(),  # it has no options: queried for its version, it would start to measure
)

MPI = Program("Open MPI", ("mpirun",), {**same_package_name("openmpi"), "apt": "openmpi-bin", "zypper": "openmpi4"})

# Open MPI refuses root, and more processes than cores, unless overridden; other MPI implementations ignore these
# variables. Each process is one thread: a BLAS that starts threads in every process would oversubscribe the CPUs.
_MPI = (
    "env",
    "OMPI_ALLOW_RUN_AS_ROOT=1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMPI_MCA_rmaps_base_oversubscribe=1",
    "OPENBLAS_NUM_THREADS=1",
    "OMP_NUM_THREADS=1",
    "mpirun",
    "-np",
)

_STATED = (
    StatedLine(
        "program",
        re.compile(r"(HPLinpack 2\.[1-9]|Intel\(R\) Optimized LINPACK)"),
        lambda name: XHPL if name.startswith("HPL") else INTEL,
    ),
    StatedLine("program", re.compile(r"(This is the DARPA/DOE HPC Challenge)"), lambda _name: HPCC),
    StatedLine(
        "sizes",
        re.compile(r"(?:N +:|Number of equations to solve \(problem size\) *:) +(\d[\d ]{0,400})"),
        lambda sizes: ", ".join(sizes.split()),
    ),
    StatedLine("block", re.compile(r"NB +: +(\d{1,6}) *$")),
    StatedLine("threads", re.compile(r"Number of threads: (\d{1,6})")),
)
# HPLinpack 2.0 is a section of hpcc’s output.
_FIRST = re.compile(
    r"HPLinpack 2\.[1-9]|Intel\(R\) Optimized LINPACK Benchmark data|This is the DARPA/DOE HPC Challenge"
)
_LINE = re.compile(
    r"W[RC]\w{2,12}( +\d+){4} +[\d.]+ +\S+$|\|\|Ax-b\|\||Residual checks|\d+ +\d+ +\d+( +[\d.]+){2} .*(?:pass|fail)$"
    r"|Number of threads: \d+$"
)


class Linpack(Suite):
    """LINPACK. Fixed work, timed, reported as a rate: higher is better."""

    id = "linpack"
    title = "LINPACK"
    summary = "Solves dense systems of equations of rising size: the floating-point rate of the TOP500 benchmark."
    resource = Resource.CPU
    tried = TestedTool(
        "hpcc 1.5.0 (HPL 2.0) with OpenBLAS and the reference BLAS run for real; HPL 2.3 and Intel’s program "
        "documented",
        note="a failed residual means no figure",
    )
    program = HPC_CHALLENGE
    other_programs = (MPI,)
    parameters = PARAMETERS
    syntax = CommandSyntax(
        ("mpirun",),
        extra=dict.fromkeys(("-np", "-n", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "threads"),
        paths=("path",),
        invisible=frozenset({"block"}),
    )
    metrics = METRICS
    parser_type = LinpackParser
    checks = LINPACK_CHECKS
    equivalents = (
        Equivalent(
            "compute",
            CPU_QUESTION,
            (THREADS_MAPPING,),
            (MetricMapping(("linpack",), ("floating_point_rate",)),),
            fixed=(("sweep", "single"), ("operation", "float")),
            incomparable="Both count floating-point operations, but compute loops in registers (an upper bound) while "
            "solving equations also uses memory: LINPACK below compute is not a disagreement.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of LINPACK programs's output."""
        return (OutputFormat(title="LINPACK", first=_FIRST, line=_LINE, read=by_parser(self, _STATED)),)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return hpcc, unless the user set a program."""
        return (self.program,) if values["program"] == HPCC else ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return one process per core, and sizes up to the limits of memory and time."""
        sizes, limited = fitting_sizes(context.facts, TUNED_BLOCK)
        why = _why_largest(sizes[-1], context.facts, limited=limited)
        tuned = {
            "block": Tuned(
                TUNED_BLOCK, f"Optimised libraries want large blocks; hpcc's example has {PARAMETERS[-1].default}."
            ),
            "sizes": Tuned(", ".join(map(str, sizes)), f"The rate grows with the size; {sizes[-1]} {why}."),
        }
        cores = cores_for(context.facts)
        if cores is not None:
            tuned["threads"] = Tuned(cores, f"One process per core ({cores}).")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the commands of a trial. The input file is printed first, so that the output contains the settings."""
        processes = str(values["threads"])
        if values["program"] == INTEL:
            data = HostFile("lininput", text=intel_input(values))
            program = ("env", f"OMP_NUM_THREADS={processes}", f"MKL_NUM_THREADS={processes}", str(values["path"]))
            return (Command(("cat", data.name), files=(data,)), Command((*program, data.name)))
        if values["program"] == HPCC:
            return _hpcc(values, processes)
        data = HostFile("HPL.dat", text=hpl_input(values, for_hpcc=False))
        return (Command(("cat", data.name), files=(data,)), Command((*_MPI, processes, str(values["path"]))))

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the program set by the user."""
        named = values["program"] != HPCC and values["path"]
        return (Effect(EffectKind.EXECUTES, str(values["path"]), PATH.title),) if named else ()


def _hpcc(values: Values, processes: str) -> tuple[Command, ...]:
    """Return hpcc's commands. It appends to its report, so an old one is removed first."""
    data = HostFile("hpccinf.txt", text=hpl_input(values, for_hpcc=True))
    return (
        Command(("cat", data.name), files=(data,)),
        Command(("sh", "-c", 'ldd "$(command -v hpcc)" || :')),
        Command(("rm", "-f", "hpccoutf.txt")),
        Command((*_MPI, processes, "hpcc")),
        Command(("cat", "hpccoutf.txt")),
    )
