"""Shared code of Benchwright's probes: shipped, or built on the host or here, and the sweep over threads."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from suites.base import Command, Context, Purpose, StepEvidence
from suites.checks import FACTS_NOT_READ, CheckOutcome, NotChecked, blocking_check
from suites.facts import Facts, cpus_for, known
from suites.host_files import Build, HostFile
from suites.line_parser import LineParser
from suites.outputs import ParsedTrial
from suites.parameters import Choice, Parameter, Type, Value, Values
from suites.programs import COMPILER, Program
from suites.sweep import thread_counts
from suites.tool_messages import exit_text, printable_message
from suites.vocab import Figure, Sample

AUTO, SHIPPED, ON_HOST, ON_WORKSTATION = "auto", "shipped", "host", "here"

ARCHITECTURES = frozenset({"x86_64", "aarch64"})
"""Architectures (`uname -m`) for which every probe is shipped; see resources/probes/bin and .make/probes."""

HOST_FIRST = frozenset({"blocks"})
"""Probes that measure the host's own C library: musl's memcpy, in the shipped build, differs from glibc's."""

SHARED = "probe.h"

EVERY_COUNT = 16
"""CPUs up to which a sweep includes every thread count; beyond, it doubles, or it would last for minutes."""

BUILD = Parameter(
    name="build",
    title="Build",
    default=AUTO,
    help="Build of the probe. Figures of different builds are not comparable; the shipped one is the same on "
    "every host of an architecture.",
    choices=(
        Choice(AUTO, "auto: shipped, or built on the host where no build is shipped for its architecture"),
        Choice(SHIPPED, "shipped: static, no compiler needed"),
        Choice(ON_HOST, "host: built on the host for its processor"),
        Choice(ON_WORKSTATION, "here: built on this computer, then copied"),
    ),
)

BUILD_ON_HOST = replace(
    BUILD, choices=(Choice(AUTO, "auto: built on the host, or shipped where it has no compiler"), *BUILD.choices[1:])
)
"""BUILD for the probes of HOST_FIRST."""

THREADS = Parameter(
    name="threads",
    title="Threads",
    type=Type.INTEGER,
    default=0,
    help="Largest number of concurrent threads; 0 is one per usable CPU.",
    option="--threads",
    minimum=0,
    maximum=4096,
)

SWEEP = Parameter(
    name="sweep",
    title="Sweep",
    default="every",
    help="Thread counts measured one after the other, up to the largest.",
    option="--sweep",
    choices=(
        Choice("every", "every: 1, 2, 3 and so on"),
        Choice("doubling", "doubling: 1, 2, 4 and so on"),
        Choice("single", "single: only the largest"),
    ),
)

_LEVELS: tuple[tuple[str, frozenset[str]], ...] = (
    ("x86-64-v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma", "bmi2"})),
    ("x86-64-v3", frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})),
    ("x86-64-v2", frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})),
)
"""Levels of the x86-64 psABI, the highest first, each with the flags of /proc/cpuinfo that identify it."""

_BASE = ("-std=gnu11", "-O3", "-pthread")


def compiler_of(facts: Facts | None) -> str | None:
    """Return the compiler to call on the host: gcc, else cc; None if it has neither. Without facts: gcc."""
    if facts is None:
        return "gcc"
    return next(
        (name for name in ("gcc", "cc") if known(facts.tool(name).path) or known(facts.tool(name).version)), None
    )


def architecture_of(facts: Facts | None) -> str:
    """Return the host's architecture as in `uname -m`; empty if not known."""
    return "" if facts is None else known(facts.system.architecture) or ""


def shipped_resource(name: str, architecture: str) -> str | None:
    """Return the resource of the probe `name` compiled for `architecture`, or None if there is none."""
    return f"probes/bin/{architecture}/{name}" if architecture in ARCHITECTURES else None


def build_of(name: str, values: Values, facts: Facts | None) -> str:
    """Return which build of the probe `name` runs on the host with `facts`: SHIPPED, ON_HOST or ON_WORKSTATION."""
    if values["build"] != AUTO:
        return str(values["build"])
    if architecture_of(facts) not in ARCHITECTURES or (name in HOST_FIRST and compiler_of(facts) is not None):
        return ON_HOST
    return SHIPPED


def needed_programs(name: str, values: Values, facts: Facts | None) -> tuple[Program, ...]:
    """Return the compiler if the probe `name` is built on the host with `facts`."""
    return (COMPILER,) if build_of(name, values, facts) == ON_HOST else ()


def native_options(facts: Facts | None) -> tuple[str, ...]:
    """Return the compiler options of a build on the host, for its own processor."""
    architecture = architecture_of(facts)
    if architecture in {"x86_64", "i686"} or facts is None:
        return (*_BASE, "-march=native")
    return (*_BASE, "-mcpu=native") if architecture in {"aarch64", "armv7l", "ppc64le"} else _BASE


