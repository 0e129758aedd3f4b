"""The results of a study: lemons, strips of every instance, variance by level, outliers, ranking, changes."""

import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QScrollArea, QSplitter, QStackedLayout, QTabWidget, QWidget

from app.chart import Chart
from app.fleet.distances import FEWEST_PER_GROUP
from app.fleet.levels import FleetLevels
from app.fleet.results import PAIRED, FleetResults, lemons_text
from app.fleet.study import FleetMetric
from app.fleet_study import FleetStudy, HostRunState
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text, first_upper
from widgets.export_dialog import REPORT_FILES, REPORT_FORMATS, safe_name
from widgets.fleet.changes_pane import ChangesPane, DeparturesPane
from widgets.fleet.next_study_pane import NextStudyPane
from widgets.fleet.outliers_pane import OutliersPane
from widgets.fleet.ranking_pane import GroupRankingPane
from widgets.fleet.read_pane import ReadPane
from widgets.fleet.results_tables import LevelTable
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.dialogs import ask_for_file
from widgets.parts.empty_state import EmptyState
from widgets.parts.layouts import remember_splitter
from widgets.parts.notice import Picture
from widgets.parts.text import OneLine, Text, Tone, set_tool_tip, visible
from widgets.plots.chart_view import ChartView
from widgets.theme import SPACE, TextSize, text_font

READ_EVERY = 10.0
"""Least seconds between two reads of a study under way."""

IDLE = 4.0
"""Least seconds between two reads, as a multiple of the time that a read takes."""

FILES = (*REPORT_FILES, "Trials as CSV (*.csv)")

NEEDED = (
    f"A lemon needs {FEWEST_PER_GROUP} instances of a group with results. The variance of a level needs two units "
    "of it: trials of a session, sessions of an instance, instances of a type."
)


