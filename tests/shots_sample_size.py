"""Pictures of the sample size: hosts that are known, and a single session."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.margins import DEFAULTS, Margins
from app.sample_size.designs import Effort
from app.sample_size.pilot import Pilot, PilotQuery
from app.services import Workstation
from tests.app.test_sample_size import library_of_pilot, names
from tests.shot_stage import Shot, Stage
from widgets.compare.sample_size_dialog import show_sample_size


class _Timed(Workstation):
    """A workstation with the times of a pilot of minutes: the library of the tests is recorded at once."""

    def sample_pilot(self, runs: Sequence[str], query: PilotQuery, margins: Margins = DEFAULTS) -> Pilot:
        pilot = super().sample_pilot(runs, query, margins)
        return replace(pilot, effort=Effort(62.0, 45.0))


def _sample_size(stage: Stage, runs: int, *, paired: bool = False) -> QWidget:
    folder = Path(tempfile.mkdtemp())
    workstation = _Timed(library_of_pilot(folder), folder / "hosts.toml")
    dialog = show_sample_size(workstation, [names(runs)], stage.window())
    stage.settle()
    dialog.form.paired.setChecked(paired)
    dialog.form.price.setText("0.34 USD")
    dialog.form.wanted.setValue(12)
    dialog.calculate()
    stage.settle()
    return dialog


SHOTS: list[Shot] = [
    ("sample-size", partial(_sample_size, runs=9)),
    ("sample-size-paired", partial(_sample_size, runs=9, paired=True)),
    ("sample-size-one-session", partial(_sample_size, runs=1)),
]
