"""The report image: question, hosts, plots with the baseline, tables, findings, exact commands."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from app.baselines.baselines import counts_text
from app.chart import Chart
from app.comparison.compare import compare
from app.comparison.comparison import NOTHING_COMPARED, Comparison, run_letter
from app.comparison.joined import excluded_trials
from app.comparison.sides import matching_steps
from app.crosscheck.agreement import agreements
from app.crosscheck.report import agreement_line, why_lines
from app.distributions.charts import distribution_charts
from app.distributions.distribution import Distribution
from app.distributions.percentiles import ValueLevel
from app.output import write_whole
from app.plans.plan import Step, host_label
from app.records import Band, RunRecord
from app.report_image.panels import Panel, ReportStep, Samples, Telemetry, host_panel, panels, sweep_plots
from app.report_image.plots import ACROSS, draw_panel, draw_side_by_side
from app.report_image.sections import draw_commands, draw_findings, draw_footer, draw_head, draw_notes
from app.report_image.sheet import (
    BODY,
    CONTENT,
    GUTTER,
    HEADING,
    HEADLINE,
    MARGIN,
    QUIET,
    STRONG,
    Sheet,
    Style,
    width,
    wrap,
)
from app.report_image.tables import (
    COMPARED,
    RESULTS,
    band_of,
    draw_matrix,
    draw_table,
    matrices,
    result_rows,
    rows_compared,
    single_run_columns,
    single_run_rows,
    toned,
)
from app.summary import MetricSummary, summaries
from suites.quantities import count_text, direction_text, first_upper, metric_text, ratio_text, times_text

HEADLINES = 6
"""Most figures in large type above the plot; the table has all."""


def draw_step(sheet: Sheet, shown: ReportStep, comparison: Comparison | None, telemetry: Telemetry) -> None:
    """Draw a step; of several runs without the table of metrics, which is above all steps."""
    name, *others = dict.fromkeys(step.name for step in shown.steps if step is not None)
    sheet.paragraph(f"{name} against {', '.join(others)}" if others else name, HEADING)
    lines = list(_single_run_headlines(shown) if comparison is None else _headlines_compared(comparison, name))
    for large, style, small in lines if len(lines) <= HEADLINES else []:
        _draw_headline(sheet, large, style, small)
    sheet.y += 8
    _draw_sweep(sheet, shown)
    _draw_panels(sheet, shown, telemetry)
    if comparison is not None:
        return
    made = matrices(shown)
    for matrix in made:
        draw_matrix(sheet, matrix)
    rows = single_run_rows(shown, made)
    if rows:
        draw_table(sheet, single_run_columns(shown), rows, folded=True)
        for line in _about_baselines(shown):
            sheet.paragraph(line, QUIET)
    else:
        sheet.paragraph("This step has no results.", QUIET)


def draw_comparison(sheet: Sheet, comparison: Comparison) -> None:
    """Draw the table of the tested metrics of all steps, and how many others there are."""
    rows = rows_compared(comparison)
    if rows:
        draw_table(sheet, COMPARED, rows)
    if hidden := sum(not row.tested for row in comparison.rows):
        sheet.paragraph(f"Not tested: {count_text(hidden, 'more metric')}. The CSV export has their values.", QUIET)


def _single_run_headlines(shown: ReportStep) -> Iterator[tuple[str, Style, str]]:
    found = [summary for summary in summaries(shown.records[0]) if summary.step in shown.names]
    several = len({summary.host for summary in found}) > 1
    for summary in found:
        if summary.metric == found[0].metric:
            parts = [
                f"{host_label(summary.host)}:" if several else "",
                first_upper(f"{summary.doubt}:") if summary.doubt else "",
                f"{metric_text(summary.metric, summary.labels)}, {direction_text(summary.metric.better)}.",
                _of_trials(summary),
                _against_band(summary, shown),
            ]
            yield summary.value_text, HEADLINE, " ".join(part for part in parts if part)


def _of_trials(summary: MetricSummary) -> str:
    if summary.n == 1:
        return "One trial: variance unknown."
    interval = f", {summary.interval_text} (95 % CI)" if summary.interval_text else ""
    return f"{first_upper(summary.mean_text)}{interval}, {summary.range_text}."


def _against_band(summary: MetricSummary, shown: ReportStep) -> str:
    band = band_of(summary, shown.bands)
    if band is None or not band.figure:
        return ""
    ratio = summary.value / band.figure
    if band.reference:  # without variance there is no better or worse
        return f"{times_text(ratio)} the published figure “{band.name}”."
    change = ratio_text(ratio, summary.metric.better)
    return f"{change}, against the baseline “{band.name}”: {counts_text(summary.n, band)}."


def _about_baselines(shown: ReportStep) -> list[str]:
    """Return the notes on the baselines in the table."""
    bands = [band_of(summary, shown.bands) for summary in summaries(shown.records[0]) if summary.step in shown.names]
    found = [band for band in bands if band is not None]
    no_verdict = "Ratios to a baseline have no interval or verdict here: compare the runs for these."
    notes = [f"“{band.name}”: {band.note}." for band in found if band.note]
    return list(dict.fromkeys([*notes, *(no_verdict for band in found if not band.reference)]))


def _headlines_compared(comparison: Comparison, step: str) -> Iterator[tuple[str, Style, str]]:
    rows = [row for row in comparison.rows if row.step == step]
    rows = [row for row in rows if row.metric == rows[0].metric]
    several = len({row.labels for row in rows}) < len(rows)
    for row in rows:
        where = f"{host_label(row.host)}: " if several else ""
        for number, against in enumerate(row.against, 1):
            ratio = against.ratio
            large = "no ratio" if ratio is None else times_text(ratio)
            style = Style(HEADLINE.size, HEADLINE.leading, toned(against.verdict).colour, bold=True)
            sides = [(run_letter(side), row.sides[side]) for side in (number, 0)]
            values = " against ".join(f"{letter} {side.marked_value}" for letter, side in sides if side)
            verdict = f"{where}{against.text}" if where else first_upper(against.text)
            title = f"{metric_text(row.metric, row.labels)}, {direction_text(row.metric.better)}"
            yield large, style, f"{verdict}. {values}, {title}."


def _draw_headline(sheet: Sheet, large: str, style: Style, small: str) -> None:
    sheet.text(MARGIN, sheet.y, large, style)
    left = MARGIN + width(large, style) + 16
    top = sheet.y + (style.leading - BODY.leading) / 2 + 3
    end = sheet.lines(left, top, wrap(small, BODY, MARGIN + CONTENT - left), BODY)
    sheet.y = max(sheet.y + style.leading, end)


def _draw_sweep(sheet: Sheet, shown: ReportStep) -> None:
    """Draw the sweeps, two plots in a row."""
    found = sweep_plots(shown)
    for pair in (found[first : first + 2] for first in range(0, len(found), 2)):
        sheet.y = _draw_row(sheet, pair, CONTENT) + 10


def _draw_panels(sheet: Sheet, shown: ReportStep, telemetry: Telemetry) -> None:
    """Draw the headline metric at full width; below it the latency and the load of host and peer in a row."""
    found = panels(shown)
    if not found:
        return
    end, across = draw_panel(sheet, found[0], MARGIN, CONTENT)
    sheet.y = end + 10
    watched = [host_panel(shown, telemetry, found[0], peer=peer) for peer in (False, True)]
    below: list[Panel] = [*found[1:], *(panel for panel in watched if panel is not None)]
    if below:
        sheet.y = _draw_row(sheet, below, across if len(below) == 1 else CONTENT, small=True) + 10
    sheet.y += 8


def _draw_row(sheet: Sheet, panels: Sequence[Panel], available: float, *, small: bool = False) -> float:
    """Draw plots side by side; return their lower edge."""
    each = (available - GUTTER * (len(panels) - 1)) / len(panels)
    lefts = (MARGIN + (each + GUTTER) * column for column in range(len(panels)))
    return max(draw_panel(sheet, panel, left, each, small=small)[0] for panel, left in zip(panels, lefts, strict=True))


COMPACT_FROM = 3
"""Number of steps from which a single run has one small plot for each step."""


def draw_steps(sheet: Sheet, found: Sequence[ReportStep]) -> None:
    """Draw the headline plot of each step that has one, ACROSS in a row; the table of results has the figures."""
    each = (CONTENT - GUTTER * (ACROSS - 1)) / ACROSS
    plotted = [(shown, plots[0]) for shown in found if (plots := sweep_plots(shown) or panels(shown))]
    for first in range(0, len(plotted), ACROSS):
        ends, top = [], sheet.y
        for column, (shown, panel) in enumerate(plotted[first : first + ACROSS]):
            sheet.y = top
            left = MARGIN + (each + GUTTER) * column
            sheet.text(left, top, wrap(next(iter(shown.names)), STRONG, each)[0], STRONG)
            sheet.y += STRONG.leading
            ends.append(draw_panel(sheet, panel, left, each, small=True)[0])
        sheet.y = max(ends) + 10
    names = dict.fromkeys(band.name for shown, _ in plotted for band in shown.bands)
    grey = f" Grey: baseline {', '.join(f'“{name}”' for name in names)}." if names else ""
    shapes = dict.fromkeys("dot" if _has_dots(panel) else "curve" for _, panel in plotted if not panel.ticks)
    each_trial = f"One {' or '.join(shapes)} for each trial." if shapes else ""
    if caption := f"{each_trial}{grey}".strip():
        sheet.paragraph(caption, QUIET)


def _has_dots(panel: Panel) -> bool:
    """Return whether a plot has no line: figures of trials, or curves of one sample."""
    return all(curve.dots or len(curve.times) == 1 for curve in panel.curves)


SECTION = 30
"""Pixels between sections."""


def write_report(
    records: Sequence[RunRecord],
    samples: Samples,
    telemetry: Telemetry,
    bands: Sequence[Band],
    path: Path,
    *,
    kind: str = "png",
    scale: float = 1.0,
    comparison: Comparison | None = None,
    distributions: Sequence[Distribution] = (),
    charts: Mapping[str, Sequence[Chart]] = MappingProxyType({}),
) -> Path:
    """Write the report of `records` to `path` as PNG, 1200 pixels wide times `scale`, or as `kind`; return `path`.

    A single run is drawn with the `bands` of its pinned baselines; of several, the first is the baseline. `samples` and
    `telemetry` are by run id, `charts` by the step's name. Raises WriteError.
    """
    sheet = draw_report(records, samples, telemetry, bands, comparison, distributions=distributions, charts=charts)
    return write_whole(path, sheet.drawn(kind, scale))


def draw_report(
    records: Sequence[RunRecord],
    samples: Samples,
    telemetry: Telemetry,
    bands: Sequence[Band],
    comparison: Comparison | None = None,
    *,
    distributions: Sequence[Distribution] = (),
    charts: Mapping[str, Sequence[Chart]] = MappingProxyType({}),
) -> Sheet:
    """Return the report as a sheet. `comparison` has a side for each of `records`; None compares them."""
    if comparison is None and len(records) > 1:
        comparison = compare(records)
    sheet = Sheet()
    draw_head(sheet, records)
    found = list(steps_of_sides(records))
    if comparison is not None:
        sheet.y += SECTION
        draw_comparison(sheet, comparison)
    elif len(found) > 1:
        sheet.y += SECTION
        draw_table(sheet, RESULTS, result_rows(records[0]))
    if comparison is None and len(found) >= COMPACT_FROM:
        sheet.y += SECTION
        draw_steps(sheet, [ReportStep(records, steps, samples, bands) for steps in found])
        found = []
    noted: set[str] = set()
    for steps in found:
        sheet.y += SECTION
        draw_step(sheet, ReportStep(records, steps, samples, bands), comparison, telemetry)
        name = next(step.name for step in steps if step is not None)
        sheet.y += 10
        # dots of the trials are above
        own = [one for one in distributions if one.step == name and one.source is not ValueLevel.TRIALS]
        of_step = distribution_charts(own)
        draw_side_by_side(sheet, [*of_step, *charts.get(name, ())], noted)
    sheet.y += SECTION
    draw_findings(sheet, records)
    for heading, notes in _notes(records, comparison):
        if notes:
            sheet.y += SECTION
            draw_notes(sheet, heading, notes)
    sheet.y += SECTION
    draw_commands(sheet, records)
    sheet.y += SECTION
    draw_footer(sheet, records)
    return sheet


def _notes(records: Sequence[RunRecord], comparison: Comparison | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the lists of notes with their headings."""
    if comparison is not None and not comparison.rows:
        yield "Differences and caveats", [NOTHING_COMPARED, *comparison.notes]
        return
    if comparison is not None:
        yield "Differences and caveats", comparison.notes
        yield "Method", [f"Margin {comparison.margin_text}.", f"{first_upper(comparison.method)}."]
        return
    found = [one for record in records for one in agreements(record)]
    lines = [(f"{host_label(one.host)}: {agreement_line(one)}", *why_lines(one)) for one in found]
    yield "Cross-check", list(map(" ".join, lines))
    yield "Excluded trials", [note for record in records for note in excluded_trials(record)]


def steps_of_sides(records: Sequence[RunRecord]) -> Iterator[list[Step | None]]:
    """Yield each step of all runs: first those of the baseline, then the others."""
    pairs = [matching_steps(records[0].plan, record.plan) for record in records[1:]]
    for step in records[0].plan.steps:
        yield [step, *(found.get(step.name) for found in pairs)]
    for number, (record, found) in enumerate(zip(records[1:], pairs, strict=True), 1):
        for step in record.plan.steps:
            if step not in found.values():
                yield [step if index == number else None for index in range(len(records))]
