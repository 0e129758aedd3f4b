"""A library of a test's own, and events written into it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from app.events import Event
from app.store.store import Store

RUN = "20261120-141530-k3f9"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "data" / "runs.sqlite3")
    yield made
    made.close()


def record(store: Store, run_id: str, events: Iterable[Event]) -> None:
    with store.recorder(run_id) as recorder:
        for event in events:
            recorder.record(event)
