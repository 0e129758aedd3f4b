"""A second opinion in words: what is carried over before, whether the tools agree and why after."""

from collections.abc import Iterator

from app.comparing.intervals import FEWEST_TRIALS
from app.opinion.agreement import Agreement, Figure, Outcome
from app.opinion.proposing import Proposal
from app.plans.plan import host_words
from app.wording import figure_text, metric_text, share_text


def proposal_lines(found: Proposal) -> Iterator[str]:
    """Yield what a second opinion will do, what is carried over, and what cannot be."""
    mine, theirs = found.plan.steps
    yield f"{theirs.suite_id} checks {mine.suite_id}: {found.kin.asks}"
    alike = [f"{one.ours} {one.value}" for one in found.carried if (one.ours, one.value) == (one.theirs, one.written)]
    if alike:
        yield f"The same in both: {', '.join(alike)}."
    for one in found.carried:
        if (one.ours, one.value) != (one.theirs, one.written):
            yield f"{one.ours} {one.value} becomes {one.theirs} {one.written}."
    yield from found.lost
    if found.kin.apart:
        yield found.kin.apart
    trials, hosts = found.plan.repetition.trials, ", ".join(map(host_words, found.plan.hosts))
    yield f"{trials} trials of each, interleaved in an order drawn by lot, on {hosts}."


def agreement_line(found: Agreement) -> str:
    """Return in a sentence what two tools say of each other."""
    ours, theirs = _figure(found.ours), _figure(found.theirs)
    if found.outcome is Outcome.OTHER_QUANTITY:
        return f"{ours}; {theirs}. They are not one quantity."
    ratio = found.ratio
    if ratio is None:
        return f"{ours}; {theirs}. Nothing can be said: a ratio needs figures above zero."
    counted = "" if found.factor == 1 else f", taken {found.factor:g} times,"
    far = f"{theirs}{counted} where {ours}: {_change(ratio.value)}"
    interval = "" if ratio.low is None or ratio.high is None else (
        f" (95 % CI {_change(ratio.low)} to {_change(ratio.high)})"
    )  # fmt: skip
    margin = f"±{share_text(found.margin)}{f', {found.origin}' if found.origin else ''}"
    said = {
        Outcome.AGREE: f"They agree within {margin}",
        Outcome.DIFFER: f"They differ by more than {margin}",
        Outcome.UNDECIDED: f"Whether they agree within {margin} is undecided",
    }[found.outcome]
    fewest = min(found.ours.n, found.theirs.n)
    more = f" {FEWEST_TRIALS} trials of each are needed." if fewest < FEWEST_TRIALS else ""
    return f"{far}{interval}. {said}.{more}"


def _figure(one: Figure) -> str:
    named = metric_text(one.metric, one.labels)
    return f"{one.step} gives {figure_text(one.metric, one.value)} ({named}, n = {one.n})"


def _change(ratio: float) -> str:
    return f"{'+' if ratio >= 1 else '−'}{share_text(abs(ratio - 1))}"


UNKNOWN = (
    "Why is not known: nothing that the two were asked explains it. Look at both outputs, and repeat it with one "
    "parameter changed at a time."
)


def why_lines(found: Agreement) -> Iterator[str]:
    """Yield why the tools agree or differ: how their figures correspond, and what was asked otherwise."""
    if found.ours.metric.unit is not found.theirs.metric.unit and found.outcome is not Outcome.OTHER_QUANTITY:
        units = f"{found.ours.metric.unit} and {found.theirs.metric.unit}"
        yield f"Their units, {units}, were converted before the ratio was taken: they are no reason."
    if found.note:
        yield f"{found.note.rstrip('.')}."
    yield from (one.text for one in found.explained)
    for one in found.against:
        yield f"Against it speaks: {one.text} That alone would have it the other way round."
    if found.outcome is Outcome.DIFFER and not found.explained:
        yield UNKNOWN
