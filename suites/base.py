"""What every suite provides, and what it hands over: commands out, samples and figures in."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from suites.errors import ParameterError
from suites.facts import Facts
from suites.host_files import HostFile
from suites.network_path import Meeting
from suites.parameters import Parameter, Tuned, Value, Values
from suites.programs import Program
from suites.targets import Target
from suites.vocab import Figure, Metric, Resource, Sample

if TYPE_CHECKING:
    from suites.checks import StepCheck


class Purpose(StrEnum):
    """Why a command runs: to get ready, to measure, to serve the other end, or to clean up."""

    PREPARE = "prepare"
    SERVE = "serve"
    MEASURE = "measure"
    CLEAN_UP = "clean-up"


@dataclass(frozen=True, slots=True)
class Command:
    """One command line. It runs in the step's own directory on the host, or on the peer where `on_peer`.

    `files` are what it needs beside it; all of a step's are put there once, before its first command. With `root` it
    runs as root, which the user is told before. `targets` are the paths that it opens, judged on the host right before
    it starts; they follow from the rest of the command and are no part of what it is.
    """

    argv: tuple[str, ...]
    purpose: Purpose = Purpose.MEASURE
    on_peer: bool = False
    files: tuple[HostFile, ...] = ()
    root: bool = False
    targets: tuple[Target, ...] = field(default=(), compare=False, repr=False)

    @property
    def line(self) -> str:
        """The line for a shell that does the same."""
        return f"sudo {shlex.join(self.argv)}" if self.root else shlex.join(self.argv)


class EffectKind(StrEnum):
    """What a step does beyond the work of its tool: see Effect."""

    EXECUTES = "executes"
    COPIES = "copies"  # a file of this computer, to the host
    SENDS = "sends"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Effect:
    """What a step does beyond the work of its tool, because its values say so; the user agrees to it before it runs.

    `text` is verbatim: the command line, the path of a program on the host or of a file on this computer, the server.
    `what` says in words what it is.
    """

    kind: EffectKind
    text: str
    what: str
    on_peer: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What a suite may know when it writes its commands.

    `facts` are the host's; `peer_facts` the other end's; `peer_address` the address at which the host
    reaches the peer; `meeting` where both ends of a test meet, which is found right before it. Each is None where it
    is not known (yet).
    """

    facts: Facts | None = None
    peer_facts: Facts | None = None
    peer_address: str | None = None
    meeting: Meeting | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one trial will take: seconds, bytes written to disk, bytes of space, bytes over the network.

    `prepared` are the bytes that the preparation writes, once for all trials of a step on a host.
    `duration` is None where the tool works until it is done: it cannot be known. `network` is None
    where the rate is unlimited, so that the volume depends on what is measured.
    """

    duration: float | None
    written: int | None = 0
    space: int = 0
    network: int | None = 0
    prepared: int = 0


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a trial's whole output says.

    `complete` is False where the tool failed or was cut off; a note then says so. Figures that the
    output does carry are kept in either case. `tool_version` is what the output says of the tool's version and
    how it was built; None leaves it at what the host's facts say.
    """

    figures: tuple[Figure, ...] = ()
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True
    tool_version: str | None = None


class TrialParser(Protocol):
    """Reads one trial's output as it arrives. Any bytes at all are accepted; nothing raises."""

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes of `stream` ("stdout" or "stderr", possibly mixed into one); yield new samples."""
        ...

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. `exit_status` None: not known. All samples are given again."""
        ...


class Suite(Protocol):
    """One kind of test. Implementations are stateless."""

    id: str
    title: str
    summary: str
    resource: Resource
    tool: str
    packages: Mapping[str, str]  # package manager ("apt", "dnf", ...) -> packages that bring the tool, by blanks
    parameters: tuple[Parameter, ...]
    metrics: tuple[Metric, ...]  # the headline first
    needs_peer: bool
    directory_parameter: str | None  # the TEXT parameter naming where files go, for suites that write
    checks: "tuple[StepCheck, ...]"  # what is known to fool people about this suite alone

    def tune(self, context: Context) -> Mapping[str, Tuned]:
        """Return the parameters whose value is better fitted to this host, each with why."""
        ...

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return every command of a trial, in order, exactly as an expert would type them."""
        ...

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what one trial will take."""
        ...

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser for one trial's output."""
        ...


@runtime_checkable
class BringsTool(Protocol):
    """A suite that may do without its tool on the host's path: it brings its own, or the user says where one is."""

    def needs_tool(self, values: Values) -> bool:
        """Return whether a step with these values needs `tool` to be installed."""
        ...