class ResultsView(ReadPane):
    """Results, read again after host-runs of the study are over."""

    filter_requested = Signal(str)  # a filter of the library
    replace_requested = Signal(str, str)  # a host and its group
    study_requested = Signal(object, str)  # a Plan, and words that select its hosts
    status = Signal(str)

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(workstation)
        self.results: FleetResults | None = None
        self._over: int | None = None
        self._clock = QTimer(self, singleShot=True)
        self._clock.timeout.connect(lambda: self.show_study(self.study))
        self._next = 0.0  # the earliest moment of another read
        self.title = OneLine(text_font(TextSize.HEADING, bold=True))
        self.report_button = push_button("Export…", lambda _checked: self.export())
        set_tool_tip(self.report_button, "Write the report of the study, or its trials as a table")
        self.mark, self.lemons = Picture("info"), OneLine(text_font(TextSize.BODY))
        self.populations, self.waiting = Text(), Text("", Tone.MUTED)
        self.notes_button = push_button("Notes", checkable=True)
        self.notes = Text("", Tone.MUTED)
        self.figure = QComboBox()
        self.figure.setAccessibleName("Figure")
        self.figure.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.figure.setMinimumContentsLength(24)
        self.charts: list[ChartView] = []
        self._scroll = QScrollArea(widgetResizable=True)
        self._scroll.setAccessibleName("Strips")
        self.levels, self.moments = LevelTable(), Text("", Tone.MUTED)
        self.outliers, self.ranking = OutliersPane(workstation), GroupRankingPane(workstation)
        self.departures, self.changes = DeparturesPane(workstation), ChangesPane(workstation)
        self.next_study = NextStudyPane(workstation)
        self.tabs = QTabWidget(documentMode=True)
        self.tabs.setAccessibleName("Results of the study")
        self._connect()
        self._arrange()

    def follow(self, study: FleetStudy) -> None:
        """Read again if more host-runs of the study are over than when it was read."""
        over = study.total - study.left
        more = study.id == self.study and self._over not in {None, over}
        if more and not self.reading and not self._clock.isActive():
            self._clock.start(round(1000 * max(0.0, self._next - time.monotonic())))

    def export(self) -> bool:
        """Ask for a file and write the report or the trials; return False if no results are shown."""
        if self.results is None:
            return False
        name = f"{safe_name(self.results.study.name)}.html"
        ask_for_file(self, "Export the results", self.write, FILES, save_as=name)
        return True

    def write(self, path: Path) -> None:
        """Write the report to a file, whose ending is its format, or the trials to a .csv."""
        if self.results is None:
            return
        workstation, found, ending = self.workstation, self.results, path.suffix.lower()

        def work() -> Path:
            if ending == ".csv":
                return workstation.export_fleet_trials(found, path)
            return workstation.export_fleet_report(found.study.id, [(REPORT_FORMATS.get(ending, "html"), path)])[0]

        self.report_button.setEnabled(False)
        self.status.emit("Writing the report…")
        BackgroundJob(work, self).start(
            lambda written: self.status.emit(f"Wrote {written}"), self.notice.show_error,
            finished=lambda: self.report_button.setEnabled(True),
        )  # fmt: skip

    def _read(self) -> None:
        began, study = time.monotonic(), self.study
        self.waiting.setText("Reading the results…")

        def show(read: tuple[FleetResults, list[str]]) -> None:
            now = time.monotonic()
            self._next = now + max(READ_EVERY, IDLE * (now - began))
            self._show(*read)

        self._start(lambda: results_with_populations(self.workstation, study), show)

    def _show(self, found: FleetResults, populations: Sequence[str]) -> None:
        self.notice.hide()
        self.results, study = found, found.study
        self._over = study.total - study.left
        self._stack.setCurrentIndex(1 if found.metrics else 0)
        done = f"{study.counts.get(HostRunState.DONE, 0)} of {count_text(study.total, 'host-run')} done"
        self.empty.text.setText("\n".join([f"{done}. {NEEDED}", *found.notes]))
        self.title.set_text(f"{study.name} · {done}")
        self.mark.show_icon("warning" if found.search.lemons else "good" if found.tested else "info")
        self.lemons.set_text(lemons_text(found))
        self.populations.setText("\n".join(populations))
        self.populations.setVisible(bool(populations))
        self._show_notes(found)
        self.outliers.show_results(found)
        self.tabs.setTabText(self.tabs.indexOf(self.outliers), f"Outliers ({len(found.search.outliers)})")
        self._show_metrics(found.metrics)
        self.departures.show_study(study.id)
        self.changes.show_study(study.id)

    def _show_notes(self, found: FleetResults) -> None:
        lines = [*(f"Not tested for lemons: {text}" for text in found.search.untested), *found.notes]
        self.notes_button.setText(f"Notes ({len(lines)})")
        self.notes_button.setVisible(bool(lines))
        set_tool_tip(self.notes_button, lines[0] if len(lines) == 1 else "What was left out or not tested")
        self.notes.setText("\n".join(lines))
        self._fold_notes()

    def _fold_notes(self) -> None:
        self.notes.setVisible(self.notes_button.isChecked() and bool(self.notes.text()))

    def _show_metrics(self, metrics: Sequence[FleetMetric]) -> None:
        titles = [visible(first_upper(one.title)) for one in metrics]
        if titles != [self.figure.itemText(at) for at in range(self.figure.count())]:
            self.figure.clear()
            self.figure.addItems(titles)
        self.figure.setVisible(len(titles) > 1)
        self._show_metric()

    def _show_metric(self) -> None:
        """Show the strips, the variance and the ranking by the chosen metric."""
        at, found = self.figure.currentIndex(), self.results
        if found is None or not 0 <= at < len(found.metrics):
            return
        self._show_levels(found.levels[at])
        self.ranking.show_metric(found.study, found.metrics[at])
        self.next_study.show_metric(found, found.metrics[at])
        self._show_charts(found.charts_of(found.metrics[at]))

    def _show_levels(self, levels: FleetLevels | None) -> None:
        self.levels.show_rows(() if levels is None else levels.levels)
        self.levels.setVisible(levels is not None)
        lines = [PAIRED] if levels is None else [*map(first_upper, levels.moment_lines)]
        self.moments.setText("\n".join(lines))
        self.moments.setVisible(bool(lines))

    def _show_charts(self, charts: Sequence[Chart]) -> None:
        if [view.chart for view in self.charts] == list(charts):
            return
        top = self._scroll.verticalScrollBar().value()
        sheet, self.charts = QWidget(), []
        column = column_in(sheet, SPACE[1], (0, 0, SPACE[1], 0))
        for chart in charts:
            view = ChartView()
            view.show_chart(chart)
            self.charts.append(view)
            column.addWidget(view)
            if chart.note and chart is not charts[0]:  # the note of the first is the line above: the lemons
                column.addWidget(Text(chart.note, Tone.MUTED))
        column.addStretch(1)
        self._scroll.setWidget(sheet)
        self._scroll.verticalScrollBar().setValue(top)

    def _clear(self) -> None:
        self._clock.stop()
        self.results = self._over = None
        self.waiting.setText("")
        self._stack.setCurrentIndex(2)
        self.outliers.show_results(None)
        for part in (self.ranking, self.departures, self.changes, self.next_study):
            part.show_study("")

    def _fail(self, error: BenchwrightError) -> None:
        super()._fail(error)
        self.waiting.setText("")
        self._over = None

    def _connect(self) -> None:
        self.figure.activated.connect(lambda _at: self._show_metric())
        self.notes_button.toggled.connect(lambda _checked: self._fold_notes())
        self.outliers.filter_requested.connect(self.filter_requested)
        self.outliers.replace_requested.connect(self.replace_requested)
        self.outliers.status.connect(self.status)
        self.next_study.study_requested.connect(self.study_requested)

    def _arrange(self) -> None:
        variance = QWidget()
        fill(column_in(variance, SPACE[1]), (self.levels, 1), self.moments)
        for part, text in (
            (self.outliers, "Outliers"), (variance, "Variance by level"), (self.ranking, "Ranking"),
            (self.departures, "Differing facts"), (self.changes, "Changes"), (self.next_study, "Next study"),
        ):  # fmt: skip
            self.tabs.addTab(part, text)
        splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        for widget in (self._scroll, self.tabs):
            splitter.addWidget(widget)
            splitter.setStretchFactor(splitter.count() - 1, 1)
        if not remember_splitter(splitter, "fleet-results"):
            splitter.setSizes([self.levels.scaled(260), self.levels.scaled(260)])
        found = QWidget()
        line = in_row(self.mark, (self.lemons, 1), self.notes_button, self.figure, spacing=SPACE[1])
        head = in_row((self.title, 1), self.report_button)
        fill(column_in(found, SPACE[1]), head, line, self.populations, self.notes, (splitter, 1))
        self.empty = EmptyState("No results yet", NEEDED, icon="hosts")
        content = QWidget()
        self._stack = QStackedLayout(content)
        for page in (self.empty, found, self.waiting):
            self._stack.addWidget(page)
        self._stack.setCurrentIndex(2)
        fill(column_in(self, SPACE[1], (SPACE[1], 0, 0, 0)), self.notice, (content, 1))


def results_with_populations(workstation: Workstation, study: str) -> tuple[FleetResults, list[str]]:
    """Return the results of a study, and lines on its groups on two levels with the facts that separate them."""
    found, lines = workstation.fleet_results(study), []
    for one in found.search.populations:
        lines.append(one.text)
        lines += [f"{one.group}, {fact.text}" for fact in workstation.population_facts(study, one)]
    return found, lines
