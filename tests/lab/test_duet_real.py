"""Two steps at the same moment on a real host: started together, swapped, and of no use without each other."""

import contextlib
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.comparison.comparison import Comparison
from app.comparison.crossover import LEAST_OVERLAP, overlap
from app.events import Event, FindingRaised, JobBegan, RunDetached, SampleRead, State, TrialEnded, TrialStarted
from app.plans.plan import Order, Plan, Policy, Repetition, Step, make_step
from app.records import TrialRecord
from app.runs.control import Control
from app.services import Workstation
from app.store.store import Store
from suites.base import Purpose
from tests.lab.survival import (
    assert_no_leftovers,
    assert_whole,
    at_count,
    attach,
    end,
    jobs_on,
    run,
    trial_ends,
)
from tests.lab_sshd import LabHost
from tests.messages import messages

MESSAGES = messages("lab", "test_duet_real")

pytestmark = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a duet needs two CPUs")


def counting(name: str, count: int = 60, *, prepare: int = 0) -> Step:
    return make_step("counting", {"count": count, "prepare": prepare}, name=name)


def duet(*steps: Step, trials: int = 1, **more: object) -> Plan:
    repetition = Repetition(trials=trials, **more)  # type: ignore[arg-type]
    return Plan("duet", ("lab",), steps, repetition=repetition, order=Order.DUET)


def pairs(records: Sequence[TrialRecord]) -> list[tuple[TrialRecord, TrialRecord]]:
    """Return the trials of each duet, that of the first step first."""
    firsts = [one for one in records if one.trial.step == "a"]
    return [
        (one, next(two for two in records if two.trial.step == "b" and _moment(two) == _moment(one))) for one in firsts
    ]


def _moment(record: TrialRecord) -> tuple[int, bool]:
    return record.trial.number, record.trial.warm_up


def pinned_to(record: TrialRecord) -> str:
    (measure,) = [command for command in record.trial.commands if command.purpose is Purpose.MEASURE]
    assert measure.argv[:2] == ("taskset", "-c")
    return measure.argv[2]


