"""Unknown host keys of many hosts: read all of them first, then trust them with one answer."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

from remote.questions import Asker, DelegatingAsker, HostKeyQuestion, RefusingAsker
from remote.session import Session
from suites.errors import BenchwrightError

AT_ONCE = 16
"""Hosts connected to at once."""

Connect = Callable[[str, Asker], Session]


class TrustingAsker(DelegatingAsker):
    """Asker that trusts the keys of given questions: the same key at the same address. It passes on all others."""

    def __init__(self, asker: Asker, trusted: Collection[HostKeyQuestion] = ()) -> None:
        super().__init__(asker)
        self._trusted = {_identity(question) for question in trusted}

    def trust(self, questions: Collection[HostKeyQuestion]) -> None:
        """Trust the keys of more questions."""
        self._trusted |= {_identity(question) for question in questions}

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the key is trusted; ask for another one."""
        return _identity(question) in self._trusted or super().host_key(question)


def _identity(question: HostKeyQuestion) -> tuple[str, int, str]:
    return question.address, question.port, question.fingerprint


class _RecordingAsker(RefusingAsker):
    """Asker that refuses everything and keeps the questions about host keys."""

    def __init__(self) -> None:
        self.questions: list[HostKeyQuestion] = []

    def host_key(self, question: HostKeyQuestion) -> bool:
        self.questions.append(question)
        return False


def unknown_host_keys(
    hosts: Sequence[str], connect: Connect, trusted: Collection[HostKeyQuestion] = ()
) -> list[HostKeyQuestion]:
    """Return the question about each unknown key of `hosts` beside those `trusted`, each once; connects to every host.

    Behind a jump host whose key is unknown, only that of the jump host is found. Hosts that cannot be reached have
    none: the run reports why.
    """
    recording = _RecordingAsker()
    asker = TrustingAsker(recording, trusted)

    def look(host: str) -> None:
        with suppress(BenchwrightError), closing(connect(host, asker)):
            pass

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(look, hosts))
    return list({_identity(question): question for question in recording.questions}.values())
