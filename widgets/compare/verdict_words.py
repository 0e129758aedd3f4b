"""What a comparison says, in words: the verdict, why it is that one, and what would change it. No Qt."""

import math
from dataclasses import dataclass

from app.comparing.compare import Against, Comparison, Row, Verdict, verdict_text
from app.comparing.intervals import FEWEST_HOSTS, FEWEST_TRIALS
from app.comparing.levels import HOST, SAMPLE, TRIAL
from app.comparing.verdicts import lacking_side
from app.summary import MetricSummary
from app.wording import (
    direction_text,
    edges_text,
    figure_text,
    ratio_text,
    run_letter,
    run_name,
    share_text,
    spread_text,
)

ICONS = {
    Verdict.BETTER: ("better", "good"),
    Verdict.WORSE: ("worse", "error"),
    Verdict.SAME: ("same", "text"),
    Verdict.UNDECIDED: ("undecided", "muted"),
    Verdict.NOT_COMPARABLE: ("not-comparable", "muted"),
}
"""The mark and the colour of a verdict."""

NOTHING = "—"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict explained to somebody who has to stand by it. `sentence` says it as one would write it down."""

    verdict: Verdict
    said: str
    sentence: str
    compared: tuple[str, ...]
    levels: tuple[str, ...]
    why: str
    weakened: tuple[str, ...]
    change: str


def verdict_line(against: Against, margin: float) -> str:
    """Return the verdict in a line: ``better ↑ 7.1 %``; where there is none to speak of, why and what would help."""
    words = verdict_text(against.verdict, margin)
    if against.verdict in {Verdict.BETTER, Verdict.WORSE} and against.ratio is not None:
        return f"{words} {'↑' if against.ratio > 1 else '↓'} {share_text(abs(against.ratio - 1))}"
    return words if against.verdict is Verdict.SAME else against.text


def ratio_words(row: Row, against: Against) -> str:
    """Return the ratio to the baseline in figures: ``1.07x``."""
    return NOTHING if against.ratio is None else ratio_text(against.ratio, row.metric.better).partition(",")[0]


def interval_words(against: Against) -> str:
    """Return the 95 % interval of the ratio, with as many digits as tell its ends apart."""
    if against.low is None or against.high is None:
        return NOTHING
    return " to ".join(edges_text(against.low, against.high))


def value_words(side: MetricSummary) -> str:
    """Return the median of a run's trials."""
    return figure_text(side.metric, side.median, side.uncertainty)


def spread_words(side: MetricSummary) -> str:
    """Return half the range of the trials, without its unit."""
    half = side.uncertainty
    if not half:
        return NOTHING if half is None else "± 0"
    return f"± {spread_text(side.metric, side.median, half).rpartition('± ')[2]}"


def explain(comparison: Comparison, row: Row, number: int) -> Explanation:
    """Explain what `row` says of the run `number`, which is not the baseline."""
    against = row.against[number - 1]
    decided = against.verdict in {Verdict.BETTER, Verdict.WORSE, Verdict.SAME}
    return Explanation(
        against.verdict,
        verdict_line(against, comparison.margin_of(against)) if decided else against.verdict.value,
        f"{against.text[:1].upper()}{against.text[1:]}.",
        tuple(_side(row, place, number) for place in (0, number)),
        tuple(words for place in (0, number) if (words := _levels(row, place))),
        _why(comparison, row, against),
        tuple(caveat.text for caveat in against.caveats),
        _change(row, number),
    )


def centre_words(row: Row, place: int, number: int) -> str:
    """Return the geometric mean of the side `place` that the ratio of the run `number` is of; empty without one."""
    side, centres = row.sides[place], row.against[number - 1].centres
    if side is None or centres is None:
        return ""
    whose = "geometric mean of its hosts" if len(set(side.hosts)) > 1 else "geometric mean"
    return f"{whose} {figure_text(row.metric, centres[0 if place else 1], side.uncertainty)}"


def _side(row: Row, place: int, number: int) -> str:
    side, name = row.sides[place], run_name(place)
    if side is None:
        return f"{name}: not measured"
    if side.n == 1:
        return f"{name}: {value_words(side)}, one trial"
    parts = (
        f"{value_words(side)} {spread_words(side)}",
        f"median of {side.n} trials",
        centre_words(row, place, number),
    )
    return f"{name}: {', '.join(part for part in parts if part)}"


