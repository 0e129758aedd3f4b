"""The queue: who waits for whom, its order, its file, and what another process sees."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.cli.side_by_side import QueuedRun
from app.events import LinkChanged, LinkState, Progress, RunStarted
from app.hosts.hosts import HostEntry, Hosts, SavedHosts
from app.plans.plan import LOCAL, Plan, make_step
from app.plans.plan_file import write_plan
from app.queue.entries import EntryState, QueueEntry, moved, placed
from app.queue.machines import Machine, machines_of
from app.queue.run_queue import QueueError, RunQueue
from app.runs.control import BusyPolicy, Control, HostInUseError
from app.store.ownership import this_process
from tests.messages import messages
from tests.processes import until

MESSAGES = messages("app", "test_queue")

LIBRARY = Path("/runs.sqlite3")
LOST = "connection to web/x lost"


def plan_on(*hosts: str, peer: str | None = None) -> Plan:
    step = make_step("iperf3", {}, peer=peer) if peer else make_step("sysbench-cpu", {})
    return Plan(f"on {hosts[0]}", hosts, (step,))


def by_name(plan: Plan) -> tuple[Machine, ...]:
    """Return machines whose only key is the name of the host: ``a/x`` and ``b/x`` are two names of x."""
    hosts = [*plan.hosts, *(step.peer for step in plan.steps if step.peer)]
    return tuple(Machine(host, frozenset({host.rpartition("/")[2]})) for host in hosts)


@pytest.fixture
def queue(tmp_path: Path) -> RunQueue:
    return RunQueue(tmp_path / "state/queue.json", by_name)


def waits(queue: RunQueue) -> dict[str, str]:
    return {place.entry.plan.name: place.waits for place in queue.places()}


def started(queue: RunQueue) -> list[str]:
    return [entry.plan.name for entry in queue.take()]


def test_runs_that_share_a_host_or_a_peer_wait_for_each_other(queue: RunQueue) -> None:
    for plan in (plan_on("a", peer="b"), plan_on("c", peer="b"), plan_on("d"), plan_on("b"), plan_on(LOCAL)):
        queue.add(plan, LIBRARY)
    assert started(queue) == ["on a", "on d", f"on {LOCAL}"]
    assert waits(queue)["on c"] == MESSAGES["c_waits"]
    assert waits(queue)["on b"] == MESSAGES["b_waits"]


def test_the_reason_names_the_run_the_alias_and_the_time_left(queue: RunQueue) -> None:
    queue.add(plan_on("web/x"), LIBRARY)
    (first,) = queue.take()
    queue.add(plan_on("x"), LIBRARY)

    def events() -> None:
        with queue.under_way(first.plan, LIBRARY, BusyPolicy.REFUSE, first.id) as mark:
            for event in (RunStarted("R2", first.plan, ""), Progress(2, 6, 240.0)):
                list(mark.noted(one for one in (event,)))
            assert waits(queue)["on x"] == MESSAGES["x_waits"]
            assert queue.places()[0].entry.done == "2/6"
            for state, reason in ((LinkState.LOST, LOST), (LinkState.RECONNECTING, LOST), (LinkState.BACK, "")):
                list(mark.noted(one for one in (LinkChanged("web/x", state, 0.0),)))
                assert (waits(queue)["on web/x"], queue.places()[0].entry.ends) == (reason, None)

    events()
    assert waits(queue) == {"on x": ""}


def test_an_entry_written_before_lost_connections_had_a_field_is_read(queue: RunQueue, tmp_path: Path) -> None:
    queue.add(plan_on("x"), LIBRARY)
    path = tmp_path / "state/queue.json"
    document = json.loads(path.read_text())
    del document["entries"][0]["lost"]
    path.write_text(json.dumps(document))
    assert waits(queue) == {"on x": ""}


def test_what_waits_for_an_answer_or_is_paused_lets_others_pass(queue: RunQueue) -> None:
    paused = queue.add(plan_on("a"), LIBRARY)
    queue.add(plan_on("a", "b"), LIBRARY)
    queue.pause(paused.id)
    assert started(queue) == ["on a"]
    queue.pause(paused.id, paused=False)
    assert waits(queue)["on a"].startswith("waits for a")


def test_the_first_in_the_queue_is_not_overtaken_on_its_machine(queue: RunQueue) -> None:
    for plan in (plan_on("a"), plan_on("b", "a"), plan_on("b")):
        queue.add(plan, LIBRARY)
    assert started(queue) == ["on a"]
    both, last = (place for place in queue.places() if not place.entry.running)
    assert last.waits == MESSAGES["b_after_both"]
    queue.move(last.entry.id, 1)
    assert [entry.id for entry in queue.take()] == [last.entry.id]
    queue.remove(both.entry.id)
    with pytest.raises(QueueError):
        queue.remove(last.entry.id)


def test_a_refused_run_tries_again_later_and_lets_others_pass(queue: RunQueue) -> None:
    entry = queue.add(plan_on("a"), LIBRARY)
    queue.add(plan_on("a"), LIBRARY, waits=False)
    (taken,) = queue.take()
    with (
        pytest.raises(HostInUseError),
        queue.under_way(taken.plan, LIBRARY, BusyPolicy.REFUSE, taken.id),
    ):
        raise HostInUseError(MESSAGES["in_use"])
    assert queue.places()[0].waits.startswith(MESSAGES["in_use"].rstrip("."))
    (second,) = queue.take()
    assert second.id != entry.id
    queue.run_anyway(entry.id)
    assert [one.id for one in queue.take()] == [entry.id]


def test_a_machine_is_known_by_its_boot_id_once_it_was_reached(queue: RunQueue) -> None:
    for host in ("a", "container"):
        queue.add(plan_on(host), LIBRARY)
    first, second = queue.take()
    with queue.under_way(first.plan, LIBRARY, BusyPolicy.REFUSE, first.id) as mark:
        assert mark.admit("a", "boot-1") == ""
        with (
            pytest.raises(HostInUseError, match=MESSAGES["same_machine"]),
            queue.under_way(second.plan, LIBRARY, BusyPolicy.REFUSE, second.id) as other,
        ):
            raise HostInUseError(other.admit("container", "boot-1"))
        assert waits(queue)["on container"] == MESSAGES["container_waits"]
        queue.run_anyway(second.id)
        (anyway,) = queue.take()
        with queue.under_way(anyway.plan, LIBRARY, BusyPolicy.ANYWAY, anyway.id):
            assert mark.admit("a", "boot-1") == ""  # again, after reconnecting
    queue.add(plan_on("container"), LIBRARY)
    assert started(queue) == ["on container"]


def test_machines_are_known_by_address_and_jump_host(tmp_path: Path) -> None:
    saved = SavedHosts(tmp_path / "hosts.toml")
    for entry in (
        HostEntry("web", host_name="localhost", port=2222, user="ann"),
        HostEntry("other-account", host_name="127.0.0.1", port=2222, user="bob"),
        HostEntry("behind", host_name="localhost", port=2222, jump="bastion"),
    ):
        saved.save(entry)
    plan = Plan("many", ("web", "other-account", "behind", LOCAL), plan_on("a").steps)
    web, account, behind, local = machines_of(plan, Hosts(saved).target)
    assert web.keys & account.keys
    assert behind.keys == {"localhost:2222 via bastion:22"}
    assert any(key.startswith("boot:") for key in local.keys)


LEAVE = """
import sys
from pathlib import Path
from app.queue.run_queue import RunQueue
from tests.app.test_queue import LIBRARY, by_name, plan_on
queue = RunQueue(Path(sys.argv[1]), by_name)
queue.add(plan_on("kept"), LIBRARY)
queue.add(plan_on("bound"), LIBRARY, stays=False)
queue.add(plan_on("running"), LIBRARY)
for place in queue.places()[1:3]:
    queue.pause(place.entry.id)
