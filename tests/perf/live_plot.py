"""What live plots cost: 8 curves of 100,000 points, redrawn ten times a second while every tick appends."""

import os
import resource
import time
from typing import TYPE_CHECKING, cast

from tests.perf.outcome import Outcome, mean

if TYPE_CHECKING:
    from widgets.plots.time_plot import TimePlot

CURVES = 8
POINTS = 100_000
RATE = 10  # ticks a second
WINDOWS = 5
WINDOW = 2.0
AIM = 0.2  # share of one core


def run() -> list[Outcome]:
    """Return the share of one core that this process took while the plot was live."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from widgets import theme

    application = cast("QApplication", QApplication.instance() or QApplication([]))
    theme.apply(application)
    plot = _filled()
    plot.show()
    for _ in range(20):  # first layout and first paint are not what is measured
        application.processEvents()
    redraws = _counted(plot)
    shares = _live(plot)
    drawn = len(redraws) / (WINDOWS * WINDOW)
    plot.close()
    found = mean(shares)
    what = f"{CURVES} curves of {POINTS} points live at {RATE} Hz ({drawn:.1f} redraws a second), share of one core"
    interval = f"{found.low:.1%} to {found.high:.1%}"
    return [Outcome(what, f"{found.value:.1%}", interval, f"under {AIM:.0%}", found.under(AIM))]


def _filled() -> "TimePlot":
    import numpy as np

    from suites.units import Unit
    from widgets import theme
    from widgets.plots.time_plot import TimePlot

    plot = TimePlot("Rate", Unit.PER_SECOND)
    plot.resize(1200, 700)
    rng = np.random.default_rng(1)
    for curve in range(CURVES):
        buffer = plot.add_series(curve, f"series {curve}", theme.series_colour(curve))
        for index, noise in enumerate(rng.normal(size=POINTS).tolist()):
            buffer.append(index / RATE, _value(curve, noise))
    return plot


def _value(curve: int, noise: float) -> float:
    return 1000.0 * (curve + 1) + 50 * noise


def _counted(plot: "TimePlot") -> list[float]:
    """Return a list that grows with every redraw."""
    moments: list[float] = []
    refresh = plot.refresh

    def counted() -> None:
        moments.append(time.perf_counter())
        refresh()

    plot.refresh = counted  # type: ignore[method-assign]  # counts, and does the same
    return moments


def _live(plot: "TimePlot") -> list[float]:
    """Append to every curve ten times a second; return the share of one core in each window."""
    from PySide6.QtCore import QEventLoop, QTimer

    ticks = 0

    def tick() -> None:
        nonlocal ticks
        for curve in range(CURVES):
            plot.append(curve, (POINTS + ticks) / RATE, _value(curve, (ticks % 7) / 7))
        ticks += 1

    timer = QTimer(plot, interval=1000 // RATE)
    timer.timeout.connect(tick)
    timer.start()
    shares = []
    for _ in range(WINDOWS):
        loop = QEventLoop()
        QTimer.singleShot(int(WINDOW * 1000), loop, loop.quit)
        used, began = _processor_time(), time.perf_counter()
        loop.exec()
        shares.append((_processor_time() - used) / (time.perf_counter() - began))
    timer.stop()
    return shares


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
