"""One step of the picture: its headline, its plots, its table."""

from collections.abc import Iterator

from app.baselines.bands import medians_text
from app.comparing.compare import Against, Comparison, Row
from app.picture.curves import Panel, Shown, panels
from app.picture.figures import COMPARED, band_of, columns_alone, rows_alone, rows_compared, toned
from app.picture.host import Telemetry, host_panel
from app.picture.look import BODY, CONTENT, HEADING, HEADLINE, MARGIN, QUIET, Style
from app.picture.matrix import draw_matrix, matrices
from app.picture.plot import draw_panel
from app.picture.sheet import Sheet
from app.picture.sweep import sweep_plots
from app.picture.table import draw_table
from app.picture.words import width, wrap
from app.plans.plan import host_words
from app.summary import MetricSummary, summaries
from app.wording import direction_text, figure_text, metric_text, range_text, ratio_text, run_letter

HEADLINES = 6
"""Up to so many figures stand large above the plot; all of them are in the table."""

GUTTER = 24


def draw_step(sheet: Sheet, shown: Shown, comparison: Comparison | None, telemetry: Telemetry) -> None:
    """Draw a step; with several runs, what it says against the first of them."""
    name = next(step.name for step in shown.steps if step is not None)
    sheet.paragraph(name, HEADING)
    lines = list(_headlines_alone(shown) if comparison is None else _headlines_compared(comparison, name))
    for large, style, small in lines if len(lines) <= HEADLINES else []:
        _draw_headline(sheet, large, style, small)
    sheet.y += 8
    _draw_sweep(sheet, shown)
    _draw_panels(sheet, shown, telemetry)
    made = matrices(shown) if comparison is None else []
    for matrix in made:
        draw_matrix(sheet, matrix)
    rows = rows_alone(shown, made) if comparison is None else rows_compared(comparison, name)
    if rows:
        draw_table(sheet, columns_alone(shown) if comparison is None else COMPARED, rows)
        for line in _about_baselines(shown) if comparison is None else ():
            sheet.paragraph(line, QUIET)
    else:
        sheet.paragraph("No trial of this step gave a figure.", QUIET)


def _headlines_alone(shown: Shown) -> Iterator[tuple[str, Style, str]]:
    names = {step.name for step in shown.steps if step is not None}
    found = [summary for summary in summaries(shown.records[0]) if summary.step in names]
    several = len({summary.host for summary in found}) > 1
    for summary in found:
        if summary.metric == found[0].metric:
            parts = [
                f"{host_words(summary.host)}:" if several else "",
                f"{metric_text(summary.metric, summary.labels)}, {direction_text(summary.metric.better)}.",
                _of_trials(summary),
                _against_band(summary, shown),
            ]
            text = figure_text(summary.metric, summary.median, summary.uncertainty)
            yield text, HEADLINE, " ".join(part for part in parts if part)


def _of_trials(summary: MetricSummary) -> str:
    if summary.n == 1:
        return "One trial, so its spread is not known."
    spread = range_text(summary.metric, summary.minimum, summary.maximum, summary.uncertainty)
    return f"Median of {summary.n} trials, {spread}."


def _against_band(summary: MetricSummary, shown: Shown) -> str:
    band = band_of(summary, shown.bands)
    if band is None or not band.figure:
        return ""
    ratio = ratio_text(summary.median / band.figure, summary.metric.better)
    note = f" ({band.note})" if band.note else ""
    if band.reference:  # without a spread nothing is better or worse
        return f"{ratio.partition(',')[0]} the published figure of “{band.name}”{note}."
    return f"{ratio}, against the baseline “{band.name}”{note}: {medians_text(summary.n, band)}."


def _about_baselines(shown: Shown) -> list[str]:
    """Return what has to be known of the baselines whose ratios stand in the table."""
    names = {step.name for step in shown.steps if step is not None}
    bands = [band_of(summary, shown.bands) for summary in summaries(shown.records[0]) if summary.step in names]
    found = [band for band in bands if band is not None]
    no_verdict = "Ratios to a baseline are of medians, without an interval: only a comparison has a verdict."
    notes = [f"“{band.name}”: {band.note}." for band in found if band.note]
    return list(dict.fromkeys([*notes, *(no_verdict for band in found if not band.reference)]))


def _headlines_compared(comparison: Comparison, step: str) -> Iterator[tuple[str, Style, str]]:
    rows = [row for row in comparison.rows if row.step == step]
    for row in rows:
        if row.metric != rows[0].metric:
            continue
        for number, against in enumerate(row.against, 1):
            ratio = against.ratio
            large = "no ratio" if ratio is None else ratio_text(ratio, row.metric.better).split(",")[0]
            style = Style(HEADLINE.size, HEADLINE.leading, toned(against.verdict).colour, bold=True)
            sides = [(run_letter(place), row.sides[place]) for place in (number, 0)]
            medians = " against ".join(
                f"{letter} {figure_text(row.metric, side.median, side.uncertainty)}" for letter, side in sides if side
            )
            said = f"{against.text[:1].upper()}{against.text[1:]}"
            title = f"{metric_text(row.metric, row.labels)}, {direction_text(row.metric.better)}"
            yield large, style, f"{said}. Medians: {medians}{_centres(row, against)}, {title}."


def _centres(row: Row, against: Against) -> str:
    """Return what the ratio is of where the medians, which stand beside it, tell another story; else nothing."""
    if against.centres is None or not any(caveat.id == "medians" for caveat in against.caveats):
        return ""
    ours, theirs = (figure_text(row.metric, centre) for centre in against.centres)
    return f" (geometric means, of which the ratio is: {ours} against {theirs})"


def _draw_headline(sheet: Sheet, large: str, style: Style, small: str) -> None:
    sheet.words(MARGIN, sheet.y, large, style)
    left = MARGIN + width(large, style) + 16
    top = sheet.y + (style.leading - BODY.leading) / 2 + 3
    end = sheet.lines(left, top, wrap(small, BODY, MARGIN + CONTENT - left), BODY)
    sheet.y = max(sheet.y + style.leading, end)


def _draw_sweep(sheet: Sheet, shown: Shown) -> None:
    """Draw what was swept before what it looked like over time: two plots beside each other."""
    found = sweep_plots(shown)
    for pair in (found[place : place + 2] for place in range(0, len(found), 2)):
        room = (CONTENT - GUTTER * (len(pair) - 1)) / len(pair)
        ends = [draw_panel(sheet, panel, MARGIN + (room + GUTTER) * place, room)[0] for place, panel in enumerate(pair)]
        sheet.y = max(ends) + 10


def _draw_panels(sheet: Sheet, shown: Shown, telemetry: Telemetry) -> None:
    """Draw the headline across the page; below it the latency and the host, side by side or on its own time axis."""
    found = panels(shown)
    if not found:
        return
    end, across = draw_panel(sheet, found[0], MARGIN, CONTENT)
    sheet.y = end + 10
    host = host_panel(shown.records, telemetry, found[0])
    below: list[Panel] = [*found[1:], *([host] if host is not None else [])]
    room = (CONTENT - GUTTER * (len(below) - 1)) / len(below) if len(below) > 1 else across
    ends = [
        draw_panel(sheet, panel, MARGIN + (room + GUTTER) * place, room, small=True)[0]
        for place, panel in enumerate(below)
    ]
    sheet.y = max([sheet.y, *(end + 10 for end in ends)]) + 8