@runtime_checkable
class NeedsPrograms(Protocol):
    """A suite whose steps need more programs on the host than their tool: a compiler, a server."""

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return those that a step with these values needs on a host with these facts.

        Without facts: those that it may need.
        """
        ...


def programs_of(suite: Suite, values: Values, facts: Facts | None) -> tuple[Program, ...]:
    """Return every program that a step needs on a host with these facts, its tool first."""
    brings = isinstance(suite, BringsTool) and not suite.needs_tool(values)
    own = () if brings else (Program(suite.tool, (suite.tool,), suite.packages),)
    return (*own, *(suite.programs(values, facts) if isinstance(suite, NeedsPrograms) else ()))


@runtime_checkable
class UsesDevice(Protocol):
    """A suite whose steps may work on a raw block device instead of in a directory."""

    def device(self, values: Values) -> str:
        """Return the path of the device that a step with these values works on; empty where it works on files."""
        ...

    def destroys(self, values: Values) -> bool:
        """Return whether a step with these values overwrites what is on the device."""
        ...


@runtime_checkable
class UsesDirectories(Protocol):
    """A suite whose steps may work in more directories than the one in which their private directory is made."""

    def more_directories(self, values: Values) -> tuple[str, ...]:
        """Return the absolute paths of those that a step with these values names."""
        ...


@runtime_checkable
class HasJobFile(Protocol):
    """A suite whose tool reads files that say what to do: a step can be written as such a file."""

    def job_file(self, values: Values, context: Context) -> str:
        """Return the file that makes the tool do what a step with these values does."""
        ...


@runtime_checkable
class HasEffects(Protocol):
    """A suite whose values may name commands, programs or servers of the user's own."""

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return what a step with these values does beyond the work of its tool, in the order in which it is done."""
        ...


@runtime_checkable
class NamesMetrics(Protocol):
    """A suite whose metrics depend on what the user asks for: its figure is whatever the user's own program prints."""

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics of a step with these values, the headline first."""
        ...


def metrics_of(suite: Suite, values: Values) -> tuple[Metric, ...]:
    """Return the metrics of a step, the headline first."""
    return suite.metrics_of(values) if isinstance(suite, NamesMetrics) else suite.metrics


def device_of(suite: Suite, values: Values) -> str:
    """Return the path of the raw device that a step works on; empty where it works on none."""
    return suite.device(values) if isinstance(suite, UsesDevice) else ""


def directories_of(suite: Suite, values: Values) -> tuple[str, ...]:
    """Return every directory that a step names to work in, its own first; none where that is left to Benchwright."""
    own = "" if suite.directory_parameter is None else str(values.get(suite.directory_parameter, ""))
    more = suite.more_directories(values) if isinstance(suite, UsesDirectories) else ()
    return tuple(path for path in dict.fromkeys((own, *more)) if path)


def destroys(suite: Suite, values: Values) -> bool:
    """Return whether a step overwrites what is on a raw device."""
    return isinstance(suite, UsesDevice) and bool(suite.device(values)) and suite.destroys(values)


def effects_of(suite: Suite, values: Values, context: Context) -> tuple[Effect, ...]:
    """Return what a step does beyond the work of its tool: what its suite declares, files of this computer that its
    commands bring, and what they do as root. Root for a raw device is no part of it: the loss of that is asked for."""
    own = suite.effects(values) if isinstance(suite, HasEffects) else ()
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
        if command.root and not device_of(suite, values)
    ]
    return tuple(dict.fromkeys((*own, *copied, *as_root)))


def complete_values(suite: Suite, given: Mapping[str, object]) -> dict[str, Value]:
    """Return a value for every parameter of `suite`: `given` checked, the tool's default elsewhere.

    Raises ParameterError for a name the suite does not have or a value it does not accept.
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
            raise ParameterError(f"{suite.id}: {error.message}", error.remedy) from None
    return values


def tuned_values(suite: Suite, context: Context) -> dict[str, Value]:
    """Return a value for every parameter of `suite`: tuned where the host gives a reason, default elsewhere."""
    return complete_values(suite, {name: tuned.value for name, tuned in suite.tune(context).items()})


MAXIMUM_LINE = 64 * 1024
"""A line longer than this is cut there: a tool that prints one is broken or hostile."""


@dataclass(slots=True)
class LineSplitter:
    """Cuts arriving bytes of each stream into lines of text; bad UTF-8 is replaced.

    Of a line longer than `maximum` bytes only the beginning is kept. How the bytes happen to arrive makes no
    difference to the lines.
    """

    separators: re.Pattern[bytes] = re.compile(rb"\r\n|\n|\r")
    maximum: int = MAXIMUM_LINE
    _pending: dict[str, bytes] = field(default_factory=dict)
    _cut: set[str] = field(default_factory=set)  # streams amid a line whose beginning was already handed out
    _returned: set[str] = field(default_factory=set)  # streams whose last byte was a "\r" that ended a line

    def feed(self, data: bytes, stream: str = "stdout") -> list[str]:
        """Return the lines that `data` completes."""
        if not data:
            return []
        if stream in self._returned:
            self._returned.discard(stream)
            data = data.removeprefix(b"\n")
        *whole, rest = self.separators.split(self._pending.pop(stream, b"") + data)
        if whole and stream in self._cut:
            self._cut.discard(stream)
            del whole[0]
        if not rest and data.endswith(b"\r"):
            self._returned.add(stream)
        whole.extend(self._keep(rest, stream))
        return [line[: self.maximum].decode("utf-8", "replace") for line in whole]

    def _keep(self, rest: bytes, stream: str) -> list[bytes]:
        """Remember the unfinished line `rest`, or hand out its beginning where it is too long already."""
        if stream in self._cut:
            return []
        if len(rest) > self.maximum:
            self._cut.add(stream)
            return [rest]
        self._pending[stream] = rest
        return []

    def rest(self) -> list[str]:
        """Return what never ended in a line break."""
        left = [line.decode("utf-8", "replace") for line in self._pending.values() if line]
        self._pending.clear()
        return left


def version_of(facts: Facts | None, tool: str) -> tuple[int, ...] | None:
    """Return the version of `tool` as numbers, or None where it is not known."""
    text = None if facts is None else facts.tool(tool).version
    match = re.search(r"(\d{1,6})((?:\.\d{1,6})*)", text) if isinstance(text, str) else None
    return tuple(int(part) for part in match.group().split(".")) if match else None
