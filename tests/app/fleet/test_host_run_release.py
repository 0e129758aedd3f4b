"""Host-runs whose process has ended get a new carrier, once: not again while it attaches, nor those of the caller."""

import time

from app.events import RunStarted
from app.fleet.admission import startable
from app.fleet_study import FleetHost, FleetPlan, HostRun
from app.plans.plan import Plan, make_step
from app.store.store import Store
from tests.app.stores import RUN, store

__all__ = ["store"]  # a fixture

PLAN = Plan("short", (), (make_step("sysbench-cpu", {"time": 1, "threads": 1}),))


def left_behind(store: Store) -> tuple[str, HostRun]:
    """Return a study and its host-run, whose run no process records any more."""
    study = store.begin_fleet_study(FleetPlan(PLAN, (FleetHost("web-1", "web"),)), by_workers=False)
    (started,) = store.start_host_runs(study, startable, "ann@desk (process 1)")
    one = store.set_run_of_host_run(study.id, started, RUN)
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, study.plan.plan_of(one), "2026-11-20T14:15:30.000+00:00"))
    return study.id, one


def test_a_host_run_is_released_once_while_its_new_carrier_attaches(store: Store) -> None:
    study, one = left_behind(store)
    (left,) = store.release_host_runs(study)
    assert (left.number, left.epoch, left.worker) == (one.number, one.epoch + 1, "")
    time.sleep(0.002)  # moments have milliseconds
    claimed = store.claim_host_run(study, left.number, left.epoch, "bob@desk (process 2)")
    assert store.release_host_runs(study) == []
    store.confirm_host_run(study, claimed)


def test_a_host_run_that_the_caller_carries_is_not_released(store: Store) -> None:
    study, one = left_behind(store)
    assert store.release_host_runs(study, {one.number}) == []
    assert [left.number for left in store.release_host_runs(study, {one.number + 1})] == [one.number]
