"""Runs read from the store and compared, ready before the window's thread touches them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.comparing.compare import Comparison
from app.plans.plan import Step
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


def read_runs(workstation: Workstation, words: Sequence[str], margin: float | None) -> Compared:
    """Read and compare runs, or groups of them; this takes a while where they have many samples."""
    comparison = workstation.compare(words, margin)
    with collection_paused():
        pairs = workstation.joined(words)
        models = tuple(stored(record, samples, {}) for record, samples in pairs)
    return Compared(comparison, tuple(record for record, _ in pairs), models)
