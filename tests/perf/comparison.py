"""How long a comparison of two groups takes: the service alone, and the page of the window until its table is shown."""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from app.questions import RefusingAsker
from app.services import Workstation
from tests.perf.outcome import Met, Outcome, mean
from tests.simulation.stored import store_of_groups

if TYPE_CHECKING:
    from widgets.compare.compare_page import ComparePage

METRICS = 10
SAMPLES = 300
AIMS = {100: 0.3, 1000: 3.0}  # seconds by runs a side
REPEATS = 7


def run() -> list[Outcome]:
    """Return the seconds for 100 and 1,000 runs a side, and how much ten times as many take."""
    with tempfile.TemporaryDirectory() as folder:
        workstation, groups = store_of_groups(Path(folder), runs=max(AIMS), metrics=METRICS, samples=SAMPLES)
        page = _page(workstation)
        lines: list[Outcome] = []
        least: dict[int, float] = {}
        for runs, aim in AIMS.items():
            words = [",".join(group[:runs]) for group in groups]
            for name, work in (
                ("compared", partial(workstation.compare, words)),
                ("compared in the window", partial(_show, page, words)),
            ):
                work()  # what is imported for the first time is not what is measured
                times = [_timed(work) for _ in range(REPEATS)]
                lines.append(_line(f"two groups of {runs} runs {name}", times, aim))
                least[runs] = min(times)
        page.close()
        workstation.close()
    growth = least[1000] / least[100]
    met = Met.MET if growth < 12 else Met.MISSED
    lines.append(Outcome("ten times as many runs take so many times as long", f"{growth:.1f}", "", "10 (linear)", met))
    return lines


def _line(what: str, times: Sequence[float], aim: float) -> Outcome:
    found = mean(times)
    what = f"{what}, {METRICS} metrics x {SAMPLES} samples, seconds"
    interval = f"{found.low:.2f} to {found.high:.2f}"
    return Outcome(what, f"{found.value:.2f}", interval, f"under {aim:g}", found.under(aim))


def _timed(work: Callable[[], object]) -> float:
    """Return the seconds `work` takes, begun when the window has drawn the plots of the comparison before it."""
    _draw_plots()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _draw_plots() -> None:
    from tests.event_loop import process_events_while
    from widgets import jobs

    process_events_while(lambda: bool(jobs.running()))


def _page(workstation: Workstation) -> "ComparePage":
    """Return an empty compare page on the screen."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from widgets import theme
    from widgets.compare.compare_page import ComparePage

    theme.apply(cast("QApplication", QApplication.instance() or QApplication([])))
    page = ComparePage(workstation, RefusingAsker())
    page.resize(1200, 800)
    page.show()
    return page


def _show(page: "ComparePage", words: Sequence[str]) -> None:
    """Compare in the page and wait until its table is painted."""
    from tests.event_loop import process_events_while

    before = page.compared
    page.compare(words)
    process_events_while(lambda: page.compared is before)
    page.table.viewport().repaint()
