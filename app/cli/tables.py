"""Text output of comparisons, distributions, noise, scaling, bursts and agreements of tools."""

import shlex
from collections.abc import Iterator, Sequence

import click

from app.bursts import BurstAnalysis, Drain, amount_text, burst_lines, rate_text
from app.cli.common import plain, print_table
from app.comparison.comparability import Weight
from app.comparison.comparison import NOTHING_COMPARED, Comparison, ComparisonRow, RelativeFigure, run_letter
from app.comparison.variance import HOST, RUN, SAMPLE, TRIAL, VarianceLevel, VarianceLevels
from app.comparison.verdicts import UNSETTLED
from app.crosscheck.agreement import Agreement
from app.crosscheck.report import agreement_line, why_lines
from app.distributions.distribution import Distribution, SideDistribution
from app.distributions.percentiles import Percentile, QuantileShift
from app.noise import TITLES, Noise, NoiseEntry, NoiseLevel, PooledSpread, rank_text
from app.plans.plan import host_label
from app.records import RunSummary
from app.scaling.scaling import ScalingAnalysis, scaling_lines, share_interval_text
from app.spreads import Spread
from app.summary import MetricSummary
from suites.quantities import (
    count_text,
    direction_text,
    duration_text,
    ends_text,
    figure_text,
    metric_text,
    range_text,
    share_text,
    shares_text,
    times_text,
)
from suites.verdict import trust_mark
from suites.vocab import Better, Metric

HEAD = ("Step", "Host", "Metric", "Run", "Value", "n", "Ratio", "Verdict")

RIGHT_ALIGNED = (4, 5)


def run_lines(comparison: Comparison) -> list[str]:
    """Return the legend of run letters; the first is the baseline."""
    lines = [
        f"{run_letter(number)}  {','.join(run.ids)}  {run.name}  {_start(run)}  {run.part}".rstrip()
        for number, run in enumerate(comparison.runs)
    ]
    return [f"{lines[0]}  baseline", *lines[1:]]


def _start(run: RunSummary) -> str:
    """Return the start time; a published table has a date at most."""
    return f"{run.utc_text} UTC" if len(run.started) > len("2026-01-31") else run.started


def comparison_rows(comparison: Comparison, *, everything: bool = True) -> list[list[str]]:
    """Return a row for each metric of the baseline, followed by one for each other run.

    Only of tested metrics without `everything`.
    """
    return [line for row in comparison.rows if everything or row.tested for line in _lines(row)]


def closing_lines(comparison: Comparison) -> list[str]:
    """Return the notes, margins and conventions below the table; without one, the notes only."""
    directions = ", ".join(map(direction_text, Better))
    notes = [f"Note: {note}" for note in comparison.notes if note not in comparison.remarks]
    if not comparison.rows:
        return notes
    margin = f"Margin {comparison.margin_text}."
    return [*notes, margin, f"Value ± 95 % interval (×/÷: a factor); {directions}; {comparison.method}."]


def _lines(row: ComparisonRow) -> Iterator[list[str]]:
    baseline, *others = row.sides
    metric = f"{metric_text(row.metric, row.labels)} {direction_text(row.metric.better)[0]}"
    yield [row.step, host_label(row.host), metric, run_letter(0), *_value(baseline), "", ""]
    for number, (side, against) in enumerate(zip(others, row.against, strict=True), 1):
        step = "" if side is None or side.step == row.step else side.step
        host = "" if side is None or side.host == row.host else host_label(side.host)
        yield [step, host, "", run_letter(number), *_value(side), *_against(against)]


def _value(side: MetricSummary | None) -> tuple[str, str]:
    """Return the value ± its 95 % interval, marked if it is not valid, and the number of trials."""
    if side is None:
        return "—", "0"
    text = side.estimate_text
    return f"{text} ({side.doubt})" if side.doubt else text, side.n_text


def _against(against: RelativeFigure) -> tuple[str, str]:
    # No “worse” or “better” beside the ratio: it would contradict the verdict “undecided”.
    return "" if against.ratio is None else times_text(against.ratio), against.text


