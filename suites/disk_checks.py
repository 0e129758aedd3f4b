"""What is known to fool people about any disk test, in one wording; each suite says when it applies."""

from collections.abc import Callable, Mapping

from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.disk import ROTATING_RATE, SOLID_STATE_RATE, amount, directory_of, is_rotating, works_in_directory
from suites.facts import known
from suites.parameters import Value, Values
from suites.units import Unit
from suites.vocab import Level

Evaluate = Callable[[StepEvidence], Outcome | CannotTell | None]

CACHE_FACTOR = 2
"""Files below this many times the memory are cached in good part."""


def page_cache(evaluate: Evaluate) -> StepCheck:
    """Return the check that memory cannot stand in for the disk."""
    return Check(
        id="page-cache",
        level=Level.WARNING,
        title="Memory will answer for the disk",
        why="The kernel keeps files in memory as long as they fit: a good part of the I/Os never reaches the device, "
        "and the figure can be a hundred times too high.",
        remedy="Use direct I/O, or files of at least twice the memory.",
        source="fio manual, direct and invalidate; a storage engineer's series (853,333 IOPS cached, 8,767 direct).",
        needs="Direct I/O, flushing and the size of the files; the host's memory.",
        evaluate=evaluate,
    )


def unflushed_write(evaluate: Evaluate) -> StepCheck:
    """Return the check that what is written also reaches the disk while the clock runs."""
    return Check(
        id="unflushed-write",
        level=Level.WARNING,
        title="Nothing is flushed to the disk",
        why="A buffered write is done when the data is in memory; the kernel writes it out later, after the clock has "
        "stopped. Measured on one disk: 6.1 to 6.5 GB/s unflushed, 2.4 to 2.6 GB/s flushed.",
        remedy="Flush before the clock stops, or use direct I/O.",
        source="dd manual, conv=fdatasync and oflag=direct; fio manual, end_fsync.",
        needs="The pattern, direct I/O and flushing.",
        evaluate=evaluate,
    )


def direct_refused(asked: Callable[[Values], bool], instead: Mapping[str, Value]) -> StepCheck:
    """Return the check that the directory accepts direct I/O where it is `asked` for; `instead` does without it."""

    def evaluate(evidence: StepEvidence) -> Outcome | CannotTell | None:
        if not asked(evidence.values):
            return None
        directory = directory_of(evidence)
        if isinstance(directory, CannotTell):
            return directory
        accepted = known(directory.direct)
        if accepted is None:
            return CannotTell(f"Whether {directory.path} accepts direct I/O was not tried.")
        kind = known(directory.kind) or "its file system"
        return None if accepted else Outcome(f"{directory.path} is on {kind}, which refused O_DIRECT.", changes=instead)

    return Check(
        id="direct-refused",
        level=Level.ERROR,
        title="Direct I/O is refused here",
        why="The tool ends at once with “Invalid argument” and measures nothing.",
        remedy="Choose a directory on another file system; or do without direct I/O, and then mind the page cache.",
        source="open(2), O_DIRECT; tried on the host when its facts were read.",
        needs="Whether the directory accepted O_DIRECT when the host's facts were read.",
        evaluate=evaluate,
    )


def short_runtime(evaluate: Evaluate, remedy: str) -> StepCheck:
    """Return the check that a disk test runs long enough."""
    return Check(
        id="short-runtime",
        level=Level.WARNING,
        title="Too short to trust",
        why="Caches and burst credits of the device answer first, start-up weighs heavily, and one disturbance decides "
        "the figure.",
        remedy=remedy,
        source="a storage engineer's fio series (a first run of 3 ms showed 85,333 IOPS while the device was idle).",
        needs="The time, or the size and how fast such a disk may be.",
        evaluate=evaluate,
    )


def throughput_ceiling(evaluate: Evaluate) -> StepCheck:
    """Return the check that a test of I/Os a second does not meet the limit of throughput first."""
    return Check(
        id="throughput-ceiling",
        level=Level.INFO,
        title="The throughput limit may come before the IOPS limit",
        why="Volumes and the network before them have a limit of both. Published: 55 of 62.5 MB/s reached with 16 KiB "
        "blocks, and the provisioned IOPS never.",
        remedy="Use blocks of 4 KiB where I/Os a second are the question.",
        source="a consultancy's test of provisioned IOPS (88 % of the network, 2012).",
        needs="The pattern and the block size.",
        evaluate=evaluate,
    )


SHARE_OF_STARTING = 0.01
"""How much of a figure may be the tool's own start."""


def least_seconds(evidence: StepEvidence, least: float) -> tuple[float, str]:
    """Return the seconds below which a timed copy is too short, and why where the host's own slowness says so.

    `least` is a constant; where starting the tool was timed on the host, it may be no more than 1 % of the figure.
    """
    facts = evidence.context.facts
    started = None if facts is None else known(facts.tool(evidence.suite.tool).start_up)
    if started is None or started / SHARE_OF_STARTING <= least:
        return least, ""
    return started / SHARE_OF_STARTING, f" Starting {evidence.suite.tool} alone took {started:.2g} s here."


def roughly(seconds: float) -> str:
    """Return `seconds` with the one digit that such an estimate has, and never as a power of ten."""
    return f"{seconds:.1g}" if seconds < 1 else f"{seconds:.0f}"


def plausible_rate(evidence: StepEvidence) -> tuple[float, str]:
    """Return the B/s that the disk below the step's directory may well reach, and in words why."""
    parameter = evidence.suite.directory_parameter if works_in_directory(evidence) else None
    rotating = parameter is not None and is_rotating(evidence.context, str(evidence.values[parameter]))
    if rotating:
        return ROTATING_RATE, f"at the {amount(ROTATING_RATE, Unit.BYTES_PER_SECOND)} of a rotating disk"
    return SOLID_STATE_RATE, f"at the {amount(SOLID_STATE_RATE, Unit.BYTES_PER_SECOND)} of a solid-state volume"
