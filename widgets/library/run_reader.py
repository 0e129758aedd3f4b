"""Read stored runs in the background: the list, one complete run, and verdicts of runs without one."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from app.crosscheck.agreement import Agreement, agreements
from app.distributions.studies import StudyKind
from app.events import State
from app.library_rows import LibraryRows
from app.records import Band, RunRecord, RunSummary
from app.rejudging.recall_groups import RecallGroup, recall_groups
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob, collection_paused
from widgets.library.run_rows import LibrarySummary, Trends, summary_of, trends_of
from widgets.live.model import RunModel, StepKey
from widgets.live.replay import stored


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run as a model of the live view, with the bands of comparable baselines.

    `agreements` are the cross-checks between tools of the run, `missing` what the studies without data need. `problem`
    is why the baselines could not be read; the run is shown without them.
    """

    record: RunRecord
    model: RunModel
    bands: Mapping[StepKey, Sequence[Band]]
    problem: BenchwrightError | None = None
    agreements: tuple[Agreement, ...] = ()
    missing: Mapping[StudyKind, str] = field(default_factory=dict)


def open_run(workstation: Workstation, run_id: str) -> OpenedRun:
    """Read a run; slow for many samples."""
    with collection_paused():
        record = workstation.load(run_id)
        model = stored(record, workstation.samples(run_id), workstation.telemetry(run_id))
        return _with_bands(workstation, record, model)


def _with_bands(workstation: Workstation, record: RunRecord, model: RunModel) -> OpenedRun:
    try:
        bands, problem = workstation.bands(record.plan, record.facts_before), None
    except BenchwrightError as error:
        bands, problem = {}, error
    return OpenedRun(record, model, bands, problem, agreements(record), workstation.analyses.missing(record))


@dataclass(frozen=True, slots=True)
class LibraryRead:
    """What is read of the library at once, off the window's thread."""

    library: LibraryRows
    summary: LibrarySummary
    metrics: Mapping[str, Mapping[str, tuple[float, ...]]]  # the values by run, by metric
    newer: BenchwrightError | None
    recalls: tuple[RecallGroup, ...] = ()  # what later checks changed and the user has not dismissed


def read_library(workstation: Workstation, metrics: Iterable[str]) -> Iterator[LibraryRead | Trends]:
    """Yield the library with the values of some metrics, then the trends of its runs.

    Then make the texts to search, so that the first key does not wait for them.
    """
    with collection_paused():
        library = workstation.library()
        values = {name: workstation.metric_values(name) for name in metrics}
        recalls = recall_groups(library.rows)
        yield LibraryRead(library, summary_of(library.rows), values, workstation.read_only(), recalls)
        yield trends_of(library.rows)
        for row in library.rows:
            _ = row.searched


class VerdictReader(QObject):
    """Computes missing verdicts, one run after the other, each once; nothing is stored.

    It does nothing while a run is measured: it would take CPU from a test on this computer.
    """

    computed = Signal(object)  # a RunSummary with its verdict

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._tried: set[str] = set()
        self._job: BackgroundJob | None = None

    def read(self, runs: Iterable[RunSummary]) -> None:
        """Compute the verdicts of those of `runs` that have none."""
        found = list(runs)
        self.stop()
        measuring = any(run.state is State.RUNNING and not run.detached for run in found)
        wanted = [
            run for run in found if not run.trust and run.state is not State.RUNNING and run.id not in self._tried
        ]
        if measuring or not wanted:
            return
        ids = [run.id for run in sorted(wanted, key=lambda run: run.started, reverse=True)]
        self._job = BackgroundJob(lambda: _summaries(self._workstation, ids), self).start(yielded=self._take)

    def stop(self) -> None:
        """Stop after the current run."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _take(self, run: RunSummary | str) -> None:
        if isinstance(run, str):
            self._tried.add(run)
            return
        self._tried.add(run.id)
        if run.trust:
            self.computed.emit(run)


def _summaries(workstation: Workstation, ids: Sequence[str]) -> Generator[RunSummary | str]:
    """Yield each run with its verdict, or only its id if it cannot be read; opening it shows the error."""
    for run_id in ids:
        try:
            with collection_paused():
                found = workstation.load(run_id).summary
        except BenchwrightError:
            yield run_id
        else:
            yield found
