"""Figures that two labels tell apart as a table of both: IOPS by block size and share of reads."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.picture.curves import Shown
from app.picture.look import QUIET, STRONG
from app.picture.sheet import Sheet
from app.picture.table import Cell, Column, Line, draw_table
from app.scaling.sweeps import number_of
from app.summary import MetricSummary, summaries
from app.wording import direction_text, scale
from suites.vocab import Metric

FEWEST_CELLS = 12
"""Figures below which a list is as easily read."""

MOST_ACROSS = 12
"""Columns that the page has room for."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A metric by two labels: `down` is named at the left, `across` at the head. Every field has its figure."""

    metric: Metric
    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    fields: Mapping[tuple[str, str], MetricSummary]

    def covers(self, summary: MetricSummary) -> bool:
        """Whether the table says all that is known of `summary`: one trial has no spread."""
        return summary.metric == self.metric and summary.n == 1


def matrices(shown: Shown) -> list[Matrix]:
    """Return the tables of both labels of a run alone on one host, in the order of its figures."""
    if len(shown.records) > 1 or len(shown.records[0].summary.hosts) > 1:
        return []
    names = {step.name for step in shown.steps if step is not None}
    found: dict[Metric, list[MetricSummary]] = {}
    for summary in summaries(shown.records[0]):
        if summary.step in names:
            found.setdefault(summary.metric, []).append(summary)
    return [made for metric, figures in found.items() if (made := _matrix(metric, figures)) is not None]


def _matrix(metric: Metric, figures: Sequence[MetricSummary]) -> Matrix | None:
    names = {tuple(name for name, _ in figure.labels) for figure in figures}
    if len(figures) < FEWEST_CELLS or len(names) != 1 or len(next(iter(names))) != 2:
        return None
    first, second = next(iter(names))
    of: dict[str, list[str]] = {
        name: list(dict.fromkeys(dict(figure.labels)[name] for figure in figures)) for name in (first, second)
    }
    across, down = (first, second) if len(of[first]) >= len(of[second]) else (second, first)
    if any(number_of(text) is None for text in of[across]) or len(of[across]) > MOST_ACROSS or len(of[down]) < 2:
        return None
    fields = {(dict(figure.labels)[down], dict(figure.labels)[across]): figure for figure in figures}
    if len(fields) != len(of[across]) * len(of[down]):
        return None
    columns = sorted(of[across], key=lambda text: number_of(text) or 0.0)
    return Matrix(metric, down, across, tuple(of[down]), tuple(columns), fields)


def draw_matrix(sheet: Sheet, matrix: Matrix) -> None:
    """Draw the table below a line that names what stands in it, with its unit once."""
    shown = scale(matrix.metric, statistics.median(summary.median for summary in matrix.fields.values()))
    unit = f" ({shown.suffix.strip()})" if shown.suffix.strip() else ""
    words = f"{matrix.metric.title}{unit}, {direction_text(matrix.metric.better)}, by {matrix.down} and {matrix.across}"
    sheet.paragraph(words, QUIET)
    head = (Column(f"{matrix.down} ", least=60), *(Column(text, right=True, least=60) for text in matrix.columns))
    draw_table(sheet, head, list(_lines(matrix, shown.divisor)))
    sheet.y += 10


def _lines(matrix: Matrix, divisor: float) -> Iterator[Line]:
    for row in matrix.rows:
        medians = [matrix.fields[row, column].median / divisor for column in matrix.columns]
        yield Line((Cell(row, QUIET), *(Cell(_figure(value), STRONG) for value in medians)))


def _figure(value: float) -> str:
    """Return three digits of a figure, all of them where it has more before its point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:#.3g}"
