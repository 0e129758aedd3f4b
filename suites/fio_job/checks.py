"""What is known to fool people about fio, asked of every section of a job file, and what is special to such files."""

from dataclasses import replace

from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.fio.checks import FIO_CHECKS
from suites.fio_job.file import JobFileError, Section
from suites.fio_job.section_checks import SECTION_CHECKS, does_io
from suites.fio_job.sections import NAMED, Answer, about, sections_of
from suites.fio_job.step_targets import step_targets
from suites.fio_job.targets import names_of, programs, targets_of
from suites.fio_job.values import fio_size, may_write_device, raw_devices, section_values, section_writes, sized
from suites.targets import Match, Target, Use, reasons
from suites.vocab import Level

OF_SIZE = frozenset({"page-cache", "short-runtime", "block-over-file", "ends-before-its-size"})
"""Checks that ask how much a section works on."""

_UNSIZED = CannotTell("How much a section of the job file works on does not stand in it.")


def _of_sections(check: StepCheck) -> StepCheck:
    """Return `check` asked of each section; what it would change has to be changed in the file."""

    def evaluate(evidence: StepEvidence) -> Answer:
        sections = sections_of(evidence)
        if isinstance(sections, JobFileError):
            return None  # the check of the file itself says so
        said: list[tuple[str, Outcome]] = []
        unsure: CannotTell | None = None
        for section in sections:
            if not does_io(section):
                continue  # checks of their own say so
            values = section_values(section, str(evidence.values["directory"]))
            judged = sized(section) or check.id not in OF_SIZE or (check.id == "short-runtime" and values["runtime"])
            answer = check.evaluate(replace(evidence, values=values)) if judged else _UNSIZED
            if isinstance(answer, Outcome):
                said.append((section.name, answer))
            unsure = unsure or (answer if isinstance(answer, CannotTell) else None)
        if not said:
            return unsure
        names = ", ".join(f"[{name}]" for name, _ in said[1:NAMED])
        others = f" Alike: {names}{' and others' if len(said) > NAMED else ''}." if names else ""
        return replace(said[0][1], measured=f"[{said[0][0]}]: {said[0][1].measured}{others}", changes={})

    return replace(check, evaluate=evaluate)


def _unreadable(evidence: StepEvidence) -> Answer:
    sections = sections_of(evidence)
    return Outcome(sections.message, remedy=sections.remedy) if isinstance(sections, JobFileError) else None


def _missing(section: Section) -> str:
    return f"uses {', '.join(f'${{{name}}}' for name in section.missing)}" if section.missing else ""


def _device(section: Section) -> str:
    if not may_write_device((section,)) or section.missing:
        return ""
    devices = dict.fromkeys(f"/{name.lstrip('/')}" for name in raw_devices(section))
    named = ", ".join(devices) or section.options.get("opendir", "")
    return f"writes to {named}" if named else "replays what another file says, to whatever device that names"


def _outside(section: Section) -> str:
    if raw_devices(section):
        return ""  # that is an error
    laid_out = "filename" not in section.options and not section_writes(section)  # by itself, and removed again
    own = names_of(section) if laid_out else ()
    found = [target for target in targets_of((section,)) if target.use is Use.WRITE and target.path not in own]
    outside = [target for target in found if leads_out(target.path)]
    return f"writes to {', '.join(dict.fromkeys(map(shown, outside)))}" if outside else ""


def leads_out(path: str) -> bool:
    """Return whether a path may lead out of the step's private directory."""
    return path.startswith("/") or ".." in path.split("/")


def shown(target: Target) -> str:
    """Return the paths of `target` as people write them."""
    return target.path if target.match is Match.EXACT else f"{target.path}*"


def _unjudged(evidence: StepEvidence) -> Answer:
    sections = sections_of(evidence)
    said = () if isinstance(sections, JobFileError) else reasons(step_targets(sections, evidence.values))
    more = f" {len(said) - NAMED} more." if len(said) > NAMED else ""
    return Outcome(f"{' '.join(said[:NAMED])}{more}") if said else None


