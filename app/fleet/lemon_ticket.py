"""Ticket text for a lemon: the instance, what was measured, the facts that differ, what to do, what was not checked."""

from collections.abc import Iterator, Mapping, Sequence

from app.comparison.estimates import Ratio
from app.comparison.sentences import claim_text
from app.fleet.facts import LemonFact
from app.fleet.lemons import Lemon, LemonKind
from app.markdown import escaped
from app.output import visible
from suites.quantities import count_text, direction_text, figure_text, listed, metric_text, times_text

MOST_FACTS = 8
MOST_ATTRIBUTES = 12
"""What fits on a screen; the rest is counted."""


def lemon_ticket(
    lemons: Sequence[Lemon],
    attributes: Mapping[str, str],
    facts: Sequence[LemonFact] | None,
    doubts: Mapping[str, str] | None = None,
    *,
    markdown: bool = False,
) -> str:
    """Return the ticket for one instance, whose `lemons` are at least one, as plain text or Markdown.

    `attributes` are what the provider needs to find it, such as instance id, type, zone, image and start. `facts` are
    those in which it differs, None if they were not read; `doubts` the verdicts in doubt on its results, by step.
    """
    first, doubted = lemons[0], doubts or {}
    lines = [(f"Instance {first.host} is {_title(first)}", ""), *_attribute_lines(attributes)]
    lines += [("Measured", lemon_text(one)) for one in lemons]
    lines += [("Group", _group(one)) for one in lemons if one.kind is LemonKind.LEVEL]
    lines += [("Verdict", f"{step} is {text}") for step, text in doubted.items()]
    lines += [("Differs", text) for text in _fact_lines(facts)]
    lines += [("To do", text) for text in (*_repeated(doubted), *_explained(facts), *_steps(first))]
    lines += [("Not checked", text) for text in _unchecked(lemons, facts)]
    return "\n".join([*_written(lines, markdown=markdown), ""])


def _written(lines: Sequence[tuple[str, str]], *, markdown: bool) -> Iterator[str]:
    (title, _), *rest = lines
    if not markdown:
        yield visible(title)
        yield from (visible(f"{name}: {text}") for name, text in rest)
        return
    yield f"### {escaped(title)}"
    yield ""
    yield from (f"- **{escaped(name)}**: {escaped(text)}" for name, text in rest)


def _title(one: Lemon) -> str:
    if one.kind is LemonKind.SPREAD:
        return f"unsteady: {metric_text(one.metric, one.labels)} varies {times_text(one.ratio)} as much as on others"
    return f"slow: {metric_text(one.metric, one.labels)} is {times_text(one.ratio)} that of others"


def _attribute_lines(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    known = [(title, text) for title, text in attributes.items() if text]
    yield from known[:MOST_ATTRIBUTES]
    if len(known) > MOST_ATTRIBUTES:
        yield "Attributes", f"and {len(known) - MOST_ATTRIBUTES} more"


def lemon_text(one: Lemon) -> str:
    """Return what was measured of a lemon: metric, ratio with its interval, other instances, trials and p-value."""
    what = f"{metric_text(one.metric, one.labels)} of {one.step} ({direction_text(one.metric.better)[2:]})"
    n = f"{count_text(one.trials, 'trial')} in {count_text(one.sessions, 'session')}"
    ratio = Ratio(one.ratio, one.low, one.high)
    if one.kind is LemonKind.SPREAD:
        found = f"spread {times_text(one.ratio)} that of the others (95 % CI {one.low:.2f}–{one.high:.2f})"
    else:
        found = claim_text(ratio, one.metric)
    return (
        f"{what}: {found} against the median of {count_text(one.others, 'other instance')}, {n}, {_p(one.p_adjusted)}"
    )


def _p(p: float) -> str:
    return "p < 0.0001 (Holm)" if p < 1e-4 else f"p = {p:.2g} (Holm)"


def _group(one: Lemon) -> str:
    value, median = (figure_text(one.metric, each) for each in (one.ratio * one.median, one.median))
    return f"{one.group}: median {median}, this instance {value}"


def _fact_lines(facts: Sequence[LemonFact] | None) -> Iterator[str]:
    if facts is None:
        return
    if not facts:
        yield "no fact that was read"
    yield from (fact.text for fact in facts[:MOST_FACTS])
    if len(facts) > MOST_FACTS:
        yield f"and {count_text(len(facts) - MOST_FACTS, 'more fact')}"


def _repeated(doubts: Mapping[str, str]) -> Iterator[str]:
    if doubts:
        yield f"Remove the cause of the doubt, and run {listed(tuple(doubts), MOST_FACTS)} again, before all else."


def _explained(facts: Sequence[LemonFact] | None) -> Iterator[str]:
    if facts:
        yield "Check whether what differs is a setting of your own, such as a quota: another instance would not help."


def _steps(one: Lemon) -> Iterator[str]:
    yield "Replace the instance: stop and start it, or return it and launch another one."
    again = "in another session " if one.sessions == 1 else ""
    yield f"Run {one.step} {again}on the new instance and compare it with the group."


def _unchecked(lemons: Sequence[Lemon], facts: Sequence[LemonFact] | None) -> Iterator[str]:
    if facts is None:
        yield "facts of the instance (not read)"
    if all(one.sessions == 1 for one in lemons):
        yield "whether it lasts (one session)"
    yield "the hardware below the instance and its other tenants"
