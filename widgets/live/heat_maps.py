"""Latency heat maps of a step's trials, read from their stored output on a background thread."""

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal

from suites.errors import BenchwrightError
from suites.registry import histograms_of
from widgets.jobs import BackgroundJob
from widgets.live.model import RunModel, StepKey
from widgets.plots.heat import HeatGrid, grid_of

OutputReader = Callable[[str, int], Mapping[str, bytes]]
"""Returns the stored output of a trial, by the run's id and the trial's; called on a background thread."""


class HeatMaps(QObject):
    """The heat maps of one run, by the ids of its ended trials; each is read once."""

    changed = Signal()

    def __init__(self, read: OutputReader | None, parent: QObject) -> None:
        super().__init__(parent)
        self._read = read
        self._run_id = ""
        self._asked: set[int] = set()
        self.grids: dict[int, HeatGrid] = {}

    def sync(self, model: RunModel, step_key: StepKey) -> None:
        """Read what is missing for the ended trials of a step."""
        if model.run_id != self._run_id:
            self._run_id, self._asked, self.grids = model.run_id, set(), {}
        step = model.plan.step(step_key[0])
        if self._read is None or not model.run_id or histograms_of(step.suite_id) is None:
            return
        for view in model.trials_at(step_key):
            if view.ended is not None and view.trial.id not in self._asked:
                self._asked.add(view.trial.id)
                self._start(self._read, step.suite_id, view.trial.id)

    def _start(self, read: OutputReader, suite_id: str, trial: int) -> None:
        run_id = self._run_id
        BackgroundJob(lambda: _grid(read, suite_id, run_id, trial), self).start(
            partial(self._take, run_id, trial), self._ignore
        )

    def _take(self, run_id: str, trial: int, grid: HeatGrid | None) -> None:
        if run_id == self._run_id and grid is not None:
            self.grids[trial] = grid
            self.changed.emit()

    def _ignore(self, _error: BenchwrightError) -> None:
        """Leave the curves without a heat map: what fails here is shown where the output itself is requested."""


def _grid(read: OutputReader, suite_id: str, run_id: str, trial: int) -> HeatGrid | None:
    histograms = histograms_of(suite_id)
    output = read(run_id, trial).get("stdout", b"")
    return None if histograms is None else grid_of(list(histograms.slices(output)))
