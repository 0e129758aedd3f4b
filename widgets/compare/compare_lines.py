"""A comparison as the lines of a table: a heading a step and host, below it each metric, below that each run. No Qt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from app.comparing.compare import Against, Row, verdict_text
from app.leading import leading
from app.summary import MetricSummary
from app.wording import metric_text, run_letter
from widgets.compare.compared import Compared
from widgets.parts.names import place_words


class Part(Enum):
    """What a line is."""

    HEADING = "heading"
    BASELINE = "baseline"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class CompareLine:
    """A heading, or what a row says of the run `number`; the baseline is number 0."""

    part: Part
    heading: str = ""
    row: Row | None = None
    number: int = 0

    @property
    def side(self) -> MetricSummary | None:
        """The run's own figure, or None."""
        return None if self.row is None else self.row.sides[self.number]

    @property
    def against(self) -> Against | None:
        """What is said against the baseline, or None where the line is the baseline or a heading."""
        return self.row.against[self.number - 1] if self.row is not None and self.number else None


def lines_of(compared: Compared, *, everything: bool) -> list[CompareLine]:
    """Return the lines of a comparison; unless `everything` is wanted, of each step only what leads."""
    lines: list[CompareLine] = []
    for (step, host), rows in _by_place(compared.comparison.rows).items():
        lines.append(CompareLine(Part.HEADING, _heading(step, host, rows)))
        first = _leading(compared, step, rows)
        ordered = sorted(rows, key=lambda row: row.metric.name not in first)
        for row in ordered if everything else [row for row in ordered if row.metric.name in first]:
            lines += _lines_of_row(row)
    return lines


def folded(compared: Compared) -> int:
    """Return how many metrics are not shown until everything is wanted."""
    rows = _by_place(compared.comparison.rows)
    return sum(
        row.metric.name not in _leading(compared, place[0], found) for place, found in rows.items() for row in found
    )


def rows_for_text(compared: Compared) -> Iterator[Sequence[str | float | None]]:
    """Yield the whole comparison for a spreadsheet, the head first: figures whole, with their units."""
    yield (
        "step", "host", "metric", "unit", "better", "run", "run id", "median", "lowest", "highest", "n",
        "ratio", "interval low", "interval high", "margin", "verdict", "reason",
    )  # fmt: skip
    comparison = compared.comparison
    for row in comparison.rows:
        for number, side in enumerate(row.sides):
            against = row.against[number - 1] if number else None
            host = row.host if side is None else side.host
            own = (side.median, side.minimum, side.maximum, side.n) if side is not None else (None, None, None, 0)
            judged: tuple[str | float | None, ...] = ("", "", "", "", "baseline", "")
            if against is not None:
                words = verdict_text(against.verdict, comparison.margin_of(against))
                margin = comparison.margin_of(against)
                judged = (against.ratio, against.low, against.high, margin, words, against.reason)
            metric = (metric_text(row.metric, row.labels), row.metric.unit.value, row.metric.better.value)
            yield (row.step, host, *metric, run_letter(number), comparison.runs[number].id, *own, *judged)


def _by_place(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.step, row.host), []).append(row)
    return found


def _leading(compared: Compared, name: str, rows: Sequence[Row]) -> frozenset[str]:
    step = compared.step(name)
    metrics = [row.metric for row in rows]
    return leading(step, metrics) if step is not None else frozenset(metric.name for metric in metrics)


def _heading(step: str, host: str, rows: Sequence[Row]) -> str:
    """Return the place of the baseline, and the hosts that stand against it where they are others."""
    hosts = dict.fromkeys(side.host for row in rows for side in row.sides if side is not None)
    others = [place_words(None, other) for other in hosts if other != host]
    return place_words(step, host) + (f", against {', '.join(others)}" if others else "")


def _lines_of_row(row: Row) -> Iterator[CompareLine]:
    yield CompareLine(Part.BASELINE, row=row)
    for number in range(1, len(row.sides)):
        yield CompareLine(Part.RUN, row=row, number=number)
