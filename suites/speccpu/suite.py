"""speccpu: SPEC CPU2017 or CPU2006, run where the user has installed it, under its licence."""

import shlex
from collections.abc import Mapping

from suites.base import Command, Context, Effect, EffectKind, Estimate, TrialParser
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.facts import known
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values
from suites.probe.checks import memory_outcome
from suites.speccpu.output import METRICS, SpecCpuParser
from suites.sysbench.memory_size import available_memory
from suites.thread_checks import CPU_QUOTA, FACTS_NOT_READ, MORE_THREADS_THAN_CPUS, cpus_for
from suites.vocab import Level, Metric, Resource

CPU2017, CPU2006 = "2017", "2006"
INTEGER, FLOATING = "int", "fp"

COPY_MEMORY = 2 * 2**30
"""Bytes that SPEC wants for each copy of a rate run (system requirements of both generations, 64 bits)."""

SPEED_MEMORY = 16 * 2**30
"""The same for a speed run of CPU2017."""

MCF = "429.mcf"
WITHOUT_MCF = (
    "400.perlbench", "401.bzip2", "403.gcc", "445.gobmk", "456.hmmer", "458.sjeng", "462.libquantum", "464.h264ref",
    "471.omnetpp", "473.astar", "483.xalancbmk",
)  # fmt: skip
"""The integer benchmarks of CPU2006 but the one that takes most memory."""

FOLDER = Parameter(
    name="folder",
    title="Folder",
    type=Type.TEXT,
    default="",
    help="The folder on the host that has SPEC CPU's shrc. Not tried for real: written after its documentation.",
    pattern=r"/.*",
    identity=False,
)

GENERATION = Parameter(
    name="generation",
    title="Generation",
    type=Type.CHOICE,
    default=CPU2017,
    help="Results of different generations do not compare.",
    choices=(Choice(CPU2017, "CPU2017"), Choice(CPU2006, "CPU2006")),
)

CONFIG = Parameter(
    name="config",
    title="Config file",
    type=Type.TEXT,
    default="",
    help="The name of your config file in the folder's config directory: compiler and flags are in it.",
    option="--config",
    pattern=r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,100}",
)

SUITE = Parameter(
    name="suite",
    title="Suite",
    type=Type.CHOICE,
    default=INTEGER,
    help="Integer or floating-point benchmarks.",
    choices=(Choice(INTEGER, "Integer"), Choice(FLOATING, "Floating point")),
)

MODE = Parameter(
    name="mode",
    title="Mode",
    type=Type.CHOICE,
    default="rate",
    help="Several copies at once, which is throughput, or one at a time, which is speed.",
    choices=(Choice("rate", "Rate: several copies"), Choice("speed", "Speed: one at a time")),
)

COPIES = Parameter(
    name="threads",
    title="Copies",
    type=Type.INTEGER,
    default=1,
    help="How many copies run at once. Each wants 2 GiB of memory.",
    option="--copies, --rate",
    minimum=1,
    maximum=4096,
    applies=lambda values: values["mode"] == "rate",
)

ITERATIONS = Parameter(
    name="iterations",
    title="Iterations",
    type=Type.INTEGER,
    default=3,
    help="How often each benchmark runs. Three take days on small hosts; trials repeat the whole.",
    option="--iterations",
    minimum=1,
    maximum=10,
)

LEAVE_OUT_MCF = Parameter(
    name="without_mcf",
    title="Without 429.mcf",
    type=Type.FLAG,
    default=False,
    help="Leave out the integer benchmark of CPU2006 that takes 2 GB a copy. There is then no composite of SPEC's.",
    applies=lambda values: values["generation"] == CPU2006 and values["suite"] == INTEGER,
)

# Results lie in the user's folder; those that are newer than our mark are this trial's.
_RUN = 'cd -- "$1" && . ./shrc && shift && exec "$@"'
_MARK = "started"


def memory_needed(values: Values) -> int:
    """Return the bytes of memory that SPEC wants for a run with these values."""
    if values["mode"] == "speed":
        return SPEED_MEMORY if values["generation"] == CPU2017 else COPY_MEMORY
    return COPY_MEMORY * int(values["threads"])


def leaves_out_mcf(values: Values) -> bool:
    """Whether 429.mcf is left out."""
    return bool(values["without_mcf"]) and LEAVE_OUT_MCF.applies(values)


