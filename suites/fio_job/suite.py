"""fio-job: a job file of the user, run as fio runs it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from suites.base import Command, Context, Effect, EffectKind, Estimate, Histograms, Suite, TestedTool
from suites.command.program_rules import name_of, starts
from suites.command_line import CommandSyntax, ParsedCommand, Respelled, UnreadWord, lines_of
from suites.disk import DIRECTORY
from suites.equivalents import Traits
from suites.facts import Facts
from suites.fio.metrics import METRICS, latency_slices
from suites.fio.output import FioParser
from suites.fio.parameters import total_size
from suites.fio.suite import FIO, REPORT, Fio, percentile_options
from suites.fio.syntax import THREADS, fio_words
from suites.fio.tuning import tune_fio
from suites.fio_job.checks import JOB_CHECKS, concurrent_groups, leads_out, shown
from suites.fio_job.command_line import OWN_FLAGS, OWN_VALUED, REPORTED, job_file, jobs_of, options_of
from suites.fio_job.file import VARIABLE, JobFileError, Section, effective_sections, read_environment, read_job_file
from suites.fio_job.output_formats import fio_formats, verifies
from suites.fio_job.section_values import directories_in, may_write_device, section_values, section_writes, sized
from suites.fio_job.step_targets import step_targets
from suites.fio_job.targets import names_of, programs, targets_of
from suites.host_files import HostFile
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values
from suites.targets import PathUse, Target, agreed, refused
from suites.vocab import Metric, Resource

FILE = "job.fio"

JOB = Parameter(
    name="job",
    title="Job file",
    type=Type.LINES,
    default="",
    help="Content of the file: [global], then one section per job. It is part of the plan and runs unchanged.",
)

ENVIRONMENT = Parameter(
    name="environment",
    title="Environment",
    type=Type.TEXT,
    default="",
    help="Values of the file's ${VARIABLES}, such as “SIZE=8g DEPTH=32”.",
    pattern=r"\s*(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s*)*",
)

KEEP, OVERWRITE = "keep", "overwrite"

EXISTING = Parameter(
    name="existing_files",
    title="Existing files",
    type=Type.CHOICE,
    default=KEEP,
    help="What to do with files outside the private directory that exist before the step and that fio would "
    "overwrite, lay out again or remove. Devices are always refused.",
    choices=(Choice(KEEP, "Keep: do not start fio"), Choice(OVERWRITE, "Overwrite or remove")),
    identity=False,
)


NAMING: Mapping[str, EffectKind] = {
    "read_iolog": EffectKind.EXECUTES,
    **dict.fromkeys(("hostname", "http_host", "uri", "nfs_url", "namenode", "clustername"), EffectKind.SENDS),
}
"""Options that name a log of file accesses, or the address of the other end (fio manual)."""

DEVICE = re.compile(r"/dev/[\w/-]+")
"""Paths below are only read: a job file cannot create anything there."""

_WORD = (
    r"(blocks?|blocksize|bs|count|cpus|depth|dev|device|dir|directory|disk|duration|engine|file|filename|files|filesize|"
    r"io|iodepth|ioengine|iops|jobs?|loops|max|min|mix|mode|nrfiles|num|number|numjobs|nvme|percent|qd|ramp|randseed|"
    r"rate|reads?|runtime|rw|seed|size|ssd|step|target|test|threads?|time|volume|writes?)\d*"
)
WORKLOAD = re.compile(rf"{_WORD}(_{_WORD})*", re.IGNORECASE)
"""Names of variables that need no consent: no program is known to read such a one. Any other may affect what a program
loads or starts (ld.so(8), sh(1), openssl-env(7))."""


def _arguments(text: str) -> list[str]:
    """Return the arguments of the first fio command in `text`."""
    try:
        found = lines_of(text)
    except ValueError:
        return []
    places = ((line, starts(line)[0]) for line in found)
    return next((line[at[-1] + 1 :] for line, at in places if at and name_of(line[at[-1]]) == FIO.title), [])


def _job_words(words: Sequence[str]) -> list[str]:
    """Return the words of a line of fio that a job file cannot hold; all of them if the line states no job."""
    line = options_of(words)
    if not jobs_of(line.options)[1]:
        return fio_words(words)
    own = (OWN_FLAGS | OWN_VALUED) - REPORTED
    return [
        *line.files,
        *(
            Respelled(f"--{name}={value}" if value else f"--{name}", name)
            for name, value in line.options
            if name in own
        ),
    ]


class FioJob(Suite):
    """An fio job file. Its sections run concurrently or, behind a stonewall, in order; each has its figures."""

    id = "fio-job"
    title = "fio job file"
    summary = "An fio job file, run unchanged; each section is reported separately."
    resource = Resource.DISK
    tried = TestedTool(
        "fio 3.33 run for real, its reading of files compared with fio’s own",
        "every second of every section",
        "a job file as it is; sections behind a stonewall have figures of their own",
    )
    program = FIO
    parameters = (
        replace(DIRECTORY, help="Directory for files that the job file names without a path."), JOB, ENVIRONMENT,
        EXISTING,
    )  # fmt: skip
    main_parameters = ("job", "directory", "environment", "existing_files")
    syntax = CommandSyntax(("fio",), normalised=_job_words)
    metrics = METRICS
    directory_parameter = "directory"
    several_limits = (
        "each section of the job file has its own limit.",
        "Run one section alone in a separate job file with time_based to identify its limit.",
    )
    checks = JOB_CHECKS
    histograms = Histograms(latency_slices)

    def parse_command(self, text: str, values: Values, context: Context) -> ParsedCommand | None:
        """Return the values of a line of fio; its jobs become the job file. What else it says stays unread."""
        found = super().parse_command(text, values, context)
        line = options_of(_arguments(text))
        if found is None or not (line.options or line.files):
            return found
        kept = [(name, value) for name, value in line.options if name not in OWN_FLAGS | OWN_VALUED]
        common, jobs = jobs_of(kept)
        own = bool(values[JOB.name]) or text == self.commands(values, context)[0].line
        if FILE in line.files and (jobs or not own):
            found = replace(found, unread=(*found.unread, UnreadWord(FILE, "its content is unknown: open the file.")))
        if not jobs:
            return found
        added = () if "thread" in dict(kept) else (THREADS,)
        job = job_file(common, jobs, where=True)
        return replace(found, values={**found.values, JOB.name: job}, unread=(*found.unread, *added))

    def measured_as(self, values: Values, facts: Facts | None) -> tuple[Suite, Values]:
        """Return a file with one section as a step of fio.

        With several sections, the host's telemetry cannot be attributed to one of them.
        """
        sections = _sections(values, Context(facts))
        found = _one_section(sections[0], str(values["directory"])) if sections and len(sections) == 1 else None
        return (self, values) if found is None else (Fio(), found)

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics, the headline first: that of fio for a file with one section."""
        suite, found = self.measured_as(values, None)
        return METRICS if suite is self else suite.metrics_of(found)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the directory with the most free space; everything else is set by the file."""
        return {name: tuned for name, tuned in tune_fio(context).items() if name == "directory"}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command. A file that may write to a raw device runs with --readonly.

        Threads are a default that the file may override: separate processes of fio survive a broken connection.
        """
        sections = _sections(values, context)
        try:
            environment = read_environment(str(values["environment"]))
        except JobFileError:
            environment = {}
        given = ["env", *(f"{name}={value}" for name, value in environment.items())] if environment else []
        guard = ["--readonly"] if sections is None or may_write_device(sections) else []
        words = (*given, "fio", "--thread=1", *percentile_options(context), *guard, FILE, *REPORT)
        file = HostFile(FILE, text=str(values["job"]))
        return (Command(words, files=(file,), targets=_targets(values, sections)),)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the programs and servers named by its sections; the whole file if it cannot be parsed."""
        sections = _sections(values, Context()) if values["job"] else ()
        if sections is None:
            return (Effect(EffectKind.EXECUTES, str(values["job"]), "a job file that cannot be parsed"),)
        runs = [
            Effect(EffectKind.EXECUTES, line, f"[{section.name}]") for section in sections for line in programs(section)
        ]
        named = [
            Effect(kind, f"{name}={section.options[name]}", f"[{section.name}]")
            for section in sections
            for name, kind in NAMING.items()
            if name in section.options
        ]
        return (*_steering(values), *runs, *named, *_outside(sections, values))

    def job_file(self, values: Values, context: Context) -> str:
        """Return the job file unchanged."""
        return str(values["job"])

    def more_directories(self, values: Values) -> tuple[str, ...]:
        """Return the directories that sections name, such as those of several volumes, and files that may exist."""
        found = tuple(path for section in _sections(values, Context()) or () for path in directories_in(section))
        return (*found, *self.files(values, Context()))

    def files(self, values: Values, context: Context) -> dict[str, int]:
        """Return the files that sections name by an absolute path; several sections may share one."""
        named = _named_files(_sections(values, context) or ())
        return {path: size for path, size in named.items() if path.startswith("/")}

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the cost of the sections, concurrent or, behind a stonewall, one after the other."""
        sections = _sections(values, context)
        if not sections:
            return Estimate(duration=None, written=None)
        written = None if any(section_writes(section) for section in sections) else 0
        unnamed = [section for section in sections if "filename" not in section.options]
        space = sum(total_size(section_values(section, "")) for section in unnamed)
        space += sum(_named_files(sections).values())
        return Estimate(duration=_duration(sections), written=written, prepared=space, space=space)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the most jobs that run at once."""
        sections = _sections(values, Context(facts))
        groups = concurrent_groups(sections or ())
        return Traits(threads=max(sum(each.number("numjobs", 1) for each in group) for group in groups) or None)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of fio's output, whose jobs are read as those of a job file."""
        return fio_formats()

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return FioParser(self.metrics_of(values)[0].name, verifies=verifies)


def _named_files(sections: Sequence[Section]) -> dict[str, int]:
    """Return the files that sections name, and the bytes of each; fio divides the size of a job among its files."""
    found: dict[str, int] = {}
    for section in sections:
        values = section_values(section, "")
        if "filename" not in section.options or values["device"]:
            continue
        names = names_of(section)
        for name in names:
            found[name] = max(found.get(name, 0), int(values["size"]) // len(names) if sized(section) else 0)
    return found


def _sections(values: Values, context: Context) -> tuple[Section, ...] | None:
    """Return the effective sections; None if the file cannot be parsed."""
    try:
        environment = read_environment(str(values["environment"]))
        return effective_sections(str(values["job"]), environment, context.facts)
    except JobFileError:
        return None


def _steering(values: Values) -> tuple[Effect, ...]:
    """Return the environment if it has more than variables of the job file."""
    names = [word.partition("=")[0] for word in str(values["environment"]).split()]
    harmless = not names or all(WORKLOAD.fullmatch(name) and name in _used(str(values["job"])) for name in names)
    line = f"env {values['environment']} fio {FILE}"
    return () if harmless else (Effect(EffectKind.EXECUTES, line, ENVIRONMENT.title),)


def _used(job: str) -> set[str]:
    """Return the variables used by options of the job file, not by comments."""
    bodies = (body for section in read_job_file(job) for body in section.all_bodies())
    return {name for body in bodies for _, value in body for name in VARIABLE.findall(value)}


def _outside(sections: Sequence[Section], values: Values) -> Iterator[Effect]:
    """Yield the paths outside the step's private directory that are created or written: the job file determines the
    content, so a new file may be a program or a key."""
    what = "overwritten or removed" if values["existing_files"] == OVERWRITE else ("created where it does not exist")
    paths = dict.fromkeys(
        shown(target) for target in targets_of(sections) if target.use is not PathUse.REFUSE and leads_out(target.path)
        and not (target.use is PathUse.READ and (target.size == 0 or DEVICE.fullmatch(target.path)))
    )  # fmt: skip
    for path in paths:
        yield Effect(EffectKind.CHANGES, path, f"file, below {values['directory'] or 'a private directory'}: {what}")


def _targets(values: Values, sections: tuple[Section, ...] | None) -> tuple[Target, ...]:
    if sections is None:
        return (refused("The job file cannot be parsed as fio does, so it was not started."),)
    unset = [f"[{section.name}] uses variables that have no value." for section in sections if section.missing]
    targets = (*map(refused, unset), *step_targets(sections, values))
    return agreed(targets) if values["existing_files"] == OVERWRITE else targets


def _duration(sections: Sequence[Section]) -> float | None:
    """Return the seconds of all sections; None if one of them ends only when its work is done."""
    groups: list[float] = [0.0]
    for section in sections:
        asked = section_values(section, "")
        if not asked["runtime"]:
            return None
        seconds = float(asked["runtime"]) + float(asked["ramp_time"])
        if "stonewall" in section.options:
            groups.append(0.0)
        groups[-1] = max(groups[-1], seconds)
    return sum(groups)


def _one_section(section: Section, directory: str) -> dict[str, Value] | None:
    """Return the expected work of the section; None if its end or its files are not known."""
    file = section.options.get("filename", "")
    if (
        ("runtime" in section.options and not section.flag("time_based"))
        or ":" in file
        or "stonewall" in section.options
    ):
        return None
    values = section_values(section, directory)
    if file.startswith("/dev/"):
        return {**values, "device": file}
    if file.startswith("/"):
        return {**values, "directory": str(PurePosixPath(file).parent)}
    return values
