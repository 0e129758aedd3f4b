"""geekbench: run where the user has installed it; uploads nothing unless enabled."""

import re

from suites.base import Command, Context, Effect, EffectKind, Purpose, StepEvidence, Suite, TestedTool
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.facts import Facts, known
from suites.line_parser import LineParser
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat, ParsedTrial
from suites.parameters import Choice, Parameter, Tuned, Values, flag_parameter, folder_parameter
from suites.programs import Program
from suites.quantities import quantity
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Severity, labels

# Parser of Geekbench 4 to 6 with a Pro licence: scores, their integer and other sections, every workload.


def _score(name: str, title: str) -> Metric:
    return Metric(name, title, Unit.ONE, Better.HIGHER, MetricKind.RATE)


MULTI = _score("multi_core", "Multi-core score")
SINGLE = _score("single_core", "Single-core score")
INTEGER = _score("integer", "Integer score")
FLOATING = _score("floating_point", "Floating-point score")
CRYPTO = _score("crypto", "Crypto score")
WORKLOAD = _score("workload", "Score by workload")

METRICS = (MULTI, SINGLE, INTEGER, FLOATING, CRYPTO, WORKLOAD)

_SECTIONS = {"Integer": INTEGER, "Floating Point": FLOATING, "Crypto": CRYPTO}
_CORES = {"Single-Core": "single", "Multi-Core": "multi"}

MAXIMUM_WORKLOADS = 200

_VERSION = re.compile(r"Geekbench (\d{1,2}\.\d{1,3}(?:\.\d{1,3})?) (\w{1,20}) : .*")
_CORE_SCORE = re.compile(r"  (Single-Core|Multi-Core) Score +(\d{1,9})")
_SECTION_SCORE = re.compile(r" {2,4}(Integer|Floating Point|Crypto)(?: Score)? +(\d{1,9})")
_WORKLOAD = re.compile(r"  (\S.{1,60}?) {2,}(\d{1,9}) +[\d.]{1,15} \S{1,30}")
_TRYOUT = re.compile(r".*\btryout mode\b.*|.*has no Pro licence here.*", re.IGNORECASE)
_LINK = re.compile(r".*https://browser\.geekbench\.com/\S+.*")
_FAILURE = re.compile(
    r".*: (?:(?:command )?not found|Permission denied|No such file or directory)|Killed|.*\b[Ee]rror\b.{0,200}"
)


class GeekbenchParser(LineParser):
    """Parser of one trial. Scores are printed at the end: no samples."""

    unfinished = (_FAILURE, _TRYOUT)

    def __init__(self) -> None:
        super().__init__()
        self._version: str | None = None
        self._cores: str | None = None
        self._scores: dict[str, float] = {}
        self._sections: dict[tuple[Metric, str], float] = {}
        self._workloads: dict[tuple[str, str], float] = {}
        self._tryout = False
        self._link = False

    def _result(self, exit_status: int | None) -> ParsedTrial:
        troubles = self._troubles(exit_status)
        version = None if self._version is None else f"Geekbench {self._version}"
        return ParsedTrial(tuple(self._figures()), (), tuple(troubles), not troubles, version)

    def _read(self, line: str) -> None:
        if match := _VERSION.fullmatch(line):
            self._version = match[1]
        elif line.strip() in _CORES:
            self._cores = _CORES[line.strip()]
        elif match := _CORE_SCORE.fullmatch(line):
            self._cores = _CORES[match[1]]
            self._scores[self._cores] = float(match[2])
        elif (match := _SECTION_SCORE.fullmatch(line)) and self._cores:
            self._sections[_SECTIONS[match[1]], self._cores] = float(match[2])
        elif (match := _WORKLOAD.fullmatch(line)) and self._cores and len(self._workloads) < MAXIMUM_WORKLOADS:
            self._workloads[self._cores, match[1]] = float(match[2])
        elif _TRYOUT.fullmatch(line):
            self._tryout = True
        elif _LINK.fullmatch(line):
            self._link = True
        elif _FAILURE.fullmatch(line.strip()):
            self._fail(line)

    def _figures(self) -> list[Figure]:
        """Return the scores, then the sections with the integer composite, then every workload."""
        figures = [
            Figure(metric, self._scores[cores])
            for metric, cores in ((MULTI, "multi"), (SINGLE, "single"))
            if self._scores.get(cores)
        ]
        figures += [
            Figure(metric, score, labels(cores=cores)) for (metric, cores), score in self._sections.items() if score
        ]
        return figures + [
            Figure(WORKLOAD, score, labels(cores=cores, workload=name))
            for (cores, name), score in self._workloads.items()
            if score
        ]

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = [f"Geekbench failed: {words}." for words in self._failures]
        if not self._scores and (self._tryout or self._link):
            troubles.append(
                "Geekbench has no Pro licence here: it prints no scores and would upload them. Unlock it on the "
                "host with --unlock, or enter the scores from its web page."
            )
        elif not set(_CORES.values()) <= set(self._scores):
            troubles.append("Geekbench was cut off: a score is missing.")
        troubles += exit_notes("Geekbench", exit_status)
        return troubles


