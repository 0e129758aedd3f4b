"""Panes with a study of some runs: noise, scaling, bursts, latency heat maps, rounds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QScrollArea, QTabWidget, QVBoxLayout, QWidget

from app.bursts import BURST_COLUMNS, BurstAnalysis, burst_chart, burst_rows, under_load
from app.chart import Chart, chart_table
from app.distributions.studies import StudyKind
from app.export import write_csv
from app.noise import NOISE_COLUMNS, noise_charts, noise_entry_rows
from app.scaling.scaling import SCALING_COLUMNS, scaling_charts, scaling_rows
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.dialogs import ask_for_file
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, sheet_text, tool_tip
from widgets.plots.chart_view import ChartView
from widgets.theme import SPACE

HEIGHT = 250
"""Height in pixels of a chart without named rows."""

Writer = Callable[[Path], Path]


@dataclass(frozen=True, slots=True)
class StudyCharts:
    """The charts of a study; `files` are writers of its data by file extension, besides that of a picture."""

    charts: tuple[Chart, ...]
    files: Mapping[str, Writer] = field(default_factory=dict)


class RunsPane(QWidget):
    """A study of the runs of show_runs(), which are read in the background when the pane is seen."""

    def __init__(self, study: StudyKind, workstation: Workstation) -> None:
        super().__init__()
        self.study, self._workstation = study, workstation
        self._runs: tuple[str, ...] = ()
        self._unread = False
        self._job: BackgroundJob | None = None
        self.notice = Notice()

    def show_runs(self, runs: Sequence[str]) -> None:
        """Study `runs`, at once if the pane is visible, else when it is shown."""
        if tuple(runs) != self._runs:
            self._runs, self._job, self._unread = tuple(runs), None, bool(runs)
            self._clear()
        if self.isVisible():
            self._read_unread()

    def showEvent(self, event: QShowEvent) -> None:
        """Read the runs."""
        super().showEvent(event)
        self._read_unread()

    def _read_unread(self) -> None:
        if self._unread:
            self._unread = False
            self.notice.show_message("info", "Reading the runs…")
            self._read()

    def _start(self, work: Callable[[], object], show: Callable[..., None]) -> None:
        """Run `work` in the background; results of a job that a newer one replaced are dropped."""
        job = self._job = BackgroundJob(work, self)
        job.returned.connect(lambda found: show(found) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def _clear(self) -> None:
        """Hide what is shown of other runs."""
        raise NotImplementedError

    def _read(self) -> None:
        """Read the runs."""
        raise NotImplementedError

    def _fail(self, error: BenchwrightError) -> None:
        self._clear()
        self.notice.show_error(error)


class StudyPane(RunsPane):
    """The charts of a study."""

    def __init__(self, study: StudyKind, workstation: Workstation) -> None:
        super().__init__(study, workstation)
        self.content: StudyCharts | None = None
        self.views: list[ChartView] = []
        self.copy_button = tool_button("Copy as data", self.copy_data, tip="Copy every point for a spreadsheet")
        self.export_button = tool_button("Export…", self._ask_export, tip="Charts as PNG, or their data as CSV")
        self._scroll = QScrollArea(widgetResizable=True)
        self._scroll.setAccessibleName(study.value)
        self.buttons = in_row(self.copy_button, self.export_button, None, spacing=SPACE[0])
        fill(column_in(self, SPACE[0]), self.notice, self.buttons, (self._scroll, 1))

    def copy_data(self) -> None:
        """Copy the data of every chart for a spreadsheet."""
        if self.content is not None:
            rows = [row for chart in self.content.charts for row in ([chart.title], *chart_table(chart), [])]
            QGuiApplication.clipboard().setText(sheet_text(rows))

    def export_to(self, path: Path) -> None:
        """Write the charts to `path` in the format of its extension."""
        if self.content is None:
            return
        writers: dict[str, Writer] = {".png": partial(_write_picture, self.content.charts), **self.content.files}
        write = writers.get(path.suffix.lower())
        if write is None:
            self.notice.show_message("warning", f"Unknown file extension: {path.name}.", f"Use {' or '.join(writers)}.")
            return
        BackgroundJob(lambda: write(path), self).start(
            lambda written: self.notice.show_message("good", f"Written: {written}"), self.notice.show_error
        )

    def _read(self) -> None:
        read, workstation, runs = _READERS[self.study], self._workstation, self._runs
        self._start(lambda: read(workstation, runs), self._show)

    def _clear(self) -> None:
        self.content = None
        self._offer()

    def _show(self, content: StudyCharts) -> None:
        self.content, self.views = content, []
        self.notice.hide()
        self._offer()
        sheet = QWidget()
        column = column_in(sheet, SPACE[1], (0, 0, SPACE[1], 0))
        for chart in content.charts:
            self._add(column, chart)
        column.addStretch(1)
        self._scroll.setWidget(sheet)

    def _offer(self) -> None:
        for button in (self.copy_button, self.export_button):
            button.setEnabled(self.content is not None and bool(self.content.charts))

    def _add(self, column: QVBoxLayout, chart: Chart) -> None:
        view = ChartView()
        view.show_chart(chart)
        if not chart.y.names:
            view.setMinimumHeight(HEIGHT)
        column.addWidget(view)
        self.views.append(view)
        if chart.note:
            column.addWidget(Text(chart.note, Tone.MUTED))
            column.addSpacing(SPACE[2])

    def _ask_export(self) -> None:
        if self.content is None:
            return
        patterns = {".png": "PNG image (*.png)", ".csv": "CSV table (*.csv)"}
        filters = [patterns[ending] for ending in (".png", *self.content.files)]
        ask_for_file(self, "Export", self.export_to, filters, save_as=f"{self.study.name.lower()}.png")


class BurstPane(StudyPane):
    """Token buckets, with a field for the load that they serve."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(StudyKind.BURST, workstation)
        tip = "How long a full bucket serves this rate: 2000, or 100 MB/s"
        self.load = line_edit("Load", tip=tip, placeholderText="such as 100 MB/s")
        self.load.editingFinished.connect(self._show_bursts)
        self._found: list[BurstAnalysis] | None = None
        self.buttons.insertWidget(0, self.load)
        self.buttons.insertWidget(0, Text("Your load", wrap=False))

    def _read(self) -> None:
        workstation, runs = self._workstation, self._runs
        self._start(lambda: [one for run in runs for one in workstation.analyses.bursts(run)], self._show_found)

    def _show_found(self, found: list[BurstAnalysis]) -> None:
        self._found = found
        self._show_bursts()

    def _show_bursts(self) -> None:
        found = self._found
        if found is None:
            return
        problem = None
        try:
            found = under_load(found, text) if (text := self.load.text().strip()) else found
        except BenchwrightError as error:
            problem = error
        files = {".csv": partial(write_csv, burst_rows(found), BURST_COLUMNS)}
        self._show(StudyCharts(tuple(map(burst_chart, found)), files))
        if problem is not None:
            self.notice.show_error(problem)

    def _clear(self) -> None:
        super()._clear()
        self._found = None


