"""Pictures of the sample size: hosts that are known, and a single session."""

import tempfile
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.services import Workstation
from tests.app.test_sample_size import library_of_pilot, names
from tests.shot_stage import Shot, Stage
from widgets.compare.sample_size_dialog import show_sample_size


def _sample_size(stage: Stage, runs: int, *, paired: bool = False) -> QWidget:
    folder = Path(tempfile.mkdtemp())
    workstation = Workstation(library_of_pilot(folder), folder / "hosts.toml")
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
