"""Pane that proposes hosts x sessions x trials from the variance of stored runs."""

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView, QWidget

from app.distributions.studies import StudyKind
from app.sample_size.pilot import Pilot, missing_hosts_text, plan_of, refuse_unusable
from app.sample_size.report import (
    COMPONENT_HEAD,
    SampleSize,
    component_rows,
    sample_size,
    sample_size_chart,
    sample_size_lines,
)
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.vocab import Labels
from widgets.compare.rank_pane import choices_of
from widgets.compare.sample_size_form import DesignTable, SampleSizeForm
from widgets.parts.boxes import column_in, fill, row_in, scrolled
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row
from widgets.parts.table import Table
from widgets.parts.table_model import LEFT, RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone, strong
from widgets.plots.chart_view import ChartView
from widgets.plots.studies import RunsPane
from widgets.theme import SPACE

TABLE_MOST = 210
CHART_LEAST = 230
"""Heights in pixels."""

DELAY = 150
"""Milliseconds after the last change of a field before it is calculated."""

EACH_SIDE = "Run it for each side."

Choices = list[tuple[str, str, str, Labels]]


class SampleSizePane(RunsPane):
    """Form at the left, designs, chart and components at the right; reads and calculates while it is seen."""

    plan_chosen = Signal(object)  # a Plan

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(StudyKind.SAMPLE_SIZE, workstation)
        self.pilot: Pilot | None = None
        self.found: SampleSize | None = None
        self.form, self.table, self.chart = SampleSizeForm(), DesignTable(), ChartView()
        self.heading, self.lines = Text(font=strong()), Text(tone=Tone.MUTED)
        columns = [_component_column(number, name) for number, name in enumerate(COMPONENT_HEAD)]
        self.components: Table[list[str]] = Table(
            "Variance components", TableModel(columns), selection=QAbstractItemView.SelectionMode.NoSelection
        )
        self.plan_button = push_button("New plan with this design", self.choose_plan, enabled=False)
        self._waiting = QTimer(self, singleShot=True, interval=DELAY)
        self._waiting.timeout.connect(self.calculate)
        self._arrange()
        self.form.changed.connect(self._waiting.start)
        self.form.metric_changed.connect(self._read_pilot)

    def calculate(self) -> None:
        """Calculate the designs for the fields."""
        if (pilot := self.pilot) is None:
            return
        try:
            request = self.form.request(pilot)
        except BenchwrightError as error:
            self._fail(error)
            return
        self._start(lambda: sample_size(pilot, request), self._show)

    def choose_plan(self) -> None:
        """Emit a plan with the selected design, else the recommended one."""
        if self.found is None or not self.found.designs:
            return
        row = self.table.current()
        design = self.found.designs[0].design if row is None else row[0].design
        try:
            plan = plan_of(self.found.pilot, design, self.found.request.effort.every)
        except BenchwrightError as error:
            self.notice.show_error(error)
            return
        self.notice.show_message("good", "The plan is on New test.", f"{missing_hosts_text(plan, design)} {EACH_SIDE}")
        self.plan_chosen.emit(plan)

    def _read(self) -> None:
        workstation, runs = self._workstation, self._runs
        self.pilot = None
        self._start(lambda: _usable_choices(workstation, runs), self._offer)

    def _offer(self, choices: Choices) -> None:
        self.form.offer(choices)
        self._read_pilot()

    def _read_pilot(self) -> None:
        query, runs, self.pilot = self.form.query(), self._runs, None
        self._start(lambda: self._workstation.sample_pilot(runs, query), self._show_pilot)

    def _show_pilot(self, pilot: Pilot) -> None:
        self.pilot = pilot
        self.form.show_pilot(pilot)
        self.components.show_rows(component_rows(pilot))
        self.components.setFixedHeight(self.components.whole_height())
        self.calculate()

    def _show(self, found: SampleSize) -> None:
        self.found = found
        self.notice.hide()
        self.heading.setText((lines := sample_size_lines(found))[0])
        self.lines.setText("\n".join(lines[1:]))
        self.table.show_designs(found)
        self.table.setFixedHeight(min(TABLE_MOST, self.table.whole_height()))
        self.chart.show_chart(sample_size_chart(found))
        self.chart.setMinimumHeight(CHART_LEAST)
        self._ready(shown=True)
        self.table.setVisible(bool(found.designs))
        self.plan_button.setEnabled(bool(found.designs))

    def _clear(self) -> None:
        self.found = None
        self._waiting.stop()
        self._ready(shown=False)

    def _ready(self, *, shown: bool) -> None:
        self._results.setVisible(shown)
        self.plan_button.setEnabled(shown)

    def _arrange(self) -> None:
        sheet = QWidget()
        found = column_in(sheet, SPACE[2], (0, 0, SPACE[1], 0))
        fill(found, self.heading, self.table, (self.chart, 1), self.lines, self.components)
        self._results = scrolled(sheet)
        self._results.hide()
        result = QWidget()
        rows = column_in(result, SPACE[1])
        fill(rows, self.notice, (self._results, 1))
        rows.addStretch(0)
        rows.addLayout(button_row(self.plan_button, None))
        fill(row_in(self, SPACE[3]), (scrolled(self.form), 1), (result, 2))


def _usable_choices(workstation: Workstation, runs: Sequence[str]) -> Choices:
    """Return the metrics of some runs; raise CompareError if no metric of these has a sample size."""
    records = [workstation.joined_record(run) for run in runs]
    refuse_unusable([record.parts or (record,) for record in records])
    return choices_of(records)


def _component_column(number: int, name: str) -> TableColumn[list[str]]:
    return TableColumn(name, lambda row: row[number], align=RIGHT if number else LEFT, stretch=not number)
