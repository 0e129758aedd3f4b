"""dd: the quick and dirty copy. Everybody has it, and its defaults measure memory rather than the disk."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.dd.checks import DD_CHECKS
from suites.dd.output import METRICS, DdParser
from suites.dd.parameters import BLOCK_SIZE, DD_PARAMETERS, TUNED_BLOCK, URANDOM, copied, writes
from suites.disk import GIB, MIB, SOLID_STATE_RATE, amount, best_directory
from suites.facts import Directory, known
from suites.parameters import Parameter, Tuned, Values, size_word
from suites.targets import Target
from suites.vocab import Metric, Resource

FILE_NAME = "benchwright.dat"
_FILE = (Target(FILE_NAME),)

TUNED_SIZE = 4 * GIB
"""Bytes of the tuned copy: 1.6 s at the 2.7 GB/s of a fast disk, 34 s at 125 MB/s."""

SHARE_OF_FREE = 4

_FLUSH_WORDS = MappingProxyType(
    {"none": (), "fdatasync": ("conv=fdatasync",), "direct": ("oflag=direct",), "dsync": ("oflag=dsync",)}
)
_READ_WORDS = MappingProxyType({"cached": (), "direct": ("iflag=direct",)})


class Dd:
    """The copy that everybody types. It writes a file from zeros or random bytes, or reads one back."""

    id = "dd"
    title = "dd"
    summary = "One copy in sequence, one block at a time. Quick; mind what it warns of: memory, zeros, a slow source."
    resource = Resource.DISK
    tool = "dd"
    packages: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "coreutils")
    )
    parameters: tuple[Parameter, ...] = DD_PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = DD_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return large blocks, a file that takes some seconds, and a way past the page cache."""
        tuned = {
            "block_size": Tuned(
                TUNED_BLOCK,
                f"Each block is one call: dd's own 512 bytes gave 10 MB/s where {amount(TUNED_BLOCK)} gave 2 GB/s.",
            )
        }
        directory = best_directory(context.facts)
        if directory is None:
            return tuned
        tuned["directory"] = Tuned(directory.path, "The most room of the directories that were tried.")
        tuned["count"] = _tuned_count(directory)
        if directory.direct is True:
            why = f"{directory.path} accepts direct I/O (tried), so that the device is measured, not the page cache."
            tuned |= {"flush": Tuned("direct", why), "read": Tuned("direct", why)}
        else:
            why = "Flushing before the clock stops counts the device too; direct I/O is not known to work here."
            tuned["flush"] = Tuned("fdatasync", why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the copy, and before a read the one that writes the file."""
        del context  # the commands are the same on every host
        if writes(values):
            return (Command(("dd", *_write_words(values)), targets=_FILE),)
        layout = Command(("dd", *_layout_words(values)), Purpose.PREPARE, targets=_FILE)
        return (layout, Command(("dd", *_read_words(values))))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial writes and needs; how long a copy takes is what is measured."""
        del context
        size = copied(values)
        written, prepared = (size, 0) if writes(values) else (0, size)
        return Estimate(duration=None, written=written, prepared=prepared, space=size)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return DdParser()


def _tuned_count(directory: Directory) -> Tuned:
    free = known(directory.free)
    size = TUNED_SIZE if free is None else min(TUNED_SIZE, free // SHARE_OF_FREE)
    count = max(1, size // TUNED_BLOCK)
    total = count * TUNED_BLOCK
    room = "" if free is None else f" of the {amount(free)} free"
    return Tuned(count, f"{amount(total)}{room}: {total / SOLID_STATE_RATE:.2g} s at 1 GB/s, more on a slower disk.")


def _write_words(values: Values) -> list[str]:
    source = str(values["input"])
    whole = ["iflag=fullblock"] if source == URANDOM else []  # one read gives at most 32 MiB of it
    return [
        f"if={source}",
        f"of={FILE_NAME}",
        *_block_words(values),
        *whole,
        *_FLUSH_WORDS[str(values["flush"])],
        "status=progress",
    ]


def _read_words(values: Values) -> list[str]:
    flags = _READ_WORDS[str(values["read"])]
    return [f"if={FILE_NAME}", "of=/dev/null", *_block_words(values), *flags, "status=progress"]


def _layout_words(values: Values) -> list[str]:
    count = -(-copied(values) // MIB)
    return [f"if={URANDOM}", f"of={FILE_NAME}", "bs=1M", f"count={count}", "iflag=fullblock", "conv=fdatasync"]


def _block_words(values: Values) -> list[str]:
    return [f"bs={size_word(int(values[BLOCK_SIZE.name]), 'KMG')}", f"count={values['count']}"]
