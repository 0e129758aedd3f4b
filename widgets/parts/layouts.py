"""Remember where the user has put the handles of a splitter."""

import json
from contextlib import suppress

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter

from widgets import settings


def remember_splitter(splitter: QSplitter, key: str) -> bool:
    """Restore the sizes of the parts of `splitter`, stored under `key`, and store them when a handle is moved.

    Return whether there were sizes. Each orientation has its own: call it again after a change of the orientation.
    """

    def name() -> str:
        across = splitter.orientation() is Qt.Orientation.Horizontal
        return f"splitter/{key}/{'across' if across else 'down'}"

    if splitter.property("remembered") is None:
        splitter.setProperty("remembered", key)
        splitter.splitterMoved.connect(lambda: settings.put(name(), json.dumps(splitter.sizes())))
    with suppress(ValueError, TypeError):
        sizes = [int(size) for size in json.loads(settings.text(name(), "[]"))]
        if len(sizes) == splitter.count() and all(0 < size < _LARGEST for size in sizes):
            splitter.setSizes(sizes)
            return True
    return False


_LARGEST = 100_000
"""Pixels above which a stored size is damaged."""
