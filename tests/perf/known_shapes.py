"""Rates that change within a trial as the lab sets them, for 30, 60 and 120 s: whether the verdict names the change."""

from functools import partial

from tests.lab.known_shapes import COURSES, NAMED_BY, run_course, shape_found
from tests.lab.staging import Stage
from tests.perf.outcome import Met, Outcome
from tests.perf.stage import on_a_stage

LENGTHS = (30, 60, 120)
"""Seconds of a trial."""


def outcomes() -> list[Outcome]:
    """Return for each course of a rate, and each length of a trial, what the verdict names it."""
    return [
        _line(name, seconds, on_a_stage(partial(_run, name, seconds), ("fio",)))
        for name in COURSES
        for seconds in LENGTHS
    ]


def _run(name: str, seconds: int, stage: Stage) -> frozenset[str]:
    return shape_found(run_course(stage, COURSES[name], seconds))


def _line(name: str, seconds: int, found: frozenset[str] | str) -> Outcome:
    what, aim = f"{name}, {seconds} s", NAMED_BY.get(name, "none")
    if isinstance(found, str):
        return Outcome(what, "–", f"not staged, because {found}", aim, Met.UNDECIDED)
    named = ", ".join(sorted(found)) or "none"
    return Outcome(what, named, "–", aim, Met.MET if named == aim else Met.MISSED)
