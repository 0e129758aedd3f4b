"""Pictures of what goes wrong with a run, its hosts or the library, and of what Benchwright offers then."""

import os
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.events import Activity, Event, LibraryChanged, LinkChanged, Progress, RunEnded, RunStarted, State
from app.plans.plan import Plan, Repetition, make_step
from app.questions import Asker
from app.runs.control import Control
from app.services import Workstation
from app.store.errors import lost, translated
from app.store.store import Store
from remote.connection_state import LinkState
from suites.errors import BenchwrightError
from tests.app.test_detached_runs import begun, record
from tests.shot_stage import Shot, Stage
from tests.shots_library import _other_library
from tests.shots_live import _frozen, _page
from tests.widgets.live_events import begin, end, sample
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.wizard.install_dialog import InstallDialog

LIBRARY = Path("/home/ann/.local/share/benchwright/runs.sqlite3")
HOSTS = ("web-1", "web-2", "db-primary")


class _BusyError(Exception):
    """What SQLite raises while another program writes."""

    sqlite_errorcode = 5


def _left(stage: Stage) -> QWidget:
    path = stage.workstation.library_path.with_name(f"left-{stage.variant.name}.sqlite3")
    record(Store(path), begun())
    return _window_of(stage, Workstation(path))


def _window_of(stage: Stage, workstation: Workstation) -> MainWindow:
    window = stage.keep(MainWindow(workstation))
    window.resize(*stage.variant.size)
    window.show()
    stage.settle()
    return window


def _changed(change: LibraryChanged, stage: Stage) -> QWidget:
    """Show the library's bar over a run that is under way."""
    return _scripted(stage, [*_measuring(), change])


def _lost(stage: Stage) -> QWidget:
    error = lost(LIBRARY, "was replaced by another file")
    return _changed(LibraryChanged(LIBRARY, error.message, error.remedy), stage)


def _busy(stage: Stage) -> QWidget:
    error = translated(_BusyError(), LIBRARY)
    return _changed(LibraryChanged(LIBRARY, error.message, error.remedy), stage)


def _saved_as(stage: Stage) -> QWidget:
    error = lost(LIBRARY, "is gone: it was moved, removed or unmounted")
    window = stage.window()
    window.library_bar.show_change(LibraryChanged(LIBRARY, error.message, error.remedy))
    window.library_bar.show_change(LibraryChanged(LIBRARY.with_name("runs-saved.sqlite3")))
    stage.settle()
    return window


def _truncated(stage: Stage) -> QWidget:
    return _other_library(stage, "truncated", lambda path: os.truncate(path, path.stat().st_size // 2))


def _measuring(hosts: tuple[str, ...] = HOSTS) -> Iterable[Event]:
    yield RunStarted("20261122-141530-k3f9", _plan(hosts), "2026-11-22T14:15:30+00:00")
    yield Activity("measuring fio randread on web-1", "web-1")
    yield begin(1, 1)
    for second in range(1, 9):
        yield sample(41_200.0 + 130 * (second % 3), float(second))
    yield end(41_330.0)
    yield Progress(1, 6, 74.0, True)
    yield begin(2, 2)
    for second in range(1, 6):
        yield sample(41_100.0 + 90 * (second % 4), float(second), 2)


def _plan(hosts: tuple[str, ...] = HOSTS) -> Plan:
    return Plan("Nightly", hosts, (make_step("fio", {}, name="disk"),), repetition=Repetition(trials=2))


def _dead_host(stage: Stage) -> QWidget:
    away = [
        LinkChanged("db-primary", LinkState.NOT_REACHED, time.monotonic() - 41, detail="db-primary did not answer."),
        LinkChanged("web-2", LinkState.GIVEN_UP, time.monotonic() - 312),
    ]
    return _scripted(stage, [*_measuring(), *away])


def _lost_host(stage: Stage) -> QWidget:
    away = LinkChanged("web-1", LinkState.RECONNECTING, time.monotonic() - 12, 3)
    return _scripted(stage, [*_measuring(), away])


def _given_up(stage: Stage) -> QWidget:
    reason = (
        "Stopped by you; what was measured is kept. web-1 did not respond within 12 s of the stop, and Benchwright "
        "closed the connection. Commands may still run there. List them with: benchwright hosts leftovers web-1"
    )
    given_up = LinkChanged("web-1", LinkState.GIVEN_UP, time.monotonic() - 12)
    broken = end(None, 2, State.PARTIAL, reason)
    problems = ("fio: Stopped by you.", reason.partition(". ")[2])
    ended = RunEnded("20261122-141530-k3f9", State.PARTIAL, reason, {}, problems)
    return _scripted(stage, [*_measuring(), given_up, broken, ended])


def _scripted(stage: Stage, events: Iterable[Event]) -> QWidget:
    """Show a run in which `events` happen, all of them at once."""
    window = stage.window()
    page, shown = _page(window), []

    def script(_plan: Plan, _asker: Asker, control: Control, **_named: object) -> Generator[Event]:
        for event in events:
            yield event
            shown.append(event)
        while not control.stopped and not isinstance(shown[-1], RunEnded):
            time.sleep(0.02)

    page.workstation.run = script  # type: ignore[method-assign,assignment]
    page.start_run(_plan())
    stage.settle(lambda: (page.model is not None and len(page.model.trials) == 2) or not page.running)
    _wait(stage, 0.6)
    picture = _frozen(stage, window)
    page.stop()
    stage.settle(lambda: not page.running)
    return picture


def _wait(stage: Stage, seconds: float) -> None:
    until = time.monotonic() + seconds
    stage.settle(lambda: time.monotonic() >= until)


def _installing(end_it: Callable[[InstallDialog], None], stage: Stage) -> QWidget:
    window = stage.window()
    script = (
        "apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends hpcc libopenmpi3"
    )
    dialog = stage.keep(InstallDialog(stage.workstation, window.asker, "web-1", f"sudo sh -c '{script}'", window))
    dialog.show()
    dialog.output.show()
    dialog._worked = True
    dialog._add_line("Reading package lists...")
    end_it(dialog)
    stage.settle()
    return dialog


def _install_failed(dialog: InstallDialog) -> None:
    dialog._add_line("E: Unable to locate package libopenmpi3")
    dialog._fail(BenchwrightError("The command ended with exit status 100 on web-1.", "Read what it printed above."))
    dialog._end()


def _read_only(stage: Stage) -> QWidget:
    window = stage.window()
    if not isinstance(window, MainWindow):
        raise TypeError("no window")
    window.show_page(PageName.LIBRARY)
    window.library_bar.show_read_only(
        BenchwrightError(
            f"The library {LIBRARY} cannot be written: its file system is read-only.",
            "To measure, pin or delete, choose another library with --store.",
        )
    )
    return window


SHOTS: list[Shot] = [
    ("survival-left", _left),
    ("survival-library-lost", _lost),
    ("survival-library-busy", _busy),
    ("survival-library-saved-as", _saved_as),
    ("survival-library-read-only", _read_only),
    ("survival-library-truncated", _truncated),
    ("survival-dead-host", _dead_host),
    ("survival-lost-host", _lost_host),
    ("survival-given-up", _given_up),
    ("survival-installed", partial(_installing, InstallDialog._end)),
    ("survival-install-failed", partial(_installing, _install_failed)),
]
