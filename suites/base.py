"""Base class of all suites and the types they exchange: commands, estimates, parsed trials, evidence."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from suites.checks import Check
from suites.command_line import CommandSyntax, ParsedCommand, parse_command
from suites.equivalents import Equivalent, Traits
from suites.errors import ParameterError
from suites.facts import Facts
from suites.host_files import HostFile
from suites.network_path import Rendezvous
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Parameter, Tuned, Value, Values
from suites.programs import Program
from suites.targets import Target
from suites.units import Unit, convert
from suites.vocab import Figure, Labels, LatencySlice, Metric, Resource, Sample


class Purpose(StrEnum):
    """Why a command runs: preparation, measurement, server end or clean-up."""

    PREPARE = "prepare"
    SERVE = "serve"
    MEASURE = "measure"
    CLEAN_UP = "clean-up"


@dataclass(frozen=True, slots=True)
class Command:
    """One command line, run in the step's private directory on the host, or on the peer if `on_peer`.

    `files` are placed in that directory; all files of a step are placed once, before its first command. `root` runs the
    command as root; the user is informed before. `targets` are the paths that it opens, checked on the host right
    before it starts; they are derived from the rest of the command and excluded from comparison.
    """

    argv: tuple[str, ...]
    purpose: Purpose = Purpose.MEASURE
    on_peer: bool = False
    files: tuple[HostFile, ...] = ()
    root: bool = False
    targets: tuple[Target, ...] = field(default=(), compare=False, repr=False)

    @property
    def line(self) -> str:
        """The equivalent shell command line."""
        return f"sudo {shlex.join(self.argv)}" if self.root else shlex.join(self.argv)


class EffectKind(StrEnum):
    """Kind of an Effect."""

    EXECUTES = "executes"
    COPIES = "copies"  # a file of this computer, to the host
    SENDS = "sends"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Effect:
    """Side effect of a step that its values request; the user consents to it before the run.

    `text` is verbatim: the command line, the path of a program on the host or of a local file, the server. `what`
    describes it.
    """

    kind: EffectKind
    text: str
    what: str
    on_peer: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What is known when a suite builds its commands.

    `facts` are the host's, `peer_facts` the peer's; `peer_address` is the address at which the host reaches the peer;
    `meeting` holds the ports and the nonce of both ends, chosen right before the test. Each is None if not (yet) known.
    `work_directories` are the step's private directories on its volumes, once they are made.
    """

    facts: Facts | None = None
    peer_facts: Facts | None = None
    peer_address: str | None = None
    meeting: Rendezvous | None = None
    work_directories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected cost of one trial: seconds, bytes written to disk, bytes of space, bytes over the network.

    `prepared` are the bytes written by the preparation, once for all trials of a step on a host. `duration` is None if
    the tool runs until its work is done. `network` is None if the rate is unlimited, so that the volume depends on the
    result.
    """

    duration: float | None
    written: int | None = 0
    space: int = 0
    network: int | None = 0
    prepared: int = 0


@dataclass(frozen=True, slots=True)
class TestedTool:
    """Entry of a suite in the help: tool and versions tested, when figures are shown live, and a note."""

    versions: str
    live: str = "no"
    note: str = ""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Rate limit set by a step, in the unit of its metric. From the share `reached` on, it counts as the limit.

    `then` is how to remove it.
    """

    metric: str
    value: float
    reached: float = 0.95
    then: str = "Raise or remove the requested rate."


