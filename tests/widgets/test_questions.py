"""Questions reach the user from worker threads, one at a time, and never leave a thread waiting for ever."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.questions import HostKeyQuestion, LocalProgramQuestion, SecretQuestion
from tests.messages import messages
from widgets.jobs import BackgroundJob
from widgets.question_dialogs import HostKeyDialog, LocalProgramDialog, SecretDialog, pasted_fingerprint
from widgets.questions import WindowAsker

MESSAGES = messages("widgets", "test_questions")

DIGEST = "kXQ1zj4Y0m3Q9wZ0Zr3p1mZq7c2dJvJ3lE0Jt8x0q1A"
FINGERPRINT = f"SHA256:{DIGEST}"
KEY = HostKeyQuestion("web-1", "192.0.2.14", 2222, "ssh-ed25519", FINGERPRINT, "/home/ann/.ssh/known_hosts", "bastion")
PASSWORD = SecretQuestion("web-1", "ann", "Password:")


@pytest.fixture
def asker(qtbot: QtBot) -> Iterator[WindowAsker]:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    made = WindowAsker(window)
    yield made
    made.close()


class _Answers:
    """Runs a question on a worker thread and keeps what came of it."""

    def __init__(self, qtbot: QtBot, ask: Callable[[], object]) -> None:
        self._qtbot = qtbot
        self.values: list[object] = []
        self.job = BackgroundJob(ask)
        self.job.returned.connect(self.values.append)

    def dialog(self, asker: WindowAsker) -> QDialog:
        """Start, and return the dialog that is opened."""
        with self._qtbot.waitSignal(asker.asked) as opened:
            self.job.start()
        dialog = opened.args[0]
        assert isinstance(dialog, QDialog)
        return dialog

    def wait(self) -> object:
        """Return the answer."""
        self._qtbot.waitUntil(lambda: bool(self.values))
        return self.values[0]


def test_the_key_is_trusted_only_by_the_button_that_says_so(qtbot: QtBot, asker: WindowAsker) -> None:
    answers = _Answers(qtbot, lambda: asker.host_key(KEY))
    dialog = answers.dialog(asker)
    assert isinstance(dialog, HostKeyDialog)
    assert dialog.accept_button.text() == MESSAGES["trust_this_key_and_connect"]
    assert asker.asking == {"web-1", "bastion"}
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    assert answers.wait() is True
    assert asker.asking == frozenset()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Escape])
def test_enter_and_escape_do_not_trust_a_key(qtbot: QtBot, asker: WindowAsker, key: Qt.Key) -> None:
    answers = _Answers(qtbot, lambda: asker.host_key(KEY))
    qtbot.keyClick(answers.dialog(asker), key)
    assert answers.wait() is False


def test_enter_in_the_field_for_the_expected_fingerprint_does_not_trust_the_key(
    qtbot: QtBot, asker: WindowAsker
) -> None:
    answers = _Answers(qtbot, lambda: asker.host_key(KEY))
    dialog = answers.dialog(asker)
    assert isinstance(dialog, HostKeyDialog)
    qtbot.keyClicks(dialog.expected, "something")
    qtbot.keyClick(dialog.expected, Qt.Key.Key_Return)
    assert answers.wait() is False


def test_a_typed_secret_comes_back_unseen(qtbot: QtBot, asker: WindowAsker) -> None:
    answers = _Answers(qtbot, lambda: asker.secret(PASSWORD))
    dialog = answers.dialog(asker)
    assert isinstance(dialog, SecretDialog)
    qtbot.keyClicks(dialog.field, "correct horse")
    assert dialog.field.displayText() == "●" * 13
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert answers.wait() == "correct horse"


def test_the_dialog_forgets_what_was_typed(qtbot: QtBot) -> None:
    dialog = SecretDialog(PASSWORD)
    qtbot.addWidget(dialog)
    dialog.field.setText("correct horse")
    assert dialog.secret() == "correct horse"
    assert dialog.field.text() == ""
    dialog.field.setText("correct horse")
    dialog.reject()
    assert dialog.field.text() == ""


def test_the_password_of_sudo_is_asked_for_with_its_purpose(qtbot: QtBot) -> None:
    dialog = SecretDialog(SecretQuestion("web-1", "ann", "Password for sudo", purpose="drop the page cache"))
    qtbot.addWidget(dialog)
    reported = {label.accessibleName() for label in dialog.findChildren(QWidget)}
    assert {"Host: web-1", "User: ann", MESSAGES["as_root_drop_the_page_cache"]} <= reported
    assert dialog.windowTitle() == "Become root on web-1"
    assert dialog.accept_button.text() == "Continue as root"


def test_giving_up_on_a_secret_is_told_apart_from_an_empty_one(qtbot: QtBot, asker: WindowAsker) -> None:
    answers = _Answers(qtbot, lambda: asker.secret(PASSWORD))
    qtbot.keyClick(answers.dialog(asker), Qt.Key.Key_Escape)
    assert answers.wait() is None
    empty = _Answers(qtbot, lambda: asker.secret(PASSWORD))
    qtbot.keyClick(empty.dialog(asker), Qt.Key.Key_Return)
    assert empty.wait() == ""


def test_two_questions_are_asked_one_after_the_other(qtbot: QtBot, asker: WindowAsker) -> None:
    first, second = _Answers(qtbot, lambda: asker.host_key(KEY)), _Answers(qtbot, lambda: asker.secret(PASSWORD))
    dialog = first.dialog(asker)
    opened: list[QDialog] = []
    asker.asked.connect(opened.append)
    with qtbot.assertNotEmitted(asker.asked, wait=300):
        second.job.start()
    dialog.accept()
    assert first.wait() is True
    qtbot.waitUntil(lambda: bool(opened))
    opened[0].reject()
    assert second.wait() is None


def test_a_cancelled_job_gets_a_refusal_and_its_dialog_goes_away(qtbot: QtBot, asker: WindowAsker) -> None:
    answers = _Answers(qtbot, lambda: asker.host_key(KEY))
    dialog = answers.dialog(asker)
    with qtbot.waitSignal(dialog.finished):
        answers.job.cancel()
    assert answers.wait() is False


def test_closing_the_window_refuses_what_was_asked_and_all_that_follows(qtbot: QtBot, asker: WindowAsker) -> None:
    answers = _Answers(qtbot, lambda: asker.secret(PASSWORD))
    answers.dialog(asker)
    asker.close()
    assert answers.wait() is None
    late = _Answers(qtbot, lambda: asker.host_key(KEY))
    late.job.start()
    assert late.wait() is False


@pytest.mark.parametrize(
    "pasted", [FINGERPRINT, DIGEST, f"{DIGEST}=", f"  {FINGERPRINT}\n", f"256 {FINGERPRINT} root@web-1 (ED25519)"]
)
def test_the_expected_fingerprint_is_recognised_however_it_was_printed(pasted: str) -> None:
    assert pasted_fingerprint(pasted) == FINGERPRINT


@pytest.mark.parametrize("pasted", ["", "SHA256:", DIGEST[:-1], DIGEST + "A", f"{FINGERPRINT} SHA256:{'A' * 43}"])
def test_anything_else_is_no_fingerprint(pasted: str) -> None:
    assert pasted_fingerprint(pasted) is None


def test_a_different_fingerprint_forbids_to_trust_the_key(qtbot: QtBot) -> None:
    dialog = HostKeyDialog(KEY)
    qtbot.addWidget(dialog)
    dialog.expected.setText(f"SHA256:{'A' * 43}")
    assert not dialog.accept_button.isEnabled()
    assert "differ" in dialog.verdict.label.text()
    dialog.expected.setText(DIGEST)
    assert dialog.accept_button.isEnabled()
    assert dialog.verdict.label.text() == "The fingerprints match."
    dialog.expected.setText("16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48")
    assert "MD5" in dialog.verdict.label.text()


def test_the_dialog_tells_everything_that_decides(qtbot: QtBot) -> None:
    dialog = HostKeyDialog(KEY)
    qtbot.addWidget(dialog)
    reported = {label.accessibleName() for label in dialog.findChildren(QWidget)}
    assert {
        "Host: web-1",
        "Address: 192.0.2.14, port 2222",
        "Through: bastion",
        "Key type: ssh-ed25519",
        f"Fingerprint: {FINGERPRINT}",
        "Stored in: /home/ann/.ssh/known_hosts",
    } <= reported


PROGRAM = LocalProgramQuestion(
    "web-1", "ProxyCommand", "ssh -W %h:%p <b>gate</b> | tee /tmp/x", "/home/ann/.ssh/config", 12
)


def test_a_program_runs_only_after_its_own_button(qtbot: QtBot, asker: WindowAsker) -> None:
    answers = _Answers(qtbot, lambda: asker.local_program(PROGRAM))
    dialog = answers.dialog(asker)
    assert isinstance(dialog, LocalProgramDialog)
    reported = {label.accessibleName() for label in dialog.findChildren(QWidget)}
    assert {
        "Host: web-1",
        MESSAGES["asked_by_proxycommand_in"],
        f"Command: {PROGRAM.command}",  # to the letter, markup included
    } <= reported
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    assert answers.wait() is True


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Escape])
def test_enter_and_escape_run_no_program(qtbot: QtBot, asker: WindowAsker, key: Qt.Key) -> None:
    answers = _Answers(qtbot, lambda: asker.local_program(PROGRAM))
    qtbot.keyClick(answers.dialog(asker), key)
    assert answers.wait() is False


def test_the_keyring_is_offered_only_where_there_is_one(qtbot: QtBot, asker: WindowAsker) -> None:
    dialog = SecretDialog(PASSWORD)
    qtbot.addWidget(dialog)
    dialog.show()
    assert not dialog.keep.isVisible()
    question = replace(PASSWORD, may_keep=True, lasting=True)
    answers = _Answers(qtbot, lambda: asker.secret(question))
    offered = answers.dialog(asker)
    assert isinstance(offered, SecretDialog)
    assert offered.keep.isVisible()
    assert not offered.keep.isChecked()
    qtbot.keyClicks(offered.field, "secret")
    offered.keep.setChecked(True)
    offered.accept()
    assert answers.wait() == "secret"
    assert asker.remember(question)
    assert not asker.remember(PASSWORD)


def test_what_was_ticked_at_an_earlier_attempt_no_longer_counts(qtbot: QtBot, asker: WindowAsker) -> None:
    question = replace(PASSWORD, may_keep=True, lasting=True)
    for attempt, ticked in ((1, True), (2, False)):
        answers = _Answers(qtbot, partial(asker.secret, replace(question, attempt=attempt)))
        dialog = answers.dialog(asker)
        assert isinstance(dialog, SecretDialog)
        dialog.keep.setChecked(ticked)
        dialog.accept()
        answers.wait()
    assert not asker.remember(question)


def test_a_question_that_may_be_answered_openly_is(qtbot: QtBot) -> None:
    dialog = SecretDialog(replace(PASSWORD, prompt="Account:", echo=True))
    qtbot.addWidget(dialog)
    dialog.field.setText("ann")
    assert dialog.field.displayText() == "ann"


def test_what_of_the_configuration_is_not_followed_is_said_beside_the_key(qtbot: QtBot) -> None:
    note = "StrictHostKeyChecking no (/home/ann/.ssh/config, line 3) is not followed."
    dialog = HostKeyDialog(replace(KEY, note=note, known_hosts=""))
    qtbot.addWidget(dialog)
    assert note in {label.text() for label in dialog.findChildren(QLabel)}
    reported = {label.accessibleName() for label in dialog.findChildren(QWidget)}
    assert MESSAGES["stored_in_nowhere"] in reported
