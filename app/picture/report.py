"""The report picture: question, hosts, date, plots with the baseline, tables, findings, exact commands."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from app.chart import Chart
from app.comparing.compare import compare
from app.comparing.comparison import Comparison
from app.comparing.pairing import answering_steps, left_out
from app.distributions import Distribution
from app.distributions.charts import distribution_charts
from app.opinion.agreement import agreements
from app.opinion.words import agreement_line, why_lines
from app.picture.chart import draw_beside
from app.picture.curves import Samples, Shown
from app.picture.head import draw_foot, draw_head
from app.picture.host import Telemetry
from app.picture.remarks import draw_commands, draw_findings, draw_notes
from app.picture.sheet import Sheet
from app.picture.step import draw_step
from app.plans.plan import Step
from app.records import Band, RunRecord
from app.writing import write_whole

SECTION = 30
"""Pixels between sections."""


def report_picture(
    records: Sequence[RunRecord],
    samples: Samples,
    telemetry: Telemetry,
    bands: Sequence[Band],
    path: Path,
    *,
    scale: float = 1.0,
    comparison: Comparison | None = None,
    distributions: Sequence[Distribution] = (),
    charts: Mapping[str, Sequence[Chart]] = MappingProxyType({}),
) -> Path:
    """Write the report of `records` to `path` as PNG, 1200 pixels wide times `scale`; return `path`.

    One run stands beside the `bands` of its pinned baseline; of several, the first is the baseline. `samples` and
    `telemetry` are those of each run by its id; `distributions`, and other `charts` by the step's name, stand below the
    step they are of. Raises WriteError.
    """
    sheet = draw_report(records, samples, telemetry, bands, comparison, distributions=distributions, charts=charts)
    return write_whole(path, sheet.png(scale))


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
    """Return the report as a sheet. A `comparison` has a side for each of `records`; without one they are compared."""
    if comparison is None and len(records) > 1:
        comparison = compare(records)
    sheet = Sheet()
    draw_head(sheet, records)
    for steps in _steps(records):
        sheet.y += SECTION
        draw_step(sheet, Shown(records, steps, samples, bands), comparison, telemetry)
        name = next(step.name for step in steps if step is not None)
        sheet.y += 10
        draw_beside(sheet, distribution_charts([one for one in distributions if one.step == name]))
        draw_beside(sheet, charts.get(name, ()))
    sheet.y += SECTION
    draw_findings(sheet, records)
    for heading, notes in _notes(records, comparison):
        if notes:
            sheet.y += SECTION
            draw_notes(sheet, heading, notes)
    sheet.y += SECTION
    draw_commands(sheet, records)
    sheet.y += SECTION
    draw_foot(sheet, records)
    return sheet


def _notes(records: Sequence[RunRecord], comparison: Comparison | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what is said in words below the figures, each list with its heading."""
    if comparison is not None:
        yield "Margin", [f"{origin}." for origin in comparison.origins]
        yield "What else differs", comparison.notes
        yield (
            "How they are compared",
            [f"{comparison.method[:1].upper()}{comparison.method[1:]}; the figures are medians."],
        )
        return
    found = [one for record in records for one in agreements(record)]
    yield "Second opinion", [" ".join((f"{one.host}: {agreement_line(one)}", *why_lines(one))) for one in found]
    yield "Left out", [note for record in records for note in left_out(record)]


def _steps(records: Sequence[RunRecord]) -> Iterator[list[Step | None]]:
    """Yield each step as every run has it: first the baseline's, then what it has not got."""
    pairs = [answering_steps(records[0].plan, record.plan) for record in records[1:]]
    for step in records[0].plan.steps:
        yield [step, *(found.get(step.name) for found in pairs)]
    for number, (record, found) in enumerate(zip(records[1:], pairs, strict=True), 1):
        for step in record.plan.steps:
            if step not in found.values():
                yield [step if place == number else None for place in range(len(records))]
