"""stream: memory bandwidth after STREAM's rules, by our own kernels or the user's own program, over thread counts."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, EffectKind, Estimate, TrialParser
from suites.checks import StepCheck
from suites.facts import Facts
from suites.parameters import Parameter, Tuned, Values
from suites.probe.probe import PACKAGES, needed_programs, probe_commands, sweep_counts, thread_words, tuned_sweep
from suites.programs import Program
from suites.stream.checks import STREAM_CHECKS
from suites.stream.metrics import METRICS
from suites.stream.output import StreamParser
from suites.stream.parameters import (
    PARAMETERS,
    PROGRAM,
    elements,
    fitting_array,
    fitting_times,
    iteration_seconds,
    own_kernels,
)
from suites.vocab import Metric, Resource

FILLING = 4
"""Iterations that filling and checking the arrays take as long as, about: touching new pages is slow."""


class Stream:
    """The bandwidth of memory. Fixed work, timed: the best time of several counts, and more is better."""

    id = "stream"
    title = "STREAM"
    summary = "Copy, scale, add and triad over large arrays with 1 to all threads: what the memory delivers."
    resource = Resource.MEMORY
    tool = "stream"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = STREAM_CHECKS

    def needs_tool(self, values: Values) -> bool:
        """Return False: the kernels are our own, or the user says where a program is."""
        del values
        return False

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler where the probe is built on the host."""
        return needed_programs("stream", values, facts) if own_kernels(values) else ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return arrays that no cache holds, enough iterations, and a sweep that ends in reasonable time."""
        array = fitting_array(context.facts)
        tuned = {"array_size": array, "times": fitting_times(int(array.value))}
        sweep = tuned_sweep(context)
        return tuned if sweep is None else tuned | {"sweep": Tuned(*sweep)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the build and one run of the probe, or one run of the user's program for each thread count."""
        if own_kernels(values):
            words = ("--elements", str(elements(values)), "--times", str(values["times"]))
            return probe_commands("stream", (*words, *thread_words(values, context)), values, context)
        program, counts = str(values["program"]), sweep_counts(values, context)
        if counts is None:
            return (Command((program,)),)
        return tuple(Command(("env", f"OMP_NUM_THREADS={threads}", program)) for threads in counts)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the program that the user named."""
        own = own_kernels(values)
        return () if own else (Effect(EffectKind.EXECUTES, str(values["program"]), PROGRAM.title),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return about what the sweep takes on a slow server; nothing is known of the user's own program."""
        counts = sweep_counts(values, context)
        if counts is None or not own_kernels(values):
            return Estimate(duration=None)
        iterations = int(values["times"]) + FILLING
        size = int(values["array_size"])
        return Estimate(duration=sum(iterations * iteration_seconds(size, threads) for threads in counts))

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return StreamParser()
