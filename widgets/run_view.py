"""View of a stored run with the plots and tables of the live view."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.records import Band
from app.services import Workstation
from suites.quantities import clock_text
from widgets.live.model import RunModel, StepKey
from widgets.live.step_strip import StepStrip
from widgets.live.step_view import StepView
from widgets.parts.boxes import column_in, fill
from widgets.theme import SPACE


class RunView(QWidget):
    """Shows one run of the library.

    Raw output is loaded on demand: answer `output_requested` with set_output().
    """

    output_requested = Signal(str, int)  # the run's id and the trial's

    def __init__(self, workstation: Workstation | None = None) -> None:
        """`workstation` reads what the plots show beyond samples."""
        super().__init__()
        self._model: RunModel | None = None
        self._bands: dict[StepKey, Sequence[Band]] = {}
        self._output: int | None = None
        self.strip = StepStrip()
        self.view = StepView(workstation)
        self.strip.step_chosen.connect(self.show_step_key)
        self.view.output_wanted.connect(self._request_output)
        fill(column_in(self, SPACE[1]), self.strip, (self.view, 1))

    def set_model(self, model: RunModel, bands: Mapping[StepKey, Sequence[Band]] | None = None) -> None:
        """Show a stored run that `replay` has rebuilt on a background thread.

        `bands` are the baselines by step name and host; those made of this run are ignored.
        """
        own = model.run_id
        self._model = model
        self._bands = {
            step_key: [band for band in found if band.run_id != own] for step_key, found in (bands or {}).items()
        }
        self._output = None
        self.view.log.restart()
        self.strip.show_step_keys(self._model)
        self.show_step_key(self._model.step_keys()[0])
        self.view.bar.show_time(clock_text(self._model.elapsed(0.0)), "", over=True)

    def show_step_key(self, step_key: StepKey) -> None:
        """Show a step on a host."""
        if self._model is not None:
            self.strip.show_step_key(step_key)
            self.view.show_step_key(self._model, step_key, self._bands.get(step_key, ()))

    def set_output(self, trial: int, output: Mapping[str, bytes]) -> None:
        """Show the raw output of a trial; of a long one, its end."""
        if trial == self._output:
            self.view.log.load(output)

    def _request_output(self, trial: int) -> None:
        if self._model is not None and trial != self._output:
            self._output = trial
            self.output_requested.emit(self._model.run_id, trial)
