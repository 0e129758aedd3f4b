"""Asks the user what a worker thread needs to know: the thread waits, the window does not."""

import logging
import threading
from collections import deque
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget

from app.questions import ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion
from widgets import jobs
from widgets.consent_dialog import ConsentDialog
from widgets.hosts.loss_dialog import LossDialog
from widgets.question_dialogs import HostKeyDialog, LocalProgramDialog, SecretDialog

log = logging.getLogger(__name__)

LOOK = 0.1
"""Seconds between two looks of a waiting worker thread at whether its job was cancelled."""


Asked = HostKeyQuestion | SecretQuestion | LocalProgramQuestion | LossQuestion | ConsentQuestion
Shown = HostKeyDialog | SecretDialog | LocalProgramDialog | LossDialog | ConsentDialog


@dataclass(slots=True, eq=False)
class _Pending:
    """A question, and the thread that waits for its answer. Unanswered means refused."""

    question: Asked
    answered: threading.Event = field(default_factory=threading.Event)
    accepted: bool = False
    secret: str | None = None
    keep: bool = False


class WindowAsker(QObject):
    """An Asker that shows dialogs, one at a time, over whatever is in front.

    Called on worker threads. A question is refused when its job is cancelled or the window closes.
    """

    asked = Signal(object)
    """The dialog that has just been opened."""

    _arrived = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._closed = threading.Event()
        self._waiting: deque[_Pending] = deque()
        self._shown: tuple[_Pending, Shown] | None = None
        self._to_keep: set[SecretQuestion] = set()
        self._withdrawal = QTimer(self, interval=int(LOOK * 1000))
        self._withdrawal.timeout.connect(self._withdraw)
        self._arrived.connect(self._enqueue, Qt.ConnectionType.QueuedConnection)

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the user trusts the key. Blocks the worker thread."""
        return self._ask(question).accepted

    def secret(self, question: SecretQuestion) -> str | None:
        """Return what the user typed, or None where they gave up. Blocks the worker thread."""
        answer = self._ask(question)
        (self._to_keep.add if answer.keep else self._to_keep.discard)(_first(question))
        return answer.secret

    def remember(self, question: SecretQuestion) -> bool:
        """Return whether the box was ticked when the question was last answered."""
        return _first(question) in self._to_keep

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether the user lets the program run. Blocks the worker thread."""
        return self._ask(question).accepted

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Return what the user typed to confirm the loss, or None where they gave up. Blocks the worker thread."""
        return self._ask(question).secret

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether the user agrees to what a plan does. Blocks the worker thread."""
        return self._ask(question).accepted

    def close(self) -> None:
        """Refuse everything asked so far and from now on: the window closes."""
        self._closed.set()
        for pending in self._waiting:
            pending.answered.set()
        self._waiting.clear()
        if self._shown is not None:
            self._shown[1].reject()

    def _ask(self, question: Asked) -> _Pending:
        pending = _Pending(question)
        job = jobs.current()
        if self._closed.is_set() or QApplication.instance() is None:
            return pending
        self._arrived.emit(pending)
        while not pending.answered.wait(LOOK):
            if self._closed.is_set() or (job is not None and job.cancelled):
                pending.answered.set()
                return _Pending(question)
        return pending

    def _enqueue(self, pending: _Pending) -> None:
        self._waiting.append(pending)
        self._show_next()

    def _show_next(self) -> None:
        while self._shown is None and self._waiting:
            pending = self._waiting.popleft()
            if not (pending.answered.is_set() or self._closed.is_set()):
                self._show(pending)

    def _show(self, pending: _Pending) -> None:
        parent = QApplication.activeModalWidget() or self._window
        dialog = _dialog(pending.question, parent)
        self._shown = (pending, dialog)
        dialog.finished.connect(self._answer)
        self._withdrawal.start()
        dialog.open()
        self.asked.emit(dialog)

    def _withdraw(self) -> None:
        """Take the dialog away when the one who asked does not wait any more."""
        if self._shown is not None and self._shown[0].answered.is_set():
            self._shown[1].reject()

    def _answer(self) -> None:
        if self._shown is None:
            return
        pending, dialog = self._shown
        self._shown = None
        self._withdrawal.stop()
        if dialog.result() == dialog.DialogCode.Accepted:
            pending.accepted = True
            if isinstance(dialog, SecretDialog):
                pending.secret, pending.keep = dialog.secret(), dialog.keep.isChecked()
            elif isinstance(dialog, LossDialog):
                pending.secret = dialog.typed()
        pending.answered.set()
        dialog.deleteLater()
        self._show_next()


def _dialog(question: Asked, parent: QWidget) -> Shown:
    if isinstance(question, HostKeyQuestion):
        return HostKeyDialog(question, parent)
    if isinstance(question, SecretQuestion):
        return SecretDialog(question, parent)
    if isinstance(question, LossQuestion):
        return LossDialog(question, parent)
    if isinstance(question, ConsentQuestion):
        return ConsentDialog(question, parent)
    return LocalProgramDialog(question, parent)


def _first(question: SecretQuestion) -> SecretQuestion:
    """Return the question as it was asked the first time."""
    return replace(question, attempt=1)
