"""Output that is emptied on the host in mid-run: the trial does not count, and the run says so."""

import signal
import time
from pathlib import Path

import pytest

from app.events import Event, SampleRead, State
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from suites import registry
from suites.base import Command, Context, Purpose
from suites.parameters import Values
from tests.lab.counting import Counting, counting_plan
from tests.lab.survival import assert_no_leftovers, at_count, end, run, signal_jobs, trial_ends, workspaces_on
from tests.lab_sshd import LabHost
from tests.messages import messages

MESSAGES = messages("lab", "test_output_lost")


def out_of(home: Path) -> Path:
    (workspace,) = workspaces_on(home)
    return max(workspace.glob(".job-*/out"), key=lambda path: path.stat().st_mtime)


@pytest.mark.slow
def test_output_that_is_emptied_in_mid_run_fails_its_trial(workstation: Workstation, lab: LabHost) -> None:
    def empty() -> None:
        signal_jobs(lab.home, signal.SIGSTOP)  # it prints nothing until the reader has seen the empty file
        out_of(lab.home).write_bytes(b"")
        time.sleep(2.0)
        signal_jobs(lab.home, signal.SIGCONT)

    events = run(workstation, counting_plan(600), at_count(10, empty))
    (ended,) = trial_ends(events)
    assert ended.state is State.FAILED
    assert ended.reason.startswith(MESSAGES["output_of_sh_was_truncated"])
    assert MESSAGES["samples_arrived_its_figures"] in ended.reason
    assert end(events).state is State.FAILED
    assert "truncated on lab" in end(events).reason
    assert workstation.samples("last")[1][-1].value >= 10
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_output_that_is_emptied_while_the_host_is_away_fails_its_trial(workstation: Workstation, lab: LabHost) -> None:
    def empty() -> None:
        lab.stop()
        time.sleep(0.3)  # of which nobody reads what is printed
        out_of(lab.home).write_bytes(b"")
        lab.start()

    events = run(workstation, counting_plan(600), at_count(10, empty))
    (ended,) = trial_ends(events)
    assert ended.state is State.FAILED
    assert "truncated on lab" in ended.reason


class Serving(Counting):
    """Counts, beside a server end whose last lines are lost before anybody reads it."""

    id = "serving"
    needs_peer = True

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        lose = "for i in 1 2 3 4 5 6 7 8 9; do echo lost; : >/proc/$$/fd/1; done"  # nobody reads as fast each time
        server = ("sh", "-c", f"echo listening; sleep 0.6; {lose}; exit 0")
        return (Command(server, Purpose.SERVE, on_peer=True), *super().commands(values, context))


@pytest.mark.slow
def test_output_of_a_server_end_that_is_emptied_is_a_note(
    workstation: Workstation, lab: LabHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Serving()))
    plan = Plan(
        "serving", ("local",), (make_step("serving", {"count": 60}, peer="lab"),), repetition=Repetition(trials=1)
    )
    (ended,) = trial_ends(run(workstation, plan))
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert [note for note in ended.parsed.notes if MESSAGES["server_end_of_serving_was"] in note]
    assert workstation.load("last").trials[0].notes == ended.parsed.notes
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_trial_of_fio_whose_output_is_emptied_does_not_count(workstation: Workstation, lab: LabHost) -> None:
    values = {"runtime": 4, "size": 2**22, "directory": str(lab.home)}
    plan = Plan("lost", ("lab",), (make_step("fio", values),), repetition=Repetition(trials=1))
    emptied: list[bool] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and not emptied:
            emptied.append(True)
            out_of(lab.home).write_bytes(b"")

    events = run(workstation, plan, hand)
    assert emptied
    (ended,) = trial_ends(events)
    assert ended.state is State.FAILED
    assert MESSAGES["output_of_fio_was_truncated"] in ended.reason
