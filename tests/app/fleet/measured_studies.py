"""Fleet studies of two groups with made-up figures, measured through the store."""

import random
from collections.abc import Mapping
from dataclasses import replace

from app.events import State
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.services import Workstation
from app.store import host_runs as stored
from suites.verdict import Trust
from tests.widgets.fleet_studies import begin, fleet_plan
from tests.widgets.library_runs import Made, record

SESSIONS, TRIALS, HOSTS = 2, 6, 4
IOPS = {"c7i": 4e5, "c7a": 4.5e5}


def measured_study(
    workstation: Workstation,
    day: int,
    factors: Mapping[tuple[str, int], float],
    sessions: int = SESSIONS,
    names: Mapping[str, str] | None = None,
) -> FleetStudy:
    """Store a study of two groups whose figures are those of IOPS, times `factors` by group and session.

    `names` are other names of some of its hosts.
    """
    others = names or {}
    plan = fleet_plan(3 * HOSTS, sessions, TRIALS)
    hosts = (replace(host, name=others.get(host.name, host.name)) for host in plan.hosts if host.group in IOPS)
    plan = replace(plan, hosts=tuple(hosts))
    study, chance = begin(workstation, plan), random.Random(day)
    every = workstation.host_runs(study.id)
    with workstation._store.database.writing() as connection:
        for one in every:
            stored.write(connection, study.id, replace(one, due=study.created))
    for one in every:
        usual = IOPS[one.group] * factors.get((one.group, one.session), 1.0)
        values = [usual * chance.gauss(1.0, 0.005) for _ in range(TRIALS)]
        _measure(workstation, study, one, Made(f"202601{day:02}-{one.session:02}0000-{one.number:04x}", values))
    return workstation.fleet_study(study.id)


def _measure(workstation: Workstation, study: FleetStudy, one: HostRun, made: Made) -> None:
    store, number = workstation._store, one.number
    (started,) = store.start_host_runs(
        study, lambda waiting, _under_way, _plan: [each for each in waiting if each.number == number], "desk"
    )
    set_up = store.set_run_of_host_run(study.id, started, made.run_id)
    made = replace(made, name="volume check", host=one.host, samples=2, trust=Trust.VALID, state=State.DONE)
    record(workstation, made)
    store.settle_host_run(study.id, set_up, HostRunState.DONE, reason="")
