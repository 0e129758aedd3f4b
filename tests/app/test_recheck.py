"""Checks made again on this computer: background load comes and goes; a host that is measured is left alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.checks.before import check_plan
from app.checks.host import BUSY
from app.checks.recheck import can_recheck, load_reading
from app.hosts.load_probe import LoadProbe
from app.plans.plan import LOCAL, Plan, make_step
from app.questions import RefusingAsker
from app.services import Workstation
from remote.jobs.lease import claim
from remote.local import LocalSession
from suites.facts import Absent, Facts, ProbeMeasurements
from suites.vocab import Finding, Severity
from tests.messages import messages

MESSAGES = messages("app-checks", "test_recheck")

FACTS = Facts(host=LOCAL, read_at="2026-01-01T00:00:00+00:00")
PLAN = Plan("p", (LOCAL,), (make_step("sysbench-cpu", {}),))
BUSY_NOW = ProbeMeasurements(watched=1.0, foreign_cpu=0.97, foreign_disks=())


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoadProbe]:
    monkeypatch.setenv("BENCHWRIGHT_LEASES", str(tmp_path))
    monkeypatch.setattr("remote.probe.LOAD_WATCH", 0.4)
    made = LoadProbe(LocalSession, PLAN, FACTS)
    yield made
    made.close()


@pytest.mark.alone
def test_background_load_of_now_is_read_in_a_moment(probe: LoadProbe) -> None:
    # What descends from Benchwright, as from this test, is its own: the loop is started by a shell that ends.
    script = 'setsid "$0" -c "while True: pass" >/dev/null 2>&1 & echo $!'
    started = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, text=True, check=True)
    try:
        reading = probe.read()
    finally:
        os.kill(int(started.stdout), signal.SIGKILL)
    assert reading is not None
    busy = next(found for found in reading.findings if found.id == BUSY.id)
    assert "CPU in use now" in busy.measured
    assert Path(sys.executable).resolve().name[:6] in busy.measured
    assert reading.covers(replace(busy, measured="98 %"))


def test_a_host_that_is_measured_is_not_read(probe: LoadProbe) -> None:
    with closing(LocalSession()) as measuring:
        claimed = claim(measuring, "run-1", anyway=True)
        assert claimed.lease is not None
        assert probe.read() is None


def test_what_is_read_now_says_so_and_what_cannot_be_read_is_not_gone() -> None:
    (busy,) = load_reading(PLAN, FACTS, BUSY_NOW).findings
    assert busy.measured == MESSAGES["busy_now"]
    unread = load_reading(PLAN, FACTS, ProbeMeasurements(foreign_cpu=Absent("no /proc/stat")))
    assert not unread.findings
    assert not unread.covers(busy)
    before = check_plan(PLAN, {LOCAL: replace(FACTS, measured=BUSY_NOW)}).findings
    assert any(found.id == BUSY.id and "before the test" in found.measured for found in before)


def test_every_check_of_a_host_is_repeated_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remote.probe.WATCH", 0.0)
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    reading = workstation.recheck(PLAN, {}, LOCAL, RefusingAsker())
    missing = Finding("clock-off", Severity.WARNING, "Clock", "9 s", "why", "remedy", "source", host=LOCAL)
    assert reading.covers(missing)
    assert not any(found.id == "clock-off" for found in reading.findings)
    assert {found.host for found in reading.findings} <= {LOCAL}
    assert not reading.covers(replace(missing, host="web-1"))


@pytest.mark.parametrize(
    ("check", "changes", "wanted"),
    [("host-busy", {}, True), ("other-process", {}, True), ("short-runtime", {"runtime": 30}, False),
     ("trials-vary", {}, False)],
)  # fmt: skip
def test_only_what_the_host_decides_is_checked_again(check: str, changes: dict[str, object], wanted: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    finding = Finding(check, Severity.WARNING, "Title", "1", "why", "remedy", "source", "step", LOCAL, changes)
    assert can_recheck(finding) is wanted