queue.take()
"""


def test_a_process_that_ends_leaves_its_waiting_entries_and_nothing_starts_by_itself(queue: RunQueue) -> None:
    queue.add(plan_on("here"), LIBRARY)
    subprocess.run([sys.executable, "-c", LEAVE, str(queue.path)], check=True, timeout=60)
    assert list(waits(queue)) == ["on here", "on kept"]
    assert started(queue) == ["on here"]
    (kept,) = (place.entry for place in queue.places() if not place.entry.running)
    assert kept.state is EntryState.PAUSED
    queue.pause(kept.id, paused=False)
    assert started(queue) == []
    assert queue.adopt(Path("/other.sqlite3")) == []
    assert [entry.id for entry in queue.adopt(LIBRARY)] == [kept.id]
    assert started(queue) == ["on kept"]


MEASURE = """
import sys, time
from pathlib import Path
from app.queue.run_queue import RunQueue
from app.store import ownership
from tests.app.test_queue import LIBRARY, by_name, plan_on
if sys.argv[2:]:
    ownership._boot_id = lambda: "another"
queue = RunQueue(Path(sys.argv[1]), by_name)
queue.add(plan_on("a"), LIBRARY)
queue.take()
print("taken", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("container", [True, False], ids=["container", "boot"])
def test_one_that_is_killed_where_its_process_cannot_be_seen_frees_its_hosts(
    queue: RunQueue, *, container: bool
) -> None:
    unshared = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] if container else []
    if container and subprocess.run([*unshared, "true"], capture_output=True, check=False).returncode:
        pytest.skip("another PID namespace needs root")
    queue.add(plan_on("a"), LIBRARY)
    queue.pause(queue.places()[0].entry.id)
    words = [*unshared, sys.executable, "-c", MEASURE, str(queue.path), *([] if container else ["boot"])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        queue.pause(queue.places()[1].entry.id, paused=False)
        before = started(queue)
        with RunQueue(queue.path, by_name).under_way(plan_on("b"), LIBRARY, BusyPolicy.REFUSE):  # in this process
            names = sorted(waits(queue))
        process.kill()
    assert (before, names) == ([], ["on a", "on b"])
    until(lambda: started(queue) == ["on a"])  # the kernel ends the namespace's processes after its first
    assert len(queue.places()) == 1


def test_what_was_taken_and_not_begun_is_put_back(queue: RunQueue) -> None:
    for name in ("a", "b"):
        queue.add(replace(plan_on("web-1"), name=name), Path("runs.sqlite3"))
    taken = queue.take()
    assert [entry.plan.name for entry in taken] == ["a"]
    queue.put_back(taken)
    assert [(place.entry.plan.name, place.entry.state) for place in queue.places()] == [
        ("a", EntryState.WAITING),
        ("b", EntryState.WAITING),
    ]


def test_threads_never_start_an_entry_twice(queue: RunQueue) -> None:
    for number in range(8):
        queue.add(plan_on(f"host-{number}"), LIBRARY)
    taken: list[QueueEntry] = []
    threads = [threading.Thread(target=lambda: taken.extend(queue.take())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry.plan.name for entry in taken) == [f"on host-{number}" for number in range(8)]


@pytest.mark.parametrize("spoil", [lambda path: path.write_text("{"), lambda path: path.write_text("[]")])
def test_a_damaged_file_is_set_aside(queue: RunQueue, spoil: Callable[[Path], object]) -> None:
    queue.add(plan_on("a"), LIBRARY)
    spoil(queue.path)
    assert queue.places() == ()
    assert queue.path.with_suffix(".damaged").exists()
    queue.add(plan_on("a"), LIBRARY)
    assert started(queue) == ["on a"]


def test_without_a_usable_file_the_runs_of_this_process_still_wait(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, no folder")
    queue = RunQueue(tmp_path / "state/queue.json", by_name)
    queue.add(plan_on("a"), LIBRARY)
    queue.add(plan_on("a"), LIBRARY)
    assert len(queue.take()) == 1


def test_moving_keeps_those_under_way_first() -> None:
    entries = [QueueEntry(name, plan_on(name), "", (), owner=this_process()) for name in "abc"]
    entries[0] = replace(entries[0], state=EntryState.RUNNING)
    assert [entry.id for entry in moved(entries, "c", 1)] == ["a", "c", "b"]
    assert [entry.id for entry in moved(entries, "b", 9)] == ["a", "c", "b"]
    assert not any(place.waits for place in placed(entries, 0.0))


def test_a_run_is_named_by_its_plan_and_each_host_once() -> None:
    for name in ("fio", "fio on web-1"):
        entry = QueueEntry("q1", replace(plan_on("web-1"), name=name), "", ())
        assert QueuedRun(entry, Control()).title == "fio on web-1"


def test_the_command_line_adds_orders_and_removes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_plan(plan_on(LOCAL), tmp_path / f"{name}.toml")
    runner = CliRunner()

    def call(*words: str) -> str:
        done = runner.invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), "queue", *words])
        assert done.exit_code == 0, done.output
        return done.output

    def listed(*words: str) -> list[str]:
        return [line.split()[0] for line in call(*words).splitlines() if line.strip().startswith("q")]

    assert "queue run" in call("add", str(tmp_path / "a.toml"), str(tmp_path / "b.toml"), "--host", "web-1")
    first, second = listed()
    assert listed("move", second, "1") == [second, first]
    assert "paused" in call("pause", first)
    assert "paused" in call("pause", second)
    assert "2 entries paused" in call("run")
    call("remove", first, second)
    assert "empty" in call()
    assert "queue add" in call("run")
    refused = runner.invoke(benchwright, ["queue", "remove", first])
    assert refused.exit_code == 2
