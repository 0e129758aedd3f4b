"""The HTML report: one file without references to others that is also the bundle of its runs."""

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from app.comparison.comparison import run_name
from app.output import escaped
from app.records import RunRecord, SampleSeries
from app.report_image.panels import Panel, ReportStep, panels, sweep_plots
from app.report_image.report import steps_of_sides
from app.sharing.compared_runs import RIGHT, ComparedRuns
from app.sharing.run_content import RESULT_HEAD, RESULT_RIGHT, result_cells, run_content
from app.sharing.sections import ReportSection
from app.sharing.svg_plots import SvgPlot, svg_plot
from app.version import VERSION
from suites.quantities import count_text

MOST_PLOTS = 24
"""Plots of a run, and of a comparison."""

LEVEL = 9
"""Of gzip: the record is written once and sent often."""

NAMED = 3
"""Runs that the title of a report names."""


def html_report(
    records: Sequence[RunRecord],
    samples: Mapping[str, SampleSeries],
    library: bytes,
    compared: ComparedRuns | None = None,
    *,
    redacted: bool,
    title: str = "",
    sections: Sequence[ReportSection] = (),
) -> bytes:
    """Return the report of runs as HTML with their library file in it, after a comparison if there is one.

    All texts are escaped. `sections` are a document with a `title` that the runs follow as its appendix.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    template = environment.from_string((files("resources") / "report.html").read_text("utf-8"))
    runs = [run_content(record) for record in records]
    more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    names = ", ".join(run.title for run in runs[:NAMED]) + more
    text = template.render(
        title=title or (names if compared is None else f"{compared.title}: {names}"),
        sections=[(one, list(_section_plots(one)), list(_section_pictures(one))) for one in sections],
        version=VERSION,
        compared=compared,
        plots_compared=[] if compared is None else list(_plots_compared(compared)),
        right=RIGHT,
        result_head=RESULT_HEAD,
        result_right=RESULT_RIGHT,
        runs=[
            (run, [result_cells(one) for one in run.results], list(_plots(record, samples)))
            for run, record in zip(runs, records, strict=True)
        ],
        count=count_text(len(records), "run"),
        sharing=sharing_text(redacted=redacted),
        library=base64.b64encode(gzip.compress(library, LEVEL, mtime=0)).decode(),
    )
    return text.encode("utf-8", "replace")


def sharing_text(*, redacted: bool, own_texts: bool = False) -> str:
    """Return whether a report was redacted, and what `own_texts` in it may still have."""
    if not redacted:
        return "Nothing in it was redacted."
    kept = " Question, conclusion and notes keep names that no run of it states." if own_texts else ""
    return f"Names, addresses, ids and paths were replaced.{kept}"


def _printable(value: Any) -> Any:
    """Return a text without control characters, which HTML does not allow."""
    return escaped(value, but="\n\t") if type(value) is str else value


def _section_plots(section: ReportSection) -> Iterator[tuple[str, SvgPlot]]:
    for step, panel in section.panels:
        plot = svg_plot(panel)
        if plot is not None:
            yield step, plot


def _section_pictures(section: ReportSection) -> Iterator[tuple[str, str]]:
    """Yield the title of each chart with its picture as base64."""
    from app.report_image.plots import chart_picture

    for chart in section.charts:
        yield chart.title, base64.b64encode(chart_picture(chart)).decode()


def _plots(record: RunRecord, samples: Mapping[str, SampleSeries]) -> Iterator[tuple[str, SvgPlot]]:
    number = 0
    for step in record.plan.steps if samples else ():
        shown = ReportStep([record], [step], samples, [])
        for panel in sweep_plots(shown) or panels(shown):
            plot = svg_plot(panel)
            if plot is not None and number < MOST_PLOTS:
                number += 1
                yield step.name, plot


def _plots_compared(compared: ComparedRuns) -> Iterator[tuple[str, list[tuple[str, SvgPlot]]]]:
    """Yield for each step and metric its plot of each side that has one, all with the same axes."""
    number = 0
    for steps in steps_of_sides(compared.records):
        name = next(step.name for step in steps if step is not None)
        found: dict[str, list[tuple[int, Panel]]] = {}
        for side, (record, step) in enumerate(zip(compared.records, steps, strict=True)):
            shown = ReportStep([record], [step], compared.samples, [])
            for panel in sweep_plots(shown) or panels(shown):
                found.setdefault(panel.metric.name, []).append((side, panel))
        for beside in found.values():
            top, end = _ends([panel for _, panel in beside])
            plots = [(run_name(side), svg_plot(replace(panel, top=top, end=end))) for side, panel in beside]
            drawn = [(side, plot) for side, plot in plots if plot is not None]
            number += len(drawn)
            if len(drawn) > 1 and number <= MOST_PLOTS:
                yield f"{name}: {drawn[0][1].title}", drawn


def _ends(beside: Sequence[Panel]) -> tuple[float, float]:
    """Return the greatest value and the greatest position of some plots."""
    curves = [curve for panel in beside for curve in panel.curves]
    return max(max(curve.values, default=0.0) for curve in curves), max(max(one.times, default=0.0) for one in curves)
