"""What is known to fool people about fio, asked of every point of a sweep."""

from collections.abc import Iterable
from dataclasses import replace

from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.fio.checks import FIO_CHECKS
from suites.fio.device_checks import DEVICE_CHECKS
from suites.fio_sweep.parameters import SWEEP_PARAMETERS, point_values, points
from suites.vocab import Level

_OWN = frozenset(parameter.name for parameter in SWEEP_PARAMETERS) | {"device"}


NOT_OF_POINTS = ("ends-before-its-size", "one-io-in-flight")
"""A point always has a runtime; and one of depth 1 is where the curve begins."""

LONG = 3600.0
"""Seconds of a trial beyond which a sweep had better be thinned out."""


def _of_points(check: StepCheck) -> StepCheck:
    """Return `check` asked of each point: the first that it has something to say of is told, by name."""

    def evaluate(evidence: StepEvidence) -> Outcome | CannotTell | None:
        unsure: CannotTell | None = None
        for point in points(evidence.values):
            said = check.evaluate(replace(evidence, values=point_values(evidence.values, point)))
            if isinstance(said, Outcome):
                changes = {name: value for name, value in said.changes.items() if name in _OWN}
                return replace(said, measured=f"At {point.words}: {said.measured}", changes=changes)
            unsure = unsure or said
        return unsure

    return replace(check, evaluate=evaluate)


def _long(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    number = len(points(values))
    seconds = number * (float(values["runtime"]) + float(values["ramp_time"]))
    if seconds <= LONG:
        return None
    return Outcome(f"{number} points of {seconds / number:g} s take {seconds / 60:.0f} min a trial.")


def _without(checks: Iterable[StepCheck], *ids: str) -> tuple[StepCheck, ...]:
    return tuple(check for check in checks if check.id not in ids)


SWEEP_CHECKS: tuple[StepCheck, ...] = (
    *(_of_points(check) for check in _without((*FIO_CHECKS, *DEVICE_CHECKS), *NOT_OF_POINTS)),
    Check(
        id="sweep-takes-long",
        level=Level.WARNING,
        title="The sweep takes more than an hour",
        why="What changes on the host or the volume within an hour, such as burst credits, then looks like an effect "
        "of depth or block size.",
        remedy="Double the depth from point to point, or sweep one block size in a step of its own.",
        source="AWS, Amazon EBS volume types: burst buckets last for about half an hour at full rate.",
        needs="How many values are swept; how long a trial takes.",
        evaluate=_long,
    ),
)
