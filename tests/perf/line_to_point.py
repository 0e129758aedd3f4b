"""From a line printed on the host to its point on the screen: sshd, job, parser, signal, plot and paint, all real.

The tool on the host is a script that prints in sysbench's form, with the moment of printing as the figure; host and
window share this computer's clock.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from app.plans.plan import Plan, Repetition, make_step
from app.questions import RefusingAsker
from tests.perf.host import Lab, lab
from tests.perf.outcome import Outcome, percentile

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

AIM = 0.150
TOOL = Path(__file__).parent / "printing_tool.py"
FEWEST = 299
"""Points below which the largest delay does not bound p99 with a confidence of 95 %."""


def run() -> list[Outcome]:
    """Return the delay from print to paint that 99 of 100 lines stay below."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    folder = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    with lab() as host:
        _put_tool(host)
        host.host.restart(SetEnv=f"PATH={host.host.home / 'bin'}:{folder}")
        with _watched() as delays:
            _show(host)
    if len(delays) < FEWEST:
        raise RuntimeError(f"only {len(delays)} points were drawn")
    found, middle = percentile(delays, 99), percentile(delays, 50)
    what = f"a line printed on the host to its point painted, p99 of {len(delays)} (p50 {_text(middle.value)})"
    interval = f"{_text(found.low)} to {_text(found.high)}"
    return [Outcome(what, _text(found.value), interval, f"under {_text(AIM)}", found.under(AIM))]


def _text(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


def _put_tool(host: Lab) -> None:
    place = host.host.home / "bin" / "sysbench"
    place.parent.mkdir()
    shutil.copy(TOOL, place)
    place.chmod(0o755)


def _show(host: Lab) -> None:
    """Run the tool in the live page of a real window until it ends."""
    from PySide6.QtWidgets import QApplication

    from widgets import jobs, theme
    from widgets.live.live_page import LivePage

    application = cast("QApplication", QApplication.instance() or QApplication([]))
    theme.apply(application)
    page = LivePage(host.workstation, RefusingAsker())
    page.resize(1100, 750)
    page.show()
    step = make_step("sysbench-cpu", {"time": 70, "threads": 1})
    page.run_finished.connect(lambda _run: application.quit())
    page.start_run(Plan("delay", ("lab",), (step,), repetition=Repetition(trials=1)))
    application.exec()
    while jobs.running():
        application.processEvents()
    page.close()


@contextmanager
def _watched() -> Iterator[list[float]]:
    """Note for every point how old it was when it had been painted."""
    from widgets.plots.time_plot import TimePlot
    from widgets.plots.view import PlotView

    delays: list[float] = []
    drawn: list[float] = []
    refresh, paint = TimePlot.refresh, PlotView.paintEvent

    def note_drawn(plot: TimePlot) -> None:
        refresh(plot)
        for key, line in plot.lines.items():
            if isinstance(key, tuple) and key[0] == "test" and "events_per_second" in key[1]:
                drawn[:] = line.buffer.values().tolist()

    def note_painted(view: PlotView, event: "QPaintEvent") -> None:
        paint(view, event)
        if "Events per second" in view.accessibleName():
            delays.extend(time.monotonic() - moment for moment in drawn[len(delays) :])

    # Put back below; Qt calls what the class has, and there is no signal for "painted".
    TimePlot.refresh, PlotView.paintEvent = note_drawn, note_painted  # type: ignore[method-assign,assignment]
    try:
        yield delays
    finally:
        TimePlot.refresh, PlotView.paintEvent = refresh, paint  # type: ignore[method-assign]
