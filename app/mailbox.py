"""Where the threads of a run leave what they read, for the one that hands it on in order."""

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.events import Event, OutputRead, TelemetryRead
from remote.job import Job
from remote.telemetry import Telemetry
from suites.errors import BenchwrightError


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job has ended, or can no longer be followed because of `error`."""

    job: Job
    error: BenchwrightError | None = None


@dataclass(frozen=True, slots=True)
class TelemetryEnded:
    """A host is no longer watched because of `error`."""

    host: str
    error: BenchwrightError


Letter = Event | JobEnded | TelemetryEnded


class Mailbox:
    """An unbounded queue of letters, and the threads that fill it."""

    def __init__(self) -> None:
        self._letters: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def take(self, timeout: float) -> Iterator[Letter]:
        """Yield what has arrived, waiting up to `timeout` seconds for the first."""
        try:
            yield self._letters.get(timeout=timeout)
            while True:
                yield self._letters.get_nowait()
        except queue.Empty:
            return

    def follow(self, job: Job, trial: int, prefix: str = "") -> None:
        """Hand on the output of `job` as it arrives; the streams of a server end get a `prefix`."""

        def read() -> None:
            error: BenchwrightError | None = None
            try:
                for chunk in job.follow():
                    if chunk is not None:
                        self._letters.put(OutputRead(trial, prefix + chunk.stream, chunk.data))
            except BenchwrightError as caught:
                error = caught
            finally:
                self._letters.put(JobEnded(job, error))

        self._start(read, f"follow {job.pid}")

    def watch(self, host: str, telemetry: Telemetry, stopped: Callable[[], bool]) -> None:
        """Hand on the telemetry of `host` until it is stopped."""

        def read() -> None:
            try:
                while not stopped():
                    samples = telemetry.read(timeout=0.5)
                    if samples:
                        self._letters.put(TelemetryRead(host, samples))
            except BenchwrightError as caught:
                self._letters.put(TelemetryEnded(host, caught))

        self._start(read, f"telemetry {host}")

    def _start(self, work: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout: float) -> None:
        """Wait for the threads to end, each for at most `timeout` seconds."""
        for thread in self._threads:
            thread.join(timeout)