def _nowhere(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values, facts = evidence.values, evidence.context.facts
    if values["folder"] and values["config"]:
        return None
    if values["folder"]:
        return Outcome("No config file is named.", remedy="Name one of those in the folder's config directory.")
    if facts is None:
        return FACTS_NOT_READ
    found = known(facts.tool("speccpu").path)
    return Outcome("No folder is given.", changes={"folder": found} if found else {})


def _too_small(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values = evidence.values
    if leaves_out_mcf(values):
        return None
    changes: dict[str, Value] = {}
    available = None if evidence.context.facts is None else available_memory(evidence.context.facts)
    if LEAVE_OUT_MCF.applies(values):
        changes = {"without_mcf": True}
    elif values["mode"] == "rate" and available is not None and available >= COPY_MEMORY:
        changes = {"threads": available // COPY_MEMORY}
    return memory_outcome(evidence, memory_needed(values), "SPEC wants", changes)


def _left_out(evidence: StepEvidence) -> Outcome | None:
    return Outcome(f"{MCF} is left out.") if leaves_out_mcf(evidence.values) else None


SPECCPU_NOWHERE = Check(
    id="speccpu-nowhere",
    level=Level.ERROR,
    title="There is no SPEC CPU to run",
    why="It may not be passed on: you install it on the host, under its licence, and build it with your config file.",
    remedy="Name the folder that has its shrc.",
    source="SPEC's licence.",
    needs="Where SPEC CPU is, from the step or the host.",
    evaluate=_nowhere,
)

SPECCPU_MEMORY = Check(
    id="memory-too-small",
    level=Level.ERROR,
    title="There is too little memory for so many copies",
    why="Copies that swap measure the disk; the kernel may end one, and its benchmark has no result then.",
    remedy="Run fewer copies; of CPU2006's integer benchmarks, 429.mcf alone needs so much.",
    source="SPEC CPU, system requirements: 2 GB for each copy, 16 GB for speed runs of CPU2017.",
    needs="What the step takes; the host's available memory and its cgroup's limit.",
    evaluate=_too_small,
)

SPECCPU_WITHOUT_MCF = Check(
    id="speccpu-without-mcf",
    level=Level.INFO,
    title="One benchmark is left out",
    why="There is no composite of SPEC's without it; the mean shown compares with runs that leave it out too.",
    remedy="Add memory, or run fewer copies, to have the whole.",
    source="AWS re:Invent 2013 ENT305: 2 GB a copy, else leave out 429.mcf.",
    needs="The benchmarks and the copies; the host's memory.",
    evaluate=_left_out,
)


class SpecCpu:
    """SPEC CPU. Fixed work, timed, given as ratios to a reference machine: higher is better."""

    id = "speccpu"
    title = "SPEC CPU"
    summary = "Real programs, the field's own yardstick, where you have it under licence. Hours. Not tried here."
    resource = Resource.CPU
    tool = "speccpu"
    packages: Mapping[str, str] = {}
    parameters: tuple[Parameter, ...] = (
        FOLDER, GENERATION, CONFIG, SUITE, MODE, COPIES, ITERATIONS, LEAVE_OUT_MCF,
    )  # fmt: skip
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (
        SPECCPU_NOWHERE,
        SPECCPU_MEMORY,
        SPECCPU_WITHOUT_MCF,
        MORE_THREADS_THAN_CPUS,
        CPU_QUOTA,
    )

    def needs_tool(self, values: Values) -> bool:
        """Return False: the user says where it is."""
        del values
        return False

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the folder that was found, a copy for each CPU that has memory for it, and one iteration."""
        facts = context.facts
        tuned = {"iterations": Tuned(1, "One iteration takes an hour or two; trials repeat it.")}
        found = None if facts is None else known(facts.tool("speccpu").path)
        if found is not None:
            tuned["folder"] = Tuned(found, "It was found there.")
            if found.rstrip("/").endswith(CPU2006):
                tuned["generation"] = Tuned(CPU2006, "The folder's name says so.")
        cpus = None if facts is None else cpus_for(facts)
        available = None if facts is None else available_memory(facts)
        if cpus is not None and available is not None:
            copies = max(1, min(cpus, available // COPY_MEMORY))
            tuned["threads"] = Tuned(copies, f"{cpus} CPUs, and 2 GiB of memory for each copy.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run between a mark and the search for results that are newer than it."""
        del context
        folder = str(values["folder"])
        return (
            Command(("touch", _MARK)),
            Command(("sh", "-c", _RUN, "speccpu", folder, *_words(values))),
            Command(
                ("find", f"{folder.rstrip('/')}/result", "-name", "*.csv", "-newer", _MARK, "-exec", "cat", "{}", "+")
            ),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the file that the shell reads in the folder, and the program found through it."""
        if not values["folder"]:
            return ()
        line = f"cd {shlex.quote(str(values['folder']))} && . ./shrc && {shlex.join(_words(values))}"
        return (Effect(EffectKind.EXECUTES, line, FOLDER.title),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return no time: the work is fixed, and how long it takes is what is measured."""
        del values, context
        return Estimate(duration=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return SpecCpuParser()


def _words(values: Values) -> list[str]:
    """Return the command line of runcpu, or of runspec as it was called in CPU2006."""
    rate, suite = values["mode"] == "rate", str(values["suite"])
    common = [f"--config={values['config']}", "--noreportable", f"--iterations={values['iterations']}"]
    common += ["--tune=base", "--size=ref", "--output_format=csv"]
    if values["generation"] == CPU2006:
        words = ["runspec", *common, *(["--rate", str(values["threads"])] if rate else [])]
        return words + (list(WITHOUT_MCF) if leaves_out_mcf(values) else [suite])
    words = ["runcpu", *common, *([f"--copies={values['threads']}"] if rate else [])]
    return [*words, f"{suite}{'rate' if rate else 'speed'}"]
