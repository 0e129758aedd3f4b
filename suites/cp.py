"""cp: the timed copy of one file."""

import math
import re
from dataclasses import dataclass

from suites import disk
from suites.base import Command, Context, Estimate, Purpose, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.facts import Directory, known
from suites.line_parser import LineParser
from suites.outputs import ParsedTrial, TrialParser
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.programs import Program, same_package_name
from suites.quantities import quantity
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

# Parser of bash's clock and the size of the copy; the rate is computed from both.


BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
ELAPSED = Metric("elapsed", "Time", Unit.SECOND, Better.LOWER, MetricKind.TIME)
CPU_TIME = Metric("cpu_time", "CPU time", Unit.SECOND, Better.LOWER, MetricKind.TIME)
COPIED = Metric("copied", "Bytes copied", Unit.BYTE, Better.HIGHER, MetricKind.COUNT)
METRICS = (BANDWIDTH, ELAPSED, CPU_TIME, COPIED)

RESOLUTION = 0.001
"""Seconds: the resolution of bash's clock."""

COARSE = 0.1
"""Seconds below which the resolution is more than 1 % of the figure."""

WHOLE = 0.9
"""Smallest share of its bytes that a copy without holes occupies. A compressed copy is below it, too."""

_SECONDS = r"(\d{1,9}[.,]\d{3})"
_CLOCK = re.compile(rf"real {_SECONDS} user {_SECONDS} system {_SECONDS}")
_COPY = re.compile(r"copied (\d{1,18}) bytes, (\d{1,18}) blocks of (\d{1,7})")
_ERROR = re.compile(r"(?:\S{0,200}/)?(?:cp|dd|sync|stat|rm|bash|sh)(?:: line \d+)?: .+|.*: (?:command )?not found")


@dataclass(slots=True)
class CpParser(LineParser):
    """Parser of one copy. No samples: neither cp nor the clock prints anything before the end."""

    unfinished = (_ERROR,)
    cold: bool
    flushed: bool
    _clock: tuple[float, float, float] | None = None
    _copy: tuple[int, int] | None = None  # bytes, and the bytes that they occupy

    def _result(self, exit_status: int | None) -> ParsedTrial:
        problems = [f"cp failed: {words}" for words in self._failures]
        if not problems and (self._clock is None or self._copy is None):
            problems.append("cp was cut off: its time or size is missing.")
        problems += exit_notes("The copy", exit_status)
        if problems or self._clock is None or self._copy is None:
            return ParsedTrial(notes=tuple(problems), complete=False)
        return ParsedTrial(tuple(_figures(self._clock, self._copy[0])), notes=tuple(self._remarks(*self._copy)))

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _CLOCK.fullmatch(line):
            real, user, system = (float(number.replace(",", ".")) for number in match.groups())
            self._clock = real, user, system
        elif match := _COPY.fullmatch(line):
            self._copy = int(match[1]), int(match[2]) * int(match[3])
        elif _ERROR.fullmatch(line):
            self._fail(line)

    def _remarks(self, copied: int, occupied: int) -> list[str]:
        source = "after its pages were dropped from the page cache" if self.cold else "possibly from the page cache"
        target = "and synced to the disk" if self.flushed else "into the page cache only"
        remarks = [f"Measured: one file read {source} and written {target}; both on one disk, in one figure."]
        if occupied < WHOLE * copied:
            remarks.append(
                f"The copy of {copied} bytes occupies {occupied}: sparse or compressed, so fewer bytes were "
                "written than the rate counts."
            )
        if self._clock is not None and self._clock[0] < COARSE:
            remarks.append(
                f"{self._clock[0]:g} s is close to the clock's step of {RESOLUTION:g} s: copy a larger file."
            )
        return remarks


def _figures(clock: tuple[float, float, float], copied: int) -> list[Figure]:
    real, user, system = clock
    rate = [Figure(BANDWIDTH, copied / real / 1e6)] if real > 0 else []
    return [*rate, Figure(ELAPSED, real), Figure(CPU_TIME, user + system), Figure(COPIED, float(copied))]


# Parameters of the copy.


SOURCE_NAME = "benchwright.dat"


def cold(values: Values) -> bool:
    """Whether the source is dropped from the page cache before it is copied."""
    return values["read"] == "cold"


def flushed(values: Values) -> bool:
    """Whether the clock includes flushing the copy to the disk."""
    return values["flush"] == "sync"


