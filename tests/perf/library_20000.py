"""How long the library page takes with 20,000 runs: until its rows are painted, at each key of a filter, and memory."""

import gc
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from app.questions import RefusingAsker
from app.services import Workstation
from tests.perf.host import move_home
from tests.perf.large_library import make_library
from tests.perf.outcome import Met, Outcome, seconds_line

if TYPE_CHECKING:
    from widgets.library.library_page import LibraryPage

RUNS = 20_000
REPEATS = 5
TYPED = "host:web-1 randread iodepth>=32"
PARAMETERS, METRIC = "rw=randread iodepth>=32 -tag:before since:365d", "iops>50k verdict:caveats"
MEGABYTE = 2**20


def run() -> list[Outcome]:
    """Return the seconds to open the page and to filter, the longest stall of the window, and the memory taken."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite3"
        move_home(Path(folder) / "home")  # without the layout of an earlier page
        _in_child(path)
        workstation = Workstation(path, Path(folder) / "hosts.toml")
        _application()
        before = _resident()
        page, seconds = _open(workstation)
        taken = _resident() - before
        gc.freeze()  # as the window does once a page has loaded
        opened = [seconds]
        for _ in range(REPEATS - 1):
            page.close()
            page.deleteLater()
            page, seconds = _open(workstation)
            opened.append(seconds)
        lines = [_line("page opened until its rows are painted", opened, 1.0)]
        lines.append(_line(f"a key of “{TYPED}”, the longest", _typed(page, TYPED), 0.1))
        for text in (PARAMETERS, METRIC):
            _ready(page, text)
            lines.append(_line(f"filter “{text}”", [_filtered(page, text) for _ in range(REPEATS)], 0.1))
        lines.append(_line("grouped by day", [_timed(lambda: page.filter_bar.set_grouping("day"))], 0.1))
        lines.append(_line("sorted by the headline", [_timed(lambda: _sort(page))], 0.1))
        page.close()
        workstation.close()
    met = Met.MET if taken < 200 * MEGABYTE else Met.MISSED
    lines.append(Outcome("memory of the page, MiB", f"{taken / MEGABYTE:.0f}", "", "under 200", met))
    return lines


def _in_child(path: Path) -> None:
    """Make the library in a process of its own, whose memory does not count."""
    child = multiprocessing.get_context("spawn").Process(target=make_library, args=(path, RUNS))
    child.start()
    child.join()


def _line(what: str, times: list[float], aim: float) -> Outcome:
    return seconds_line(f"{RUNS:,} runs, {what}", times, aim)


def _application() -> None:
    from PySide6.QtWidgets import QApplication

    from widgets import theme

    theme.apply(cast("QApplication", QApplication.instance() or QApplication([])))


def _open(workstation: Workstation) -> "tuple[LibraryPage, float]":
    """Return a page, and the seconds from its creation to its painted rows."""
    from tests.event_loop import process_events_while
    from widgets.library.library_page import LibraryPage

    began = time.perf_counter()
    page = LibraryPage(workstation, RefusingAsker())
    page.resize(1144, 746)
    page.show()
    page.activated()
    process_events_while(lambda: len(page.table.lines.matched) < RUNS)
    page.table.viewport().repaint()
    seconds = time.perf_counter() - began
    _settle()
    return page, seconds


def _typed(page: "LibraryPage", text: str) -> list[float]:
    """Return the longest time of a key of `text`, to filter and to paint the rows, for each repeat."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    found = []
    for _ in range(REPEATS):
        page.filter_bar.clear()
        times = []
        for letter in text:
            QTest.keyClicks(page.search, letter, Qt.KeyboardModifier.NoModifier)  # may also show the run read before
            began = time.perf_counter()
            page.filter_bar.apply()
            page.table.viewport().repaint()
            times.append(time.perf_counter() - began)
        found.append(max(times))
        _settle()
    return found


def _sort(page: "LibraryPage") -> None:
    from PySide6.QtCore import Qt

    page.table.horizontalHeader().setSortIndicator(
        page.table.lines.names.index("headline"), Qt.SortOrder.DescendingOrder
    )


def _ready(page: "LibraryPage", text: str) -> None:
    """Filter once, so that the metrics are read."""
    page.search.setText(text)
    _settle()


def _filtered(page: "LibraryPage", text: str) -> float:
    page.filter_bar.clear()
    page.search.setText(text)
    return _timed(page.filter_bar.apply, page)


def _timed(work: Callable[[], object], page: "LibraryPage | None" = None) -> float:
    began = time.perf_counter()
    work()
    if page is not None:
        page.table.viewport().repaint()
    return time.perf_counter() - began


def _settle() -> None:
    from tests.event_loop import process_events_while
    from widgets import jobs

    process_events_while(lambda: bool(jobs.running()))


def _resident() -> int:
    """Return the largest resident size so far in bytes (getrusage(2))."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
