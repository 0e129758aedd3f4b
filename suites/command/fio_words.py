"""fio's own command line as the job file that does the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from suites.fio_job.options import ALIASES, KNOWN, REFUSED

FLAGS = frozenset({"bs_unaligned", "exitall", "exitall_on_error", "fixedbufs", "group_reporting", "hipri", "new_group",
                   "norandommap", "refill_buffers", "registerfiles", "sqthread_poll", "stonewall", "thread",
                   "time_based", "userspace_reap", "verify_only", "wait_for_previous", "zero_buffers"})  # fmt: skip
"""Options of jobs whose value, where they have one, is behind an equals sign (fio --cmdhelp: “empty or boolean”)."""

OWN_FLAGS = frozenset({"append-terse", "bandwidth-log", "cmdhelp", "cpuclock-test", "crctest", "enghelp", "help",
                       "merge-blktrace-only", "minimal", "parse-only", "readonly", "server", "showcmd", "version",
                       "warnings-fatal"})  # fmt: skip
"""Options of fio itself with no value, or one behind an equals sign (fio 3.33, init.c, l_opts)."""

OWN_VALUED = frozenset({"alloc-size", "aux-path", "client", "daemonize", "debug", "eta", "eta-interval", "eta-newline",
                        "idle-prof", "inflate-log", "latency-log", "max-jobs", "output", "output-format",
                        "remote-config", "section", "status-interval", "terse-version", "trigger", "trigger-file",
                        "trigger-remote", "trigger-timeout"})  # fmt: skip
"""Options of fio itself whose value is behind an equals sign or the next word."""

_NAMES = KNOWN | REFUSED.keys() | ALIASES.keys() | FLAGS | OWN_FLAGS | OWN_VALUED

_WHERE = frozenset({"name", "directory", "filename"})
"""Options that say where, which a step has otherwise."""

Options = list[tuple[str, str]]


@dataclass(slots=True)
class FioLine:
    """fio's words: its options in order by their whole names, the files it is to read, and options that are not
    known."""

    options: Options = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def options_of(arguments: Sequence[str]) -> FioLine:
    """Return fio's words as getopt_long_only(3) takes them: ``--bs=4k``, ``--bs 4k``, ``-bs=4k``."""
    line = FioLine()
    left = list(arguments)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word in {"-", "--"}:
            line.files.append(word)
            continue
        given, equals, value = word.lstrip("-").partition("=")
        name = _full_name(given)
        if name not in _NAMES:
            line.unknown.append(given)
        elif not equals and name not in FLAGS | OWN_FLAGS and left:
            value = left.pop(0)
        line.options.append((name, value))
    return line


def _full_name(name: str) -> str:
    """Return an option that may be given by its beginning."""
    found = [each for each in _NAMES if each.startswith(name)]
    return found[0] if len(found) == 1 else name


def jobs_of(options: Options) -> tuple[Options, list[Options]]:
    """Return what is said before the first ``--name`` and holds for all jobs, and the options of each job."""
    common: Options = []
    jobs: list[Options] = []
    for name, value in options:
        if name == "name" and value != "global":
            jobs.append([("name", value)])
        elif name != "name":
            (jobs[-1] if jobs else common).append((name, value))
    return common, jobs


def job_file(common: Options, jobs: Sequence[Options], *, where: bool) -> str:
    """Return the job file of these jobs (fio manual, Job file format); without `where`, it does not say in which file.

    A single job stands as [job].
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
