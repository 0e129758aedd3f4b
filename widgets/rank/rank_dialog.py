"""A window that ranks runs by what the user calls best, and exports the ranking as picture and CSV."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.ranking.prices import read_prices
from app.ranking.ranking import Ranking
from app.ranking.ranking_text import closing_lines, ranking_csv, title
from app.records import RunRecord
from app.services import Workstation
from app.summary import summaries
from app.wording import metric_text
from app.writing import write_whole
from suites.errors import BenchwrightError
from suites.vocab import Labels
from widgets.jobs import Job
from widgets.parts.notice import Notice
from widgets.parts.screen import fit
from widgets.parts.sheet_text import sheet_text
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.rank.rank_form import RankForm
from widgets.rank.rank_table import RankTable
from widgets.theme import SPACE, TextSize, text_font

SIZE = (1120, 700)
PICTURE_WIDTH = 1200
DENSITY = 2
"""Pixels of the picture for each of the screen, so that it reads well in a ticket."""

MOST_METRICS = 200


class RankDialog(QDialog):
    """The question above, the ranking below. All reading and weighing is a Job."""

    def __init__(self, workstation: Workstation, words: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation, self._words = workstation, tuple(words)
        self._job: Job | None = None
        self.ranking: Ranking | None = None
        self.form = RankForm()
        self.table = RankTable()
        self.heading = Text("", font=text_font(TextSize.BODY, bold=True))
        self.notes = Text("", Tone.MUTED)
        self.notice = Notice()
        self.copy_button = QPushButton("Copy")
        self.export_button = QPushButton("Export…")
        self.close_button = QPushButton("Close")
        self._arrange()
        self.form.changed.connect(self.rank)
        self.form.table_button.setAutoDefault(False)
        self.form.table_button.clicked.connect(lambda _checked: self._ask_for_prices())
        self.notice.say("info", "Reading the runs…")
        job = Job(lambda: choices_of(workstation, self._words), self)
        job.returned.connect(self._offer)
        job.failed.connect(self._fail)
        job.start()

    def rank(self) -> None:
        """Rank anew, as the fields say."""
        try:
            question = self.form.question()
        except BenchwrightError as error:
            self._fail(error)
            return
        workstation, words = self._workstation, self._words
        job = self._job = Job(lambda: workstation.rank(words, question), self)
        job.returned.connect(lambda found: self._show(found) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def picture(self) -> QPixmap:
        """Return the ranking as a picture that stands alone."""
        sheet = QWidget()
        rows = QVBoxLayout(sheet)
        rows.setContentsMargins(SPACE[3], SPACE[3], SPACE[3], SPACE[3])
        rows.setSpacing(SPACE[1])
        if self.ranking is not None:
            table = RankTable()
            table.show_ranking(self.ranking)
            height = table.horizontalHeader().height() + table.verticalHeader().length() + 2 * table.frameWidth()
            table.setFixedSize(PICTURE_WIDTH - 2 * SPACE[3], height)
            rows.addWidget(Text(title(self.ranking), font=text_font(TextSize.HEADING, bold=True)))
            rows.addWidget(table)
            rows.addWidget(Text(f"Runs: {', '.join(self._words)}", Tone.MUTED))
            for line in closing_lines(self.ranking):
                rows.addWidget(Text(line, Tone.MUTED))
        sheet.setFixedSize(PICTURE_WIDTH, rows.heightForWidth(PICTURE_WIDTH))
        picture = QPixmap(sheet.size() * DENSITY)
        picture.setDevicePixelRatio(DENSITY)
        sheet.render(picture)
        sheet.deleteLater()
        return picture

    def export_to(self, path: Path) -> None:
        """Write the ranking to `path`: a picture, or a table where it ends in .csv."""
        if self.ranking is None:
            return
        content = ranking_csv(self.ranking).encode() if path.suffix.lower() == ".csv" else png(self.picture())
        job = Job(lambda: write_whole(path, content), self)
        job.returned.connect(lambda written: self.notice.say("good", f"Written: {written}"))
        job.failed.connect(self.notice.say_error)
        job.start()

    def read_prices(self, path: Path) -> None:
        """Take the prices in a CSV file."""
        job = Job(lambda: read_prices(path), self)
        job.returned.connect(self.form.take_prices)
        job.failed.connect(self.notice.say_error)
        job.start()

    def _ask_for_prices(self) -> None:
        chooser = QFileDialog(self, "Prices")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.setNameFilters(["Tables (*.csv)"])
        chooser.fileSelected.connect(lambda path: self.read_prices(Path(path)))
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def copy(self) -> None:
        """Put the table on the clipboard for a spreadsheet."""
        QGuiApplication.clipboard().setText(sheet_text(self.table.texts()))

    def _offer(self, choices: list[tuple[str, str, str, Labels]]) -> None:
        self.notice.hide()
        self.form.offer(choices)
        self.rank()

    def _show(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.notice.hide()
        self.heading.setText(title(ranking))
        self.table.show_ranking(ranking)
        self.form.show_margin(ranking)
        self.notes.setText("\n".join(closing_lines(ranking)))
        self._ready(shown=True)

    def _fail(self, error: BenchwrightError) -> None:
        self.ranking = None
        self.notice.say_error(error)
        self._ready(shown=False)

    def _ready(self, *, shown: bool) -> None:
        for widget in (self.heading, self.table, self.notes):
            widget.setVisible(shown)
        for button in (self.copy_button, self.export_button):
            button.setEnabled(shown)

    def _ask_export(self) -> None:
        chooser = QFileDialog(self, "Export", "ranking.png")
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setNameFilters(["Picture (*.png)", "Table (*.csv)"])
        chooser.fileSelected.connect(lambda path: self.export_to(Path(path)))
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def _arrange(self) -> None:
        self.setWindowTitle("Rank")
        fit(self, SIZE)
        self._ready(shown=False)
        for button, does, what in (
            (self.copy_button, self.copy, "The table, for a spreadsheet"),
            (self.export_button, self._ask_export, "Write the ranking as a picture or a table"),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(lambda _checked, do=does: do())
            set_tool_tip(button, what)
        self.close_button.setAutoDefault(False)
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
        rows.addWidget(Text("Rank", font=text_font(TextSize.HEADING, bold=True)))
        for widget in (self.form, self.notice, self.heading):
            rows.addWidget(widget)
        rows.addWidget(self.table, 1)
        rows.addWidget(self.notes)
        rows.addStretch(0)
        rows.addLayout(foot)


def choices_of(workstation: Workstation, words: Sequence[str]) -> list[tuple[str, str, str, Labels]]:
    """Return the metrics of some runs: in words, and step, name and labels."""
    found: dict[tuple[str, str, Labels], str] = {}
    for word in words:
        for one in summaries(_record(workstation, word)):
            key = (one.step, one.metric.name, one.labels)
            found.setdefault(key, f"{metric_text(one.metric, one.labels)} · {one.step}")
    return [(words_of, *key) for key, words_of in list(found.items())[:MOST_METRICS]]


def _record(workstation: Workstation, word: str) -> RunRecord:
    return workstation.joined_record(word)


def png(picture: QPixmap) -> bytes:
    """Return a picture as the content of a PNG file."""
    from PySide6.QtCore import QBuffer, QIODevice

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    return bytes(buffer.data().data())


def show_ranking(workstation: Workstation, words: Sequence[str], parent: QWidget) -> RankDialog:
    """Open a window that ranks `words` over `parent`; it goes when it is closed."""
    dialog = RankDialog(workstation, words, parent)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog
