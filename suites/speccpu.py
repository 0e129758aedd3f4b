"""speccpu: SPEC CPU2017 or CPU2006, run where the user has installed it, under its licence."""

import csv
import math
import re
import shlex
import statistics
from dataclasses import dataclass

from suites.base import Command, Context, Effect, EffectKind, StepEvidence, Suite, TestedTool
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.facts import Facts, cpus_for, known
from suites.line_parser import LineParser
from suites.memory_sizes import available_memory, memory_outcome
from suites.outputs import ParsedTrial
from suites.parameters import (
    Choice,
    Parameter,
    Tuned,
    Value,
    Values,
    count_parameter,
    flag_parameter,
    folder_parameter,
    text_parameter,
)
from suites.programs import Program
from suites.quantities import count_text
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.tool_messages import exit_notes, printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Severity, labels

# Parser of the CSV results of SPEC CPU2017 and CPU2006: base ratio and time of each benchmark, and the composite.


COMPOSITE = Metric("composite", "Composite", Unit.ONE, Better.HIGHER, MetricKind.RATE)
RATIO = Metric("base_ratio", "Base ratio by benchmark", Unit.ONE, Better.HIGHER, MetricKind.RATE)
RUN_TIME = Metric("base_run_time", "Base run time", Unit.SECOND, Better.LOWER, MetricKind.TIME)

METRICS = (COMPOSITE, RATIO, RUN_TIME)

UNOFFICIAL = "Own estimates. SPEC's rules permit publishing only reportable runs under SPEC's names."

MAXIMUM_ROWS = 1000

_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_BENCHMARK = re.compile(r"\d{3}\.[A-Za-z0-9_]{1,30}")
_COMPOSITE = re.compile(r"(?:Est\. )?(SPEC[A-Za-z0-9_()]{3,40}(?:base|peak)\w{0,6})")
_VERSION = re.compile(r"SPEC CPU(20\d\d) (?:Integer|Floating Point) .*")
_FAILURE = re.compile(
    r".*: (?:(?:command )?not found|Permission denied|No such file or directory)|Killed"
    r"|.*can't cd to .*|.*: cannot open .*|(?:\*\*\* )?(?:ERROR|Error)\b.{0,300}"
)
_WITHOUT_RESULT = frozenset({"NR", "CE", "RE", "VE"})


@dataclass(frozen=True, slots=True)
class _Row:
    """One benchmark: its base ratio and run time in seconds, and whether it succeeded."""

    name: str
    ratio: float | None
    seconds: float | None
    status: str


