"""What fio opens that is given its jobs as options."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from suites.command.fio_words import Options, jobs_of, options_of
from suites.fio_job.file import Section, section_of
from suites.fio_job.options import ENGINES
from suites.fio_job.targets import chosen_elsewhere, engine_of, opened, programs
from suites.targets import Target, agreed, refused

_WRITES = frozenset({"output", "daemonize", "trigger-file", "aux-path", "inflate-log"})
_RUNS = frozenset({"trigger", "trigger-remote"})
_ELSEWHERE = {
    "client": "has another computer’s fio run the jobs",
    "remote-config": "has a fio read a job file, which is not judged here",
    "server": "runs what other computers give it",
    "profile": "takes its jobs from a profile of fio",
    "merge-blktrace-only": "writes what other files say",
}
_AGGREGATED = ("agg-read_bw.log", "agg-write_bw.log", "agg-trim_bw.log")


class Line(Protocol):
    """The line that a program is in: it knows variables and directories."""

    fed: str

    def written(self, text: str, name: str = "It") -> Iterator[Target]:
        """Yield the targets of what is written."""
        ...

    def named(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield the targets of words with which anything may be done."""
        ...

    def below(self, text: str) -> Iterator[Target]:
        """Yield the targets of whatever is in a directory."""
        ...

    def line(self, text: str) -> Iterator[Target]:
        """Yield the targets of what a shell is to run."""
        ...

    def run(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield the targets of a command."""
        ...

    def found(self, target: Target) -> Iterator[Target]:
        """Yield a target where it is."""
        ...


def fio_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what fio opens as it is given `arguments`; what cannot be judged is among it."""
    words = options_of(arguments)
    if words.files:
        yield refused("It has fio read a job file, which is not judged here; use the suite “fio job file” for it.")
    if words.unknown:
        yield refused(f"fio is given “--{words.unknown[0][:60]}”, which Benchwright does not know.")
    for name, value in words.options:
        if name in _ELSEWHERE:
            yield refused(f"fio {_ELSEWHERE[name]}.")
        elif name in _WRITES:
            yield from line.written(value)
        elif name in _RUNS:
            yield from line.line(value)
        elif name == "bandwidth-log":
            yield from (target for log in _AGGREGATED for target in line.written(log))
    common, jobs = jobs_of(words.options)
    for section in (_section(common, job) for job in jobs):
        yield from (refused(f"fio {reason}.") for reason in chosen_elsewhere(section))
        if engine_of(section) not in ENGINES:
            yield from line.named(arguments)
        yield from (target for text in programs(section) for target in line.line(text))
        yield from (each for target in agreed(opened(section)) for each in line.found(target))


def _section(common: Options, job: Options) -> Section:
    plain = [[(name, value or "1") for name, value in body if name != "name"] for body in (common, job)]
    return section_of(dict(job).get("name", ""), *plain)
