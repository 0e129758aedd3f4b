"""Dialog that shows the calibration of a host and runs a new one."""

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QDialog, QGridLayout, QScrollArea, QSpinBox, QWidget

from app.calibration.calibrate import TRIALS, CalibrationDone, CalibrationRequest
from app.calibration.report import NOISE_HEAD, calibration_row, instrument_rows, noise_lines, noise_rows
from app.calibration.sessions import SessionNoise
from app.comparison.estimates import FEWEST_TRIALS
from app.events import Activity, Progress
from app.margins import Margins
from app.questions import Asker
from app.records import Calibration
from app.runs.control import Control
from app.services import Workstation
from suites import registry
from suites.quantities import duration_text, first_upper
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row, dialog_column, fit
from widgets.parts.names import host_label
from widgets.parts.notice import Notice, ProgressNotice
from widgets.parts.table import Table
from widgets.parts.table_model import LEFT, RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone, set_tool_tip, strong
from widgets.theme import SPACE

SIZE = (1020, 680)
MOST_TRIALS = 100

EXPLANATION = (
    "Measures clock, timers, connection, telemetry overhead and the noise of a suite, and how many trials show a "
    "difference of the margin. Each calibration is a session: calibrate on several days."
)


@dataclass(frozen=True, slots=True)
class Found:
    """A calibration, the noise of its parameter set over all sessions, and the margins to show."""

    calibration: Calibration
    noise: tuple[SessionNoise, ...]
    margins: Margins


def _found(workstation: Workstation, calibration: Calibration) -> Found:
    return Found(calibration, workstation.session_noise(calibration), workstation.margins())


class CalibrateDialog(QDialog):
    """Newest calibration of a host, and a new one on request. Works in the background."""

    def __init__(self, workstation: Workstation, asker: Asker, host: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation, self._asker, self._host = workstation, asker, host
        self._control: Control | None = None
        self.shown: Calibration | None = None
        self.setWindowTitle("Calibrate")
        fit(self, SIZE)
        self.suite = QComboBox()
        self.suite.setAccessibleName("Suite")
        defaults = " or ".join(suite.id for suite in registry.SUITES if suite.calibrates)
        self.suite.addItem(f"Default: {defaults}", "")
        for suite in registry.SUITES:
            if not suite.needs_peer and not suite.needs_input:
                self.suite.addItem(suite.title, suite.id)
        self.trials = QSpinBox()
        self.trials.setRange(FEWEST_TRIALS, MOST_TRIALS)
        self.trials.setValue(TRIALS)
        self.trials.setAccessibleName("Trials")
        self.trials.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # align with the text of line edits
        self.start_button = push_button("Calibrate", lambda _checked: self.calibrate(), primary=True)
        self.close_button = push_button("Close", self.reject, autoDefault=False)
        self.notice, self.working = Notice(), ProgressNotice()
        self.working.cancelled.connect(self.stop)
        self.instrument = _table(_column(0, "Instrument"), TableColumn("", lambda row: row[1]))
        self.noise = _table(*(_column(number, name) for number, name in enumerate(NOISE_HEAD)))
        self.lines = Text()
        self._when = Text(font=strong())
        self._arrange()
        self._read()

    def calibrate(self) -> None:
        """Start a new calibration."""
        control = self._control = Control()
        wanted = CalibrationRequest(str(self.suite.currentData()), self.trials.value())
        workstation, host, asker = self._workstation, self._host, self._asker

        def work() -> Iterator[Activity | Progress | Found]:
            for event in workstation.calibrate(host, wanted, asker, control):
                if isinstance(event, CalibrationDone):
                    yield _found(workstation, event.calibration)
                elif isinstance(event, Activity | Progress):  # not the samples
                    yield event

        self.notice.hide()
        self.start_button.setEnabled(False)
        self.working.begin(f"Calibrating {host_label(host)}…")
        BackgroundJob(work, self).start(failed=self.notice.show_error, finished=self._end, yielded=self._take)

    def stop(self) -> None:
        """Stop the running calibration in order: its trials are stored as a run."""
        if self._control is not None:
            self._control.stop()
            self.working.begin("Stopping…")

    def reject(self) -> None:
        """Close the dialog and stop a running calibration."""
        if self._control is not None:
            self._control.stop()
        super().reject()

    def _take(self, event: object) -> None:
        stopping = self._control is not None and self._control.over
        if isinstance(event, Found):
            self.show_found(event)
            self.notice.show_message("good", "Calibrated.", "Its trials are in the library.")
        elif isinstance(event, Progress) and not stopping:
            remaining = "" if event.remaining is None else f", about {duration_text(event.remaining)} left"
            self.working.begin(f"{event.done} of {event.total} trials{remaining}")
        elif isinstance(event, Activity) and not stopping and not event.measures:
            self.working.begin(f"{first_upper(event.text)}…")

    def _end(self) -> None:
        self._control = None
        self.working.end()
        self.start_button.setEnabled(True)

    def _read(self) -> None:
        workstation, host = self._workstation, self._host

        def work() -> Found | None:
            known = workstation.calibrations(host)
            return _found(workstation, known[0]) if known else None

        BackgroundJob(work, self).start(self.show_found, self.notice.show_error)

    def show_found(self, found: Found | None) -> None:
        """Show a calibration, or that there is none."""
        for widget in (self.instrument, self.noise, self.lines):
            widget.setVisible(found is not None)
        if found is None:
            self._when.setText(f"{first_upper(host_label(self._host))} is not calibrated.")
            return
        newest = self.shown = found.calibration
        made, suite, *_, why = calibration_row(newest)
        self._when.setText(f"{suite}, {made} UTC{f', {why}' if why else ''}")
        self.instrument.show_rows(instrument_rows(newest.instrument))
        self.noise.show_rows(noise_rows(found.noise, found.margins))
        for table in (self.instrument, self.noise):
            table.setFixedHeight(table.whole_height())
        self.lines.setText("\n".join(noise_lines(newest, found.noise, found.margins)))

    def _arrange(self) -> None:
        rows = dialog_column(self, f"Calibrate {host_label(self._host)}")
        fill(rows, Text(EXPLANATION, Tone.MUTED), self._build_choice(), self.working, self.notice)
        sheet = QWidget()
        found = column_in(sheet, SPACE[2], (0, 0, SPACE[1], 0))
        fill(found, self._when, self.lines, self.instrument, self.noise, None)
        scroll = QScrollArea(widgetResizable=True)
        scroll.setAccessibleName("Calibration")
        scroll.setWidget(sheet)
        rows.addWidget(scroll, 1)
        rows.addLayout(button_row(None, self.start_button, self.close_button))

    def _build_choice(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE[2])
        grid.addWidget(Text("Suite", wrap=False), 0, 0)
        grid.addWidget(self.suite, 0, 1)
        grid.addWidget(Text("Trials", wrap=False), 0, 2)
        grid.addWidget(self.trials, 0, 3)
        grid.setColumnStretch(1, 1)
        set_tool_tip(self.trials, "Trials with telemetry, and as many without")
        return grid


def _table(*columns: TableColumn[list[str]]) -> Table[list[str]]:
    table = Table(columns[0].name, TableModel(columns), selection=QAbstractItemView.SelectionMode.NoSelection)
    table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.hide()
    return table


def _column(number: int, name: str) -> TableColumn[list[str]]:
    return TableColumn(name, lambda row: row[number], align=RIGHT if number else LEFT, stretch=not number)
