"""What a report has of a comparison, as texts: its sides, the table of the tested metrics, caveats, method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.comparison.comparison import NOTHING_COMPARED, Comparison, run_name
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries
from app.report_image.tables import COMPARED, rows_compared
from suites.quantities import count_text, first_upper

RIGHT = tuple(number for number, column in enumerate(COMPARED) if column.right)
"""Columns of a comparison that are aligned to the right."""


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """A comparison with the runs, or groups of runs as one, of its sides, and their samples by the id of each."""

    comparison: Comparison
    records: Sequence[RunRecord]
    samples: Mapping[str, SampleSeries]

    @property
    def title(self) -> str:
        """The number of sides."""
        return f"Comparison of {count_text(len(self.records), 'run')}"

    @property
    def sides(self) -> list[str]:
        """Each side by its letter: plan, hosts, time and id."""
        return [
            f"{run_name(number)}: {record.plan.name} on {', '.join(map(host_label, record.plan.hosts))}, "
            f"{record.summary.utc_text} UTC, run {record.summary.id}"
            for number, record in enumerate(self.records)
        ]

    @property
    def head(self) -> list[str]:
        """The heads of the table's columns."""
        return [column.head for column in COMPARED]

    @property
    def rows(self) -> list[list[str]]:
        """The tested metrics: the baseline, then each side against it, with intervals and verdicts."""
        return [[cell.text for cell in row.cells] for row in rows_compared(self.comparison)]

    @property
    def notes(self) -> list[str]:
        """Differences and caveats, and how many metrics have no verdict."""
        hidden = sum(not row.tested for row in self.comparison.rows)
        untested = [f"Not tested: {count_text(hidden, 'more metric')}."] if hidden else []
        return [*([] if self.comparison.rows else [NOTHING_COMPARED]), *self.comparison.notes, *untested]

    @property
    def method(self) -> str:
        """Margin and method."""
        return f"Margin {self.comparison.margin_text}. {first_upper(self.comparison.method)}."