@dataclass(frozen=True, slots=True)
class Workload:
    """Expected work of a step, against which its trials are checked; None where not known or not applicable.

    `seconds` is the measured time if time alone ends the run, after `ramp` seconds; `size` the bytes after which it
    ends. `copied` are the operations counted by the metric “copied”. `buffered`: I/O goes through the page cache;
    `large_ios`: one I/O at a time keeps a disk busy. `queue_depth` is the number of I/Os in flight, `concurrency` the
    maximum of outstanding requests in a closed loop. `tool_limit` is why the tool itself is the limit, and a remedy.

    `best_of`: the figure is the best of several short passes, which a CPU quota need not slow down. `moves_memory`: the
    loop moves more bytes than it computes. `writes_per_sync` is the number of writes after which it waits for stable
    storage; `commits`: each transaction does; `flushes_last`: its time includes a flush at the end. `no_device`: the
    I/O uses no block device of this host. `window` are the bytes that one connection may have in flight.
    `deepened_by` is the parameter that raises `queue_depth`, if one does. `workers` are the threads that share the
    work where no parameter states them, such as those of a server with many connections.
    """

    seconds: float | None = None
    ramp: float = 0.0
    size: int | None = None
    copied: tuple[str, ...] = ()
    buffered: bool = False
    large_ios: bool = False
    queue_depth: int | None = None
    deepened_by: str = ""
    concurrency: int | None = None
    rate_limit: RateLimit | None = None
    tool_limit: tuple[str, str] | None = None
    best_of: bool = False
    moves_memory: bool = False
    writes_per_sync: int | None = None
    commits: bool = False
    flushes_last: bool = False
    no_device: bool = False
    window: int | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """A tool's command line recognised as a step of the tool's suite; values not `given` are the tool's defaults.

    `devices` are its operands below /dev, `written` those that it writes to. `whole` is False if the line does not
    contain enough to check it as a step. `endless` names what ends it where it does not end by itself, `program` the
    program it starts.
    """

    suite_id: str
    given: Mapping[str, Value] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    whole: bool = True
    endless: str = ""
    program: str = ""


UNREPORTED = 2.0
"""Seconds by which the measurement may outlast its last sample: samples come once a second, the last one early."""


ParametersOf = Callable[[str], Sequence[Parameter]]
"""Returns the parameters of a suite by its id."""


@dataclass(frozen=True, slots=True)
class Histograms:
    """Readers of a trial's raw output: latency histograms (ns) of each interval, and of the whole trial.

    The totals are by metric family, as ``latency`` of latency_p50, and labels.
    """

    slices: Callable[[bytes], Sequence[LatencySlice]]
    totals: Callable[[bytes], Mapping[tuple[str, Labels], Mapping[int, int]]] | None = None


QuickStep: TypeAlias = tuple[str, Mapping[str, Value]]
"""The name of a step of the quick benchmark, and its values that are not tuned."""

QUICK_SECONDS = 6.0
"""Runtime of a step of the quick benchmark: its seven steps and their preparation take less than 90 s."""


