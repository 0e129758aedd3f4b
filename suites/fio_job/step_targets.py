"""Targets of a step with a job file: its sections and the programs that they run."""

from collections.abc import Sequence

from suites.command.targets import targets_of_line
from suites.fio_job.file import Section
from suites.fio_job.targets import programs, targets_of
from suites.parameters import Value, Values
from suites.targets import Target


def step_targets(sections: Sequence[Section], values: Values) -> tuple[Target, ...]:
    """Return the targets of the sections and their programs, including those that cannot be checked."""
    shell: dict[str, Value] = {"shell": True, "working_directory": "", "environment": values["environment"]}
    lines = dict.fromkeys(line for section in sections for line in programs(section))
    return (*targets_of(sections), *(target for line in lines for target in targets_of_line(line, shell)))
