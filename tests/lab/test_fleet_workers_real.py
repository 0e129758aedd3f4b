"""Workers of fleet studies under faults: every host-run once, no measurement twice, nothing left on the hosts.

The programs on the hosts count: each notes every start of a measurement.
"""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.events import State
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, FleetStudy, HostRun, HostRunState
from app.host_attributes import HostAttributes
from app.library_location import location_of
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from tests.lab.fleet_hosts import PROGRAMS, fleet, names_of
from tests.lab.fleet_workers import Computer, moments, slow_sysbench
from tests.lab_sshd import AnsweringAsker, LabHost, LabKeys
from tests.postgresql import Server, programs
from tests.processes import processes_with
from tests.program import benchwright

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed"),
]

HOSTS, SESSIONS, TRIALS, SECONDS = 8, 2, 2, 6.0
"""Hosts and sessions of a study, trials of each host-run, and about how long each takes."""

AT_ONCE, PER_ZONE = 6, 3

POINTS = (
    "claimed", "run set", "run stored", "command planned", "command started", "trial started", "between trials",
    "run ended",
)  # fmt: skip
"""Points of a host-run at which workers are killed; between "command started" and "trial started" no trial is stored
whose command runs."""

PASSWORD = "canary-7f3e91c2"
"""Password of the workers' role."""

PATIENCE = 600.0
"""Seconds in which a study ends whatever happens."""


