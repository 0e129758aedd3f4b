"""Text of a cross-check, and the public JSON of “second-opinion” and “agree”."""

from collections.abc import Iterator
from typing import Annotated, TypedDict

from app.comparison.estimates import FEWEST_TRIALS
from app.crosscheck.agreement import Agreement, AgreementOutcome, ToolFigure
from app.crosscheck.proposal import CarriedParameter, Proposal
from app.formats import PlanJson, plan_to_json
from app.json_converter import Json, publish, published
from app.plans.plan import host_label
from suites.quantities import ends_text, exact_share_text, figure_text, metric_text, share_text
from suites.verdict import Trust, trust_mark


def proposal_lines(found: Proposal) -> Iterator[str]:
    """Yield lines on a proposal: the tools, parameters carried over and lost, trials."""
    mine, theirs = found.plan.steps
    yield f"{theirs.suite_id} checks {mine.suite_id}: {found.pair.question}"
    equal = [f"{one.ours} {one.value}" for one in found.carried if (one.ours, one.value) == (one.theirs, one.written)]
    if equal:
        yield f"Equal in both: {', '.join(equal)}."
    for one in found.carried:
        if (one.ours, one.value) != (one.theirs, one.written):
            yield f"{one.ours} {one.value} becomes {one.theirs} {one.written}."
    yield from found.lost
    if found.different:
        yield f"Not comparable: {' '.join(one.text for one in found.different)}"
    if found.pair.incomparable:
        yield found.pair.incomparable
    trials, hosts = found.plan.repetition.trials, ", ".join(map(host_label, found.plan.hosts))
    yield f"{trials} trials of each, interleaved in random order, on {hosts}."


def agreement_line(found: Agreement) -> str:
    """Return a sentence with both results, their ratio and the outcome."""
    ours, theirs = _figure_text(found.ours), _figure_text(found.theirs)
    if found.outcome is AgreementOutcome.OTHER_QUANTITY:
        return f"{ours}; {theirs}. Different quantities."
    if found.outcome is AgreementOutcome.NOT_COMPARABLE:
        return f"{ours}; {theirs}. Not comparable."
    ratio = found.ratio
    if Trust.INVALID in {found.ours.trust, found.theirs.trust}:
        return f"{ours}; {theirs}. Not compared: an invalid result does not count."
    if ratio is None:
        return f"{ours}; {theirs}. No ratio: a value is not above zero, or units differ."
    scaled = "" if found.factor == 1 else f" times {found.factor:g}"
    change = f"{theirs}{scaled} against {ours}: {_change(ratio.value)}"
    interval = "" if ratio.low is None or ratio.high is None else (
        f" (95 % CI {ends_text(_change(ratio.low), _change(ratio.high))})"
    )  # fmt: skip
    margin = f"±{exact_share_text(found.margin)}{f', {found.origin}' if found.origin else ''}"
    outcome = {
        AgreementOutcome.AGREE: f"They agree within {margin}",
        AgreementOutcome.DIFFER: f"They differ by more than {margin}",
        AgreementOutcome.UNDECIDED: f"Undecided within {margin}",
    }[found.outcome]
    fewest = min(found.ours.n, found.theirs.n)
    more = f" Needs {FEWEST_TRIALS} trials of each." if fewest < FEWEST_TRIALS else ""
    return f"{change}{interval}. {outcome}.{more}"


def _figure_text(one: ToolFigure) -> str:
    name = metric_text(one.metric, one.labels)
    mark = trust_mark(one.trust)
    return f"{one.step} {figure_text(one.metric, one.value)} ({name}, n = {one.n}{mark and f', {mark}'})"


def _change(ratio: float) -> str:
    return f"{'+' if ratio >= 1 else '−'}{share_text(abs(ratio - 1))}"


_NO_RATIO = frozenset({AgreementOutcome.OTHER_QUANTITY, AgreementOutcome.NOT_COMPARABLE})

UNEXPLAINED = (
    "No known reason explains the difference. Compare both outputs, and repeat the cross-check, changing one parameter "
    "at a time."
)


def why_lines(found: Agreement) -> Iterator[str]:
    """Yield the reasons for an outcome: unit conversion, correspondence, differing traits."""
    if found.ours.metric.unit is not found.theirs.metric.unit and found.outcome not in _NO_RATIO:
        units = f"{found.ours.metric.unit} and {found.theirs.metric.unit}"
        yield f"Units converted for the ratio: {units}."
    if found.note:
        yield f"{found.note.rstrip('.')}."
    yield from (one.text for one in found.explained)
    for one in found.against:
        yield f"Against it: {one.text} That alone would reverse the difference."
    if found.outcome is AgreementOutcome.DIFFER and not found.explained:
        yield UNEXPLAINED


publish(CarriedParameter, "parameter=ours value as=theirs written")
publish(ToolFigure, "step suite metric=metric.name unit=metric.unit labels value n trust")
publish(Agreement, "host ours theirs outcome ratio=ratio.value low=ratio.low high=ratio.high factor margin")


class ProposalJson(TypedDict):
    """A cross-check that is not run yet: what it carries over from the run, and the plan."""

    suite: str
    other: str
    question: str
    carried: list[Annotated[Json, CarriedParameter]]
    lost: list[str]
    apart: str | None
    conditions: list[str]
    plan: PlanJson


class AgreementKeys(TypedDict):
    """Keys of an agreement beside those of Agreement."""

    margin_of: str | None
    text: str
    why: list[str]
    explained: list[str]
    against: list[str]
    unknown: bool


AgreementJson = Annotated[Json, Agreement, AgreementKeys]


class AgreementsJson(TypedDict):
    """Whether the equivalent tools of a run agree."""

    run: str
    agreements: list[AgreementJson]


def proposal_to_json(found: Proposal) -> ProposalJson:
    """Return the public JSON of a proposal."""
    return {
        "suite": found.plan.steps[0].suite_id,
        "other": found.pair.other,
        "question": found.plan.question,
        "carried": [published(one) for one in found.carried],
        "lost": list(found.lost),
        "apart": found.pair.incomparable or None,
        "conditions": [one.text for one in found.different],
        "plan": plan_to_json(found.plan),
    }


def agreement_to_json(found: Agreement) -> AgreementJson:
    """Return the public JSON of an agreement. Shares are fractions: 0.05 is 5 %."""
    return {
        **published(found),
        "margin_of": found.origin or None,
        "text": agreement_line(found),
        "why": list(why_lines(found)),
        "explained": [one.id for one in found.explained],
        "against": [one.id for one in found.against],
        "unknown": found.outcome is AgreementOutcome.DIFFER and not found.explained,
    }
