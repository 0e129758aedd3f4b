"""The window asks for the password of a library on a server, and stores it in the system keyring if told to."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.library_location import ServerUrl, location_of
from app.paths import window_path
from app.services import Workstation
from tests.app.keyring_in_memory import KeyringInMemory
from tests.app.test_server_password import keyring, server
from tests.messages import messages
from tests.postgresql import Server, programs
from widgets import jobs
from widgets.library.library_page import LibraryPage
from widgets.library.open_dialog import OpenLibraryDialog
from widgets.main_window import MainWindow
from widgets.page import PageName

MESSAGES = messages("widgets-library", "test_server_sign_in")

pytestmark = [
    pytest.mark.usefixtures("idle"),
    pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed"),
]

__all__ = ["keyring", "server"]

SECRET = "secret"

Shown = Callable[[Workstation], MainWindow]


@pytest.fixture
def shown(qtbot: QtBot, keep: Callable[[QWidget], QWidget]) -> Shown:
    def show(workstation: Workstation) -> MainWindow:
        window = MainWindow(workstation)
        keep(window)
        window.show()
        qtbot.waitUntil(lambda: window._painted and not jobs.running())
        return window

    return show


def asked(window: MainWindow) -> list[OpenLibraryDialog]:
    return [each for each in window.findChildren(OpenLibraryDialog) if each.isVisible()]


def accept(qtbot: QtBot, question: OpenLibraryDialog, password: str, *, keep: bool = False) -> None:
    question.password.setText(password)
    question.keep.setChecked(keep)
    question.accept_button.click()
    assert not question.password.text()
    qtbot.waitUntil(lambda: not jobs.running())


def test_a_password_is_asked_again_used_and_stored_on_request(
    qtbot: QtBot, shown: Shown, workstation: Workstation, server: Server, keyring: KeyringInMemory
) -> None:
    window = shown(workstation)
    before = workstation.library_location
    window.actions_of_window.open_library.trigger()
    (question,) = asked(window)
    qtbot.waitUntil(lambda: not jobs.running())
    assert not question.password.isVisible()  # a file
    assert not question.keep.isVisible()
    question.field.setText(server.url())
    assert question.password.isVisible()
    assert question.keep.isVisible()
    assert question.password.echoMode() is QLineEdit.EchoMode.Password
    accept(qtbot, question, "")
    (question,) = asked(window)
    assert question.message.label.text() == MESSAGES["required"]
    assert question.field.text() == server.url()
    accept(qtbot, question, "wr0ngpass", keep=True)
    (question,) = asked(window)
    assert question.message.label.text() == MESSAGES["refused"]
    assert keyring.kept == {}
    assert workstation.library_location == before
    accept(qtbot, question, SECRET, keep=True)
    assert asked(window) == []
    assert window.library_bar.isHidden()
    assert str(workstation.library_location) == server.url()
    assert list(keyring.kept.values()) == [SECRET]
    window.close()
    log = "".join(path.read_text() for path in Path(os.environ["HOME"]).rglob("*.log*"))
    stored = window_path().read_text() if window_path().exists() else ""
    for text in (stored, log, window.windowTitle(), str(workstation.library_location)):
        assert "wr0ngpass" not in text
        assert SECRET not in text


def test_without_consent_it_is_kept_in_memory_only(
    qtbot: QtBot, workstation: Workstation, shown: Shown, server: Server, keyring: KeyringInMemory
) -> None:
    window = shown(workstation)
    window.actions_of_window.open_library.trigger()
    (question,) = asked(window)
    question.field.setText(server.url().replace("@", f":{SECRET}@"))
    question.field.editingFinished.emit()
    assert (question.field.text(), question.password.text()) == (server.url(), SECRET)
    accept(qtbot, question, SECRET)
    assert str(workstation.library_location) == server.url()
    assert keyring.kept == {}
    assert workstation.runs() == []


def test_a_library_without_a_password_asks_once_and_offers_to_sign_in(
    qtbot: QtBot, shown: Shown, server: Server, keyring: KeyringInMemory, tmp_path: Path
) -> None:
    with closing(Workstation(location_of(server.url()), tmp_path / "hosts.toml")) as workstation:
        window = shown(workstation)
        qtbot.waitUntil(lambda: len(asked(window)) == 1)
        asked(window)[0].reject()
        page = window.show_page(PageName.LIBRARY)
        assert isinstance(page, LibraryPage)
        window.digests.refresh()
        qtbot.waitUntil(lambda: page.unreadable.state is not None and not jobs.running())
        assert asked(window) == []
        state = page.unreadable.state
        assert state is not None
        (sign_in,) = [each for each in state.findChildren(QPushButton) if each.text() == "Sign in…"]
        sign_in.click()
        (question,) = asked(window)
        accept(qtbot, question, SECRET)
        qtbot.waitUntil(lambda: page.unreadable.isHidden() and not jobs.running())
        assert workstation.runs() == []
        assert keyring.kept == {}


def test_a_locked_keyring_is_named_and_the_library_opens(
    qtbot: QtBot, workstation: Workstation, shown: Shown, server: Server, keyring: KeyringInMemory
) -> None:
    window = shown(workstation)
    window.actions_of_window.open_library.trigger()
    (question,) = asked(window)
    qtbot.waitUntil(lambda: not jobs.running())
    question.field.setText(server.url())
    keyring.locked = True
    accept(qtbot, question, SECRET, keep=True)
    url = workstation.library_location
    assert isinstance(url, ServerUrl)
    assert str(url) == server.url()
    assert "is not stored" in window.library_bar.text()
