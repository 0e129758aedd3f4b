"""A run survives its Benchwright: killed or closed while a command measures, it is found and followed by another."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.detached_runs import DetachedRun
from app.events import (
    Event,
    JobBegan,
    OutputRead,
    RunAttached,
    RunDetached,
    RunEnded,
    SampleRead,
    State,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.hosts.leftovers import LeftoverOwner
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
from app.store.errors import StoreError
from app.store.store import Store
from remote.errors import ConnectError
from tests.lab.counting import counting_plan
from tests.lab.survival import (
    assert_no_leftovers,
    assert_whole,
    at_count,
    attach,
    end,
    jobs_on,
    kill_jobs,
    leftovers_in,
    restart_host,
    run,
    trial_ends,
    workspaces_on,
)
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.processes import ends

MESSAGES = messages("lab", "test_survival_attach")

Measuring = Callable[..., "Killable"]


class Killable:
    """Another Benchwright, which counts on a host and says how far it is."""

    def __init__(self, store: Path, host: str, *numbers: int) -> None:
        words = [sys.executable, "-m", "tests.lab.counting", str(store), host, *map(str, numbers)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def kill_at(self, number: int) -> None:
        """Wait until it has counted to `number`, and kill it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if float(line) >= number:
                break
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def measuring(tmp_path: Path) -> Iterator[Measuring]:
    """Return a function that starts another Benchwright on the same library."""
    started: list[Killable] = []

    def start(host: str = "lab", *, count: int = 60, trials: int = 1, prepare: int = 0) -> Killable:
        started.append(Killable(tmp_path / "runs.sqlite3", host, count, trials, prepare))
        return started[-1]

    yield start
    for killable in started:
        killable.process.kill()
        killable.process.wait()


def detached_runs(workstation: Workstation) -> DetachedRun:
    (left,) = workstation.detached_runs()
    return left


def out_of(left: DetachedRun) -> dict[str, Path]:
    """Return the files that the command under way prints to, on the host."""
    (job,) = [job for job in left.jobs if job.trial in {one.trial.id for one in left.under_way}]
    directory = Path(job.workspace.path, f".job-{job.directory}")
    return {"stdout": directory / "out", "stderr": directory / "err"}


# Killed


@pytest.mark.parametrize("host", ["lab", pytest.param(LOCAL, marks=pytest.mark.slow)])
def test_a_killed_benchwright_loses_no_byte(
    workstation: Workstation, lab: LabHost, measuring: Measuring, host: str
) -> None:
    measuring(host, count=100).kill_at(50)
    left = detached_runs(workstation)
    assert workstation.runs()[0].detached
    assert workstation.runs()[0].state is State.RUNNING
    assert (left.by_choice, left.hosts, left.age < 60) == (False, (host,), True)
    assert len(left.under_way) == 1
    files, written = out_of(left), {}

    def keep_files(event: Event, _control: Control) -> None:
        if isinstance(event, TrialEnded):
            written.update({stream: path.read_bytes() for stream, path in files.items()})

    events = attach(workstation, keep_files)
    assert any(isinstance(event, RunAttached) for event in events)
    (taken_up,) = [event for event in events if isinstance(event, TrialAttached)]
    assert len(taken_up.samples) >= 20  # of 50; those counted since the last commit (COMMIT_INTERVAL) are on the host
    assert (end(events).state, end(events).reason) == (State.DONE, "")
    record = assert_whole(workstation, 1, 100)
    assert workstation.output(record.summary.id, 1) == written
    assert workstation.detached_runs() == []
    assert_no_leftovers(lab.home if host == "lab" else Path.home())


@pytest.mark.slow
def test_a_killed_run_is_called_detached_everywhere(
    workstation: Workstation, lab: LabHost, measuring: Measuring, tmp_path: Path
) -> None:
    measuring(count=600).kill_at(10)
    left, runner = detached_runs(workstation), CliRunner()

    def printed(*words: str) -> str:
        return runner.invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words]).stdout

    assert json.loads(printed("list", "--json"))[0]["state"] == "detached"
    assert json.loads(printed("show", "last", "--json"))["state"] == "detached"
    assert "UTC, detached)" in printed("show", "last")
    assert "detached" in printed("list")
    assert printed("attach", "--list").startswith(f"{left.id}  Detached run on lab,")
    row = next(line for line in printed("queue").splitlines() if left.id in line)
    assert all(word in row for word in ("lab", "detached", "benchwright --store"))
    assert [one["run"] for one in json.loads(printed("queue", "--json"))["detached"]] == [left.id]
    attach(workstation, lambda _event, control: control.stop())
    assert "detached" not in printed("queue") + printed("list")


