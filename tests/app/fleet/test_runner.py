"""The runner of a study with runs that need no host: each host-run is done once, whatever fails beside it."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

import pytest

from app.events import Event, RunDetached, RunEnded, RunStarted, State, TrialEnded, TrialStarted
from app.fleet.host_run import CarrierServices, carry
from app.fleet.runner import FleetRunner
from app.fleet_study import FleetHost, FleetLimits, FleetStudy, HostRun, HostRunState
from app.plans.plan import Plan
from app.runs.control import Control, HostInUseError
from app.store.errors import StoreError
from app.store.store import Store
from remote.errors import ConnectError, ConnectOutcome
from suites.outputs import ParsedTrial
from tests.app import run_events
from tests.app.fleet.studies import fleet_plan, numbered, short_plan
from tests.app.stores import any_store, postgresql, store_in_both

__all__ = ["any_store", "postgresql", "store_in_both"]  # fixtures

W, R, D, F, S = (
    HostRunState.WAITING, HostRunState.RUNNING, HostRunState.DONE, HostRunState.FAILED, HostRunState.SKIPPED,
)  # fmt: skip


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the library often, and try again at once."""
    monkeypatch.setattr("app.fleet.runner.LOOK_EVERY", 0.05)
    for name in ("CONNECT_RETRY", "IN_USE_RETRY"):
        monkeypatch.setattr(f"app.fleet.host_run.{name}", 0.1)


@dataclass
class Hosts:
    """Hosts that are not there: what was measured on each, how many at once, and what happens instead on some."""

    store: Store
    happens: dict[str, Callable[[], None]] = field(default_factory=dict)
    measured: list[str] = field(default_factory=list)
    busy: Counter[str] = field(default_factory=Counter)
    most: int = 0
    blocking: dict[str, threading.Event] = field(default_factory=dict)
    reached: threading.Event = field(default_factory=threading.Event)
    _ids: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def services(self) -> CarrierServices:
        return CarrierServices(self.store, self.run, self.attach, self.new_run_id)

    def new_run_id(self) -> str:
        with self._lock:
            self._ids += 1
            return f"20261130-080000-{self._ids:04}"

    def run(self, plan: Plan, run_id: str, control: Control) -> Generator[Event]:
        (host,) = plan.hosts
        with self.store.recorder(run_id) as recorder:
            for event in self._events(plan, host, run_id, control):
                recorder.record(event)
                yield event

    def attach(self, run_id: str, control: Control) -> Generator[Event]:
        taken = self.store.take_over(run_id)
        (host,) = taken.record.plan.hosts
        with self.store.recorder(run_id, taken) as recorder:
            for event in self._measured(host, run_id, control, 2):
                recorder.record(event)
                yield event

    def _events(self, plan: Plan, host: str, run_id: str, control: Control) -> Iterator[Event]:
        yield RunStarted(run_id, plan, "2026-11-30T08:00:00+00:00")
        if host in self.happens:
            try:
                self.happens[host]()
            except ConnectError as error:
                yield RunEnded(run_id, State.FAILED, str(error), unreached=error.outcome)
                return
        yield from self._measured(host, run_id, control)

    def _measured(self, host: str, run_id: str, control: Control, trial: int = 1) -> Iterator[Event]:
        with self._lock:
            self.busy[host] += 1
            self.measured.append(host)
            self.most = max(self.most, self.busy.total())
            assert self.busy[host] == 1
        try:
            yield TrialStarted(run_events.trial(trial, host=host), None)
            self.reached.set()
            while host in self.blocking and not self.blocking[host].wait(0.01) and not control.over:
                continue
            if control.detached:
                yield RunDetached(run_id)
                return
            ended = State.PARTIAL if control.stopped else State.DONE
            yield TrialEnded(trial, ended, 0, ParsedTrial((), (), (), complete=True), "")
            yield RunEnded(run_id, ended, "stopped" if control.stopped else "")
        finally:
            with self._lock:
                self.busy[host] -= 1


@pytest.fixture
def hosts(store: Store) -> Hosts:
    return Hosts(store)


