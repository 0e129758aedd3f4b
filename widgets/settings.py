"""What the window remembers between sessions: appearance, size, what is folded."""

from platformdirs import user_config_path
from PySide6.QtCore import QByteArray, QSettings


def _stored() -> QSettings:
    path = user_config_path("benchwright", appauthor=False) / "window.ini"
    return QSettings(str(path), QSettings.Format.IniFormat)


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
    _stored().setValue(key, value)


def put_flag(key: str, *, value: bool) -> None:
    """Store a yes or no under `key`."""
    put(key, "yes" if value else "no")