def portable_options(facts: Facts | None) -> tuple[str, ...]:
    """Return the compiler options of a build on this computer: the highest x86-64 level of the host's flags."""
    flags = set((None if facts is None else known(facts.cpu.flags)) or ())
    level = next((name for name, needed in _LEVELS if needed <= flags), None)
    return (*_BASE, f"-march={level}") if level else _BASE


def probe_commands(name: str, words: Sequence[str], values: Values, context: Context) -> tuple[Command, ...]:
    """Return the commands that place or build the probe `name`, and run it with `words`."""
    return probe_end(name, words, values, context.facts)


def probe_end(
    name: str,
    words: Sequence[str],
    values: Values,
    facts: Facts | None,
    *,
    sources: Sequence[str] = (),
    files: tuple[HostFile, ...] = (),
    serves: bool = False,
) -> tuple[Command, ...]:
    """Return the commands that place or build the probe `name` on the host with `facts`, and run it with `words`.

    `sources` are its includes beside probe.h, `files` its input files; if it `serves`, it runs on the peer.
    """
    run, purpose = ("./" + name, *words), Purpose.SERVE if serves else Purpose.MEASURE
    build = build_of(name, values, facts)
    if build == SHIPPED:
        resource = shipped_resource(name, architecture_of(facts)) or f"probes/bin/{name}"
        program = HostFile(name, resource=resource, executable=True)
        return (Command(run, purpose, serves, (program, *files)),)
    resources = tuple(f"probes/{source}" for source in (f"{name}.c", SHARED, *sources))
    if build == ON_WORKSTATION:
        architecture = architecture_of(facts)
        options = portable_options(facts)
        here = Build(resources, architecture, (*options, build_macro((*options, "-static"))))
        return (Command(run, purpose, serves, (HostFile(name, build=here, executable=True), *files)),)
    options = native_options(facts)
    compile_it = (compiler_of(facts) or "gcc", *options, build_macro(options), "-o", name, f"{name}.c")
    needed = tuple(HostFile(resource.rpartition("/")[2], resource=resource) for resource in resources)
    return (Command(compile_it, Purpose.PREPARE, serves, needed), Command(run, purpose, serves, files))


def build_macro(options: Sequence[str]) -> str:
    """Return the option with which the probe prints the options it was built with."""
    return f'-DBUILD="{" ".join(options)}"'


def most_threads(values: Values, context: Context) -> int | None:
    """Return the largest thread count of a step: the one given, else one per CPU; None if that is not known."""
    asked = int(values["threads"])
    if asked:
        return asked
    return None if context.facts is None else cpus_for(context.facts)


def thread_arguments(values: Values, context: Context) -> tuple[str, ...]:
    """Return the options of the sweep. If the CPUs are not known, the probe counts them itself."""
    return ("--threads", str(most_threads(values, context) or 0), "--sweep", str(values["sweep"]))


def sweep_counts(values: Values, context: Context) -> tuple[int, ...] | None:
    """Return the thread counts of a step, or None if the largest is not known."""
    most = most_threads(values, context)
    return None if most is None else thread_counts(most, str(values["sweep"]))


def tuned_sweep(context: Context) -> tuple[Value, str] | None:
    """Return the sweep that fits the host, and why; None if the default fits or the CPUs are not known."""
    cpus = None if context.facts is None else cpus_for(context.facts)
    if cpus is None or cpus <= EVERY_COUNT:
        return None
    counts = ", ".join(map(str, thread_counts(cpus, "doubling")))
    return "doubling", f"{cpus} CPUs: {counts} show the curve; every count would take {cpus} measurements."


# Parser of the probes' output lines (see resources/probes/probe.h).


MAXIMUM_SAMPLES = 200_000
"""Limit of samples: two per second for a day; a broken probe prints more."""


_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?")
_HEADER = re.compile(r"# ([a-z0-9-]{1,40}) (\S.{0,400})")
_FAILURE = re.compile(
    r"error (?P<words>\S.*)"
    r"|(?P<shell>Killed|Illegal instruction.*"
    r"|.*: (?:(?:command )?not found|Permission denied|No such file or directory))"
)


@dataclass(frozen=True, slots=True)
class Record:
    """One output line of a probe: its kind, and name-value pairs."""

    kind: str
    words: Mapping[str, str]

    def number(self, name: str) -> float | None:
        """Return the number `name`, or None if there is none."""
        text = self.words.get(name, "")
        return float(text) if _NUMBER.fullmatch(text) else None

    def count(self, name: str) -> int | None:
        """Return the whole number `name`, or None if there is none."""
        text = self.words.get(name, "")
        return int(text) if re.fullmatch(r"\d{1,18}", text) else None