@pytest.mark.slow
def test_both_sides_run_at_once_and_swap_halves(
    workstation: Workstation, lab: LabHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = duet(counting("a", 100), counting("b", 100), trials=2, warm_ups=1)
    affinities: list[str] = []

    def look(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value == 50:
            affinities.extend(_affinities(lab.home))

    events = run(workstation, plan, look)
    record = workstation.load("last")
    assert end(events).state is State.DONE
    assert [one.state for one in record.trials] == [State.DONE] * 6
    assert set(affinities) >= {"0", "1"}
    halves = [(one.trial.warm_up, pinned_to(one), pinned_to(two)) for one, two in pairs(record.trials)]
    assert halves == [(True, "0", "1"), (False, "0", "1"), (False, "1", "0")]
    for one, two in pairs(record.trials):
        share = overlap(one, two)
        assert share is not None
        assert share >= LEAST_OVERLAP
    starts = [isinstance(event, TrialStarted) for event in events if isinstance(event, TrialStarted | TrialEnded)]
    assert starts == [True, True, False, False] * 3
    assert workstation.duet_sides("last") == tuple(f"{record.summary.id}:{name}" for name in "ab")
    words = ["--store", str(tmp_path / "runs.sqlite3"), "compare", "last", "--json"]
    compared = json.loads(CliRunner().invoke(benchwright, words).stdout)
    (figure,) = compared["metrics"] if isinstance(compared, dict) else compared
    assert (figure["ratio"], figure["paired"], figure["counts"]) == (1.0, "duets", [2, 2])
    reports: list[Comparison | None] = []
    monkeypatch.setattr(
        "app.report_image.report.write_report", lambda *_given, comparison, **_more: reports.append(comparison)
    )
    workstation.export_image(["last"], tmp_path / "duet.png")
    assert [one and one.rows[0].against[0].pairs for one in reports] == ["duets"]
    assert_no_leftovers(lab.home)


def _affinities(home: Path) -> list[str]:
    """Return the CPUs that each process which counts may use."""
    found = []
    for pid in jobs_on(home):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "perl":
                found.append(",".join(map(str, sorted(os.sched_getaffinity(pid)))))
    return found


@pytest.mark.slow
def test_a_side_waits_until_the_other_is_prepared(workstation: Workstation, lab: LabHost) -> None:
    run(workstation, duet(counting("a"), counting("b", prepare=2)))
    ((one, two),) = pairs(workstation.load("last").trials)
    assert one.trial.clock is not None
    assert two.trial.clock is not None
    assert abs(one.trial.clock - two.trial.clock) < 1.0
    share = overlap(one, two)
    assert share is not None
    assert share > 0.5


@pytest.mark.slow
def test_a_side_is_not_measured_if_the_other_cannot_start(workstation: Workstation, lab: LabHost) -> None:
    broken = make_step("command", {"command": "true", "prepare": "false"}, name="b")
    events = run(workstation, duet(counting("a"), broken, trials=3))
    one, two = (next(end for end in trial_ends(events) if end.trial == number) for number in (1, 2))
    assert (one.state, two.state) == (State.FAILED, State.FAILED)
    assert MESSAGES["not_measured"] in one.reason
    assert not [event for event in events if isinstance(event, SampleRead)]
    assert len(trial_ends(events)) == 2
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_the_other_side_is_ended_when_one_fails(workstation: Workstation, lab: LabHost) -> None:
    killed: list[int] = []

    def kill_one(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and event.trial == 2 and event.sample.value == 20 and not killed:
            killed.append(_kill_on(lab.home, cpu=1))

    events = run(workstation, duet(counting("a", 3000), counting("b", 3000), trials=2), kill_one)
    ends = {one.trial: one for one in trial_ends(events)}
    assert ends[2].state is State.FAILED
    assert MESSAGES["failed_step"] in ends[2].reason
    assert ends[1].state is State.PARTIAL
    assert MESSAGES["no_result"] in ends[1].reason
    assert len(ends) == 2
    assert end(events).state is not State.DONE
    assert_no_leftovers(lab.home)


def _kill_on(home: Path, cpu: int) -> int:
    """Kill the process that counts on `cpu`; return its PID."""
    for pid in jobs_on(home):
        if Path(f"/proc/{pid}/comm").read_text().strip() == "perl" and os.sched_getaffinity(pid) == {cpu}:
            os.kill(pid, signal.SIGKILL)
            return pid
    pytest.fail(f"nothing counts on CPU {cpu}")


@pytest.mark.slow
def test_a_side_that_ended_first_is_of_no_use_if_the_other_fails(workstation: Workstation, lab: LabHost) -> None:
    def kill_the_longer(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and event.trial == 2 and event.sample.value == 200:
            _kill_on(lab.home, cpu=1)

    events = run(workstation, duet(counting("a", 20), counting("b", 3000)), kill_the_longer)
    ends = {one.trial: one for one in trial_ends(events)}
    assert ends[1].state is State.PARTIAL
    assert MESSAGES["half"] in ends[1].reason
    assert ends[1].parsed.figures
    assert not workstation.duet_sides("last")


@pytest.mark.slow
def test_stop_ends_both_sides(workstation: Workstation, lab: LabHost) -> None:
    plan, control = duet(counting("a", 5000), counting("b", 5000), trials=2), Control()
    events = run(workstation, plan, at_count(20, control.stop), control)
    assert [(one.state, one.stopped) for one in trial_ends(events)] == [(State.PARTIAL, True)] * 2
    assert end(events).state is State.PARTIAL
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_detached_duet_goes_on_and_is_attached(workstation: Workstation, lab: LabHost) -> None:
    plan, control = duet(counting("a", 150), counting("b", 200), trials=2), Control()
    events = run(workstation, plan, at_count(30, control.detach), control)
    assert isinstance(events[-1], RunDetached)
    assert len(jobs_on(lab.home)) >= 2
    events = attach(workstation)
    assert end(events).state is State.DONE
    record = workstation.load("last")
    for one in record.trials:
        assert_whole(workstation, one.trial.id, 150 if one.trial.step == "a" else 200)
    assert [pinned_to(one) for one in record.trials] == ["0", "1", "1", "0"]
    assert_no_leftovers(lab.home)


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["trial = 2", "trial IN (1, 2)"])
def test_the_sides_of_a_duet_whose_trials_are_not_stored_are_adopted(
    workstation: Workstation, lab: LabHost, tmp_path: Path, lost: str
) -> None:
    """As if Benchwright had been killed before it stored the start of one trial, or of both."""
    plan, control = duet(counting("a", 150), counting("b", 200), trials=2), Control()
    run(workstation, plan, at_count(30, control.detach), control)
    with contextlib.closing(Store(tmp_path / "runs.sqlite3")) as store, store.database.writing() as connection:
        connection.exec_driver_sql(f"DELETE FROM trials WHERE {lost.replace('trial', 'id')}")
        for table in ("output", "series"):
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE {lost}")
    events = attach(workstation)
    assert end(events).state is State.DONE
    assert sum(isinstance(event, JobBegan) for event in events) == 2  # the second duet
    record = workstation.load("last")
    for one in record.trials:
        assert_whole(workstation, one.trial.id, 150 if one.trial.step == "a" else 200)
    assert [pinned_to(one) for one in record.trials] == ["0", "1", "1", "0"]
    assert [one.trial.number for one in record.trials] == [1, 1, 2, 2]
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_side_that_fails_while_detached_makes_the_pair_useless(workstation: Workstation, lab: LabHost) -> None:
    plan, control = duet(counting("a", 3000), counting("b", 3000), trials=2), Control()
    run(workstation, plan, at_count(30, control.detach), control)
    _kill_on(lab.home, cpu=1)
    ends = {one.trial: one for one in trial_ends(attach(workstation))}
    assert (ends[1].state, ends[2].state) == (State.PARTIAL, State.FAILED)
    assert MESSAGES["no_result"] in ends[1].reason
    assert len(workstation.load("last").trials) == 2
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_lost_connection_ends_neither_side(workstation: Workstation, lab: LabHost) -> None:
    def drop() -> None:
        lab.stop()
        lab.start()

    events = run(workstation, duet(counting("a", 250), counting("b", 250)), at_count(30, drop))
    assert end(events).state is State.DONE
    for number in (1, 2):
        assert_whole(workstation, number, 250)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_budget_is_that_of_the_pairs(workstation: Workstation, lab: LabHost) -> None:
    plan = duet(counting("a", 20), counting("b", 20))
    plan = replace(plan, repetition=Repetition(policy=Policy.BUDGET, budget=4.0))
    run(workstation, plan)
    record = workstation.load("last")
    counts = [len(record.trials_of(name)) for name in "ab"]
    assert counts[0] == counts[1] >= 2


@pytest.mark.slow
def test_the_partner_is_no_other_process(workstation: Workstation, lab: LabHost) -> None:
    steps = [
        make_step("command", {"command": "timeout 8 sha256sum /dev/zero", "accepted": "124"}, name=name)
        for name in "ab"
    ]
    events = run(workstation, duet(*steps))
    raised = [event.finding for event in events if isinstance(event, FindingRaised)]
    named = [one.measured for one in raised if one.id == "other-process"]
    assert not [text for text in named if "sha256sum" in text]
    clocks = [one.trial.clock for one in workstation.load("last").trials]
    assert all(clock is not None for clock in clocks)
    assert all(abs((two or 0.0) - (one or 0.0)) < 1.0 for one, two in pairwise(clocks))
