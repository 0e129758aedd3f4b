"""A run changes a host only as its plan asks, says so, and leaves it as it was, however it ends."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.events import Event, FindingRaised, RunEnded, State, TrialStarted
from app.hosts.leftovers import NO_NOTE
from app.plans.plan import Plan, Repetition, make_step
from app.plans.tuning import Tuning
from app.runs.control import Control
from app.services import Workstation
from app.summary import run_to_json
from remote.privilege import as_root
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages
from tests.sudo_host import (
    NOBODY,
    PASSWORD,
    WITH_PASSWORD,
    WITHOUT_PASSWORD,
    StartSudoHost,
    files_with,
    start_sudo_host,
    words_of_processes,
)

MESSAGES = messages("lab", "test_tune_runs")

__all__ = ["start_sudo_host"]

STEP = make_step("sysbench-cpu", {"events": 100})
TUNED = Plan(
    "tuned",
    ("web-1",),
    (STEP,),
    repetition=Repetition(trials=2),
    tuning=Tuning(drop_caches=True, governor="performance"),
)


@dataclass(frozen=True, slots=True)
class Machine:
    """A host with sudo and two CPU policies of its own."""

    host: LabHost
    policies: tuple[Path, ...]

    @property
    def governors(self) -> list[str]:
        return [path.read_text().strip() for path in self.policies]


@pytest.fixture
def start_machine(start_sudo_host: StartSudoHost, tmp_path: Path) -> Callable[[str], Machine]:
    def start(sudoers: str) -> Machine:
        policies = []
        for number, governor in enumerate(("powersave", "schedutil")):
            policy = tmp_path / "cpu" / "cpufreq" / f"policy{number}" / "scaling_governor"
            policy.parent.mkdir(parents=True)
            policy.write_text(f"{governor}\n")
            policies.append(policy)
        host = start_sudo_host(sudoers, {tmp_path / "cpu": "/sys/devices/system/cpu"})
        host.add_to_home("web-1")
        return Machine(host, tuple(policies))

    return start


@pytest.fixture
def workstation(tmp_path: Path, few_programs: None) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


def run(
    workstation: Workstation,
    plan: Plan,
    asker: AnsweringAsker | None = None,
    seen: Callable[[Event, Control], None] = lambda _event, _control: None,
) -> list[Event]:
    """Run `plan` to its end, showing every event to `seen` as it happens."""
    control = Control()
    events = []
    for event in workstation.run(plan, asker or AnsweringAsker(), control):
        events.append(event)
        seen(event, control)
    return events


def ended(events: list[Event]) -> RunEnded:
    assert isinstance(events[-1], RunEnded)
    return events[-1]


def findings(events: list[Event]) -> set[str]:
    return {event.finding.id for event in events if isinstance(event, FindingRaised)}


def test_what_was_changed_is_recorded_and_put_back(
    start_machine: Callable[[str], Machine], workstation: Workstation
) -> None:
    machine = start_machine(WITHOUT_PASSWORD)
    during: list[list[str]] = []

    def look(event: Event, _control: Control) -> None:
        if isinstance(event, TrialStarted):
            during.append(machine.governors)

    events = run(workstation, TUNED, seen=look)
    assert ended(events).state is State.DONE, ended(events).reason
    assert during == [["performance", "performance"]] * 2
    assert machine.governors == ["powersave", "schedutil"]
    changes = run_to_json(workstation.load("last"))["changes"]
    reported = [(change["what"], change["before"], change["during"], change["trial"]) for change in changes]
    assert reported == [
        ("CPU governor of CPU 0", "powersave", "performance", None),
        ("CPU governor of CPU 1", "schedutil", "performance", None),
        ("page cache dropped", None, "3", 1),
        ("page cache dropped", None, "3", 2),
    ]
    assert all(change["put_back"] for change in changes[:2])
    (shown_text,) = [finding.measured for finding in workstation.load("last").findings if finding.id == "host-tuned"]
    assert shown_text == (MESSAGES["cpu_governor_of_cpu_0"])
    assert workstation.pending_changes() == []


@pytest.mark.parametrize("how", ["stopped", pytest.param("failed", marks=pytest.mark.slow)])
def test_it_is_put_back_however_the_run_ends(
    start_machine: Callable[[str], Machine], workstation: Workstation, how: str
) -> None:
    machine = start_machine(WITHOUT_PASSWORD)

    def stop(event: Event, control: Control) -> None:
        if isinstance(event, TrialStarted) and how == "stopped":
            control.stop()

    step = make_step("sysbench-cpu", {"time": 30}) if how == "stopped" else make_step("fio", {"directory": "/nowhere"})
    events = run(workstation, replace(TUNED, steps=(step,)), seen=stop)
    assert ended(events).state is (State.PARTIAL if how == "stopped" else State.FAILED)
    assert machine.governors == ["powersave", "schedutil"]
    assert workstation.pending_changes() == []


@pytest.mark.slow
def test_a_run_that_its_reader_leaves_puts_back_all_the_same(
    start_machine: Callable[[str], Machine], workstation: Workstation
) -> None:
    machine = start_machine(WITHOUT_PASSWORD)
    events = workstation.run(TUNED, AnsweringAsker(), Control())
    for event in events:
        if isinstance(event, TrialStarted):
            assert machine.governors == ["performance", "performance"]
            break
    events.close()
    assert machine.governors == ["powersave", "schedutil"]
    assert workstation.pending_changes() == []


@pytest.mark.slow
def test_a_note_that_is_gone_leaves_nothing_to_put_back(
    start_machine: Callable[[str], Machine], workstation: Workstation
) -> None:
    """As after a restart of the host, which resets the settings, too."""
    machine = start_machine(WITHOUT_PASSWORD)

    def forget(event: Event, _control: Control) -> None:
        if isinstance(event, TrialStarted):
            session = machine.host.connect()
            as_root(session, AnsweringAsker(), "forget").run(["rm", "-rf", "/run/benchwright-changes"])
            session.close()

    assert ended(run(workstation, TUNED, seen=forget)).state is State.DONE
    assert {change.problem for change in workstation.load("last").changes if change.change.before} == {NO_NOTE}
    assert workstation.pending_changes() == []


def test_without_root_nothing_is_measured_and_it_says_what_cannot_be_done(
    start_machine: Callable[[str], Machine], workstation: Workstation
) -> None:
    machine = start_machine(NOBODY)
    asker = AnsweringAsker(secrets=[PASSWORD])
    events = run(workstation, TUNED, asker)
    assert ended(events).state is State.FAILED
    assert "not in the sudoers file" in ended(events).reason
    assert not any(isinstance(event, TrialStarted) for event in events)
    assert MESSAGES["drop_the_page_cache_before"] in asker.secret_questions[0].purpose
    assert machine.governors == ["powersave", "schedutil"]


@pytest.mark.slow
def test_without_root_the_run_goes_on_only_where_the_plan_says_so(
    start_machine: Callable[[str], Machine], workstation: Workstation
) -> None:
    machine = start_machine(WITH_PASSWORD)
    plan = replace(TUNED, tuning=replace(TUNED.tuning, optional=True))
    events = run(workstation, plan, AnsweringAsker())  # the password is not given
    assert ended(events).state is State.DONE, ended(events).reason
    assert "not-tuned" in findings(events)
    assert machine.governors == ["powersave", "schedutil"]
    assert workstation.load("last").changes == ()


def test_what_the_host_does_not_have_stops_the_run_before_anything_is_measured(
    start_machine: Callable[[str], Machine], workstation: Workstation
) -> None:
    machine = start_machine(WITHOUT_PASSWORD)
    tuning = Tuning(governor="performance", device="/dev/no-such-device", scheduler="none")
    events = run(workstation, replace(TUNED, tuning=tuning))
    assert ended(events).state is State.FAILED
    assert MESSAGES["the_i_o_scheduler_of_dev_no"] in ended(events).reason
    assert not any(isinstance(event, TrialStarted) for event in events)
    assert machine.governors == ["powersave", "schedutil"]  # what could be set is back


@pytest.mark.slow
def test_the_password_is_found_nowhere(
    start_machine: Callable[[str], Machine], workstation: Workstation, tmp_path: Path
) -> None:
    """The canary: it is not in the library, the log, an export, or any process that root sees."""
    machine = start_machine(WITH_PASSWORD)
    shown: list[bytes] = []
    stop_looking = threading.Event()

    def look() -> None:
        while not stop_looking.wait(0.02):
            shown.extend(words_of_processes())

    looking = threading.Thread(target=look)
    looking.start()
    asker = AnsweringAsker(secrets=[PASSWORD])
    events = run(workstation, TUNED, asker)
    stop_looking.set()
    looking.join()
    assert ended(events).state is State.DONE, ended(events).reason
    assert len(asker.secret_questions) == 1
    (tmp_path / "out").mkdir()
    workstation.export_csv(["last"], tmp_path / "out" / "run.csv")
    (tmp_path / "out" / "run.json").write_text(json.dumps(run_to_json(workstation.load("last"))))
    workstation.close()
    assert any(b"sudo" in words for words in shown)  # or the look would prove nothing
    assert not any(PASSWORD.encode() in words for words in shown)
    assert files_with(PASSWORD, [tmp_path, Path.home(), machine.host.directory.parent]) == []
