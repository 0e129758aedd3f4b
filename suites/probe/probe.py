"""What our own probes share: how they are built, on the host or here, and the sweep over threads."""

from collections.abc import Sequence

from suites.base import Command, Context, Purpose
from suites.facts import Facts, known
from suites.host_files import Build, HostFile
from suites.parameters import Choice, Parameter, Type, Value, Values
from suites.sweep import thread_counts
from suites.thread_checks import cpus_for

AUTO, ON_HOST, HERE = "auto", "host", "here"

SHARED = "probe.h"

EVERY_COUNT = 16
"""CPUs up to which a sweep takes every thread count; beyond, it doubles, or it would last for minutes."""

BUILD = Parameter(
    name="build",
    title="Build",
    type=Type.CHOICE,
    default=AUTO,
    help="Where the probe is compiled. Figures of different builds do not compare; one built here is the same for all.",
    choices=(
        Choice(AUTO, "On the host, or here if it has no compiler"),
        Choice(ON_HOST, "On the host, for its own processor"),
        Choice(HERE, "On this computer, then copied"),
    ),
)

THREADS = Parameter(
    name="threads",
    title="Threads",
    type=Type.INTEGER,
    default=0,
    help="The most threads that work at once; 0 is one for each CPU that may be used.",
    option="--threads",
    minimum=0,
    maximum=4096,
)

SWEEP = Parameter(
    name="sweep",
    title="Sweep",
    type=Type.CHOICE,
    default="every",
    help="The thread counts that are measured one after the other, up to the most.",
    option="--sweep",
    choices=(
        Choice("every", "Every count: 1, 2, 3 and so on"),
        Choice("doubling", "Doubling: 1, 2, 4 and so on"),
        Choice("single", "The most threads only"),
    ),
)

PACKAGES = {"apt": "gcc libc6-dev", "dnf": "gcc", "yum": "gcc", "zypper": "gcc", "pacman": "gcc", "apk": "gcc musl-dev"}
"""The compiler that a host may lack, by package manager."""

_LEVELS: tuple[tuple[str, frozenset[str]], ...] = (
    ("x86-64-v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma", "bmi2"})),
    ("x86-64-v3", frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})),
    ("x86-64-v2", frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})),
)
"""The levels of the x86-64 psABI, the highest first, with flags of /proc/cpuinfo that tell a processor has one."""

_BASE = ("-std=gnu11", "-O3", "-pthread")


def compiler_of(facts: Facts | None) -> str | None:
    """Return the compiler to call on the host: gcc, else cc; None where it has neither. Unread facts count as gcc."""
    if facts is None:
        return "gcc"
    return next(
        (name for name in ("gcc", "cc") if known(facts.tool(name).path) or known(facts.tool(name).version)), None
    )


def built_here(values: Values, facts: Facts | None) -> bool:
    """Whether the probe is built on this computer."""
    return values["build"] == HERE or (values["build"] == AUTO and compiler_of(facts) is None)


def own_options(facts: Facts | None) -> tuple[str, ...]:
    """Return the compiler's options for a build on the host itself, for its own processor."""
    architecture = None if facts is None else known(facts.system.architecture)
    if architecture in {"x86_64", "i686"} or facts is None:
        return (*_BASE, "-march=native")
    return (*_BASE, "-mcpu=native") if architecture in {"aarch64", "armv7l", "ppc64le"} else _BASE


def portable_options(facts: Facts | None) -> tuple[str, ...]:
    """Return the compiler's options for a build here: the highest level of instructions the host's flags promise."""
    flags = set((None if facts is None else known(facts.cpu.flags)) or ())
    level = next((name for name, needed in _LEVELS if needed <= flags), None)
    return (*_BASE, f"-march={level}") if level else _BASE


def probe_commands(name: str, words: Sequence[str], values: Values, context: Context) -> tuple[Command, ...]:
    """Return the commands that build the probe `name`, where the host does that, and run it with `words`."""
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
    """Return the commands that build the probe `name` on the host with `facts`, and run it there with `words`.

    `sources` are what it includes beside probe.h, `files` what it reads; where it `serves`, it runs on the peer.
    """
    run, purpose = ("./" + name, *words), Purpose.SERVE if serves else Purpose.MEASURE
    resources = tuple(f"probes/{source}" for source in (f"{name}.c", SHARED, *sources))
    if built_here(values, facts):
        architecture = "" if facts is None else known(facts.system.architecture) or ""
        options = portable_options(facts)
        build = Build(resources, architecture, (*options, build_macro((*options, "-static"))))
        return (Command(run, purpose, serves, (HostFile(name, build=build, executable=True), *files)),)
    options = own_options(facts)
    compile_it = (compiler_of(facts) or "gcc", *options, build_macro(options), "-o", name, f"{name}.c")
    needed = tuple(HostFile(resource.rpartition("/")[2], resource=resource) for resource in resources)
    return (Command(compile_it, Purpose.PREPARE, serves, needed), Command(run, purpose, serves, files))


def build_macro(options: Sequence[str]) -> str:
    """Return the option that lets the probe print the options it was built with."""
    return f'-DBUILD="{" ".join(options)}"'


def most_threads(values: Values, context: Context) -> int | None:
    """Return the most threads of a step: those asked for, else one for each CPU; None where that is not known."""
    asked = int(values["threads"])
    if asked:
        return asked
    return None if context.facts is None else cpus_for(context.facts)


def thread_words(values: Values, context: Context) -> tuple[str, ...]:
    """Return the options of the sweep. Where the CPUs are not known, the probe counts them itself."""
    return ("--threads", str(most_threads(values, context) or 0), "--sweep", str(values["sweep"]))


def sweep_counts(values: Values, context: Context) -> tuple[int, ...] | None:
    """Return the thread counts of a step, or None where the most is not known."""
    most = most_threads(values, context)
    return None if most is None else thread_counts(most, str(values["sweep"]))


def tuned_sweep(context: Context) -> tuple[Value, str] | None:
    """Return the sweep that fits the host, and why; None where the default does or the CPUs are not known."""
    cpus = None if context.facts is None else cpus_for(context.facts)
    if cpus is None or cpus <= EVERY_COUNT:
        return None
    counts = ", ".join(map(str, thread_counts(cpus, "doubling")))
    return "doubling", f"{cpus} CPUs: {counts} show the curve; every count would take {cpus} measurements."
