"""fio's checks applied to every section of a job file, and checks specific to job files."""

from collections.abc import Sequence
from dataclasses import replace

from suites.base import StepCheck, StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.fio.checks import FIO_CHECKS
from suites.fio_job.file import NAMED, Answer, JobFileError, Section, about, sections_of
from suites.fio_job.section_values import (
    fio_size,
    may_write_device,
    pattern_of,
    raw_devices,
    section_values,
    section_writes,
    sized,
)
from suites.fio_job.step_targets import step_targets
from suites.fio_job.targets import names_of, programs, targets_of
from suites.secret_names import secret_name
from suites.targets import Match, PathUse, Target, reasons
from suites.vocab import Severity

# Checks of job file options without a parameter in fio's own suite.


def _buffered(section: Section) -> bool:
    return not section.flag("direct") or section.flag("buffered")


def _cache_use(section: Section) -> str:
    """Return how the section deliberately keeps its reads in the page cache."""
    if not _buffered(section) or pattern_of(section) in {"write", "randwrite"}:
        return ""
    if section.options.get("invalidate", "1").strip() in {"0", "false"}:
        return "reads without direct I/O and has invalidate=0"
    return "reads without direct I/O and has pre_read=1" if section.flag("pre_read") else ""


def _endless(section: Section) -> str:
    timed = section.flag("time_based") and "runtime" not in section.options
    return "has time_based without runtime" if timed else ""


PATTERNS = frozenset({"read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "randrw", "trimwrite",
                      "randtrimwrite"})  # fmt: skip
"""rw patterns of fio (manual, readwrite), without aliases."""

ENGINES_WITHOUT_DATA = frozenset({"null", "cpuio"})
"""Engines that move no data (fio manual, ioengine)."""


def does_io(section: Section) -> bool:
    """Whether fio's checks apply to the section at all."""
    return pattern_of(section) in PATTERNS and section.options.get("ioengine", "") not in ENGINES_WITHOUT_DATA


def _unknown_pattern(section: Section) -> str:
    return "" if pattern_of(section) in PATTERNS else f"has rw={section.options['rw'][:40]}"


def _idle(section: Section) -> str:
    engine = section.options.get("ioengine", "")
    return f"has ioengine={engine}" if engine in ENGINES_WITHOUT_DATA else ""


def concurrent_groups(sections: Sequence[Section]) -> list[list[Section]]:
    """Return the sections that run concurrently: those not separated by a stonewall."""
    groups: list[list[Section]] = [[]]
    for section in sections:
        if section.flag("stonewall"):
            groups.append([])
        groups[-1].append(section)
    return groups


def _together(evidence: StepEvidence) -> Answer:
    sections = sections_of(evidence)
    if isinstance(sections, JobFileError):
        return None
    group = [f"[{section.name}]" for section in max(concurrent_groups(sections), key=len)]
    more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
    return CheckOutcome(f"{', '.join(group[:NAMED])}{more} run at the same time.") if len(group) > 1 else None


def _shared_with(section: Section, sections: Sequence[Section]) -> str:
    """Return the concurrent section that works on the same file, in the same pattern from the same offset."""
    group = next(group for group in concurrent_groups(sections) if section in group)
    same = [
        other.name
        for other in group
        if other is not section
        and set(names_of(section)) & set(names_of(other))
        and pattern_of(section) == pattern_of(other)
        and not {"offset", "offset_increment"} & (section.options.keys() | other.options.keys())
    ]
    return f"It and [{same[0]}] work on one file" if same else ""


SECTION_CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="cache-kept",
        severity=Severity.WARNING,
        title="Page cache serves the reads",
        why="By default fio drops a file from the page cache before it reads it; these options keep it. Example "
        "(another host): a second run showed 853,333 IOPS, none at the device; direct I/O gave 8,767.",
        remedy="Set invalidate=1 and pre_read=0, preferably with direct=1.",
        source="fio manual, invalidate and pre_read; a storage engineer's fio series (2014).",
        needs="The options of each section.",
        evaluate=about(_cache_use),
    ),
    Check(
        id="time-based-without-runtime",
        severity=Severity.WARNING,
        title="time_based has no effect without runtime",
        why="fio warns and makes one pass over its files, however short.",
        remedy="Set runtime.",
        source="fio: “time_based requires a runtime/timeout setting”.",
        needs="The options of each section.",
        evaluate=about(_endless),
    ),
    Check(
        id="job-file-unknown-pattern",
        severity=Severity.ERROR,
        blocks=True,
        title="Unknown rw pattern",
        why="fio exits at once and measures nothing.",
        remedy=f"Use one of {', '.join(sorted(PATTERNS))}.",
        source="fio manual, readwrite.",
        needs="The options of each section.",
        evaluate=about(_unknown_pattern),
    ),
    Check(
        id="no-data-moved",
        severity=Severity.WARNING,
        title="ioengine moves no data",
        why="null returns at once and cpuio only loads the CPUs: the figure is fio’s own, not a disk’s.",
        remedy="Use libaio, io_uring or psync, unless fio itself is under test.",
        source="fio manual, ioengine.",
        needs="The options of each section.",
        evaluate=about(_idle),
    ),
    Check(
        id="sections-together",
        severity=Severity.INFO,
        title="Sections run concurrently",
        why="fio starts all sections at once unless a stonewall separates them: each gets a share of the device, "
        "and its figure is not the device’s.",
        remedy="Add stonewall to each section that should run alone, unless mixed load is intended.",
        source="fio manual, stonewall.",
        needs="The sections and their stonewalls.",
        evaluate=_together,
    ),
)


OF_SIZE = frozenset({"page-cache", "short-runtime", "block-over-file", "ends-before-its-size", "small-working-set"})
"""Checks that depend on the size of a section."""

_UNSIZED = NotChecked("A section of the job file does not give its size.")


def _of_sections(check: StepCheck) -> StepCheck:
    """Return `check` applied to each section; its changes have to be made in the file."""

    def evaluate(evidence: StepEvidence) -> Answer:
        sections = sections_of(evidence)
        if isinstance(sections, JobFileError):
            return None  # reported by the check of the file itself
        results: list[tuple[str, CheckOutcome]] = []
        unsure: NotChecked | None = None
        for section in sections:
            if not does_io(section):
                continue  # covered by separate checks
            values = section_values(section, str(evidence.values["directory"]))
            values["shared_file"] = values["shared_file"] or _shared_with(section, sections)
            applicable = (
                sized(section) or check.id not in OF_SIZE or (check.id == "short-runtime" and values["runtime"])
            )
            answer = check.evaluate(replace(evidence, values=values)) if applicable else _UNSIZED
            if isinstance(answer, CheckOutcome):
                results.append((section.name, answer))
            unsure = unsure or (answer if isinstance(answer, NotChecked) else None)
        if not results:
            return unsure
        names = ", ".join(f"[{name}]" for name, _ in results[1:NAMED])
        others = f" Also: {names}{' and others' if len(results) > NAMED else ''}." if names else ""
        return replace(results[0][1], measured=f"[{results[0][0]}]: {results[0][1].measured}{others}", changes={})

    return replace(check, evaluate=evaluate)


def _unreadable(evidence: StepEvidence) -> Answer:
    sections = sections_of(evidence)
    return CheckOutcome(sections.message, remedy=sections.remedy) if isinstance(sections, JobFileError) else None


def _missing(section: Section) -> str:
    return f"uses {', '.join(f'${{{name}}}' for name in section.missing)}" if section.missing else ""


def _secret(evidence: StepEvidence) -> CheckOutcome | None:
    for name, text in (("environment", evidence.values["environment"]), ("job", evidence.values["job"])):
        if secret := secret_name(str(text)):
            return CheckOutcome(f"{name} sets {secret}.")
    return None


def _device(section: Section) -> str:
    if not may_write_device((section,)) or section.missing:
        return ""
    devices = dict.fromkeys(f"/{name.lstrip('/')}" for name in raw_devices(section))
    named = ", ".join(devices) or section.options.get("opendir", "")
    return f"writes to {named}" if named else "replays another file's I/O to any device it names"


def _outside(section: Section) -> str:
    if raw_devices(section):
        return ""  # that is an error
    laid_out = "filename" not in section.options and not section_writes(section)  # laid out by fio and removed again
    own = names_of(section) if laid_out else ()
    found = [target for target in targets_of((section,)) if target.use is PathUse.WRITE and target.path not in own]
    outside = [target for target in found if leads_out(target.path)]
    return f"writes to {', '.join(dict.fromkeys(map(shown, outside)))}" if outside else ""


def leads_out(path: str) -> bool:
    """Return whether a path may be outside the step's private directory."""
    return path.startswith("/") or ".." in path.split("/")


def shown(target: Target) -> str:
    """Return the paths of `target` for display."""
    return target.path if target.match is Match.EXACT else f"{target.path}*"


def _unchecked(evidence: StepEvidence) -> Answer:
    sections = sections_of(evidence)
    results = () if isinstance(sections, JobFileError) else reasons(step_targets(sections, evidence.values))
    more = f" {len(results) - NAMED} more." if len(results) > NAMED else ""
    return CheckOutcome(f"{' '.join(results[:NAMED])}{more}") if results else None


def _remaining_files(evidence: StepEvidence) -> Answer:
    """Report directories in which read-only sections lay out files that are not removed."""
    sections = sections_of(evidence)
    if isinstance(sections, JobFileError):
        return None
    read_only = [section for section in sections if "filename" not in section.options and not section_writes(section)]
    layout_directories = dict.fromkeys(section.options.get("directory", "") for section in read_only)
    removed = {section.options.get("directory", "") for section in sections if section.flag("unlink")}
    named = [directory for directory in layout_directories if directory.startswith("/") and directory not in removed]
    return CheckOutcome(f"Files to read are laid out in {', '.join(named[:NAMED])} first.") if named else None


def _program(section: Section) -> str:
    return f"runs {' and '.join(f'“{line[:200]}”' for line in programs(section))}" if programs(section) else ""


def _sizeless(section: Section) -> str:
    sized = any(name in section.options for name in ("size", "filesize", "fill_device", "file_size"))
    given = section.options.get("size", "")
    if sized and (not given or fio_size(given) is not None or given.endswith("%")):
        return ""
    return f"has the size “{given}”" if given else "has no size"


JOB_CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="job-file-unreadable",
        severity=Severity.ERROR,
        blocks=True,
        title="Not a job file",
        why="fio exits at once and measures nothing.",
        remedy="Import the job file again.",
        source="fio manual, Job file format.",
        needs="The text of the job file.",
        evaluate=_unreadable,
    ),
    Check(
        id="job-file-variable",
        severity=Severity.ERROR,
        blocks=True,
        title="Job file variable has no value",
        why="fio replaces it by nothing: a size or path is wrong or empty. Until it is set, fio starts with "
        "--readonly because its targets are not known.",
        remedy="Set it under “Environment” as NAME=value.",
        source="fio manual, Environment variables.",
        needs="The job file and its environment.",
        evaluate=about(_missing),
    ),
    Check(
        id="job-file-secret",
        of_result=False,
        severity=Severity.WARNING,
        title="Secret in the job file",
        why="The file and its variables are stored in the plan, each result and report, and variables are visible in "
        "the host's process list.",
        remedy="Use an account for this test only, and change its secret after the run.",
        source="proc(5): /proc/PID/cmdline.",
        needs="The job file and its environment.",
        evaluate=_secret,
    ),
    Check(
        id="job-file-writes-device",
        severity=Severity.ERROR,
        blocks=True,
        title="Job file writes to a raw device",
        why="All data on it would be lost. fio starts with --readonly and refuses.",
        remedy="Use the suite fio with its parameter filename: it asks for the serial number and checks whether "
        "the device is in use.",
        source="fio manual, readonly.",
        needs="Write targets of each section.",
        evaluate=about(_device),
    ),
    Check(
        id="job-file-unjudged",
        severity=Severity.ERROR,
        blocks=True,
        title="Write targets of job file unknown",
        why="fio could write to any file or device. It is not started.",
        remedy="Remove these options, or run the jobs with the suite “Your own command” as options of fio.",
        source="fio 3.33, options.c and engines.",
        needs="The options and ioengine of each section.",
        evaluate=_unchecked,
    ),
    Check(
        id="job-file-writes-outside",
        of_result=False,
        severity=Severity.WARNING,
        title="Writes to files outside its directory",
        why="Right before fio starts, the host checks each path: it refuses devices, and existing files unless "
        "“Existing files” is “Overwrite”. Files that fio creates stay after the run.",
        remedy="Remove directory, filename and log paths from the file, and set the step's directory.",
        source="fio manual, filename, directory, unlink, ioengine, mem, write_iolog and write_bw_log.",
        needs="Write targets of each section.",
        evaluate=about(_outside),
    ),
    Check(
        id="job-file-leaves-files",
        of_result=False,
        severity=Severity.INFO,
        title="Files remain after the run",
        why="fio lays out missing files before reading. Only those in the step's private directory are removed "
        "with it.",
        remedy="Add unlink=1 to the last section with that directory, or remove the files by hand.",
        source="fio manual, directory and unlink.",
        needs="The options of each section.",
        evaluate=_remaining_files,
    ),
    Check(
        id="job-file-runs-programs",
        of_result=False,
        severity=Severity.WARNING,
        title="Job file runs programs",
        why="They run on the host with your user's permissions.",
        remedy="Read them; remove them where they are not needed.",
        source="fio manual, exec_prerun, exec_postrun and the engine exec.",
        needs="The options of each section.",
        evaluate=about(_program),
    ),
    Check(
        id="job-file-without-size",
        of_result=False,
        severity=Severity.WARNING,
        title="Section has no size",
        why="fio exits at once, unless the file exists and provides its size.",
        remedy="Set size in the section or in [global].",
        source="fio 3.33: “you need to specify size=”.",
        needs="The options of each section.",
        evaluate=about(_sizeless),
    ),
    *SECTION_CHECKS,
    *(_of_sections(check) for check in FIO_CHECKS),
)