@pytest.mark.slow
def test_the_trials_that_are_left_are_run(workstation: Workstation, lab: LabHost, measuring: Measuring) -> None:
    measuring(count=30, trials=3).kill_at(10)
    events = attach(workstation)
    assert [event.state for event in trial_ends(events)] == [State.DONE] * 3
    for number in (1, 2, 3):
        assert_whole(workstation, number, 30)
    record = workstation.load("last")
    assert [trial.trial.number for trial in record.trials] == [1, 2, 3]
    assert record.facts_after.keys() == {"lab"}
    assert record.summary.headline


@pytest.mark.slow
def test_trials_that_had_ended_are_not_run_again(
    workstation: Workstation, lab: LabHost, measuring: Measuring, tmp_path: Path
) -> None:
    killable = measuring(count=20, trials=2)
    killable.kill_at(20)  # the end of the first, or the second: either way the first is told only once
    events = attach(workstation)
    assert [event.trial for event in trial_ends(events)] == [1, 2]
    started = [event.trial.id for event in events if isinstance(event, TrialStarted | TrialAttached)]
    assert sorted(started) == [1, 2]
    assert_whole(workstation, 1, 20)
    assert_whole(workstation, 2, 20)
    with closing(Store(tmp_path / "runs.sqlite3")) as store:
        assert store.detached_runs() == []


@pytest.mark.slow
def test_what_ended_while_nobody_looked_is_read_whole(
    workstation: Workstation, lab: LabHost, measuring: Measuring
) -> None:
    measuring(count=30).kill_at(10)
    assert all(map(ends, jobs_on(lab.home)))
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 30)
    assert_no_leftovers(lab.home)


@pytest.mark.parametrize(("trials", "state"), [(1, State.DONE), pytest.param(2, State.PARTIAL, marks=pytest.mark.slow)])
def test_what_ended_before_the_stop_counts(
    workstation: Workstation, lab: LabHost, measuring: Measuring, trials: int, state: State
) -> None:
    measuring(count=30, trials=trials).kill_at(10)
    assert all(map(ends, jobs_on(lab.home)))
    control = Control()
    control.stop()
    events = attach(workstation, control=control)
    assert end(events).state is state
    assert [(one.trial, one.state) for one in trial_ends(events)] == [(1, State.DONE)]
    assert_whole(workstation, 1, 30)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_the_server_end_of_a_network_test_is_found_again(workstation: Workstation, lab: LabHost) -> None:
    step = make_step("iperf3", {"time": 4, "port": 5397}, peer=LOCAL)
    plan = Plan("network", ("lab",), (step,), repetition=Repetition(trials=1))

    def leave(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead):
            control.detach()

    assert isinstance(run(workstation, plan, leave)[-1], RunDetached)
    assert set(detached_runs(workstation).hosts) == {"lab", LOCAL}
    events = attach(workstation)
    assert [event.state for event in trial_ends(events)] == [State.DONE]
    printed = workstation.output("last", 1)
    assert {"stdout", "peer stdout"} <= printed.keys()
    times = [sample.time for sample in workstation.samples("last")[1]]
    assert times == sorted(times)
    assert_no_leftovers(lab.home)
    assert_no_leftovers(Path.home())


# Left by choice


