"""Chart dialogs of noise, scaling, latency heat maps and rounds."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.chart import Chart
from app.export import write_csv
from app.noise import NOISE_COLUMNS, noise_charts, noise_entry_rows
from app.scaling.scaling import SCALING_COLUMNS, scaling_charts, scaling_rows
from app.services import Workstation
from widgets.plots.chart_dialog import ChartDialog, Charts, show_charts

NO_SPREAD = "No noise figures: they need two counted trials of a test."
NO_SWEEP = "No sweep: select tests that sweep threads, depth or streams, or steps that differ in one numeric parameter."

NO_ROUNDS = "No rounds: select runs of an SSD steady-state test."

NO_HISTOGRAMS = "No latency histograms: select runs of fio, which records one every second."


def show_noise(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog that ranks the metrics of `runs` by their repeatability."""
    selected = tuple(runs)

    def read() -> Charts:
        found = workstation.analyses.noise(selected)
        charts = noise_charts(found)
        table = partial(write_csv, noise_entry_rows(found), NOISE_COLUMNS)
        return Charts(charts, NO_SPREAD, {".png": _picture(charts), ".csv": table})

    return show_charts("Noise", read, parent)


def show_scaling(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog with the metrics of `runs` by the swept parameter; several runs are combined."""
    selected = ",".join(runs)

    def read() -> Charts:
        found = workstation.analyses.scaling(selected)
        charts = tuple(chart for one in found for chart in scaling_charts(one))
        table = partial(write_csv, scaling_rows(found), SCALING_COLUMNS)
        return Charts(charts, NO_SWEEP, {".png": _picture(charts), ".csv": table})

    return show_charts("Scaling", read, parent)


def show_heat(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog with a heat map of latency over time for each trial."""
    selected = ",".join(runs)

    def read() -> Charts:
        charts = tuple(workstation.analyses.heat(selected))
        return Charts(charts, NO_HISTOGRAMS, {".png": _picture(charts)})

    return show_charts("Latency heat map", read, parent)


def show_rounds(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a dialog with the rounds of each steady-state test."""
    selected = ",".join(runs)

    def read() -> Charts:
        charts = tuple(workstation.analyses.rounds(selected))
        return Charts(charts, NO_ROUNDS, {".png": _picture(charts)})

    return show_charts("Rounds", read, parent)


def _picture(charts: Sequence[Chart]) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        from app.report_image.plots import write_charts

        return write_charts(charts, path)

    return write
