"""The library vanishes under the window: said at once on every page, and the run goes on in another file."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.runs import running
from app.services import Workstation
from app.store import StoreError
from suites import registry
from tests.lab.counting import Counting, counting_plan
from tests.widgets.test_library_newer import Keep, choose, library_page, opened, press, settle
from widgets.library.library_bar import LibraryBar
from widgets.live.live_page import LivePage
from widgets.live.model import Phase
from widgets.main_window import MainWindow
from widgets.rail import Room


@pytest.fixture
def live(
    qtbot: QtBot, keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> tuple[MainWindow, LivePage]:
    """Return a window whose run has counted to five, and that looks often whether the library is back."""
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    monkeypatch.setattr(running, "FULL_AGAIN", 0.1)
    window = opened(qtbot, keep, workstation, Room.LIVE)
    page = window.rooms.made(Room.LIVE)
    assert isinstance(page, LivePage)
    assert page.start_run(counting_plan(60, host="local"))
    qtbot.waitUntil(lambda: page.model is not None and bool(page.model.trials) and page.model.trials[1].latest() > 0.1)
    return window, page


def remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink()


def picture_of(window: MainWindow, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    if folder := os.environ.get("BENCHWRIGHT_PICTURES"):
        window.grab().save(f"{folder}/{name}.png")


def test_a_library_that_vanishes_is_said_and_the_run_is_saved_elsewhere(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation, tmp_path: Path
) -> None:
    window, page = live
    bar: LibraryBar = window.library_bar
    library = workstation.library_path
    remove(library)
    qtbot.waitUntil(bar.isVisible, timeout=20_000)
    assert "is gone" in bar.text()
    assert [button.text() for button in bar._buttons if button.isVisible()] == ["Save as…"]
    picture_of(window, "lost-live")
    window.show_room(Room.LIBRARY)
    qtbot.waitUntil(library_page(window).notice.isVisible, timeout=20_000)
    assert bar.isVisible()
    assert not library_page(window).empty.isVisible()  # nobody says that there are no runs
    picture_of(window, "lost-library")
    assert not library.exists()

    press(qtbot, bar.save_as_button)
    choose(qtbot, window, tmp_path / "saved.sqlite3")
    qtbot.waitUntil(lambda: not page.running, timeout=30_000)
    settle(qtbot)
    assert page.model is not None
    assert (page.model.phase, page.model.stored) == (Phase.DONE, True)
    assert workstation.library_path == tmp_path / "saved.sqlite3"
    assert "The library takes the run again." in bar.text()
    assert library_page(window).table.runs.row_of(page.model.run_id) >= 0
    picture_of(window, "lost-saved")


def test_a_run_that_could_not_be_stored_is_nowhere_called_kept(
    qtbot: QtBot, live: tuple[MainWindow, LivePage], workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, page = live
    monkeypatch.setattr("app.store.recorder.make_new", _refuse)
    remove(workstation.library_path)
    qtbot.waitUntil(window.library_bar.isVisible, timeout=20_000)
    page.stop()
    qtbot.waitUntil(lambda: not page.running, timeout=30_000)
    said = f"{page._outcome.message.text()} {page._outcome.detail.text()}"
    assert "could not be saved" in said
    for word in ("kept", "is in the library", "are in the library"):
        assert word not in said
    assert window.findChildren(QFileDialog) == []


def _refuse(path: Path) -> None:
    raise StoreError(f"{path} cannot be made.")
