"""Steps as files of their tool's own, and such files as steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.plans.context import step_context
from app.plans.plan import Plan, PlanError, Step, make_step
from remote.local_file import read_bounded
from suites.base import HasJobFile
from suites.facts import Facts
from suites.fio_job.file import JobFileError, read_job_file
from suites.parameters import MAXIMUM_TEXT

FIO_JOB = "fio-job"
"""The suite that runs such a file."""


def job_file(step: Step, host: str, facts: Mapping[str, Facts]) -> str | None:
    """Return `step` on `host` as a file of its tool's own; None where the tool reads none."""
    suite = step.suite
    return suite.job_file(step.values, step_context(step, host, facts)) if isinstance(suite, HasJobFile) else None


def read_text(path: Path) -> str:
    """Return the text of the file at `path`; raise PlanError where it is none, or longer than a step may hold."""
    try:
        content = read_bounded(path, MAXIMUM_TEXT)
        if len(content) > MAXIMUM_TEXT:
            raise PlanError(f"{path} is longer than {MAXIMUM_TEXT} bytes.", "Choose a shorter file.")
        return content.decode()
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}.", "Check the name and its permissions.") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is not a text file.", "A job file is plain text.") from error


def with_fio_jobs(plan: Plan, paths: Sequence[Path]) -> Plan:
    """Return `plan` whose last steps run the fio job files at `paths`, named after them.

    There is a step of the suite for each already, so that it could be tuned to the host. Raises PlanError where a file
    cannot be read, and JobFileError naming the line that is none of a job file.
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
    """Return every step of `plan` that its tool can read from a file as such a file; raise PlanError for none."""
    found = [(step.name, text) for step in plan.steps if (text := job_file(step, plan.hosts[0], {})) is not None]
    if not found:
        raise PlanError("No step of the plan can be written as a job file.", "Those of fio can.")
    if len(found) == 1:
        return found[0][1]
    return "\n".join(f"; ---- {name}\n{text}" for name, text in found)


def _free_name(wanted: str, taken: set[str]) -> str:
    names = [wanted, *(f"{wanted} {number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)
