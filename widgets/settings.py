"""What the window remembers between sessions: appearance, size, what is folded."""

from contextlib import suppress

from PySide6.QtCore import QByteArray, QSettings

from app.paths import window_path
from app.writing import make_private


def _stored() -> QSettings:
    return QSettings(str(window_path()), QSettings.Format.IniFormat)


def text(key: str, default: str = "") -> str:
    """Return the text stored under `key`."""
    value = _stored().value(key, default)
    return value if isinstance(value, str) else default


def flag(key: str, *, default: bool) -> bool:
    """Return the yes or no stored under `key`."""
    return text(key, "yes" if default else "no") == "yes"


def blob(key: str) -> QByteArray:
    """Return the bytes stored under `key`; none where there are none."""
    value = _stored().value(key)
    return value if isinstance(value, QByteArray) else QByteArray()


def put(key: str, value: str | QByteArray) -> None:
    """Store `value` under `key`."""
    with suppress(OSError):  # it exists, or nothing is remembered
        make_private(window_path())
    _stored().setValue(key, value)


def put_flag(key: str, *, value: bool) -> None:
    """Store a yes or no under `key`."""
    put(key, "yes" if value else "no")
