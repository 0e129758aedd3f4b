"""Runs read from the store and compared, ready before the window's thread touches them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.compare import Comparison
from app.plan import Step
from app.records import RunRecord
from app.services import Workstation
from widgets.collecting import collection_paused
from widgets.live.model import RunModel
from widgets.live.replay import stored


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison, and of each of its runs the record and its curves; the baseline first."""

    comparison: Comparison
    records: tuple[RunRecord, ...]
    models: tuple[RunModel, ...]

    def step(self, name: str) -> Step | None:
        """Return the step `name` of the first run that has one."""
        return next((step for record in self.records for step in record.plan.steps if step.name == name), None)


def read_runs(workstation: Workstation, run_ids: Sequence[str], margin: float) -> Compared:
    """Read and compare runs; this takes a while where they have many samples."""
    comparison = workstation.compare(run_ids, margin)
    records = tuple(workstation.load(run_id) for run_id in run_ids)
    with collection_paused():
        models = tuple(stored(record, workstation.samples(record.summary.id), {}) for record in records)
    return Compared(comparison, records, models)
