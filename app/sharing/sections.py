"""A document as an ordered list of sections, which the writers of HTML, Markdown and PDF take."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.comparison.comparison import NOTHING_COMPARED, Comparison, run_letter
from app.investigation import EntryKind, Investigation
from app.investigation_results import EntryResult
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries
from app.report_image.panels import Panel, ReportStep, panels, sweep_plots
from app.report_image.report import steps_side_by_side
from app.sharing.ticket import command_lines
from app.step_results import step_results
from app.summary import MetricSummary
from suites.quantities import first_upper, metric_text, times_text

MOST_PANELS = 4
"""Plots of an entry."""

NO_CONCLUSION, NO_QUESTION = "No conclusion yet.", "No question given."


@dataclass(frozen=True, slots=True)
class SectionTable:
    """A table; the columns whose index is in `right` are aligned to the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of a document, its content in this order. `quoted` are texts that a person wrote, with their lines."""

    title: str
    quoted: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    table: SectionTable | None = None
    panels: tuple[tuple[str, Panel], ...] = ()  # with the name of the step
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
            first_upper(record.summary.name), _moment(record.summary.started),
            ", ".join(map(host_label, record.plan.hosts)), ", ".join(step.name for step in record.plan.steps),
            str(record.summary.trials), record.summary.id,
        )
        for record in records
    ]  # fmt: skip
    commands = dict.fromkeys(line for record in records for line in command_lines(record))
    table = SectionTable(("Run", "Started", "Hosts", "Tests", "Trials", "Id"), tuple(rows), frozenset({4}))
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
        table = _compared(found.comparison) if found.comparison.rows else None
        return ReportSection(title, note, tuple(_about(found.comparison)), table, tuple(_plots(entry)))
    (record,) = found.records
    verdict = () if record.verdict is None else (record.verdict.summary,)
    return ReportSection(
        title, note, (*verdict, *filter(None, [record.ending])), _results(record), tuple(_plots(entry))
    )


def _results(record: RunRecord) -> SectionTable:
    rows = tuple(
        (
            one.step, host_label(one.host), one.metric, f"{one.figure} ({one.detail})" if one.detail else one.figure,
            one.interval or "none", one.n, one.judgement,
        )
        for one in step_results(record)
    )  # fmt: skip
    return SectionTable(
        ("Test", "Host", "Metric", "Value", "95 % interval", "n", "Verdict"), rows, frozenset({3, 4, 5})
    )


def _compared(comparison: Comparison) -> SectionTable:
    """Return the tested metrics: for each the baseline, then each side against it."""
    rows: list[tuple[str, ...]] = []
    for row in comparison.rows:
        for number, side in enumerate(row.sides if row.tested else ()):
            against = row.against[number - 1] if number else None
            ratio = "" if against is None or against.ratio is None else times_text(against.ratio)
            first = (row.step, host_label(row.host), metric_text(row.metric, row.labels))
            own = (run_letter(number), *_side(side), ratio, "" if against is None else against.text)
            rows.append((*(("", "", "") if number else first), *own))
    head = ("Test", "Host", "Metric", "Run", "Value", "95 % interval", "n", "Trust", "Ratio", "Verdict")
    return SectionTable(head, tuple(rows), frozenset({4, 5, 6, 8}))


def _side(side: MetricSummary | None) -> tuple[str, str, str, str]:
    if side is None:
        return "not measured", "", "0", ""
    return side.marked_value, side.interval_text, side.n_text, "not judged" if side.trust is None else side.trust.value


def _about(comparison: Comparison) -> Iterator[str]:
    """Yield the names of the sides, the notes, and the margin with the method."""
    for number, run in enumerate(comparison.runs):
        mark = ", baseline" if number == 0 else ""
        part = f", {run.part}" if run.part else ""
        yield f"{run_letter(number)}{mark}: {run.name}{part} ({_moment(run.started)})"
    if not comparison.rows:
        yield NOTHING_COMPARED
    yield from comparison.notes
    if comparison.rows:
        yield f"Margin {comparison.margin_text}. {first_upper(comparison.method)}."


def _plots(entry: ReportedEntry) -> list[tuple[str, Panel]]:
    records = entry.result.records
    found = []
    for steps in steps_side_by_side(records):
        shown = ReportStep(records, steps, entry.samples, [])
        name = next(step.name for step in steps if step is not None)
        found += [(name, panel) for panel in sweep_plots(shown) or panels(shown)]
    return found[:MOST_PANELS]
