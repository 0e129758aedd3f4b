"""Dialogs with charts of some runs: noise, scaling, latency heat maps and rounds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QScrollArea, QVBoxLayout, QWidget

from app.chart import Chart, chart_table
from app.export import write_csv
from app.noise import NOISE_COLUMNS, noise_charts, noise_entry_rows
from app.scaling.scaling import SCALING_COLUMNS, scaling_charts, scaling_rows
from app.services import Workstation
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import push_button
from widgets.parts.dialogs import ask_for_file, button_row, fit, opened
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, sheet_text
from widgets.plots.chart_view import ChartView
from widgets.theme import SPACE, TextSize, text_font

SIZE = (920, 680)
HEIGHT = 250
"""Height in pixels of a chart without named rows."""


@dataclass(frozen=True, slots=True)
class Charts:
    """Content of a chart dialog: `empty` is the text without charts, `files` the writer of each file extension."""

    charts: tuple[Chart, ...]
    empty: str
    files: dict[str, Callable[[Path], Path]]


class ChartDialog(QDialog):
    """Computes charts on a background thread, shows them one above the other, and exports them."""

    def __init__(self, title: str, read: Callable[[], Charts], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        fit(self, SIZE)
        self._name = title
        self.content: Charts | None = None
        self.views: list[ChartView] = []
        self.notice = Notice()
        tip = "Copy every point for a spreadsheet"
        self.copy_button = push_button("Copy data", self.copy_data, tip=tip, enabled=False)
        tip = "Export the charts as PNG or their data as CSV"
        self.export_button = push_button("Export…", self._ask_export, tip=tip, enabled=False)
        self.close_button = push_button("Close", self.accept)
        self._scroll = QScrollArea(widgetResizable=True)
        self._arrange(title)
        self.notice.show_message("info", "Reading the runs…")
        BackgroundJob(read, self).start(self._show, self.notice.show_error)

    def export_to(self, path: Path) -> None:
        """Write the charts to `path` in the format of its extension."""
        if self.content is None:
            return
        write = self.content.files.get(path.suffix.lower())
        if write is None:
            self.notice.show_message(
                "warning", f"Unknown file extension: {path.name}.", f"Use {' or '.join(self.content.files)}."
            )
            return
        BackgroundJob(lambda: write(path), self).start(
            lambda written: self.notice.show_message("good", f"Written: {written}"), self.notice.show_error
        )

    def copy_data(self) -> None:
        """Copy the data of every chart for a spreadsheet."""
        if self.content is not None:
            rows = [row for chart in self.content.charts for row in ([chart.title], *chart_table(chart), [])]
            QGuiApplication.clipboard().setText(sheet_text(rows))

    def _show(self, content: Charts) -> None:
        self.content = content
        self.notice.hide()
        for button in (self.copy_button, self.export_button):
            button.setEnabled(bool(content.charts))
        sheet = QWidget()
        column = column_in(sheet, SPACE[1], (0, 0, SPACE[1], 0))
        for chart in content.charts:
            self._add(column, chart)
        if not content.charts:
            column.addWidget(Text(content.empty, Tone.MUTED))
        column.addStretch(1)
        self._scroll.setWidget(sheet)

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
        filters = [patterns[ending] for ending in self.content.files]
        ask_for_file(self, "Export", self.export_to, filters, save_as=f"{self._name.lower().replace(' ', '-')}.png")

    def _arrange(self, title: str) -> None:
        foot = button_row(self.copy_button, self.export_button, None, self.close_button)
        rows = column_in(self, SPACE[1], (SPACE[3], SPACE[3], SPACE[3], SPACE[3]))
        rows.addWidget(Text(title, font=text_font(TextSize.HEADING, bold=True)), 0, Qt.AlignmentFlag.AlignTop)
        fill(rows, self.notice, (self._scroll, 1), foot)


NO_SPREAD = "No noise figures: they need two counted trials of a test."
NO_SWEEP = "No sweep: select tests that sweep threads, depth or streams, or steps that differ in one numeric parameter."

NO_ROUNDS = "No rounds: select runs of an SSD steady-state test."

NO_HISTOGRAMS = "No latency histograms: select runs of fio, which records one every second."


def show_noise(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog that ranks the metrics of `runs` by their repeatability."""
    selected = tuple(runs)

    def read() -> Charts:
        found = workstation.analyses.noise(selected)
        table = partial(write_csv, noise_entry_rows(found), NOISE_COLUMNS)
        return _charts(noise_charts(found), NO_SPREAD, {".csv": table})

    return opened(ChartDialog("Noise", read, parent))


def show_scaling(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog with the metrics of `runs` by the swept parameter; several runs are combined."""
    selected = ",".join(runs)

    def read() -> Charts:
        found = workstation.analyses.scaling(selected)
        table = partial(write_csv, scaling_rows(found), SCALING_COLUMNS)
        return _charts((chart for one in found for chart in scaling_charts(one)), NO_SWEEP, {".csv": table})

    return opened(ChartDialog("Scaling", read, parent))


def show_heat(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog with a heat map of latency over time for each trial."""
    selected = ",".join(runs)
    title = "Latency heat map"
    return opened(ChartDialog(title, lambda: _charts(workstation.analyses.heat(selected), NO_HISTOGRAMS), parent))


def show_rounds(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog with the rounds of each steady-state test."""
    selected = ",".join(runs)
    return opened(ChartDialog("Rounds", lambda: _charts(workstation.analyses.rounds(selected), NO_ROUNDS), parent))


def _charts(
    found: Iterable[Chart], empty: str, files: Mapping[str, Callable[[Path], Path]] = MappingProxyType({})
) -> Charts:
    """Return the content of a dialog, whose charts are exported as PNG and as `files`."""
    charts = tuple(found)
    return Charts(charts, empty, {".png": partial(_write_picture, charts), **files})


def _write_picture(charts: Sequence[Chart], path: Path) -> Path:
    from app.report_image.plots import write_charts

    return write_charts(charts, path)
