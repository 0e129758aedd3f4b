"""The HTML report: one file without references to others that is also the bundle of its runs."""

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from app.hosts.facts_rows import as_text, fact_rows
from app.output import escaped
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries
from app.report_image.panels import ReportStep, panels, sweep_plots
from app.sharing.sections import ReportSection
from app.sharing.svg_plots import SvgPlot, svg_plot
from app.sharing.ticket import command_lines
from app.step_results import basis_text, host_lines, step_results
from app.summary import notes_text
from app.verdict.listing import listed, without_repetitions
from app.version import VERSION
from suites.quantities import count_text, first_upper

MOST_PLOTS = 24
"""Plots of a run."""

LEVEL = 9
"""Of gzip: the record is written once and sent often."""


def html_report(
    records: Sequence[RunRecord],
    samples: Mapping[str, SampleSeries],
    library: bytes,
    *,
    redacted: bool,
    title: str = "",
    sections: Sequence[ReportSection] = (),
) -> bytes:
    """Return the report of runs as HTML with their library file in it. All texts are escaped.

    `sections` are a document with a `title` that the runs follow as its appendix, without the plots, which it has.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    template = environment.from_string((files("resources") / "report.html").read_text("utf-8"))
    text = template.render(
        title=title or ", ".join(first_upper(record.plan.name) for record in records),
        sections=[_section(one) for one in sections],
        version=VERSION,
        runs=[_run(record, {} if sections else samples) for record in records],
        count=count_text(len(records), "run"),
        sharing=sharing_text(redacted=redacted),
        library=base64.b64encode(gzip.compress(library, LEVEL, mtime=0)).decode(),
    )
    return text.encode("utf-8", "replace")


def sharing_text(*, redacted: bool) -> str:
    """Return whether a report was redacted, as a sentence."""
    return "Names, addresses, ids and paths were replaced." if redacted else "Nothing in it was redacted."


def _printable(value: Any) -> Any:
    """Return a text without control characters, which HTML does not allow."""
    return escaped(value, but="\n\t") if type(value) is str else value


def _section(section: ReportSection) -> dict[str, Any]:
    plots = ((step, svg_plot(panel)) for step, panel in section.panels)
    return {
        "title": section.title,
        "quoted": section.quoted,
        "lines": section.lines,
        "table": section.table,
        "plots": [(step, plot) for step, plot in plots if plot is not None],
        "code": section.code,
    }


def _run(record: RunRecord, samples: Mapping[str, SampleSeries]) -> dict[str, Any]:
    repetition = record.plan.repetition
    return {
        "title": first_upper(record.plan.name),
        "question": record.plan.question,
        "ending": record.ending,
        "verdict": "" if record.verdict is None else record.verdict.summary,
        "results": [
            {
                "step": one.step, "host": host_label(one.host), "metric": one.metric, "figure": one.figure,
                "detail": one.detail, "interval": one.interval, "n": one.n, "judgement": one.judgement,
            }
            for one in step_results(record)
        ],
        "plots": list(_plots(record, samples)),
        "findings": without_repetitions(listed(record)),
        "commands": "\n".join(command_lines(record)),
        "notes": list(_notes(record)),
        "hosts": [
            (line, as_text(fact_rows(facts)) if (facts := record.facts_before.get(host)) else "none")
            for line, host in zip(host_lines(record), record.plan.hosts, strict=True)
        ],
        "method": (
            f"Repetition: {repetition.policy.value}, {count_text(repetition.trials, 'trial')}, "
            f"{count_text(repetition.warm_ups, 'warm-up')}, order {record.plan.order.value}. Values are geometric "
            "means of the counted trials, intervals are Student’s t on their logarithms."
        ),
        "basis": basis_text(record),
    }  # fmt: skip


def _plots(record: RunRecord, samples: Mapping[str, SampleSeries]) -> Iterator[tuple[str, SvgPlot]]:
    number = 0
    for step in record.plan.steps if samples else ():
        shown = ReportStep([record], [step], samples, [])
        for panel in sweep_plots(shown) or panels(shown):
            plot = svg_plot(panel)
            if plot is not None and number < MOST_PLOTS:
                number += 1
                yield step.name, plot


def _notes(record: RunRecord) -> Iterator[str]:
    for step in record.plan.steps:
        for host in record.plan.hosts:
            trials = record.trials_of(step.name, host)
            for note in notes_text((each.trial.title, each.notes) for each in trials):
                yield f"{step.name} on {host_label(host)}: {note}"
