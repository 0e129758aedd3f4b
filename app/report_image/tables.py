"""The tables of a report: layout, matrices of two labels, and the metrics of a step."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.centres import CONFIDENCE
from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure, run_letter
from app.comparison.verdicts import ComparisonVerdict, verdict_text
from app.plans.plan import host_label
from app.records import Band, RunRecord
from app.report_image.panels import ReportStep
from app.report_image.sections import VERDICT_MARKS
from app.report_image.sheet import (
    BODY,
    CONTENT,
    ERROR,
    FAINT,
    GOOD,
    GUTTER,
    LINE,
    MARGIN,
    QUIET,
    SMALL,
    STRONG,
    Sheet,
    Style,
    width,
    wrap,
)
from app.scaling.sweeps import number_of
from app.step_results import StepResult, step_results
from app.summary import MetricSummary, summaries
from suites.quantities import (
    direction_text,
    edges_text,
    ends_text,
    metric_text,
    ratio_text,
    scale,
    share_text,
    times_text,
)
from suites.vocab import Labels, Metric

GAP = 16
PADDING = 3


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """A column of `least` to `widest` pixels, right-aligned for figures; longer text is wrapped."""

    head: str
    right: bool = False
    least: float = 0
    widest: float = 260


@dataclass(frozen=True, slots=True)
class TableCell:
    """Text in a style, with a coloured square before it if it belongs to a series."""

    text: str
    style: Style = BODY
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table; `opens` draws a rule above it, for a new group."""

    cells: tuple[TableCell, ...]
    opens: bool = True


DENSE = replace(SMALL, colour=BODY.colour)
DENSE_STRONG = replace(DENSE, bold=True)

MARK = 18
"""Width of a coloured square in pixels."""


