"""fio-job: a job file of the user's own, run as fio runs it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from suites.base import Command, Context, Effect, EffectKind, Estimate, TrialParser
from suites.checks import StepCheck
from suites.disk import DIRECTORY
from suites.fio.commands import REPORT
from suites.fio.metrics import METRICS
from suites.fio.output import FioParser
from suites.fio.parameters import total_size
from suites.fio.tuning import tune_fio
from suites.fio_job.checks import JOB_CHECKS, leads_out, shown
from suites.fio_job.file import (
    VARIABLE,
    JobFileError,
    Section,
    effective_sections,
    read_environment,
    read_job_file,
)
from suites.fio_job.step_targets import step_targets
from suites.fio_job.targets import programs, targets_of
from suites.fio_job.values import directories_in, may_write_device, section_values, section_writes
from suites.host_files import HostFile
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.targets import Target, Use, agreed, refused
from suites.vocab import Metric, Resource

FILE = "job.fio"

JOB = Parameter(
    name="job",
    title="Job file",
    type=Type.LINES,
    default="",
    help="The text of the file: [global], then a section for each job. It belongs to the plan and is run unchanged.",
)

ENVIRONMENT = Parameter(
    name="environment",
    title="Environment",
    type=Type.TEXT,
    default="",
    help="Values of the file's ${VARIABLES}: “SIZE=8g DEPTH=32”.",
    pattern=r"\s*(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s*)*",
)

KEEP, OVERWRITE = "keep", "overwrite"

EXISTING = Parameter(
    name="existing_files",
    title="Existing files",
    type=Type.CHOICE,
    default=KEEP,
    help="What becomes of files outside the private directory that exist before the step and that fio would "
    "overwrite, lay out anew or remove. Devices are never written to.",
    choices=(Choice(KEEP, "Keep: fio is not started"), Choice(OVERWRITE, "Overwrite or remove")),
    identity=False,
)


NAMING: Mapping[str, EffectKind] = MappingProxyType(
    {
        "read_iolog": EffectKind.EXECUTES,
        **dict.fromkeys(("hostname", "http_host", "uri", "nfs_url", "namenode", "clustername"), EffectKind.SENDS),
    }
)
"""Options that name a log of what is done to which file, or where the other end is (fio manual)."""

DEVICE = re.compile(r"/dev/[\w/-]+")
"""What is only read there is nothing that a job file could make."""

_WORD = (
    r"(blocks?|blocksize|bs|count|cpus|depth|dev|device|dir|directory|disk|duration|engine|file|filename|files|filesize|"
    r"io|iodepth|ioengine|iops|jobs?|loops|max|min|mix|mode|nrfiles|num|number|numjobs|nvme|percent|qd|ramp|randseed|"
    r"rate|reads?|runtime|rw|seed|size|ssd|step|target|test|threads?|time|volume|writes?)\d*"
)
WORKLOAD = re.compile(rf"{_WORD}(_{_WORD})*", re.IGNORECASE)
"""Names of variables that need no consent: no program is known to read such a one. Any other may decide what a program
loads or starts (ld.so(8), sh(1), openssl-env(7))."""


class FioJob:
    """A job file. Its sections may run together or, after a stonewall, one after the other; each has its figures."""

    id = "fio-job"
    title = "fio job file"
    summary = "A job file of your own, imported as it is and run as it would run, its sections reported apart."
    resource = Resource.DISK
    tool = "fio"
    packages: Mapping[str, str] = MappingProxyType(dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), "fio"))
    parameters: tuple[Parameter, ...] = (
        replace(DIRECTORY, help="Where the files lie that the job file names without a path."), JOB, ENVIRONMENT,
        EXISTING,
    )  # fmt: skip
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = JOB_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the directory with the most room; all else is the file's."""
        return {name: tuned for name, tuned in tune_fio(context).items() if name == "directory"}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command. What may write to a raw device, as far as can be told, may not write at all.

        Threads are the default that the file may overrule: processes of fio's own outlive a broken connection.
        """
        sections = _sections(values, context)
        try:
            environment = read_environment(str(values["environment"]))
        except JobFileError:
            environment = {}
        given = ["env", *(f"{name}={value}" for name, value in environment.items())] if environment else []
        guard = ["--readonly"] if sections is None or may_write_device(sections) else []
        words = (*given, "fio", "--thread=1", *guard, FILE, *REPORT)
        file = HostFile(FILE, text=str(values["job"]))
        return (Command(words, files=(file,), targets=_targets(values, sections)),)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the programs and servers that its sections name; all of a file that cannot be read as fio reads it."""
        sections = _sections(values, Context()) if values["job"] else ()
        if sections is None:
            return (Effect(EffectKind.EXECUTES, str(values["job"]), "a job file that cannot be judged"),)
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
        """Return the job file, as it is."""
        del context
        return str(values["job"])

    def more_directories(self, values: Values) -> tuple[str, ...]:
        """Return the directories that sections name, such as those of several volumes."""
        return tuple(path for section in _sections(values, Context()) or () for path in directories_in(section))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what the sections take together: side by side, or one after the other behind a stonewall."""
        sections = _sections(values, context)
        if not sections:
            return Estimate(duration=None, written=None)
        written = None if any(section_writes(section) for section in sections) else 0
        space = sum(total_size(section_values(section, "")) for section in sections)
        return Estimate(duration=_duration(sections), written=written, prepared=space, space=space)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return FioParser()


def _sections(values: Values, context: Context) -> tuple[Section, ...] | None:
    """Return the sections as they will run; None where the file cannot be read."""
    try:
        environment = read_environment(str(values["environment"]))
        return effective_sections(str(values["job"]), environment, context.facts)
    except JobFileError:
        return None


def _steering(values: Values) -> tuple[Effect, ...]:
    """Return the environment where it does more than fill in the variables of the job file."""
    names = [word.partition("=")[0] for word in str(values["environment"]).split()]
    harmless = not names or all(WORKLOAD.fullmatch(name) and name in _used(str(values["job"])) for name in names)
    line = f"env {values['environment']} fio {FILE}"
    return () if harmless else (Effect(EffectKind.EXECUTES, line, ENVIRONMENT.title),)


def _used(job: str) -> set[str]:
    """Return the variables that options of the job file use; what stands in a comment is used by none."""
    bodies = (body for section in read_job_file(job) for body in section.all_bodies())
    return {name for body in bodies for _, value in body for name in VARIABLE.findall(value)}


def _outside(sections: Sequence[Section], values: Values) -> Iterator[Effect]:
    """Yield the paths outside the step's private directory that are made or written: a new file, too, may be a program
    or a key, since the job file says what is in it."""
    what = "overwritten or removed" if values["existing_files"] == OVERWRITE else "made where it does not exist"
    paths = dict.fromkeys(
        shown(target) for target in targets_of(sections) if target.use is not Use.REFUSE and leads_out(target.path)
        and not (target.use is Use.READ and (target.size == 0 or DEVICE.fullmatch(target.path)))
    )  # fmt: skip
    for path in paths:
        yield Effect(EffectKind.CHANGES, path, f"file, below {values['directory'] or 'a directory of its own'}: {what}")


def _targets(values: Values, sections: tuple[Section, ...] | None) -> tuple[Target, ...]:
    if sections is None:
        return (refused("The job file cannot be read as fio reads it, so that it was not started."),)
    unset = [f"[{section.name}] uses variables that have no value." for section in sections if section.missing]
    targets = (*map(refused, unset), *step_targets(sections, values))
    return agreed(targets) if values["existing_files"] == OVERWRITE else targets


def _duration(sections: Sequence[Section]) -> float | None:
    """Return the seconds of all sections; None where one of them ends only when it is done."""
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
