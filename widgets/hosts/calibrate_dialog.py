"""The calibration of a host: what it was found to be, and a new one, with its progress, that can be stopped."""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.calibration.calibrating import TRIALS, Calibrated, Wanted
from app.calibration.calibration import Calibration
from app.calibration.words import alarm_lines, instrument_rows, noise_rows, standing
from app.comparing.intervals import FEWEST_TRIALS
from app.events import Activity, Progress
from app.questions import Asker
from app.runs.control import Control
from app.services import Workstation
from app.wording import duration_text
from suites.errors import BenchwrightError
from suites.registry import SUITES
from widgets.jobs import Job
from widgets.parts.names import host_words
from widgets.parts.notice import Notice, Working
from widgets.parts.screen import fit
from widgets.parts.text import Text, Tone, set_tool_tip, strong, visible
from widgets.theme import SPACE, TextSize, text_font

SIZE = (860, 680)
HEADS = ("Metric", "n", "CoV", "Shows with 6 trials a side", "10", "20")
MOST_TRIALS = 100

EXPLANATION = (
    "Measures the clock, the timers and the way to the host, what telemetry costs, and a suite against itself: how far "
    "figures lie apart when nothing differs. Comparisons and verdicts use it until the host changes."
)


class CalibrateDialog(QDialog):
    """Shows the newest calibration of a host; makes another where told to. All that takes time is a Job."""

    def __init__(self, workstation: Workstation, asker: Asker, host: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation, self._asker, self._host = workstation, asker, host
        self._control: Control | None = None
        self.shown: Calibration | None = None
        self.setWindowTitle("Calibrate")
        fit(self, SIZE)
        self.suite = QComboBox()
        self.suite.setAccessibleName("Suite")
        self.suite.addItem("The host’s default: sysbench-cpu, or compute", "")
        for suite in SUITES:
            if not suite.needs_peer and suite.id != "command":
                self.suite.addItem(suite.title, suite.id)
        self.trials = QSpinBox()
        self.trials.setRange(FEWEST_TRIALS, MOST_TRIALS)
        self.trials.setValue(TRIALS)
        self.trials.setAccessibleName("Trials a side")
        self.trials.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # where the text of other fields begins
        self.start_button = QPushButton("Calibrate")
        self.start_button.setProperty("primary", True)
        self.start_button.clicked.connect(lambda _checked: self.calibrate())
        self.close_button = QPushButton("Close")
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.reject)
        self.notice, self.working = Notice(), Working()
        self.working.cancelled.connect(self.stop)
        self.instrument, self.noise = _table(("Instrument", "")), _table(HEADS)
        self.says = Text()
        self._when = Text(font=strong())
        self._arrange()
        self._read()

    def calibrate(self) -> None:
        """Make a new calibration."""
        control = self._control = Control()
        wanted = Wanted(str(self.suite.currentData()), self.trials.value())
        workstation, host, asker = self._workstation, self._host, self._asker

        def work() -> Iterator[Activity | Progress | Calibrated]:
            for event in workstation.calibrate(host, wanted, asker, control):
                if isinstance(event, Activity | Progress | Calibrated):  # samples are for those who plot them
                    yield event

        self.notice.hide()
        self.start_button.setEnabled(False)
        self._begin(f"Calibrating {host_words(host)}…")
        job = Job(work, self)
        job.yielded.connect(self._take)
        job.failed.connect(self.notice.say_error)
        job.finished.connect(self._end)
        job.start()

    def stop(self) -> None:
        """End a calibration that is under way, in order: its trials are kept as a run."""
        if self._control is not None:
            self._control.stop()
            self._begin("Stopping: ending what runs on the host…")

    def reject(self) -> None:
        """Close the window; a calibration that is under way is stopped."""
        if self._control is not None:
            self._control.stop()
        super().reject()

    def _begin(self, text: str) -> None:
        self.working.begin(text)

    def _take(self, event: object) -> None:
        stopping = self._control is not None and self._control.over
        if isinstance(event, Calibrated):
            self._show((event.calibration,))
            self.notice.say("good", "Calibrated.", "Its trials are in the library.")
        elif isinstance(event, Progress) and not stopping:
            left = "" if event.remaining is None else f", about {duration_text(event.remaining)} left"
            self.working.begin(f"{event.done} of {event.total} trials{left}")
        elif isinstance(event, Activity) and not stopping and not event.text.startswith("measuring "):
            self.working.begin(f"{event.text[:1].upper()}{event.text[1:]}…")

    def _end(self) -> None:
        self._control = None
        self.working.end()
        self.start_button.setEnabled(True)

    def _read(self) -> None:
        workstation, host = self._workstation, self._host
        job = Job(lambda: workstation.calibrations(host), self)
        job.returned.connect(self._show)
        job.failed.connect(self._fail)
        job.start()

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)

    def _show(self, found: tuple[Calibration, ...]) -> None:
        for widget in (self.instrument, self.noise, self.says):
            widget.setVisible(bool(found))
        if not found:
            self._when.setText(f"{host_words(self._host).capitalize()} was never calibrated.")
            return
        newest = self.shown = found[0]
        made, suite, *_, why = standing(newest)
        self._when.setText(f"{suite}, {made} UTC{f', {why}' if why else ''}")
        _fill(self.instrument, instrument_rows(newest.instrument))
        _fill(self.noise, noise_rows(newest))
        self.says.setText("\n".join(alarm_lines(newest)))

    def _arrange(self) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text(f"Calibrate {host_words(self._host)}", font=text_font(TextSize.HEADING, bold=True)))
        rows.addWidget(Text(EXPLANATION, Tone.MUTED))
        rows.addLayout(self._build_choice())
        rows.addWidget(self.working)
        rows.addWidget(self.notice)
        sheet = QWidget()
        found = QVBoxLayout(sheet)
        found.setContentsMargins(0, 0, SPACE[1], 0)
        found.setSpacing(SPACE[2])
        for widget in (self._when, self.says, self.instrument, self.noise):
            found.addWidget(widget)
        found.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(sheet)
        rows.addWidget(scroll, 1)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.start_button)
        foot.addWidget(self.close_button)
        rows.addLayout(foot)

    def _build_choice(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE[2])
        grid.addWidget(Text("Suite", wrap=False), 0, 0)
        grid.addWidget(self.suite, 0, 1)
        grid.addWidget(Text("Trials a side", wrap=False), 0, 2)
        grid.addWidget(self.trials, 0, 3)
        grid.setColumnStretch(1, 1)
        set_tool_tip(self.trials, "Two sides of one thing, and as many trials without telemetry")
        return grid


def _table(heads: tuple[str, ...]) -> QTableWidget:
    table = QTableWidget(0, len(heads))
    table.setHorizontalHeaderLabels(heads)
    table.setAccessibleName(heads[0])
    table.verticalHeader().hide()
    table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
    table.setTabKeyNavigation(False)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    head = table.horizontalHeader()
    head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    table.hide()
    return table


def _fill(table: QTableWidget, rows: list[list[str]]) -> None:
    table.setRowCount(len(rows))
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            item = QTableWidgetItem(visible(text))
            item.setFlags(Qt.ItemFlag.ItemIsEnabled)
            table.setItem(row, column, item)
    height = table.horizontalHeader().sizeHint().height() + 2 * table.frameWidth()
    table.setFixedHeight(height + sum(table.rowHeight(row) for row in range(len(rows))))