class SpecCpuParser(LineParser):
    """Parser of one trial. Results are written at the end: no samples."""

    unfinished = (_FAILURE,)

    def __init__(self) -> None:
        super().__init__()
        self._table = ""
        self._columns: list[str] = []
        self._rows: dict[str, list[_Row]] = {}
        self._composites: dict[str, float] = {}
        self._begun = self._ended = False
        self._version: str | None = None

    def _result(self, exit_status: int | None) -> ParsedTrial:
        rows = self._results()
        figures = self._figures(rows)
        troubles = self._troubles(rows, exit_status)
        notes = (UNOFFICIAL, *self._own_mean(rows)) if figures else ()
        version = None if self._version is None else f"SPEC CPU{self._version}"
        return ParsedTrial(tuple(figures), (), (*troubles, *notes), not troubles, version)

    def _read(self, line: str) -> None:
        if _FAILURE.fullmatch(line.strip()):
            self._fail(line)
            return
        cells = _cells(line)
        if cells:
            self._read_cells(cells)

    def _read_cells(self, cells: list[str]) -> None:
        first = cells[0]
        if first == "valid":
            self._begun = True
        elif first == "Run number:":  # content after the results
            self._ended = True
        elif match := _VERSION.fullmatch(first):
            self._version = match[1]
        elif first.endswith("Results Table"):
            self._table = first
        elif first == "Benchmark":
            self._columns = cells
        elif _BENCHMARK.fullmatch(first):
            self._take(cells)
        elif match := _COMPOSITE.fullmatch(first):
            value = next((number for cell in cells[1:] if (number := _number(cell)) is not None), None)
            if value:
                self._composites[match[1]] = value

    def _take(self, cells: list[str]) -> None:
        rows = self._rows.setdefault(self._table, [])
        if len(rows) < MAXIMUM_ROWS:
            ratio = self._cell(cells, "Base Rate") or self._cell(cells, "Base Ratio")
            status = self._cell(cells, "Base Status")
            rows.append(_Row(cells[0], _number(ratio), _number(self._cell(cells, "Base Run Time")), status))

    def _cell(self, cells: list[str], column: str) -> str:
        """Return the cell under `column`, whose name is prefixed with “Est.” in runs that are not reportable."""
        for name, cell in zip(self._columns, cells, strict=False):
            if name.removeprefix("Est. ") == column:
                return cell
        return ""

    def _results(self) -> list[_Row]:
        """Return one row per benchmark: the selected ones, else the median of all iterations."""
        selected = self._rows.get("Selected Results Table")
        if selected is not None:
            return list({row.name: row for row in selected}.values())
        by_name: dict[str, list[_Row]] = {}
        for row in self._rows.get("Full Results Table", []):
            by_name.setdefault(row.name, []).append(row)
        return [_median(rows) for rows in by_name.values()]

    def _figures(self, rows: list[_Row]) -> list[Figure]:
        good = [row for row in rows if row.ratio and row.status not in _WITHOUT_RESULT]
        figures = [Figure(COMPOSITE, value, labels(name=name)) for name, value in self._composites.items()]
        if not figures and good:
            mean = math.exp(statistics.fmean(math.log(row.ratio or 1.0) for row in good))
            figures = [Figure(COMPOSITE, mean, labels(name=f"geometric mean of {len(good)}"))]
        figures += [Figure(RATIO, row.ratio or 0.0, labels(benchmark=row.name)) for row in good]
        return figures + [Figure(RUN_TIME, row.seconds, labels(benchmark=row.name)) for row in good if row.seconds]

    def _own_mean(self, rows: list[_Row]) -> list[str]:
        if self._composites or not rows:
            return []
        return ["Not a SPEC composite: the mean of these benchmarks, comparable only with the mean of the same ones."]

    def _troubles(self, rows: list[_Row], exit_status: int | None) -> list[str]:
        troubles = [f"SPEC CPU failed: {words}." for words in self._failures]
        troubles += [
            f"{row.name} has no result ({printable_message(row.status) or 'no status'})."
            for row in rows
            if row.status in _WITHOUT_RESULT or not row.ratio
        ]
        if not rows and not troubles:
            troubles.append("SPEC CPU left no result, or was cut off before it wrote one.")
        elif rows and not (self._begun and self._ended):
            troubles.append("The beginning or the end of the result is missing.")
        troubles += exit_notes("SPEC CPU", exit_status)
        return troubles


