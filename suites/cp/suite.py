"""cp: the copy of one file that people time to see how fast a disk is."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.cp.checks import CP_CHECKS
from suites.cp.output import METRICS, CpParser
from suites.cp.parameters import CP_PARAMETERS, SOURCE_NAME, cold, flushed
from suites.disk import GIB, MIB, SOLID_STATE_RATE, amount, best_directory, whole_mebibytes
from suites.facts import Directory, known
from suites.parameters import Parameter, Tuned, Values
from suites.vocab import Metric, Resource

COPY_NAME = "benchwright.copy"

TUNED_SIZE = 4 * GIB
SHARE_OF_FREE = 8

_TIMED = "TIMEFORMAT='real %3R user %3U system %3S'"
_STATED = f"stat -c 'copied %s bytes, %b blocks of %B' {COPY_NAME}"


class Cp:
    """The copy that everybody knows: a file is read and written, and a clock beside it."""

    id = "cp"
    title = "cp"
    summary = (
        "A file copied and timed by the shell: reading and writing in one figure. Mind memory, holes and reflinks."
    )
    resource = Resource.DISK
    tool = "cp"
    packages: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "coreutils")
    )
    parameters: tuple[Parameter, ...] = CP_PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = CP_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a copy that reads from the disk, is flushed to it, and takes some seconds."""
        tuned = {
            "read": Tuned("cold", "Read from memory, the source says nothing about the disk: 59 MB/s, then 1,200."),
            "flush": Tuned("sync", "cp is done when the copy is in memory; sync waits until it is on the disk."),
            "reflink": Tuned("never", "Where the file system can share blocks, a copy would copy nothing."),
        }
        directory = best_directory(context.facts)
        if directory is not None:
            tuned["directory"] = Tuned(directory.path, "The most room of the directories that were tried.")
            tuned["size"] = _tuned_size(directory)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that writes the file, and the one that copies it under bash's own clock."""
        del context  # the commands are the same on every host
        blocks = -(-int(values["size"]) // MIB)
        layout = ("dd", "if=/dev/urandom", f"of={SOURCE_NAME}", "bs=1M", f"count={blocks}", "iflag=fullblock")
        return (
            Command((*layout, "conv=fdatasync"), Purpose.PREPARE),
            Command(("bash", "-c", f"{_TIMED}; {' && '.join(_parts(values))}")),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial writes and needs; how long a copy takes is what is measured."""
        del context
        size = -(-int(values["size"]) // MIB) * MIB
        return Estimate(duration=None, written=size, prepared=size, space=2 * size)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser, which says with each result what was measured."""
        return CpParser(cold=cold(values), flushed=flushed(values))


def _parts(values: Values) -> list[str]:
    parts = [f"rm -f {COPY_NAME}"]
    if cold(values):
        # dd copies nothing here: it only tells the kernel to drop the file from memory (POSIX_FADV_DONTNEED).
        parts.append(f"dd if={SOURCE_NAME} iflag=nocache count=0 status=none")
    copy = "cp" if values["reflink"] == "default" else f"cp --reflink={values['reflink']}"
    flush = f" && sync {COPY_NAME}" if flushed(values) else ""
    return [*parts, f"time {{ {copy} {SOURCE_NAME} {COPY_NAME}{flush}; }}", _STATED]


def _tuned_size(directory: Directory) -> Tuned:
    free = known(directory.free)
    size = whole_mebibytes(TUNED_SIZE if free is None else min(TUNED_SIZE, free // SHARE_OF_FREE))
    room = "" if free is None else f" of the {amount(free)} free"
    return Tuned(
        size, f"{amount(size)}{room}, twice: {2 * size / SOLID_STATE_RATE:.2g} s at 1 GB/s, more on a slower disk."
    )
