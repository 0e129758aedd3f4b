"""memory-blocks: copying, reading and writing blocks of any size, in order or at random; latency by working set."""

from collections.abc import Mapping

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import StepCheck
from suites.facts import Facts
from suites.memory_blocks.checks import BLOCKS_CHECKS
from suites.memory_blocks.output import METRICS, BlocksReader
from suites.memory_blocks.parameters import LARGEST_SET, PARAMETERS, block_sizes, fitting_memory
from suites.parameters import Parameter, Tuned, Values, format_size
from suites.probe.output import ProbeParser
from suites.probe.probe import PACKAGES, needed_programs, probe_commands, sweep_counts, thread_words
from suites.programs import Program
from suites.vocab import Metric, Resource

TOUCH_RATE = 1e9
"""B/s at which a thread touches new memory, about: the kernel clears each page first."""

CHASE_SECONDS = 0.25
"""The longest that one working set is chased through, after its chain was built (see blocks.c)."""

SMALLEST_SET = 4096


class MemoryBlocks:
    """Memory by blocks. Fixed time, operations counted: more throughput and less time each are better."""

    id = "memory-blocks"
    title = "Memory blocks"
    summary = "Copies, reads and writes blocks of 1 B to 1 MiB or any size; true latency through every cache."
    resource = Resource.MEMORY
    tool = "blocks"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = BLOCKS_CHECKS

    def needs_tool(self, values: Values) -> bool:
        """Return False: the probe is our own."""
        del values
        return False

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler where the probe is built on the host."""
        return needed_programs("blocks", values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return memory that no cache holds, and working sets up to as much."""
        memory = fitting_memory(context.facts)
        largest = min(int(memory.value), LARGEST_SET)
        why = f"Up to {format_size(largest)}, so that the last step shows memory behind every cache."
        return {"memory": memory, "largest_set": Tuned(largest, why)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the build and one run of the probe."""
        words = ["--blocks", ",".join(map(str, block_sizes(values)))]
        if values["operations"] != "all":
            words += ["--operations", str(values["operations"])]
        if values["patterns"] != "both":
            words += ["--patterns", str(values["patterns"])]
        words += ["--memory", str(values["memory"]), "--chase", str(values["largest_set"])]
        words += ["--time", f"{float(values['time']):g}", *thread_words(values, context)]
        return probe_commands("blocks", words, values, context)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all combinations, of touching their memory, and of the latencies."""
        counts = sweep_counts(values, context)
        if counts is None:
            return Estimate(None)
        operations = 3 if values["operations"] == "all" else 1
        patterns = 2 if values["patterns"] == "both" else 1
        memory, blocks = int(values["memory"]), len(str(values["blocks"]).split(","))
        each = sum(float(values["time"]) + 2 * memory / TOUCH_RATE / min(threads, 4) for threads in counts)
        sets = 2 * max(0, (int(values["largest_set"]) // SMALLEST_SET).bit_length())
        latency = sets * CHASE_SECONDS + int(values["largest_set"]) / TOUCH_RATE
        return Estimate(operations * patterns * blocks * each + latency)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return ProbeParser("blocks", BlocksReader())
