"""Texts of a comparison: run names, verdict, reason, and what would change the verdict. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure, run_letter, run_name
from app.comparison.estimates import Ratio
from app.comparison.family import DESCRIPTIVE
from app.comparison.sentences import amount_text
from app.comparison.variance import HOST, RUN, SAMPLE, TRIAL
from app.comparison.verdicts import (
    CAPPED,
    DIFFERENT,
    EQUIVALENT,
    FEWEST,
    FEWEST_OF_HOSTS,
    FEWEST_SESSIONS,
    SINGLE,
    ComparisonVerdict,
    Level,
    Scope,
    insufficient_side,
)
from app.records import RunSummary
from suites.quantities import (
    count_text,
    direction_text,
    edges_text,
    ends_text,
    exact_share_text,
    first_upper,
    share_text,
    times_text,
)
from widgets.library.run_rows import run_start
from widgets.parts.names import MISSING, host_title


def short_run_name(run: RunSummary) -> str:
    """Return name, size of a group, hosts, selected part and start: ``volume check · web-1 · 2026-01-12 08:15``."""
    part = [run.part] if run.part else []
    return " · ".join([run.name, *_size(run), *_hosts(run, named=True), *part, run_start(run)])


def is_group(run: RunSummary) -> bool:
    """Return whether a side is several runs or parts of runs as one."""
    return "," in run.id


def _size(run: RunSummary) -> list[str]:
    """Return how many runs a group has, and its hosts if these are several: ``11 runs``, ``4 runs on 3 hosts``."""
    hosts = f" on {len(run.hosts)} hosts" if len(run.hosts) > 1 else ""
    return [f"{count_text(len(run.ids), 'run')}{hosts}"] if is_group(run) else []


def _counted_hosts(run: RunSummary) -> RunSummary:
    """Return a summary whose part does not name the hosts that _size() counts."""
    return replace(run, chosen_hosts=()) if is_group(run) and len(run.hosts) > 1 else run


def sides_text(runs: Sequence[RunSummary]) -> str:
    """Return how many different runs are compared: ``2 runs``, ``2 groups, 11 runs``, ``2 sides, 5 runs``."""
    total = count_text(len({run_id for run in runs for run_id in run.ids}), "run")
    groups = sum(map(is_group, runs))
    sides = count_text(len(runs), "group" if groups == len(runs) else "side")
    return f"{sides}, {total}" if groups or total != count_text(len(runs), "run") else total


def status_text(comparison: Comparison) -> str:
    """Return what is compared: ``2 groups, 11 runs, 3 metrics``; a metric of several hosts counts once."""
    metrics = len({(row.step, row.metric.name, row.labels) for row in comparison.rows})
    return f"{sides_text(comparison.runs)}, {count_text(metrics, 'metric')}"


def _hosts(run: RunSummary, *, named: bool) -> list[str]:
    """Return the hosts of a run, if they are to be `named` and its part does not name them."""
    return [", ".join(map(host_title, run.hosts))] if named and not run.chosen_hosts else []


def distinct_run_names(runs: Sequence[RunSummary]) -> list[str]:
    """Return a short distinct name of each side: number of runs of a group, part, start, name; hosts if they differ.

    A narrow chip cuts the end off.
    """
    hosts = len({run.hosts for run in runs}) > 1
    times = [run_start(run) for run in runs]
    same_year = len(runs) > 1 and len({time[:5] for time in times}) == 1 and times[0][4:5] == "-"
    return [
        " · ".join(
            [
                *_size(run),
                *([part] if (part := _counted_hosts(run).part) else []),
                time[5:] if same_year else time,
                run.name,
                *_hosts(run, named=hosts),
            ]
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
    **{verdict: ("differs", "text") for verdict, _ in CAPPED.values()},
    **{verdict: ("agrees", "text") for _, verdict in CAPPED.values()},
    ComparisonVerdict.NOT_TESTED: ("not-tested", "muted"),
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
    """Return the verdict in a line: ``better, +7.1 %``; if undecided, with the reason."""
    if against.verdict is ComparisonVerdict.NOT_COMPARABLE:
        return against.verdict.value  # the reason is below the table, once
    if against.verdict in DIFFERENT | EQUIVALENT:
        word, _, rest = _short_verdict(against, margin).partition(" between ")  # first what a narrow column can show
        return f"{word}{_change_of(against)}{f', between {rest}' if rest else ''}"
    if against.verdict is ComparisonVerdict.NOT_TESTED:
        text = against.verdict.value
        return text if against.ground == DESCRIPTIVE else f"{text}: {against.ground}"
    return against.text


def verdict_head(against: RelativeFigure, margin: float) -> str:
    """Return the beginning of verdict_line() that a narrow column shows: the verdict and the change."""
    word = _short_verdict(against, margin).partition(" between ")[0]
    return f"{word}{_change_of(against)}" if against.verdict in DIFFERENT | EQUIVALENT else word


def _short_verdict(against: RelativeFigure, margin: float) -> str:
    same = against.verdict is ComparisonVerdict.SAME
    return f"within ±{exact_share_text(margin)}" if same else against.verdict.value


def _change_of(against: RelativeFigure) -> str:
    """Return the change of a decided verdict as its sentence writes it, behind a comma; empty without a ratio."""
    if against.ratio is None:
        return ""
    ratio = Ratio(against.ratio, against.low, against.high)
    return f", {amount_text(ratio, against.margin, claimed=against.verdict in DIFFERENT)}"


def row_ratio_text(against: RelativeFigure) -> str:
    """Return the ratio to the baseline: ``1.07x``."""
    return MISSING if against.ratio is None else times_text(against.ratio)


def interval_text(against: RelativeFigure) -> str:
    """Return the 95 % interval of the ratio, with enough digits to distinguish its ends."""
    if against.low is None or against.high is None:
        return MISSING
    return ends_text(*edges_text(against.low, against.high))


def explain(comparison: Comparison, row: ComparisonRow, number: int) -> Explanation:
    """Explain the verdict of `row` on the run `number`, which is not the baseline."""
    against = row.against[number - 1]
    decided = against.verdict in DIFFERENT | EQUIVALENT
    return Explanation(
        against.verdict,
        verdict_line(against, comparison.margin_of(row, against)) if decided else against.verdict.value,
        f"{first_upper(against.text)}.",
        tuple(_side(row, side) for side in (0, number)),
        tuple(text for side in (0, number) if (text := _levels(row, side))),
        _why(comparison, row, against),
        tuple(caveat.text for caveat in against.caveats),
        _change(comparison, row, number),
    )


def _side(row: ComparisonRow, side_number: int) -> str:
    side, name = row.sides[side_number], run_name(side_number)
    if side is None:
        return f"{name}: not measured"
    if side.n == 1:
        return f"{name}: {side.value_text}, one trial"
    return f"{name}: {f'{side.value_text} {side.interval_text}'.rstrip()}, {side.mean_text}"


_LEVELS = {
    SAMPLE: ("within a trial", "sample"),
    TRIAL: ("added between trials", "trial"),
    RUN: ("added between sessions", "session"),
    HOST: ("added between hosts", "host"),
}
"""Where each level of variance is, and what its units are."""


def _levels(row: ComparisonRow, number: int) -> str:
    """Return the CoV of a side by level: ``A: CoV 4.8 % within a trial (2400 samples), 0.9 % added between trials``."""
    levels = row.levels[number] if number < len(row.levels) else None
    if levels is None:
        return ""
    known = [(level, *_LEVELS[level.name]) for level in levels.levels if level.cov is not None]
    parts = [f"{share_text(level.cov or 0.0)} {where} ({count_text(level.n, unit)})" for level, where, unit in known]
    if levels.icc is not None and levels.icc_low is not None and levels.icc_high is not None:
        parts.append(f"ICC {levels.icc:.2f} (95 % CI {levels.icc_low:.2f} to {levels.icc_high:.2f})")
    return f"{run_letter(number)}: CoV {', '.join(parts)}." if parts else ""


def _why(comparison: Comparison, row: ComparisonRow, against: RelativeFigure) -> str:
    margin, direction = exact_share_text(comparison.margin_of(row, against)), direction_text(row.metric.better)
    if against.verdict is ComparisonVerdict.NOT_COMPARABLE:
        return ""  # the sentence has it
    reason = against.ground  # caveats are shown in their own section
    decided = against.verdict in DIFFERENT | EQUIVALENT
    if against.ratio is None or against.low is None or against.high is None:
        return f"{first_upper(reason) if decided else f'No verdict: {reason}'}."
    ratio = f"Ratio of geometric means {row_ratio_text(against)}, 95 % interval {interval_text(against)}"
    if against.verdict in _UNDECIDED:
        return f"{ratio}: {reason}."
    which = "" if against.verdict in EQUIVALENT else f" {direction[2:].capitalize()}."
    return f"{ratio}, margin {margin}: {reason}.{which}"


_UNDECIDED = frozenset({ComparisonVerdict.UNDECIDED, ComparisonVerdict.NOT_TESTED})


_MORE_SESSIONS = (
    "More sessions, not more trials: the trials of a session share its moment. A claim beyond these sessions needs "
    f"{FEWEST_SESSIONS} runs on each side."
)
_SESSIONS_OF_HOSTS = (
    "More sessions, not more hosts: all hosts of a session share its moment. A claim beyond these sessions needs "
    f"{FEWEST_OF_HOSTS} on each side."
)
_WIDER = dict.fromkeys(SINGLE, _MORE_SESSIONS) | {
    Scope.BETWEEN_BLOCKS: "Run the steps interleaved: rounds share the drift of the host, blocks do not.",
}
"""What widens the claim in a scope."""


def _wider(against: RelativeFigure) -> str:
    """Return what widens the claim; empty if something else would change the verdict first."""
    if against.level is not Level.HOST:
        return _WIDER.get(against.scope, "")
    return _SESSIONS_OF_HOSTS if against.scope in SINGLE and against.verdict in DIFFERENT | EQUIVALENT else ""


def _change(comparison: Comparison, row: ComparisonRow, number: int) -> str:
    """Return what would change the verdict."""
    against, letter = row.against[number - 1], run_letter(number)
    if against.verdict is ComparisonVerdict.NOT_COMPARABLE:
        return f"Repeat {letter} or A with the other's plan and tool version, or compare anyway."
    if against.verdict is ComparisonVerdict.NOT_TESTED:
        return _TO_INCLUDE if against.ground == DESCRIPTIVE else ""
    if wider := _wider(against):
        return wider
    if against.low is None and against.verdict in DIFFERENT | EQUIVALENT:
        return ""  # exact
    if against.low is None or against.high is None:
        zero = any(side is not None and side.minimum <= 0 for side in (row.sides[0], row.sides[number]))
        return _more(row, number) or (_ABOVE_ZERO if zero else _DIFFERING)
    near, far = sorted(abs(edge - 1) for edge in (against.low, against.high))
    tests = sum(one.p is not None for each in comparison.rows for one in each.against)
    text = _of_margin(row, number, near, far)
    return f"{text} {_CORRECTED}" if tests > 1 and text.startswith(_A_MARGIN) else text


_ABOVE_ZERO = "Trials above zero: a ratio to 0 is not defined."
_DIFFERING = "Trials with different results: a spread of zero gives no interval."
_A_MARGIN = "A margin"
_CORRECTED = "The edge is that of the interval: Holm’s correction moves it towards undecided."


_TO_INCLUDE = "Include the metric in the verdicts; every tested ratio makes the others harder to decide."


def _of_margin(row: ComparisonRow, number: int, near: float, far: float) -> str:
    """Return the margin that would change the verdict, or the values that would decide it."""
    verdict = row.against[number - 1].verdict
    if verdict in EQUIVALENT:
        return f"{_A_MARGIN} below {_edge(far)} would make it undecided."
    if verdict is ComparisonVerdict.UNDECIDED:
        return _more(row, number) or f"{_margin_above(far)} would make it smaller than the margin."
    return f"{_margin_above(near)} would make it undecided."


def _margin_above(change: float) -> str:
    """Return the margin above which a verdict changes; a margin is at most 100 %."""
    return f"{_A_MARGIN} above {_edge(change)}" if change < 1 else "No margin up to 100 %"


def _edge(change: float) -> str:
    """Return the margin equal to an end of the interval, with one decimal from 1 % up."""
    return f"{100 * change:.1f} %" if change >= 0.01 else share_text(change)


def _more(row: ComparisonRow, number: int) -> str:
    """Return the text on the number of trials that an undecided ratio still needs; empty if unknown."""
    if any(caveat.id == "reference" for caveat in row.against[number - 1].caveats):
        return "Measure the baseline yourself: the spread of a published result is unknown."
    against = row.against[number - 1]
    if against.counts is None:
        return ""
    level, (here, there) = against.level, against.counts
    if against.evidence is not None and against.estimate is not None:
        level, (here, there), _ = against.evidence.deciding(against.estimate)
    noun, needed = level, FEWEST[level] if level is against.level else 1
    letter, baseline = run_letter(number), run_letter(0)
    more = against.more
    if min(here, there) < needed and (more is None or more <= needed - min(here, there)):
        few = [f"{needed - n} more of {name}" for name, n in ((baseline, there), (letter, here)) if n < needed]
        return f"At least {needed} {noun}s on each side: {' and '.join(few)}."
    if more is None:
        return ""
    one_side = insufficient_side(more, (here, there))
    where = f"of {letter if here < there else baseline}" if one_side else "on each side"
    paired = against.pairs and level is against.level
    return f"At least {count_text(more, f'more {noun}')}{'' if paired else f' {where}'} would decide it."
