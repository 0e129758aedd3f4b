"""Saves a run whose library takes nothing, where nobody names a place for it."""

import errno
import tempfile
from pathlib import Path

from app.paths import store_path
from app.store.errors import StoreError, StoreFullError, TakenOverError
from app.store.recorder import Recorder


def rescue(recorder: Recorder) -> str:
    """Let `recorder` go on in a new file of its own; return what is lost by that, empty for nothing.

    It is made beside the library, or where libraries are kept, or where temporary files are. Raises StoreError, which
    says of each folder why it takes nothing.
    """
    name = f"{recorder.path.stem}-{recorder.run_id}{recorder.path.suffix}"
    refused: list[str] = []
    full = False
    for folder in dict.fromkeys((recorder.folder, store_path().parent, Path(tempfile.gettempdir()))):
        if folder is None:
            continue
        try:
            return recorder.save_as(folder / name)
        except TakenOverError:
            raise
        except StoreError as error:
            full = full or isinstance(error, StoreFullError) or getattr(error.__cause__, "errno", 0) == errno.ENOSPC
            refused.append(f"{folder}: {_reason(error)}")
    raise StoreError(
        f"The run {recorder.run_id} could not be saved to another file ({'; '.join(refused)}).",
        "Free some space in one of these folders." if full else "",
    )


def _reason(error: StoreError) -> str:
    if isinstance(error, StoreFullError):
        return "no space is left"
    if isinstance(error.__cause__, OSError):
        return (error.__cause__.strerror or "it cannot be written").lower()
    return error.message
