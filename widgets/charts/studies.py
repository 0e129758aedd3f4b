"""What windows of charts show: the noise of runs, and how they scale. Read off the window's thread."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.chart import Chart
from app.noise.noise_chart import noise_charts
from app.noise.noise_json import write_noise
from app.scaling.chart import scaling_charts
from app.scaling.to_json import write_scaling
from app.services import Workstation
from widgets.charts.chart_dialog import ChartDialog, Charts, show_charts

NOTHING_SPREADS = "Nothing spreads here: a noise figure needs two trials of a test that count."
NOTHING_SWEPT = (
    "Nothing was swept here. Tests that sweep threads, depth or streams by themselves are drawn, and steps that differ "
    "in one number alone."
)

NO_ROUNDS = "No test here went on round by round: SSD to steady state does."

NOTHING_COUNTED = "No tool here counts every request by its latency: fio does, and keeps its histogram every second."


def show_noise(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a window that ranks what `runs` measured by how repeatable it is."""
    words = tuple(runs)

    def read() -> Charts:
        found = workstation.describing.noise(words)
        charts = noise_charts(found)
        return Charts(
            charts, NOTHING_SPREADS, {".png": _picture(charts), ".csv": lambda path: write_noise(found, path)}
        )

    return show_charts("Noise", read, parent)


def show_scaling(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a window that shows how what `runs` measured grows with what was swept; several runs are one."""
    word = ",".join(runs)

    def read() -> Charts:
        found = workstation.describing.scaling(word)
        charts = tuple(chart for one in found for chart in scaling_charts(one))
        files = {".png": _picture(charts), ".csv": lambda path: write_scaling(found, path)}
        return Charts(charts, NOTHING_SWEPT, files)

    return show_charts("Scaling", read, parent)


def show_heat(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a window that shows how the latencies of each trial lie in time."""
    word = ",".join(runs)

    def read() -> Charts:
        charts = tuple(workstation.describing.heat(word))
        return Charts(charts, NOTHING_COUNTED, {".png": _picture(charts)})

    return show_charts("Latency heat map", read, parent)


def show_rounds(workstation: Workstation, runs: Sequence[str], parent: QWidget) -> ChartDialog:
    """Open a window that shows how each test that goes on until it is steady came there."""
    word = ",".join(runs)

    def read() -> Charts:
        charts = tuple(workstation.describing.rounds(word))
        return Charts(charts, NO_ROUNDS, {".png": _picture(charts)})

    return show_charts("Rounds", read, parent)


def _picture(charts: Sequence[Chart]) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        from app.picture.chart import write_charts

        return write_charts(charts, path)

    return write
