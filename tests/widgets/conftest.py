"""What tests of the window share: a workstation of its own, and an end to whatever runs in the background."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.services import Workstation
from widgets import jobs


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    """Return a real workstation on a store and a list of hosts of the test's own."""
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


@pytest.fixture
def idle(qtbot: QtBot) -> Iterator[None]:
    """Wait, before the test's widgets go, until every job has delivered its end."""
    yield
    qtbot.waitUntil(lambda: not jobs.running(), timeout=20_000)
