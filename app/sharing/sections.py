"""A document as an ordered list of sections, which the writers of HTML, Markdown and PDF take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.chart import Chart
from app.investigation import EntryKind, Investigation
from app.investigation_results import EntryResult
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries
from app.report_image.panels import Panel, ReportStep, panels, sweep_plots
from app.report_image.report import steps_of_sides
from app.sharing.compared_runs import RIGHT, ComparedRuns
from app.sharing.run_content import RESULT_HEAD, RESULT_RIGHT, command_lines, result_cells
from app.step_results import step_results
from suites.quantities import first_upper

MOST_PANELS = 4
"""Plots of an entry."""

NO_CONCLUSION, NO_QUESTION = "No conclusion yet.", "No question given."


@dataclass(frozen=True, slots=True)
class SectionTable:
    """A table; the columns whose index is in `right` are aligned to the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of a document, its content in this order. `quoted` are texts that a person wrote, with their lines."""

    title: str
    quoted: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    table: SectionTable | None = None
    notes: tuple[str, ...] = ()
    panels: tuple[tuple[str, Panel], ...] = ()  # with the name of the step
    charts: tuple[Chart, ...] = ()
    code: str = ""


@dataclass(frozen=True, slots=True)
class ReportedEntry:
    """An entry with its result, and the samples of its records by run id."""

    result: EntryResult
    samples: Mapping[str, SampleSeries]


def investigation_sections(found: Investigation, entries: Sequence[ReportedEntry]) -> list[ReportSection]:
    """Return question, what was done, the entries in order, and the conclusion. Every figure is from a run."""
    records = list({record.summary.id: record for entry in entries for record in entry.result.records}.values())
    return [
        ReportSection("Question", (found.question or NO_QUESTION,)),
        *([_done(records)] if records else []),
        *(_entry(number, entry) for number, entry in enumerate(entries, 1)),
        ReportSection("Conclusion", (found.conclusion or NO_CONCLUSION,)),
    ]


def _done(records: Sequence[RunRecord]) -> ReportSection:
    """Return what was run, when and where, with the distinct commands."""
    rows = [
        (
            record.title, record.summary.start_text(_moment(record.summary.started)),
            ", ".join(map(host_label, record.plan.hosts)), ", ".join(step.name for step in record.plan.steps),
            str(record.summary.trials), record.summary.id,
        )
        for record in records
    ]  # fmt: skip
    commands = dict.fromkeys(line for record in records for line in command_lines(record))
    table = SectionTable(("Run", "Started", "Hosts", "Tests", "Trials", "Id"), tuple(rows), (4,))
    return ReportSection("What was done", table=table, code="\n".join(commands))


def _moment(started: str) -> str:
    return f"{started[:16].replace('T', ' ')} UTC" if "T" in started else started


def _entry(number: int, entry: ReportedEntry) -> ReportSection:
    found = entry.result
    note = (found.entry.note,) if found.entry.note else ()
    if found.entry.kind is EntryKind.TEXT:
        return ReportSection(f"{number}. Note", note)
    title = f"{number}. {found.title or first_upper(found.entry.kind.value)}"
    if found.problem:
        return ReportSection(title, note, (found.problem,))
    if found.comparison is not None:
        compared = ComparedRuns(found.comparison, found.records, entry.samples)
        notes = (*compared.notes, *([compared.method] if compared.rows else []))
        return ReportSection(title, note, tuple(compared.sides), _compared(compared), notes, tuple(_plots(entry)))
    (record,) = found.records
    verdict = () if record.verdict is None else (record.verdict.summary,)
    return ReportSection(
        title, note, (*verdict, *filter(None, [record.ending])), _results(record), panels=tuple(_plots(entry))
    )


def _results(record: RunRecord) -> SectionTable:
    return SectionTable(RESULT_HEAD, tuple(map(result_cells, step_results(record))), RESULT_RIGHT)


def _compared(compared: ComparedRuns) -> SectionTable | None:
    return SectionTable(tuple(compared.head), tuple(map(tuple, compared.rows)), RIGHT) if compared.rows else None


def _plots(entry: ReportedEntry) -> list[tuple[str, Panel]]:
    records = entry.result.records
    found = []
    for steps in steps_of_sides(records):
        shown = ReportStep(records, steps, entry.samples, [])
        name = next(step.name for step in steps if step is not None)
        found += [(name, panel) for panel in sweep_plots(shown) or panels(shown)]
    return found[:MOST_PANELS]
