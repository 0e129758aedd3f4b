"""A window of charts that were read in the background: noise, scaling; it exports what it shows."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.chart import Chart, chart_table
from suites.errors import BenchwrightError
from widgets.charts.chart_view import ChartView
from widgets.jobs import Job
from widgets.parts.notice import Notice
from widgets.parts.screen import fit
from widgets.parts.sheet_text import sheet_text
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

SIZE = (920, 680)
HEIGHT = 250
"""Pixels of a chart without named rows."""


@dataclass(frozen=True, slots=True)
class Charts:
    """What a window of charts shows: `empty` says why there is none, `files` how each kind of file is written."""

    charts: tuple[Chart, ...]
    empty: str
    files: dict[str, Callable[[Path], Path]]


class ChartDialog(QDialog):
    """Reads charts off the window's thread, shows them below each other, and writes them to a file."""

    def __init__(self, title: str, read: Callable[[], Charts], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        fit(self, SIZE)
        self._name = title
        self.content: Charts | None = None
        self.views: list[ChartView] = []
        self.notice = Notice()
        self.copy_button = QPushButton("Copy data")
        self.export_button = QPushButton("Export…")
        self.close_button = QPushButton("Close")
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._arrange(title)
        self.notice.say("info", "Reading the runs…")
        job = Job(read, self)
        job.returned.connect(self._show)
        job.failed.connect(self._fail)
        job.start()

    def export_to(self, path: Path) -> None:
        """Write what is shown to `path`, as its ending says."""
        if self.content is None:
            return
        write = self.content.files.get(path.suffix.lower())
        if write is None:
            self.notice.say("warning", f"{path.name} ends in none of {', '.join(self.content.files)}.", "Choose one.")
            return
        job = Job(lambda: write(path), self)
        job.returned.connect(lambda written: self.notice.say("good", f"Written: {written}"))
        job.failed.connect(self._fail)
        job.start()

    def copy_data(self) -> None:
        """Put every chart on the clipboard for a spreadsheet."""
        if self.content is not None:
            rows = [row for chart in self.content.charts for row in ([chart.title], *chart_table(chart), [])]
            QGuiApplication.clipboard().setText(sheet_text(rows))

    def _show(self, content: Charts) -> None:
        self.content = content
        self.notice.hide()
        for button in (self.copy_button, self.export_button):
            button.setEnabled(bool(content.charts))
        sheet = QWidget()
        column = QVBoxLayout(sheet)
        column.setContentsMargins(0, 0, SPACE[1], 0)
        column.setSpacing(SPACE[1])
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

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)

    def _ask_export(self) -> None:
        if self.content is None:
            return
        patterns = {".png": "Picture (*.png)", ".csv": "Table (*.csv)"}
        chooser = QFileDialog(self, "Export", f"{self._name.lower().replace(' ', '-')}.png")
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setNameFilters([patterns[ending] for ending in self.content.files])
        chooser.fileSelected.connect(lambda path: self.export_to(Path(path)))
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def _arrange(self, title: str) -> None:
        for button, does, what in (
            (self.copy_button, self.copy_data, "Every point, for a spreadsheet"),
            (self.export_button, self._ask_export, "Write the charts as a picture, or their figures as a table"),
        ):
            button.setEnabled(False)
            button.clicked.connect(does)
            set_tool_tip(button, what)
        self.close_button.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE[1])
        foot.addWidget(self.copy_button)
        foot.addWidget(self.export_button)
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[3], SPACE[3], SPACE[3], SPACE[3])
        rows.setSpacing(SPACE[1])
        rows.addWidget(Text(title, font=text_font(TextSize.HEADING, bold=True)), 0, Qt.AlignmentFlag.AlignTop)
        rows.addWidget(self.notice)
        rows.addWidget(self._scroll, 1)
        rows.addLayout(foot)


def show_charts(title: str, read: Callable[[], Charts], parent: QWidget) -> ChartDialog:
    """Open a window of charts over `parent`; it goes when it is closed."""
    dialog = ChartDialog(title, read, parent)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog
