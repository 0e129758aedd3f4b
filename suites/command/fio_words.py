"""fio's own command line as the job file that does the same."""

from collections.abc import Iterator, Mapping, Sequence

FLAGS = frozenset({"time_based", "group_reporting", "thread", "stonewall", "wait_for_previous", "norandommap",
                   "new_group", "exitall", "exitall_on_error", "fill_device", "unified_rw_reporting", "minimal",
                   "readonly", "eta-newline", "status-interval"})  # fmt: skip
"""Options whose value, where they have one, is behind an equals sign: the next word is none (fio, options.c)."""

_WHERE = frozenset({"name", "directory", "filename"})
"""Options that say where, which a step has otherwise."""

Job = dict[str, str]


def options_of(arguments: Sequence[str]) -> tuple[list[tuple[str, str]], bool]:
    """Return fio's options in order, as getopt_long_only(3) takes them: ``--bs=4k``, ``--bs 4k``, ``-bs=4k``.

    And whether that is all: a word that is no option names a job file, and of that nothing is known here.
    """
    found: list[tuple[str, str]] = []
    left, whole = list(arguments), True
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word in {"-", "--"}:
            whole = False
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and name not in FLAGS and left and not left[0].startswith("-"):
            value = left.pop(0)
        found.append((name, value))
    return found, whole


def jobs_of(options: Sequence[tuple[str, str]]) -> tuple[Job, list[Job]]:
    """Return what is said before the first ``--name`` and holds for all jobs, and the options of each job."""
    common: Job = {}
    jobs: list[Job] = []
    for name, value in options:
        if name == "name" and value != "global":
            jobs.append({"name": value})
        elif name != "name":
            (jobs[-1] if jobs else common)[name] = value
    return common, jobs


def job_file(common: Mapping[str, str], jobs: Sequence[Job], *, where: bool) -> str:
    """Return the job file of these jobs (fio manual, Job file format); without `where`, it does not say in which file.

    A single job stands as [job].
    """
    if len(jobs) == 1:
        return "\n".join(["[job]", *_lines({**common, **jobs[0]}, where=where)])
    lines = ["[global]", *_lines(common, where=where)] if common else []
    for number, job in enumerate(jobs, 1):
        lines += [f"[job{number}]", *_lines(job, where=where)]
    return "\n".join(lines)


def _lines(options: Mapping[str, str], *, where: bool) -> Iterator[str]:
    for name, value in options.items():
        if name != "name" and (where or name not in _WHERE):
            yield f"{name}={value}" if value else name
