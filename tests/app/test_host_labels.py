"""Messages call the host `local` this computer; the commands that they propose keep its name."""

import shlex

import pytest

from app.checks.before import check_plan
from app.comparison.joined import excluded_trials
from app.detached_runs import DetachedRun
from app.events import HostChange, State
from app.plans.plan import LOCAL, Order, Plan, Repetition, make_step
from app.records import ChangeRecord, RunRecord, TrialRecord
from app.runs.attach import remaining_parts
from app.runs.findings import holders_text, no_lease
from app.runs.run_hosts import _not_removed_text
from remote.jobs.lease import Claim
from tests.app import run_events
from tests.disk_host import disk_host, without_tool

RUN = "20261122-141530-k3f9"


def local_run(*, state: State = State.DONE, changes: tuple[ChangeRecord, ...] = ()) -> RunRecord:
    record = run_events.run_record(RUN, (1.0,), host=LOCAL)
    return RunRecord(
        record.summary, record.plan, record.plan_hash, record.program_version, changes=changes,
        trials=(TrialRecord(record.trials[0].trial, state, None, None, ()),),
    )  # fmt: skip


def changed() -> str:
    change = ChangeRecord(RUN, HostChange(LOCAL, "governor", "/sys/x", "powersave", "performance"), "2026")
    return next(remaining_parts(DetachedRun(local_run(changes=(change,)), "2026", by_choice=True)))


@pytest.mark.parametrize(
    "text",
    [
        no_lease(LOCAL).measured,
        holders_text(Claim(None, ()), LOCAL),
        _not_removed_text(LOCAL).partition("Run: ")[0],
        changed().partition("Run: ")[0],
        next(excluded_trials(local_run(state=State.FAILED))),
    ],
)
def test_a_message_calls_it_this_computer(text: str) -> None:
    assert "this computer" in text
    assert LOCAL not in text


def test_findings_before_a_run_call_it_this_computer() -> None:
    step = make_step("dd", {"directory": "/srv"})
    plan = Plan("p", (LOCAL, "web-1"), (step,), repetition=Repetition(trials=100), order=Order.BLOCK)
    bare = without_tool(disk_host(), "dd")
    found = {
        one.id: one.measured for one in check_plan(plan, {LOCAL: bare, "web-1": bare}).findings if one.host != "web-1"
    }
    assert found["tool-missing"].endswith(" on this computer.")


def test_a_proposed_command_quotes_the_name() -> None:
    name = "ann@web 1; reboot"
    assert shlex.split(_not_removed_text(name).partition("Run: ")[2])[3] == name
    assert changed().endswith(f"benchwright hosts restore {LOCAL}")
