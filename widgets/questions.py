"""Ask the user on behalf of worker threads: the thread blocks, the window does not."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget

from app.questions import Asker, ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion
from widgets import jobs
from widgets.host_keys_dialog import HostKeysDialog, HostKeysQuestion
from widgets.question_dialogs import ConsentDialog, HostKeyDialog, LocalProgramDialog, LossDialog, SecretDialog

POLL_INTERVAL = 0.1
"""Seconds between checks of a waiting worker thread for the cancellation of its job."""


Question = HostKeyQuestion | HostKeysQuestion | SecretQuestion | LocalProgramQuestion | LossQuestion | ConsentQuestion
Dialog = HostKeyDialog | HostKeysDialog | SecretDialog | LocalProgramDialog | LossDialog | ConsentDialog


@dataclass(slots=True, eq=False)
class _Pending:
    """A question and its answer. Unanswered means refused."""

    question: Question
    answered: threading.Event = field(default_factory=threading.Event)
    accepted: bool = False
    secret: str | None = None
    keep: bool = False


class WindowAsker(QObject, Asker):
    """Asker that shows dialogs, one at a time, over the active modal dialog or the window.

    Called on worker threads. A question is refused when its job is cancelled or the window closes.
    """

    asked = Signal(object)
    """Emitted with a dialog that has been opened."""

    asking_changed = Signal()

    _arrived = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._closed = threading.Event()
        self._waiting: deque[_Pending] = deque()
        self._shown: tuple[_Pending, Dialog] | None = None
        self._remembered: set[SecretQuestion] = set()
        self._withdrawal = QTimer(self, interval=int(POLL_INTERVAL * 1000))
        self._withdrawal.timeout.connect(self._withdraw)
        self._arrived.connect(self._enqueue, Qt.ConnectionType.QueuedConnection)

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the user trusts the key. Blocks the worker thread."""
        return self._ask(question).accepted

    def host_keys(self, keys: Sequence[HostKeyQuestion]) -> bool:
        """Return whether the user trusts all of the keys. Blocks the worker thread."""
        return self._ask(HostKeysQuestion(tuple(keys))).accepted

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the user's input, or None if declined. Blocks the worker thread."""
        answer = self._ask(question)
        (self._remembered.add if answer.keep else self._remembered.discard)(_without_attempt(question))
        return answer.secret

    def remember(self, question: SecretQuestion) -> bool:
        """Return whether the user chose to store the last answer to `question`."""
        return _without_attempt(question) in self._remembered

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether the user allows the program to run. Blocks the worker thread."""
        return self._ask(question).accepted

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Return the user's confirmation, or None if declined. Blocks the worker thread."""
        return self._ask(question).secret

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether the user consents to the plan. Blocks the worker thread."""
        return self._ask(question).accepted

    def close(self) -> None:
        """Refuse all pending and future questions: the window closes."""
        self._closed.set()
        for pending in self._waiting:
            pending.answered.set()
        self._waiting.clear()
        if self._shown is not None:
            self._shown[1].reject()

    @property
    def asking(self) -> frozenset[str]:
        """The hosts, jump hosts and plans that open questions are about."""
        shown = [] if self._shown is None else [self._shown[0]]
        return frozenset(name for pending in (*shown, *self._waiting) for name in _about(pending.question))

    def _ask(self, question: Question) -> _Pending:
        pending = _Pending(question)
        job = jobs.current()
        if self._closed.is_set() or QApplication.instance() is None:
            return pending
        self._arrived.emit(pending)
        while not pending.answered.wait(POLL_INTERVAL):  # polled: cancelling a job does not set the event
            if self._closed.is_set() or (job is not None and job.cancelled):
                pending.answered.set()
                return _Pending(question)
        return pending

    def _enqueue(self, pending: _Pending) -> None:
        self._waiting.append(pending)
        self._show_next()
        self.asking_changed.emit()

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
        self.asking_changed.emit()

    def _withdraw(self) -> None:
        """Close the dialog when its worker thread no longer waits."""
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
        self.asking_changed.emit()


def _about(question: Question) -> tuple[str, ...]:
    if isinstance(question, ConsentQuestion):
        return (question.plan,)
    if isinstance(question, HostKeysQuestion):
        return tuple(key.host for key in question.keys)
    via = question.via if isinstance(question, HostKeyQuestion) else None
    return (question.host, *filter(None, (via,)))


def _dialog(question: Question, parent: QWidget) -> Dialog:
    if isinstance(question, HostKeyQuestion):
        return HostKeyDialog(question, parent)
    if isinstance(question, HostKeysQuestion):
        return HostKeysDialog(question, parent)
    if isinstance(question, SecretQuestion):
        return SecretDialog(question, parent)
    if isinstance(question, LossQuestion):
        return LossDialog(question, parent)
    if isinstance(question, ConsentQuestion):
        return ConsentDialog(question, parent)
    return LocalProgramDialog(question, parent)


def _without_attempt(question: SecretQuestion) -> SecretQuestion:
    """Return `question` as its first attempt, to use as a key."""
    return replace(question, attempt=1)
