"""unixbench: the BYTE UNIX benchmarks, from a folder on the host or an archive."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from suites.base import Command, Context, Effect, EffectKind, Estimate, Purpose, StepEvidence, Suite, TestedTool
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.facts import Facts, known
from suites.host_files import HostFile
from suites.line_parser import LineParser
from suites.output_reading import StatedLine, by_parser
from suites.output_times import CLOCK, start_in
from suites.outputs import OutputFormat, ParsedTrial, TrialParser
from suites.parameters import (
    Choice,
    Parameter,
    Tuned,
    Values,
    count_parameter,
    flag_parameter,
    folder_parameter,
    text_parameter,
)
from suites.programs import COMPILER, MAKE, PERL, Program
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Severity, labels

# Parser of UnixBench's Run (versions 5.1.3 and 6.0): the index and its parts, by number of copies.


INDEX = Metric("index", "Index", Unit.ONE, Better.HIGHER, MetricKind.RATE)
PART_INDEX = Metric("part_index", "Index by part", Unit.ONE, Better.HIGHER, MetricKind.RATE)
LOOPS = Metric("loops", "Loops", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
WHETSTONE = Metric("whetstone", "Whetstone (MWIPS)", Unit.ONE, Better.HIGHER, MetricKind.RATE)
FILE_COPY = Metric("file_copy", "File copy", Unit.KIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
SCRIPTS = Metric("scripts", "Shell scripts a minute", Unit.ONE, Better.HIGHER, MetricKind.RATE)

METRICS = (INDEX, PART_INDEX, LOOPS, WHETSTONE, FILE_COPY, SCRIPTS)

# KBps counts 1,024 bytes (fstime.c adds up blocks of 256 bytes, four to a K).
_UNITS: Mapping[str, Metric] = {"lps": LOOPS, "MWIPS": WHETSTONE, "KBps": FILE_COPY, "lpm": SCRIPTS}

UNPATCHED = 16
"""Copies beyond which 5.1.3 runs no test unless its maxCopies was raised; 6.0 has no such bound."""

MAXIMUM_SECTIONS = 64
MAXIMUM_PARTS = 200

_N = r"(\d{1,15}(?:\.\d{1,6})?)"
_NAME = r"(\S.{2,60}?)"
_VERSION = re.compile(r"\s*BYTE UNIX Benchmarks \(Version (\d{1,3}(?:\.\d{1,3}){0,3})\)")
_SECTION = re.compile(r"(\d{1,6}) CPUs? in system; running (\d{1,6}) parallel cop(?:y|ies) of tests")
_RESULT = re.compile(rf"{_NAME} +{_N} (lps|MWIPS|KBps|lpm) +\([\d.]{{1,12}} s, \d{{1,6}} samples\)")
_TABLE = re.compile(r"System Benchmarks (?:Partial Index|Index Values) +BASELINE +RESULT +INDEX")
_PART = re.compile(rf"{_NAME} +{_N} +{_N} +{_N}")
_SCORE = re.compile(rf"System Benchmarks (?:Partial )?Index Score(?: \(Partial Only\))? +{_N}")
_FAILURE = re.compile(
    r".*can't cd to .*|no UnixBench .+"
    r"|.*: (?:(?:command )?not found|Permission denied|No such file or directory|cannot open .*)|Killed|Run: .+"
    r"|make(?:\[\d+\])?: \*\*\* .+|.*: unknown test .*"
)
_HARMLESS = re.compile(r".*3dinfo.*|locale: .*")
"""Messages of Run to ignore: missing graphics tools and locales."""


class _Value(NamedTuple):
    value: float
    unit: str


@dataclass(slots=True)
class _Section:
    """One pass over the tests with a number of concurrent copies."""

    copies: int
    results: dict[str, _Value] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)
    in_table: bool = False
    score: float | None = None


class UnixBenchParser(LineParser):
    """Parser of one trial. Run prints its report at the end of each pass: no samples."""

    unfinished = (_FAILURE,)

    def __init__(self, *, parts: bool = True) -> None:
        self._show_parts = parts
        super().__init__()
        self._version: str | None = None
        self._sections: list[_Section] = []

    def _result(self, exit_status: int | None) -> ParsedTrial:
        troubles = self._troubles(exit_status)
        version = None if self._version is None else f"UnixBench {self._version}"
        return ParsedTrial(tuple(self._figures()), (), (*troubles, *self._notes()), not troubles, version)

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _VERSION.fullmatch(line):
            self._version = self._version or match[1]
        elif match := _SECTION.fullmatch(line):
            if len(self._sections) < MAXIMUM_SECTIONS:
                self._sections.append(_Section(int(match[2])))
        elif _FAILURE.fullmatch(line) and not _HARMLESS.fullmatch(line):
            self._fail(line)
        elif self._sections:
            _read_result(self._sections[-1], line)

    def _figures(self) -> list[Figure]:
        """Return the indices, that of the most copies first, then the parts and their figures."""
        sections = sorted((section for section in self._sections if section.score), key=lambda one: -one.copies)
        figures = [Figure(INDEX, section.score or 0.0, labels(copies=str(section.copies))) for section in sections]
        if not self._show_parts:
            return figures
        for section in self._sections:
            copies = str(section.copies)
            figures += [
                Figure(PART_INDEX, index, labels(copies=copies, test=name)) for name, index in section.parts.items()
            ]
            figures += [
                Figure(_UNITS[found.unit], found.value, labels(copies=copies, test=name))
                for name, found in section.results.items()
            ]
        return figures

    def _notes(self) -> list[str]:
        notes = []
        single = next((section for section in self._sections if section.copies == 1 and section.score), None)
        most = max((section for section in self._sections if section.score), key=lambda one: one.copies, default=None)
        if most is not None and most.copies > UNPATCHED:
            notes.append(f"This build runs more than {UNPATCHED} copies: it is 6.0 or later, or patched.")
        if single is not None and most is not None and most.copies > 1:
            notes += _scaling(single, most)
        return notes

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = [f"UnixBench failed: {words}." for words in self._failures]
        troubles += [_without_score(section, self._version) for section in self._sections if section.score is None]
        if not self._sections and not troubles:
            troubles.append("UnixBench was cut off before its report, or this is not its output.")
        troubles += exit_notes("UnixBench", exit_status)
        return troubles


def _read_result(section: _Section, line: str) -> None:
    if match := _SCORE.fullmatch(line):
        section.score = float(match[1])
        section.in_table = False
    elif _TABLE.fullmatch(line):
        section.in_table = True
    elif (match := _RESULT.fullmatch(line)) and len(section.results) < MAXIMUM_PARTS:
        section.results[match[1]] = _Value(float(match[2]), match[3])
    elif section.in_table and (match := _PART.fullmatch(line)) and len(section.parts) < MAXIMUM_PARTS:
        section.parts[match[1]] = float(match[4])


def _without_score(section: _Section, version: str | None) -> str:
    copies = "1 copy" if section.copies == 1 else f"{section.copies} copies"
    if not section.results and section.copies > UNPATCHED:
        return (
            f"With {copies} UnixBench {version or ''} ran no test but reported success: beyond {UNPATCHED} copies "
            "version 5 has to be patched (maxCopies in Run), or use version 6."
        )
    return f"The pass with {copies} has no index: a test failed, or the output was cut off."


def _scaling(single: _Section, most: _Section) -> list[str]:
    """Return the note that compares the whole index with Dhrystone, which measures only the processor."""
    name = next((name for name in single.parts if name.startswith("Dhrystone")), None)
    if name is None or name not in most.parts or len(single.parts) < 2 or not single.parts[name] or not single.score:
        return []
    index_growth, processor = (most.score or 0.0) / single.score, most.parts[name] / single.parts[name]
    grown = f"From 1 to {most.copies} copies the index grows {index_growth:.3g} times, Dhrystone {processor:.3g} times"
    return [f"{grown}: file copies and system calls weigh in the index and do not scale like processors."]


WHOLE, PROCESSOR, DHRYSTONE = "index", "processor", "dhrystone"
SINGLE, ALL, BOTH = "single", "all", "both"

_TESTS: Mapping[str, tuple[str, ...]] = {
    WHOLE: ("index",),
    PROCESSOR: ("dhry2reg", "whetstone-double"),
    DHRYSTONE: ("dhry2reg",),
}

LONG_SECONDS = 73.0
SHORT_SECONDS = 336.0
"""Seconds of one iteration of the index's long tests, and one of its short ones. Measured: 409 s with one iteration; 29
minutes with the default of ten and three."""

UNIXBENCH = Program(
    "unixbench",
    ("unixbench",),
    search=(
        *("~/UnixBench", "~/*/UnixBench", "/opt/UnixBench", "/opt/*/UnixBench"),
        *("/usr/local/*/UnixBench", "/usr/local/UnixBench"),
    ),
    sign="Run",
    version=(),
)

ARCHIVE = "unixbench-archive"
FOLDER = "unixbench"

# Results and scratch files go into the step's private directory, not among the user's.
_RUN = 'here=$PWD && cd -- "$1" && shift && UB_RESULTDIR=$here UB_TMPDIR=$here exec ./Run "$@"'
_FIND = (
    'for run in UnixBench/Run */UnixBench/Run */Run Run; do if [ -f "$run" ]; then '
    'ln -s "$(dirname "$run")" unixbench && exit; fi; done; echo "no UnixBench in this archive" >&2; exit 1'
)

FOLDER_PARAMETER = folder_parameter(help="Folder on the host that contains UnixBench's Run.")

ARCHIVE_PARAMETER = text_parameter(
    name="archive",
    title="Archive",
    help="Archive of UnixBench on this computer (.tar.gz), copied to the host, unpacked and built there.",
    pattern=r"/.*",
    applies=lambda values: not values["folder"],
    identity=False,
)

WORKLOAD = Parameter(
    name="workload",
    title="Tests",
    default=WHOLE,
    help="The whole index mixes processor, files, pipes, processes and scripts, and grew 3 to 6 times where Dhrystone, "
    "which measures the processor, grew 15.5 times (AWS re:Invent 2013 ENT305).",
    choices=(
        Choice(WHOLE, "index: 12 tests"),
        Choice(PROCESSOR, "processor: Dhrystone and Whetstone"),
        Choice(DHRYSTONE, "dhrystone: Dhrystone only"),
    ),
)

PARTS = flag_parameter(
    name="parts", title="Parts", default=True, help="Show each test in addition to the index.", identity=False
)

COPIES = Parameter(
    name="copies",
    title="Copies",
    default=BOTH,
    help="Number of concurrent copies of each test.",
    option="-c",
    choices=(Choice(BOTH, "both: one, then one per CPU"), Choice(SINGLE, "One"), Choice(ALL, "all: one per CPU")),
)

ITERATIONS = count_parameter(
    name="iterations",
    title="Iterations",
    default=10,
    help="Runs of the long tests; the short ones run a third as often.",
    option="-i",
    maximum=100,
)


def _cpus(context: Context) -> int | None:
    return None if context.facts is None else known(context.facts.cpu.usable)


def _no_folder(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values, facts = evidence.values, evidence.context.facts
    if values["folder"] or values["archive"]:
        return None
    if facts is None:
        return FACTS_NOT_READ
    found = known(facts.tool("unixbench").path)
    return CheckOutcome("Neither folder nor archive is set.", changes={"folder": found} if found else {})


def _too_many(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    cpus = _cpus(evidence.context)
    if evidence.values["copies"] == SINGLE:
        return None
    if cpus is None:
        return NotChecked("The number of usable CPUs is not known.")
    return CheckOutcome(f"{cpus} copies for {cpus} CPUs.") if cpus > UNPATCHED else None


UNIXBENCH_NO_FOLDER = Check(
    id="unixbench-nowhere",
    severity=Severity.ERROR,
    blocks=True,
    title="UnixBench not installed",
    why="No distribution packages it.",
    remedy="Set its folder on the host, or an archive of it on this computer.",
    source="The step's parameters.",
    needs="The folder of UnixBench, from the step or the host.",
    evaluate=_no_folder,
)

UNIXBENCH_SIXTEEN = Check(
    id="unixbench-sixteen",
    title="UnixBench 5 limited to 16 copies",
    why="Unpatched, it runs no test with more copies, yet reports success; results published without the patch "
    "are invalid.",
    remedy="Use version 6, or raise maxCopies in its Run; the run reports which applies.",
    source="UnixBench 5.1.3, Run: maxCopies; AWS re:Invent 2013 ENT305.",
    needs="Copies; the host's CPUs.",
    evaluate=_too_many,
)

_STATED = (
    StatedLine(
        "workload",
        re.compile(r"System Benchmarks (Index Values|Partial Index)"),
        lambda kind: {"Index Values": WHOLE}.get(kind, PROCESSOR),
    ),
    StatedLine(
        "copies",
        re.compile(r"\d+ CPUs? in system; running (\d+) "),
        lambda copies: "single" if copies == "1" else "all",
    ),
)

_BEGUN = start_in(
    rf"^Benchmark Run: [A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) (?P<year>\d{{4}}) {CLOCK}"
)


class UnixBench(Suite):
    """The BYTE UNIX benchmarks. Fixed time, work counted, as multiples of a SPARCstation 20-61 (which has 10)."""

    id = "unixbench"
    title = "UnixBench"
    summary = "Twelve small tests of processor, files, pipes, processes and scripts, and their index."
    resource = Resource.CPU
    tried = TestedTool(
        "5.1.3 and 6.0.0 from captured outputs; its unpacking and running with a stand-in",
        note="beyond 16 copies 5.1.3 has to be patched",
    )
    program = UNIXBENCH
    other_programs = (PERL, MAKE, COMPILER)
    parameters = (FOLDER_PARAMETER, ARCHIVE_PARAMETER, WORKLOAD, PARTS, COPIES, ITERATIONS)
    syntax = CommandSyntax(("unixbench", "Run"), choices=("workload", "copies"))
    metrics = METRICS
    usual_cov = 0.05
    checks = (UNIXBENCH_NO_FOLDER, UNIXBENCH_SIXTEEN)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of UnixBench's output."""
        line = re.compile(
            rf"{_SECTION.pattern}|{_TABLE.pattern}|{_SCORE.pattern}|.+\([\d.]+ s, \d+ samples\)$|"
            r"(?:Dhrystone 2|Double-Precision|Execl|File Copy|Pipe|Process Creation|Shell Scripts|System Call)\b.*"
            r"( +\d+\.\d){3}$"
        )
        return (
            OutputFormat(title="UnixBench", first=_VERSION, line=line, read=by_parser(self, _STATED), begun=_BEGUN),
        )

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return what its Run needs, and the compiler that builds an archive."""
        return (PERL, MAKE) if values["folder"] else (PERL, MAKE, COMPILER)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the folder, if one was found."""
        found = None if context.facts is None else known(context.facts.tool("unixbench").path)
        return {} if found is None else {"folder": Tuned(found, "Found there.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run, preceded by unpacking and building an archive."""
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
        """Return the time of all passes, as measured once: the tests have fixed lengths."""
        iterations, cpus = int(values["iterations"]), _cpus(context)
        passes = 2 if values["copies"] == BOTH and cpus != 1 else 1
        if values["workload"] == WHOLE:
            seconds = iterations * LONG_SECONDS + max(1, (iterations + 1) // 3) * SHORT_SECONDS
        else:
            seconds = iterations * (13.0 if values["workload"] == DHRYSTONE else 32.0)
        return Estimate(duration=passes * seconds)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser; `values` say whether the parts are shown."""
        return UnixBenchParser(parts=bool(values["parts"]))


def _copies(values: Values, context: Context) -> list[str]:
    """Return the copies of each pass. If the CPUs are not known, Run makes both passes by itself."""
    cpus = _cpus(context)
    if values["copies"] == SINGLE or (cpus == 1 and values["copies"] == BOTH):
        return ["-c", "1"]
    if cpus is None:
        return []
    return ["-c", str(cpus)] if values["copies"] == ALL else ["-c", "1", "-c", str(cpus)]
