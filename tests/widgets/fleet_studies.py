"""A fleet study in a library: host-runs in every state, with made-up runs, without hosts."""

import atexit
import random
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from app.events import State
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, FleetStudy, HostRun, HostRunState
from app.host_attributes import HostAttributes
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from app.store import host_runs as stored
from app.store.host_runs import Choose
from suites.verdict import Trust
from tests.widgets.library_runs import BLOCK, DISK, SECONDS, STEADY, Made, record

TYPES = {"c7i": 412e3, "c7a": 455e3, "m7g": 381e3}
"""Groups, with the IOPS of a typical host."""

SLOW, FAST, BROKEN = "c7i-07", "c7a-11", "m7g-04"
"""Hosts that differ from their group, and one that fails."""


def fleet_plan(hosts: int = 60, sessions: int = 4, trials: int = 6) -> FleetPlan:
    """Return the plan of a study of three groups."""
    step = make_step("fio", {"rw": "randread", "block_size": BLOCK, "runtime": SECONDS}, name=DISK)
    repetition = Repetition(trials, sessions=sessions, every=3600.0)
    each = hosts // len(TYPES)
    members = tuple(
        FleetHost(f"{group}-{number:02}", group, HostAttributes(f"{group}.2xlarge", "eu-1a", 0.36, "USD"))
        for group in TYPES
        for number in range(1, each + 1)
    )
    return FleetPlan(Plan("volume check", (), (step,), repetition=repetition), members, limits=FleetLimits(16))


def begin(workstation: Workstation, plan: FleetPlan) -> FleetStudy:
    """Store a study; nothing runs it."""
    return workstation._store.begin_fleet_study(plan, by_workers=False)


def study_under_way(workstation: Workstation, plan: FleetPlan | None = None, running: int = 16) -> FleetStudy:
    """Store a study whose first session is done, and the second in part, with `running` host-runs; return it."""
    chance = random.Random(7)
    study = begin(workstation, plan or fleet_plan())
    first = [one for one in workstation.host_runs(study.id) if one.session == 1]
    second = [one for one in workstation.host_runs(study.id) if one.session == 2]
    _due_now(workstation, study, second)
    for one in first:
        _run(workstation, study, one, chance)
    ended = len(second) // 3
    for one in second[:ended]:
        _run(workstation, study, one, chance)
    run_some(workstation, study, running)
    return workstation.fleet_study(study.id)


def run_some(workstation: Workstation, study: FleetStudy, count: int) -> None:
    """Store the runs of `count` host-runs of the second session that are under way."""
    chance, trials = random.Random(11), study.plan.plan.repetition.trials
    waiting = [one for one in workstation.host_runs(study.id) if one.session == 2 and not one.state.over]
    for one in waiting[:count]:
        _run(workstation, study, one, chance, trials=chance.randrange(1, trials))


def copied_study(workstation: Workstation) -> FleetStudy:
    """Give `workstation`, which has not looked at its store yet, a study of 36 hosts; it is written down only once."""
    shutil.copy(_written_study(), workstation.library_path)
    study = workstation.fleet_study("last")
    run_some(workstation, study, 3)  # of a copy, opening it would end them
    return workstation.fleet_study(study.id)


@cache
def _written_study() -> Path:
    folder = Path(mkdtemp(prefix="benchwright-fleet-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    writing = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    study_under_way(writing, fleet_plan(36, trials=2), running=0)
    writing.close()
    return folder / "runs.sqlite3"


def _due_now(workstation: Workstation, study: FleetStudy, host_runs: Sequence[HostRun]) -> None:
    """Let the host-runs of a later session start."""
    with workstation._store.database.writing() as connection:
        for one in host_runs:
            stored.write(connection, study.id, replace(one, due=study.created))


def _run(
    workstation: Workstation, study: FleetStudy, one: HostRun, chance: random.Random, trials: int | None = None
) -> None:
    """Store the run of a host-run; `trials` of one that is under way."""
    store = workstation._store
    (started,) = store.start_host_runs(study, _only(one), "ann@desk (process 4711)")
    if one.host == BROKEN and one.session == 1:
        reason = "Connection refused by 192.0.2.24 port 22."
        store.settle_host_run(study.id, started, HostRunState.FAILED, reason=reason)
        return
    began = datetime.fromisoformat(study.created) - timedelta(hours=2 - one.session, minutes=one.number)
    run = f"{began:%Y%m%d-%H%M%S}-{one.number:04x}"
    set_up = store.set_run_of_host_run(study.id, started, run)
    values = _values(one, chance, study.plan.plan.repetition.trials if trials is None else trials)
    slow = one.host == SLOW
    made = Made(
        run, values, "volume check", one.host, samples=2, trust=Trust.CAVEATS if slow else Trust.VALID,
        state=State.DONE if trials is None else State.RUNNING,
    )  # fmt: skip
    record(workstation, made)
    if trials is None:
        store.settle_host_run(study.id, set_up, HostRunState.DONE, reason="")


def _only(wanted: HostRun) -> Choose:
    def choose(waiting: Iterator[HostRun], _under_way: Sequence[HostRun], _plan: FleetPlan) -> list[HostRun]:
        return [one for one in waiting if one.number == wanted.number]

    return choose


def _values(one: HostRun, chance: random.Random, trials: int) -> list[float]:
    usual = TYPES.get(one.group, STEADY[0]) * {SLOW: 0.79, FAST: 1.14}.get(one.host, 1.0)
    own = random.Random(one.host).gauss(1.0, 0.012)
    return [usual * own * chance.gauss(1.0, 0.006) for _ in range(trials)]


def held_hosts(workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Let each look-up of hosts wait for the second event once it has found them, and set the first one then."""
    asked, read, found = threading.Event(), threading.Event(), workstation.fleet_hosts

    def late(words: Sequence[str]) -> Sequence[FleetHost]:
        hosts = found(words)
        asked.set()
        assert read.wait(10)
        return hosts

    monkeypatch.setattr(workstation, "fleet_hosts", late)
    return asked, read