def draw_table(sheet: Sheet, columns: Sequence[ImageColumn], rows: Sequence[TableRow], *, folded: bool = False) -> None:
    """Draw the table at the sheet's `y` and advance it. Empty columns are omitted.

    A `folded` one continues in a second block beside the first, if there is room for both.
    """
    used = [index for index in range(len(columns)) if any(row.cells[index].text for row in rows)]
    columns = [columns[index] for index in used]
    rows = [TableRow(tuple(row.cells[index] for index in used), row.opens) for row in rows]
    widths = _widths(columns, rows)
    beside = (CONTENT - GUTTER) / 2
    folded = folded and len(rows) > 1 and sum(widths) + GAP * (len(widths) - 1) <= beside
    half = -(-len(rows) // 2)
    if not folded or not rows[half].opens:
        _draw_block(sheet, columns, rows, widths, (MARGIN, CONTENT))
        return
    top = sheet.y
    _draw_block(sheet, columns, rows[:half], widths, (MARGIN, beside))
    end, sheet.y = sheet.y, top
    _draw_block(sheet, columns, rows[half:], widths, (MARGIN + beside + GUTTER, beside))
    sheet.y = max(end, sheet.y)


def _draw_block(
    sheet: Sheet,
    columns: Sequence[ImageColumn],
    rows: Sequence[TableRow],
    widths: Sequence[float],
    frame: tuple[float, float],
) -> None:
    """Draw a table in `frame` (left, width)."""
    start, available = frame
    lefts = [start + sum(widths[:index]) + GAP * index for index in range(len(columns))]
    heads = [wrap(column.head, SMALL, wide) for column, wide in zip(columns, widths, strict=True)]
    foot = sheet.y + max(map(len, heads)) * SMALL.leading
    for head, column, left, wide in zip(heads, columns, lefts, widths, strict=True):
        _draw_lines(sheet, head, SMALL, column, (left, foot - len(head) * SMALL.leading, wide))
    sheet.y = foot + 3
    sheet.rule((start, sheet.y), (start + available, sheet.y), colour=LINE)
    for number, row in enumerate(rows):
        if number and row.opens:
            sheet.rule((start, sheet.y), (start + available, sheet.y), colour=FAINT)
        bottom = sheet.y
        for cell, column, left, wide in zip(row.cells, columns, lefts, widths, strict=True):
            bottom = max(bottom, _draw_cell(sheet, cell, column, left, wide))
        sheet.y = bottom + PADDING


def _draw_cell(sheet: Sheet, cell: TableCell, column: ImageColumn, left: float, wide: float) -> float:
    top = sheet.y + PADDING
    if cell.mark is not None:
        sheet.box(left, top + cell.style.leading / 2 - 5, 10, 10, cell.mark)
        left, wide = left + MARK, wide - MARK
    lines = wrap(cell.text, cell.style, wide)
    return _draw_lines(sheet, lines, cell.style, column, (left, top, wide))


def _draw_lines(
    sheet: Sheet, lines: Sequence[str], style: Style, column: ImageColumn, frame: tuple[float, float, float]
) -> float:
    """Write `lines` in `frame` (left, top, width) with the column's alignment; return their lower edge."""
    left, top, wide = frame
    for number, line in enumerate(lines):
        x = left + wide if column.right else left
        sheet.text(x, top + number * style.leading, line, style, "right" if column.right else "left")
    return top + len(lines) * style.leading


def _widths(columns: Sequence[ImageColumn], rows: Sequence[TableRow]) -> list[float]:
    """Return the width of every column; if the total is too wide, shrink the widest.

    Spare room goes to columns with wrapped text, from the left.
    """
    widths, wanted = [], []
    for index, column in enumerate(columns):
        cells = [row.cells[index] for row in rows]
        natural = [width(cell.text, cell.style) + (MARK if cell.mark else 0) for cell in cells]
        wanted.append(max([column.least, *natural, width(column.head, SMALL)]) + 1)
        widths.append(min(column.widest + 1, wanted[-1]))
    available = CONTENT - GAP * (len(columns) - 1)
    while sum(widths) > available:
        widest = widths.index(max(widths))
        widths[widest] -= min(10, sum(widths) - available)
    for index, whole in enumerate(wanted):
        widths[index] += max(0.0, min(whole - widths[index], available - sum(widths)))
    return widths


FEWEST_CELLS = 12
"""Fewest figures for a matrix; a list is as readable with fewer."""

MOST_ACROSS = 12
"""Most columns of a matrix that fit the page."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A metric by two labels, `down` for rows and `across` for columns, without empty fields."""

    metric: Metric
    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    fields: Mapping[tuple[str, str], MetricSummary]

    def covers(self, summary: MetricSummary) -> bool:
        """Whether the matrix shows all of `summary`: its metric, over a single trial."""
        return summary.metric == self.metric and summary.n == 1


def matrices(shown: ReportStep) -> list[Matrix]:
    """Return the matrices of a single run on one host, in the order of its figures."""
    if len(shown.records) > 1 or len(shown.records[0].summary.hosts) > 1:
        return []
    found: dict[Metric, list[MetricSummary]] = {}
    for summary in summaries(shown.records[0]):
        if summary.step in shown.names:
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
    """Draw the matrix below a line with metric and unit."""
    shown = scale(matrix.metric, statistics.median(summary.value for summary in matrix.fields.values()))
    unit = f" ({shown.suffix.strip()})" if shown.suffix.strip() else ""
    title = f"{matrix.metric.title}{unit}, {direction_text(matrix.metric.better)}, by {matrix.down} and {matrix.across}"
    sheet.paragraph(title, QUIET)
    head = (
        ImageColumn(f"{matrix.down} ", least=60),
        *(ImageColumn(text, right=True, least=60) for text in matrix.columns),
    )
    draw_table(sheet, head, list(_lines(matrix, shown.divisor)))
    sheet.y += 10


def _lines(matrix: Matrix, divisor: float) -> Iterator[TableRow]:
    for row in matrix.rows:
        values = [matrix.fields[row, column].value / divisor for column in matrix.columns]
        yield TableRow((TableCell(row, QUIET), *(TableCell(_figure(value), STRONG) for value in values)))


def _figure(value: float) -> str:
    """Return a value with three significant digits, more only before the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:#.3g}"


INTERVAL = f"{share_text(CONFIDENCE)} interval"

COMPARED = (
    ImageColumn("Metric", widest=340),
    ImageColumn("Run", widest=180),
    ImageColumn("Value", right=True),
    ImageColumn(INTERVAL, right=True),
    ImageColumn("n", right=True),
    ImageColumn("Ratio to A", right=True),
    ImageColumn(f"{INTERVAL} of the ratio", right=True, widest=110),
    ImageColumn("Verdict", widest=250),
)


RESULTS = (
    ImageColumn("Step", widest=240),
    ImageColumn("Host", widest=180),
    ImageColumn("Metric", widest=240),
    ImageColumn("Result", right=True),
    ImageColumn(INTERVAL, right=True),
    ImageColumn("n", right=True),
    ImageColumn("Tail", widest=120),
    ImageColumn("Verdict", widest=460),
)


def result_rows(record: RunRecord) -> list[TableRow]:
    """Return the result of each step of a run on each host."""
    several = len(record.plan.hosts) > 1
    found = []
    for one in step_results(record):
        mark, colour = ("", BODY.colour) if one.trust is None else VERDICT_MARKS[one.trust]
        cells = (
            TableCell(one.step, STRONG),
            TableCell(host_label(one.host) if several else "", QUIET),
            TableCell(one.metric, QUIET),
            TableCell(one.figure, STRONG),
            TableCell(one.interval, QUIET),
            TableCell(one.n),
            TableCell(one.detail),
            TableCell(
                f"{mark} {one.judgement}".strip(),
                Style(BODY.size, BODY.leading, colour if _reduced(one) else BODY.colour),
            ),
        )
        found.append(TableRow(cells))
    return found


def _reduced(one: StepResult) -> bool:
    return one.trust is not None and one.trust.in_doubt


def single_run_columns(shown: ReportStep) -> tuple[ImageColumn, ...]:
    """Return the columns of a single run.

    The header has what is common to all rows: trials, the mark of the values, the name of the baseline.
    """
    own, names = _summaries(shown), _baselines(shown)
    common = [next(iter(found)) for found in (_units(own), {one.doubt for one in own}) if len(found) == 1]
    return (
        ImageColumn(", ".join(["Metric", *filter(None, common)]), widest=330),
        ImageColumn("Host", widest=180),
        ImageColumn("Value", right=True),
        ImageColumn(INTERVAL, right=True),
        ImageColumn("n", right=True),
        ImageColumn(f"Against “{names[0]}”" if len(names) == 1 else "Against the baseline", widest=240),
    )


def _summaries(shown: ReportStep) -> list[MetricSummary]:
    return [one for record in shown.records for one in summaries(record) if one.step in shown.names]


def _units(own: Sequence[MetricSummary]) -> set[str]:
    return {one.units_text for one in own}


def _baselines(shown: ReportStep) -> list[str]:
    found = (band_of(summary, shown.bands) for summary in summaries(shown.records[0]) if summary.step in shown.names)
    return list(dict.fromkeys(band.name for band in found if band is not None))


def single_run_rows(shown: ReportStep, made: Sequence[Matrix] = ()) -> list[TableRow]:
    """Return the rows of a single run: every metric over its trials, with the ratio to a pinned baseline.

    Metrics of the matrices `made` are omitted unless they have a baseline.
    """
    own = _summaries(shown)
    found = [one for one in own if band_of(one, shown.bands) or not any(matrix.covers(one) for matrix in made)]
    several = len({summary.host for summary in found}) > 1
    lines, marks = [], len({one.doubt for one in own})
    before: tuple[Metric, Labels] | None = None
    for summary in sorted(found, key=lambda summary: _rank(found, summary)) if several else found:
        opens = (summary.metric, summary.labels) != before
        before = (summary.metric, summary.labels)
        cells = (
            TableCell(_title(summary.metric, summary.labels) if opens else "", DENSE),
            TableCell(host_label(summary.host) if several else "", SMALL),
            TableCell(summary.value_text if marks == 1 else summary.marked_value, DENSE_STRONG),
            TableCell(summary.interval_text, SMALL),
            TableCell(summary.n_text if len(_units(own)) > 1 else "", SMALL),
            TableCell(_against_band(summary, shown.bands, named=len(_baselines(shown)) > 1), DENSE),
        )
        lines.append(TableRow(cells, opens))
    return lines


def _title(metric: Metric, labels: Labels) -> str:
    """Return a metric with an arrow for the better direction."""
    return f"{metric_text(metric, labels)} {direction_text(metric.better)[0]}"


def _rank(found: Sequence[MetricSummary], summary: MetricSummary) -> int:
    """Return the first position of the metric of `summary`, which groups its hosts."""
    same = (each for each in found if (each.metric, each.labels) == (summary.metric, summary.labels))
    return found.index(next(same))


def _against_band(summary: MetricSummary, bands: Sequence[Band], *, named: bool) -> str:
    band = band_of(summary, bands)
    if band is None or not band.figure:
        return ""
    ratio = summary.value / band.figure
    # A published figure has no variance: no better or worse.
    text = times_text(ratio) if band.reference else ratio_text(ratio, summary.metric.better)
    return f"{text} (“{band.name}”)" if named else text


def band_of(summary: MetricSummary, bands: Sequence[Band]) -> Band | None:
    """Return the newest pinned baseline's band for a figure."""
    wanted = (summary.metric.name, summary.labels, summary.metric.unit.value)
    return next(
        (
            band
            for band in bands
            if (band.metric, band.labels, band.unit) == wanted
            and band.step in {"", summary.step}
            and band.host in {"", summary.host}
        ),
        None,
    )


def rows_compared(comparison: Comparison) -> list[TableRow]:
    """Return the rows of the tested metrics: for each the baseline, then each run against it, below those of its step.

    A reason common to several metrics of a run is shown once.
    """
    found: list[TableRow] = []
    tested = [row for row in comparison.rows if row.tested]
    steps = dict.fromkeys(row.step for row in tested)
    for step in steps:
        shown: set[tuple[int, str]] = set()
        rows = [row for row in tested if row.step == step]
        several = len({(row.metric, row.labels) for row in rows}) < len(rows)
        if len(steps) > 1:
            found.append(TableRow((TableCell(step, STRONG), *[TableCell("")] * (len(COMPARED) - 1))))
        found += [line for row in rows for line in _compared(row, comparison, shown, several=several)]
    return found


def _compared(
    row: ComparisonRow, comparison: Comparison, shown: set[tuple[int, str]], *, several: bool
) -> Iterator[TableRow]:
    """Yield the lines of a row, with the hosts where sides, or `several` rows of a metric, differ in them."""
    hosts = several or len({side.host for side in row.sides if side is not None}) > 1
    for number, side in enumerate(row.sides):
        against = row.against[number - 1] if number else None
        reason = "" if against is None or (number, against.ground) in shown else against.ground
        shown.add((number, reason))
        where = f", {host_label(side.host)}" if hosts and side is not None else ""
        yield TableRow(
            (
                TableCell("" if number else _title(row.metric, row.labels)),
                TableCell(run_letter(number) + where, QUIET),
                *_side(side),
                *_verdict_cells(against, comparison.margin_in(row), reason),
            ),
            opens=number == 0,
        )


def _side(side: MetricSummary | None) -> Iterator[TableCell]:
    if side is None:
        yield TableCell("not measured", QUIET)
        yield from (TableCell(""), TableCell("0"))
        return
    yield TableCell(side.marked_value, STRONG)
    yield from (TableCell(side.interval_text, QUIET), TableCell(side.n_text))


def _verdict_cells(against: RelativeFigure | None, margin: float, reason: str) -> Iterator[TableCell]:
    if against is None:
        yield from (TableCell(""), TableCell(""), TableCell(""))
        return
    yield TableCell("" if against.ratio is None else times_text(against.ratio), STRONG)
    known = against.low is not None and against.high is not None
    yield TableCell(ends_text(*edges_text(against.low or 1.0, against.high or 1.0, 3)) if known else "", QUIET)
    text = verdict_text(against.verdict, margin)
    if reason and against.verdict in {ComparisonVerdict.UNDECIDED, ComparisonVerdict.NOT_COMPARABLE}:
        text += f": {reason}"
    yield TableCell(text, toned(against.verdict))


def toned(verdict: ComparisonVerdict) -> Style:
    """Return the body style in the colour of a verdict, which the text repeats."""
    colour = {ComparisonVerdict.BETTER: GOOD, ComparisonVerdict.WORSE: ERROR}.get(verdict, BODY.colour)
    return Style(BODY.size, BODY.leading, colour)
