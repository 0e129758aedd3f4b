"""A job file of one section, judged as the test of fio's own suite that it is."""

from dataclasses import replace
from pathlib import PurePosixPath

from suites.evidence import TrialEvidence
from suites.fio_job.file import JobFileError, Section, effective_sections, read_environment
from suites.fio_job.values import section_values
from suites.parameters import Value
from suites.registry import suite


def of_one_section(trial: TrialEvidence) -> TrialEvidence:
    """Return a trial of a job file with one section as one of fio with the section's values; any other as it is.

    Several sections run side by side or one after the other: what the host did meanwhile belongs to none of them.
    """
    if trial.suite.id != "fio-job":
        return trial
    try:
        environment = read_environment(str(trial.values["environment"]))
        sections = effective_sections(str(trial.values["job"]), environment, trial.context.facts)
    except JobFileError:
        return trial
    values = _values(sections[0], str(trial.values["directory"])) if len(sections) == 1 else None
    return trial if values is None else replace(trial, suite=suite("fio"), values=values)


def _values(section: Section, directory: str) -> dict[str, Value] | None:
    """Return what the section asks for; None where what ends it, or which files it is about, cannot be told."""
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
