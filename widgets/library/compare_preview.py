"""Comparison of the selected runs in place: what differs in their parameters, then their figures with verdicts."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QTabWidget, QWidget

from app.comparison.comparison import run_letter
from app.library_rows import LibraryRow
from app.library_table import differing_parameters, parameter_text
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.compare.compare_rows import Compared, lines_of, read_runs
from widgets.compare.compare_table import CompareTable
from widgets.compare.sample_size_pane import SampleSizePane
from widgets.jobs import BackgroundJob
from widgets.library.run_actions import RunActions
from widgets.library.run_rows import baseline_first, run_start
from widgets.parts.actions import ActionButton
from widgets.parts.boxes import column_in, fill
from widgets.parts.flow_layout import flowing
from widgets.parts.names import MISSING, host_label
from widgets.parts.notice import Notice
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.parts.text import OneLine, Text, Tone
from widgets.plots.profile_pane import ProfilePane
from widgets.plots.studies import StudyTabs
from widgets.theme import SPACE, TextSize, text_font

MOST_RUNS = 8
"""Runs that are compared in place; more open in Compare."""

MOST_COLUMNS = 100
"""Runs whose parameters and facts are compared."""

SHARE_OF_DIFFERENCES = 0.35
"""Most of the height that what differs takes, in whole rows, at least one."""

DELAY = 200
"""Milliseconds after the last change of the selection before the runs are read."""


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """A parameter, or what else differs, with its text in each run."""

    name: str
    texts: tuple[str, ...]


def difference_lines(rows: Sequence[LibraryRow]) -> list[DifferenceLine]:
    """Return what differs between runs: parameters, hosts, instance type and kernel."""
    lines = [
        DifferenceLine(token, tuple(parameter_text(row, name) or MISSING for row in rows))
        for name, token in differing_parameters(rows)
    ]
    for name, texts in {
        "Hosts": [", ".join(map(host_label, row.summary.hosts)) for row in rows],
        "Type": [row.platform for row in rows],
        "Kernel": [row.kernel for row in rows],
    }.items():
        if len(set(texts)) > 1:
            lines.append(DifferenceLine(name, tuple(text or MISSING for text in texts)))
    return lines


def _columns(rows: Sequence[LibraryRow]) -> list[TableColumn[DifferenceLine]]:
    def column(number: int, row: LibraryRow) -> TableColumn[DifferenceLine]:
        return TableColumn(run_letter(number), lambda line: line.texts[number], width=120, tip=_name(row))

    return [TableColumn("Differs", lambda line: line.name), *itertools.starmap(column, enumerate(rows))]


class ComparePreview(QWidget):
    """Compares two runs or more while they are selected."""

    def __init__(self, actions: RunActions, workstation: Workstation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._wanted: tuple[str, ...] = ()
        self.compared: Compared | None = None
        self.title = OneLine(text_font(TextSize.HEADING, bold=True))
        self.runs = Text(tone=Tone.MUTED)
        offered = (actions.compare, actions.pin, actions.study, actions.export, actions.delete, actions.restore)
        self.buttons = {action: ActionButton(action) for action in offered}
        self.notice = Notice()
        self.differences = Table("What differs between the runs", TableModel[DifferenceLine](_columns(())))
        self.table = CompareTable()
        self.table.setMinimumHeight(0)  # the preview may be low
        self.sample_size = SampleSizePane(workstation)
        self.tabs = QTabWidget(self, documentMode=True)
        compared = QWidget(self.tabs)
        column = fill(
            column_in(compared, SPACE[1], (0, SPACE[1], 0, 0)), self.notice, self.differences, (self.table, 1)
        )
        column.addStretch(0)  # takes the room of a table that is hidden
        self.tabs.setAccessibleName("The selected runs")
        self.tabs.addTab(compared, "Comparison")
        self.studies = StudyTabs(self.tabs, workstation, self.sample_size, ProfilePane(workstation))
        head = flowing(self.title, *self.buttons.values(), spacing=SPACE[1])
        fill(column_in(self, SPACE[1]), head, self.runs, (self.tabs, 1))
        self._delay = QTimer(self, singleShot=True, interval=DELAY)
        self._delay.timeout.connect(self._read)

    def show_runs(self, rows: Sequence[LibraryRow]) -> None:
        """Show what differs between `rows` now, and their comparison once it is read."""
        by_id = {row.id: row for row in rows}
        ordered = [by_id[run] for run in baseline_first(rows)]
        if tuple(row.id for row in ordered) == self._wanted:
            return
        self._wanted = tuple(row.id for row in ordered)
        self.title.set_text(f"{count_text(len(rows), 'run')} selected")
        shown = ordered[:MOST_RUNS]
        more = f"   and {len(rows) - MOST_RUNS} more" if len(rows) > MOST_RUNS else ""
        if len(rows) > MOST_COLUMNS:
            more += f"; differences of the first {MOST_COLUMNS} runs"
        self.runs.setText("   ".join(f"{run_letter(at)} {_name(row)}" for at, row in enumerate(shown)) + more)
        listed = ordered[:MOST_COLUMNS]
        lines = difference_lines(listed)
        self.differences.show_rows(lines, _columns(listed))
        self.differences.setVisible(bool(lines))
        self._limit_differences()
        self.table.hide()
        self.notice.hide()
        self.studies.show_runs(self._wanted, {}, sessions=True)
        if len(rows) > MOST_RUNS:
            self.notice.show_message("info", f"Select at most {MOST_RUNS} runs to compare them here.")
        else:
            self._delay.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave most of the height to the comparison."""
        super().resizeEvent(event)
        self._limit_differences()

    def _limit_differences(self) -> None:
        room = SHARE_OF_DIFFERENCES * self.tabs.height()
        rows = next((number for number in (4, 3, 2) if self.differences.whole_height(number) <= room), 1)
        self.differences.setMaximumHeight(self.differences.whole_height(rows))

    def _read(self) -> None:
        wanted, workstation = self._wanted, self._workstation

        def show(found: Compared) -> None:
            if wanted == self._wanted:
                self._show(found)

        def fail(error: BenchwrightError) -> None:
            if wanted == self._wanted:
                self.notice.show_error(error)

        BackgroundJob(lambda: read_runs(workstation, wanted), self).start(show, fail)

    def _show(self, compared: Compared) -> None:
        self.compared = compared
        self.studies.show_runs(self._wanted, compared.missing, sessions=True)
        lines = lines_of(compared, everything=False)
        self.table.show_lines(lines, compared.comparison.margin)
        self.table.setVisible(bool(lines))
        if not lines:
            self.notice.show_message("info", "No metric is common to these runs.")


def _name(row: LibraryRow) -> str:
    return f"{row.summary.name}, {run_start(row.summary)}"
