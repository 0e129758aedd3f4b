"""The window says what is wrong with the library as a whole, and leads on: it is damaged, or of a newer Benchwright."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from tests.app.test_store_formats import STORES
from tests.app.test_store_newer import make_newer
from tests.app.test_store_salvage import damage
from tests.lab.counting import Counting, counting_plan
from tests.messages import messages
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.library.library_page import LibraryPage
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.page import PageName

MESSAGES = messages("widgets-library", "test_library_newer")

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]
NEWEST = "20260114-123456-o5p6"


@pytest.fixture
def library(workstation: Workstation) -> Path:
    """Return a library with every kind of run, closed."""
    copied_library(workstation)
    workstation.close()
    return workstation.library_path


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def opened(qtbot: QtBot, keep: Keep, workstation: Workstation, room: PageName) -> MainWindow:
    window = MainWindow(workstation)
    keep(window)
    with qtbot.waitExposed(window):
        window.show()
    settle(qtbot)
    window.show_page(room)
    settle(qtbot)
    return window


def library_page(window: MainWindow) -> LibraryPage:
    page = window.pages.existing(PageName.LIBRARY)
    assert isinstance(page, LibraryPage)
    return page


def press(qtbot: QtBot, button: QAbstractButton) -> None:
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def choose(qtbot: QtBot, window: MainWindow, path: Path) -> None:
    """Choose a file in the dialog that is open, as its button does."""
    dialog = next(found for found in window.findChildren(QFileDialog) if found.isVisible())
    dialog.selectFile(str(path))
    dialog.accept()
    settle(qtbot)


def spoil_summaries(path: Path) -> bytes:
    """Damage the page on which the table of summaries begins; return the file."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'run_summaries'").fetchone()[0]
    connection.close()
    return damage(path, page)


def test_a_newer_library_is_shown_and_not_written_to(
    qtbot: QtBot, keep: Keep, workstation: Workstation, library: Path
) -> None:
    before = make_newer(library, 6)
    window = opened(qtbot, keep, workstation, PageName.LIBRARY)
    page, bar = library_page(window), window.library_bar
    assert bar.isVisible()
    assert MESSAGES["of_a_newer_benchwright_it"] in bar.text()
    assert [button.text() for button in (bar.save_button, bar.other_button) if button.isVisible()] == ["Open another…"]
    assert page.table.row_of(NEWEST) >= 0
    assert page.panel.opened is not None
    actions = page.actions_of_runs
    assert [action.isEnabled() for action in (actions.pin, actions.delete)] == [False, False]
    assert "is read-only" in actions.delete.toolTip()
    assert actions.export.isEnabled()
    assert not window.detached_bar.isVisible()
    workstation.close()
    assert library.read_bytes() == before


def test_measuring_into_a_newer_library_is_refused_in_words(
    qtbot: QtBot, keep: Keep, workstation: Workstation, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("suites.registry.SUITES", (Counting(),))
    make_newer(library, 6)
    window = opened(qtbot, keep, workstation, PageName.LIVE)
    live = window.pages.existing(PageName.LIVE)
    assert isinstance(live, LivePage)
    live.start_run(counting_plan(3, host="local"))
    settle(qtbot)
    assert "is read-only" in f"{live._outcome.message.text()} {live._outcome.detail.text()}"
    assert "--store" in live._outcome.detail.text()


def test_another_library_is_opened_from_the_window(
    qtbot: QtBot, keep: Keep, workstation: Workstation, library: Path, tmp_path: Path
) -> None:
    make_newer(library, 6)
    window = opened(qtbot, keep, workstation, PageName.LIBRARY)
    press(qtbot, window.library_bar.other_button)
    choose(qtbot, window, tmp_path / "mine.sqlite3")
    assert not window.library_bar.isVisible()
    assert workstation.library_path == tmp_path / "mine.sqlite3"
    assert library_page(window).empty.isVisible()


def test_what_can_be_read_of_a_damaged_library_is_saved_and_opened(
    qtbot: QtBot, keep: Keep, workstation: Workstation, library: Path, tmp_path: Path
) -> None:
    before = spoil_summaries(library)
    window = opened(qtbot, keep, workstation, PageName.HOSTS)
    bar = window.library_bar
    assert f"{library} is damaged" in bar.text()
    press(qtbot, bar.save_button)
    choose(qtbot, window, tmp_path / "saved.sqlite3")
    assert "runs saved to" in bar.text()
    assert f"benchwright --store {tmp_path / 'saved.sqlite3'}" in bar.text()
    window.show_page(PageName.LIBRARY)
    settle(qtbot)
    assert library_page(window).table.row_of(NEWEST) >= 0
    workstation.close()
    assert library.read_bytes() == before


def test_the_place_of_the_runs_says_that_the_library_is_damaged(
    qtbot: QtBot, keep: Keep, workstation: Workstation, library: Path, tmp_path: Path
) -> None:
    spoil_summaries(library)
    window = opened(qtbot, keep, workstation, PageName.LIBRARY)
    page = library_page(window)
    assert not page.table.isVisible()
    qtbot.waitUntil(lambda: (place := page.unreadable.state) is not None and place.isVisible())
    place = page.unreadable.state
    assert place is not None
    assert place.button is not None
    press(qtbot, place.button)
    choose(qtbot, window, tmp_path / "saved.sqlite3")
    assert "saved to" in window.library_bar.text()
    assert not page.unreadable.isVisible()
    assert page.table.isVisible()


def test_no_file_is_overwritten_by_what_is_saved(
    qtbot: QtBot, keep: Keep, workstation: Workstation, library: Path, tmp_path: Path
) -> None:
    spoil_summaries(library)
    (tmp_path / "there.sqlite3").write_text("precious")
    window = opened(qtbot, keep, workstation, PageName.LIBRARY)
    bar = window.library_bar
    assert not library_page(window).panel.isVisible()
    press(qtbot, bar.save_button)
    choose(qtbot, window, tmp_path / "there.sqlite3")
    qtbot.waitUntil(lambda: "exists already" in bar.text())
    assert bar.save_button.isVisible()
    assert (tmp_path / "there.sqlite3").read_text() == "precious"
    assert workstation.library_path == library


def test_samples_of_an_older_version_are_packed_while_the_page_is_open(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    workstation.library_path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(STORES / "format-14.sqlite3", workstation.library_path)
    before = workstation.samples("last")
    opened(qtbot, keep, workstation, PageName.LIBRARY)
    with closing(sqlite3.connect(workstation.library_path)) as connection:
        assert connection.execute("SELECT count(*) FROM sample_rows").fetchone() == (0,)
    assert workstation.samples("last") == before != {}
