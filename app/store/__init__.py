"""The library of runs: one SQLite file, written as things happen, so that a crash loses nothing that was measured."""

from app.store.errors import StoreError
from app.store.identity import new_run_id
from app.store.recorder import Recorder
from app.store.store import Store

__all__ = ["Recorder", "Store", "StoreError", "new_run_id"]