def leave_at(number: int) -> Callable[[Event, Control], None]:
    def hand(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value == number:
            control.detach()

    return hand


@pytest.mark.slow
def test_a_run_that_is_let_go_of_goes_on(workstation: Workstation, lab: LabHost) -> None:
    events = run(workstation, counting_plan(50, trials=2), leave_at(10))
    assert isinstance(events[-1], RunDetached)
    assert jobs_on(lab.home)
    left = detached_runs(workstation)
    assert left.by_choice
    with pytest.raises(StoreError, match="is detached"):
        workstation.delete(left.id)
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 50)
    assert_whole(workstation, 2, 50)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_run_on_several_volumes_goes_on_in_the_same_order(workstation: Workstation, lab: LabHost) -> None:
    folders = [lab.home / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    given = {"directory": ":".join(map(str, folders)), "numjobs": 3, "rw": "randread", "size": "1 MiB", "runtime": 3.0}
    plan = Plan("volumes", ("lab",), (make_step("fio", given),), repetition=Repetition(trials=2))

    def leave(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead):
            control.detach()

    assert isinstance(run(workstation, plan, leave)[-1], RunDetached)
    (made,) = zip(*(folder.iterdir() for folder in folders), strict=True)
    assert end(attach(workstation)).state is State.DONE
    commands = [record.trial.commands[-1] for record in workstation.load("last").trials]
    assert len(commands) == 2
    assert all(f"--directory={':'.join(map(str, made))}" in command.argv for command in commands)
    assert [file for folder in folders for file in folder.iterdir()] == []


@pytest.mark.slow
def test_it_can_be_let_go_of_again_and_again(workstation: Workstation, lab: LabHost) -> None:
    run(workstation, counting_plan(1000), leave_at(10))
    for number in (60, 120):
        assert isinstance(attach(workstation, leave_at(number))[-1], RunDetached)
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 1000)


def test_a_left_run_can_be_stopped_in_order(workstation: Workstation, lab: LabHost) -> None:
    run(workstation, counting_plan(3000, trials=3), leave_at(10))
    control = Control()
    control.stop()
    events = attach(workstation, control=control)
    assert end(events).state is State.PARTIAL
    assert "Stopped by you" in end(events).reason
    assert workstation.samples("last")[1][-1].value >= 10
    assert_no_leftovers(lab.home)


def test_a_run_is_attached_by_one_alone(workstation: Workstation, lab: LabHost, tmp_path: Path) -> None:
    run(workstation, counting_plan(40), leave_at(10))
    with closing(Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")) as second:
        refused: list[str] = []

        def try_too(event: Event, _control: Control) -> None:
            if isinstance(event, TrialAttached):
                with pytest.raises(StoreError, match="is in progress") as caught:
                    attach(second)
                refused.append(str(caught.value))

        assert end(attach(workstation, try_too)).state is State.DONE
        assert refused
        with pytest.raises(StoreError, match="has ended"):
            attach(second)


@pytest.mark.slow
def test_a_host_that_is_not_reached_leaves_the_run_as_it_is(workstation: Workstation, lab: LabHost) -> None:
    run(workstation, counting_plan(60), leave_at(10))
    lab.stop()
    with pytest.raises(ConnectError, match="refused the connection"):
        attach(workstation)
    assert len(detached_runs(workstation).under_way) == 1
    lab.start()
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 60)


@pytest.mark.slow
def test_a_job_that_is_gone_makes_the_run_partial(workstation: Workstation, lab: LabHost) -> None:
    run(workstation, counting_plan(3000), leave_at(10))
    kill_jobs(lab.home)
    for path in workspaces_on(lab.home):
        subprocess.run(["rm", "-r", path], check=True)
    events = attach(workstation)
    assert end(events).state is State.PARTIAL
    assert MESSAGES["the_command_on_lab_was_gone"] in end(events).reason
    assert workstation.samples("last")[1][-1].value >= 10
    assert workstation.detached_runs() == []


@pytest.mark.slow
def test_a_restarted_host_is_recognised(workstation: Workstation, lab: LabHost, other_boot: list[str]) -> None:
    run(workstation, counting_plan(3000, trials=2), leave_at(10))
    restart_host(lab, other_boot)
    events = attach(workstation)
    assert [event.state for event in trial_ends(events)] == [State.PARTIAL]
    assert "lab restarted at" in end(events).reason
    values = [sample.value for sample in workstation.samples("last")[1]]
    assert values == [float(number) for number in range(1, len(values) + 1)]
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_preparation_that_was_cut_off_is_made_anew(
    workstation: Workstation, lab: LabHost, measuring: Measuring
) -> None:
    measuring(count=20, prepare=2).kill_at(0)
    left = detached_runs(workstation)
    assert (left.under_way, len(left.workspaces)) == ((), 1)
    events = attach(workstation)
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, 20)
    assert_no_leftovers(lab.home)


