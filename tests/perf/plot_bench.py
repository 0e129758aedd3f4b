"""What live plots cost: 8 curves of 100,000 points, redrawn ten times a second while every tick appends."""

import os
import resource
import time
from typing import cast

CURVES = 8
POINTS = 100_000
RATE = 10  # ticks a second
SECONDS = 5.0
AIM = 0.2  # share of one core


def main() -> dict[str, float]:
    """Return the share of one core that the plot took, the redraws a second, and the points it held."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    import numpy as np
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from suites.units import Unit
    from widgets import theme
    from widgets.plots.time_plot import TimePlot

    application = cast("QApplication", QApplication.instance() or QApplication([]))
    theme.apply(application)
    plot = TimePlot("Rate", Unit.PER_SECOND)
    plot.resize(1200, 700)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(CURVES, POINTS + int(RATE * SECONDS) + RATE)).tolist()
    for curve in range(CURVES):
        buffer = plot.add_series(curve, f"series {curve}", theme.series_colour(curve))
        for index in range(POINTS):
            buffer.append(index / RATE, 1000.0 * (curve + 1) + 50 * noise[curve][index])
    plot.show()
    ticks = redraws = 0
    refresh = plot.refresh

    def counted() -> None:
        nonlocal redraws
        redraws += 1
        refresh()

    def tick() -> None:
        nonlocal ticks
        index = POINTS + ticks
        for curve in range(CURVES):
            plot.append(curve, index / RATE, 1000.0 * (curve + 1) + 50 * noise[curve][index % len(noise[curve])])
        ticks += 1

    plot.refresh = counted  # type: ignore[method-assign]  # counts, and does the same
    for _ in range(20):  # first layout and first paint are not what is measured
        application.processEvents()
    timer = QTimer(plot, interval=1000 // RATE)
    timer.timeout.connect(tick)
    timer.start()
    QTimer.singleShot(int(SECONDS * 1000), plot, application.quit)
    redraws = 0
    before, began = _processor_time(), time.perf_counter()
    application.exec()
    used, passed = _processor_time() - before, time.perf_counter() - began
    timer.stop()
    plot.hide()
    plot.deleteLater()
    return {
        "share of one core": used / passed,
        "redraws a second": redraws / passed,
        "points": CURVES * (POINTS + ticks),
    }


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    figures = main()
    for name, value in figures.items():
        print(f"{name}: {value:.4g}")  # noqa: T201 (a script that prints)
    print(f"aim: under {AIM} of one core")  # noqa: T201