def begun(store: Store, *sizes: int, sessions: int = 1, at_once: int = 4) -> FleetStudy:
    plan = fleet_plan(numbered(*sizes), short_plan(sessions=sessions, every=0.2), FleetLimits(at_once))
    return store.begin_fleet_study(plan, by_workers=False)


def by_host(store: Store, study: FleetStudy) -> dict[str, HostRun]:
    return {one.host: one for one in store.host_runs_of(study.id)}


def in_thread(runner: FleetRunner) -> threading.Thread:
    thread = threading.Thread(target=runner.run)
    thread.start()
    return thread


def fails(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


REFUSED = ConnectError(ConnectOutcome.REFUSED, "a2 refused the connection.", "Start sshd.", host="a2")


def test_every_host_run_is_done_once_within_the_limit(store: Store, hosts: Hosts) -> None:
    study = begun(store, 3, 2, sessions=2, at_once=2)
    ended = FleetRunner(hosts.services(), study.id).run()
    assert (ended.counts, ended.over, ended.ended is not None) == ({D: 10}, True, True)
    assert Counter(hosts.measured) == dict.fromkeys(["a1", "a2", "a3", "b1", "b2"], 2)
    assert hosts.most <= 2
    assert sorted(one.run for one in store.host_runs_of(study.id)) == sorted(run.id for run in store.runs())


def test_two_runners_of_a_study_do_each_host_run_once(store: Store, hosts: Hosts) -> None:
    study = begun(store, 12, at_once=3)
    other = Store(store.location)
    runners = [FleetRunner(hosts.services(), study.id), FleetRunner(Hosts(other).services(), study.id)]
    runners[1]._services = CarrierServices(other, hosts.run, hosts.attach, hosts.new_run_id)
    threads = [in_thread(runner) for runner in runners]
    for thread in threads:
        thread.join(60)
    other.close()
    assert Counter(hosts.measured) == {f"a{number}": 1 for number in range(1, 13)}
    assert store.find_fleet_study(study.id).counts == {D: 12}
    assert hosts.most <= 3


def test_a_host_that_fails_ends_no_other_and_has_a_reason(store: Store, hosts: Hosts) -> None:
    study = begun(store, 3)
    hosts.happens["a2"] = fails(REFUSED)
    FleetRunner(hosts.services(), study.id).run()
    found = by_host(store, study)
    assert {host: one.state for host, one in found.items()} == {"a1": D, "a2": F, "a3": D}
    assert (found["a2"].attempts, found["a2"].reason) == (3, str(REFUSED))
    del hosts.happens["a2"]
    assert [one.host for one in store.retry_host_runs(study.id, [], [F])] == ["a2"]
    assert FleetRunner(hosts.services(), study.id).run().counts == {D: 3}
    assert Counter(hosts.measured) == {"a1": 1, "a2": 1, "a3": 1}


@pytest.mark.parametrize(
    "outcome", [ConnectOutcome.KEY_CHANGED, ConnectOutcome.KEY_UNKNOWN, ConnectOutcome.AUTH_REFUSED]
)
def test_what_only_the_user_can_fix_is_not_tried_again(store: Store, hosts: Hosts, outcome: ConnectOutcome) -> None:
    study = begun(store, 2)
    error = ConnectError(outcome, "a2 is not reached.", "Remove the old key.", host="a2")
    hosts.happens["a2"] = fails(error)
    assert FleetRunner(hosts.services(), study.id).run().counts == {D: 1, F: 1}
    found = by_host(store, study)["a2"]
    assert found.attempts == 1
    assert str(error) in found.reason
    assert f"benchwright fleet retry {study.id} a2" in found.reason


def test_a_run_under_way_whose_host_has_another_key_is_not_attached_again(store: Store, hosts: Hosts) -> None:
    study = begun(store, 1)
    (one,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "slow")
    one = store.set_run_of_host_run(study.id, one, hosts.new_run_id())

    def attach(_run: str, _control: Control) -> Generator[Event]:
        raise ConnectError(ConnectOutcome.KEY_CHANGED, "The host key of a1 has changed.", host="a1")
        yield

    services = CarrierServices(store, hosts.run, attach, hosts.new_run_id)
    assert list(carry(services, study, one, Control())) == []
    assert by_host(store, study)["a1"].state is F


def test_a_host_in_use_is_tried_until_it_is_free(store: Store, hosts: Hosts) -> None:
    study, tries = begun(store, 2), iter(range(6))

    def in_use() -> None:
        if next(tries, None) is not None:
            raise HostInUseError("a1 is in use by another run.", "Wait.")

    hosts.happens["a1"] = in_use
    assert FleetRunner(hosts.services(), study.id).run().counts == {D: 2}
    assert by_host(store, study)["a1"].attempts == 1


def test_a_host_in_use_says_when_it_is_tried_again_and_no_remedy_of_a_single_run(store: Store, hosts: Hosts) -> None:
    study = begun(store, 1)
    in_use = HostInUseError("a1 is in use by another run.", "Run anyway (--anyway).")
    hosts.happens["a1"] = fails(in_use)
    (one,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "desk")
    list(carry(hosts.services(), study, one, Control()))
    waiting = by_host(store, study)["a1"]
    assert waiting.state is HostRunState.WAITING
    assert waiting.reason.startswith(in_use.message)
    assert "--anyway" not in waiting.reason


def test_a_bug_fails_its_own_host_run_only(store: Store, hosts: Hosts) -> None:
    study = begun(store, 2)
    hosts.happens["a1"] = fails(KeyError("surprise"))
    ended = FleetRunner(hosts.services(), study.id).run()
    assert ended.counts == {D: 1, F: 1}
    assert "KeyError('surprise')" in by_host(store, study)["a1"].reason


def test_what_fails_to_show_an_event_ends_no_host_run(store: Store, hosts: Hosts) -> None:
    study = begun(store, 2)

    def show(_one: HostRun, _event: Event) -> None:
        raise RuntimeError("no window")

    assert FleetRunner(hosts.services(), study.id, show).run().counts == {D: 2}
    assert len(hosts.measured) == 2


def test_a_stopped_study_is_resumed_where_it_was(store: Store, hosts: Hosts) -> None:
    study = begun(store, 3, at_once=1)
    hosts.blocking["a1"] = threading.Event()
    runner = FleetRunner(hosts.services(), study.id)
    thread = in_thread(runner)
    assert hosts.reached.wait(30)
    runner.stop()
    thread.join(30)
    found = by_host(store, study)
    assert {one.state for one in found.values()} == {W}
    assert found["a1"].reason == "stopped"
    hosts.blocking.clear()
    assert FleetRunner(hosts.services(), study.id).run().counts == {D: 3}


def test_one_host_run_is_stopped_and_failed_the_others_go_on(store: Store, hosts: Hosts) -> None:
    study = begun(store, 2, at_once=1)
    hosts.blocking["a1"] = threading.Event()
    runner = FleetRunner(hosts.services(), study.id)
    thread = in_thread(runner)
    assert hosts.reached.wait(30)
    runner.stop_host_run(1)
    thread.join(30)
    assert {host: one.state for host, one in by_host(store, study).items()} == {"a1": F, "a2": D}


def test_a_detached_study_is_attached(store: Store, hosts: Hosts) -> None:
    study = begun(store, 2)
    hosts.blocking["a1"] = threading.Event()
    runner = FleetRunner(hosts.services(), study.id)
    thread = in_thread(runner)
    deadline = time.monotonic() + 30
    while hosts.measured.count("a1") + hosts.measured.count("a2") < 2 or by_host(store, study)["a2"].state is not D:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    runner.detach()
    thread.join(30)
    before = by_host(store, study)["a1"]
    assert (before.state, before.run in store.running()) == (R, True)
    hosts.blocking.clear()
    assert FleetRunner(hosts.services(), study.id).run().counts == {D: 2}
    after = by_host(store, study)["a1"]
    assert (after.run, after.epoch) == (before.run, before.epoch + 2)


def test_hosts_are_added_paused_and_skipped_meanwhile(store: Store, hosts: Hosts) -> None:
    study = begun(store, 3, at_once=1)
    hosts.blocking["a1"] = threading.Event()
    thread = in_thread(FleetRunner(hosts.services(), study.id))
    assert hosts.reached.wait(30)
    store.add_fleet_hosts(study.id, [FleetHost("b1", "b")], "")
    store.skip_host_runs(study.id, ["a3"])
    store.pause_fleet_study(study.id, paused=True)
    hosts.blocking.pop("a1").set()
    time.sleep(0.5)
    assert {host: one.state for host, one in by_host(store, study).items()} == {"a1": D, "a2": W, "a3": S, "b1": W}
    store.pause_fleet_study(study.id, paused=False)
    thread.join(30)
    assert store.find_fleet_study(study.id).counts == {D: 3, S: 1}


def test_the_run_of_a_host_that_is_replaced_is_stopped(store: Store, hosts: Hosts) -> None:
    study = begun(store, 2)
    hosts.blocking["a1"] = threading.Event()
    thread = in_thread(FleetRunner(hosts.services(), study.id))
    assert hosts.reached.wait(30)
    store.add_fleet_hosts(study.id, [FleetHost("a3", "a")], "a1")
    thread.join(30)
    assert {host: one.state for host, one in by_host(store, study).items()} == {"a1": S, "a2": D, "a3": D}
    assert hosts.busy.total() == 0
    record = store.load(by_host(store, study)["a1"].run)
    assert (record.summary.state, record.reason) == (State.PARTIAL, "stopped")


def test_the_run_of_a_host_that_is_replaced_as_it_begins_is_stopped(store: Store, hosts: Hosts) -> None:
    study = begun(store, 1)
    hosts.blocking["a1"] = threading.Event()

    def run(plan: Plan, run_id: str, control: Control) -> Generator[Event]:
        if plan.hosts == ("a1",):
            store.add_fleet_hosts(study.id, [FleetHost("a2", "a")], "a1")
        yield from hosts.run(plan, run_id, control)

    FleetRunner(CarrierServices(store, run, hosts.attach, hosts.new_run_id), study.id).run()
    assert {host: one.state for host, one in by_host(store, study).items()} == {"a1": S, "a2": D}
    record = store.load(by_host(store, study)["a1"].run)
    assert (record.summary.state, record.reason) == (State.PARTIAL, "stopped")


def test_a_run_that_cannot_be_attached_is_named_and_attached_when_it_is_retried(
    store: Store, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.host_runs.START_TIMEOUT", -1.0)
    study = begun(store, 1, sessions=2)
    hosts.blocking["a1"] = threading.Event()
    runner = FleetRunner(hosts.services(), study.id)
    thread = in_thread(runner)
    assert hosts.reached.wait(30)
    runner.detach()
    thread.join(30)

    def attach(_run: str, _control: Control) -> Generator[Event]:
        raise REFUSED
        yield

    services = CarrierServices(store, hosts.run, attach, hosts.new_run_id)
    assert FleetRunner(services, study.id).run().counts == {F: 2}
    first, second = store.host_runs_of(study.id)
    assert hosts.measured == ["a1"]
    assert f"benchwright attach {first.run} --stop" in first.reason
    assert "benchwright hosts leftovers a1" in first.reason
    assert f"benchwright fleet retry {study.id} a1" in first.reason
    assert (second.run, first.run in second.reason) == ("", True)
    store.retry_host_runs(study.id, ["a1"], [F])
    hosts.blocking.clear()
    assert FleetRunner(hosts.services(), study.id).run().counts == {D: 2}
    assert store.host_runs_of(study.id)[0].run == first.run


def test_the_runner_of_an_ended_study_ends(store: Store, hosts: Hosts) -> None:
    study = begun(store, 2, at_once=1)
    tries: list[int] = []

    def refuses_after_the_end() -> None:
        tries.append(1)
        store.end_fleet_study(study.id)
        raise REFUSED

    hosts.happens["a1"] = refuses_after_the_end
    thread = in_thread(FleetRunner(hosts.services(), study.id))
    thread.join(30)
    assert not thread.is_alive()
    assert ({one.state for one in by_host(store, study).values()}, len(tries)) == ({S}, 1)


def test_a_process_that_lost_its_host_run_touches_nothing_and_leaves_no_run(store: Store, hosts: Hosts) -> None:
    """Its host-run is taken over between the run's first event and the fence: another has started it anew."""
    study = begun(store, 1)
    (one,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "slow")
    record = hosts.run

    def slow(plan: Plan, run_id: str, control: Control) -> Generator[Event]:
        (found,) = store.host_runs_of(study.id)
        store.settle_host_run(study.id, found, W, reason="its process ended")
        (again,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "fast")
        store.set_run_of_host_run(study.id, again, "20261130-090000-fast")
        yield from record(plan, run_id, control)

    services = CarrierServices(store, slow, hosts.attach, hosts.new_run_id)
    assert list(carry(services, study, one, Control())) == []
    assert (hosts.measured, store.runs()) == ([], [])
    assert by_host(store, study)["a1"].worker == "fast"


def test_a_run_that_another_process_attaches_is_detached_and_not_deleted(store: Store, hosts: Hosts) -> None:
    study = begun(store, 1)
    (one,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "slow")
    record = hosts.run

    def slow(plan: Plan, run_id: str, control: Control) -> Generator[Event]:
        (found,) = store.host_runs_of(study.id)
        store.leave_host_run(study.id, found, "left")
        store.claim_host_run(study.id, found.number, found.epoch, "fast")
        yield from record(plan, run_id, control)

    services = CarrierServices(store, slow, hosts.attach, hosts.new_run_id)
    control = Control()
    next(events := carry(services, study, one, control))
    assert control.detached
    events.close()
    assert len(store.runs()) == 1


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (StoreError("The run is in progress.", "Stop it first."), "The run is in progress."),
        (REFUSED, str(REFUSED)),
        (HostInUseError("a1 is in use.", "Wait."), "a1 is in use."),
    ],
    ids=str,
)
def test_a_run_that_cannot_be_attached_yet_stays(store: Store, hosts: Hosts, error: Exception, shown: str) -> None:
    study = begun(store, 1)
    (one,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "slow")
    one = store.set_run_of_host_run(study.id, one, hosts.new_run_id())

    def attach(_run: str, _control: Control) -> Generator[Event]:
        raise error
        yield

    services = CarrierServices(store, hosts.run, attach, hosts.new_run_id)
    assert list(carry(services, study, one, Control())) == []
    found = by_host(store, study)["a1"]
    assert (found.state, found.worker, found.run, found.reason) == (R, "", one.run, shown)