_LEVELS = {SAMPLE: "within a trial", TRIAL: "between trials", HOST: "between hosts"}


def _levels(row: Row, number: int) -> str:
    """Return on which level a side spreads: ``A spreads 4.8 % within a trial (2400 samples), 0.9 % between trials``."""
    levels = row.levels[number] if number < len(row.levels) else None
    if levels is None:
        return ""
    known = [(level, _LEVELS[level.name]) for level in levels.levels if level.cov is not None]
    parts = [f"{share_text(level.cov or 0.0)} {where} ({level.n} {level.name}s)" for level, where in known]
    return f"{run_letter(number)} spreads {', '.join(parts)}." if parts else ""


def _why(comparison: Comparison, row: Row, against: Against) -> str:
    margin, direction = share_text(comparison.margin_of(against)), direction_text(row.metric.better)
    if against.verdict is Verdict.NOT_COMPARABLE:
        return f"They did not measure the same: {against.reason}."
    reason = against.reason
    for caveat in against.caveats:  # they are told on their own
        reason = reason.replace(f"; {caveat.text}", "")
    if against.ratio is None or against.low is None or against.high is None:
        return f"Nothing can be said: {reason}."
    of = f"The ratio of the geometric means is {ratio_words(row, against)}"
    lies = f"{of}; with 95 % confidence it lies from {interval_words(against)}"
    if against.verdict is Verdict.SAME:
        return f"{lies}, wholly within the margin of {margin}. A smaller difference may still be there."
    if against.verdict is Verdict.UNDECIDED:
        return f"{lies}, but {reason}."
    return f"{lies}, wholly beyond the margin of {margin}. {direction[2:].capitalize()}."


def _change(row: Row, number: int) -> str:
    against, letter = row.against[number - 1], run_letter(number)
    if against.verdict is Verdict.NOT_COMPARABLE:
        return f"Repeat {letter} or A with the other's plan and the same version of the tool, or compare all the same."
    if against.low is None or against.high is None:
        return _more(row, number) or "Trials that differ: a spread of zero says nothing about the next trial."
    near, far = sorted(abs(math.log(edge)) for edge in (against.low, against.high))
    if against.verdict is Verdict.SAME:
        return f"A margin below {_edge(far)} would leave it undecided."
    if against.verdict is Verdict.UNDECIDED:
        return _more(row, number) or f"{_margin_above(far)} would call them alike."
    return f"{_margin_above(near)} would leave it undecided."


def _margin_above(logarithm: float) -> str:
    """Return from which margin on; one is at most the whole figure."""
    return f"A margin above {_edge(logarithm)}" if logarithm < math.log1p(1.0) else "No margin up to 100 %"


def _edge(logarithm: float) -> str:
    """Return the margin at which an end of the interval lies, fine enough to be typed in."""
    share = math.expm1(logarithm)
    return f"{100 * share:.1f} %" if share >= 0.01 else share_text(share)


def _more(row: Row, number: int) -> str:
    """Return how many more trials would settle an undecided ratio, in words; empty where that is not known."""
    if any(caveat.id == "reference" for caveat in row.against[number - 1].caveats):
        return "Runs of your own in its place: how far a published figure spreads, nobody knows."
    noun, needed, (here, there) = _counted(row, number)
    letter, baseline = run_letter(number), run_letter(0)
    more = row.against[number - 1].more
    if min(here, there) < needed and (more is None or more <= needed - min(here, there)):
        few = [f"{needed - n} more of {name}" for name, n in ((baseline, there), (letter, here)) if n < needed]
        return f"At least {needed} {noun}s on each side: {' and '.join(few)}."
    if more is None:
        return ""
    lacking = lacking_side(more, (here, there))
    where = f"of {letter if here < there else baseline}" if lacking else "on each side"
    return f"About {more} more {noun}{'' if more == 1 else 's'} {where} would settle it."


def _counted(row: Row, number: int) -> tuple[str, int, tuple[int, int]]:
    """Return what one value of a row is, how many a verdict needs, and how many the side and the baseline have."""
    sides = (row.sides[number], row.sides[0])
    hosts = [0 if side is None else len(set(side.hosts)) for side in sides]
    if max(hosts) > 1:
        return "host", FEWEST_HOSTS, (hosts[0], hosts[1])
    here, there = (0 if side is None else side.n for side in sides)
    return "trial", FEWEST_TRIALS, (here, there)
