"""What our own probes share: shipped, or built on the host or here, and the sweep over threads."""

from collections.abc import Sequence
from dataclasses import replace

from suites.base import Command, Context, Purpose
from suites.facts import Facts, known
from suites.host_files import Build, HostFile
from suites.parameters import Choice, Parameter, Type, Value, Values
from suites.programs import COMPILER, Program
from suites.sweep import thread_counts
from suites.thread_checks import cpus_for

AUTO, SHIPPED, ON_HOST, HERE = "auto", "shipped", "host", "here"

ARCHITECTURES = frozenset({"x86_64", "aarch64"})
"""Those, as `uname -m` says them, that every probe is shipped for; see resources/probes/bin and .make/probes."""

HOST_FIRST = frozenset({"blocks"})
"""Probes that measure the host's own C library: memcpy of musl, in the shipped one, is another one than glibc's."""

SHARED = "probe.h"

EVERY_COUNT = 16
"""CPUs up to which a sweep takes every thread count; beyond, it doubles, or it would last for minutes."""

BUILD = Parameter(
    name="build",
    title="Build",
    type=Type.CHOICE,
    default=AUTO,
    help="Which build of the probe runs. Figures of different builds do not compare; the shipped one is the same on "
    "every host of an architecture.",
    choices=(
        Choice(AUTO, "Shipped, or built on the host where there is none for its architecture"),
        Choice(SHIPPED, "Shipped with Benchwright: static, no compiler needed"),
        Choice(ON_HOST, "Built on the host, for its own processor"),
        Choice(HERE, "Built on this computer, then copied"),
    ),
)

BUILD_ON_HOST = replace(
    BUILD, choices=(Choice(AUTO, "Built on the host, or shipped where it has no compiler"), *BUILD.choices[1:])
)
"""The same for the probes of HOST_FIRST."""

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

PACKAGES = COMPILER.packages
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


def architecture_of(facts: Facts | None) -> str:
    """Return the host's architecture as `uname -m` says it; empty where it is not known."""
    return "" if facts is None else known(facts.system.architecture) or ""


def shipped_resource(name: str, architecture: str) -> str | None:
    """Return the resource that is the probe `name` compiled for `architecture`, or None where there is none."""
    return f"probes/bin/{architecture}/{name}" if architecture in ARCHITECTURES else None


def build_of(name: str, values: Values, facts: Facts | None) -> str:
    """Return which build of the probe `name` runs on the host with `facts`: SHIPPED, ON_HOST or HERE."""
    if values["build"] != AUTO:
        return str(values["build"])
    if architecture_of(facts) not in ARCHITECTURES or (name in HOST_FIRST and compiler_of(facts) is not None):
        return ON_HOST
    return SHIPPED


def needed_programs(name: str, values: Values, facts: Facts | None) -> tuple[Program, ...]:
    """Return the compiler where the probe `name` is built on the host with `facts`."""
    return (COMPILER,) if build_of(name, values, facts) == ON_HOST else ()


def own_options(facts: Facts | None) -> tuple[str, ...]:
    """Return the compiler's options for a build on the host itself, for its own processor."""
    architecture = architecture_of(facts)
    if architecture in {"x86_64", "i686"} or facts is None:
        return (*_BASE, "-march=native")
    return (*_BASE, "-mcpu=native") if architecture in {"aarch64", "armv7l", "ppc64le"} else _BASE


def portable_options(facts: Facts | None) -> tuple[str, ...]:
    """Return the compiler's options for a build here: the highest level of instructions the host's flags promise."""
    flags = set((None if facts is None else known(facts.cpu.flags)) or ())
    level = next((name for name, needed in _LEVELS if needed <= flags), None)
    return (*_BASE, f"-march={level}") if level else _BASE


def probe_commands(name: str, words: Sequence[str], values: Values, context: Context) -> tuple[Command, ...]:
    """Return the commands that bring or build the probe `name`, and run it with `words`."""
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
    """Return the commands that bring or build the probe `name` on the host with `facts`, and run it with `words`.

    `sources` are what it includes beside probe.h, `files` what it reads; where it `serves`, it runs on the peer.
    """
    run, purpose = ("./" + name, *words), Purpose.SERVE if serves else Purpose.MEASURE
    build = build_of(name, values, facts)
    if build == SHIPPED:
        resource = shipped_resource(name, architecture_of(facts)) or f"probes/bin/{name}"
        program = HostFile(name, resource=resource, executable=True)
        return (Command(run, purpose, serves, (program, *files)),)
    resources = tuple(f"probes/{source}" for source in (f"{name}.c", SHARED, *sources))
    if build == HERE:
        architecture = architecture_of(facts)
        options = portable_options(facts)
        here = Build(resources, architecture, (*options, build_macro((*options, "-static"))))
        return (Command(run, purpose, serves, (HostFile(name, build=here, executable=True), *files)),)
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
