"""linpack: systems of linear equations of rising size, solved by HPL or by a vendor's program, residuals checked."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, EffectKind, Estimate, TrialParser
from suites.checks import StepCheck
from suites.host_files import HostFile
from suites.linpack.checks import LINPACK_CHECKS
from suites.linpack.output import METRICS, LinpackParser
from suites.linpack.parameters import (
    HPCC,
    INTEL,
    PARAMETERS,
    PATH,
    cores_for,
    fitting_sizes,
    hpl_input,
    intel_input,
)
from suites.parameters import Parameter, Tuned, Values
from suites.vocab import Metric, Resource

TUNED_BLOCK = 192
"""What OpenBLAS and its like want; HPL's TUNING file names 32 to 256."""

PACKAGES = {"apt": "hpcc openmpi-bin libopenblas0-pthread", "dnf": "hpcc-openmpi openmpi", "zypper": "hpcc"}

# Open MPI refuses root, and more processes than cores, unless told; other kinds of MPI do not read these words.
# Each process is one thread: a BLAS that starts threads of its own in every process would crowd the CPUs.
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


class Linpack:
    """LINPACK. Fixed work, timed, given as a rate: higher is better."""

    id = "linpack"
    title = "LINPACK"
    summary = "Solves dense systems of equations of rising size: the floating-point rate a processor is ranked by."
    resource = Resource.CPU
    tool = "hpcc"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = LINPACK_CHECKS

    def needs_tool(self, values: Values) -> bool:
        """Return whether hpcc runs, and no program that the user named."""
        return values["program"] == HPCC

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a process for each core, and sizes up to what memory and patience allow."""
        sizes, limited = fitting_sizes(context.facts, TUNED_BLOCK)
        why = "80 % of the available memory" if limited else "a minute with a slow library"
        tuned = {
            "block": Tuned(
                TUNED_BLOCK, f"Optimised libraries want large blocks; hpcc's example has {PARAMETERS[-1].default}."
            ),
            "sizes": Tuned(", ".join(map(str, sizes)), f"The rate grows with the size; {sizes[-1]} takes {why}."),
        }
        cores = cores_for(context.facts)
        if cores is not None:
            tuned["threads"] = Tuned(cores, f"One process for each of {cores} cores.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the commands of a trial. The input file is shown first, so that the output tells what was asked."""
        del context  # the same on every host
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
        """Return the program that the user named."""
        named = values["program"] != HPCC and values["path"]
        return (Effect(EffectKind.EXECUTES, str(values["path"]), PATH.title),) if named else ()

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return no time: the work is fixed, and how long it takes is what is measured."""
        del values, context
        return Estimate(duration=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return LinpackParser()


def _hpcc(values: Values, processes: str) -> tuple[Command, ...]:
    """Return hpcc's commands. It appends to its report, so that an old one is removed first."""
    data = HostFile("hpccinf.txt", text=hpl_input(values, for_hpcc=True))
    return (
        Command(("cat", data.name), files=(data,)),
        Command(("sh", "-c", 'ldd "$(command -v hpcc)" || :')),
        Command(("rm", "-f", "hpccoutf.txt")),
        Command((*_MPI, processes, "hpcc")),
        Command(("cat", "hpccoutf.txt")),
    )
