"""Results of the entries of an investigation, read from their runs as these are judged now."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Annotated, TypedDict

from app.comparison.comparison import Comparison, ComparisonJson, comparison_to_json
from app.comparison.criteria import ComparisonCriteria
from app.comparison.selection import RunSelection
from app.formats import InvestigationKeys, investigation_to_json
from app.investigation import EntryKind, Investigation, InvestigationEntry
from app.json_converter import Json
from app.margins import Margins
from app.plans.plan import host_label
from app.records import RunRecord
from app.step_results import StepResult, step_results
from suites.errors import BenchwrightError
from suites.quantities import count_text
from suites.verdict import Trust, least_trusted


@dataclass(frozen=True, slots=True)
class EntryResult:
    """An entry with its result. `deleted` are the ids of its runs that the library no longer has.

    `records` has its run, or a run or group of runs for each side of its `comparison`, without samples; empty if there
    is a `problem`, which is a sentence.
    """

    entry: InvestigationEntry
    records: tuple[RunRecord, ...] = ()
    comparison: Comparison | None = None
    deleted: tuple[str, ...] = ()
    problem: str = ""

    @property
    def title(self) -> str:
        """What it is of, as its runs are named now."""
        return " against ".join(map(record_title, (*self.records[1:], *self.records[:1]))) or self.entry.title

    @property
    def results(self) -> list[StepResult]:
        """The result of each step of its run on each host; of a comparison none."""
        return step_results(self.records[0]) if self.entry.kind is EntryKind.RUN and self.records else []

    @property
    def trust(self) -> Trust | None:
        """The least trust in its results; None if they were not judged."""
        found = least_trusted([verdict for record in self.records for verdict in record.verdicts])
        return None if found is None else found.trust

    @property
    def headline(self) -> str:
        """Its first result in a line, and how many others there are; the problem if there is none."""
        if self.comparison is not None:
            tested = [row for row in self.comparison.rows if row.tested]
            texts = [f"{row.metric.title}: {row.against[0].text}" for row in tested if row.against]
        else:
            texts = [f"{one.figure} {one.interval}".strip() for one in self.results]
        more = f"; {len(texts) - 1} more" if len(texts) > 1 else ""
        return f"{texts[0]}{more}" if texts else self.problem


def record_title(record: RunRecord) -> str:
    """Return the name of a run or group with its hosts."""
    runs = f" ({count_text(len(record.summary.ids), 'run')})" if len(record.summary.ids) > 1 else ""
    hosts = ", ".join(map(host_label, record.plan.hosts))
    return f"{record.title} on {hosts}{runs}"


def entry_result(
    selection: RunSelection, entry: InvestigationEntry, margins: Margins, known: Collection[str]
) -> EntryResult:
    """Return the result of an entry. A deleted run, or one that cannot be read, is its problem."""
    deleted = tuple(run for run in entry.runs if run not in known)
    if deleted:
        what = "Run deleted" if len(deleted) == 1 else "Runs deleted"
        return EntryResult(entry, deleted=deleted, problem=f"{what}: {', '.join(deleted)}.")
    try:
        return _READERS[entry.kind](selection, entry, margins)
    except BenchwrightError as error:
        return EntryResult(entry, problem=str(error))


def _text(_selection: RunSelection, entry: InvestigationEntry, _margins: Margins) -> EntryResult:
    return EntryResult(entry)


def _run(selection: RunSelection, entry: InvestigationEntry, _margins: Margins) -> EntryResult:
    return EntryResult(entry, (selection.record(entry.selectors[0]),))


def _comparison(selection: RunSelection, entry: InvestigationEntry, margins: Margins) -> EntryResult:
    comparison, records = selection.compared(entry.selectors, ComparisonCriteria(margins))
    return EntryResult(entry, records, comparison)


_READERS: dict[EntryKind, Callable[[RunSelection, InvestigationEntry, Margins], EntryResult]] = {
    EntryKind.TEXT: _text,
    EntryKind.RUN: _run,
    EntryKind.COMPARISON: _comparison,
}


class FigureJson(TypedDict):
    """The result of a step on a host, as texts."""

    step: str
    host: str
    metric: str
    value: str
    interval: str
    n: str
    verdict: str


class ResultJson(TypedDict):
    """The present result of an entry."""

    title: str
    trust: Trust | None
    figures: list[FigureJson]
    comparison: list[ComparisonJson] | None
    deleted: list[str]
    problem: str


class ResultKeys(TypedDict):
    """Keys of an investigation with its results, one for each entry."""

    results: list[ResultJson]


AnsweredJson = Annotated[Json, InvestigationKeys, Investigation, ResultKeys]


def answered_to_json(found: Investigation, results: Iterable[EntryResult]) -> AnsweredJson:
    """Return the public JSON of an investigation with the results of its entries."""
    return investigation_to_json(found) | {"results": [result_to_json(one) for one in results]}


def result_to_json(found: EntryResult) -> ResultJson:
    """Return the present result of an entry."""
    return {
        "title": found.title,
        "trust": found.trust,
        "figures": [
            {"step": one.step, "host": one.host, "metric": one.metric, "value": one.figure, "interval": one.interval,
             "n": one.n, "verdict": one.judgement}
            for one in found.results
        ],
        "comparison": None if found.comparison is None else comparison_to_json(found.comparison),
        "deleted": list(found.deleted),
        "problem": found.problem,
    }  # fmt: skip
