"""Trials of the selected metric or the distribution of its values, selected by tabs."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QTabBar, QWidget

from app.chart import Chart
from app.comparison.comparison import ComparisonRow
from app.distributions.charts import ecdf_chart, histogram_chart, pooled_text, shift_chart, worst_text
from app.distributions.distribution import Distribution
from suites.errors import BenchwrightError
from widgets.compare.trial_dots import TrialDots
from widgets.parts.boxes import column_in, fill, scrolled
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.plots.chart_view import ChartView
from widgets.theme import SPACE

KINDS: tuple[tuple[str, Callable[[Distribution], Chart] | None, str], ...] = (
    ("Trials", None, "One dot per trial. The ratio is computed from the trials"),
    ("ECDF", ecdf_chart, "Empirical cumulative distribution: share of values at or below each value"),
    ("Shift", shift_chart, "Shift from the baseline at each percentile, with 95 % intervals"),
    ("Histogram", histogram_chart, "Number of values per bin, with the same bins for all runs"),
)


class DistributionPane(QWidget):
    """Dot plot of trials, or a chart of the distribution, which is read on demand."""

    wanted = Signal(object)  # the ComparisonRow whose distribution is to be read

    def __init__(self) -> None:
        super().__init__()
        self.dots = TrialDots()
        self.view = ChartView()
        self.kinds = QTabBar()
        self.kinds.setAccessibleName("Kind of plot")
        for index, (title, _, tip) in enumerate(KINDS):
            self.kinds.addTab(title)
            self.kinds.setTabToolTip(index, tip)
        self.kinds.setDrawBase(False)
        self.kinds.setExpanding(False)
        self.kinds.currentChanged.connect(self._show_kind)
        self._row: ComparisonRow | None = None
        self._found: Distribution | None = None
        self.note = Text("", Tone.MUTED)
        self.note.hide()
        charts = QWidget()
        fill(column_in(charts, SPACE[0]), self.note, (self.view, 1))
        stacked = QWidget()
        self._stack = QStackedLayout(stacked)
        self._stack.addWidget(scrolled(self.dots))
        self._stack.addWidget(charts)
        fill(column_in(self, SPACE[0]), self.kinds, (stacked, 1))

    def show_row(self, row: ComparisonRow) -> None:
        """Show another row; its distribution is read when a chart needs it."""
        self._row, self._found = row, None
        self.view.show_chart(None)
        self._show_kind()

    def show_distribution(self, row: ComparisonRow, found: Distribution) -> None:
        """Draw the distribution of `row`, unless another row was selected meanwhile."""
        if row is self._row:
            self._found = found
            self.note.hide()
            self._show_kind()

    def show_failure(self, row: ComparisonRow, error: BenchwrightError) -> None:
        """Show why there is no distribution."""
        if row is self._row:
            self.note.setText(f"{error.message} {error.remedy}".strip())
            self.note.show()

    def _show_kind(self) -> None:
        draw = KINDS[self.kinds.currentIndex()][1]
        self._stack.setCurrentIndex(0 if draw is None else 1)
        if draw is None or self._row is None:
            return
        if self._found is None:
            self.note.setText("Reading…")
            self.note.show()
            self.wanted.emit(self._row)
            return
        chart = draw(self._found)
        self.view.show_chart(chart)
        nothing = draw is shift_chart and not any(side.shift for side in self._found.sides)
        text = chart.note if nothing else f"{pooled_text(self._found)} {worst_text(self._found)}".strip()
        self.note.setText(text)
        self.note.setVisible(bool(text))
        set_tool_tip(self.view, chart.note)
