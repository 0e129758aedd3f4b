"""SNIA tests with the real fio: on a file, on a loop device that was given up, over SSH, stopped in the middle."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.events import Event, FindingRaised, OutputRead, RunEnded, SampleRead, State, TrialEnded, VerdictReached
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from suites.verdict import Trust
from suites.vocab import Severity
from tests.lab.probe_runs import run_once, workstation, workstation_in
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.loop_devices import MakeLoop, backing_file, make_loop
from tests.suites.captured_outputs import figures

__all__ = ["make_loop", "workstation"]

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")

SMALL: dict[str, Any] = {"size": "4 MiB", "runtime": 1, "passes": 1, "blocks": "4k", "mixes": "0", "iodepth": 4}


def printed(events: list[Event]) -> str:
    return b"".join(one.data for one in events if isinstance(one, OutputRead) and one.stream == "stdout").decode()


def last_documents(output: str) -> list[dict[str, Any]]:
    """Return fio's last document of each point, as the standard library reads it."""
    found: list[dict[str, Any]] = []
    for part in output.split("\n+ fio ")[1:]:
        position, document = 0, None
        while (start := part.find("{\n", position)) >= 0:
            document, position = json.JSONDecoder().raw_decode(part, start)
        assert document is not None
        found.append(document["jobs"][0])
    return found


def execute(workstation: Workstation, asker: AnsweringAsker, **given: object) -> tuple[list[Event], RunEnded]:
    plan = Plan("steady", (LOCAL,), (make_step("fio-snia", given),), repetition=Repetition(trials=1))
    events = list(workstation.run(plan, asker, Control()))
    assert isinstance(events[-1], RunEnded)
    return events, events[-1]


@pytest.mark.slow
def test_rounds_over_ssh_have_fios_own_figures_live(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, events = run_once(
            workstation, "fio-snia", "lab", directory=str(tmp_path), **(SMALL | {"mixes": "100, 0", "rounds": 2})
        )
    assert (ended.state, ended.reason) == (State.DONE, "")
    own = last_documents(printed(list(events)))
    assert len(own) == 4
    found = figures(ended.parsed)
    assert found["window_iops 4 KiB write"] == pytest.approx((own[1]["write"]["iops"] + own[3]["write"]["iops"]) / 2)
    assert found["iops_by_point 4 KiB 100"] == pytest.approx((own[0]["read"]["iops"] + own[2]["read"]["iops"]) / 2)
    live = [event.sample for event in events if isinstance(event, SampleRead)]
    assert sum(sample.metric.name == "window_iops" for sample in live) == 2
    assert sum(sample.metric.name == "iops" for sample in live) >= 4
    assert "benchwright: ended after round 2: not steady" in printed(list(events))
    assert not any(tmp_path.glob("benchwright-*"))


@pytest.mark.slow
def test_a_loop_device_is_given_up_purged_and_measured(workstation: Workstation, make_loop: MakeLoop) -> None:
    device = make_loop("scratch.img")
    backing_file(device).write_bytes(b"\xa5" * 2**20 + b"\0" * (15 * 2**20))
    asker = AnsweringAsker(losses=["scratch.img"])
    given = {**SMALL, "device": device, "size": 0, "test": "saturation", "fill": 0.01, "blocks": "", "mixes": ""}
    events, ended = execute(workstation, asker, **given)
    assert ended.state is State.DONE, ended.reason
    assert len(asker.loss_questions) == 1
    (trial,) = (event for event in events if isinstance(event, TrialEnded))
    assert figures(trial.parsed)["written"] > 0.01 * 16 * 2**20
    assert "benchwright: ended after round 1: written" in printed(events)
    assert backing_file(device).read_bytes()[: 2**20] != b"\xa5" * 2**20


@pytest.mark.slow
def test_a_device_that_is_not_given_up_is_left_alone(workstation: Workstation, make_loop: MakeLoop) -> None:
    device = make_loop("scratch.img")
    backing_file(device).write_bytes(b"\xa5" * 16 * 2**20)
    _, ended = execute(workstation, AnsweringAsker(losses=["no"]), device=device, **(SMALL | {"mixes": "100"}))
    assert ended.state is State.FAILED
    assert backing_file(device).read_bytes() == b"\xa5" * 16 * 2**20


@pytest.mark.slow
def test_a_test_that_is_stopped_keeps_what_it_has(workstation: Workstation, tmp_path: Path) -> None:
    plan = Plan(
        "steady",
        (LOCAL,),
        (make_step("fio-snia", {**SMALL, "directory": str(tmp_path), "rounds": 50}),),
        repetition=Repetition(trials=1),
    )
    control = Control()
    events: list[Event] = []
    for event in workstation.run(plan, AnsweringAsker(), control):
        events.append(event)
        if isinstance(event, SampleRead) and event.sample.metric.name == "window_iops":
            control.stop()
    (trial,) = (event for event in events if isinstance(event, TrialEnded))
    assert trial.state is State.PARTIAL
    assert figures(trial.parsed)["rounds"] >= 1
    assert any("before it was over" in note for note in trial.parsed.notes)
    assert not any(tmp_path.glob("benchwright-*"))


@pytest.mark.slow
def test_what_was_not_steady_is_an_error_of_the_result(workstation: Workstation, tmp_path: Path) -> None:
    events, ended = execute(workstation, AnsweringAsker(), **SMALL, directory=str(tmp_path), rounds=1)
    assert ended.state is State.DONE, ended.reason
    found = {event.finding.id for event in events if isinstance(event, FindingRaised)}
    assert "not-by-the-standard" in found
    assert not {"cannot-purge", "steady-state-cost"} & found  # those are of raw devices
    verdict = next(event.verdict for event in events if isinstance(event, VerdictReached) and event.verdict.step)
    assert verdict.trust is Trust.DOUBTFUL
    unsteady = next(finding for finding in verdict.findings if finding.id == "not-steady")
    assert unsteady.severity is Severity.ERROR
    assert "not-by-the-standard" in {finding.id for finding in verdict.findings}
