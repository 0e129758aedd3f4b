"""Pane that ranks runs by chosen criteria and exports the ranking as a picture or CSV."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QPushButton, QWidget

from app.distributions.studies import StudyKind
from app.output import write_whole
from app.ranking.candidates import read_prices
from app.ranking.ranking import Ranking
from app.ranking.report import closing_lines, ranking_csv, title
from app.records import RunRecord
from app.services import Workstation
from app.summary import summaries
from suites.errors import BenchwrightError
from suites.quantities import metric_text
from suites.vocab import Labels
from widgets.compare.compare_table import WIDTH, rendered
from widgets.compare.rank_form import RankForm, RankTable
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, row_in, scrolled
from widgets.parts.dialogs import ask_for_file, button_row
from widgets.parts.images import png
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.plots.studies import RunsPane
from widgets.theme import SPACE, TextSize, text_font

MOST_METRICS = 200


class RankPane(RunsPane):
    """Criteria above, ranking below, of the runs of show_runs(); reads in the background when it is seen."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(StudyKind.RANK, workstation)
        self.ranking: Ranking | None = None
        self.form = RankForm()
        self.table = RankTable()
        self.heading = Text("", font=text_font(TextSize.BODY, bold=True))
        self.notes = Text("", Tone.MUTED)
        self.copy_button = QPushButton("Copy")
        self.export_button = QPushButton("Export…")
        self._arrange()
        self.form.changed.connect(self.rank)
        self.form.table_button.setAutoDefault(False)
        self.form.table_button.clicked.connect(lambda _checked: self._ask_for_prices())

    def _read(self) -> None:
        workstation, runs = self._workstation, self._runs
        self._start(lambda: choices_of(map(workstation.joined_record, runs)), self._offer)

    def rank(self) -> None:
        """Rank by the current criteria."""
        self._job = None  # the ranking of older criteria would replace the error below
        try:
            question = self.form.question()
        except BenchwrightError as error:
            self._fail(error)
            return
        workstation, runs = self._workstation, self._runs
        self._start(lambda: workstation.rank(runs, question), self._show)

    def picture(self) -> QPixmap:
        """Return the ranking as a self-contained picture."""
        sheet = QWidget()
        rows = column_in(sheet, SPACE[1], (SPACE[3], SPACE[3], SPACE[3], SPACE[3]))
        if self.ranking is not None:
            table = RankTable()
            table.show_ranking(self.ranking)
            table.setFixedSize(WIDTH - 2 * SPACE[3], table.whole_height())
            rows.addWidget(Text(title(self.ranking), font=text_font(TextSize.HEADING, bold=True)))
            fill(rows, table, Text(f"Runs: {', '.join(self._runs)}", Tone.MUTED))
            for line in closing_lines(self.ranking):
                rows.addWidget(Text(line, Tone.MUTED))
        return rendered(sheet, rows)

    def export_to(self, path: Path) -> None:
        """Write the ranking to `path`: CSV for .csv, else PNG."""
        if (ranking := self.ranking) is None:
            return
        content: Callable[[], bytes]
        if path.suffix.lower() == ".csv":
            content = lambda: ranking_csv(ranking).encode()  # noqa: E731 - in the background: it imports pandas
        else:
            content = partial(png, self.picture().toImage())
        BackgroundJob(lambda: write_whole(path, content()), self).start(
            lambda written: self.notice.show_message("good", f"Written: {written}"), self.notice.show_error
        )

    def read_prices(self, path: Path) -> None:
        """Read the prices from a CSV file."""
        BackgroundJob(lambda: read_prices(path), self).start(self.form.take_prices, self.notice.show_error)

    def _ask_for_prices(self) -> None:
        ask_for_file(self, "Prices", self.read_prices, ["Tables (*.csv)"])

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

    def _clear(self) -> None:
        self.ranking = None
        self._ready(shown=False)

    def _ready(self, *, shown: bool) -> None:
        for widget in (self.heading, self.table, self.notes):
            widget.setVisible(shown)
        for button in (self.copy_button, self.export_button):
            button.setEnabled(shown)

    def _ask_export(self) -> None:
        ask_for_file(self, "Export", self.export_to, ["Image (*.png)", "Table (*.csv)"], save_as="ranking.png")

    def _arrange(self) -> None:
        self._ready(shown=False)
        for button, action, tip in (
            (self.copy_button, self.table.copy, "Copy the table as text"),
            (self.export_button, self._ask_export, "Write the ranking as an image or a table"),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(lambda _checked, action=action: action())
            set_tool_tip(button, tip)
        foot = button_row(self.copy_button, self.export_button, None)
        result = QWidget()
        fill(column_in(result, SPACE[1]), self.notice, self.heading, (self.table, 1), self.notes, foot)
        fill(row_in(self, SPACE[3]), (scrolled(self.form), 2), (result, 3))


def choices_of(records: Iterable[RunRecord]) -> list[tuple[str, str, str, Labels]]:
    """Return the metrics of some runs as (title, step, name, labels)."""
    found: dict[tuple[str, str, Labels], str] = {}
    for record in records:
        for one in summaries(record):
            key = (one.step, one.metric.name, one.labels)
            found.setdefault(key, f"{metric_text(one.metric, one.labels)} · {one.step}")
    return [(title, *key) for key, title in list(found.items())[:MOST_METRICS]]