def _left(evidence: StepEvidence) -> Answer:
    """Tell of directories in which sections that only read lay their files out, and none removes them."""
    sections = sections_of(evidence)
    if isinstance(sections, JobFileError):
        return None
    made = [section for section in sections if "filename" not in section.options and not section_writes(section)]
    kept = dict.fromkeys(section.options.get("directory", "") for section in made)
    removed = {section.options.get("directory", "") for section in sections if section.flag("unlink")}
    named = [directory for directory in kept if directory.startswith("/") and directory not in removed]
    return Outcome(f"What is read is laid out in {', '.join(named[:NAMED])} first.") if named else None


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
        level=Level.ERROR,
        title="This is no job file",
        why="fio ends at once and measures nothing.",
        remedy="Import the job file again.",
        source="fio manual, Job file format.",
        needs="The text of the job file.",
        evaluate=_unreadable,
    ),
    Check(
        id="job-file-variable",
        level=Level.ERROR,
        title="A variable of the job file has no value",
        why="fio puts nothing in its place: a size or path comes out wrong or empty. Until it is given, fio is started "
        "with --readonly, because its targets are not known.",
        remedy="Give it under “Environment”, as NAME=value.",
        source="fio manual, Environment variables.",
        needs="The job file and the environment that is given with it.",
        evaluate=about(_missing),
    ),
    Check(
        id="job-file-writes-device",
        level=Level.ERROR,
        title="The job file writes to a raw device",
        why="All that is on it would be lost. fio is started with --readonly and will refuse.",
        remedy="Use the suite fio with its parameter “Raw device”: it asks for the serial number, and looks whether "
        "anybody uses the device.",
        source="fio manual, readonly.",
        needs="What each section writes to.",
        evaluate=about(_device),
    ),
    Check(
        id="job-file-unjudged",
        level=Level.ERROR,
        title="Not known what the job file writes to",
        why="fio could write to any file or device. It is not started.",
        remedy="Remove these options; or give the jobs to the suite “Your own command” as options of fio.",
        source="fio 3.33, options.c and engines.",
        needs="The options and engine of each section.",
        evaluate=_unjudged,
    ),
    Check(
        id="job-file-writes-outside",
        level=Level.WARNING,
        title="It writes to files that are not its own",
        why="Right before fio starts, the host looks at each: it refuses devices, and existing files unless “Existing "
        "files” is “Overwrite”. What fio creates stays when the run is over.",
        remedy="Leave directory, filename and paths of logs out of the file, and give the step's directory.",
        source="fio manual, filename, directory, unlink, ioengine, mem, write_iolog and write_bw_log.",
        needs="What each section writes to.",
        evaluate=about(_outside),
    ),
    Check(
        id="job-file-leaves-files",
        level=Level.INFO,
        title="Its files stay when the run is over",
        why="fio makes the files that it is to read where they are missing. Only those in the step's private directory "
        "are removed with it.",
        remedy="Add unlink=1 to the last section with that directory; or remove the files by hand.",
        source="fio manual, directory and unlink.",
        needs="The options of each section.",
        evaluate=_left,
    ),
    Check(
        id="job-file-runs-programs",
        level=Level.WARNING,
        title="The job file runs programs",
        why="They run on the host as your user, with all that may do.",
        remedy="Read them; take them out where they are not needed.",
        source="fio manual, exec_prerun, exec_postrun and the engine exec.",
        needs="The options of each section.",
        evaluate=about(_program),
    ),
    Check(
        id="job-file-without-size",
        level=Level.WARNING,
        title="A section has no size",
        why="fio ends at once, unless the file is there already and tells its own size.",
        remedy="Give size in the section or in [global].",
        source="fio 3.33: “you need to specify size=”.",
        needs="The options of each section.",
        evaluate=about(_sizeless),
    ),
    *SECTION_CHECKS,
    *(_of_sections(check) for check in FIO_CHECKS),
)
