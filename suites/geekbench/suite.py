"""geekbench: run where the user has installed it, without uploading anything unless told to."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, EffectKind, Estimate, Purpose, TrialParser
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.disk import amount
from suites.facts import known
from suites.geekbench.output import METRICS, GeekbenchParser
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.thread_checks import FACTS_NOT_READ
from suites.vocab import Level, Metric, Resource

# Without a licence Geekbench uploads whatever it is told: so it is asked first, by the option that measures nothing.
_LICENSED = (
    'said=$("$1" --sysinfo 2>&1); printf "%s\\n" "$said"; case $said in '
    '*ryout* | *" Preview :"* | *"automatically upload"*) '
    'echo "Geekbench has no Pro licence here: it would upload its results" >&2; exit 1 ;; '
    "*Geekbench*) ;; *) exit 1 ;; esac"
)

FOLDER = Parameter(
    name="folder",
    title="Folder",
    type=Type.TEXT,
    default="",
    help="The folder on the host that has geekbench6. Not tried for real: written after its documentation.",
    pattern=r"/.*",
    identity=False,
)

PROGRAM = Parameter(
    name="program",
    title="Version",
    type=Type.CHOICE,
    default="geekbench6",
    help="The major version. Scores of different ones do not compare.",
    choices=(
        Choice("geekbench6", "Geekbench 6"),
        Choice("geekbench5", "Geekbench 5"),
        Choice("geekbench4", "Geekbench 4"),
    ),
)

UPLOAD = Parameter(
    name="upload",
    title="Upload",
    type=Type.FLAG,
    default=False,
    help="Let it publish its results. Without a Pro licence it runs in no other way, and shows no scores here.",
    option="--no-upload",
    identity=False,
)


def _nowhere(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.values["folder"]:
        return None
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    found = known(facts.tool("geekbench").path)
    return Outcome("No folder is given.", changes={"folder": found} if found else {})


def _uploads(evidence: StepEvidence) -> Outcome | None:
    return Outcome("upload is yes.", changes={"upload": False}) if evidence.values["upload"] else None


GEEKBENCH_NOWHERE = Check(
    id="geekbench-nowhere",
    level=Level.ERROR,
    title="There is no Geekbench to run",
    why="It may not be passed on: you install it on the host, under its licence.",
    remedy="Install it on the host and name its folder.",
    source="Geekbench's licence.",
    needs="Where Geekbench is, from the step or the host.",
    evaluate=_nowhere,
)

GEEKBENCH_UPLOADS = Check(
    id="geekbench-uploads",
    level=Level.WARNING,
    title="The results will be published",
    why="What the host is and what it scores goes to the maker's site, where everybody sees it.",
    remedy="Do not upload; that needs a Pro licence on the host.",
    source="Geekbench: without a licence it uploads automatically.",
    needs="Whether results are uploaded.",
    evaluate=_uploads,
)

LITTLE_MEMORY = 1.2e9
"""Bytes below which Geekbench was seen to swap or to be ended (sbc-bench)."""


def _little_memory(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    available = known(evidence.context.facts.memory.available)
    if available is None:
        return CannotTell("The available memory is not known.")
    return None if available >= LITTLE_MEMORY else Outcome(f"{amount(available)} of memory are available.")


GEEKBENCH_MEMORY = Check(
    id="geekbench-little-memory",
    level=Level.WARNING,
    title="There is little memory for Geekbench",
    why="Below 1.2 GB it swaps, or the kernel ends it in the middle of its work.",
    remedy="Free memory, or use another test on this host.",
    source="sbc-bench, which checks for it before Geekbench.",
    needs="The available memory.",
    evaluate=_little_memory,
)


class Geekbench:
    """Geekbench. Fixed work, timed, given as scores: higher is better."""

    id = "geekbench"
    title = "Geekbench"
    summary = "Everyday programs on one and all cores, as scores, where you have it with a Pro licence. Not tried here."
    resource = Resource.CPU
    tool = "geekbench"
    packages: Mapping[str, str] = {}
    parameters: tuple[Parameter, ...] = (FOLDER, PROGRAM, UPLOAD)
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (GEEKBENCH_NOWHERE, GEEKBENCH_UPLOADS, GEEKBENCH_MEMORY)

    def needs_tool(self, values: Values) -> bool:
        """Return False: the user says where it is."""
        del values
        return False

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the folder, where one was found."""
        found = None if context.facts is None else known(context.facts.tool("geekbench").path)
        return {} if found is None else {"folder": Tuned(found, "It was found there.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the run; unless uploading is wanted, after asking whether there is a licence to run without."""
        del context
        program = _program(values)
        if values["upload"]:
            return (Command((program,)),)
        ask = Command(("sh", "-c", _LICENSED, "geekbench", program), Purpose.PREPARE)
        return (ask, Command((program, "--no-upload")))

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the program in the folder, and where results are published."""
        if not values["folder"]:
            return ()
        runs = Effect(EffectKind.EXECUTES, _program(values), FOLDER.title)
        sends = Effect(EffectKind.SENDS, "https://browser.geekbench.com", "the host's description and its scores")
        return (runs, sends) if values["upload"] else (runs,)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return no time: the work is fixed, and how long it takes is what is measured."""
        del values, context
        return Estimate(duration=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return GeekbenchParser()


def _program(values: Values) -> str:
    return f"{str(values['folder']).rstrip('/')}/{values['program']}"
