"""ioping: the latency of single requests, as ping is for a network."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import StepCheck
from suites.disk import MIB, amount, best_directory, whole_mebibytes
from suites.facts import Directory, known
from suites.ioping.checks import IOPING_CHECKS
from suites.ioping.output import METRICS, IopingParser
from suites.ioping.parameters import IOPING_PARAMETERS, writes
from suites.parameters import Parameter, Tuned, Values, size_word
from suites.vocab import Metric, Resource

TUNED_REQUESTS = 300
TUNED_INTERVAL = 0.1

TUNED_WORKING_SET = 256 * MIB
"""Bytes: more than most devices hold in their own memory for one file, and written within 4 s at 64 MB/s."""

SHARE_OF_FREE = 10

_CACHE_WORDS = MappingProxyType({"default": (), "direct": ("-D",), "cached": ("-C",)})


class Ioping:
    """The ping of a disk: one request after another, with a pause between them."""

    id = "ioping"
    title = "ioping"
    summary = "How long a single read or write takes while nothing else is asked of the disk. No rates: fio has those."
    resource = Resource.DISK
    tool = "ioping"
    packages: Mapping[str, str] = MappingProxyType(dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "ioping"))
    parameters: tuple[Parameter, ...] = IOPING_PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = IOPING_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return enough requests over enough of the disk, past the page cache."""
        seconds = TUNED_REQUESTS * TUNED_INTERVAL
        tuned = {
            "count": Tuned(
                TUNED_REQUESTS, f"{TUNED_REQUESTS} requests in {seconds:g} s, so that rare slow ones are met."
            ),
            "interval": Tuned(
                TUNED_INTERVAL, "Ten requests a second: the disk is idle in between, as with ioping's 1 s."
            ),
            "working_set": Tuned(TUNED_WORKING_SET, "ioping's own 1 MiB can stay in the device's memory."),
        }
        directory = best_directory(context.facts)
        if directory is None:
            return tuned
        tuned["directory"] = Tuned(directory.path, "The most room of the directories that were tried.")
        tuned["working_set"] = _working_set(directory)
        if directory.direct is True:
            why = f"{directory.path} accepts direct I/O (tried), so that no request is answered from memory."
            tuned["cache"] = Tuned("direct", why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command. ioping makes its working set itself, in a file without a name."""
        del context  # the command is the same on every host
        words = [
            *_CACHE_WORDS[str(values["cache"])],
            *(["-W"] if writes(values) else []),
            *(["-L"] if values["linear"] else []),
            *(["-B"] if values["batch"] else []),
            *("-c", str(values["count"])),
            *("-i", f"{float(values['interval']):g}s"),
            *("-s", size_word(int(values["block_size"]))),
            *("-S", size_word(int(values["working_set"]))),
        ]
        return (Command(("ioping", *words, ".")),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time that the pauses take, and the bytes of the working set, written before each trial."""
        del context
        size, count = int(values["working_set"]), int(values["count"])
        requests = count * int(values["block_size"]) if writes(values) else 0
        return Estimate(duration=count * float(values["interval"]), written=size + requests, space=size)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser, which places each request by its number and the interval."""
        return IopingParser(float(values["interval"]))


def _working_set(directory: Directory) -> Tuned:
    free = known(directory.free)
    size = whole_mebibytes(TUNED_WORKING_SET if free is None else min(TUNED_WORKING_SET, free // SHARE_OF_FREE))
    return Tuned(size, f"Requests fall anywhere in {amount(size)}; ioping's own 1 MiB can stay in the device's memory.")
