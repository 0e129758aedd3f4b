"""What is known to fool people about LINPACK."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.facts import known
from suites.linpack.parameters import HPCC, INTEL, fitting_sizes, matrix_bytes, sizes_of
from suites.parameters import Value, format_size
from suites.probe.checks import memory_outcome
from suites.stream.parameters import CACHE_FACTOR
from suites.thread_checks import CPU_QUOTA, FACTS_NOT_READ, MORE_THREADS_THAN_CPUS
from suites.vocab import Level


def _better_sizes(evidence: StepEvidence) -> str:
    sizes, _limited = fitting_sizes(evidence.context.facts, int(evidence.values["block"]))
    return ", ".join(map(str, sizes))


def _no_path(evidence: StepEvidence) -> Outcome | None:
    if evidence.values["program"] == HPCC or evidence.values["path"]:
        return None
    return Outcome(f"program is {evidence.values['program']}, and path is empty.")


def _no_mpi(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts = evidence.context.facts
    if evidence.values["program"] == INTEL:
        return None
    if facts is None:
        return FACTS_NOT_READ
    tool = facts.tool("mpirun")
    if known(tool.path) is not None or known(tool.version) is not None:
        return None
    return Outcome(f"mpirun was not found on {evidence.host}.")


def _too_small(evidence: StepEvidence) -> Outcome | CannotTell | None:
    largest = max(sizes_of(evidence.values))
    changes: dict[str, Value] = {"sizes": _better_sizes(evidence)}
    return memory_outcome(evidence, matrix_bytes(largest), f"The matrix of order {largest} takes", changes)


def _in_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    cache = facts.last_level_cache()
    if cache is None:
        return CannotTell("The size of the last-level cache is not known.")
    largest = max(sizes_of(evidence.values))
    taken = matrix_bytes(largest)
    if taken >= CACHE_FACTOR * cache:
        return None
    better = _better_sizes(evidence)
    sizes, _limited = fitting_sizes(facts, int(evidence.values["block"]))
    return Outcome(
        f"The largest matrix, of order {largest}, takes {taken / 2**20:.3g} MiB; the last-level cache holds "
        f"{format_size(cache)}.",
        changes={"sizes": better} if max(sizes) > largest else {},
    )


def _library(evidence: StepEvidence) -> Outcome | None:
    if evidence.values["program"] != HPCC:
        return None
    return Outcome("hpcc does its arithmetic in the BLAS library that the host is set to; the run tells which one.")


LINPACK_NO_PATH = Check(
    id="linpack-no-path",
    level=Level.ERROR,
    title="The program has no path",
    why="Nothing can be run.",
    remedy="Give the absolute path of the program on the host, or use hpcc.",
    source="The step's parameters.",
    needs="The program and its path.",
    evaluate=_no_path,
)

LINPACK_NO_MPI = Check(
    id="linpack-no-mpi",
    level=Level.ERROR,
    title="mpirun is not installed",
    why="HPL's processes are started by it.",
    remedy="Install it: the package openmpi-bin on Debian.",
    source="command -v on the host.",
    needs="The program; whether the host has mpirun.",
    evaluate=_no_mpi,
)

LINPACK_TOO_LARGE = Check(
    id="memory-too-small",
    level=Level.ERROR,
    title="The matrix does not fit into memory",
    why="The host would swap, and the figure would be the disk's; or the kernel would end the program.",
    remedy="Use smaller sizes: 80 % of memory at most.",
    source="HPL, TUNING: the largest problem should take about 80 % of memory.",
    needs="What the step takes; the host's available memory and its cgroup's limit.",
    evaluate=_too_small,
)

LINPACK_SMALL = Check(
    id="linpack-small",
    level=Level.WARNING,
    title="The matrices are small",
    why="LINPACK's rate grows with the size of the matrix; small ones measure starting up and the caches.",
    remedy="Add a size that outgrows the caches.",
    source="HPL, TUNING; published sweeps grow by a third from size 1000 to 10000.",
    needs="The sizes; the host's last-level cache.",
    evaluate=_in_cache,
)

LINPACK_LIBRARY = Check(
    id="linpack-library",
    level=Level.INFO,
    title="The figure is that of a library on this processor",
    why="With Debian's reference BLAS a core made 2 GFLOPS that made 20 with OpenBLAS.",
    remedy="Install an optimised BLAS, such as libopenblas0, and compare runs of the same one only.",
    source="HPL, TUNING; measured with hpcc 1.5.0.",
    needs="The program.",
    evaluate=_library,
)

LINPACK_CHECKS = (
    LINPACK_NO_PATH,
    LINPACK_NO_MPI,
    LINPACK_TOO_LARGE,
    LINPACK_SMALL,
    LINPACK_LIBRARY,
    MORE_THREADS_THAN_CPUS,
    CPU_QUOTA,
)
