"""Window settings stored between sessions: appearance, geometry, folded panels."""

from contextlib import suppress

from PySide6.QtCore import QByteArray, QSettings

from app.output import make_private
from app.paths import window_path


def _stored() -> QSettings:
    return QSettings(str(window_path()), QSettings.Format.IniFormat)


def text(key: str, default: str = "") -> str:
    """Return the text stored under `key`."""
    value = _stored().value(key, default)
    return value if isinstance(value, str) else default


def flag(key: str, *, default: bool) -> bool:
    """Return the boolean stored under `key`."""
    return text(key, "yes" if default else "no") == "yes"


def blob(key: str) -> QByteArray:
    """Return the bytes stored under `key`, or an empty array."""
    value = _stored().value(key)
    return value if isinstance(value, QByteArray) else QByteArray()


def put(key: str, value: str | QByteArray) -> None:
    """Store `value` under `key`."""
    with suppress(OSError):  # if the file cannot be created, the setting is lost
        make_private(window_path())
    _stored().setValue(key, value)
