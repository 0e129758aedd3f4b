"""What can be said about a command of the user's own: what runs, what is timed, and where the figure is."""

import re
import shlex

from suites.parameters import Choice, Parameter, Type, Value, Values
from suites.units import Unit
from suites.vocab import Better, Kind, Metric

TIME, PATTERN, JSON = "time", "pattern", "json"

WALL_TIME = Metric("wall_time", "Wall time", Unit.SECOND, Better.LOWER, Kind.TIME)

_RATES = frozenset(unit for unit in Unit if unit.endswith("/s"))
_TIMES = frozenset({Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND})


def reads_output(values: Values) -> bool:
    """Return whether the figure comes from what the command prints."""
    return values["figure"] != TIME


COMMAND = Parameter(
    name="command",
    title="Command",
    type=Type.TEXT,
    default="",
    help="What is measured, as you would type it on the host. Its words go to the program as they are, to no shell.",
)

SHELL = Parameter(
    name="shell",
    title="Shell line",
    type=Type.FLAG,
    default=False,
    help="Let the host's sh read the command, so that pipes, redirections and variables work; sh is then timed too.",
)

WORKING_DIRECTORY = Parameter(
    name="working_directory",
    title="Working directory",
    type=Type.TEXT,
    default="",
    help="An absolute path on the host. Without one, the step's own private directory, which is removed after.",
    pattern=r"/.*",
    identity=False,
)

ENVIRONMENT = Parameter(
    name="environment",
    title="Environment",
    type=Type.TEXT,
    default="",
    help="Variables such as OMP_NUM_THREADS=4, separated by blanks. They are stored and shown: give no secrets.",
)

PREPARE = Parameter(
    name="prepare",
    title="Preparation",
    type=Type.TEXT,
    default="",
    help="A command that runs once on each host before the first trial, such as a build. It is not timed.",
)

BEFORE = Parameter(
    name="before",
    title="Before each trial",
    type=Type.TEXT,
    default="",
    help="A command that runs before each trial, such as “make clean”. It is not timed; what it prints is left out.",
)

CLEAN_UP = Parameter(
    name="clean_up",
    title="Cleaning up",
    type=Type.TEXT,
    default="",
    help="A command that runs once on each host after the last trial, also where trials failed or were stopped.",
)

FIGURE = Parameter(
    name="figure",
    title="Figure",
    type=Type.CHOICE,
    default=TIME,
    help="Where the figure comes from. The wall time is kept in any case.",
    choices=(
        Choice(TIME, "The wall time"),
        Choice(PATTERN, "A pattern in what it prints"),
        Choice(JSON, "A place in the JSON it prints"),
    ),
)

PATTERN_TEXT = Parameter(
    name="pattern",
    title="Pattern",
    type=Type.TEXT,
    default="",
    help="A regular expression, matched with each line, with one group around the number: tps = ([0-9.]+)",
    applies=lambda values: values["figure"] == PATTERN,
)

OCCURRENCE = Parameter(
    name="occurrence",
    title="Occurrence",
    type=Type.CHOICE,
    default="last",
    help="Which of several matching lines counts.",
    choices=(Choice("last", "The last"), Choice("first", "The first")),
    applies=lambda values: values["figure"] == PATTERN,
)

JSON_PATH = Parameter(
    name="json_path",
    title="JSON path",
    type=Type.TEXT,
    default="",
    help="The names that lead to the number, separated by dots; elements of a list by their number: results.0.rate",
    applies=lambda values: values["figure"] == JSON,
)

METRIC = Parameter(
    name="metric",
    title="Name of the figure",
    type=Type.TEXT,
    default="Figure",
    help="What the figure is called, such as “Requests per second”.",
    pattern=r"[^\W_].{0,59}",
    applies=reads_output,
)

UNIT = Parameter(
    name="unit",
    title="Unit of the figure",
    type=Type.CHOICE,
    default=Unit.PER_SECOND.value,
    help="The unit in which the command prints it; nothing is converted.",
    choices=tuple(Choice(unit.value, unit.value) for unit in Unit),
    applies=reads_output,
)

BETTER = Parameter(
    name="better",
    title="Better is",
    type=Type.CHOICE,
    default=Better.HIGHER.value,
    help="Which way the figure is better.",
    choices=(Choice(Better.HIGHER.value, "Higher"), Choice(Better.LOWER.value, "Lower")),
    applies=reads_output,
)

ACCEPTED = Parameter(
    name="accepted",
    title="Exit statuses",
    type=Type.TEXT,
    default="0",
    help="The exit statuses that mean that it worked, separated by blanks; any other fails the trial.",
    pattern=r"\d{1,3}( +\d{1,3})*",
)

TIMEOUT = Parameter(
    name="timeout",
    title="Time limit",
    type=Type.DURATION,
    default=0.0,
    help="After this long the command is ended and the trial has failed; 0 s is never.",
    minimum=0,
    maximum=86400,
    whole=True,
)

COMMAND_PARAMETERS = (
    COMMAND,
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


def words(text: Value, *, shell: bool) -> tuple[str, ...] | None:
    """Return the words that start the command `text`; None where a quotation is not closed."""
    if shell:
        return ("sh", "-c", str(text))
    try:
        return tuple(shlex.split(str(text)))
    except ValueError:
        return None


def figure_metric(values: Values) -> Metric:
    """Return the metric that leads: the wall time, or what the user calls the figure."""
    if not reads_output(values):
        return WALL_TIME
    title = str(values["metric"]) or METRIC.title
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "figure"
    unit = Unit(str(values["unit"]))
    kind = Kind.RATE if unit in _RATES else Kind.TIME if unit in _TIMES else _KINDS.get(unit, Kind.COUNT)
    return Metric(f"own_{name}", title, unit, Better(str(values["better"])), kind)


_KINDS = {Unit.PERCENT: Kind.SHARE}
