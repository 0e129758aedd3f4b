"""The history of one metric of the selected run: chosen from a list, read off the window's thread, drawn, explained."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.history.history import History, Wanted
from app.history.history_text import notes_of
from app.records import RunRecord
from app.summary import summaries
from app.wording import direction_text, metric_text
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.library.history_plot import HistoryPlot
from widgets.library.run_lines import local_time
from widgets.parts.names import host_title
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, visible
from widgets.theme import SPACE

MOST_METRICS = 400
"""Metrics that the list offers; a sweep may have more than anybody scrolls through."""

_LOWEST = 140
"""Pixels below which the plot is not pressed; the place scrolls then."""


class HistoryPanel(QWidget):
    """Shows how a metric went over all comparable runs. Nothing is read before somebody looks at it."""

    run_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.metrics = QComboBox()
        self.metrics.setAccessibleName("Metric")
        self.plot = HistoryPlot()
        self.notice = Notice()
        self.changes = Text()
        self.notes = Text(tone=Tone.MUTED)
        self._read: Callable[[Wanted], History] | None = None
        self._run = ""
        self._wanted: list[Wanted] = []
        self._job: Job | None = None
        self._record: RunRecord | None = None  # taken, and not looked at yet
        self._arrange()
        self.metrics.currentIndexChanged.connect(self._choose)
        self.plot.run_chosen.connect(self.run_chosen)

    def show_run(self, record: RunRecord, read: Callable[[Wanted], History]) -> None:
        """Take a run to show the history of; `read` is called on another thread, once somebody looks."""
        self._record, self._read = record, read
        if self.isVisible():
            self.look()

    def look(self) -> None:
        """Offer the metrics of the run, keeping the one that was looked at, and read what is shown."""
        record, self._record = self._record, None
        if record is None:
            return
        place = self.metrics.currentIndex()
        before = self._wanted[place] if 0 <= place < len(self._wanted) else None
        self._run = record.summary.id
        found = summaries(record)[:MOST_METRICS]
        self._wanted = [Wanted((one.host,), one.metric.name, one.step, one.labels) for one in found]
        several = len(record.plan.hosts) > 1
        self.metrics.blockSignals(True)
        self.metrics.clear()
        for one in found:
            where = f" on {host_title(one.host)}" if several else ""
            self.metrics.addItem(visible(f"{metric_text(one.metric, one.labels)} · {one.step}{where}"))
        self.metrics.setCurrentIndex(self._wanted.index(before) if before in self._wanted else 0 if found else -1)
        self.metrics.blockSignals(False)
        self.metrics.setEnabled(bool(found))
        self._choose()

    def _choose(self) -> None:
        place, read = self.metrics.currentIndex(), self._read
        if read is None or not 0 <= place < len(self._wanted):
            self._say("This run has no figure that counts.")
            return
        wanted = self._wanted[place]
        job = self._job = Job(lambda: read(wanted), self)
        job.returned.connect(lambda history: self._show(history) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def _show(self, history: History) -> None:
        self.notice.hide()
        self.plot.show()
        self.plot.show_history(history, self._run)
        lines = [
            f"▼{number} {local_time(marked.after.started)}: {marked.text}"
            for number, marked in enumerate(history.marked, 1)
        ]
        count = len(history.points)
        runs = f"{count} comparable run{'' if count == 1 else 's'}, {direction_text(history.metric.better)}"
        nothing = "no change of the level can be told" if count < 8 else "the level has not changed"
        self.changes.setText("\n".join(lines) if lines else f"{runs}; {nothing}.")
        self.notes.setText("\n".join([*([runs] if lines else []), *notes_of(history)]))

    def _fail(self, error: BenchwrightError) -> None:
        self.plot.hide()
        self._say("")
        self.notice.say_error(error)

    def _say(self, text: str) -> None:
        self.plot.hide()
        self.changes.setText(text)
        self.notes.setText("")

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SPACE[1])
        head.addWidget(Text("Over all comparable runs", wrap=False))
        head.addWidget(self.metrics, 1)
        self.plot.setMinimumHeight(_LOWEST)
        inner = QWidget()
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(inner)
        inner.setObjectName("page")
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(area)
        rows = QVBoxLayout(inner)
        rows.setContentsMargins(0, SPACE[1], 0, 0)
        rows.setSpacing(SPACE[1])
        rows.addLayout(head)
        rows.addWidget(self.notice)
        rows.addWidget(self.plot, 1)
        rows.addWidget(self.changes)
        rows.addWidget(self.notes)
        rows.addStretch(0)
