"""What is known to fool people about options of job files that fio's own suite has no parameter for."""

from suites.checks import Check, Outcome, StepCheck, StepEvidence
from suites.fio_job.file import JobFileError, Section
from suites.fio_job.sections import NAMED, Answer, about, sections_of
from suites.fio_job.values import pattern_of, section_writes
from suites.vocab import Level


def _buffered(section: Section) -> bool:
    return not section.flag("direct") or section.flag("buffered")


def _kept(section: Section) -> str:
    """Return how the section has its reads answered from memory on purpose."""
    if not _buffered(section) or pattern_of(section) in {"write", "randwrite"}:
        return ""
    if section.options.get("invalidate", "1").strip() in {"0", "false"}:
        return "reads without direct I/O and has invalidate=0"
    return "reads without direct I/O and has pre_read=1" if section.flag("pre_read") else ""


def _alike(section: Section) -> str:
    """Return how the section writes data that can be compressed or found to be the same."""
    if not section_writes(section):
        return ""
    options = section.options
    if section.flag("zero_buffers"):
        return "has zero_buffers"
    if "buffer_pattern" in options:
        return "writes one pattern (buffer_pattern)"
    return f"has dedupe_percentage={options['dedupe_percentage']}" if section.number("dedupe_percentage", 0) else ""


def _endless(section: Section) -> str:
    timed = section.flag("time_based") and "runtime" not in section.options
    return "has time_based, and no runtime" if timed else ""


def _verified(section: Section) -> str:
    verify = section.options.get("verify", "0").strip()
    if verify in {"", "0"} or not section_writes(section):
        return ""
    several = section.number("numjobs", 1) > 1 and "filename" in section.options
    return f"has verify={verify}" + (" by several writers of one file" if several else "")


PATTERNS = frozenset({"read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "randrw", "trimwrite",
                      "randtrimwrite"})  # fmt: skip
"""The patterns that fio knows (manual, readwrite), without their other spelling."""

IDLE_ENGINES = frozenset({"null", "cpuio"})
"""Engines that move no data (fio manual, ioengine)."""


def does_io(section: Section) -> bool:
    """Whether what is known to fool people about fio can be asked of the section at all."""
    return pattern_of(section) in PATTERNS and section.options.get("ioengine", "") not in IDLE_ENGINES


def _unknown_pattern(section: Section) -> str:
    return "" if pattern_of(section) in PATTERNS else f"has rw={section.options['rw'][:40]}"


def _idle(section: Section) -> str:
    engine = section.options.get("ioengine", "")
    return f"has ioengine={engine}" if engine in IDLE_ENGINES else ""


def _together(evidence: StepEvidence) -> Answer:
    """Tell which sections run at the same time: all that no stonewall keeps apart."""
    sections = sections_of(evidence)
    if isinstance(sections, JobFileError):
        return None
    groups: list[list[str]] = [[]]
    for section in sections:
        if section.flag("stonewall"):
            groups.append([])
        groups[-1].append(f"[{section.name}]")
    group = max(groups, key=len)
    more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
    return Outcome(f"{', '.join(group[:NAMED])}{more} run at the same time.") if len(group) > 1 else None


SECTION_CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="cache-kept",
        level=Level.WARNING,
        title="What is in memory is kept there",
        why="fio drops a file from memory before it reads it, unless told not to. Told so, a second run showed 853,333 "
        "I/Os a second and none at the device; direct I/O gave 8,767.",
        remedy="Leave invalidate at 1 and pre_read at 0, better with direct=1.",
        source="fio manual, invalidate and pre_read; a storage engineer's fio series (2014).",
        needs="The options of each section.",
        evaluate=about(_kept),
    ),
    Check(
        id="repeated-data",
        level=Level.WARNING,
        title="What is written is all alike",
        why="A device or file system that compresses or finds duplicates stores next to nothing of it, and looks "
        "faster by as much.",
        remedy="Write fio's own random data, which is what it does untold.",
        source="fio manual, zero_buffers, buffer_pattern and dedupe_percentage.",
        needs="The options of each section.",
        evaluate=about(_alike),
    ),
    Check(
        id="time-based-without-runtime",
        level=Level.WARNING,
        title="time_based has no effect without a runtime",
        why="fio says so and goes through its files once, however soon that is over.",
        remedy="Give a runtime.",
        source="fio: “time_based requires a runtime/timeout setting”.",
        needs="The options of each section.",
        evaluate=about(_endless),
    ),
    Check(
        id="verified-writes",
        level=Level.WARNING,
        title="Checking what was written is part of the figure",
        why="Checksums are computed while the clock runs, and everything is read again after; several writers of one "
        "file find errors that are none.",
        remedy="Verify in a run of its own; measure without.",
        source="fio manual, verify; fio warns of several writers itself.",
        needs="The options of each section.",
        evaluate=about(_verified),
    ),
    Check(
        id="job-file-unknown-pattern",
        level=Level.ERROR,
        title="fio knows no such pattern",
        why="fio ends at once and measures nothing.",
        remedy=f"Write one of {', '.join(sorted(PATTERNS))}.",
        source="fio manual, readwrite.",
        needs="The options of each section.",
        evaluate=about(_unknown_pattern),
    ),
    Check(
        id="no-data-moved",
        level=Level.WARNING,
        title="Its engine moves no data",
        why="null answers at once, and cpuio only keeps processors busy: the figure is fio’s own, and of no disk.",
        remedy="Take libaio, io_uring or psync, unless fio itself is the question.",
        source="fio manual, ioengine.",
        needs="The options of each section.",
        evaluate=about(_idle),
    ),
    Check(
        id="sections-together",
        level=Level.INFO,
        title="Sections run at the same time",
        why="fio starts all sections at once, unless one waits behind a stonewall: each gets a part of what the device "
        "has to give, and what one reaches says nothing of the device.",
        remedy="Put stonewall into each section that is to run by itself, unless mixed load is the question.",
        source="fio manual, stonewall.",
        needs="The sections, and which of them wait.",
        evaluate=_together,
    ),
)