GATE_HEAD = ("Weight", "Step", "Host", "Difference", "Run", "Baseline", "Effect")


def gate_rows(comparison: Comparison) -> list[list[str]]:
    """Return a row for each difference of two sides in how they were measured, the most severe first."""
    rows: dict[tuple[str, ...], None] = {}
    for row in comparison.rows:
        for number, against in enumerate(row.against, 1):
            for each in against.differences:
                run = f"{run_letter(number)}: {each.ours}" if each.ours else run_letter(number)
                rows[each.weight.value, row.step, host_label(row.host), each.label, run, each.baseline, each.why] = None
    order = [weight.value for weight in Weight]
    return sorted(map(list, rows), key=lambda row: order.index(row[0]))


LEVELS_HEAD = (
    "CoV within a trial", "Added between trials", "Added between sessions", "Added between hosts", "ICC (95 % CI)",
)  # fmt: skip


def levels_rows(comparison: Comparison) -> list[list[str]]:
    """Return a row for each side of each metric with its variance components and their n."""
    return [
        [row.step, host_label(row.host), metric_text(row.metric, row.labels), run_letter(number), *level_cells(levels)]
        for row in comparison.rows
        for number, levels in enumerate(row.levels)
        if levels is not None
    ]


def level_cells(levels: VarianceLevels) -> list[str]:
    """Return the CoV of each level as text, from the innermost: ``2.1 % (n = 300)``."""
    return [*(_level(levels.level(name)) for name in (SAMPLE, TRIAL, RUN, HOST)), _icc(levels)]


def _level(level: VarianceLevel | None) -> str:
    if level is None:
        return "—"
    return f"{'—' if level.cov is None else share_text(level.cov)} (n = {level.n})"


def _icc(levels: VarianceLevels) -> str:
    if levels.icc is None:
        return ""
    if levels.icc_low is None or levels.icc_high is None:
        return f"{levels.icc:.2f}"
    return f"{levels.icc:.2f} ({ends_text(f'{levels.icc_low:.2f}', f'{levels.icc_high:.2f}')})"


def print_comparison(
    comparison: Comparison, *, selectors: Sequence[str] = (), levels: bool = False, everything: bool = True
) -> None:
    """Print a comparison: differences in conditions, figures with spread, verdicts.

    `selectors` are those of its sides, for the command of a sample size. Without `everything`, descriptive metrics are
    only counted.
    """
    for line in run_lines(comparison):
        click.echo(plain(line))
    click.echo("")
    gate = gate_rows(comparison)
    if gate:
        print_table(GATE_HEAD, gate)
        click.echo("")
    if comparison.rows:
        print_table(HEAD, comparison_rows(comparison, everything=everything), right=RIGHT_ALIGNED)
    else:
        click.echo(plain(NOTHING_COMPARED))
    hidden = 0 if everything else sum(not row.tested for row in comparison.rows)
    if hidden:
        left_out = (
            f"Not tested: {count_text(hidden, 'more metric')}. --all prints them, and tests those that are not the"
        )
        click.echo(plain(f"{left_out} same number as another."))
    click.echo("")
    if levels and comparison.rows:
        print_table(("Step", "Host", "Metric", "Run", *LEVELS_HEAD), levels_rows(comparison), right=range(4, 9))
        click.echo("")
    for line in closing_lines(comparison):
        click.echo(plain(line))
    compared = [one for row in comparison.rows if not row.of_duets for one in row.against]
    unsettled = [one for one in compared if one.verdict in UNSETTLED]
    if selectors and unsettled and not any(one.sessions for one in unsettled):  # no sample size has their error
        sides = shlex.join(selectors)
        click.echo(plain(f"How many hosts, sessions and trials settle it: benchwright sample-size {sides}"))


WORST = 3
"""Trials whose worst sample is printed; the JSON has all."""


