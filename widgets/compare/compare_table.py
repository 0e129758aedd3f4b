"""Table of a comparison: a row for each metric and run, baseline first; and its report image."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QIcon, QPixmap, QResizeEvent
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QVBoxLayout, QWidget

from app.comparison.comparison import RelativeFigure, run_letter, run_name
from app.comparison.verdicts import ComparisonVerdict
from suites.quantities import direction_text, figure_text, first_upper, metric_text
from widgets.compare.cells import IntervalCell, MetricCell, RunCell, VerdictCell
from widgets.compare.compare_rows import Compared, CompareLine, LineKind, lines_of
from widgets.compare.messages import (
    ICONS,
    interval_text,
    numbered_run_name,
    row_ratio_text,
    verdict_head,
    verdict_line,
)
from widgets.parts.boxes import column_in, fill
from widgets.parts.names import MISSING, step_host_label
from widgets.parts.severity import doubt_icon
from widgets.parts.table import Table
from widgets.parts.table_model import CENTRE, RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, figure_font, icon, text_font

METRIC, RUN, VALUE, SPREAD, N, RATIO, INTERVAL, VERDICT = range(8)
"""Column numbers."""

_VERDICT_WANTED, _VERDICT_BASELINE = 217, 96
"""Width of the verdict column that shows most lines whole, and the least one, which the baseline's line needs."""

_NARROW_INTERVAL = 64
_FRAME = 2
"""Pixels of the table's width that its columns do not get."""

MOST_MEASURED = 50
"""Most cells of a column whose width is measured."""

MIN_VISIBLE_ROWS = 4
"""Minimum number of visible rows."""

_TONES = {
    ComparisonVerdict.BETTER: "good",
    ComparisonVerdict.WORSE: "error",
    ComparisonVerdict.NOT_COMPARABLE: "muted",
    ComparisonVerdict.UNDECIDED: "muted",
}


def compare_columns(margin: float) -> tuple[TableColumn[CompareLine], ...]:
    """Return the columns for a comparison with `margin`. The interval is text here; the table draws it."""

    def verdict(against: RelativeFigure) -> str:
        return verdict_line(against, _margin_of(against, margin))

    def why(line: CompareLine, text: str) -> str:
        """Return the verdict and its reason; for the baseline, its name and `text`."""
        if line.against is None:
            return f"{run_name(line.number)}: {text}"
        found = verdict(line.against)
        return f"{found}\n{line.against.reason}" if line.against.reason not in found else found

    def verdict_text(line: CompareLine) -> str:
        if line.against is not None:
            return verdict(line.against)
        return "" if line.row is None else direction_text(line.row.metric.better)

    return (
        *_value_columns(),
        TableColumn(
            "Ratio", _ratio, align=RIGHT, width=56, tone=_tone, bold=True,
            tip="Ratio of the geometric means of the trials to the baseline", more=lambda line: why(line, _ratio(line)),
        ),
        TableColumn(
            "95 % CI", _interval, align=CENTRE, width=122, tone=_tone,
            tip="95 % interval of the ratio (Welch's t on the logarithms of the trials). Grey: margin around 1",
            more=lambda line: why(line, _interval(line)),
        ),
        TableColumn(
            "Verdict", verdict_text, stretch=True, more=lambda line: why(line, verdict_text(line)), mark=_mark,
            tone=lambda line: "muted" if line.against is None else _TONES.get(line.against.verdict, ""),
            tip="Better or worse: the whole interval is outside the margin, also after Holm's correction",
        ),
    )  # fmt: skip


def _margin_of(against: RelativeFigure, margin: float) -> float:
    """Return the margin of a ratio, `margin` if it has none of its own."""
    return margin if against.margin is None else against.margin


