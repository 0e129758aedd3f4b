"""Questions of several threads, which one thread asks, one at a time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from remote.questions import Asker, ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion

T = TypeVar("T")


@dataclass(slots=True)
class RelayedQuestion:
    """A question of another thread, which waits for the answer; None, as for a refusal, without one."""

    question: Callable[[], Any]
    answer: Any = None
    done: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        """Ask the question on this thread."""
        try:
            self.answer = self.question()
        finally:
            self.done.set()


class RelayAsker(Asker):
    """Asker of several threads. `post` hands a question to the thread that asks, and must not block."""

    def __init__(self, asker: Asker, post: Callable[[RelayedQuestion], None]) -> None:
        self._asker, self._post = asker, post
        self.attended = asker.attended
        self.expected_fingerprint = asker.expected_fingerprint

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Ask whether to trust a host key."""
        return self._ask(lambda: self._asker.host_key(question))

    def secret(self, question: SecretQuestion) -> str | None:
        """Ask for a secret."""
        return self._ask(lambda: self._asker.secret(question))

    def remember(self, question: SecretQuestion) -> bool:
        """Ask whether to store a secret that has worked."""
        return self._ask(lambda: self._asker.remember(question))

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Ask whether a program may run."""
        return self._ask(lambda: self._asker.local_program(question))

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Ask for the text that confirms data loss."""
        return self._ask(lambda: self._asker.confirm_loss(question))

    def consent(self, question: ConsentQuestion) -> bool:
        """Ask for consent to what a plan does."""
        return self._ask(lambda: self._asker.consent(question))

    def _ask(self, question: Callable[[], T]) -> T:
        relayed = RelayedQuestion(question)
        self._post(relayed)
        relayed.done.wait()
        answer: T = relayed.answer
        return answer
