"""History of one metric of the selected run over all comparable runs, read in the background."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from app.history import History, HistoryQuery, notes_of, summary_of
from app.margins import DEFAULTS, Margins
from app.records import RunRecord
from app.summary import summaries
from suites.errors import BenchwrightError
from suites.quantities import count_text, direction_text, metric_text
from widgets.jobs import BackgroundJob
from widgets.library.history_plot import HistoryPlot, hollow
from widgets.library.run_rows import run_start
from widgets.parts.boxes import column_in, fill, in_row, scrolled
from widgets.parts.fields import PerCent
from widgets.parts.names import host_title
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, set_tool_tip, visible
from widgets.theme import SPACE

MOST_METRICS = 400
"""Limit of metrics in the list; a sweep can have thousands."""

_LOWEST = 140
"""Minimum height of the plot in pixels; the panel scrolls below it."""


class HistoryPanel(QWidget):
    """Plot of a metric over all comparable runs, read when the panel becomes visible."""

    run_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.metrics = QComboBox()
        self.metrics.setAccessibleName("Metric")
        self.margin = PerCent()
        self.margin.setKeyboardTracking(False)
        self.margin.setAccessibleName("Margin")
        set_tool_tip(self.margin, "Changes up to this are listed and drawn as within the margin")
        self.plot = HistoryPlot()
        self.notice = Notice()
        self.changes = Text()
        self.notes = Text(tone=Tone.MUTED)
        self._read: Callable[[HistoryQuery], History] | None = None
        self._run = ""
        self._queries: list[HistoryQuery] = []
        self._job: BackgroundJob | None = None
        self._record: RunRecord | None = None  # set, not shown yet
        self._margins = DEFAULTS  # those of the metrics, until one is typed
        self._arrange()
        self.metrics.currentIndexChanged.connect(self._choose)
        self.margin.valueChanged.connect(self._choose_margin)
        self.plot.run_chosen.connect(self.run_chosen)

    def show_run(self, record: RunRecord, read: Callable[[HistoryQuery], History]) -> None:
        """Set the run; `read` is called in a worker thread once the panel is visible."""
        self._record, self._read = record, read
        if self.isVisible():
            self.look()

    def look(self) -> None:
        """List the metrics of the run, keep the selected one, and read its history."""
        record, self._record = self._record, None
        if record is None:
            return
        index = self.metrics.currentIndex()
        before = self._queries[index] if 0 <= index < len(self._queries) else None
        self._run = record.summary.id
        found = summaries(record)[:MOST_METRICS]
        self._queries = [HistoryQuery((one.host,), one.metric.name, one.step, one.labels) for one in found]
        several = len(record.plan.hosts) > 1
        self.metrics.blockSignals(True)
        self.metrics.clear()
        for one in found:
            where = f" on {host_title(one.host)}" if several else ""
            self.metrics.addItem(visible(f"{metric_text(one.metric, one.labels)} · {one.step}{where}"))
        self.metrics.setCurrentIndex(self._queries.index(before) if before in self._queries else 0 if found else -1)
        self.metrics.blockSignals(False)
        self.metrics.setEnabled(bool(found))
        self._choose()

    def _choose_margin(self, percent: float) -> None:
        self._margins = Margins(every=percent / 100)
        self._choose()

    def _choose(self) -> None:
        index, read = self.metrics.currentIndex(), self._read
        if read is None or not 0 <= index < len(self._queries):
            self._job = None  # the result of an older query would replace the text
            self.notice.hide()
            self._show_text("This run has no counted trials.")
            return
        query = replace(self._queries[index], margins=self._margins)
        job = self._job = BackgroundJob(lambda: read(query), self)
        job.returned.connect(lambda history: self._show(history) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def _show(self, history: History) -> None:
        self.notice.hide()
        with QSignalBlocker(self.margin):
            self.margin.setValue(100 * history.margin)
        self.plot.show()
        self.plot.show_history(history, self._run)
        lines = [
            f"▼{number} {run_start(marked.after)}: {marked.text}" for number, marked in enumerate(history.marked, 1)
        ]
        lines += [f"Drift since {run_start(drift.first)}: {drift.text}" for drift in history.drifts]
        self.changes.setText("\n".join([summary_of(history), *lines]))
        rings = sum(map(hollow, history.points))
        doubt = [f"○ Doubtful or invalid: {count_text(rings, 'result')}."] if rings else []
        runs = f"{count_text(len(history.points), 'comparable run')}, {direction_text(history.metric.better)}"
        self.notes.setText("\n".join([runs, *doubt, *notes_of(history)]))

    def _fail(self, error: BenchwrightError) -> None:
        self.plot.hide()
        self._show_text("")
        self.notice.show_error(error)

    def _show_text(self, text: str) -> None:
        self.plot.hide()
        self.changes.setText(text)
        self.notes.setText("")

    def _arrange(self) -> None:
        head = in_row(
            Text("Over all comparable runs", wrap=False),
            (self.metrics, 1),
            Text("Margin", wrap=False),
            self.margin,
            spacing=SPACE[1],
        )
        self.plot.setMinimumHeight(_LOWEST)
        inner = QWidget()
        inner.setObjectName("page")
        fill(column_in(self), scrolled(inner))
        rows = column_in(inner, SPACE[1], (0, SPACE[1], 0, 0))
        fill(rows, head, self.notice, self.changes, (self.plot, 1), self.notes)
        rows.addStretch(0)
