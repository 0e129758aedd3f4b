"""Do two tools agree? Of a run in which both asked one question: the ratio of their figures, and what explains it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from app.calibration.false_alarms import DEFAULT_MARGIN
from app.calibration.words import margin_origin
from app.comparing.intervals import FEWEST_TRIALS, Ratio, ratio_of
from app.comparing.verdicts import Verdict, verdict_of
from app.opinion.kin import Kin, Match
from app.opinion.kinship import kin_of
from app.opinion.reasons import Asked, Favours, Reason, counting, reasons
from app.opinion.traits import traits_of
from app.plans.plan import Step
from app.records import RunRecord
from app.summary import MetricSummary, summaries
from suites.errors import UnitError, UnknownSuiteError
from suites.units import convert
from suites.vocab import Better, Labels, Metric


class Outcome(StrEnum):
    """What may be said of two tools' figures. OTHER_QUANTITY: they count different things."""

    AGREE = "agree"
    DIFFER = "differ"
    UNDECIDED = "undecided"
    OTHER_QUANTITY = "other quantities"


@dataclass(frozen=True, slots=True)
class Figure:
    """One tool's figure over its trials, in its own unit. `value` is the median."""

    step: str
    suite: str
    metric: Metric
    labels: Labels
    value: float
    n: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two tools say of one thing on `host`.

    `ratio` is theirs by ours in one unit, None where there is none; `factor` is what theirs was multiplied by for that,
    and `note` how the figures correspond. `explained` are the reasons that fit the difference, `against` those that
    would have it the other way round, in which case it is larger than it looks; both empty: unknown.
    """

    host: str
    ours: Figure
    theirs: Figure
    outcome: Outcome
    margin: float
    origin: str = ""
    ratio: Ratio | None = None
    factor: float = 1.0
    note: str = ""
    explained: tuple[Reason, ...] = ()
    against: tuple[Reason, ...] = ()


def agreements(record: RunRecord, margin: float | None = None) -> tuple[Agreement, ...]:
    """Return what the tools of a run say of each other: of any two steps that ask one question of one host."""
    found = summaries(record)
    return tuple(
        agreement
        for ours, theirs in combinations(record.plan.steps, 2)
        if (kin := _kin(ours, theirs)) is not None
        for host in record.plan.hosts
        for agreement in _of_places(record, kin, (ours, theirs), host, found, margin)
    )


def _kin(ours: Step, theirs: Step) -> Kin | None:
    return next((kin for kin in kin_of(ours.suite_id) if kin.other == theirs.suite_id), None)


def _of_places(  # noqa: PLR0917 (private, one caller)
    record: RunRecord,
    kin: Kin,
    steps: tuple[Step, Step],
    host: str,
    found: Sequence[MetricSummary],
    margin: float | None,
) -> Iterator[Agreement]:
    sides = [[one for one in found if (one.step, one.host) == (step.name, host)] for step in steps]
    chosen, origin = _margin(record, steps, host, margin)
    for match in kin.matches:
        pair = _figures(match, sides[0], sides[1])
        if pair is not None:
            yield _agreement(record, kin, steps, (match, *pair), (chosen, origin))


def _margin(record: RunRecord, steps: Sequence[Step], host: str, given: float | None) -> tuple[float, str]:
    known = [one for one in record.calibrations if one.host == host and one.suite in {step.suite_id for step in steps}]
    if given is not None or len(known) < len(steps):
        return (DEFAULT_MARGIN if given is None else given), ""
    return max(one.margin for one in known), margin_origin(known)


def _figures(
    match: Match, ours: Sequence[MetricSummary], theirs: Sequence[MetricSummary]
) -> tuple[MetricSummary, MetricSummary] | None:
    """Return the figures that correspond: the first of ours whose labels contradict none of theirs."""
    for mine in _summed(match.ours, ours):
        for other in _summed(match.theirs, theirs):
            if _agree(mine.labels, other.labels):
                return mine, other
    return None


def _summed(metrics: tuple[str, ...], found: Sequence[MetricSummary]) -> list[MetricSummary]:
    """Return the figures of a metric; of several, their sums over each trial, where their labels are the same."""
    parts = [[one for one in found if one.metric.name == name] for name in metrics]
    if len(parts) == 1:
        return parts[0]
    sums = []
    for first in parts[0]:
        others = [next((one for one in part if one.labels == first.labels), None) for part in parts[1:]]
        whole = [one for one in others if one is not None and one.n == first.n]
        if len(whole) == len(others):
            columns = zip(first.values, *(one.values for one in whole), strict=True)
            title = " + ".join(one.metric.title.lower() for one in (first, *whole))
            metric = replace(first.metric, name="+".join(metrics), title=title[:1].upper() + title[1:])
            sums.append(replace(first, metric=metric, values=tuple(map(sum, columns))))
    return sums


_ALIKE = {"send": "upload", "receive": "download"}
"""Words of one tool's labels that are another word of the other's."""


def _agree(ours: Labels, theirs: Labels) -> bool:
    mine, other = dict(ours), dict(theirs)
    shared = mine.keys() & other.keys() - {"threads"}
    return all(_ALIKE.get(mine[name], mine[name]) == _ALIKE.get(other[name], other[name]) for name in shared)


def _agreement(
    record: RunRecord,
    kin: Kin,
    steps: tuple[Step, Step],
    found: tuple[Match, MetricSummary, MetricSummary],
    margin: tuple[float, str],
) -> Agreement:
    match, ours, theirs = found
    figures = [
        Figure(step.name, step.suite_id, one.metric, one.labels, one.median, one.n)
        for step, one in zip(steps, (ours, theirs), strict=True)
    ]
    said = Agreement(
        ours.host, figures[0], figures[1], Outcome.OTHER_QUANTITY, *margin, factor=match.factor, note=match.note
    )
    if kin.apart:
        return replace(said, note=kin.apart)
    ratio = _ratio(ours, theirs, match.factor)
    if ratio is None:
        return replace(said, outcome=Outcome.UNDECIDED)
    outcome = _outcome(ratio, min(ours.n, theirs.n), margin[0])
    said = replace(said, ratio=ratio, outcome=outcome)
    return _explained(record, steps, said)


def _ratio(ours: MetricSummary, theirs: MetricSummary, factor: float) -> Ratio | None:
    try:
        values = [factor * convert(value, theirs.metric.unit, ours.metric.unit) for value in theirs.values]
    except UnitError:
        return None
    found = ratio_of(values, ours.values)
    return None if isinstance(found, str) else found


def _outcome(ratio: Ratio, fewest: int, margin: float) -> Outcome:
    if fewest < FEWEST_TRIALS:
        return Outcome.UNDECIDED
    verdict = verdict_of(ratio, Better.HIGHER, margin)
    return {Verdict.SAME: Outcome.AGREE, Verdict.UNDECIDED: Outcome.UNDECIDED}.get(verdict, Outcome.DIFFER)


def _explained(record: RunRecord, steps: tuple[Step, Step], said: Agreement) -> Agreement:
    """Return the agreement with the reasons that fit it, and those that speak against it."""
    facts = record.facts_before.get(said.host)
    suites = (steps[0].suite_id, steps[1].suite_id)
    try:
        traits = [traits_of(step, facts) for step in steps]
    except (UnknownSuiteError, KeyError):  # an older program's step, which lacks a parameter
        return said
    known = list(reasons(Asked(suites, traits[0], traits[1], said.ours.metric.kind, facts)))
    own = counting(suites)
    known += [] if own is None else [own]
    if said.outcome is not Outcome.DIFFER or said.ratio is None:
        return replace(said, explained=tuple(known))
    higher = said.ratio.value > 1
    better = Favours.THEIRS if higher == (said.ours.metric.better is Better.HIGHER) else Favours.OURS
    fits = tuple(one for one in known if one.favours in {better, Favours.NEITHER})
    return replace(said, explained=fits, against=tuple(one for one in known if one not in fits))
