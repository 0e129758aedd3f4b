"""Studies of runs that need data of a kind, and why some runs have none."""

from collections.abc import Sequence
from enum import StrEnum

from app.comparison.sides import Side
from app.plans.plan import Order
from app.profiles import has_profile
from app.records import RunRecord
from app.scaling.sweeps import curves, curves_of_steps
from suites.registry import histograms_of
from suites.snia.output import ROUNDS
from suites.vocab import MetricKind


class StudyKind(StrEnum):
    """A study of runs; the value is its title."""

    NOISE = "Noise"
    SCALING = "Scaling"
    BURST = "Burst"
    HEAT = "Heat map"
    ROUNDS = "Rounds"
    SAMPLE_SIZE = "Sample size"
    RANK = "Rank"
    PROFILE = "Profile"


def missing_for(records: Sequence[RunRecord]) -> dict[StudyKind, str]:
    """Return for each study that `records` (without samples) have no data for, what it needs."""
    needs = {
        StudyKind.NOISE: ("two counted trials of a step", _has_repetition),
        StudyKind.SCALING: ("a sweep of threads, depth or streams, or steps that differ in one number", _has_sweep),
        StudyKind.BURST: ("a rate as the first metric of a step", _has_rate),
        StudyKind.HEAT: ("latency histograms of every second, as fio records them", _has_histograms),
        StudyKind.SAMPLE_SIZE: ("two counted trials of a step; a duet has none", _has_pilot),
        StudyKind.PROFILE: ("a profiled trial, as the plan's repetition offers", has_profile),
        StudyKind.ROUNDS: ("rounds of an SSD steady-state test", _has_rounds),
    }
    return {study: f"Needs {what}." for study, (what, has) in needs.items() if not any(map(has, records))}


def _has_repetition(record: RunRecord) -> bool:
    return any(
        len(record.trials_of(step.name, host)) > 1 for step in record.plan.steps for host in record.summary.hosts
    )


def _has_pilot(record: RunRecord) -> bool:
    return _has_repetition(record) and all(part.plan.order is not Order.DUET for part in record.parts or (record,))


def _has_sweep(record: RunRecord) -> bool:
    if any(curves(record, step.name) for step in record.plan.steps):
        return True
    return any(found for hosts in curves_of_steps(Side([record])).values() for found in hosts.values())


def _has_rate(record: RunRecord) -> bool:
    return any(trial.figures and trial.figures[0].metric.kind is MetricKind.RATE for trial in record.trials)


def _has_histograms(record: RunRecord) -> bool:
    return any(histograms_of(step.suite_id) is not None and record.trials_of(step.name) for step in record.plan.steps)


def _has_rounds(record: RunRecord) -> bool:
    return any(figure.metric == ROUNDS for trial in record.trials for figure in trial.figures)