def test_a_library_that_fails_for_a_while_costs_an_attempt(store: Store, hosts: Hosts) -> None:
    study = begun(store, 1)
    failed: list[str] = []
    run = hosts.run

    def fails_once(plan: Plan, run_id: str, control: Control) -> Generator[Event]:
        if not failed:
            failed.append(run_id)
            raise StoreError("The connection to the library was lost.")
        yield from run(plan, run_id, control)

    services = CarrierServices(store, fails_once, hosts.attach, hosts.new_run_id)
    assert FleetRunner(services, study.id).run().counts == {D: 1}
    assert hosts.measured == ["a1"]


def test_a_study_that_was_deleted_ends_its_runner(store: Store, hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    study = begun(store, 1)
    store.pause_fleet_study(study.id, paused=True)
    looked, release = threading.Event(), store.release_host_runs

    def look(name: str, carried: frozenset[int]) -> list[HostRun]:
        looked.set()
        return release(name, carried)

    monkeypatch.setattr(store, "release_host_runs", look)
    running = in_thread(FleetRunner(CarrierServices(store, hosts.run, hosts.attach, hosts.new_run_id), study.id))
    assert looked.wait(30)
    store.end_fleet_study(study.id)
    store.delete_fleet_study(study.id)
    running.join(30)
    assert not running.is_alive()
