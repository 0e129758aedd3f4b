"""Facts of many hosts at once: each host has a thread of its own, so that one that does not answer delays no other."""

import logging
import queue
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress

from app.relay_asker import RelayAsker, RelayedQuestion
from remote.questions import Asker
from suites.errors import BenchwrightError
from suites.facts import Facts

log = logging.getLogger(__name__)

AT_ONCE = 16
"""Hosts that are read at once; it is also the most connections that are opened at once to one server."""

Reading = tuple[str, Facts | BenchwrightError]
"""A host with its facts, or why they were not read."""


def facts_of_all(
    hosts: Iterable[str], read: Callable[[str, Asker], Facts], asker: Asker, at_once: int = AT_ONCE
) -> Generator[Reading]:
    """Read the facts of `hosts`, `at_once` of them at a time; yield each host once, as soon as it is read.

    `read` ends in time by the limits of a connection and of the probe. Questions are asked on the thread that iterates.
    If the iteration is given up, waiting questions are refused and no further host is read.
    """
    reader = _Reader(dict.fromkeys(hosts), read, asker)
    threads = reader.start(at_once)
    try:
        yield from reader.readings()
        for thread in threads:
            thread.join()
    finally:
        reader.close()


class _Reader:
    """The hosts to read, and an inbox for what their threads report and ask."""

    def __init__(self, hosts: Iterable[str], read: Callable[[str, Asker], Facts], asker: Asker) -> None:
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for host in hosts:
            self._waiting.put(host)
        self._total = self._waiting.qsize()
        self._inbox: queue.SimpleQueue[Reading | RelayedQuestion] = queue.SimpleQueue()
        self._read, self._asker = read, RelayAsker(asker, self._post)
        self._lock, self._closed = threading.Lock(), False

    def start(self, at_once: int) -> list[threading.Thread]:
        """Start the threads; they are daemons, so that a host that hangs does not keep the program from ending."""
        count = max(1, min(at_once, self._total))
        threads = [threading.Thread(target=self._work, name=f"facts {n}", daemon=True) for n in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def readings(self) -> Generator[Reading]:
        """Yield each host once; ask the questions of its threads meanwhile."""
        left = self._total
        while left:
            found = self._inbox.get()
            if isinstance(found, RelayedQuestion):
                found.ask()
            else:
                left -= 1
                yield found

    def close(self) -> None:
        """Refuse the waiting questions and those that follow."""
        with self._lock:
            self._closed = True
        with suppress(queue.Empty):
            while True:
                found = self._inbox.get_nowait()
                if isinstance(found, RelayedQuestion):
                    found.done.set()

    def _post(self, question: RelayedQuestion) -> None:
        with self._lock:
            if self._closed:
                question.done.set()
            else:
                self._inbox.put(question)

    def _work(self) -> None:
        with suppress(queue.Empty):
            while not self._closed:
                host = self._waiting.get_nowait()
                self._inbox.put((host, self._facts(host)))

    def _facts(self, host: str) -> Facts | BenchwrightError:
        try:
            return self._read(host, self._asker)
        except BenchwrightError as error:
            return error
        except Exception as error:
            log.exception("facts of %s", host)
            return BenchwrightError(f"Internal error: {type(error).__name__}.", "See the log.")
