"""A stored run with the plots and tables it was watched with."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.records import Band
from widgets.live.model import Place, RunModel
from widgets.live.place_strip import PlaceStrip
from widgets.live.run_side import RunSide
from widgets.live.step_view import StepView
from widgets.live.words import clock_text
from widgets.theme import SPACE


class RunView(QWidget):
    """Shows one run of the library. `side` explains it, for the right of the window.

    Raw output is asked for when somebody opens it: answer `output_requested` with set_output().
    """

    output_requested = Signal(str, int)  # the run's id and the trial's
    scaling_requested = Signal(str)  # the run's id

    def __init__(self, parent: QWidget | None = None, side: RunSide | None = None) -> None:
        """Explain the run on `side`, which the page may have had before, or on one of its own."""
        super().__init__(parent)
        self._model: RunModel | None = None
        self._bands: dict[Place, Sequence[Band]] = {}
        self._output: int | None = None
        self.strip = PlaceStrip()
        self.view = StepView()
        self.side = side or RunSide()
        self.strip.chosen.connect(self.show_place)
        self.view.output_wanted.connect(self._want_output)
        self.view.front_changed.connect(self._explain)
        self.view.scaling_requested.connect(self._ask_for_scaling)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[1])
        column.addWidget(self.strip)
        column.addWidget(self.view, 1)

    def set_model(self, model: RunModel, bands: Mapping[Place, Sequence[Band]] | None = None) -> None:
        """Show a stored run, folded as `replay` does it off the window's thread.

        `bands` are the baselines by step name and host; a run is not held against itself.
        """
        own = model.run_id
        self._model = model
        self._bands = {place: [band for band in found if band.run_id != own] for place, found in (bands or {}).items()}
        self._output = None
        self.view.log.restart()
        self.strip.show_places(self._model)
        self.show_place(self._model.places()[0])
        self.view.bar.show_time(clock_text(self._model.elapsed(0.0)), "", over=True)

    def show_place(self, place: Place) -> None:
        """Show a step on a host."""
        if self._model is not None:
            self.strip.show_place(place)
            self.view.show_place(self._model, place, self._bands.get(place, ()))

    def set_output(self, trial: int, output: Mapping[str, bytes]) -> None:
        """Show the raw output of a trial: the end of it, where it is long."""
        if trial == self._output:
            self.view.log.load(output)

    def _want_output(self, trial: int) -> None:
        if self._model is not None and trial != self._output:
            self._output = trial
            self.output_requested.emit(self._model.run_id, trial)

    def _ask_for_scaling(self) -> None:
        if self._model is not None:
            self.scaling_requested.emit(self._model.run_id)

    def _explain(self) -> None:
        self.side.show_run(self._model, self.view.place, self.view.front)
