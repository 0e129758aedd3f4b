"""Reads many small records without the garbage collector: each of its full rounds would hold the window up."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pausing = 0


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let no round of the collector begin meanwhile, on whatever thread.

    A hundred thousand samples set off rounds of a tenth of a second each, in which no thread moves. They hold no
    cycles, so they go without the collector as soon as nobody needs them.
    """
    global _pausing  # noqa: PLW0603 (the collector is one for the whole process, and so is this count)
    with _lock:
        _pausing += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing:
                gc.enable()
