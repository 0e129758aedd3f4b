"""A Benchwright that is killed in the middle of a run leaves a host that can be put back, by anybody who may."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import FindingRaised, RunEnded, State
from app.hosts.leftovers import NO_NOTE, LeftoverOwner
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from app.plans.tuning import Tuning
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages
from tests.program import BENCHWRIGHT, DONE, benchwright, environment
from tests.sudo_host import NOBODY, WITHOUT_PASSWORD, StartSudoHost, start_sudo_host

MESSAGES = messages("lab", "test_tune_crash")

__all__ = ["start_sudo_host"]

PLAN = Plan(
    "tuned",
    ("web-1",),
    (make_step("sysbench-cpu", {"time": 6}),),
    repetition=Repetition(trials=1),
    tuning=Tuning(governor="performance"),
)
QUIET = replace(PLAN, tuning=Tuning(), steps=(make_step("sysbench-cpu", {"time": 1}),))


@pytest.fixture
def governor(tmp_path: Path) -> Path:
    """Return the file of the one CPU policy that the host has."""
    made = tmp_path / "cpu" / "cpufreq" / "policy0" / "scaling_governor"
    made.parent.mkdir(parents=True)
    made.write_text("powersave\n")
    return made


@pytest.fixture
def start_host(start_sudo_host: StartSudoHost, governor: Path) -> Callable[[str], LabHost]:
    def start(sudoers: str = WITHOUT_PASSWORD) -> LabHost:
        host = start_sudo_host(sudoers, {governor.parents[2]: "/sys/devices/system/cpu"})
        host.add_to_home("web-1")
        return host

    return start


@pytest.fixture
def workstation(few_programs: None) -> Iterator[Workstation]:
    """The user's own: the one that the program uses, too."""
    made = Workstation()
    yield made
    made.close()


