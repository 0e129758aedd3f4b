"""Remember where the user has put the handles of a splitter."""

import json
from contextlib import suppress

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter

from widgets import settings


def remember_splitter(splitter: QSplitter, key: str) -> None:
    """Restore the sizes of the parts of `splitter`, stored under `key`, and store them when a handle is moved.

    Each orientation has its own. Call it again after a change of the orientation.
    """

    def name() -> str:
        across = splitter.orientation() is Qt.Orientation.Horizontal
        return f"splitter/{key}/{'across' if across else 'down'}"

    with suppress(ValueError, TypeError):
        sizes = [int(size) for size in json.loads(settings.text(name(), "[]"))]
        if len(sizes) == splitter.count() and all(size > 0 for size in sizes):
            splitter.setSizes(sizes)
    if splitter.property("remembered") is None:
        splitter.setProperty("remembered", key)
        splitter.splitterMoved.connect(lambda: settings.put(name(), json.dumps(splitter.sizes())))
