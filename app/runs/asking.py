"""Questions of a run whose hosts are reached side by side: one at a time, and none once the run has ended."""

import threading
from collections.abc import Callable
from typing import TypeVar

from app.runs.mailbox import Mailbox
from remote.questions import (
    Asker,
    ConsentQuestion,
    HostKeyQuestion,
    LocalProgramQuestion,
    LossQuestion,
    SecretQuestion,
)

T = TypeVar("T")


class OneAtATime:
    """Passes questions on to `asker`, one after another.

    Until the trials begin, the thread that hands on the events asks, so that Ctrl+C at a question ends the run. Later a
    question keeps none of the other hosts waiting. A key that was accepted once is not asked about again: two hosts may
    be reached through one jump host.
    """

    def __init__(self, asker: Asker, mailbox: Mailbox) -> None:
        self.begun = False
        self.asked = 0
        """Questions so far."""
        self._asker = asker
        self._mailbox = mailbox
        self._turn = threading.RLock()
        self._accepted: set[tuple[str, int, str]] = set()

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Ask whether the key is to be trusted."""
        key = (question.address, question.port, question.fingerprint)
        accepted = self._ask(lambda: key in self._accepted or self._asker.host_key(question), otherwise=False)
        if accepted:
            self._accepted.add(key)
        return accepted

    def secret(self, question: SecretQuestion) -> str | None:
        """Ask for a secret."""
        return self._ask(lambda: self._asker.secret(question), otherwise=None)

    def remember(self, question: SecretQuestion) -> bool:
        """Ask whether to keep a secret that has worked."""
        return self._ask(lambda: self._asker.remember(question), otherwise=False)

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Ask whether a program may run."""
        return self._ask(lambda: self._asker.local_program(question), otherwise=False)

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Ask for what confirms a loss."""
        return self._ask(lambda: self._asker.confirm_loss(question), otherwise=None)

    def consent(self, question: ConsentQuestion) -> bool:
        """Ask whether the user agrees to what a plan does."""
        return self._ask(lambda: self._asker.consent(question), otherwise=False)

    def _ask(self, ask: Callable[[], T], otherwise: T) -> T:
        if threading.get_ident() == self._mailbox.reader:  # it must not wait for a turn that it has to grant
            self.asked += 1
            return ask()
        with self._turn:
            if self._mailbox.closed:
                return otherwise
            self.asked += 1
            try:
                return ask() if self.begun else self._mailbox.call(ask)
            except TimeoutError:  # nobody is there any more
                return otherwise
