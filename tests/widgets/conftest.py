"""What tests of the window share: a workstation of its own, and an end to whatever runs in the background."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from widgets import jobs

W = TypeVar("W", bound=QWidget)


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


@pytest.fixture
def keep(qtbot: QtBot) -> Callable[[W], W]:
    """Return what hands a widget to qtbot and holds on to it until it is closed.

    qtbot's own reference is weak: a window that nobody else holds can be collected while it is being painted.
    """
    kept: list[QWidget] = []

    def hold(widget: W) -> W:
        qtbot.addWidget(widget)
        kept.append(widget)
        return widget

    return hold
