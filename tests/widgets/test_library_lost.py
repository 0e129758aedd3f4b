"""The library vanishes under the window: said at once on every page, and the run goes on in another file."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.runs import recording
from app.services import Workstation
from app.store.errors import StoreError
from suites import registry
from tests.lab.broken_libraries import locked
from tests.lab.counting import Counting, counting_plan
from tests.messages import messages
from tests.widgets.test_library_newer import Keep, choose, library_page, opened, press, settle
from widgets.library.library_bar import LibraryBar
from widgets.live.live_page import LivePage
from widgets.live.model import LivePhase
from widgets.main_window import MainWindow
from widgets.page import PageName

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-library", "test_library_lost")


@pytest.fixture
def live(
    qtbot: QtBot, keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> tuple[MainWindow, LivePage]:
    """Return a window whose run has counted to five, and that looks often whether the library is back."""
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    monkeypatch.setattr(recording, "FULL_RETRY", 0.1)
    window = opened(qtbot, keep, workstation, PageName.LIVE)
    page = window.pages.existing(PageName.LIVE)
    assert isinstance(page, LivePage)
    page.start_run(counting_plan(60, host="local"))
    qtbot.waitUntil(lambda: page.model is not None and bool(page.model.trials) and page.model.trials[1].latest() > 0.1)
    return window, page


def remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink()


def picture_of(window: MainWindow, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    if folder := os.environ.get("BENCHWRIGHT_PICTURES"):
        window.grab().save(f"{folder}/{name}.png")


@pytest.mark.slow
def test_a_library_that_vanishes_is_reported_and_the_run_is_saved_elsewhere(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation, tmp_path: Path
) -> None:
    window, page = live
    bar: LibraryBar = window.library_bar
    library = workstation.library_path
    remove(library)
    qtbot.waitUntil(bar.isVisible)
    assert "is gone" in bar.text()
    assert [button.text() for button in bar._buttons if button.isVisible()] == ["Save as…"]
    picture_of(window, "lost-live")
    window.show_page(PageName.LIBRARY)
    qtbot.waitUntil(library_page(window).unreadable.isVisible)
    assert bar.isVisible()
    assert not library_page(window).empty.isVisible()  # nobody says that there are no runs
    picture_of(window, "lost-library")
    assert not library.exists()

    press(qtbot, bar.save_as_button)
    choose(qtbot, window, tmp_path / "saved.sqlite3")
    qtbot.waitUntil(lambda: not page.running)
    settle(qtbot)
    assert page.model is not None
    assert (page.model.phase, page.model.stored) == (LivePhase.DONE, True)
    assert workstation.library_path == tmp_path / "saved.sqlite3"
    assert MESSAGES["the_run_is_saved_in_another"] in bar.text()
    assert library_page(window).table.row_of(page.model.run_id) >= 0
    picture_of(window, "lost-saved")


def test_a_run_that_could_not_be_stored_is_nowhere_called_kept(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, page = live
    monkeypatch.setattr("app.store.recorder.create_file", _refuse)
    remove(workstation.library_path)
    qtbot.waitUntil(window.library_bar.isVisible)
    page.stop()
    qtbot.waitUntil(lambda: not page.running)
    shown = f"{page._outcome.message.text()} {page._outcome.detail.text()}"
    assert "could not be saved" in shown
    for word in ("kept", "is in the library", "are in the library"):
        assert word not in shown
    assert window.findChildren(QFileDialog) == []


@pytest.mark.slow
def test_a_library_in_use_is_reported_until_it_is_free(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BUSY_REPORTED", 1.0)
    window, page = live
    bar: LibraryBar = window.library_bar
    with locked(workstation.library_path):
        qtbot.waitUntil(bar.isVisible)
        assert MESSAGES["is_in_use_by_another_program"] in bar.text()
        assert MESSAGES["stop_ends_the_run_if_the"] in bar.text()
        assert [button.text() for button in bar._buttons if button.isVisible()] == ["Save as…"]
        picture_of(window, "in-use-live")
    qtbot.waitUntil(lambda: not page.running)
    settle(qtbot)
    assert page.model is not None
    assert (page.model.phase, page.model.stored) == (LivePhase.DONE, True)
    assert MESSAGES["the_library_is_writable"] in bar.text()
    assert workstation.load("last").trials[0].figures[0].value == 60


@pytest.mark.slow
def test_a_stop_saves_the_run_elsewhere_while_the_library_is_in_use(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BUSY_REPORTED", 0.5)
    monkeypatch.setattr(recording, "STOPPING", 3.0)
    window, page = live
    library = workstation.library_path
    with locked(library):
        qtbot.waitUntil(window.library_bar.isVisible)
        page.stop()
        qtbot.waitUntil(lambda: not page.running)
        assert page.model is not None
        assert (page.model.phase in {LivePhase.PARTIAL, LivePhase.DONE}, page.model.stored) == (True, True)
        assert workstation.library_path != library
        assert f"Library: {workstation.library_path}." in window.library_bar.text()
        assert workstation.load("last").trials[0].reason in {"", "Stopped by you."}  # it is short


@pytest.mark.slow
def test_a_damaged_library_is_reported_and_the_run_is_saved_from_memory(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation
) -> None:
    window, page = live
    bar: LibraryBar = window.library_bar
    library = workstation.library_path
    with library.open("r+b") as file:
        file.write(os.urandom(library.stat().st_size))
    os.truncate(f"{library}-wal", 0)
    qtbot.waitUntil(bar.isVisible)
    assert "was overwritten" in bar.text()
    assert "Free space" not in bar.text()
    picture_of(window, "damaged-live")
    page.stop()
    qtbot.waitUntil(lambda: not page.running)
    settle(qtbot)
    assert workstation.library_path != library
    with closing(sqlite3.connect(workstation.library_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert workstation.load("last").trials[0].reason in {"", "Stopped by you."}  # it is short


def _refuse(path: Path) -> None:
    raise StoreError(f"{path} cannot be made.")
