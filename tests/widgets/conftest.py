"""What tests of the window share: a workstation of its own, and an end to whatever runs in the background."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from app.timestamps import now
from remote import probe
from remote.local import LocalSession
from remote.session import Session
from suites import registry
from suites.facts import Facts
from widgets import jobs, theme

W = TypeVar("W", bound=QWidget)

_facts_of: dict[object, tuple[str, Facts]] = {}
"""The facts of this computer as it was found, with the home that was looked at."""


@pytest.fixture(autouse=True)
def this_computer_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the facts of this computer for a window once in all: that starts a hundred processes.

    What a run reads is read each time, and so is what depends on the directories that a test names. The time of reading
    is that of the call: the wizard checks a plan again whose facts are old.
    """
    read = probe.read_facts

    def known(session: Session, directories: Sequence[str] = (), *, watch: bool = False) -> Facts:
        if directories or type(session) is not LocalSession:
            return read(session, directories, watch=watch)
        home, suites = os.environ["HOME"], tuple(each.id for each in registry.SUITES)
        key = (suites, registry.programs, os.environ["PATH"].replace(home, ""), os.environ.get("BENCHWRIGHT_DMI"))
        if key not in _facts_of:
            _facts_of[key] = home, read(session)
        before, facts = _facts_of[key]
        found = tuple(replace(each, path=each.path.replace(before, home)) for each in facts.directories)
        return replace(facts, directories=found, read_at=now())

    monkeypatch.setattr(probe, "read_facts", known)


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
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.fixture(scope="module")
def dressed(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QApplication]:
    """Give the application Benchwright's theme, for tests of what fits: without it, windows are made in less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))  # nobody's settings
        theme.apply(qapp)
    yield qapp
    qapp.setStyleSheet("")
    qapp.setProperty("dressed", None)


@pytest.fixture
def large_text(qapp: QApplication) -> Iterator[None]:
    """Give the application a font of twice the size."""
    before, large = qapp.font(), qapp.font()
    large.setPointSizeF(2 * before.pointSizeF())
    qapp.setFont(large)
    yield
    qapp.setFont(before)


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
