"""Agreement of two equivalent tools in one run: the ratio of their results, and reasons for a difference."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from app.comparison.estimates import FEWEST_TRIALS, Ratio, ratio_of
from app.comparison.verdicts import ComparisonVerdict, verdict_of
from app.crosscheck.conditions import TraitPair, differing_conditions, reasons
from app.crosscheck.proposal import equivalents_of
from app.margins import DEFAULTS, Margin, Margins
from app.plans.plan import Step
from app.records import RunRecord
from app.summary import MetricSummary, summaries
from suites.equivalents import Bias, Equivalent, MetricMapping, Reason
from suites.errors import UnitError, UnknownSuiteError
from suites.units import convert
from suites.verdict import Trust
from suites.vocab import Better, Labels, Metric


class AgreementOutcome(StrEnum):
    """The outcome for two tools.

    OTHER_QUANTITY: they measure different quantities; NOT_COMPARABLE: the same one under different conditions.
    """

    AGREE = "agree"
    DIFFER = "differ"
    UNDECIDED = "undecided"
    OTHER_QUANTITY = "other quantities"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class ToolFigure:
    """The result of one tool over its trials, in its unit. `value` is their geometric mean."""

    step: str
    suite: str
    metric: Metric
    labels: Labels
    value: float
    n: int
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The results of two tools for one quantity on `host`.

    `ratio` is theirs / ours in one unit, or None; `factor` multiplies theirs before that, and `note` explains how the
    metrics correspond. `explained` are the reasons in the direction of the difference, `against` those in the other
    direction, which hide part of it; both empty: unknown.
    """

    host: str
    ours: ToolFigure
    theirs: ToolFigure
    outcome: AgreementOutcome
    margin: float
    origin: str = ""
    ratio: Ratio | None = None
    factor: float = 1.0
    note: str = ""
    explained: tuple[Reason, ...] = ()
    against: tuple[Reason, ...] = ()


def agreements(record: RunRecord, margins: Margins = DEFAULTS) -> tuple[Agreement, ...]:
    """Return the agreements of a run: of any two steps with equivalent suites, for each host."""
    found = summaries(record)
    return tuple(
        agreement
        for ours, theirs in combinations(record.plan.steps, 2)
        for pair in equivalents_of(ours.suite_id)
        if pair.other == theirs.suite_id
        for host in record.plan.hosts
        for agreement in _on_host(record, pair, (ours, theirs), host, found=found, margins=margins)
    )


def _on_host(
    record: RunRecord,
    pair: Equivalent,
    steps: tuple[Step, Step],
    host: str,
    *,
    found: Sequence[MetricSummary],
    margins: Margins,
) -> Iterator[Agreement]:
    sides = [[one for one in found if (one.step, one.host) == (step.name, host)] for step in steps]
    for mapping in pair.metrics:
        figures = _figures(pair, mapping, sides[0], sides[1])
        if figures is not None:
            margin = margins.of(figures[0].metric, [record.plan.repetition])
            yield _agreement(record, pair, steps, (mapping, *figures), margin)


def _figures(
    pair: Equivalent, mapping: MetricMapping, ours: Sequence[MetricSummary], theirs: Sequence[MetricSummary]
) -> tuple[MetricSummary, MetricSummary] | None:
    """Return the first corresponding metrics whose labels agree."""
    for mine in _summed(mapping.ours, ours):
        for other in _summed(mapping.theirs, theirs):
            if pair.labels_agree(mine.labels, other.labels):
                return mine, other
    return None


def _summed(metrics: tuple[str, ...], found: Sequence[MetricSummary]) -> list[MetricSummary]:
    """Return a metric by its labels; of several metrics, their sums by trial, for equal labels."""
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


def _agreement(
    record: RunRecord,
    pair: Equivalent,
    steps: tuple[Step, Step],
    found: tuple[MetricMapping, MetricSummary, MetricSummary],
    margin: Margin,
) -> Agreement:
    mapping, ours, theirs = found
    figures = [
        ToolFigure(step.name, step.suite_id, one.metric, one.labels, one.value, one.n, one.trust)
        for step, one in zip(steps, (ours, theirs), strict=True)
    ]
    undecided = Agreement(
        ours.host, figures[0], figures[1], AgreementOutcome.UNDECIDED, margin.share, margin.origin,
        factor=mapping.factor, note=mapping.note,
    )  # fmt: skip
    if pair.incomparable:
        return replace(undecided, outcome=AgreementOutcome.OTHER_QUANTITY, note=pair.incomparable)
    different = differing_conditions(steps, record.facts_before.get(ours.host))
    if different:
        return replace(undecided, outcome=AgreementOutcome.NOT_COMPARABLE, explained=different)
    invalid = [one for one in (ours, theirs) if one.verdict is not None and one.trust is Trust.INVALID]
    if invalid:
        texts = "; ".join(f"{one.step} is {one.verdict.text}" for one in invalid if one.verdict is not None)
        return replace(undecided, note=texts)
    ratio = _ratio(ours, theirs, mapping.factor)
    if ratio is None:
        return undecided
    outcome = _outcome(ratio, min(ours.n, theirs.n), margin.share)
    return _explained(record, pair, steps, replace(undecided, ratio=ratio, outcome=outcome))


def _ratio(ours: MetricSummary, theirs: MetricSummary, factor: float) -> Ratio | None:
    try:
        values = [factor * convert(value, theirs.metric.unit, ours.metric.unit) for value in theirs.values]
    except UnitError:
        return None
    found = ratio_of(values, ours.values)
    return None if isinstance(found, str) else found


def _outcome(ratio: Ratio, fewest: int, margin: float) -> AgreementOutcome:
    if fewest < FEWEST_TRIALS:
        return AgreementOutcome.UNDECIDED
    verdict = verdict_of(ratio, Better.HIGHER, margin)
    known = {ComparisonVerdict.SAME: AgreementOutcome.AGREE, ComparisonVerdict.UNDECIDED: AgreementOutcome.UNDECIDED}
    return known.get(verdict, AgreementOutcome.DIFFER)


def _explained(record: RunRecord, pair: Equivalent, steps: tuple[Step, Step], found: Agreement) -> Agreement:
    """Add the reasons for and against the difference."""
    facts = record.facts_before.get(found.host)
    try:
        ours, theirs = (step.suite.traits(step.whole_values(), facts) for step in steps)
    except (UnknownSuiteError, KeyError):  # a stored step can lack a newer parameter
        return found
    names = (steps[0].suite_id, steps[1].suite_id)
    known = (*reasons(TraitPair(names, ours, theirs, found.ours.metric.kind, facts)), *pair.reasons)
    if found.outcome is not AgreementOutcome.DIFFER or found.ratio is None:
        return replace(found, explained=known)
    higher = found.ratio.value > 1
    better = Bias.OTHER if higher == (found.ours.metric.better is Better.HIGHER) else Bias.DECLARING
    fits = tuple(one for one in known if one.favours in {better, Bias.NEITHER})
    return replace(found, explained=fits, against=tuple(one for one in known if one not in fits))
