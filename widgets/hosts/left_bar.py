"""A quiet bar for detached runs: go on with one, end it, or forget it."""

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.runs.left import LeftRun
from app.runs.left_words import left_detail, left_text
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.notice import Picture
from widgets.parts.question import Question
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, restyle


class LeftBar(QFrame):
    """Shows the newest of them. Hidden while there is none."""

    attach_requested = Signal(object)  # the LeftRun
    stop_requested = Signal(object)

    def __init__(self, workstation: Workstation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._left: LeftRun | None = None
        self.setObjectName("notice")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        self.attach_button = QPushButton("Attach")
        self.stop_button = QPushButton("Stop it")
        self.forget_button = QPushButton("Forget…")
        set_tool_tip(self.attach_button, "Read what was measured meanwhile, and run the rest of the plan")
        set_tool_tip(self.stop_button, "End the trial on the host, and the run")
        set_tool_tip(self.forget_button, "Give the run up without looking at its host")
        self.attach_button.clicked.connect(lambda: self._request(self.attach_requested))
        self.stop_button.clicked.connect(lambda: self._request(self.stop_requested))
        self.forget_button.clicked.connect(self._ask_to_forget)
        self._arrange()
        self.hide()

    def refresh(self) -> None:
        """Read anew which runs there are; of a library that can only be read, none can be gone on with."""
        workstation = self._workstation
        job = Job(lambda: workstation.left_runs() if workstation.read_only() is None else [], self)
        job.returned.connect(self.show_left)
        job.failed.connect(lambda _error: self.hide())  # the hosts page says what is wrong with the library
        job.start()

    def show_left(self, left: list[LeftRun]) -> None:
        """Offer the newest of `left`; hide where there is none."""
        self._left = left[0] if left else None
        self.setVisible(bool(left))
        if self._left is None:
            return
        more = "" if len(left) == 1 else f" And {len(left) - 1} more."
        self.message.setText(f"{left_text(self._left)}.{more}")
        self.detail.setText(left_detail(self._left))
        self.setAccessibleName(f"{self.message.text()} {self.detail.text()}")
        for button in (self.attach_button, self.stop_button, self.forget_button):
            button.setEnabled(True)

    def _request(self, signal: SignalInstance) -> None:
        if self._left is not None:
            left, self._left = self._left, None
            self.hide()
            signal.emit(left)

    def _ask_to_forget(self) -> None:
        left = self._left
        if left is None:
            return
        question = Question(
            "Forget this run?",
            "The run ends as partial. A trial that is under way on its host continues until it ends by itself. "
            "Remove what it leaves there with Hosts, Leftovers.",
            "Forget it",
            self,
        )
        question.accepted.connect(lambda: self._forget(left))
        question.finished.connect(question.deleteLater)
        question.open()

    def _forget(self, left: LeftRun) -> None:
        workstation = self._workstation
        job = Job(lambda: workstation.forget(left.id), self)
        job.failed.connect(self._say_error)
        job.finished.connect(self.refresh)
        job.start()

    def _say_error(self, error: BenchwrightError) -> None:
        """Say why the run could not be given up."""
        self._left = None
        self.message.setText(error.message)
        self.detail.setText(error.remedy)
        for button in (self.attach_button, self.stop_button, self.forget_button):
            button.setEnabled(False)
        self.show()

    def _arrange(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.message)
        words.addWidget(self.detail)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        row.setSpacing(SPACE[1])
        row.addWidget(Picture("info"))
        row.addLayout(words, 1)
        for button in (self.attach_button, self.stop_button, self.forget_button):
            row.addWidget(button)
        restyle(self, "level", "info")