SIZE = Parameter(
    name="size",
    title="File size",
    type=Type.SIZE,
    default=disk.GIB,
    help="Bytes of the copied file, in whole MiB. The file is filled with random bytes before.",
    minimum=disk.MIB,
    maximum=2**50,
)

READ = Parameter(
    name="read",
    title="Source",
    default="cached",
    help="Whether the source may come from the page cache, which holds it after it is made or copied.",
    choices=(
        Choice("cached", "As it is: just written, or copied before"),
        Choice("cold", "Dropped from the page cache before each copy"),
    ),
)

FLUSH = Parameter(
    name="flush",
    title="Flush",
    default="none",
    help="Whether the clock includes flushing the copy to the disk.",
    choices=(Choice("none", "cp alone"), Choice("sync", "cp, then sync of the copy")),
)

REFLINK = Parameter(
    name="reflink",
    default="default",
    help="Whether the copy may share blocks with its source or be made by the file server. cp 9 tries both by default.",
    option="--reflink",
    choices=(
        Choice("default", "default of this cp"),
        Choice("never", "never: every byte is read and written"),
        Choice("auto", "auto: share blocks where possible"),
    ),
)

CP_PARAMETERS = (disk.DIRECTORY, SIZE, READ, FLUSH, REFLINK)


# Checks of a timed copy.


SHORTEST = 1.0
"""Seconds: a thousand steps of the clock."""

ENOUGH = 4.0
"""Seconds that the remedy aims at."""

SHARING_KINDS = frozenset({"btrfs", "xfs", "bcachefs", "zfs", "ocfs2"})
"""File systems with shared blocks (ioctl_ficlonerange(2), zfs block cloning)."""


def _source_cached(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if cold(evidence.values):
        return None
    size = int(evidence.values["size"])
    cache = disk.cache_for(evidence, size)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    return CheckOutcome(
        f"{quantity(size)} just written or copied; {quantity(cache)} of memory can cache them.",
        changes={"read": "cold"},
    )


def _unflushed(evidence: StepEvidence) -> CheckOutcome | None:
    if flushed(evidence.values):
        return None
    size = quantity(int(evidence.values["size"]))
    return CheckOutcome(f"cp ends when {size} are in the page cache; no sync follows.", changes={"flush": "sync"})


def _reflink(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.values["reflink"] == "never":
        return None
    directory = disk.directory_of(evidence)
    if isinstance(directory, NotChecked):
        return directory
    kind = known(directory.kind)
    if kind is None:
        return NotChecked(f"File system of {directory.path} not known.")
    if kind not in SHARING_KINDS | disk.NETWORK_KINDS:
        return None
    method = "its server can copy on its own" if kind in disk.NETWORK_KINDS else "its files can share blocks"
    return CheckOutcome(f"{directory.path} is on {kind}: {method}.", changes={"reflink": "never"})


def _cold_in_memory(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if not cold(evidence.values):
        return None
    directory = disk.directory_of(evidence)
    if isinstance(directory, NotChecked):
        return directory
    kind = known(directory.kind)
    return CheckOutcome(f"{directory.path} is on {kind}, which is memory.") if kind in disk.MEMORY_KINDS else None


def _short(evidence: StepEvidence) -> CheckOutcome | None:
    size = int(evidence.values["size"])
    seconds, clause = disk.seconds_of_copy(evidence, size)
    least, started = disk.least_seconds(evidence, SHORTEST)
    if seconds >= least:
        return None
    enough = math.ceil(disk.plausible_rate(evidence)[0] * max(ENOUGH, least) / disk.MIB) * disk.MIB
    return CheckOutcome(f"{quantity(size)} {clause}.{started}", changes={"size": enough})


CP_CHECKS = (
    Check(
        id="source-in-memory",
        title="Page cache will serve the source",
        why="A file just written or copied is still in the page cache, so nothing is read from the disk. "
        "Example (another host): a cp took 17 s (59 MB/s), the same cp again 0.853 s (1,200 MB/s).",
        remedy="Drop the source from the page cache before each copy.",
        source="practitioners' notes (cp of one file twice, and of a copy to a third); posix_fadvise(2).",
        needs="Source mode and size; the host's memory.",
        evaluate=_source_cached,
    ),
    Check(
        id="cannot-be-cold",
        title="Source is on a memory file system",
        why="The file exists in memory only, so the copy is from memory to memory.",
        remedy="Choose a directory on a disk.",
        source="tmpfs(5).",
        needs="Source mode; the directory's file system.",
        evaluate=_cold_in_memory,
    ),
    disk.unflushed_write(_unflushed),
    Check(
        id="reflink",
        title="Reflink or server-side copy possible",
        why="cp of coreutils 9 shares the source's blocks or asks the server to copy: it ends at once, and "
        "neither disk nor network moves the bytes.",
        remedy="Use --reflink=never.",
        source="coreutils NEWS 9.0: cp defaults to --reflink=auto and uses copy_file_range(2).",
        needs="--reflink; the directory's file system.",
        evaluate=_reflink,
    ),
    disk.short_runtime(_short, "Copy a larger file."),
)


COPY_NAME = "benchwright.copy"

TUNED_SIZE = 4 * disk.GIB
SHARE_OF_FREE = 8

_TIMED = "TIMEFORMAT='real %3R user %3U system %3S'"
_STATED = f"stat -c 'copied %s bytes, %b blocks of %B' {COPY_NAME}"


class Cp(Suite):
    """cp of one file, timed by bash."""

    id = "cp"
    title = "cp"
    summary = (
        "One file copied and timed by the shell: read and write in one figure, subject to page cache, sparse "
        "files and reflinks."
    )
    resource = Resource.DISK
    tried = TestedTool(
        "GNU cp 9.1 under bash 5.2 run for real", note="needs bash; each result records what it did and did not measure"
    )
    program = Program("cp", ("cp",), same_package_name("coreutils"), timed=True)
    parameters = CP_PARAMETERS
    syntax = CommandSyntax(("bash",), choices=("read", "flush", "reflink"))
    metrics = METRICS
    directory_parameter = "directory"
    uniform = True
    usual_cov = 0.10
    checks = CP_CHECKS

    def workload(self, values: Values) -> Workload:
        """Return the copied bytes; the page cache does large I/Os by readahead and writeback."""
        return Workload(
            size=int(values["size"]), copied=("read", "write"), buffered=True, large_ios=True, queue_depth=1,
            flushes_last=flushed(values),
        )  # fmt: skip

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a copy that reads from the disk, is flushed to it, and takes some seconds."""
        tuned = {
            "read": Tuned("cold", "A source in the page cache does not measure the disk: 59 MB/s, then 1,200."),
            "flush": Tuned("sync", "cp ends when the copy is in the page cache; sync waits until it is on the disk."),
            "reflink": Tuned("never", "On a file system that can share blocks, cp may copy no data."),
        }
        directory = disk.best_directory(context.facts)
        if directory is not None:
            tuned["directory"] = Tuned(directory.path, "Most free space of the directories tried.")
            tuned["size"] = _tuned_size(directory)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the command that writes the file, and the one that copies it, timed by bash."""
        blocks = -(-int(values["size"]) // disk.MIB)
        layout = ("dd", "if=/dev/urandom", f"of={SOURCE_NAME}", "bs=1M", f"count={blocks}", "iflag=fullblock")
        return (
            Command((*layout, "conv=fdatasync"), Purpose.PREPARE),
            Command(("bash", "-c", f"{_TIMED}; {' && '.join(_parts(values))}")),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial writes and needs; its duration is the result."""
        size = -(-int(values["size"]) // disk.MIB) * disk.MIB
        return Estimate(duration=None, written=size, prepared=size, space=2 * size)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser, which notes with each result what was measured."""
        return CpParser(cold=cold(values), flushed=flushed(values))


def _parts(values: Values) -> list[str]:
    parts = [f"rm -f {COPY_NAME}"]
    if cold(values):
        # dd copies no data here: it only asks the kernel to drop the file from the page cache (POSIX_FADV_DONTNEED).
        parts.append(f"dd if={SOURCE_NAME} iflag=nocache count=0 status=none")
    copy = "cp" if values["reflink"] == "default" else f"cp --reflink={values['reflink']}"
    flush = f" && sync {COPY_NAME}" if flushed(values) else ""
    return [*parts, f"time {{ {copy} {SOURCE_NAME} {COPY_NAME}{flush}; }}", _STATED]


def _tuned_size(directory: Directory) -> Tuned:
    free = known(directory.free)
    size = disk.whole_mebibytes(disk.room_for(TUNED_SIZE, directory, SHARE_OF_FREE))
    room = "" if free is None else f" of the {quantity(free)} free"
    return Tuned(
        size,
        f"{quantity(size)}{room}, twice: {2 * size / disk.SOLID_STATE_RATE:.2g} s at 1 GB/s, more on a slower disk.",
    )
