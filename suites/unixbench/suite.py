"""unixbench: the BYTE UNIX benchmarks, from where the user has them or out of an archive."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, EffectKind, Estimate, Purpose, TrialParser
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.facts import Facts, known
from suites.host_files import HostFile
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.programs import COMPILER, MAKE, PERL, Program
from suites.thread_checks import FACTS_NOT_READ
from suites.unixbench.output import METRICS, UNPATCHED, UnixBenchParser
from suites.vocab import Level, Metric, Resource

WHOLE, PROCESSOR, DHRYSTONE = "index", "processor", "dhrystone"
SINGLE, ALL, BOTH = "single", "all", "both"

_TESTS: Mapping[str, tuple[str, ...]] = {
    WHOLE: ("index",),
    PROCESSOR: ("dhry2reg", "whetstone-double"),
    DHRYSTONE: ("dhry2reg",),
}

LONG_SECONDS = 73.0
SHORT_SECONDS = 336.0
"""What one iteration of the index's long tests takes, and one of its short ones. Measured: 409 s with one iteration;
29 minutes with the ten and three that Run makes by itself."""

PACKAGES = {
    manager: " ".join(program.packages[manager] for program in (PERL, MAKE, COMPILER))
    for manager in ("apt", "dnf", "zypper", "pacman")
}
"""What UnixBench itself needs; no distribution packages it."""

ARCHIVE = "unixbench-archive"
FOLDER = "unixbench"

# Its results and scratch files go into the step's own directory, not among the user's.
_RUN = 'here=$PWD && cd -- "$1" && shift && UB_RESULTDIR=$here UB_TMPDIR=$here exec ./Run "$@"'
_FIND = (
    'for run in UnixBench/Run */UnixBench/Run */Run Run; do if [ -f "$run" ]; then '
    'ln -s "$(dirname "$run")" unixbench && exit; fi; done; echo "no UnixBench in this archive" >&2; exit 1'
)

FOLDER_PARAMETER = Parameter(
    name="folder",
    title="Folder",
    type=Type.TEXT,
    default="",
    help="Where UnixBench is on the host: the folder that has its Run.",
    pattern=r"/.*",
    identity=False,
)

ARCHIVE_PARAMETER = Parameter(
    name="archive",
    title="Archive",
    type=Type.TEXT,
    default="",
    help="Or an archive of it on this computer (a .tar.gz), which is copied to the host, unpacked and built there.",
    pattern=r"/.*",
    applies=lambda values: not values["folder"],
    identity=False,
)

WORKLOAD = Parameter(
    name="workload",
    title="Tests",
    type=Type.CHOICE,
    default=WHOLE,
    help="The whole index mixes the processor with files, pipes, processes and scripts; Dhrystone is the processor.",
    choices=(
        Choice(WHOLE, "The whole index: 12 tests"),
        Choice(PROCESSOR, "Dhrystone and Whetstone"),
        Choice(DHRYSTONE, "Dhrystone only"),
    ),
)

PARTS = Parameter(
    name="parts",
    title="Parts",
    type=Type.FLAG,
    default=True,
    help="Show each test beside the index; without them, the index only.",
    identity=False,
)

COPIES = Parameter(
    name="copies",
    title="Copies",
    type=Type.CHOICE,
    default=BOTH,
    help="How many copies of each test run at once.",
    option="-c",
    choices=(Choice(BOTH, "One, then one for each CPU"), Choice(SINGLE, "One"), Choice(ALL, "One for each CPU")),
)

ITERATIONS = Parameter(
    name="iterations",
    title="Iterations",
    type=Type.INTEGER,
    default=10,
    help="How often the long tests run; the short ones run a third as often.",
    option="-i",
    minimum=1,
    maximum=100,
)


def _cpus(context: Context) -> int | None:
    return None if context.facts is None else known(context.facts.cpu.usable)


def _nowhere(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values, facts = evidence.values, evidence.context.facts
    if values["folder"] or values["archive"]:
        return None
    if facts is None:
        return FACTS_NOT_READ
    found = known(facts.tool("unixbench").path)
    return Outcome("Neither folder nor archive is given.", changes={"folder": found} if found else {})


def _too_many(evidence: StepEvidence) -> Outcome | CannotTell | None:
    cpus = _cpus(evidence.context)
    if evidence.values["copies"] == SINGLE:
        return None
    if cpus is None:
        return CannotTell("The number of usable CPUs is not known.")
    return Outcome(f"{cpus} copies for {cpus} CPUs.") if cpus > UNPATCHED else None


def _mixed(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if values["workload"] != WHOLE or values["copies"] == SINGLE:
        return None
    return Outcome("The whole index with a copy for each CPU.", changes={"workload": DHRYSTONE})


UNIXBENCH_NOWHERE = Check(
    id="unixbench-nowhere",
    level=Level.ERROR,
    title="There is no UnixBench to run",
    why="No distribution packages it.",
    remedy="Name the folder it lies in on the host, or an archive of it on this computer.",
    source="The step's parameters.",
    needs="Where UnixBench is, from the step or the host.",
    evaluate=_nowhere,
)

UNIXBENCH_SIXTEEN = Check(
    id="unixbench-sixteen",
    level=Level.WARNING,
    title="UnixBench 5 stops at 16 copies",
    why="Unpatched, it runs nothing with more, and ends as if all were well; results published without the patch are "
    "made up.",
    remedy="Use version 6, or raise maxCopies in its Run; the run says which of the two it was.",
    source="UnixBench 5.1.3, Run: maxCopies; AWS re:Invent 2013 ENT305.",
    needs="The copies; the host's CPUs.",
    evaluate=_too_many,
)

UNIXBENCH_MIXED = Check(
    id="unixbench-mixed",
    level=Level.INFO,
    title="The whole index says little of many CPUs",
    why="Copies that copy files and call the kernel wait for each other: the index grew 3 to 6 times where Dhrystone "
    "alone grew 15.5 times.",
    remedy="Read the parts, or run Dhrystone only where the processor is the question.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2.",
    needs="The tests chosen.",
    evaluate=_mixed,
)


class UnixBench:
    """The BYTE UNIX benchmarks. Fixed time, work counted, as multiples of a SPARCstation 20-61 (which has 10)."""

    id = "unixbench"
    title = "UnixBench"
    summary = "Twelve small tests of processor, files, pipes, processes and scripts, and an index of them."
    resource = Resource.CPU
    tool = "unixbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (FOLDER_PARAMETER, ARCHIVE_PARAMETER, WORKLOAD, PARTS, COPIES, ITERATIONS)
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (UNIXBENCH_NOWHERE, UNIXBENCH_SIXTEEN, UNIXBENCH_MIXED)

    def needs_tool(self, values: Values) -> bool:
        """Return False: the user says where it is."""
        del values
        return False

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return what its Run needs, and the compiler that an archive is built with."""
        del facts
        return (PERL, MAKE) if values["folder"] else (PERL, MAKE, COMPILER)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the folder, where one was found."""
        found = None if context.facts is None else known(context.facts.tool("unixbench").path)
        return {} if found is None else {"folder": Tuned(found, "It was found there.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run, and before it the unpacking and building of an archive."""
        folder, archive = str(values["folder"]), str(values["archive"])
        words = ["-i", str(values["iterations"]), *_copies(values, context), *_TESTS[str(values["workload"])]]
        run = Command(("sh", "-c", _RUN, "unixbench", folder or FOLDER, *words))
        if folder or not archive:
            return (run,)
        file = HostFile(ARCHIVE, local=archive)
        unpack = Command(("tar", "-xf", ARCHIVE), Purpose.PREPARE, files=(file,))
        find = Command(("sh", "-c", _FIND), Purpose.PREPARE)
        return (unpack, find, Command(("make", "-C", FOLDER, "all"), Purpose.PREPARE), run)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the program in the folder, or the build and the program of the archive."""
        folder, archive = str(values["folder"]), str(values["archive"])
        if folder:
            return (Effect(EffectKind.EXECUTES, f"{folder.rstrip('/')}/Run", FOLDER_PARAMETER.title),)
        line = f"tar -xf {ARCHIVE} && make -C {FOLDER} all && {FOLDER}/Run"
        return (Effect(EffectKind.EXECUTES, line, "what the archive contains"),) if archive else ()

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all passes, as measured once: the tests' own lengths hardly depend on the host."""
        iterations, cpus = int(values["iterations"]), _cpus(context)
        passes = 2 if values["copies"] == BOTH and cpus != 1 else 1
        if values["workload"] == WHOLE:
            seconds = iterations * LONG_SECONDS + max(1, (iterations + 1) // 3) * SHORT_SECONDS
        else:
            seconds = iterations * (13.0 if values["workload"] == DHRYSTONE else 32.0)
        return Estimate(duration=passes * seconds)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; `values` say whether the parts are shown."""
        return UnixBenchParser(parts=bool(values["parts"]))


def _copies(values: Values, context: Context) -> list[str]:
    """Return the passes. Where the CPUs are not known, Run makes both by itself."""
    cpus = _cpus(context)
    if values["copies"] == SINGLE or (cpus == 1 and values["copies"] == BOTH):
        return ["-c", "1"]
    if cpus is None:
        return []
    return ["-c", str(cpus)] if values["copies"] == ALL else ["-c", "1", "-c", str(cpus)]
