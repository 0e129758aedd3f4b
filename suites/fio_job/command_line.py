"""fio's command line: the equivalent job file, and the files that it opens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from suites.command_line import Respelled
from suites.fio_job.file import ALIASES, ENGINES, KNOWN, REFUSED, Section, section_of
from suites.fio_job.targets import engine_of, external_dependencies, opened, programs
from suites.targets import Target, agreed, refused

FLAGS = frozenset({"bs_unaligned", "exitall", "exitall_on_error", "fixedbufs", "group_reporting", "hipri", "new_group",
                   "norandommap", "refill_buffers", "registerfiles", "sqthread_poll", "stonewall", "thread",
                   "time_based", "userspace_reap", "verify_only", "wait_for_previous", "zero_buffers"})  # fmt: skip
"""Job options whose value, if any, follows an equals sign (fio --cmdhelp: “empty or boolean”)."""

OWN_FLAGS = frozenset({"append-terse", "bandwidth-log", "cmdhelp", "cpuclock-test", "crctest", "enghelp", "help",
                       "merge-blktrace-only", "minimal", "parse-only", "readonly", "server", "showcmd", "version",
                       "warnings-fatal"})  # fmt: skip
"""Options of fio itself without a value, or with one after an equals sign (fio 3.33, init.c, l_opts)."""

OWN_VALUED = frozenset({"alloc-size", "aux-path", "client", "daemonize", "debug", "eta", "eta-interval", "eta-newline",
                        "idle-prof", "inflate-log", "latency-log", "max-jobs", "output", "output-format",
                        "remote-config", "section", "status-interval", "terse-version", "trigger", "trigger-file",
                        "trigger-remote", "trigger-timeout"})  # fmt: skip
"""Options of fio itself whose value follows an equals sign or is the next word."""

REPORTED = frozenset({"output-format", "status-interval", "eta", "eta-interval", "eta-newline", "readonly"})
"""Options of fio itself that a step has anyway."""

_NAMES = KNOWN | REFUSED.keys() | ALIASES.keys() | FLAGS | OWN_FLAGS | OWN_VALUED

_WHERE = frozenset({"name", "directory", "filename"})
"""Options of the location, which a step sets otherwise."""

Options = list[tuple[str, str]]


@dataclass(slots=True)
class FioLine:
    """fio's arguments: its options in order with full names (Respelled), job files to read, and unknown options."""

    options: Options = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def options_of(arguments: Sequence[str]) -> FioLine:
    """Return fio's arguments as parsed by getopt_long_only(3): ``--bs=4k``, ``--bs 4k``, ``-bs=4k``."""
    line = FioLine()
    left = list(arguments)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word in {"-", "--"}:
            line.files.append(word)
            continue
        given, equals, value = word.lstrip("-").partition("=")
        name, typed = _full_name(given), word
        if name not in _NAMES:
            line.unknown.append(given)
        elif not equals and name not in FLAGS | OWN_FLAGS and left:
            value = left.pop(0)
            typed = f"{word} {value}"
        line.options.append((Respelled(name, typed), value))
    return line


@lru_cache(1024)
def _full_name(name: str) -> str:
    """Return the full name of an abbreviated option."""
    found = [each for each in _NAMES if each.startswith(name)]
    return found[0] if len(found) == 1 else name


def jobs_of(options: Options) -> tuple[Options, list[Options]]:
    """Return the options before the first ``--name``, which apply to all jobs, and the options of each job."""
    common: Options = []
    jobs: list[Options] = []
    for name, value in options:
        if name == "name" and value != "global":
            jobs.append([("name", value)])
        elif name != "name":
            (jobs[-1] if jobs else common).append((name, value))
    return common, jobs


def job_file(common: Options, jobs: Sequence[Options], *, where: bool) -> str:
    """Return the job file of these jobs (fio manual, Job file format); without `where`, it names no files.

    A single job is written as [job].
    """
    if len(jobs) == 1:
        return "\n".join(["[job]", *_lines([*common, *jobs[0]], where=where)])
    lines = ["[global]", *_lines(common, where=where)] if common else []
    for number, job in enumerate(jobs, 1):
        lines += [f"[job{number}]", *_lines(job, where=where)]
    return "\n".join(lines)


def _lines(options: Options, *, where: bool) -> Iterator[str]:
    last = dict(options)
    if "filename" in last:  # names add up
        last["filename"] = ":".join(value for name, value in options if name == "filename")
    for name, value in last.items():
        if name != "name" and (where or name not in _WHERE):
            yield f"{name}={value}" if value else name


_WRITES = frozenset({"output", "daemonize", "trigger-file", "aux-path", "inflate-log"})
_RUNS = frozenset({"trigger", "trigger-remote"})
_UNCHECKED = {
    "client": "has another computer’s fio run the jobs",
    "remote-config": "has fio read a job file, which is not checked here",
    "server": "runs jobs received from other computers",
    "profile": "takes its jobs from a profile of fio",
    "merge-blktrace-only": "writes what other files specify",
}
_AGGREGATED = ("agg-read_bw.log", "agg-write_bw.log", "agg-trim_bw.log")


class LineTargets(Protocol):
    """The line that a program is part of: its variables and directories."""

    stdin: str

    def written(self, text: str, name: str = "It") -> Iterator[Target]:
        """Yield the targets of files that are written."""
        ...

    def named(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield the targets of operands of unknown use."""
        ...

    def below(self, text: str) -> Iterator[Target]:
        """Yield the targets of the content of a directory."""
        ...

    def line(self, text: str) -> Iterator[Target]:
        """Yield the targets of a line run by a shell."""
        ...

    def run(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield the targets of a command."""
        ...

    def found(self, target: Target) -> Iterator[Target]:
        """Yield a target with its directory resolved."""
        ...


def fio_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield the targets of fio run with `arguments`, including those that cannot be checked."""
    words = options_of(arguments)
    if words.files:
        yield refused("It has fio read a job file, which is not checked here; use the suite “fio job file”.")
    if words.unknown:
        yield refused(f"fio is given “--{words.unknown[0][:60]}”, which Benchwright does not know.")
    for name, value in words.options:
        if name in _UNCHECKED:
            yield refused(f"fio {_UNCHECKED[name]}.")
        elif name in _WRITES:
            yield from line.written(value)
        elif name in _RUNS:
            yield from line.line(value)
        elif name == "bandwidth-log":
            yield from (target for log in _AGGREGATED for target in line.written(log))
    common, jobs = jobs_of(words.options)
    for section in (_section(common, job) for job in jobs):
        yield from (refused(f"fio {reason}.") for reason in external_dependencies(section))
        if engine_of(section) not in ENGINES:
            yield from line.named(arguments)
        yield from (target for text in programs(section) for target in line.line(text))
        yield from (each for target in agreed(opened(section)) for each in line.found(target))


def _section(common: Options, job: Options) -> Section:
    plain = [[(name, value or "1") for name, value in body if name != "name"] for body in (common, job)]
    return section_of(dict(job).get("name", ""), *plain)
