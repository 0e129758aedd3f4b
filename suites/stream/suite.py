"""STREAM: memory bandwidth by thread count, with the bundled kernels or a user's program."""

import math
import re

from suites.base import Command, Context, Effect, EffectKind, Estimate, Suite, TestedTool, Workload
from suites.command_line import CommandSyntax
from suites.equivalents import (
    MEMORY_QUESTION,
    THREADS_MAPPING,
    Bias,
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    all_threads,
    tool_difference,
)
from suites.facts import Facts
from suites.identities import in_text
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat
from suites.parameters import Tuned, Value, Values
from suites.probe import needed_programs, probe_commands, sweep_counts, thread_arguments, tuned_sweep
from suites.programs import COMPILER, Program, bundled
from suites.stream.checks import STREAM_CHECKS
from suites.stream.metrics import METRICS
from suites.stream.output import IDENTITIES, StreamParser
from suites.stream.parameters import (
    ELEMENT,
    PARAMETERS,
    PROGRAM,
    bundled_kernels,
    elements,
    fitting_array,
    fitting_times,
    iteration_seconds,
)
from suites.vocab import Resource

FILLING = 4
"""Iterations that take about as long as filling and checking the arrays: touching new pages is slow."""


def _block_of_arrays(value: Value, values: Values, facts: Facts | None) -> Value | None:
    """Return the power of two nearest to each thread's share of the three arrays."""
    threads = all_threads(values["threads"], values, facts)
    return int(2 ** round(math.log2(3 * int(value) / int(threads or 1))))


def _array_of_blocks(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the size of one of three arrays that together equal sysbench's blocks."""
    blocks = int(values["threads"]) if values.get("scope") == "local" else 1
    return int(value) * blocks // 3 // 8 * 8


_TRIAD = "STREAM counts the 24 bytes that a triad names per element; the store also reads the line it writes to"


def _array_bytes(elements: str) -> int:
    return int(elements) * ELEMENT


_STATED = (
    StatedLine("array_size", re.compile(r"Array size = (\d{1,15}) "), _array_bytes),
    StatedLine("times", re.compile(r"Each (?:kernel|test) (?:will be executed|is run) (\d{1,6}) times")),
    StatedLine("threads", re.compile(r"Number of Threads (?:counted|requested) = (\d{1,6})")),
    StatedLine("array_size", re.compile(r"# bytes (\d{1,15})$")),
    StatedLine("times", re.compile(r"# times (\d{1,6})$")),
)
_FIRST = re.compile(r"STREAM version \$Revision: |# benchwright-stream \d")
_LINE = re.compile(
    r"(?:Copy|Scale|Add|Triad): +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$|Function +(?:Best )?Rate|Array size = \d|"
    r"live time \d|(?:result|valid) threads \d"
)


class Stream(Suite):
    """Memory bandwidth. Fixed work, timed: the best time of several iterations, and higher is better."""

    id = "stream"
    title = "STREAM"
    summary = "Memory bandwidth: copy, scale, add and triad over large arrays with 1 to all threads."
    resource = Resource.MEMORY
    tried = TestedTool(
        "Benchwright’s own kernels, shipped and built by gcc 12.2, run for real, in agreement with numpy; STREAM "
        "5.10 from a captured output",
        "every iteration; STREAM itself not",
        "thread sweep with its knee",
    )
    program = bundled("stream")
    other_programs = (COMPILER,)
    parameters = PARAMETERS
    syntax = CommandSyntax(
        ("stream",), paths=("program",), texts={"array_size": lambda elements: str(8 * int(elements))}
    )
    metrics = METRICS
    parser_type = StreamParser
    checks = STREAM_CHECKS
    equivalents = (
        Equivalent(
            "sysbench-memory",
            MEMORY_QUESTION,
            (THREADS_MAPPING, ParameterMapping("array_size", "block_size", _block_of_arrays, _array_of_blocks)),
            (MetricMapping(("bandwidth",), ("throughput",), note=f"{_TRIAD}; sysbench counts each block once"),),
            fixed=(
                ("operation", "write"), ("scope", "local"), ("access_mode", "seq"), ("total_size", 2**50),
                ("time", 5.0),
            ),
            fixed_backward=(("sweep", "single"),),
            reasons=tool_difference(
                "The loops differ: STREAM’s is vectorised; sysbench’s goes word by word and is limited by the "
                "loop, not by memory.",
                Bias.DECLARING,
            ),
        ),
        Equivalent(
            "stress-ng",
            MEMORY_QUESTION,
            (THREADS_MAPPING,),
            (
                MetricMapping(
                    ("bandwidth",), ("read_bandwidth", "write_bandwidth"),
                    note=f"{_TRIAD}; what stress-ng calls MB is 2^20 bytes",
                ),
            ),
            fixed=(("method", "stream"), ("time", 15.0)),
            fixed_backward=(("sweep", "single"),),
            reasons=tool_difference(
                "STREAM reports the best of its passes, stress-ng the mean of all kernels over the whole time.",
                Bias.DECLARING,
            ),
        ),
    )  # fmt: skip

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of STREAM's output."""
        read = by_parser(self, _STATED, contradictions=in_text(IDENTITIES))
        return (OutputFormat(title="STREAM", first=_FIRST, line=_LINE, read=read),)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler if the probe is built on the host."""
        return needed_programs("stream", values, facts) if bundled_kernels(values) else ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return arrays beyond all caches, enough iterations, and a sweep of reasonable duration."""
        array = fitting_array(context.facts)
        tuned = {"array_size": array, "times": fitting_times(int(array.value))}
        sweep = tuned_sweep(context)
        return tuned if sweep is None else tuned | {"sweep": Tuned(*sweep)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the build and one run of the probe, or one run of the user's program for each thread count."""
        if bundled_kernels(values):
            words = ("--elements", str(elements(values)), "--times", str(values["times"]))
            return probe_commands("stream", (*words, *thread_arguments(values, context)), values, context)
        program, counts = str(values["program"]), sweep_counts(values, context)
        if counts is None:
            return (Command((program,)),)
        return tuple(Command(("env", f"OMP_NUM_THREADS={threads}", program)) for threads in counts)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the program set by the user."""
        own = bundled_kernels(values)
        return () if own else (Effect(EffectKind.EXECUTES, str(values["program"]), PROGRAM.title),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the approximate time of the sweep on a slow server; unknown for the user's own program."""
        counts = sweep_counts(values, context)
        if counts is None or not bundled_kernels(values):
            return Estimate(duration=None)
        iterations = int(values["times"]) + FILLING
        size = int(values["array_size"])
        return Estimate(duration=sum(iterations * iteration_seconds(size, threads) for threads in counts))

    def workload(self, values: Values) -> Workload:
        """Return that the figure is the best of several passes that move memory."""
        return Workload(best_of=True, moves_memory=True)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits(
            operation="read and write",
            pattern="sequential",
            threads=all_threads(values["threads"], values, facts),
            working_set=3 * int(values["array_size"]) if bundled_kernels(values) else None,
        )
