"""What is asked of every section of a job file, as it will run on a host."""

from collections.abc import Callable

from suites.checks import CannotTell, Outcome, StepEvidence
from suites.fio_job.file import JobFileError, Section, effective_sections, read_environment

NAMED = 5
"""Sections that a finding names; of more, it counts the others."""

Answer = Outcome | CannotTell | None


def sections_of(evidence: StepEvidence) -> tuple[Section, ...] | JobFileError:
    """Return the sections of a step's job file as they will run on its host, or why it cannot be read."""
    try:
        environment = read_environment(str(evidence.values["environment"]))
        return effective_sections(str(evidence.values["job"]), environment, evidence.context.facts)
    except JobFileError as error:
        return error


def about(of: Callable[[Section], str]) -> Callable[[StepEvidence], Answer]:
    """Return a check's question to each section: what `of` answers is told with the section's name."""

    def evaluate(evidence: StepEvidence) -> Answer:
        sections = sections_of(evidence)
        if isinstance(sections, JobFileError):
            return None
        told = [f"[{section.name}] {answer}" for section in sections if (answer := of(section))]
        more = f"; {len(told) - NAMED} more" if len(told) > NAMED else ""
        return Outcome(f"{'; '.join(told[:NAMED])}{more}.") if told else None

    return evaluate
