"""What live plots cost: 32 curves of 100,000 points in four plots on one time axis, with new points ten times a second.

The share of a core that the process takes, and the longest time that the window's thread works without a pause.
"""

import os
import resource
import time
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from tests.perf.outcome import Outcome, mean

if TYPE_CHECKING:
    from widgets.plots.stack import PlotStack
    from widgets.plots.time_plot import TimePlot

PLOTS, CURVES = 4, 8  # curves in each plot
POINTS = 100_000
RATE = 10  # ticks a second
WINDOWS = 5
WINDOW = 2.0
AIM = 0.2  # share of one core
BEAT = 5  # milliseconds
LONGEST = 0.05


def run() -> list[Outcome]:
    """Return the share of one core that this process took while the plot was live."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from widgets import theme

    application = cast("QApplication", QApplication.instance() or QApplication([]))
    theme.apply(application)
    stack = _filled()
    stack.show()
    for _ in range(20):  # first layout and first paint are not what is measured
        application.processEvents()
    redraws = [moments for plot in stack.plots.values() for moments in [_counted(plot)]]
    shares, stalls = _live(stack)
    drawn = sum(map(len, redraws)) / PLOTS / (WINDOWS * WINDOW)
    stack.close()
    found, longest = mean(shares), mean(stalls)
    curves = f"{PLOTS * CURVES} curves of {POINTS} points live at {RATE} Hz"
    return [
        Outcome(
            f"{curves} ({drawn:.1f} redraws a second), share of one core", f"{found.value:.1%}",
            f"{found.low:.1%} to {found.high:.1%}", f"under {AIM:.0%}", found.under(AIM),
        ),
        Outcome(
            f"{curves}, longest stall of the window in {WINDOW:g} s", f"{1000 * longest.value:.0f} ms",
            f"{1000 * longest.low:.0f} to {1000 * longest.high:.0f} ms", f"under {1000 * LONGEST:.0f} ms",
            longest.under(LONGEST),
        ),
    ]  # fmt: skip


def _filled() -> "PlotStack":
    import numpy as np

    from suites.units import Unit
    from widgets import theme
    from widgets.plots.stack import PlotStack

    stack = PlotStack()
    stack.resize(1200, 700)
    rng = np.random.default_rng(1)
    for number in range(PLOTS):
        plot = stack.add_plot(f"plot {number}", f"Rate {number}", Unit.PER_SECOND)
        for curve in range(CURVES):
            buffer = plot.add_series(curve, f"series {curve}", theme.series_colour(curve))
            for index, noise in enumerate(rng.normal(size=POINTS).tolist()):
                buffer.append(index / RATE, _value(curve, noise))
    return stack


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


def _live(stack: "PlotStack") -> tuple[list[float], list[float]]:
    """Append to every curve ten times a second; return the share of one core and the longest stall in each window.

    A stall is the processor time of the window's thread between two beats: time in the run queue is other programs'.
    """
    from PySide6.QtCore import QEventLoop, Qt, QTimer

    ticks = 0
    beats: list[float] = []

    def tick() -> None:
        nonlocal ticks
        for plot in stack.plots.values():
            for curve in range(CURVES):
                plot.lines[curve].buffer.append((POINTS + ticks) / RATE, _value(curve, (ticks % 7) / 7))
            plot.look()
        ticks += 1

    timers = QTimer(stack, interval=1000 // RATE), QTimer(stack, interval=BEAT, timerType=Qt.TimerType.PreciseTimer)
    timers[0].timeout.connect(tick)
    timers[1].timeout.connect(lambda: beats.append(time.thread_time()))
    for timer in timers:
        timer.start()
    shares, stalls = [], []
    for _ in range(WINDOWS):
        loop = QEventLoop()
        QTimer.singleShot(int(WINDOW * 1000), loop, loop.quit)
        used, began = _processor_time(), time.perf_counter()
        beats.clear()
        loop.exec()
        shares.append((_processor_time() - used) / (time.perf_counter() - began))
        stalls.append(max(later - earlier for earlier, later in pairwise(beats)))
    for timer in timers:
        timer.stop()
    return shares, stalls


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
