"""Results of a run at a glance, to copy as text or as a picture."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from app.plans.plan import host_label
from app.services import Workstation
from app.step_results import ResultCard, StepResult
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.names import MARKS
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, figure_font, text_font


class ResultCardView(QFrame):
    """Card of a run: each result with its tail latency, verdict and limit."""

    details_requested = Signal()
    copied = Signal(str)  # what was copied, for the status bar
    shown = Signal(str)  # the id of the run whose card is complete

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self._card: ResultCard | None = None
        self._reading: BackgroundJob | None = None
        self._ticket: Callable[[], str] | None = None
        self._run = ""
        self._title = Text(font=text_font(TextSize.TITLE, bold=True))
        self._ending, self._hosts = Text(tone=Tone.ERROR), Text(tone=Tone.MUTED)
        self._basis = Text(tone=Tone.MUTED)
        self._results = QWidget()
        self.copy_text_button = push_button("Copy as text", self.copy_text, tip="Copy the results as text (Ctrl+C)")
        self.copy_text_button.setShortcut("Ctrl+C")
        self.copy_picture_button = push_button(
            "Copy as image", self.copy_picture, tip="Copy the card, 1200 x 630 pixels (Ctrl+Shift+C)"
        )
        self.copy_picture_button.setShortcut("Ctrl+Shift+C")
        self.copy_ticket_button = push_button(
            "Copy ticket text", self.copy_ticket, tip="Copy results, limit and commands as Markdown, without names"
        )
        self.details_button = push_button("Details", self.details_requested, tip="Show the plots and the trials")
        copies = (self.copy_text_button, self.copy_picture_button, self.copy_ticket_button)
        buttons = in_row(*copies, self.details_button, None, spacing=SPACE[1])
        self._rows = column_in(self, SPACE[1], (SPACE[4], SPACE[3], SPACE[4], SPACE[3]))
        fill(self._rows, self._title, self._ending, self._hosts, self._results, self._basis, None, buttons)

    @property
    def card(self) -> ResultCard | None:
        """The card shown, or None while it is read."""
        return self._card

    def show_run(self, workstation: Workstation, run_id: str) -> None:
        """Read the run in the background and show its results; a run that is shown already stays."""
        if run_id == self._run:
            if self._card is not None:
                self.shown.emit(run_id)
            return
        self._card = None
        self._run = run_id
        self._ticket = lambda: workstation.redacted_ticket(run_id)
        job = self._reading = BackgroundJob(lambda: workstation.result_card(run_id), self)
        job.returned.connect(lambda card: self._take(run_id, card) if job is self._reading else None)
        job.failed.connect(lambda _error: self._forget(job))
        job.start()

    def _take(self, run_id: str, card: ResultCard) -> None:
        self.show_card(card)
        self.shown.emit(run_id)

    def _forget(self, job: BackgroundJob) -> None:
        """Read the run again the next time; the page still shows it without a card."""
        if job is self._reading:
            self._run = ""

    def show_card(self, card: ResultCard) -> None:
        """Show `card`."""
        self._card = card
        self._title.setText(card.title)
        self._ending.setText(card.ending)
        self._ending.setVisible(bool(card.ending))
        self._hosts.setText("\n".join(card.hosts))
        self._basis.setText(card.basis)
        shown = QWidget()
        grid = QGridLayout(shown)
        grid.setContentsMargins(0, SPACE[1], 0, SPACE[1])
        grid.setHorizontalSpacing(SPACE[3])
        grid.setVerticalSpacing(SPACE[2])
        grid.setColumnStretch(4, 1)
        several = len(card.hosts) > 1
        for row, result in enumerate(card.results):
            _add_result(grid, row, result, named=several)
        self._rows.replaceWidget(self._results, shown)
        self._results.deleteLater()
        self._results = shown

    def copy_text(self) -> None:
        """Copy the results as text."""
        if self._card is not None:
            QGuiApplication.clipboard().setText(self._card.text)
            self.copied.emit("Results copied as text")

    def copy_picture(self) -> None:
        """Copy the card as a picture."""
        if self._card is not None:
            QGuiApplication.clipboard().setImage(QImage.fromData(self._card.picture))
            self.copied.emit("Results copied as a picture")

    def copy_ticket(self) -> None:
        """Copy results, limit and commands for a ticket, redacted; it is written in the background."""
        if self._ticket is None:
            return
        job = BackgroundJob(self._ticket, self)
        job.returned.connect(self._take_ticket)
        job.failed.connect(lambda error: self.copied.emit(str(error)))
        job.start()

    def _take_ticket(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.copied.emit("Ticket text copied, redacted")


def _add_result(grid: QGridLayout, row: int, result: StepResult, *, named: bool) -> None:
    name = f"{result.step}, {host_label(result.host)}" if named else result.step
    figure = Text(f"{result.figure} {result.interval}".strip(), font=figure_font(14, bold=True), wrap=False)
    figure.setAccessibleName(f"{name}: {result.figure}, {result.judgement}")
    mark = Text() if result.trust is None else Picture(MARKS[result.trust])
    middle, right = Qt.AlignmentFlag.AlignVCenter, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    title = QWidget()
    fill(column_in(title), Text(name, wrap=False), Text(result.metric, Tone.MUTED, wrap=False))
    grid.addWidget(title, row, 0, middle)
    grid.addWidget(figure, row, 1, right)
    grid.addWidget(Text(result.detail, Tone.MUTED, wrap=False), row, 2, middle)
    grid.addWidget(mark, row, 3, middle)
    grid.addWidget(Text(result.judgement), row, 4, middle)
