"""A library in PostgreSQL is opened from the menu File; one that cannot be opened is named, and the other one stays."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from app.store.store import Store
from tests.app import run_events
from tests.app.stores import RUN, postgresql, record
from tests.postgresql import Server, programs
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.parts.dialogs import QuestionDialog

__all__ = ["postgresql"]  # a fixture

pytestmark = [
    pytest.mark.usefixtures("idle"),
    pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed"),
]


def test_a_library_on_a_server_is_opened(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation, postgresql: Server, tmp_path: Path
) -> None:
    url = postgresql.library()
    store = Store(url)
    record(store, RUN, run_events.run_events(RUN))
    store.close()
    window = MainWindow(workstation)
    keep(window)
    window.show()
    qtbot.waitUntil(lambda: not jobs.running())

    def open_named(text: str) -> str:
        window.actions_of_window.open_library.trigger()
        (question,) = [each for each in window.findChildren(QuestionDialog) if each.isVisible()]
        field = question.findChild(QLineEdit)
        assert field is not None
        field.setText(text)
        question.accept_button.click()
        qtbot.waitUntil(lambda: not jobs.running())
        return "" if window.library_bar.isHidden() else window.library_bar.text()

    before = workstation.library_location
    assert "mysql://" in open_named("mysql://ann:s3cret@db/bench")
    missing = open_named(url.url.replace("benchwright@", "benchwright:s3cret@") + "x")
    assert "does not exist" in missing
    assert "s3cret" not in missing
    assert workstation.library_location == before
    assert not open_named(str(url))
    assert workstation.library_location == url
    assert [run.id for run in workstation.runs()] == [RUN]
    assert window.library_bar.isHidden()
    workstation.open_library(tmp_path / "own.sqlite3")
    postgresql.drop(url)
