"""Profiled trials with the real perf: shares of a program of known split, their change, and a host that refuses."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.events import Activity, State
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.profiles import compared_profiles, function_shares
from app.records import RunRecord
from app.runs.control import Control
from app.services import Workstation
from tests.lab.probe_runs import workstation_in
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages

MESSAGES = messages("lab", "test_profile_real")

SPLIT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
static double cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
__attribute__((noinline)) static void heavy(long n) { for (long i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) static void light(long n) { for (long i = 0; i < n; i++) sink += i * i; }
int main(int count, char **words) { /* share of heavy, seconds: prints the share by the process's own CPU clock */
    double share = atof(words[1]), seconds = atof(words[2]), times[2] = {0, 0};
    while (count && times[0] + times[1] < seconds) {
        double begun = cpu(), between, ended;
        heavy(1e6 * share);
        between = cpu();
        light(1e6 * (1 - share));
        ended = cpu();
        times[0] += between - begun;
        times[1] += ended - between;
    }
    printf("heavy %.4f\n", times[0] / (times[0] + times[1]));
}
"""


def run(workstation: Workstation, host: str, command: str, trials: int = 1) -> RunRecord:
    step = make_step("command", {"command": command, "figure": "pattern", "pattern": "heavy ([0-9.]+)"}, name="split")
    plan = Plan("split", (host,), (step,), repetition=Repetition(trials=trials, profile=True))
    for _event in workstation.run(plan, AnsweringAsker(), Control()):
        pass
    return workstation.load("last")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_the_activity_of_the_profiled_trial_is_that_it_does_not_count(tmp_path: Path) -> None:
    step = make_step("command", {"command": "sleep 0.3"}, name="sleep")
    plan = Plan("sleep", (LOCAL,), (step,), repetition=Repetition(trials=1, profile=True))
    with workstation_in(tmp_path) as workstation:
        events = list(workstation.run(plan, AnsweringAsker(), Control()))
    found = [(event.text, event.measures) for event in events if isinstance(event, Activity) and "sleep" in event.text]
    assert found[-2:] == [
        (MESSAGES["measuring"], True), (MESSAGES["profiling"], False)
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not all(map(shutil.which, ("perf", "gcc"))), reason="perf or gcc is not installed")
def test_shares_agree_with_a_known_split_and_change_with_it(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    (tmp_path / "split.c").write_text(SPLIT)
    program = tmp_path / "split"
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, f"{program}.c"], check=True)
    with workstation_in(tmp_path) as workstation:
        runs = [run(workstation, "lab", f"{program} {share} 8") for share in (0.7, 0.4)]
        sides = [workstation.analyses.profiles(record.summary.id) for record in runs]
    truths = []
    for record, (found,) in zip(runs, sides, strict=True):
        assert (record.summary.state, found.absent) == (State.DONE, "")
        assert [one.trial.title for one in record.trials] == ["trial 1", "profiled trial"]
        assert len(record.trials_of("split")) == 1
        shares = {one.name: one.own for one in function_shares(found.stacks or {})}
        both = shares["heavy"] + shares["light"]
        truths.append(record.trials[-1].figures[0].value)
        assert both > 0.8
        assert shares["heavy"] / both == pytest.approx(truths[-1], abs=0.06), shares  # 3 errors of 600 samples
        assert {one.name for one in found.readings if one.value is not None} >= {"CPU time", "Page faults"}
    ((before, after),) = compared_profiles(*sides)
    (change,) = [one for one in function_shares(after.stacks or {}, before.stacks) if one.name == "heavy"]
    assert change.before is not None
    assert change.own - change.before[0] == pytest.approx(truths[1] - truths[0], abs=0.1)


REFUSING = """#!/bin/sh
# Stands in for perf where perf_event_open(2) is denied.
echo "Access to performance monitoring and observability operations is limited." >&2
exit 255
"""


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    perf = tmp_path / "bin/perf"
    perf.parent.mkdir()
    perf.write_text(REFUSING)
    perf.chmod(0o755)
    monkeypatch.setenv("PATH", f"{perf.parent}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.slow
def test_where_perf_is_refused_the_run_is_whole_and_the_reason_is_kept(refused: Path) -> None:
    with workstation_in(refused) as workstation:
        record = run(workstation, LOCAL, "echo heavy 1")
        (found,) = workstation.analyses.profiles("last")
    assert (record.summary.state, len(record.trials)) == (State.DONE, 1)
    assert "perf_event" in found.absent
