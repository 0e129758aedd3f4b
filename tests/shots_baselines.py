"""Pictures of baselines, rankings and history: chosen, compared with, ranked, followed over time."""

import os
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QWidget

from app.services import Workstation
from tests.shot_stage import Shot, Stage, opened
from tests.simulation.history import results
from tests.widgets.library_runs import STEADY, Made, library, record
from widgets.compare.compare_page import ComparePage
from widgets.compare.pickers import BaselinePicker
from widgets.compare.rank_pane import RankPane
from widgets.library.library_page import LibraryPage

BEFORE, AFTER, OTHER = "20260112-081502-a1b2", "20260113-141230-e5f6", "20260113-160544-g7h8"
TABLE = """
title = "The vendor's figures"
source = "the vendor's data sheet"
doubts = ["the block size is not said"]
measured = 2021-03-01
[universe]
kernel = "5.10.0"
instance_type = "c5.2xlarge"
[[figure]]
suite = "fio"
metric = "iops"
unit = "1/s"
value = 4000.0
labels = { operation = "read" }
"""


def _filled(stage: Stage) -> Workstation:
    if BEFORE not in {run.id for run in stage.workstation.runs()}:
        library(stage.workstation)
        path = Path(os.environ["HOME"]) / "vendor.toml"
        path.write_text(TABLE, encoding="utf-8")
        stage.workstation.import_baseline(path)
        stage.workstation.pin(f"{BEFORE},{AFTER}", "web servers")
        stage.workstation.pin(BEFORE, "web servers")
    return stage.workstation


def _picker(stage: Stage) -> QWidget:
    picker = stage.keep(BaselinePicker(_filled(stage), None))
    picker.show()
    stage.settle()
    return picker


def _against_table(stage: Stage) -> QWidget:
    _filled(stage)
    window = stage.window()
    page = opened(window, ComparePage)
    page.compare(["baseline:vendor", BEFORE])
    stage.settle()
    return window


def _rank(stage: Stage) -> QWidget:
    dialog = stage.keep(RankPane(_filled(stage)))
    dialog.show_runs([BEFORE, AFTER, OTHER])
    dialog.resize(1140, 450)
    dialog.show()
    stage.settle()
    dialog.form.prices.setText(f"{BEFORE}=0.34 USD, {AFTER}=0.34 USD, web-2=0.68 USD")
    dialog.form.threshold.setText("40000")
    dialog.rank()
    stage.settle()
    return dialog


def _history(stage: Stage) -> QWidget:
    workstation = _filled(stage)
    if len(workstation.runs()) < 20:
        values = results(np.random.default_rng(1), 24, 0.012) / 1000
        values[14:] *= 0.9
        kernels = ["6.1.0-18-cloud-amd64"] * 14 + ["6.12.3-cloud-amd64"] * 10
        for number, (value, kernel) in enumerate(zip(values, kernels, strict=True)):
            run_id = f"202602{number + 1:02d}-081502-hist"
            record(workstation, Made(run_id, [one * float(value) for one in STEADY], kernel=kernel))
    window = stage.window()
    page = opened(window, LibraryPage)
    stage.settle()
    page.show_run("20260220-081502-hist")
    stage.settle()
    page.panel.tabs.setCurrentWidget(page.panel.history)
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("baseline-picker", _picker),
    ("compare-reference", _against_table),
    ("rank", _rank),
    ("library-history", _history),
]
