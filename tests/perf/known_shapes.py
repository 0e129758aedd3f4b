"""Rates that change within a trial as the lab sets them, each for 30 s: whether the verdict names the change."""

from functools import partial

from tests.lab.known_shapes import COURSES, NAMED_BY, run_course, shape_found
from tests.lab.staging import Stage
from tests.perf.outcome import Met, Outcome
from tests.perf.stage import on_a_stage

SECONDS = 30


def outcomes() -> list[Outcome]:
    """Return for each course of a rate what the verdict names it."""
    return [_line(name, on_a_stage(partial(_run, name), ("fio",))) for name in COURSES]


def _run(name: str, stage: Stage) -> frozenset[str]:
    return shape_found(run_course(stage, COURSES[name], SECONDS))


def _line(name: str, found: frozenset[str] | str) -> Outcome:
    aim = NAMED_BY.get(name, "none")
    if isinstance(found, str):
        return Outcome(name, "–", f"not staged, because {found}", aim, Met.UNDECIDED)
    named = ", ".join(sorted(found)) or "none"
    return Outcome(name, named, f"{SECONDS} s", aim, Met.MET if named == aim else Met.MISSED)
