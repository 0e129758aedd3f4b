"""Output that is emptied on the host in mid-run: the trial does not count, and the run says so."""

import os
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
from tests.lab.survival import assert_nothing_left, at_count, end, jobs_on, run, trial_ends, workspaces_on
from tests.lab_sshd import LabHost


def out_of(home: Path) -> Path:
    (workspace,) = workspaces_on(home)
    return max(workspace.glob(".job-*/out"), key=lambda path: path.stat().st_mtime)


def test_output_that_is_emptied_in_mid_run_fails_its_trial(workstation: Workstation, lab: LabHost) -> None:
    def empty() -> None:
        for pid in jobs_on(lab.home):  # it prints nothing until the reader has seen the empty file
            os.kill(pid, signal.SIGSTOP)
        out_of(lab.home).write_bytes(b"")
        time.sleep(0.5)
        for pid in jobs_on(lab.home):
            os.kill(pid, signal.SIGCONT)

    events = run(workstation, counting_plan(60), at_count(10, empty))
    (ended,) = trial_ends(events)
    assert ended.state is State.FAILED
    assert ended.reason.startswith("Output of sh was truncated on lab: ")
    assert "samples arrived; its figures do not count" in ended.reason
    assert end(events).state is State.FAILED
    assert "truncated on lab" in end(events).reason
    assert workstation.samples("last")[1][-1].value >= 10
    assert_nothing_left(lab.home)


def test_output_that_is_emptied_while_the_host_is_away_fails_its_trial(workstation: Workstation, lab: LabHost) -> None:
    def empty() -> None:
        lab.stop()
        time.sleep(0.3)  # of which nobody reads what is printed
        out_of(lab.home).write_bytes(b"")
        lab.start()

    events = run(workstation, counting_plan(60), at_count(10, empty))
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


def test_output_of_a_server_end_that_is_emptied_is_a_note(
    workstation: Workstation, lab: LabHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Serving()))
    plan = Plan(
        "serving", ("local",), (make_step("serving", {"count": 60}, peer="lab"),), repetition=Repetition(trials=1)
    )
    (ended,) = trial_ends(run(workstation, plan))
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert [note for note in ended.parsed.notes if "server end of serving was truncated on lab" in note]
    assert workstation.load("last").trials[0].notes == ended.parsed.notes
    assert_nothing_left(lab.home)


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
    assert "Output of fio was truncated on lab" in ended.reason