def crash_while_tuned(tmp_path: Path, governor: Path) -> None:
    """Run the plan with the real program, and kill it once it measures."""
    write_plan(PLAN, tmp_path / "plan.toml")
    words = [*BENCHWRIGHT, "run", str(tmp_path / "plan.toml"), "--yes"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(b"measuring"):
                break
        process.send_signal(signal.SIGKILL)
    assert governor.read_text() == "performance\n"


def found_by(workstation: Workstation, plan: Plan, run: Control | None = None) -> tuple[set[str], RunEnded]:
    control = run or Control()
    events = list(workstation.run(plan, AnsweringAsker(), control))
    assert isinstance(events[-1], RunEnded)
    return {event.finding.id for event in events if isinstance(event, FindingRaised)}, events[-1]


def give_up(workstation: Workstation) -> None:
    """Give up what is detached, and end what still runs of it: the host is free, and still changed."""
    for left in workstation.detached_runs():
        workstation.forget(left.id)
    found = workstation.leftovers("web-1", AnsweringAsker())
    workstation.remove_leftovers("web-1", AnsweringAsker(), [each.nonce for each in found])


def test_a_crash_is_put_back_by_the_command_line(
    start_host: Callable[[str], LabHost], tmp_path: Path, governor: Path
) -> None:
    start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    declined = benchwright("hosts", "restore", "web-1", stdin=b"n\n")
    assert MESSAGES["cpu_governor_of_cpu_0"] in declined.err
    assert governor.read_text() == "performance\n"
    ran = benchwright("hosts", "restore", "web-1", "--yes")
    assert (ran.status, ran.out) == (DONE, MESSAGES["cpu_governor_of_cpu_0_put"])
    assert governor.read_text() == "powersave\n"
    assert benchwright("hosts", "restore", "web-1").out == MESSAGES["nothing_on_web_1_is_noted"]
    (action,) = benchwright("hosts", "log", "web-1", "--json").json
    assert (action["what"], action["exit_status"]) == ("restore settings", 0)
    (change,) = benchwright("show", "last", "--json").json["changes"]
    assert change["put_back"]
    assert change["problem"] == ""


@pytest.mark.slow
def test_whoever_goes_on_with_the_run_puts_back_in_the_end(
    start_host: Callable[[str], LabHost], workstation: Workstation, tmp_path: Path, governor: Path
) -> None:
    start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    assert [change.change.during for change in workstation.pending_changes("web-1")] == ["performance"]
    control = Control()
    control.stop()
    (left,) = workstation.detached_runs()
    list(workstation.attach(left.id, AnsweringAsker(), control))
    assert governor.read_text() == "powersave\n"
    assert workstation.pending_changes() == []


@pytest.mark.slow
def test_the_next_run_says_that_the_host_is_changed_or_puts_it_back_where_it_is_root(
    start_host: Callable[[str], LabHost], workstation: Workstation, tmp_path: Path, governor: Path
) -> None:
    start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    ids, ended = found_by(workstation, QUIET, Control(busy=BusyPolicy.ANYWAY))
    assert (ended.state, "host-changed" in ids) == (State.DONE, True)
    assert governor.read_text() == "performance\n"
    give_up(workstation)
    ids, ended = found_by(workstation, replace(QUIET, tuning=Tuning(drop_caches=True)))
    assert (ended.state, "host-changed" in ids) == (State.DONE, False)
    assert governor.read_text() == "powersave\n"
    assert workstation.pending_changes() == []


@pytest.mark.slow
def test_the_next_run_of_the_account_root_puts_back_though_it_needs_no_root(
    start_host: Callable[[str], LabHost], workstation: Workstation, tmp_path: Path, governor: Path
) -> None:
    host = start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    give_up(workstation)
    host.user = "root"
    host.add_to_home("web-2")
    ids, ended = found_by(workstation, replace(QUIET, hosts=("web-2",)))
    assert (ended.state, "host-changed" in ids) == (State.DONE, False)
    assert governor.read_text() == "powersave\n"


@pytest.mark.slow
def test_a_setting_that_is_still_changed_is_a_leftover(
    start_host: Callable[[str], LabHost], workstation: Workstation, tmp_path: Path, governor: Path
) -> None:
    start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    (left,) = (each for each in workstation.leftovers("web-1", AnsweringAsker()) if each.setting)
    assert left.owner is LeftoverOwner.ACTIVE_RUN
    give_up(workstation)
    ran = benchwright("hosts", "leftovers", "web-1", "--remove")
    assert ran.status == DONE
    assert MESSAGES["cpu_0_is_still_changed"] in ran.out
    assert "benchwright hosts restore web-1" in ran.out
    (reported,) = (each for each in benchwright("hosts", "leftovers", "web-1", "--json").json if each["setting"])
    assert (reported["whose"], reported["path"]) == ("changed setting", left.path)
    assert benchwright("hosts", "restore", "web-1", "--yes").status == DONE
    assert not [each for each in benchwright("hosts", "leftovers", "web-1", "--json").json if each["setting"]]


@pytest.mark.slow
def test_a_host_that_restarted_has_nothing_to_put_back(
    start_host: Callable[[str], LabHost], workstation: Workstation, tmp_path: Path, governor: Path
) -> None:
    host = start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    run = workstation.pending_changes("web-1")[0].run_id
    # Its /run is emptied, and its settings are the kernel's own again.
    host.stop()
    governor.write_text("powersave\n")
    fresh = start_host(WITHOUT_PASSWORD)
    (Path.home() / ".ssh" / "config").write_text(fresh.config("web-1"))
    (Path.home() / ".ssh" / "known_hosts").write_text(fresh.known_hosts_line)
    assert workstation.restore("web-1", AnsweringAsker()) == ()
    (change,) = workstation.load(run).changes
    assert change.problem == NO_NOTE
    assert not change.pending


@pytest.mark.slow
def test_without_root_nothing_is_restored_and_it_stays_pending(
    start_host: Callable[[str], LabHost], workstation: Workstation, tmp_path: Path, governor: Path
) -> None:
    host = start_host(WITHOUT_PASSWORD)
    crash_while_tuned(tmp_path, governor)
    (host.directory.parent / "sudoers").write_text(NOBODY)
    ran = benchwright("hosts", "restore", "web-1", "--yes")
    assert ran.status != DONE
    assert MESSAGES["no_password_for_sudo_was"] in ran.err
    assert governor.read_text() == "performance\n"
    assert len(workstation.pending_changes("web-1")) == 1


def test_nothing_to_put_back_on_this_computer() -> None:
    if list(Path("/run").glob("benchwright-changes/*")):
        pytest.skip("something is noted down on this computer")
    assert benchwright("hosts", "restore", LOCAL).out == MESSAGES["nothing_on_local_is_noted"]