class CompareTable(Table[CompareLine]):
    """Table with a row for each metric and run; emits the selected line."""

    chosen_line = Signal(object)  # a CompareLine
    _widest: Mapping[int, int] = MappingProxyType({})  # by column, in pixels of this font
    _labelled = 0  # width of the interval with labels
    _verdict = 0  # width of the widest verdict_head() with its icon
    copy_requested = Signal()

    def __init__(self) -> None:
        super().__init__(
            "Comparison", TableModel(compare_columns(0.05), heading=lambda line: line.heading, reach=INTERVAL)
        )
        self.interval_cell = IntervalCell(self)
        self.setItemDelegateForColumn(METRIC, MetricCell(self))
        self.setItemDelegateForColumn(RUN, RunCell(self))
        self.setItemDelegateForColumn(INTERVAL, self.interval_cell)
        self.setItemDelegateForColumn(VERDICT, VerdictCell(self))
        self.selectionModel().currentRowChanged.connect(self._choose)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setMinimumHeight(self.verticalHeader().defaultSectionSize() * (MIN_VISIBLE_ROWS + 1) + SPACE[1])

    def show_lines(self, lines: Sequence[CompareLine], margin: float) -> None:
        """Show `lines`; keep the metric and run of the cursor, or select the first run."""
        before = self.current()
        found = [line.against for line in lines if line.against is not None]
        self.interval_cell.show_ratios(found, margin)
        self._labelled = self.interval_cell.labelled_width
        self.show_rows(lines, compare_columns(margin))
        self.ensurePolished()  # the style sheet sets the font and the padding
        self._widest = {column: self._widest_cell(column) for column in (VALUE, SPREAD, N, RATIO)}
        self._verdict = self._widest_verdict({verdict_head(one, _margin_of(one, margin)) for one in found})
        self.fit()
        same = [row for row, line in enumerate(lines) if before is not None and _key(line) == _key(before)]
        runs = [row for row, line in enumerate(lines) if line.kind is LineKind.RUN]
        if same or runs:
            # Not a cell of METRIC: Qt would scroll to the end of its span, past the baseline.
            self.setCurrentIndex(self.content.index((same or runs)[0], RUN))
            self._show_baseline()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns, and keep the baseline in view."""
        super().resizeEvent(event)
        self._show_baseline()

    def _show_baseline(self) -> None:
        """Scroll to the baseline above the current line of the first run: Qt scrolls past it where there is no room."""
        line, index = self.current(), self.currentIndex()
        if line is not None and line.number == 1 and self.viewport().rect().intersects(self.visualRect(index)):
            self.scrollTo(self.content.index(max(0, index.row() - 2), RUN))

    def copy(self) -> None:
        """Request a copy of the whole comparison, including hidden metrics."""
        self.copy_requested.emit()

    def span_headings(self) -> None:
        """Span headings up to the axis column, and each metric over the rows of its runs."""
        super().span_headings()
        for row, line in enumerate(self.content.shown):
            if line.kind is LineKind.BASELINE and line.row is not None:
                self.setSpan(row, METRIC, len(line.row.sides), 1)

    def fit_columns(self) -> None:
        """Fit the columns to the width: the verdict and its change are never cut, the interval is never hidden."""
        super().fit_columns()
        widths, free = self._fitted_widths({SPREAD})
        self.setColumnHidden(SPREAD, free < 0)
        if free < 0:
            widths, free = self._fitted_widths(set())
        widths[INTERVAL] += max(0, free) // 4
        widths[METRIC] += max(0, free) // 3
        for number, width in widths.items():
            self.setColumnWidth(number, self._widths.get(self.content.columns[number].name, width))

    def _fitted_widths(self, optional: set[int]) -> tuple[dict[int, int], int]:
        """Return the widths of the columns but the verdict, and the pixels that are free; negative if some are lacking.

        What is cut, in this order: the prose of the verdict, `optional` columns, the ends of the interval, the metric.
        """
        columns = [(n, each.width) for n, each in enumerate(self.content.columns) if each.width]
        wanted = {n: self._widest.get(n) or max(self.title_width(n), self.scaled(width)) for n, width in columns}
        widths = {n: width for n, width in wanted.items() if n != SPREAD or n in optional}
        widths[INTERVAL] = max(widths[INTERVAL], self._labelled)
        widths[VERDICT] = max(self.scaled(_VERDICT_WANTED), self._verdict)
        least_interval = max(self.title_width(INTERVAL), self.scaled(_NARROW_INTERVAL))
        free = self.viewport().width() - sum(widths.values())
        for number, least in (
            (VERDICT, max(self.scaled(_VERDICT_BASELINE), self._verdict)),
            (INTERVAL, widths[INTERVAL] if optional else least_interval),
            (METRIC, self._least_metric(widths[METRIC])),
        ):
            cut = min(max(0, -free), max(0, widths[number] - least))
            widths[number] -= cut
            free += cut
        del widths[VERDICT]  # the rest
        return widths, free

    def _least_metric(self, wanted: int) -> int:
        """Return the width in which all metrics fit in a line, or three quarters of `wanted`, in which they wrap."""
        metrics = QFontMetrics(text_font(TextSize.BODY))
        titles = {_metric(line) for line in self.content.shown}
        whole = max(map(metrics.horizontalAdvance, titles), default=0) + SPACE[1] + SPACE[0] + 1
        return max(self.title_width(METRIC), min(wanted * 3 // 4, whole))

    def _widest_verdict(self, heads: Collection[str]) -> int:
        """Return the width of the longest verdict of `heads` with its icon."""
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        option.font = figure_font()
        option.fontMetrics = QFontMetrics(option.font)
        option.text = max(heads, key=len, default="")
        option.icon = icon(*ICONS[ComparisonVerdict.SAME])
        option.features = option.ViewItemFeature.HasDisplay | option.ViewItemFeature.HasDecoration
        return (
            self.style().sizeFromContents(QStyle.ContentsType.CT_ItemViewItem, option, QSize(), self).width() + _FRAME
        )

    def _widest_cell(self, column: int) -> int:
        """Return the width of the header or the widest cell of `column` with its mark, visible or not.

        Only the cells with the longest texts are measured: each takes some 20 us on the window's thread.
        """
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        shown, lines = self.content.columns[column], self.content.shown

        def length(row: int) -> int:
            marked = shown.mark is not None and shown.mark(lines[row]) is not None
            return len(shown.text(lines[row])) + 4 * marked  # a mark is as wide as some characters

        longest = heapq.nlargest(MOST_MEASURED, range(len(lines)), key=length)
        cells = (self.content.index(row, column) for row in longest)
        head = self.horizontalHeader().sectionSizeHint(column)
        return 1 + max([head, *(self.itemDelegate().sizeHint(option, cell).width() for cell in cells)])

    def _choose(self) -> None:
        line = self.current()
        if line is not None:
            self.chosen_line.emit(line)


def _value_columns() -> tuple[TableColumn[CompareLine], ...]:
    return (
        TableColumn(
            "Metric", lambda line: _metric(line) if line.kind is LineKind.BASELINE else "", more=_metric_tip,
            width=104,
        ),
        TableColumn(
            "Run", lambda line: run_letter(line.number), tip="A is the baseline", width=40, tone=_tone,
            more=lambda line: f"{run_name(line.number)}: {run_letter(line.number)}",
        ),
        TableColumn(
            "Value", _value, align=RIGHT, width=92, more=_value_tip, tone=_tone, mark=_trust_mark,
            tip="Geometric mean of the counted trials; of several sessions or hosts, each with equal weight",
        ),
        TableColumn(
            "±", _spread, align=RIGHT, width=66, tone="muted",
            tip="95 % interval of the value",
            more=lambda line: f"{run_name(line.number)}: {_spread(line)}",
        ),
        TableColumn(
            "n", _count, align=RIGHT, width=38, tone="muted", tip="Counted trials, sessions or hosts of the interval",
            more=lambda line: f"{run_name(line.number)}: {'0' if line.side is None else line.side.units_text}",
        ),
    )  # fmt: skip


def _key(line: CompareLine) -> object:
    row = line.row
    return None if row is None else (row.step, row.host, row.metric.name, row.labels, line.number)


def _metric(line: CompareLine) -> str:
    if line.row is None:
        return ""
    title = metric_text(line.row.metric, line.row.labels)
    return f"{title}, {step_host_label(line.row.step, line.row.host)}" if line.named else title


def _metric_tip(line: CompareLine) -> str:
    return "" if line.row is None else f"{_metric(line)}\n{direction_text(line.row.metric.better)}"


def _value(line: CompareLine) -> str:
    return MISSING if line.side is None else line.side.value_text


def _value_tip(line: CompareLine) -> str:
    verdict = None if line.side is None else line.side.verdict
    lines = (
        f"{run_name(line.number)}: {_value(line)}",
        "" if line.side is None else first_upper(line.side.mean_text),
        "" if line.side is None else f"Median: {figure_text(line.side.metric, line.side.median)}",
        f"Verdict: {verdict.text}" if verdict is not None else "",
    )
    return "\n".join(filter(None, lines))


def _trust_mark(line: CompareLine) -> QIcon | None:
    """Return the icon of a value that is not valid."""
    return None if line.side is None else doubt_icon(line.side.trust)


def _spread(line: CompareLine) -> str:
    return (line.side and line.side.interval_text) or MISSING


def _count(line: CompareLine) -> str:
    """Return the n of the interval: ``8``, ``2 hosts``."""
    return "0" if line.side is None else line.side.n_text.partition(" (")[0]


def _ratio(line: CompareLine) -> str:
    return "" if line.against is None else row_ratio_text(line.against)


def _interval(line: CompareLine) -> str:
    return "" if line.against is None else interval_text(line.against)


def _mark(line: CompareLine) -> QIcon | None:
    return None if line.against is None else icon(*ICONS[line.against.verdict])


def _tone(line: CompareLine) -> str:
    """Return the tone of a cell: muted if not comparable."""
    return "muted" if line.against is not None and line.against.verdict is ComparisonVerdict.NOT_COMPARABLE else ""


WIDTH = 1200
"""Width of the picture in pixels; no column is hidden."""

DENSITY = 2
"""Device pixel ratio of the picture."""


def table_picture(compared: Compared, *, everything: bool) -> QPixmap:
    """Return the table as a picture; with `everything`, of all metrics."""
    comparison = compared.comparison
    sheet = QWidget()
    rows = column_in(sheet, SPACE[0], (SPACE[3], SPACE[3], SPACE[3], SPACE[3]))
    for number, run in enumerate(comparison.runs):
        rows.addWidget(Text(numbered_run_name(number, run)))
    table = CompareTable()
    table.show_lines(lines_of(compared, everything=everything), comparison.margin)
    table.clearSelection()
    table.setFixedSize(WIDTH - 2 * SPACE[3], table.whole_height())
    fill(rows, SPACE[0], table)
    for line in (*_reasons(compared), *comparison.notes):
        rows.addWidget(Text(line, Tone.MUTED))
    rows.addWidget(Text(f"Margin {comparison.margin_text}; {comparison.method}.", Tone.MUTED))
    return rendered(sheet, rows)


def rendered(sheet: QWidget, rows: QVBoxLayout) -> QPixmap:
    """Render `sheet` at WIDTH and the height of its layout `rows`, and delete it."""
    sheet.setFixedSize(WIDTH, rows.heightForWidth(WIDTH))
    picture = QPixmap(sheet.size() * DENSITY)
    picture.setDevicePixelRatio(DENSITY)
    sheet.render(picture)
    sheet.deleteLater()
    return picture


def _reasons(compared: Compared) -> list[str]:
    """Return the reasons for missing verdicts, each once: the table cuts them off."""
    found = [
        f"{run_letter(number)}: {against.text}"
        for row in compared.comparison.rows
        for number, against in enumerate(row.against, 1)
        if against.verdict in {ComparisonVerdict.UNDECIDED, ComparisonVerdict.NOT_COMPARABLE}
    ]
    return list(dict.fromkeys(found))