def _cells(line: str) -> list[str]:
    """Return the cells of a CSV line; none if it is invalid."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _median(rows: list[_Row]) -> _Row:
    """Return the row of the median ratio, as SPEC selects; a failed one if any failed."""
    failed = next((row for row in rows if row.status in _WITHOUT_RESULT or row.ratio is None), None)
    order = sorted(rows, key=lambda row: row.ratio or 0.0)
    return failed or order[(len(order) - 1) // 2]


CPU2017, CPU2006 = "2017", "2006"
INTEGER, FLOATING = "int", "fp"

COPY_MEMORY = 2 * 2**30
"""Bytes that SPEC requires per copy of a rate run (system requirements of both generations, 64 bits)."""

SPEED_MEMORY = 16 * 2**30
"""Bytes that SPEC requires for a speed run of CPU2017."""

MCF = "429.mcf"
WITHOUT_MCF = (
    "400.perlbench", "401.bzip2", "403.gcc", "445.gobmk", "456.hmmer", "458.sjeng", "462.libquantum", "464.h264ref",
    "471.omnetpp", "473.astar", "483.xalancbmk",
)  # fmt: skip
"""The integer benchmarks of CPU2006 without the one that needs the most memory."""

FOLDER = folder_parameter(
    help="Folder on the host that contains SPEC CPU's shrc. Not tried for real: written after its documentation."
)

GENERATION = Parameter(
    name="generation",
    title="Generation",
    default=CPU2017,
    help="Results of different generations are not comparable.",
    choices=(Choice(CPU2017, "CPU2017"), Choice(CPU2006, "CPU2006")),
)

CONFIG = text_parameter(
    name="config",
    help="Name of your config file (compiler and flags) in the folder's config directory.",
    option="--config",
    pattern=r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,100}",
)

SUITE = Parameter(
    name="suite",
    title="Suite",
    default=INTEGER,
    help="Integer or floating-point benchmarks.",
    choices=(Choice(INTEGER, "Integer"), Choice(FLOATING, "Floating point")),
)

MODE = Parameter(
    name="mode",
    title="Mode",
    default="rate",
    help="rate runs several copies at once (throughput), speed one at a time.",
    choices=(Choice("rate", "rate: several copies"), Choice("speed", "speed: one at a time")),
)

COPIES = count_parameter(
    name="threads",
    title="copies",
    default=1,
    help="Number of concurrent copies. Each needs 2 GiB of memory.",
    option="--copies, --rate",
    maximum=4096,
    applies=lambda values: values["mode"] == "rate",
)

ITERATIONS = count_parameter(
    name="iterations",
    default=3,
    help="Runs of each benchmark. Three take days on small hosts; trials repeat the whole.",
    option="--iterations",
    maximum=10,
)

LEAVE_OUT_MCF = flag_parameter(
    name="without_mcf",
    title="Without 429.mcf",
    help="Skip 429.mcf of CPU2006, which takes 2 GB per copy. There is then no SPEC composite.",
    applies=lambda values: values["generation"] == CPU2006 and values["suite"] == INTEGER,
)

# Results are in the user's folder; those newer than the marker file are this trial's.
_RUN = 'cd -- "$1" && . ./shrc && shift && exec "$@"'
_MARK = "started"


def memory_needed(values: Values) -> int:
    """Return the bytes of memory that SPEC requires for a run with these values."""
    if values["mode"] == "speed":
        return SPEED_MEMORY if values["generation"] == CPU2017 else COPY_MEMORY
    return COPY_MEMORY * int(values["threads"])


def leaves_out_mcf(values: Values) -> bool:
    """Whether 429.mcf is skipped."""
    return bool(values["without_mcf"]) and LEAVE_OUT_MCF.applies(values)


def _no_folder(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values, facts = evidence.values, evidence.context.facts
    if values["folder"] and values["config"]:
        return None
    if values["folder"]:
        return CheckOutcome("config is not set.", remedy="Set a file of the folder's config directory.")
    if facts is None:
        return FACTS_NOT_READ
    found = known(facts.tool("speccpu").path)
    return CheckOutcome("No folder is set.", changes={"folder": found} if found else {})


def _too_small(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if leaves_out_mcf(values):
        return None
    changes: dict[str, Value] = {}
    available = available_memory(evidence.context.facts)
    if LEAVE_OUT_MCF.applies(values):
        changes = {"without_mcf": True}
    elif values["mode"] == "rate" and available is not None and available >= COPY_MEMORY:
        changes = {"threads": available // COPY_MEMORY}
    return memory_outcome(evidence, memory_needed(values), "SPEC wants", changes)


def _skips_mcf(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome(f"{MCF} is skipped.") if leaves_out_mcf(evidence.values) else None


SPECCPU_NO_FOLDER = Check(
    id="speccpu-nowhere",
    severity=Severity.ERROR,
    blocks=True,
    title="SPEC CPU not installed",
    why="Its licence forbids redistribution: install it on the host and build it with your config file.",
    remedy="Set the folder that contains its shrc.",
    source="SPEC's licence.",
    needs="The folder of SPEC CPU, from the step or the host.",
    evaluate=_no_folder,
)

SPECCPU_MEMORY = Check(
    id="memory-too-small",
    of_result=False,
    severity=Severity.ERROR,
    title="Too little memory for the copies",
    why="Copies that swap measure the disk; the kernel may kill one, and its benchmark then has no result.",
    remedy="Run fewer copies; of CPU2006's integer benchmarks only 429.mcf needs so much.",
    source="SPEC CPU, system requirements: 2 GB for each copy, 16 GB for speed runs of CPU2017.",
    needs="Memory of the step; the host's available memory and cgroup limit.",
    evaluate=_too_small,
)

SPECCPU_WITHOUT_MCF = Check(
    id="speccpu-without-mcf",
    severity=Severity.INFO,
    title="One benchmark is skipped",
    why="There is no SPEC composite without it; the mean shown compares only with runs that skip it, too.",
    remedy="Add memory or run fewer copies to run all benchmarks.",
    source="AWS re:Invent 2013 ENT305: 2 GB a copy, else leave out 429.mcf.",
    needs="Benchmarks and copies; the host's memory.",
    evaluate=_skips_mcf,
)


SPECCPU = Program(
    "speccpu",
    ("speccpu",),
    search=tuple(f"{folder}/cpu20*" for folder in ("~", "/opt", "/usr", "/spec", "/opt/spec")),
    sign="shrc",
    version=(),
)


class SpecCpu(Suite):
    """SPEC CPU. Fixed work, timed, reported as ratios to a reference machine: higher is better."""

    id = "speccpu"
    title = "SPEC CPU"
    summary = "Application workloads, the standard CPU benchmark; needs a licence. Hours. Not tried here."
    resource = Resource.CPU
    tried = TestedTool(
        "CPU2017 and CPU2006 documented; **not tried for real**",
        note="needs a licence and your config file; estimates, never official",
    )
    program = SPECCPU
    parameters = (
        FOLDER, GENERATION, CONFIG, SUITE, MODE, COPIES, ITERATIONS, LEAVE_OUT_MCF,
    )  # fmt: skip
    main_parameters = ("config", "suite", "mode", "threads", "iterations", "generation")
    syntax = CommandSyntax(
        ("runcpu", "runspec"), choices=("generation", "suite", "mode", "without_mcf"), extra={"--copies": "threads"}
    )
    metrics = METRICS
    parser_type = SpecCpuParser
    checks = (SPECCPU_NO_FOLDER, SPECCPU_MEMORY, SPECCPU_WITHOUT_MCF, MORE_THREADS_THAN_CPUS)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return none: the user installs it and sets its folder."""
        return ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the folder that was found, one copy per CPU that has memory for it, and one iteration."""
        facts = context.facts
        tuned = {"iterations": Tuned(1, "One iteration takes an hour or two; trials repeat it.")}
        found = None if facts is None else known(facts.tool("speccpu").path)
        if found is not None:
            tuned["folder"] = Tuned(found, "Found there.")
            if found.rstrip("/").endswith(CPU2006):
                tuned["generation"] = Tuned(CPU2006, "From the folder's name.")
        cpus = None if facts is None else cpus_for(facts)
        available = available_memory(facts)
        if cpus is not None and available is not None:
            copies = max(1, min(cpus, available // COPY_MEMORY))
            tuned["threads"] = Tuned(copies, f"{count_text(cpus, 'CPU')}, and 2 GiB of memory per copy.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run between a marker file and the search for results newer than it."""
        folder = str(values["folder"])
        return (
            Command(("touch", _MARK)),
            Command(("sh", "-c", _RUN, "speccpu", folder, *_arguments(values))),
            Command(
                ("find", f"{folder.rstrip('/')}/result", "-name", "*.csv", "-newer", _MARK, "-exec", "cat", "{}", "+")
            ),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the file sourced by the shell in the folder, and the program found through it."""
        if not values["folder"]:
            return ()
        line = f"cd {shlex.quote(str(values['folder']))} && . ./shrc && {shlex.join(_arguments(values))}"
        return (Effect(EffectKind.EXECUTES, line, FOLDER.title),)


def _arguments(values: Values) -> list[str]:
    """Return the command line of runcpu, or of runspec, its name in CPU2006."""
    rate, suite = values["mode"] == "rate", str(values["suite"])
    common = [f"--config={values['config']}", "--noreportable", f"--iterations={values['iterations']}"]
    common += ["--tune=base", "--size=ref", "--output_format=csv"]
    if values["generation"] == CPU2006:
        words = ["runspec", *common, *(["--rate", str(values["threads"])] if rate else [])]
        return words + (list(WITHOUT_MCF) if leaves_out_mcf(values) else [suite])
    words = ["runcpu", *common, *([f"--copies={values['threads']}"] if rate else [])]
    return [*words, f"{suite}{'rate' if rate else 'speed'}"]
