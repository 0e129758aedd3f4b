"""Texts of a comparison: run names, verdict, reason, and what would change the verdict. No Qt."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure, run_letter, run_name
from app.comparison.estimates import FEWEST_HOSTS, FEWEST_TRIALS, HOST, SAMPLE, TRIAL
from app.comparison.verdicts import ComparisonVerdict, insufficient_side, verdict_text
from app.records import RunSummary
from app.summary import MetricSummary
from suites.quantities import count_text, direction_text, edges_text, figure_text, first_upper, share_text, times_text
from widgets.library.run_rows import half_range_text, local_time
from widgets.parts.names import MISSING, host_title


def short_run_name(run: RunSummary) -> str:
    """Return name, hosts and start of a run: ``volume check · web-1 · 2026-01-12 08:15``."""
    return " · ".join([run.name, ", ".join(host_title(host) for host in run.hosts), local_time(run.started)])


def distinct_run_names(runs: Sequence[RunSummary]) -> list[str]:
    """Return a short distinct name of each run: start and name; hosts and steps only where they differ."""
    hosts = len({run.hosts for run in runs}) > 1
    steps = len({run.id for run in runs}) < len(runs) and len({run.steps for run in runs}) > 1
    times = [local_time(run.started) for run in runs]
    same_year = len(runs) > 1 and len({time[:5] for time in times}) == 1 and times[0][4:5] == "-"
    return [
        " · ".join(
            [time[5:] if same_year else time, run.name]
            + ([", ".join(host_title(host) for host in run.hosts)] if hosts else [])
            + ([", ".join(run.steps)] if steps else [])
        )
        for run, time in zip(runs, times, strict=True)
    ]


def numbered_run_name(number: int, run: RunSummary) -> str:
    """Return the letter, name and trust of a run."""
    return f"{run_name(number)}: {short_run_name(run)}{f' · {run.trust}' if run.trust else ''}"


ICONS = {
    ComparisonVerdict.BETTER: ("better", "good"),
    ComparisonVerdict.WORSE: ("worse", "error"),
    ComparisonVerdict.SAME: ("same", "text"),
    ComparisonVerdict.UNDECIDED: ("undecided", "muted"),
    ComparisonVerdict.NOT_COMPARABLE: ("not-comparable", "muted"),
}
"""Icon and colour of each verdict."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a verdict: its heading, a full sentence, the evidence and what would change it."""

    verdict: ComparisonVerdict
    heading: str
    sentence: str
    compared: tuple[str, ...]
    levels: tuple[str, ...]
    why: str
    weakened: tuple[str, ...]
    change: str


def verdict_line(against: RelativeFigure, margin: float) -> str:
    """Return the verdict in a line: ``better ↑ 7.1 %``; if undecided or not comparable, with the reason."""
    text = verdict_text(against.verdict, margin)
    if against.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE} and against.ratio is not None:
        return f"{text} {'↑' if against.ratio > 1 else '↓'} {share_text(abs(against.ratio - 1))}"
    return text if against.verdict is ComparisonVerdict.SAME else against.text


def row_ratio_text(against: RelativeFigure) -> str:
    """Return the ratio to the baseline: ``1.07x``."""
    return MISSING if against.ratio is None else times_text(against.ratio)


def interval_text(against: RelativeFigure) -> str:
    """Return the 95 % interval of the ratio, with enough digits to distinguish its ends."""
    if against.low is None or against.high is None:
        return MISSING
    return " to ".join(edges_text(against.low, against.high))


def value_text(side: MetricSummary) -> str:
    """Return the median of a run's trials."""
    return figure_text(side.metric, side.median, side.uncertainty)


def explain(comparison: Comparison, row: ComparisonRow, number: int) -> Explanation:
    """Explain the verdict of `row` on the run `number`, which is not the baseline."""
    against = row.against[number - 1]
    decided = against.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.SAME}
    return Explanation(
        against.verdict,
        verdict_line(against, comparison.margin_of(row, against)) if decided else against.verdict.value,
        f"{first_upper(against.text)}.",
        tuple(_side(row, side, number) for side in (0, number)),
        tuple(text for side in (0, number) if (text := _levels(row, side))),
        _why(comparison, row, against),
        tuple(caveat.text for caveat in against.caveats),
        _change(row, number),
    )


def centre_text(row: ComparisonRow, side_number: int, number: int) -> str:
    """Return the geometric mean of a side in the ratio of the run `number`; empty without one."""
    side, centres = row.sides[side_number], row.against[number - 1].centres
    if side is None or centres is None:
        return ""
    kind = "geometric mean of its hosts" if len(set(side.hosts)) > 1 else "geometric mean"
    return f"{kind} {figure_text(row.metric, centres[0 if side_number else 1], side.uncertainty)}"