class StudyTabs:
    """The studies as tabs of `tabs`; those without data are disabled and say what they need."""

    def __init__(self, tabs: QTabWidget, workstation: Workstation, *others: RunsPane) -> None:
        """Add a tab for each study that is only drawn, and for the `others`."""
        self._tabs = tabs
        self.panes: list[RunsPane] = [
            *(StudyPane(study, workstation) for study in _READERS),
            BurstPane(workstation),
            *others,
        ]
        for pane in self.panes:
            tabs.addTab(pane, pane.study.value)

    def show_runs(self, runs: Sequence[str], missing: Mapping[StudyKind, str], *, sessions: bool = False) -> None:
        """Study `runs`; `missing` is what the studies without data need.

        A sample size takes them as sessions of one configuration, if they are `sessions`, else as one each.
        """
        for pane in self.panes:
            index = self._tabs.indexOf(pane)
            self._tabs.setTabEnabled(index, pane.study not in missing)
            self._tabs.setTabToolTip(index, tool_tip(missing.get(pane.study, "")))
            joined = sessions and pane.study is StudyKind.SAMPLE_SIZE
            pane.show_runs(() if pane.study in missing else [",".join(sorted(runs))] if joined else runs)

    def bring(self, study: StudyKind) -> str:
        """Bring a study to the front; return what it needs if it has no data, else an empty text."""
        pane = next(pane for pane in self.panes if pane.study is study)
        if self._tabs.isTabEnabled(self._tabs.indexOf(pane)):
            self._tabs.setCurrentWidget(pane)
            return ""
        return self._tabs.tabToolTip(self._tabs.indexOf(pane))


def _noise(workstation: Workstation, runs: Sequence[str]) -> StudyCharts:
    found = workstation.analyses.noise(runs)
    return StudyCharts(tuple(noise_charts(found)), {".csv": partial(write_csv, noise_entry_rows(found), NOISE_COLUMNS)})


def _scaling(workstation: Workstation, runs: Sequence[str]) -> StudyCharts:
    found = workstation.analyses.scaling(",".join(runs))
    charts = tuple(chart for one in found for chart in scaling_charts(one))
    return StudyCharts(charts, {".csv": partial(write_csv, scaling_rows(found), SCALING_COLUMNS)})


def _heat(workstation: Workstation, runs: Sequence[str]) -> StudyCharts:
    return StudyCharts(tuple(workstation.analyses.heat(",".join(runs))))


def _rounds(workstation: Workstation, runs: Sequence[str]) -> StudyCharts:
    return StudyCharts(tuple(workstation.analyses.rounds(",".join(runs))))


_READERS: Mapping[StudyKind, Callable[[Workstation, Sequence[str]], StudyCharts]] = {
    StudyKind.NOISE: _noise,
    StudyKind.SCALING: _scaling,
    StudyKind.HEAT: _heat,
    StudyKind.ROUNDS: _rounds,
}


def _write_picture(charts: Iterable[Chart], path: Path) -> Path:
    from app.report_image.plots import write_charts

    return write_charts(tuple(charts), path)
