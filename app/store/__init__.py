"""Library of runs: one SQLite file, committed as events happen, so that a crash loses less than a second of samples."""

from app.store.errors import StoreError
from app.store.ownership import new_run_id
from app.store.recorder import Recorder
from app.store.store import Store

__all__ = ["Recorder", "Store", "StoreError", "new_run_id"]
