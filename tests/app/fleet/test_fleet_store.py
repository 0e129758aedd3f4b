"""Fleet studies in the library, in a file and on a server: each host-run has one process that may change it."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest

from app.events import RunDetached, RunEnded, RunStarted, State, TrialStarted
from app.fleet.admission import startable
from app.fleet_study import FleetHost, FleetLimits, FleetStudy, HostRun, HostRunState, Topology
from app.host_attributes import HostAttributes
from app.store import ownership
from app.store.errors import StoreError, TakenOverError
from app.store.host_runs import QUEUE_TIMEOUT, START_TIMEOUT
from app.store.store import Store
from tests.app import run_events
from tests.app.fleet.studies import NETWORK, fleet_plan, numbered, short_plan
from tests.app.stores import any_store, execute, postgresql, record, store_in_both

__all__ = ["any_store", "postgresql", "store_in_both"]  # fixtures


@pytest.fixture(autouse=True)
def without_recorded_runs() -> Iterator[None]:
    """Let no run be recorded after a test."""
    yield
    ownership.recorded_in_process.clear()


W, R, D, F, S = (
    HostRunState.WAITING, HostRunState.RUNNING, HostRunState.DONE, HostRunState.FAILED, HostRunState.SKIPPED,
)  # fmt: skip
RUN, OTHER = "20261130-080000-aaaa", "20261130-080000-bbbb"


def begun(store: Store, *sizes: int, sessions: int = 1, at_once: int = 4, by_workers: bool = False) -> FleetStudy:
    plan = fleet_plan(numbered(*sizes or (1,)), short_plan(sessions=sessions), FleetLimits(at_once))
    return store.begin_fleet_study(plan, by_workers=by_workers)


def started(store: Store, study: FleetStudy, worker: str = "desk", at_most: int | None = None) -> list[HostRun]:
    return store.start_host_runs(study, partial(startable, at_most=at_most), worker)


def states(store: Store, study: FleetStudy) -> list[HostRunState]:
    return [one.state for one in store.host_runs_of(study.id)]


def pass_time(store: Store, study: FleetStudy, seconds: float) -> None:
    """Move what is stored of host-runs and of the heartbeats of their runs to the past, or to the future."""
    for one in store.host_runs_of(study.id):
        moved = _moved(one.changed, seconds)
        statement = "UPDATE host_runs SET changed = ? WHERE study = ? AND number = ?"
        execute(store, statement, moved, study.id, one.number)
        for (touched,) in execute(store, "SELECT touched FROM runs WHERE id = ?", one.run) if one.run else ():
            execute(store, "UPDATE runs SET touched = ? WHERE id = ?", _moved(touched, seconds), one.run)


def _moved(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def end_process(store: Store, run: str) -> None:
    """Make the process that records a run one of this computer that has ended."""
    owner = ownership.this_process()
    values = (2**22 + 1, owner.boot, owner.started, owner.space, run)
    statement = "UPDATE runs SET owner_pid = ?, owner_boot = ?, owner_started = ?, owner_space = ? WHERE id = ?"
    execute(store, statement, *values)
    ownership.recorded_in_process.discard(run)


def move_process(store: Store, run: str) -> None:
    """Make the process that records a run one of another computer, of which only heartbeats are seen."""
    execute(store, "UPDATE runs SET owner_boot = 'another', owner_host = 'bob@there' WHERE id = ?", run)


def begin_run(store: Store, run: str = RUN) -> None:
    record(store, run, [RunStarted(run, run_events.plan(), "2026-11-30T08:00:00+00:00")])


def begin_trial(store: Store, run: str = RUN) -> None:
    plan = run_events.plan()
    record(store, run, [RunStarted(run, plan, "2026-11-30T08:00:00+00:00"), TrialStarted(run_events.trial(1), None)])


def test_a_study_is_read_as_it_was_begun(store: Store) -> None:
    hosts = (FleetHost("a1", "a", HostAttributes("m5", "east", 0.5, "EUR", groups=("x",))), FleetHost("b\udcff1", "b"))
    plan = fleet_plan(hosts, short_plan(sessions=2, every=60.0))
    study = store.begin_fleet_study(plan, by_workers=True)
    found = store.find_fleet_study("last")
    assert (found.id, found.plan.plan, found.plan.limits, found.by_workers) == (
        study.id, plan.plan, plan.limits, True,
    )  # fmt: skip
    assert found.plan.hosts == (hosts[0], FleetHost("b?1", "b"))
    assert found.counts == {W: 4}
    assert (found.over, found.ended, found.paused) == (False, None, None)
    first, second = (datetime.fromisoformat(one.due) for one in store.host_runs_of(study.id) if one.host == "a1")
    assert first == datetime.fromisoformat(study.created)
    assert second - first == timedelta(seconds=60)
    with pytest.raises(StoreError, match="no fleet study “other”"):
        store.find_fleet_study("other")


def test_a_session_that_is_not_due_waits(store: Store) -> None:
    study = begun(store, 2, sessions=2)
    assert [one.session for one in started(store, study)] == [1, 1]
    assert started(store, study) == []


def test_two_processes_start_each_host_run_once_within_the_limits(store: Store) -> None:
    study = begun(store, 7, at_once=3)
    found = [started(store, study, worker, at_most=2) for worker in ("desk", "laptop", "desk", "laptop")]
    assert [len(each) for each in found] == [2, 1, 0, 0]
    one = found[0][0]
    store.settle_host_run(study.id, one, D, reason="")
    (next_one,) = started(store, study, "laptop")
    assert len({each.number for each in itertools.chain(*found, [next_one])}) == 4


def test_a_duplicate_claim_is_refused(store: Store) -> None:
    study = begun(store, by_workers=True)
    (ready,) = started(store, study, "")
    assert (ready.state, ready.attempts) == (HostRunState.READY, 0)
    claimed = store.claim_host_run(study.id, ready.number, ready.epoch, "one")
    for epoch in (ready.epoch, claimed.epoch, claimed.epoch + 1):
        with pytest.raises(TakenOverError, match="taken over by one"):
            store.claim_host_run(study.id, ready.number, epoch, "two")
    assert store.host_runs_of(study.id) == [claimed]
    with pytest.raises(StoreError, match="no host-run 7"):
        store.claim_host_run(study.id, 7, 1, "two")


Change = Callable[[Store, FleetStudy, HostRun], object]
CHANGES: dict[str, Change] = {
    "set run": lambda store, study, one: store.set_run_of_host_run(study.id, one, OTHER),
    "confirm": lambda store, study, one: store.confirm_host_run(study.id, one),
    "settle": lambda store, study, one: store.settle_host_run(study.id, one, D, reason="late"),
    "leave": lambda store, study, one: store.leave_host_run(study.id, one, "late"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_only_the_process_with_the_epoch_changes_a_host_run(store: Store, change: Change) -> None:
    study = begun(store)
    (former,) = started(store, study)
    pass_time(store, study, START_TIMEOUT + 1)
    assert store.release_host_runs(study.id) == []
    with pytest.raises(TakenOverError):
        change(store, study, former)
    (present,) = started(store, study, "laptop")
    before = store.host_runs_of(study.id)
    with pytest.raises(TakenOverError, match="by laptop"):
        change(store, study, former)
    assert store.host_runs_of(study.id) == before
    change(store, study, present)


ACTIONS = ("set", "store", "confirm")
OTHERS = ("release", "start", "set", "store", "confirm")


@pytest.mark.quick(1)
def test_of_two_processes_with_a_host_run_one_touches_the_host(store: Store) -> None:
    """The steps of a process that is slow, anywhere among those of one that takes it for dead."""
    for places in itertools.combinations(range(8), 3):
        study = begun(store)
        touched = touching(store, study, places)
        assert len(touched) == 1, places
        (found,) = store.host_runs_of(study.id)
        assert found.run == f"{study.id}-{touched[0]}"


def touching(store: Store, study: FleetStudy, places: Sequence[int]) -> list[str]:
    """Return the processes that go on to touch the host, if the slow one is at work at three places of eight."""
    carried: dict[str, HostRun | None] = {"slow": started(store, study)[0], "fast": None}
    pass_time(store, study, START_TIMEOUT + 1)
    steps = {"slow": iter(ACTIONS), "fast": iter(OTHERS)}
    touched = []
    for place in range(8):
        name = "slow" if place in places else "fast"
        step, one, run = next(steps[name]), carried[name], f"{study.id}-{name}"
        try:
            if step == "release":
                assert store.release_host_runs(study.id) == []
            elif step == "start":
                carried[name] = next(iter(started(store, study, name)), None)
            elif one is not None and step == "set":
                carried[name] = store.set_run_of_host_run(study.id, one, run)
            elif one is not None and step == "store":
                begin_run(store, run)
                ownership.recorded_in_process.add(run)
            elif one is not None:
                store.confirm_host_run(study.id, one)
                touched.append(name)
        except TakenOverError:
            carried[name] = None
    return touched


@pytest.mark.parametrize("seconds", [START_TIMEOUT - 10, START_TIMEOUT + 1, -START_TIMEOUT - 1])
def test_a_process_killed_before_its_run_is_stored_leaves_a_host_run_that_waits_again(
    store: Store, seconds: float
) -> None:
    """Also one whose clock was ahead."""
    study = begun(store)
    (one,) = started(store, study)
    one = store.set_run_of_host_run(study.id, one, RUN)
    pass_time(store, study, seconds)
    assert store.release_host_runs(study.id) == []
    (found,) = store.host_runs_of(study.id)
    if abs(seconds) < START_TIMEOUT:
        assert found.epoch == one.epoch
    else:
        assert (found.state, found.run, found.epoch, found.reason) == (W, "", one.epoch + 1, "its process ended")


def test_a_process_killed_during_a_trial_leaves_a_run_that_another_continues(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    one = store.set_run_of_host_run(study.id, one, RUN)
    begin_trial(store)
    end_process(store, RUN)
    (left,) = store.release_host_runs(study.id)
    assert (left.run, left.epoch, left.worker, left.state) == (RUN, one.epoch + 1, "", R)
    assert store.release_host_runs(study.id) == [], "another process may be about to claim it"
    claimed = store.claim_host_run(study.id, left.number, left.epoch, "laptop")
    with pytest.raises(TakenOverError):
        store.claim_host_run(study.id, left.number, left.epoch, "other")
    assert store.release_host_runs(study.id) == [], "its process connects, and has not taken the run over"
    store.take_over(RUN)
    ownership.recorded_in_process.add(RUN)
    assert store.release_host_runs(study.id) == []
    end_process(store, RUN)
    (again,) = store.release_host_runs(study.id)
    assert again.epoch == claimed.epoch + 1


def test_a_carrier_that_was_killed_before_it_took_the_run_over_is_replaced(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    store.set_run_of_host_run(study.id, one, RUN)
    begin_run(store)
    end_process(store, RUN)
    (left,) = store.release_host_runs(study.id)
    store.claim_host_run(study.id, left.number, left.epoch, "laptop")
    pass_time(store, study, START_TIMEOUT + 1)
    (again,) = store.release_host_runs(study.id)
    assert (again.epoch, again.run) == (left.epoch + 2, RUN)


def test_a_detached_run_is_continued_at_once(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    store.set_run_of_host_run(study.id, one, RUN)
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026-11-30T08:00:00+00:00"), RunDetached(RUN)])
    assert [left.run for left in store.release_host_runs(study.id)] == [RUN]


@pytest.mark.parametrize(("seconds", "robbed"), [(0, 0), (25, 0), (-25, 0), (40, 1)])
def test_a_process_elsewhere_is_not_robbed_within_its_heartbeat(store: Store, seconds: float, robbed: int) -> None:
    study = begun(store)
    (one,) = started(store, study)
    store.set_run_of_host_run(study.id, one, RUN)
    begin_run(store)
    move_process(store, RUN)
    pass_time(store, study, seconds)
    assert len(store.release_host_runs(study.id)) == robbed


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([TrialStarted(run_events.trial(1), None), RunEnded(RUN, State.DONE)], D),
        ([TrialStarted(run_events.trial(1), None), RunEnded(RUN, State.FAILED, "broken")], F),
        ([RunEnded(RUN, State.FAILED, "refused")], W),
    ],
)
def test_a_run_whose_process_was_killed_after_its_end_is_settled(
    store: Store, events: Sequence[TrialStarted | RunEnded], state: HostRunState
) -> None:
    study = begun(store)
    (one,) = started(store, study)
    one = store.set_run_of_host_run(study.id, one, RUN)
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026-11-30T08:00:00+00:00"), *events])
    execute(store, "UPDATE host_runs SET changed = '2026-11-30T00:00:00.000+00:00'")
    assert store.release_host_runs(study.id) == []
    assert states(store, study) == [R], "its process has only just ended the run, and settles it"
    pass_time(store, study, START_TIMEOUT + 1)
    store.release_host_runs(study.id)
    assert states(store, study) == [state]
    assert (store.find_fleet_study(study.id).ended is not None) is (state is not W)


def test_what_this_process_carries_is_not_released(store: Store) -> None:
    study = begun(store, 2)
    one, other = started(store, study)
    pass_time(store, study, START_TIMEOUT + 1)
    store.release_host_runs(study.id, {one.number})
    assert states(store, study) == [R, W]
    store.confirm_host_run(study.id, one)
    with pytest.raises(TakenOverError):
        store.confirm_host_run(study.id, other)


def test_a_job_that_the_queue_lost_waits_again(store: Store) -> None:
    study = begun(store, by_workers=True)
    (ready,) = started(store, study, "")
    pass_time(store, study, START_TIMEOUT + 1)
    store.release_host_runs(study.id)
    assert states(store, study) == [HostRunState.READY]
    pass_time(store, study, QUEUE_TIMEOUT)
    store.release_host_runs(study.id)
    assert states(store, study) == [W]
    with pytest.raises(TakenOverError):
        store.claim_host_run(study.id, ready.number, ready.epoch, "late")


def test_a_host_run_that_was_left_is_returned_after_a_while(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    one = store.set_run_of_host_run(study.id, one, RUN)
    begin_trial(store)
    end_process(store, RUN)
    store.leave_host_run(study.id, one, "not reached")
    assert store.release_host_runs(study.id) == []
    assert store.host_runs_of(study.id)[0].reason == "not reached"
    pass_time(store, study, START_TIMEOUT + 1)
    assert len(store.release_host_runs(study.id)) == 1


def left_failed(store: Store) -> FleetStudy:
    """Return a study of two sessions whose first host-run failed while its run was under way on the host."""
    study = begun(store, 2, sessions=2)
    one = store.set_run_of_host_run(study.id, started(store, study)[0], RUN)
    begin_trial(store)
    end_process(store, RUN)
    store.settle_host_run(study.id, one, F, reason="not reached")
    execute(store, "UPDATE host_runs SET due = '2026-11-30T00:00:00.000+00:00'")
    return study


def test_nothing_starts_on_a_host_on_which_a_run_may_be_under_way(store: Store) -> None:
    study = left_failed(store)
    assert started(store, study) == []
    assert [(one.host, one.state) for one in store.host_runs_of(study.id)] == [
        ("a1", F), ("a2", R), ("a1", F), ("a2", W),
    ]  # fmt: skip
    assert RUN in store.host_runs_of(study.id)[2].reason
    record(store, RUN, [RunEnded(RUN, State.PARTIAL, "stopped")])
    assert len(store.retry_host_runs(study.id, ["a1"], [F])) == 2
    assert [one.session for one in started(store, study)] == [1]
    assert states(store, study) == [R, R, W, W]


def test_a_failed_host_run_whose_run_may_be_under_way_is_attached_again(store: Store) -> None:
    study = left_failed(store)
    pass_time(store, study, START_TIMEOUT + 1)
    store.retry_host_runs(study.id, [], [F])
    assert started(store, study) == [], "its host is in use"
    (left,) = store.release_host_runs(study.id)
    assert (left.number, left.run, left.attempts) == (1, RUN, 0)
    assert store.claim_host_run(study.id, left.number, left.epoch, "desk").run == RUN


def test_a_failed_host_run_whose_run_was_completed_since_is_done(store: Store) -> None:
    study = left_failed(store)
    record(store, RUN, [RunEnded(RUN, State.DONE)])
    pass_time(store, study, START_TIMEOUT + 1)
    store.retry_host_runs(study.id, [], [F])
    assert store.release_host_runs(study.id) == []
    assert states(store, study)[0] is D


def test_the_study_ends_with_its_last_host_run(store: Store) -> None:
    study = begun(store, 2)
    for number, one in enumerate(started(store, study)):
        assert store.find_fleet_study(study.id).ended is None
        store.settle_host_run(study.id, one, (D, F)[number], reason="broken")
    found = store.find_fleet_study(study.id)
    assert (found.ended is not None, found.over, found.counts) == (True, True, {D: 1, F: 1})
    (again,) = store.retry_host_runs(study.id, [], [F])
    assert (again.state, again.reason, again.attempts) == (W, "", 0)
    assert store.find_fleet_study(study.id).ended is None
    assert [one.number for one in started(store, study)] == [again.number]


def test_one_that_waits_again_starts_after_its_time(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    store.settle_host_run(study.id, one, W, reason="refused", wait=3600.0)
    assert (states(store, study), started(store, study)) == ([W], [])
    assert store.retry_host_runs(study.id, ["a1"], [F, S]) == []


def test_a_paused_study_starts_nothing_until_it_is_resumed(store: Store) -> None:
    study = begun(store, 2, at_once=1)
    (one,) = started(store, study)
    assert store.pause_fleet_study(study.id, paused=True).paused is not None
    store.settle_host_run(study.id, one, D, reason="")
    assert started(store, study) == []
    assert store.pause_fleet_study(study.id, paused=False).paused is None
    assert len(started(store, study)) == 1


def test_an_ended_study_skips_what_waits_and_what_waits_again(store: Store) -> None:
    study = begun(store, 3, at_once=1)
    (one,) = started(store, study)
    found = store.end_fleet_study(study.id)
    assert (found.ended is not None, found.counts) == (True, {R: 1, S: 2})
    store.settle_host_run(study.id, one, W, reason="refused", wait=60.0)
    assert states(store, study) == [S, S, S]
    assert store.find_fleet_study(study.id).over


def test_a_killed_process_of_an_ended_study_leaves_nothing_that_waits(store: Store) -> None:
    study = begun(store)
    started(store, study)
    store.end_fleet_study(study.id)
    pass_time(store, study, START_TIMEOUT + 1)
    store.release_host_runs(study.id)
    assert states(store, study) == [S]


def test_a_ready_host_run_of_an_ended_study_is_not_claimed(store: Store) -> None:
    study = begun(store, by_workers=True)
    (ready,) = started(store, study, "")
    store.end_fleet_study(study.id)
    with pytest.raises(TakenOverError):
        store.claim_host_run(study.id, ready.number, ready.epoch, "late")


def test_the_waiting_host_runs_of_a_host_are_skipped(store: Store) -> None:
    study = begun(store, 2, sessions=2, at_once=1)
    started(store, study)
    assert [one.number for one in store.skip_host_runs(study.id, ["a2"])] == [2, 4]
    assert states(store, study) == [R, S, W, S]
    with pytest.raises(StoreError, match="has no host z9"):
        store.skip_host_runs(study.id, ["z9"])
    store.skip_host_runs(study.id, ["a1"])
    assert states(store, study) == [R, S, S, S]


def test_hosts_are_added_for_the_sessions_that_are_not_over(store: Store) -> None:
    study = begun(store, 2, sessions=2)
    for one in started(store, study):
        store.settle_host_run(study.id, one, D, reason="")
    (new,) = store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "")
    assert (new.host, new.session, new.number) == ("a3", 2, 5)
    assert [host.name for host in store.find_fleet_study(study.id).plan.hosts] == ["a1", "a2", "a3"]
    for hosts, fault in (([FleetHost("a3", "b")], "has the host a3 already"), ([], "0 hosts")):
        with pytest.raises(StoreError, match=fault):
            store.add_fleet_hosts(study.id, hosts, "")


def test_an_added_host_of_a_study_that_is_over_runs_the_last_session(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    store.settle_host_run(study.id, one, D, reason="")
    store.add_fleet_hosts(study.id, [FleetHost("b1", "b")], "")
    assert store.find_fleet_study(study.id).ended is None
    assert [one.host for one in started(store, study)] == ["b1"]


def test_a_replaced_host_keeps_what_it_measured(store: Store) -> None:
    study = begun(store, 2, sessions=3)
    first, second = started(store, study)
    store.settle_host_run(study.id, first, D, reason="")
    store.settle_host_run(study.id, second, F, reason="broken")
    with pytest.raises(StoreError, match="2 hosts cannot take the place of a1"):
        store.add_fleet_hosts(study.id, [FleetHost("a3", "a"), FleetHost("a4", "a")], "a1")
    with pytest.raises(StoreError, match="has no host z1"):
        store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "z1")
    made = store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "a1")
    assert [one.session for one in made] == [2, 3]
    assert [host.name for host in store.find_fleet_study(study.id).plan.hosts] == ["a2", "a3"]
    by_host = {(one.host, one.session): one for one in store.host_runs_of(study.id)}
    assert by_host["a1", 1].state is D
    assert {by_host["a1", session].reason for session in (2, 3)} == {"replaced by a3"}


def test_a_replaced_host_is_not_measured_beside_the_new_one(store: Store) -> None:
    study = begun(store, 3, by_workers=True)
    ready, carried, left = started(store, study, "")
    carried = store.claim_host_run(study.id, carried.number, carried.epoch, "desk")
    left = store.claim_host_run(study.id, left.number, left.epoch, "laptop")
    left = store.set_run_of_host_run(study.id, left, RUN)
    begin_trial(store)
    end_process(store, RUN)
    for number in (1, 2, 3):
        store.add_fleet_hosts(study.id, [FleetHost(f"b{number}", "a")], f"a{number}")
    assert states(store, study) == [S, S, S, W, W, W]
    with pytest.raises(TakenOverError):
        store.claim_host_run(study.id, ready.number, ready.epoch, "late")
    with pytest.raises(TakenOverError):
        store.settle_host_run(study.id, carried, D, reason="")
    assert store.host_runs_under_way(study.id) == []
    assert f"benchwright attach {RUN} --stop" in store.host_runs_of(study.id)[2].reason
    execute(store, f"update runs set state = '{State.PARTIAL}' where id = '{RUN}'")  # as attach --stop does
    assert store.host_runs_of(study.id)[2].reason == "replaced by b3"


def test_a_replaced_host_waits_no_more_and_is_not_replaced_again(store: Store) -> None:
    study = begun(store, 2)
    skipped = store.skip_host_runs(study.id, ["a1"])
    store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "a1")
    assert store.unskip_host_runs(study.id, skipped) == []
    store.skip_host_runs(study.id, ["a2"])
    with pytest.raises(StoreError, match="a1 was replaced by a3"):
        store.retry_host_runs(study.id, ["a1"], [S])
    with pytest.raises(StoreError, match="a1 was replaced by a3"):
        store.add_fleet_hosts(study.id, [FleetHost("a4", "a")], "a1")
    assert states(store, study) == [S, S, W]
    store.add_fleet_hosts(study.id, [FleetHost("a5", "a")], "a3")
    with pytest.raises(StoreError, match="Choose a5, which has its sessions"):
        store.retry_host_runs(study.id, ["a1"], [S])


def test_skipping_is_undone_until_the_study_is_ended(store: Store) -> None:
    study = begun(store, 2)
    skipped = store.skip_host_runs(study.id, ["a1", "a2"])
    assert store.find_fleet_study(study.id).ended is not None
    assert len(store.unskip_host_runs(study.id, skipped)) == 2
    assert store.find_fleet_study(study.id).ended is None
    skipped = store.skip_host_runs(study.id, ["a1"])
    store.end_fleet_study(study.id)
    assert store.unskip_host_runs(study.id, skipped) == []
    assert store.find_fleet_study(study.id).ended is not None


def test_one_pair_of_several_is_skipped_and_retried(store: Store) -> None:
    mesh = replace(fleet_plan(numbered(4), short_plan(NETWORK)), topology=Topology.MESH)
    study = store.begin_fleet_study(mesh, by_workers=False)
    assert [one.title for one in store.skip_host_runs(study.id, [], [2])] == ["a1 – a3"]
    assert states(store, study) == [W, S, W, W, W, W]
    assert [one.title for one in store.retry_host_runs(study.id, [], [F, S], [2, 3])] == ["a1 – a3"]
    assert states(store, study) == [W] * 6


def test_a_study_of_pairs_takes_no_host(store: Store) -> None:
    plan = fleet_plan(numbered(2), short_plan(replace(NETWORK, peer="gate")))
    study = store.begin_fleet_study(plan, by_workers=False)
    (new,) = store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "")
    assert new.title == "a3 – gate"
    mesh = replace(plan, plan=short_plan(NETWORK), topology=type(plan.topology).MESH)
    study = store.begin_fleet_study(mesh, by_workers=False)
    with pytest.raises(StoreError, match="changes every pair"):
        store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "")


def test_the_peer_of_the_network_tests_is_not_replaced(store: Store) -> None:
    plan = fleet_plan(numbered(3), short_plan(replace(NETWORK, peer="a2")))
    study = store.begin_fleet_study(plan, by_workers=False)
    with pytest.raises(StoreError, match="a2 is the peer"):
        store.add_fleet_hosts(study.id, [FleetHost("a4", "a")], "a2")
    assert states(store, study) == [W, W]
    (new,) = store.add_fleet_hosts(study.id, [FleetHost("a4", "a")], "a1")
    assert new.title == "a4 – a2"


def test_a_replaced_host_does_not_come_back(store: Store) -> None:
    study = begun(store, 3)
    store.add_fleet_hosts(study.id, [FleetHost("a9", "a")], "a1")
    for instead in ("", "a2"):
        with pytest.raises(StoreError, match="a1 was replaced by a9") as refused:
            store.add_fleet_hosts(study.id, [FleetHost("a1", "a")], instead)
        assert "retry" not in refused.value.remedy


def test_a_study_that_is_being_stopped_is_not_opened(store: Store) -> None:
    study = begun(store, 2, at_once=1)
    (one,) = started(store, study)
    store.end_fleet_study(study.id, stop=True)
    with pytest.raises(StoreError, match="being stopped"):
        store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "")
    with pytest.raises(StoreError, match="being stopped"):
        store.retry_host_runs(study.id, ["a2"], [F, S], [])
    assert store.find_fleet_study(study.id).stopped is not None
    assert states(store, study) == [R, S]
    store.settle_host_run(study.id, one, W, reason="")
    assert len(store.retry_host_runs(study.id, ["a2"], [F, S], [])) == 1
    assert store.find_fleet_study(study.id).stopped is None


def test_the_studies_of_a_run_are_found(store: Store) -> None:
    study = begun(store)
    (one,) = started(store, study)
    store.set_run_of_host_run(study.id, one, RUN)
    assert (store.fleet_studies_of(RUN), store.fleet_studies_of(OTHER)) == ([study.id], [])
