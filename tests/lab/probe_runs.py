"""Runs of our own probes, as the workstation makes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.events import Event, TrialEnded
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from tests.lab_sshd import AnsweringAsker


@contextmanager
def workstation_in(folder: Path) -> Iterator[Workstation]:
    """Open a workstation whose library is in `folder`."""
    opened = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    """Return a workstation on a library and a list of hosts of the test's own."""
    with workstation_in(tmp_path) as opened:
        yield opened


def run_once(
    workstation: Workstation, suite: str, host: str, *, peer: str | None = None, **given: object
) -> tuple[TrialEnded, list[Event]]:
    """Run one trial of `suite` on `host`; return how it ended, and everything that happened."""
    plan = Plan("probe", (host,), (make_step(suite, given, peer=peer),), repetition=Repetition(trials=1))
    events = list(workstation.run(plan, AnsweringAsker(), Control()))
    (ended,) = (event for event in events if isinstance(event, TrialEnded))
    return ended, events