class Suite:
    """Base class of the suites. Stateless; attributes not declared by a subclass keep these defaults."""

    # ---- Identity
    id: str
    title: str
    summary: str
    resource: Resource

    # ---- Programs of a step: all of these are searched for on every host
    program: Program
    other_programs: tuple[Program, ...] = ()

    # ---- Parameters and metrics
    parameters: tuple[Parameter, ...]
    main_parameters: tuple[str, ...] = ()  # those that matter most, in the order shown; empty: the first six
    syntax: CommandSyntax = CommandSyntax()  # how its command line states them
    metrics: tuple[Metric, ...] = ()  # the headline first
    parser_type: type[TrialParser] | None = None  # for a parser that needs no values
    needs_peer: bool = False
    directory_parameter: str | None = None  # the TEXT parameter naming where files go, for suites that write
    checks: "tuple[StepCheck, ...]" = ()  # checks of this suite alone, of each volume apart
    volume_checks: "tuple[StepCheck, ...]" = ()  # of all volumes of a step together, if there are several

    # ---- Test status
    tried: TestedTool = TestedTool("not tried")

    @property
    def tool(self) -> str:
        """Name of the tool."""
        return self.program.title

    # ---- Step: commands and output
    def tune(self, context: Context) -> Mapping[str, Tuned]:
        """Return the parameters with a better value for this host, each with the reason."""
        return {}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return all commands of a trial in order, exactly as an expert would type them."""
        raise NotImplementedError

    def parse_command(self, text: str, values: Values, context: Context) -> ParsedCommand | None:
        """Return the values that a command line states, based on `values`; None if it starts another program."""
        return parse_command(self, text, values, context)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the expected cost of one trial; by default of its `time`, if it has one, and without writes."""
        return Estimate(duration=float(values["time"]) if "time" in values else None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser for one trial's output."""
        if self.parser_type is None:
            raise NotImplementedError
        return self.parser_type()

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of the tool's output that are recognised in a file or a pasted text."""
        return ()

    def target(self, values: Values) -> Figure | None:
        """Return the figure that a step with these values must not exceed, such as a latency; None without one."""
        return None

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics of a step with these values, the headline first."""
        return self.metrics

    def job_file(self, values: Values, context: Context) -> str | None:
        """Return the tool's job file equivalent to a step; None if the tool has no job files."""
        return None

    # ---- Requirements on the host
    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return the programs that a step needs on a host with these facts, the tool first.

        Without facts: all that it may need.
        """
        return (self.program, *self.other_programs)

    # ---- Side effects
    def device(self, values: Values) -> str:
        """Return the path of the raw device that a step uses; empty if it uses files or no disk.

        Of several it is their text: each is that of a part of volumes(), see devices_of().
        """
        return ""

    def destroys(self, values: Values) -> bool:
        """Return whether a step overwrites a raw device."""
        return False

    def volumes(self, values: Values) -> tuple[Values, ...]:
        """Return the values of the part of a step on each of its volumes; of a single one, those of the step."""
        return (values,)

    def more_directories(self, values: Values) -> tuple[str, ...]:
        """Return the absolute paths of further directories that a step works in."""
        return ()

    def files(self, values: Values, context: Context) -> Mapping[str, int]:
        """Return the absolute paths of files that a step uses if they exist, and the bytes that each needs."""
        return {}

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the side effects of a step, in the order in which they happen."""
        return ()

    # ---- Properties used by checks of trials
    uniform: bool = False  # constant operation: rate times time is the work done
    sweeps: bool = False  # a trial covers several settings: average utilisation applies to none of them
    searches: bool = False  # a trial tries rates one after another: its samples have no shape of their own
    several_limits: tuple[str, str] | None = None  # why its trial has no single limit, and which step to run instead
    uses_server: bool = False  # a server that may already run does the work
    server_processes: frozenset[str] = frozenset()  # the names of its processes, which work for the test
    repeats_itself: bool = False  # a trial is a series of rounds that ends when it is steady
    usual_cov: float = 0.0  # typical coefficient of variation on a quiet host, as far as known
    counting_label: str | None = None  # the label that names which end counted: one quantity, counted twice

    def workload(self, values: Values) -> Workload:
        """Return the expected work of a step with these values."""
        return Workload()

    def counted(
        self, values: Values, figures: Iterable[Figure], samples: Iterable[Sample]
    ) -> tuple[float, float] | None:
        """Return start and end of the seconds in which the tool counted, in the time of its samples.

        None if unknown: the whole command. Excluded are preparation, ramp and shutdown.
        """
        if self.sweeps:
            return None
        times = [(sample.time, sample.warm_up) for sample in samples]
        work = self.workload(values)
        ramp = max((work.ramp, *(time for time, warm_up in times if warm_up)))
        reported = next((one for one in figures if one.metric.name in {"elapsed", "total_time"}), None)
        if reported is not None:
            return ramp, ramp + convert(reported.value, reported.metric.unit, Unit.SECOND)
        last = max((time for time, warm_up in times if not warm_up), default=None)
        if work.seconds is None:
            return None if last is None or last <= ramp else (ramp, last)
        return ramp, ramp + work.seconds if last is None else min(ramp + work.seconds, last + UNREPORTED)

    def measured_as(self, values: Values, facts: Facts | None) -> "tuple[Suite, Values]":
        """Return the suite and values against which a trial is checked: those of an equivalent suite where there is
        one."""
        return self, values

    def recognised(self, values: Values, parameters: ParametersOf) -> tuple[Recognised, ...]:
        """Return the step's own command line as equivalent steps of other suites."""
        return ()

    def timed_commands(self, values: Values) -> Mapping[Labels, str]:
        """Return the user's commands whose metric “wall_time” is the time of that command alone, by its labels."""
        return {}

    # ---- Cross-checks
    equivalents: tuple[Equivalent, ...] = ()  # equivalent suites; one suite of each pair declares it
    histograms: Histograms | None = None  # for tools that record a latency histogram
    calibrates: bool = False  # default for calibrating a host: CPU only, any duration
    needs_input: bool = False  # has no useful defaults: the user sets what runs

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits()

    def quick_steps(self, context: Context) -> tuple[QuickStep, ...]:
        """Return this suite's steps in the quick benchmark."""
        return ()


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """Evidence of a step for checks before the run: its frozen values and what is known of the host.

    `quick_look` is whether each step runs once, for a figure without an interval. `earlier` are the steps that run
    before it; `earlier_files_stay` whether their files still exist then because the trials of all steps alternate.
    `measured_seconds` are those that an output from elsewhere states, which no prediction replaces.
    """

    name: str
    suite: Suite
    values: Values
    context: Context
    host: str
    trials: int = 1
    quick_look: bool = False
    earlier: tuple["StepEvidence", ...] = ()
    earlier_files_stay: bool = False
    measured_seconds: float | None = None


StepCheck: TypeAlias = Check[StepEvidence]
"""A check of one step before the run."""


def directories_of(suite: Suite, values: Values) -> tuple[str, ...]:
    """Return every directory that a step names to work in, the suite's own first."""
    return tuple(
        path for path in dict.fromkeys((*own_directories(suite, values), *suite.more_directories(values))) if path
    )


def own_directories(suite: Suite, values: Values) -> tuple[str, ...]:
    """Return the directories in which a step has its files, one on each volume; () on a raw device."""
    if suite.directory_parameter is None or suite.device(values):
        return ()
    return tuple(str(part.get(suite.directory_parameter, "")) for part in suite.volumes(values))


def devices_of(suite: Suite, values: Values) -> tuple[str, ...]:
    """Return the path of every raw device that a step uses; () if it uses files or no disk."""
    return tuple(path for path in dict.fromkeys(map(suite.device, suite.volumes(values))) if path)


def effects_of(suite: Suite, values: Values, context: Context) -> tuple[Effect, ...]:
    """Return the side effects of a step: those declared by its suite, local files copied to the host and root commands.

    Root access to a raw device is excluded: overwriting a device is confirmed separately.
    """
    commands = suite.commands(values, context)
    copied = [
        Effect(EffectKind.COPIES, file.local, f"as {file.name}", command.on_peer)
        for command in commands
        for file in command.files
        if file.local
    ]
    as_root = [
        Effect(EffectKind.CHANGES, command.line, "as root", command.on_peer)
        for command in commands
        if command.root and not suite.device(values)
    ]
    return tuple(dict.fromkeys((*suite.effects(values), *copied, *as_root)))


def complete_values(suite: Suite, given: Mapping[str, object]) -> dict[str, Value]:
    """Return a value for every parameter of `suite`: `given` after validation, the tool's default elsewhere.

    Raises ParameterError for an unknown name or an invalid value.
    """
    known_names = {parameter.name for parameter in suite.parameters}
    for name in given:
        if name not in known_names:
            raise ParameterError(f"{suite.id} has no parameter “{name}”.", f"It has {', '.join(sorted(known_names))}.")
    values: dict[str, Value] = {}
    for parameter in suite.parameters:
        try:
            values[parameter.name] = parameter.parse(given.get(parameter.name, parameter.default))
        except ParameterError as error:
            raise ParameterError(f"{suite.id}: {error.message}", error.remedy) from error
    return values


def tuned_values(suite: Suite, context: Context) -> dict[str, Value]:
    """Return a value for every parameter of `suite`: the tuned value where there is one, else the default."""
    return complete_values(suite, {name: tuned.value for name, tuned in suite.tune(context).items()})


def version_of(facts: Facts | None, tool: str) -> tuple[int, ...] | None:
    """Return the version of `tool` as numbers, or None if not known."""
    text = None if facts is None else facts.tool(tool).version
    match = re.search(r"(\d{1,6})((?:\.\d{1,6})*)", text) if isinstance(text, str) else None
    return tuple(int(part) for part in match.group().split(".")) if match else None