# Without a licence Geekbench always uploads. Query the licence first, with the option that measures nothing.
_LICENSED = (
    'said=$("$1" --sysinfo 2>&1); printf "%s\\n" "$said"; case $said in '
    '*ryout* | *" Preview :"* | *"automatically upload"*) '
    'echo "Geekbench has no Pro licence here: it would upload its results" >&2; exit 1 ;; '
    "*Geekbench*) ;; *) exit 1 ;; esac"
)

FOLDER = folder_parameter(
    help="Folder on the host that contains geekbench6. Not tried for real: written after its documentation."
)

PROGRAM = Parameter(
    name="program",
    title="Version",
    default="geekbench6",
    help="Major version. Scores of different versions are not comparable.",
    choices=(
        Choice("geekbench6", "Geekbench 6"),
        Choice("geekbench5", "Geekbench 5"),
        Choice("geekbench4", "Geekbench 4"),
    ),
)

UPLOAD = flag_parameter(
    name="upload",
    title="Upload",
    help="Let Geekbench publish its results. Without a Pro licence it always does, and shows no scores here.",
    option="--no-upload",
    identity=False,
)


def _no_folder(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.values["folder"]:
        return None
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    found = known(facts.tool("geekbench").path)
    return CheckOutcome("No folder is given.", changes={"folder": found} if found else {})


def _uploads(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("upload is yes.", changes={"upload": False}) if evidence.values["upload"] else None


GEEKBENCH_NO_FOLDER = Check(
    id="geekbench-nowhere",
    severity=Severity.ERROR,
    blocks=True,
    title="Geekbench not installed",
    why="Its licence forbids redistribution: install it on the host yourself.",
    remedy="Install it on the host and set the folder.",
    source="Geekbench's licence.",
    needs="The folder of Geekbench, from the step or the host.",
    evaluate=_no_folder,
)

GEEKBENCH_UPLOADS = Check(
    id="geekbench-uploads",
    of_result=False,
    title="Results will be published",
    why="The host's description and scores go to a public web site of the vendor.",
    remedy="Turn upload off; that needs a Pro licence on the host.",
    source="Geekbench: without a licence it uploads automatically.",
    needs="upload.",
    evaluate=_uploads,
)

LITTLE_MEMORY = 1.2e9
"""Bytes below which Geekbench was seen to swap or to be killed (sbc-bench)."""


def _little_memory(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    available = known(evidence.context.facts.memory.available)
    if available is None:
        return NotChecked("The available memory is not known.")
    return None if available >= LITTLE_MEMORY else CheckOutcome(f"{quantity(available)} of memory are available.")


GEEKBENCH_MEMORY = Check(
    id="geekbench-little-memory",
    title="Little memory for Geekbench",
    why="Below 1.2 GB Geekbench swaps or is killed by the kernel.",
    remedy="Free memory, or use another test on this host.",
    source="sbc-bench, which checks for it before Geekbench.",
    needs="The available memory.",
    evaluate=_little_memory,
)


GEEKBENCH = Program(
    "geekbench",
    ("geekbench",),
    search=("~/[Gg]eekbench*", "/opt/[Gg]eekbench*", "/usr/local/[Gg]eekbench*"),
    sign="geekbench[1-9]",
    version=(),
)


class Geekbench(Suite):
    """Geekbench. Fixed work, timed, reported as scores: higher is better."""

    id = "geekbench"
    title = "Geekbench"
    summary = "Application workloads on one and all cores, as scores; needs a Pro licence. Not tried here."
    resource = Resource.CPU
    tried = TestedTool(
        "5 and 6 documented; **not tried for real**", note="needs a Pro licence; nothing is uploaded unless enabled"
    )
    program = GEEKBENCH
    parameters = (FOLDER, PROGRAM, UPLOAD)
    syntax = CommandSyntax(("geekbench6", "geekbench5", "geekbench4"), choices=("upload", "program"))
    metrics = METRICS
    parser_type = GeekbenchParser
    checks = (GEEKBENCH_NO_FOLDER, GEEKBENCH_UPLOADS, GEEKBENCH_MEMORY)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of Geekbench's output."""
        stated = (StatedLine("program", re.compile(r"Geekbench ([4-6])\."), lambda number: f"geekbench{number}"),)
        line = re.compile(r"(?:Single-Core|Multi-Core) Score +\d+$")
        return (OutputFormat(title="Geekbench", first=_VERSION, line=line, read=by_parser(self, stated)),)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return none: the user installs it and sets its folder."""
        return ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the folder, if one was found."""
        found = None if context.facts is None else known(context.facts.tool("geekbench").path)
        return {} if found is None else {"folder": Tuned(found, "Found there.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run; unless upload is enabled, after checking for a licence to run without."""
        program = _program(values)
        if values["upload"]:
            return (Command((program,)),)
        ask = Command(("sh", "-c", _LICENSED, "geekbench", program), Purpose.PREPARE)
        return (ask, Command((program, "--no-upload")))

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the program in the folder, and the upload of results."""
        if not values["folder"]:
            return ()
        runs = Effect(EffectKind.EXECUTES, _program(values), FOLDER.title)
        sends = Effect(EffectKind.SENDS, "https://browser.geekbench.com", "the host's description and its scores")
        return (runs, sends) if values["upload"] else (runs,)


def _program(values: Values) -> str:
    return f"{str(values['folder']).rstrip('/')}/{values['program']}"
