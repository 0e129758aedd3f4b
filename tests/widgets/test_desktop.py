"""What the desktop receives over a real session bus: progress in the taskbar and notifications."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.messages import messages
from widgets import desktop
from widgets.presence import share_of, title_of
from widgets.run_strip import LineState, StripLine

MESSAGES = messages("widgets", "test_desktop")

PROGRAM = """
import json, subprocess, sys, time
from dataclasses import replace
from PySide6.QtCore import QTimer
from PySide6.QtDBus import QDBusConnection, QDBusVirtualObject
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow
from tests.widgets.test_desktop import DONE, RUNNING
from widgets.presence import Presence

class Notifications(QDBusVirtualObject):
    def introspect(self, path):
        return ""

    def handleMessage(self, message, connection):
        received.append([message.signature(), *message.arguments()[3:5]])
        connection.send(message.createReply([1]))
        if len(received) == 2:
            QTimer.singleShot(300, application.quit)  # no third one follows
        return True

monitor = subprocess.Popen(
    ["dbus-monitor", "--session", "interface='com.canonical.Unity.LauncherEntry'"], stdout=subprocess.PIPE, text=True
)
monitor.stdout.readline()  # it listens
application, received = QApplication([]), []
service, bus = Notifications(), QDBusConnection.sessionBus()
assert bus.registerVirtualObject("/org/freedesktop/Notifications", service)
assert bus.registerService("org.freedesktop.Notifications")
presence = Presence(QMainWindow())
presence.set_notifies(False)
for lines in ([RUNNING], [DONE]):
    presence.show_lines(lines)
presence.set_notifies(True)
for lines in ([RUNNING], [DONE], [DONE, replace(DONE, key="seen for the first time")]):
    presence.show_lines(lines)
dialog = QDialog()
dialog.setWindowTitle("Trust <this> key?")
presence.note_question(dialog)
QTimer.singleShot(20_000, application.quit)
application.exec()
time.sleep(0.1)
monitor.terminate()
print(json.dumps([received, monitor.stdout.read()]))
"""

RUNNING = StripLine(
    "a", "web-1 · fio", "trial 2 of 6", LineState.RUNNING, "trial 2 of 6", "412k IOPS", "4:10 left", 0.251
)
DONE = StripLine("a", "web-1 · fio", "finished", LineState.DONE, figure="Valid: 6 results.")


def test_the_desktop_shows_progress_the_end_of_a_run_and_a_question() -> None:
    sender = shutil.which("busctl") or shutil.which("gdbus")
    if not sender or not all(map(shutil.which, ("dbus-run-session", "dbus-monitor"))):
        pytest.skip("dbus-run-session, dbus-monitor or gdbus is not installed (Debian: dbus, libglib2.0-bin)")
    words = ["dbus-run-session", "--", sys.executable, "-c", PROGRAM]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60, env=environment)
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    notified, updates = found
    assert sorted(notified) == [
        ["susssasa{sv}i", MESSAGES["asks"], "Trust &lt;this> key?"],
        ["susssasa{sv}i", MESSAGES["ended"], "Valid: 6 results."],
    ]
    assert desktop.ENTRY in updates
    assert "double 0.25" in updates
    assert updates.count("boolean true") == 2
    assert updates.count("boolean false") == 2


def test_without_a_session_bus_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    desktop.show_taskbar_progress(0.5)
    assert not desktop.notify("title", "text")


def test_progress_and_title_are_known_or_absent() -> None:
    unknown = StripLine("b", "web-2 · fio", "connection lost", LineState.RUNNING)
    assert share_of([RUNNING, DONE]) == 0.25
    assert share_of([RUNNING, unknown]) is None
    assert title_of([unknown]) == MESSAGES["title_lost"]
    assert title_of([DONE]) == "Benchwright"
    assert title_of([DONE, replace(unknown, state=LineState.WAITING)]) == MESSAGES["title_waits"]
    assert title_of([RUNNING]).startswith("412k IOPS · trial 2 of 6 · 4:10 left")