def read_record(line: str) -> Record | None:
    """Return the record in `line`, or None if it is not one: a kind, then alternating names and values."""
    kind, *words = line.split(" ")
    if not re.fullmatch(r"[a-z]{1,20}", kind) or len(words) % 2 or not all(words):
        return None
    return Record(kind, dict(zip(words[::2], words[1::2], strict=True)))


@dataclass(slots=True)
class OutputHeader:
    """Header of a probe's output, such as ``# compiler gcc 12.2.0``."""

    words: dict[str, str] = field(default_factory=dict)

    def read(self, line: str) -> bool:
        """Parse `line` if it belongs to the header; each key counts once."""
        match = _HEADER.fullmatch(line)
        if match is not None:
            self.words.setdefault(match[1], printable_message(match[2]))
        return match is not None

    def version(self, program: str) -> str | None:
        """Return the probe's version, compiler and options as text, or None if one is missing.

        A shipped probe is named by the first digits of its SHA-256, too.
        """
        parts = [self.words.get(name) for name in (f"benchwright-{program}", "compiler", "options")]
        if not all(parts):
            return None
        digest = self.words.get("sha256", "")
        if re.fullmatch(r"[0-9a-f]{64}", digest):
            parts.append(f"shipped, sha256 {digest[:16]}")
        return ", ".join(part for part in parts if part)


class Reader(Protocol):
    """Reader of the records of one kind of probe."""

    def take(self, record: Record) -> list[Sample]:
        """Parse a record; return the samples it holds."""
        ...

    def conclude(self, head: OutputHeader) -> tuple[list[Figure], list[str]]:
        """Return the figures and notes of all records."""
        ...


class ProbeParser(LineParser):
    """Parser of one trial: the parts shared by all probes."""

    def __init__(self, program: str, reader: Reader) -> None:
        self._program = program
        self._reader = reader
        super().__init__()
        self._head = OutputHeader()
        self._done = False

    def _result(self, exit_status: int | None) -> ParsedTrial:
        if not self._recognised():
            note = f"Not the output of Benchwright's probe {self._program}, or its beginning is missing."
            return ParsedTrial(notes=(*self._failure_notes(), note), complete=False)
        figures, notes = self._reader.conclude(self._head)
        troubles = self._troubles(exit_status)
        if not figures and not troubles:
            troubles = [f"{self._program} ended without a readable figure."]
        version = self._head.version(self._program)
        return ParsedTrial(tuple(figures), tuple(self._samples), (*troubles, *notes), not troubles, version)

    def _recognised(self) -> bool:
        """Whether the header was seen, or only a failure to start."""
        started = f"benchwright-{self._program}" in self._head.words
        return started or bool(self._failures and not self._samples and not self._done)

    def _read(self, line: str) -> None:
        if self._head.read(line) or self._failed(line):
            return
        if line == "done":
            self._done = True
            return
        record = read_record(line)
        samples = self._reader.take(record) if record is not None else []
        last = self._samples[-1].time if self._samples else 0.0
        if len(self._samples) < MAXIMUM_SAMPLES and all(sample.time >= last for sample in samples):
            self._samples += samples

    def _read_unfinished(self, line: str) -> None:
        self._failed(line)

    def _failure_notes(self) -> list[str]:
        return [f"{self._program} failed: {words}." for words in self._failures]

    def _failed(self, line: str) -> bool:
        match = _FAILURE.fullmatch(line)
        if match is None:
            return False
        self._fail(match["words"] or match["shell"])
        return True

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = self._failure_notes()
        if not self._done and not troubles:
            last = f" The live figures up to {self._samples[-1].time:.3g} s are kept." if self._samples else ""
            troubles.append(f"{self._program} was cut off: its last line is missing.{last}")
        if exit_status:
            troubles.append(f"{self._program} {exit_text(exit_status)}.{_HINTS.get(exit_status, '')}")
        return troubles


_HINTS = {
    126: " Its directory may be mounted with noexec; choose another home or temporary directory.",
    132: " It was built for another processor: set build to “shipped”.",
}
"""Hints by exit status: 126, the file is not executable; 128 + 4, SIGILL, an instruction the processor lacks."""


# Checks shared by all probes.


def uses_probe(evidence: StepEvidence) -> bool:
    """Whether the step runs Benchwright's probe and not a program of the user."""
    return not evidence.values.get("program")


def _not_built(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    build = evidence.values["build"]
    if not uses_probe(evidence) or build in {AUTO, ON_HOST}:
        return None
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    architecture = known(facts.system.architecture)
    if architecture in ARCHITECTURES:
        return None
    return CheckOutcome(f"The host is {architecture or 'of an unknown architecture'}.", changes={"build": ON_HOST})


NO_COMPILER = blocking_check(
    id="probe-no-compiler",
    title="No probe for this architecture",
    why="Benchwright ships probes for x86-64 and aarch64, and cross-builds only for these two.",
    remedy="Set build to host.",
    source="uname -m on the host.",
    needs="The host's architecture.",
    evaluate=_not_built,
)
