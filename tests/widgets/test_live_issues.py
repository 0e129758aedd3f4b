"""Issues on the page Live: when its hosts are read again, and what is made of it."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.checks.issues import HostReading
from app.events import FactsRead, FindingRaised, Moment, RunStarted
from app.hosts.load_probe import LoadProbe
from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.vocab import Finding, Severity
from tests.app import run_events
from widgets import jobs
from widgets.live.model import RunModel
from widgets.live.run_issues import LiveIssues
from widgets.rechecks import MEASURED

BUSY = Finding("host-busy", Severity.WARNING, "Host is busy", "97 %", "why", "remedy", "source", host=LOCAL)
LOAD = frozenset({BUSY.id})


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the probe reads, in order; without any, that nothing was found."""
    found: list[object] = []

    def read(_probe: LoadProbe) -> HostReading:
        one = found.pop(0) if found else ()
        if isinstance(one, BenchwrightError):
            raise one
        return HostReading(LOCAL, time.time(), one, LOAD)  # type: ignore[arg-type]

    monkeypatch.setattr(LoadProbe, "read", read)
    monkeypatch.setattr("widgets.rechecks.LOAD_PERIOD", 0.01)
    return found


@pytest.fixture
def measured() -> set[str]:
    """The hosts that are measured."""
    return set()


@pytest.fixture
def issues(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation, measured: set[str]
) -> LiveIssues:
    made = LiveIssues(workstation, RefusingAsker(), lambda: measured)
    keep(made)
    model = RunModel(run_events.plan(hosts=(LOCAL,)))
    for event in (
        RunStarted("run", model.plan, "2026-01-01T00:00:00+00:00"),
        FactsRead(LOCAL, Moment.BEFORE, run_events.facts(LOCAL)),
        FindingRaised(BUSY),
    ):
        model.fold(event, 0.0)
    made.show_run(model)
    with qtbot.waitExposed(made):
        made.show()
    return made


def end(qtbot: QtBot, issues: LiveIssues) -> None:
    issues.hide()
    qtbot.waitUntil(lambda: not jobs.running())


def test_background_load_is_read_again_until_the_host_is_measured(
    qtbot: QtBot, readings: list[object], measured: set[str], issues: LiveIssues
) -> None:
    readings.append((replace(BUSY, measured="40 %"),))
    qtbot.waitUntil(lambda: issues.issues[0].gone is not None)
    assert issues.lines[0].age.text() == "gone just now"
    assert list(issues.rechecks.watched) == [LOCAL]
    measured.add(LOCAL)
    issues.follow()
    assert not issues.rechecks.watched
    assert issues.recheck_all.toolTip().count(MEASURED) == 1
    measured.clear()
    issues.follow()
    assert list(issues.rechecks.watched) == [LOCAL]
    issues.hide()
    assert not issues.rechecks.watched, "a page that is not seen reads nothing"
    end(qtbot, issues)


@pytest.mark.usefixtures("readings")
def test_load_that_the_run_did_not_have_is_no_issue_of_it(qtbot: QtBot, issues: LiveIssues) -> None:
    qtbot.waitUntil(lambda: issues.issues[0].gone is not None)
    during = replace(BUSY, id="other-process", step="random-read")
    model = RunModel(run_events.plan(hosts=(LOCAL,)))
    for finding in (BUSY, during):
        model.fold(FindingRaised(finding), 0.0)
    issues.show_run(model)
    stored = [issue.first for issue in issues.issues]
    issues.take_reading(HostReading(LOCAL, time.time(), (BUSY, replace(BUSY, id="disk-in-use")), LOAD))
    assert [issue.first for issue in issues.issues] == stored
    end(qtbot, issues)


def test_a_host_that_cannot_be_reached_is_not_tried_again(
    qtbot: QtBot, readings: list[object], issues: LiveIssues
) -> None:
    readings.append(BenchwrightError("No route to host.", ""))
    issues.hide()
    issues.show()
    qtbot.waitUntil(lambda: not issues.rechecks.watched)
    issues.follow()
    assert not issues.rechecks.watched
    end(qtbot, issues)


@pytest.mark.usefixtures("readings")
def test_a_recheck_on_request_reads_the_host_once(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, issues: LiveIssues
) -> None:
    asked: list[str] = []

    def recheck(_self: object, _plan: object, _facts: object, host: str, _asker: object) -> HostReading:
        asked.append(host)
        return HostReading(LOCAL, time.time(), (), LOAD)

    monkeypatch.setattr(Workstation, "recheck", recheck)
    qtbot.mouseClick(issues.recheck_all, Qt.MouseButton.LeftButton)
    assert not issues.recheck_all.isEnabled()
    qtbot.waitUntil(issues.recheck_all.isEnabled)
    assert asked == [LOCAL]
    assert issues.issues[0].gone is not None
    assert issues.checked.text() == "checked 0 s ago"
    model = RunModel(run_events.plan(hosts=(LOCAL,)))
    assert issues.show_run(model)
    model.fold(FactsRead(LOCAL, Moment.BEFORE, run_events.facts(LOCAL)), 0.0)
    assert issues.show_run(model)
    assert not issues.issues
    with qtbot.waitSignal(issues.recheck_requested):
        qtbot.mouseClick(issues.recheck_all, Qt.MouseButton.LeftButton)
    end(qtbot, issues)
