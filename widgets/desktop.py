"""The desktop's session bus: progress in the taskbar and notifications. Harmless where the desktop has none."""

import os
import shutil
from pathlib import Path

from PySide6.QtCore import QProcess

from widgets.parts.text import visible

ENTRY = "application://benchwright.desktop"
NOTIFICATIONS = "org.freedesktop.Notifications"
SHOWN_FOR = 15_000
"""Milliseconds for which a notification is shown; most desktops keep it in a list afterwards."""


def has_session_bus() -> bool:
    """Return whether a session bus runs. Without this check, libdbus could start one."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS")) or (bool(folder) and Path(folder, "bus").exists())


def show_taskbar_progress(share: float | None) -> None:
    """Show the share done (0 to 1) at the icon in the taskbar, or none.

    Source: Unity's LauncherEntry interface, which KDE, Dash to Dock and others read, too.
    """
    if not has_session_bus():
        return
    from PySide6.QtDBus import QDBusConnection, QDBusMessage

    interface = "com.canonical.Unity.LauncherEntry"
    message = QDBusMessage.createSignal("/com/canonical/unity/launcherentry/benchwright", interface, "Update")
    message.setArguments([ENTRY, {"progress": float(share or 0.0), "progress-visible": share is not None}])
    QDBusConnection.sessionBus().send(message)


def notify(title: str, text: str) -> bool:
    """Show a desktop notification; return False if there is no way to.

    With busctl or gdbus, as PySide6 cannot send the unsigned integer of Notify().
    Source: Desktop Notifications Specification, org.freedesktop.Notifications.Notify.
    """
    if not has_session_bus():
        return False
    title, body = visible(title), visible(text).replace("&", "&amp;").replace("<", "&lt;")  # the body may have markup
    path = "/org/freedesktop/Notifications"
    if (program := shutil.which("busctl")) is not None:
        values = ["Benchwright", "0", "benchwright", title, body, "0", "0", str(SHOWN_FOR)]
        call = ["--user", "call", NOTIFICATIONS, path, NOTIFICATIONS, "Notify", "susssasa{sv}i", "--", *values]
    elif (program := shutil.which("gdbus")) is not None:
        values = ["Benchwright", "0", "benchwright", _quoted(title), _quoted(body), "[]", "{}", str(SHOWN_FOR)]
        method = f"{NOTIFICATIONS}.Notify"
        call = ["call", "--session", "--dest", NOTIFICATIONS, "--object-path", path, "--method", method, "--", *values]
    else:
        return False
    process = QProcess()
    process.setProgram(program)
    process.setArguments(call)
    process.setStandardOutputFile(QProcess.nullDevice())
    process.setStandardErrorFile(QProcess.nullDevice())
    return bool(process.startDetached())


def _quoted(text: str) -> str:
    """Return `text` as a string in the text format of GVariant."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