def test_a_run_that_is_let_go_of_while_it_prepares_leaves_nothing(workstation: Workstation, lab: LabHost) -> None:
    def leave(event: Event, control: Control) -> None:
        if isinstance(event, JobBegan):
            control.detach()

    assert isinstance(run(workstation, counting_plan(20, prepare=60), leave)[-1], RunDetached)
    assert jobs_on(lab.home) == []
    assert workspaces_on(lab.home) == []
    assert detached_runs(workstation).by_choice
    workstation.forget("last")


# Given up


@pytest.mark.slow
def test_a_run_that_is_forgotten_leaves_what_can_be_removed(
    workstation: Workstation, lab: LabHost, measuring: Measuring
) -> None:
    measuring(count=3000).kill_at(10)
    others = lab.home / "benchwright-0123456789abcdef"
    others.mkdir()
    (others / ".benchwright").write_text("0123456789abcdef\n")
    forged = lab.home / "benchwright-fedcba9876543210"
    forged.symlink_to(lab.home)

    (under_way, other) = sorted(
        leftovers_in(lab.home, workstation.leftovers("lab", RefusingAsker())), key=lambda left: left.owner, reverse=True
    )
    assert (under_way.owner, other.owner) == (LeftoverOwner.ACTIVE_RUN, LeftoverOwner.OTHERS)
    nonces = [under_way.nonce, other.nonce, "fedcba9876543210"]
    assert len(leftovers_in(lab.home, workstation.remove_leftovers("lab", RefusingAsker(), nonces))) == 2

    run_id = workstation.forget("last")
    assert workstation.load(run_id).summary.state is State.PARTIAL
    assert workstation.load(run_id).trials[0].state is State.PARTIAL
    rest = leftovers_in(lab.home, workstation.remove_leftovers("lab", RefusingAsker(), nonces))
    assert [left.owner for left in rest] == [LeftoverOwner.OTHERS]
    assert others.exists()
    assert forged.is_symlink()
    assert jobs_on(lab.home) == []


def test_a_run_of_which_nothing_is_on_a_host_is_partial_at_once(tmp_path: Path, lab: LabHost) -> None:
    path = tmp_path / "runs.sqlite3"
    words = [sys.executable, "-m", "tests.app.recording_process", str(path), "20261120-141530-k3f9", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    with closing(Workstation(path, tmp_path / "hosts.toml")) as workstation:
        assert workstation.detached_runs() == []
        assert workstation.load("last").summary.state is State.PARTIAL


@pytest.mark.slow
def test_a_command_that_nobody_was_told_of_is_found_by_what_was_planned(
    workstation: Workstation, lab: LabHost, tmp_path: Path
) -> None:
    """Benchwright may die between the start of a command and its note in the library."""
    began: list[JobBegan] = []

    def hand(event: Event, control: Control) -> None:
        if isinstance(event, JobBegan):
            began.append(event)
        if isinstance(event, SampleRead) and event.sample.value == 5:
            control.detach()

    run(workstation, counting_plan(40), hand)
    with closing(Store(tmp_path / "runs.sqlite3")) as store, store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE jobs SET pid = NULL")
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 40)
    assert ends(began[0].began.pid)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 60])
def test_a_command_whose_trial_was_never_told_is_adopted(
    workstation: Workstation, lab: LabHost, tmp_path: Path, count: int
) -> None:
    """It still runs when the run is attached, or has ended by then."""
    began: list[JobBegan] = []

    def hand(event: Event, control: Control) -> None:
        if isinstance(event, JobBegan):
            began.append(event)
        if isinstance(event, OutputRead):
            control.detach()

    run(workstation, counting_plan(count), hand)
    with closing(Store(tmp_path / "runs.sqlite3")) as store, store.database.writing() as connection:
        for table in ("trials", "output", "series"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    if count == 5:
        assert ends(began[0].began.pid)
    events = attach(workstation)
    assert end(events).state is State.DONE
    assert not any(isinstance(event, JobBegan) for event in events)
    record = assert_whole(workstation, 1, count)
    assert record.trials[0].trial.clock == began[0].began.clock
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_lost_connection_and_a_death_are_both_survived(
    workstation: Workstation, lab: LabHost, measuring: Measuring
) -> None:
    measuring(count=300).kill_at(10)
    events = attach(workstation, at_count(200, lab.cut))
    assert isinstance(events[-1], RunEnded)
    assert_whole(workstation, 1, 300)