def print_distributions(found: Sequence[Distribution]) -> None:
    """Print distributions as tables; ECDF and histogram are in the JSON and the window."""
    for number, one in enumerate(found):
        if number:
            click.echo("")
        title = f"{one.title}, {one.step} on {host_label(one.host)} ({direction_text(one.metric.better)})"
        click.echo(plain(title))
        for line in _side_lines(one):
            click.echo(plain(line))
        print_table(_head(one), list(_percentile_rows(one)), right=range(1, 2 * len(one.sides)))
        for line in _worst(one):
            click.echo(plain(line))
        click.echo(plain(f"95 % intervals: {one.method}."))


def _side_lines(one: Distribution) -> Iterator[str]:
    for number, side in enumerate(one.sides):
        values = f", {side.count} {one.source.value}" if one.source.value != "trials" else ""
        trials = count_text(side.n, "trial")
        reason = f": {side.reason}" if side.reason else ""
        mark = f" ({word})" if (word := trust_mark(side.trust)) else ""
        yield f"{run_letter(number)}  {side.run}  {trials}{values}{mark}{reason}"


def _head(one: Distribution) -> list[str]:
    head = ["Percentile"]
    for number in range(len(one.sides)):
        head += [run_letter(number)] if not number else [run_letter(number), f"{run_letter(number)} by A"]
    return head


def _percentile_rows(one: Distribution) -> Iterator[list[str]]:
    values = {each.percentile for side in one.sides for each in side.percentiles}
    shown = sorted(values | {each.percentile for side in one.sides for each in side.shift})
    for percentile in shown:
        row = [f"p{percentile:g}"]
        for number, side in enumerate(one.sides):
            row.append(_percentile_text(one.metric, _at(side, percentile)))
            if number:
                row.append(_shift(one.metric, next((s for s in side.shift if s.percentile == percentile), None)))
        yield row


def _at(side: SideDistribution, percentile: float) -> Percentile | None:
    return next((each for each in side.percentiles if each.percentile == percentile), None)


def _percentile_text(metric: Metric, found: Percentile | None) -> str:
    if found is None:
        return ""
    together = "" if found.pooled is None else f", pooled {figure_text(metric, found.pooled)}"
    if found.low is None or found.high is None:
        return f"{figure_text(metric, found.value)}{together}"
    half = (found.high - found.low) / 2 or None
    interval = range_text(metric, found.low, found.high, half, value=found.value)
    return f"{figure_text(metric, found.value, half)} ({interval}{together})"


def _shift(metric: Metric, found: QuantileShift | None) -> str:
    if found is None:
        return ""
    if found.ratio is None:
        return figure_text(metric, found.difference)
    text = _percent(found.ratio)
    if found.ratio_low is None or found.ratio_high is None:
        return text
    return f"{text} ({ends_text(_percent(found.ratio_low), _percent(found.ratio_high))})"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _worst(one: Distribution) -> Iterator[str]:
    for number, side in enumerate(one.sides):
        for each in side.worst[:WORST]:
            value = figure_text(one.metric, each.value)
            where = "" if each.host == one.host else f" on {host_label(each.host)}"
            yield f"Worst sample, {run_letter(number)}, trial {each.number}{where}: {value} at {each.time:.0f} s"


_SPREAD = ("n", "CoV", "95 % interval", "(max - min) / median")


def print_noise(found: Noise) -> None:
    """Print a noise analysis."""
    for line in found.excluded:
        click.echo(plain(f"Note: {line}"))
    if not found.entries:
        click.echo("No spread: every result has fewer than two trials.")
        return
    for level in NoiseLevel:
        entries = found.at(level)
        if entries:
            click.echo(plain(TITLES[level]))
            _print_spreads(("Run", "Step", "Host", "Metric"), [(_noise_cells(entry), entry) for entry in entries])
    for name, pooled in (("Test", found.tests), ("Host", found.hosts), ("Run", found.runs)):
        if len(pooled) > 1:
            _print_spreads((name,), [([host_label(one.name) if name == "Host" else one.name], one) for one in pooled])
    click.echo(plain(f"{found.method}."))


def _print_spreads(head: Sequence[str], named: Sequence[tuple[list[str], NoiseEntry | PooledSpread]]) -> None:
    """Print spreads with their names under `head`, and their verdicts where one reduces the trust."""
    marked = [trust_mark(one.trust) for _, one in named]
    rows = [
        [rank_text(one), *names, *spread_cells(one.spread), *([mark] if any(marked) else [])]
        for (names, one), mark in zip(named, marked, strict=True)
    ]
    first = 1 + len(head)
    right = (0, *range(first, first + len(_SPREAD)))
    print_table(("Rank", *head, *_SPREAD, *(("Verdict",) if any(marked) else ())), rows, right=right)
    click.echo("")


def _noise_cells(entry: NoiseEntry) -> list[str]:
    return [entry.run, entry.step, host_label(entry.host), metric_text(entry.metric, entry.labels)]


def spread_cells(spread: Spread) -> list[str]:
    """Return n, CoV, its interval and the range as text."""
    reach = "" if spread.range is None else share_text(spread.range)
    return [str(spread.n), share_text(spread.cov), _interval(spread), reach]


def _interval(spread: Spread) -> str:
    if spread.low is None or spread.high is None:
        return ""
    return ends_text(*(f"{share} %" for share in shares_text(spread.low, spread.high)))


def print_scaling(found: Sequence[ScalingAnalysis]) -> None:
    """Print scaling curves."""
    if not found:
        click.echo("No sweep: no metric has valid figures that differ in one parameter only.")
    for number, one in enumerate(found):
        if number:
            click.echo("")
        curve = one.curve
        click.echo(plain(f"{metric_text(curve.metric, curve.rest)}, {one.step} on {host_label(one.host)} ({one.run})"))
        head = (curve.label.replace("_", " ").capitalize(), "Geometric mean", "Range", "n", "Efficiency")
        print_table(head, _points(one), right=range(5))
        for line in scaling_lines(one):
            click.echo(plain(line))


def _points(one: ScalingAnalysis) -> list[list[str]]:
    efficient = {each.x: each for each in one.efficiencies}
    metric = one.curve.metric
    return [
        [
            point.text,
            figure_text(metric, point.value, (point.maximum - point.minimum) / 2 or None),
            range_text(metric, point.minimum, point.maximum, value=point.value) if len(point.values) > 1 else "",
            str(len(point.values)),
            share_interval_text(found) if (found := efficient.get(point.x)) else "",
        ]
        for point in one.curve.points
    ]


def print_bursts(found: Sequence[BurstAnalysis]) -> None:
    """Print token buckets and the drains that they are measured by."""
    if not found:
        click.echo("No burst: no step has a rate as its first metric.")
    for number, one in enumerate(found):
        if number:
            click.echo("")
        click.echo(plain(f"{metric_text(one.metric, one.labels)}, {one.step} on {host_label(one.host)} ({one.run})"))
        head = ("Trial", "Rest before", "Burst rate", "Base rate", "Burst lasts", "Above base")
        print_table(head, [_drain_cells(one.metric, each) for each in one.drains], right=range(6))
        for line in (
            *(f"Trial {each.number}: {each.reason}." for each in one.drains if each.reason),
            *burst_lines(one),
        ):
            click.echo(plain(line))


def _drain_cells(metric: Metric, one: Drain) -> list[str]:
    return [
        str(one.number),
        "" if one.rest is None else duration_text(one.rest),
        *("" if rate is None else rate_text(metric, rate) for rate in (one.burst, one.base)),
        "" if one.duration is None else duration_text(one.duration),
        "" if one.spent is None else amount_text(metric, one.spent.value),
    ]


def print_agreements(found: Sequence[Agreement]) -> None:
    """Print whether the tools of a run agree, and why not."""
    for one in found:
        click.echo(plain(f"{host_label(one.host)}: {agreement_line(one)}"))
        for line in why_lines(one):
            click.echo(plain(f"  {line}"))
