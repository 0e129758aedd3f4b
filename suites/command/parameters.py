"""Parameters of a command of the user: the command, the source of its figure, preparation and limits."""

import re
import shlex
from collections.abc import Mapping
from itertools import product

from suites.parameters import Choice, Parameter, Type, Value, Values, flag_parameter, text_parameter
from suites.units import Unit
from suites.vocab import Better, Labels, Metric, MetricKind, labels, name_of_title

TIME, PATTERN, JSON = "time", "pattern", "json"

WALL_TIME = Metric("wall_time", "Wall time", Unit.SECOND, Better.LOWER, MetricKind.TIME)

_RATES = frozenset(unit for unit in Unit if unit.endswith("/s"))
_TIMES = frozenset({Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND})


def reads_output(values: Values) -> bool:
    """Return whether the figure comes from the command's output."""
    return values["figure"] != TIME


COMMAND = text_parameter(
    name="command",
    title="Command",
    help="Command to measure, as typed on the host. Its words are passed to the program unchanged, without a shell.",
)

SCAN = text_parameter(
    name="scan",
    title="Parameter scan",
    help="Values to compare, as n=1,2,4: each trial runs the command once for each value in place of {n}. Several "
    "lists, separated by blanks, are combined.",
    pattern=r"\s*(?:[A-Za-z_]\w*=[^\s,={}]+(?:,[^\s,={}]+)*(?:\s+|$))*",
)

SHELL = flag_parameter(
    name="shell",
    title="Shell",
    help="Run the command with the host's sh, for pipes, redirections and variables; the start of sh is then "
    "timed, too.",
)

WORKING_DIRECTORY = text_parameter(
    name="working_directory",
    title="Working directory",
    help="Absolute path on the host. Empty: the step's private directory, removed after the run.",
    pattern=r"/.*",
    identity=False,
)

ENVIRONMENT = text_parameter(
    name="environment",
    title="Environment",
    help="Variables such as OMP_NUM_THREADS=4, separated by blanks. They are stored and shown: no secrets. Without "
    "LC_ALL, it is C, in which sort and grep are faster than in other locales.",
)

PREPARE = text_parameter(
    name="prepare",
    title="Preparation",
    help="Command that runs once on each host before the first trial, such as a build. Not timed.",
)

BEFORE = text_parameter(
    name="before",
    title="Before each trial",
    help="Command that runs before each trial, such as “make clean”. Not timed; its output is ignored.",
)

CLEAN_UP = text_parameter(
    name="clean_up",
    title="Clean-up",
    help="Command that runs once on each host after the last trial, also after a failure or stop.",
)

FIGURE = Parameter(
    name="figure",
    title="Figure",
    default=TIME,
    help="Source of the figure. The wall time is always recorded.",
    choices=(
        Choice(TIME, "time: the wall time"),
        Choice(PATTERN, "pattern: a regular expression on the output"),
        Choice(JSON, "json: a path in JSON output"),
    ),
)

PATTERN_TEXT = text_parameter(
    name="pattern",
    title="Pattern",
    help="Regular expression, matched against each line, with one group around the number: tps = ([0-9.]+)",
    applies=lambda values: values["figure"] == PATTERN,
)

OCCURRENCE = Parameter(
    name="occurrence",
    title="Occurrence",
    default="last",
    help="Which of several matching lines counts.",
    choices=(Choice("last", "The last"), Choice("first", "The first")),
    applies=lambda values: values["figure"] == PATTERN,
)

JSON_PATH = text_parameter(
    name="json_path",
    title="JSON path",
    help="Keys that lead to the number, separated by dots; list elements by index: results.0.rate",
    applies=lambda values: values["figure"] == JSON,
)

METRIC = text_parameter(
    name="metric",
    title="Metric name",
    default="Figure",
    help="Name of the figure, such as “Requests per second”.",
    pattern=r"[^\W_].{0,59}",
    applies=reads_output,
)

UNIT = Parameter(
    name="unit",
    title="Unit",
    default=Unit.PER_SECOND.value,
    help="Unit that the command prints; nothing is converted.",
    choices=tuple(Choice(unit.value, unit.value) for unit in Unit),
    applies=reads_output,
)

BETTER = Parameter(
    name="better",
    title="Better",
    default=Better.HIGHER.value,
    help="Direction in which the figure is better.",
    choices=(Choice(Better.HIGHER.value, "Higher"), Choice(Better.LOWER.value, "Lower")),
    applies=reads_output,
)

ACCEPTED = text_parameter(
    name="accepted",
    title="Exit statuses",
    default="0",
    help="Exit statuses that count as success, separated by blanks; any other fails the trial.",
    pattern=r"\d{1,3}( +\d{1,3})*",
)

TIMEOUT = Parameter(
    name="timeout",
    title="Time limit",
    type=Type.DURATION,
    default=0.0,
    help="The command is ended and the trial fails after this time; 0 s is never.",
    minimum=0,
    maximum=86400,
    whole=True,
)

COMMAND_PARAMETERS = (
    COMMAND,
    SCAN,
    SHELL,
    FIGURE,
    PATTERN_TEXT,
    OCCURRENCE,
    JSON_PATH,
    METRIC,
    UNIT,
    BETTER,
    WORKING_DIRECTORY,
    ENVIRONMENT,
    PREPARE,
    BEFORE,
    CLEAN_UP,
    ACCEPTED,
    TIMEOUT,
)


SCANNED = ("command", "before", "environment")
"""Parameters whose {NAME} a scan replaces."""

MOST_SCANNED = 64
"""Most combinations of a scan."""


def scan_lists(values: Values) -> dict[str, tuple[str, ...]]:
    """Return the lists of the scan by name, each value once."""
    lists = (word.partition("=") for word in str(values.get("scan", "")).split())
    return {name: tuple(dict.fromkeys(listed.split(","))) for name, _, listed in lists}


def scanned(values: Values) -> dict[str, Values]:
    """Return the values of each combination of the scan, by its text such as “n=4”; without a scan, by “”."""
    found: dict[str, Values] = {}
    lists = scan_lists(values)
    for chosen in product(*lists.values()):
        pairs = dict(zip(lists, chosen, strict=True))
        texts = {name: _filled(str(values[name]), pairs) for name in SCANNED} if pairs else {}
        found[" ".join(map("=".join, pairs.items()))] = {**values, **texts}
        if len(found) >= MOST_SCANNED:
            break
    return found


def labels_of(name: str) -> Labels:
    """Return the labels of the figures of a combination, by its text such as “n=4”."""
    return labels(**dict(pair.split("=") for pair in name.split()))


def _filled(text: str, pairs: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: pairs.get(match[1], match[0]), text)


def words(text: Value, *, shell: bool) -> tuple[str, ...] | None:
    """Return the words of the command `text`; None if a quotation is not closed."""
    if shell:
        return ("sh", "-c", str(text))
    try:
        return tuple(shlex.split(str(text)))
    except ValueError:
        return None


def figure_metric(values: Values) -> Metric:
    """Return the headline metric: the wall time, or the user's figure."""
    if not reads_output(values):
        return WALL_TIME
    title = str(values["metric"]) or METRIC.title
    name = name_of_title(title) or "figure"
    unit = Unit(str(values["unit"]))
    kind = (
        MetricKind.RATE if unit in _RATES else MetricKind.TIME if unit in _TIMES else _KINDS.get(unit, MetricKind.COUNT)
    )
    return Metric(f"own_{name}", title, unit, Better(str(values["better"])), kind, least=None)


_KINDS = {Unit.PERCENT: MetricKind.SHARE}
