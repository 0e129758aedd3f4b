"""Saves a run whose library is gone, where nobody names a place for it."""

import tempfile
from pathlib import Path

from app.paths import store_path
from app.store.errors import StoreError
from app.store.recorder import Recorder


def rescue(recorder: Recorder) -> str:
    """Let `recorder` go on in a new file of its own; return what is lost by that, empty for nothing.

    It is made beside the library, or where libraries are kept, or where temporary files are. Raises StoreError.
    """
    name = f"{recorder.path.stem}-{recorder.run_id}{recorder.path.suffix}"
    failure: StoreError | None = None
    for folder in (recorder.folder, store_path().parent, Path(tempfile.gettempdir())):
        if folder is None:
            continue
        try:
            return recorder.save_as(folder / name)
        except StoreError as error:
            failure = failure or error
    raise StoreError(f"The run {recorder.run_id} could not be saved to another file: {failure}", "Free some space.")