@dataclass
class Study:
    """A study under way on real hosts, and the computers whose workers carry it."""

    folder: Path
    server: Server
    hosts: dict[str, LabHost]
    workstation: Workstation
    computers: list[Computer] = field(default_factory=list)
    id: str = ""

    def begin(self, trials: int = TRIALS) -> None:
        """Begin the study."""
        repetition = Repetition(trials=trials, sessions=SESSIONS, every=1.0)
        step = make_step("sysbench-cpu", {"time": 1, "threads": 1})
        hosts = (FleetHost(name, "g", HostAttributes(zone="ab"[at % 2])) for at, name in enumerate(self.hosts))
        plan = Plan("short", (), (step,), repetition=repetition)
        limits = FleetLimits(AT_ONCE, per_zone=PER_ZONE)
        self.id = self.workstation.begin_fleet_study(
            FleetPlan(plan, tuple(hosts), limits=limits), AnsweringAsker(), by_workers=True
        ).id

    def computer(self, known: tuple[str, ...] = ()) -> Computer:
        """Return a new computer."""
        name = f"w{len(self.computers) + 1}"
        made = Computer(self.folder / name, name, self.server.port, self.hosts, known)
        self.computers.append(made)
        return made

    def start_workers(self, count: int, *words: str) -> list[Computer]:
        """Start workers on new computers."""
        made = [self.computer() for _ in range(count)]
        for one in made:
            self.start(one, *words)
        return made

    def start(self, computer: Computer, *words: str) -> None:
        """Start a worker on a computer; it ends once the study is over."""
        url = f"postgresql+psycopg://carrier:{PASSWORD}@127.0.0.1:{computer.port}/postgres"
        computer.start(url, "--once", *words)

    @property
    def found(self) -> FleetStudy:
        return self.workstation.fleet_study(self.id)

    @property
    def host_runs(self) -> list[HostRun]:
        return self.workstation.host_runs(self.id)

    def carried_by(self, computer: Computer) -> list[HostRun]:
        """Return the host-runs that a computer carries."""
        found = [one for one in self.host_runs if one.state is HostRunState.RUNNING]
        return [one for one in found if f"@{computer.name} " in one.worker]

    def measures(self, computer: Computer) -> bool:
        """Whether a measurement runs on a host whose host-run a computer carries: perhaps its trial is not stored."""
        return any(len(self.starts(one.host)) > len(self.ends(one.host)) for one in self.carried_by(computer))

    def starts(self, host: str) -> list[float]:
        return moments(self.folder / "tools" / host, "start")

    def ends(self, host: str) -> list[float]:
        return moments(self.folder / "tools" / host, "end")

    def until(self, holds: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait until a condition holds."""
        deadline = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < deadline, self.state
            time.sleep(0.2)

    @property
    def state(self) -> str:
        """Return what is known of the study and of its workers, for messages."""
        lines = [str(one) for one in self.host_runs]
        return "\n".join([*lines, *(f"{one.name}:\n{one.output}\n{one.log[-6000:]}" for one in self.computers)])

    def prove(self, trials: int = TRIALS) -> None:
        """Wait for the end; prove that each host-run was measured once, and that nothing is left."""
        self.until(lambda: self.found.over)
        self.until(lambda: not any(one.runs for one in self.computers), 120)
        found = self.host_runs
        started = {host: len(self.starts(host)) for host in self.hosts}
        runs = self.workstation.runs()
        assert Counter(one.state for one in found) == {HostRunState.DONE: HOSTS * SESSIONS}, self.state
        assert started == dict.fromkeys(self.hosts, SESSIONS * trials), self.state
        assert {run.id for run in runs} == {one.run for one in found}, self.state
        assert len({one.run for one in found}) == len(found)
        for one in found:
            record = self.workstation.load(one.run)
            assert record.summary.state is State.DONE
            assert [trial.state for trial in record.trials] == [State.DONE] * trials
            assert record.plan.hosts == (one.host,)
        self.prove_limits()
        self.prove_nothing_left()

    def prove_limits(self) -> None:
        """Prove from the notes on the hosts that no two measurements shared a host, and that the limits held."""
        spans = {}
        for host in self.hosts:
            spans[host] = list(zip(self.starts(host), self.ends(host), strict=True))
            assert all(end <= later for (_, end), (later, _) in pairwise(spans[host]))
        for at in (start for found in spans.values() for start, _ in found):
            busy = [host for host, found in spans.items() if any(start <= at < end for start, end in found)]
            assert len(busy) <= AT_ONCE
            assert max(Counter(int(host[1:]) % 2 for host in busy).values()) <= PER_ZONE

    def prove_nothing_left(self) -> None:
        """Prove that there are no directories, leases and processes on the hosts, and no jobs in the queue."""
        left = {host: self._leftovers(host) for host in self.hosts}
        self.until(lambda: not any(left[host] & self._leftovers(host) for host in left), 120)
        for host in self.hosts:
            assert list((self.folder / "hosts" / host / "leases").iterdir()) == []
            self.until(lambda: not processes_with(f"HOME={self.hosts[host].home}"), 30)  # noqa: B023 (called here)
        assert self.rows("SELECT count(*) FROM benchwright_queue.procrastinate_jobs") == [(0,)]

    def _leftovers(self, host: str) -> set[str]:
        """Return the directories of runs on a host; those of other tests, in the same folder, go by themselves."""
        return {one.path for one in self.workstation.leftovers(host, AnsweringAsker())}

    def dump(self) -> str:
        """Return the whole database as SQL."""
        program = programs()
        assert program is not None
        words = [str(program / "pg_dump"), f"postgresql://benchwright:secret@127.0.0.1:{self.server.port}/postgres"]
        return subprocess.run(words, capture_output=True, check=True).stdout.decode(errors="replace")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.server.connect() as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture
def study(tmp_path: Path, lab_keys: LabKeys, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    """Give a study on real hosts whose workers have not started."""
    monkeypatch.setattr("app.plans.validation.LEAST_EVERY", 0.5)
    tools = {name: slow_sysbench(tmp_path / "tools" / name, SECONDS) for name in names_of(HOSTS)}
    paths = {name: {"PATH": f"{folder}:{PROGRAMS}"} for name, folder in tools.items()}
    server = Server(durable=True, auth="scram-sha-256")
    workstation = Workstation(location_of(server.url().replace("@", ":secret@")), tmp_path / "hosts.toml")
    try:
        with fleet(tmp_path / "hosts", lab_keys, names_of(HOSTS), environment=paths) as hosts:
            workstation.prepare_queue()
            server.execute(f"CREATE ROLE carrier LOGIN PASSWORD '{PASSWORD}'; GRANT benchwright TO carrier")
            made = Study(tmp_path, server, hosts, workstation)
            made.begin()
            try:
                yield made
            finally:
                for computer in made.computers:
                    computer.close()
    finally:
        workstation.close()
        server.close()


def test_two_workers_carry_a_study_and_show_no_secret(study: Study) -> None:
    workers = study.start_workers(2)
    study.until(lambda: all(study.measures(one) for one in workers))
    shown = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert "fleet_worker_process worker" in shown
    dumped = study.dump()
    study.prove()
    key = next(iter(study.hosts.values())).keys.client.read_text().splitlines()[1]
    for text in (shown, dumped, study.dump(), *(one.output + one.log for one in workers)):
        assert PASSWORD not in text
        assert key not in text
    assert "sysbench-cpu" in dumped
    assert "benchwright_queue.procrastinate_workers" in dumped


def test_a_study_is_stopped_on_its_workers(study: Study) -> None:
    store = study.server.url().replace("@", ":secret@")
    shown = benchwright("fleet", "show", BENCHWRIGHT_STORE=store)
    assert "No worker takes host-runs. Start one: benchwright --store" in shown.err
    assert "secret" not in shown.err
    workers = study.start_workers(2)
    study.until(lambda: all(study.measures(one) for one in workers))
    listed = benchwright("fleet", "workers", BENCHWRIGHT_STORE=store)
    assert "2 workers alive" in listed.err
    assert all(f"root@{one.name} (process 1, " in listed.out for one in workers)
    study.until(lambda: "sysbench-cpu 0/2" in benchwright("fleet", "show", BENCHWRIGHT_STORE=store).out)
    assert "No worker" not in benchwright("fleet", "show", BENCHWRIGHT_STORE=store).err
    benchwright("fleet", "end", "--stop", BENCHWRIGHT_STORE=store)
    study.until(lambda: study.found.over, 60)
    study.until(lambda: not any(one.runs for one in workers), 60)
    assert set(study.found.counts) <= {HostRunState.DONE, HostRunState.SKIPPED}
    assert study.found.counts[HostRunState.SKIPPED] >= HOSTS
    study.prove_nothing_left()


def test_a_storm(study: Study) -> None:
    first, second, third, fourth = study.start_workers(4)
    study.until(lambda: all(study.measures(one) for one in (first, second)))
    first.signal(signal.SIGKILL)
    second.to_database.cut()
    third.signal(signal.SIGSTOP)
    fourth.to_hosts.cut()
    skewed = study.computer()
    skewed.variables |= {"BENCHWRIGHT_CLOCK_OFFSET": "-3600", "BENCHWRIGHT_TWICE": "1"}
    study.start(skewed)
    time.sleep(30.0)
    study.server.kill()
    time.sleep(20.0)
    study.server.start()
    time.sleep(10.0)
    third.signal(signal.SIGCONT)
    fourth.to_hosts.mend()
    study.start(study.computer())
    time.sleep(20.0)
    second.to_database.mend()
    skewed.signal(signal.SIGTERM)
    study.prove()


def test_workers_are_killed_in_the_middle_of_trials(study: Study) -> None:
    killed, other = study.start_workers(2)
    study.until(lambda: study.measures(killed) and study.measures(other))
    killed.signal(signal.SIGKILL)
    study.prove()


def test_workers_end_at_every_point_of_a_host_run(study: Study) -> None:
    for point in POINTS:
        computer = study.computer()
        computer.variables["BENCHWRIGHT_DIES_AT"] = point
        study.start(computer, "--at-once", "1")
    study.until(lambda: not any(one.runs for one in study.computers))
    study.start_workers(2)
    study.prove()


def test_a_worker_is_cut_off_from_the_database(study: Study) -> None:
    cut, _, _ = study.start_workers(3)
    study.until(lambda: study.measures(cut))
    cut.to_database.cut()
    time.sleep(75.0)
    cut.to_database.mend()
    study.prove()


def test_a_worker_is_cut_off_from_its_hosts(study: Study) -> None:
    cut, _ = study.start_workers(2)
    study.until(lambda: study.measures(cut))
    cut.to_hosts.cut()
    time.sleep(75.0)
    cut.to_hosts.mend()
    study.prove()


def test_a_worker_is_suspended(study: Study) -> None:
    suspended, _, _ = study.start_workers(3)
    study.until(lambda: study.measures(suspended))
    suspended.signal(signal.SIGSTOP)
    time.sleep(60.0)
    suspended.signal(signal.SIGCONT)
    study.prove()


def test_the_database_crashes_twice(study: Study) -> None:
    workers = study.start_workers(4)
    study.until(lambda: all(study.measures(one) for one in workers[:2]))
    for _ in range(2):
        study.server.kill()
        time.sleep(20.0)
        study.server.start()
        time.sleep(8.0)
    study.prove()


def test_clocks_are_set_differently(study: Study) -> None:
    for offset in (3600, -3600, 0):
        computer = study.computer()
        computer.variables["BENCHWRIGHT_CLOCK_OFFSET"] = str(offset)
        study.start(computer)
    killed = study.computers[0]
    study.until(lambda: all(study.measures(one) for one in study.computers[:2]))
    killed.signal(signal.SIGKILL)
    study.prove()


def test_a_worker_that_is_ended_detaches(study: Study) -> None:
    ended, _ = study.start_workers(2)
    study.until(lambda: study.measures(ended))
    carried = study.carried_by(ended)
    ended.signal(signal.SIGTERM)
    assert ended.wait(60) == 0
    study.until(lambda: not study.carried_by(ended) and all(one.epoch for one in carried), 45)
    study.prove()


def test_a_worker_is_ended_while_the_database_is_down(study: Study) -> None:
    ended, _, _ = study.start_workers(3)
    study.until(lambda: study.measures(ended))
    study.server.kill()
    time.sleep(3.0)
    ended.signal(signal.SIGTERM)
    assert ended.wait(60) == 0
    study.server.start()
    study.prove()


def test_every_job_is_delivered_twice(study: Study) -> None:
    for _ in range(2):
        computer = study.computer()
        computer.variables["BENCHWRIGHT_TWICE"] = "1"
        study.start(computer)
    study.prove()


def test_a_worker_does_not_know_some_hosts(study: Study) -> None:
    study.start(study.computer(known=("h001", "h002")))
    study.start(study.computer())
    study.prove()
