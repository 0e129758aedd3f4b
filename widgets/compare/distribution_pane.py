"""The trials of the chosen metric, or how its values are distributed: one plot, and a bar that turns between them."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QTabBar, QVBoxLayout, QWidget

from app.chart import Chart
from app.comparing.compare import Row
from app.distributions import Distribution
from app.distributions.charts import ecdf_chart, histogram_chart, shift_chart
from app.distributions.words import worst_text
from suites.errors import BenchwrightError
from widgets.charts.chart_view import ChartView
from widgets.compare.trial_dots import TrialDots
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE

KINDS: tuple[tuple[str, Callable[[Distribution], Chart] | None, str], ...] = (
    ("Trials", None, "One dot is one trial: what the ratio rests on"),
    ("ECDF", ecdf_chart, "The share of values at or below each figure"),
    ("Shift", shift_chart, "How far each run lies from the baseline at each percentile, with 95 % intervals"),
    ("Histogram", histogram_chart, "How often each figure came, in the same bins for all"),
)


class DistributionPane(QWidget):
    """Shows the dots of trials; another kind of plot is asked for, and drawn when its distribution arrives."""

    wanted = Signal(object)  # the Row whose distribution is to be read

    def __init__(self) -> None:
        super().__init__()
        self.dots = TrialDots()
        self.view = ChartView()
        self.kinds = QTabBar()
        self.kinds.setAccessibleName("Kind of plot")
        for place, (title, _, what) in enumerate(KINDS):
            self.kinds.addTab(title)
            self.kinds.setTabToolTip(place, what)
        self.kinds.setDrawBase(False)
        self.kinds.setExpanding(False)
        self.kinds.currentChanged.connect(self._turn)
        self._row: Row | None = None
        self._found: Distribution | None = None
        self.words = Text("", Tone.MUTED)
        self.words.hide()
        charts = QWidget()
        column = QVBoxLayout(charts)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[0])
        column.addWidget(self.words)
        column.addWidget(self.view, 1)
        stacked = QWidget()
        self._stack = QStackedLayout(stacked)
        self._stack.addWidget(self.dots)
        self._stack.addWidget(charts)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[0])
        rows.addWidget(self.kinds)
        rows.addWidget(stacked, 1)

    def show_row(self, row: Row) -> None:
        """Another metric is looked at: its distribution is read when it is wanted."""
        self._row, self._found = row, None
        self.view.show_chart(None)
        self._turn()

    def show_distribution(self, row: Row, found: Distribution) -> None:
        """Draw what was read of `row`, unless another is looked at meanwhile."""
        if row is self._row:
            self._found = found
            self.words.hide()
            self._turn()

    def show_failure(self, row: Row, error: BenchwrightError) -> None:
        """Say why there is no distribution."""
        if row is self._row:
            self.words.setText(f"{error.message} {error.remedy}".strip())
            self.words.show()

    def _turn(self) -> None:
        draw = KINDS[self.kinds.currentIndex()][1]
        self._stack.setCurrentIndex(0 if draw is None else 1)
        if draw is None or self._row is None:
            return
        if self._found is None:
            self.words.setText("Reading…")
            self.words.show()
            self.wanted.emit(self._row)
            return
        chart = draw(self._found)
        self.view.show_chart(chart)
        nothing = draw is shift_chart and not any(side.shift for side in self._found.sides)
        words = chart.note if nothing else worst_text(self._found)
        self.words.setText(words)
        self.words.setVisible(bool(words))
        set_tool_tip(self.view, chart.note)
