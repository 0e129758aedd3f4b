"""Reads what runs of before verdicts were kept are judged to be: in the background, the newest first."""

from collections.abc import Generator, Iterable, Sequence

from PySide6.QtCore import QObject, Signal

from app.events import State
from app.records import RunSummary
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.collecting import collection_paused
from widgets.jobs import Job


class VerdictReader(QObject):
    """Judges one run after the other, each once; nothing is stored. Not while something is measured: it computes."""

    judged = Signal(object)  # a RunSummary with its verdict

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._tried: set[str] = set()
        self._job: Job | None = None

    def read(self, runs: Iterable[RunSummary]) -> None:
        """Judge those of `runs` that have no verdict."""
        found = list(runs)
        self.stop()
        measuring = any(run.state is State.RUNNING and not run.left for run in found)
        wanted = [
            run for run in found if not run.trust and run.state is not State.RUNNING and run.id not in self._tried
        ]
        if measuring or not wanted:
            return
        ids = [run.id for run in sorted(wanted, key=lambda run: run.started, reverse=True)]
        self._job = Job(lambda: _summaries(self._workstation, ids), self)
        self._job.yielded.connect(self._take)
        self._job.start()

    def stop(self) -> None:
        """End after the run that is being judged now."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _take(self, run: RunSummary | str) -> None:
        if isinstance(run, str):
            self._tried.add(run)
            return
        self._tried.add(run.id)
        if run.trust:
            self.judged.emit(run)


def _summaries(workstation: Workstation, ids: Sequence[str]) -> Generator[RunSummary | str]:
    """Yield each run with its verdict, or its id alone where it cannot be read; opening it tells why."""
    for run_id in ids:
        try:
            with collection_paused():
                found = workstation.load(run_id).summary
        except BenchwrightError:
            yield run_id
        else:
            yield found