def _side(row: ComparisonRow, side_number: int, number: int) -> str:
    side, name = row.sides[side_number], run_name(side_number)
    if side is None:
        return f"{name}: not measured"
    if side.n == 1:
        return f"{name}: {value_text(side)}, one trial"
    parts = (
        f"{value_text(side)} {half_range_text(side)}",
        f"median of {count_text(side.n, 'trial')}",
        centre_text(row, side_number, number),
    )
    return f"{name}: {', '.join(part for part in parts if part)}"


_LEVELS = {SAMPLE: "within a trial", TRIAL: "added between trials", HOST: "added between hosts"}


def _levels(row: ComparisonRow, number: int) -> str:
    """Return the CoV of a side by level: ``A: CoV 4.8 % within a trial (2400 samples), 0.9 % added between trials``."""
    levels = row.levels[number] if number < len(row.levels) else None
    if levels is None:
        return ""
    known = [(level, _LEVELS[level.name]) for level in levels.levels if level.cov is not None]
    parts = [f"{share_text(level.cov or 0.0)} {where} ({level.n} {level.name}s)" for level, where in known]
    return f"{run_letter(number)}: CoV {', '.join(parts)}." if parts else ""


def _why(comparison: Comparison, row: ComparisonRow, against: RelativeFigure) -> str:
    margin, direction = share_text(comparison.margin_of(row, against)), direction_text(row.metric.better)
    if against.verdict is ComparisonVerdict.NOT_COMPARABLE:
        return f"Not comparable: {against.reason}."
    reason = against.ground  # caveats are shown in their own section
    if against.ratio is None or against.low is None or against.high is None:
        return f"No verdict: {reason}."
    ratio = f"Ratio of geometric means {row_ratio_text(against)}, 95 % interval {interval_text(against)}"
    if against.verdict is ComparisonVerdict.SAME:
        return f"{ratio}: entirely within the margin of {margin}. A smaller difference is not excluded."
    if against.verdict is ComparisonVerdict.UNDECIDED:
        return f"{ratio}, but {reason}."
    return f"{ratio}: entirely outside the margin of {margin}. {direction[2:].capitalize()}."


def _change(row: ComparisonRow, number: int) -> str:
    against, letter = row.against[number - 1], run_letter(number)
    if against.verdict is ComparisonVerdict.NOT_COMPARABLE:
        return f"Repeat {letter} or A with the other's plan and tool version, or compare anyway."
    if against.low is None or against.high is None:
        return _more(row, number) or "Trials with different results: a spread of zero gives no interval."
    near, far = sorted(abs(math.log(edge)) for edge in (against.low, against.high))
    if against.verdict is ComparisonVerdict.SAME:
        return f"A margin below {_edge(far)} would make it undecided."
    if against.verdict is ComparisonVerdict.UNDECIDED:
        return _more(row, number) or f"{_margin_above(far)} would give “no difference”."
    return f"{_margin_above(near)} would make it undecided."


def _margin_above(logarithm: float) -> str:
    """Return the margin above which a verdict changes; a margin is at most 100 %."""
    return f"A margin above {_edge(logarithm)}" if logarithm < math.log1p(1.0) else "No margin up to 100 %"


def _edge(logarithm: float) -> str:
    """Return the margin equal to an end of the interval, with one decimal from 1 % up."""
    share = math.expm1(logarithm)
    return f"{100 * share:.1f} %" if share >= 0.01 else share_text(share)


def _more(row: ComparisonRow, number: int) -> str:
    """Return the text on the number of trials that an undecided ratio still needs; empty if unknown."""
    if any(caveat.id == "reference" for caveat in row.against[number - 1].caveats):
        return "Measure the baseline yourself: the spread of a published result is unknown."
    noun, needed, (here, there) = _counted(row, number)
    letter, baseline = run_letter(number), run_letter(0)
    more = row.against[number - 1].more
    if min(here, there) < needed and (more is None or more <= needed - min(here, there)):
        few = [f"{needed - n} more of {name}" for name, n in ((baseline, there), (letter, here)) if n < needed]
        return f"At least {needed} {noun}s on each side: {' and '.join(few)}."
    if more is None:
        return ""
    one_side = insufficient_side(more, (here, there))
    where = f"of {letter if here < there else baseline}" if one_side else "on each side"
    return f"About {more} more {noun}{'' if more == 1 else 's'} {where} would decide it."


def _counted(row: ComparisonRow, number: int) -> tuple[str, int, tuple[int, int]]:
    """Return the noun of one value, the number a verdict needs, and the numbers of the side and the baseline."""
    sides = (row.sides[number], row.sides[0])
    hosts = [0 if side is None else len(set(side.hosts)) for side in sides]
    if max(hosts) > 1:
        return "host", FEWEST_HOSTS, (hosts[0], hosts[1])
    here, there = (0 if side is None else side.n for side in sides)
    return "trial", FEWEST_TRIALS, (here, there)
