"""Conversion of steps to job files of their tool, and of fio job files to steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.plans.context import step_context
from app.plans.plan import Plan, PlanError, Step, make_step
from remote.local_file import read_file
from suites.facts import Facts
from suites.fio_job.file import JobFileError, read_job_file
from suites.fio_job.suite import FioJob
from suites.parameters import MAXIMUM_TEXT

FIO_JOB = FioJob.id
"""The suite that runs a fio job file."""


def job_file(step: Step, host: str, facts: Mapping[str, Facts]) -> str | None:
    """Return the job file of `step` on `host`; None if its tool does not read job files."""
    return step.suite.job_file(step.on(host).values, step_context(step, host, facts))


def read_text(path: Path) -> str:
    """Return the text of a file; raise PlanError if it is unreadable, not UTF-8, or longer than MAXIMUM_TEXT."""
    return read_file(path, MAXIMUM_TEXT, PlanError, "A job file is plain text.", str, encoding="utf-8")


def with_fio_jobs(plan: Plan, paths: Sequence[Path]) -> Plan:
    """Return `plan` whose last steps run the fio job files at `paths`, named after them.

    The plan already ends with a tuned step of the suite for each. Raises PlanError if a file cannot be read, and
    JobFileError naming an invalid line.
    """
    own = len(plan.steps) - len(paths)
    steps = list(plan.steps[:own])
    for step, path in zip(plan.steps[own:], paths, strict=True):
        text = read_text(path)
        try:
            read_job_file(text)
        except JobFileError as error:
            raise JobFileError(f"{path}: {error.message}", error.remedy) from error
        name = _free_name(path.stem[:60] or FIO_JOB, {other.name for other in steps})
        steps.append(make_step(FIO_JOB, {**step.values, "job": text}, name=name))
    return replace(plan, steps=tuple(steps))


def job_files_text(plan: Plan) -> str:
    """Return the job files of all steps of `plan` that have one; raise PlanError if none has."""
    found = [(step.name, text) for step in plan.steps if (text := job_file(step, plan.hosts[0], {})) is not None]
    if not found:
        raise PlanError("No step of the plan can be written as a job file.", "Only fio steps can.")
    if len(found) == 1:
        return found[0][1]
    return "\n".join(f"; ---- {name}\n{text}" for name, text in found)


def _free_name(wanted: str, taken: set[str]) -> str:
    names = [wanted, *(f"{wanted} {number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)
