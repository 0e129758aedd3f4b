"""Sweeps and job files on raw devices: asked before every loss, and never through a job file."""

import hashlib

import pytest

from app.events import Event, RunEnded, State, TrialEnded
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from tests.lab.probe_runs import workstation
from tests.lab_sshd import AnsweringAsker
from tests.loop_devices import MakeLoop, backing_file, make_loop

__all__ = ["make_loop", "workstation"]

SWEEP = {"size": "4 MiB", "runtime": 1.0, "depths": "1, 4", "blocks": "64k", "direct": False}


def execute(
    workstation: Workstation, suite: str, asker: AnsweringAsker, **given: object
) -> tuple[list[Event], RunEnded]:
    plan = Plan("raw", (LOCAL,), (make_step(suite, given),), repetition=Repetition(trials=1))
    events = list(workstation.run(plan, asker, Control()))
    assert isinstance(events[-1], RunEnded)
    return events, events[-1]


def digest(device: str) -> str:
    return hashlib.sha256(backing_file(device).read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_sweep_that_writes_is_asked_about_once_and_measures_every_point(
    workstation: Workstation, make_loop: MakeLoop
) -> None:
    device = make_loop("scratch.img")
    asker = AnsweringAsker(losses=["scratch.img"])
    events, ended = execute(workstation, "fio-sweep", asker, device=device, rw="randwrite", **SWEEP)
    assert ended.state is State.DONE, ended.reason
    assert len(asker.loss_questions) == 1
    assert any(backing_file(device).read_bytes())
    (trial,) = (event for event in events if isinstance(event, TrialEnded))
    points = [figure for figure in trial.parsed.figures if figure.metric.name == "iops_by_point"]
    assert {dict(figure.labels)["depth"] for figure in points} == {"1", "4"}


@pytest.mark.slow
def test_a_sweep_that_is_not_confirmed_or_reads_writes_nothing(workstation: Workstation, make_loop: MakeLoop) -> None:
    device = make_loop("scratch.img")
    before = digest(device)
    _, ended = execute(workstation, "fio-sweep", AnsweringAsker(losses=["no"]), device=device, rw="randwrite", **SWEEP)
    assert ended.state is State.FAILED
    _, ended = execute(workstation, "fio-sweep", AnsweringAsker(), device=device, rw="randread", **SWEEP)
    assert ended.state is State.DONE, ended.reason
    assert digest(device) == before


@pytest.mark.parametrize(
    "job",
    [
        pytest.param("[one]\nsize=1m\nrw=write\nfilename={device}\n", id="filename"),
        pytest.param("[global]\nrw=randwrite\nsize=1m\n[{device}]\n", id="section", marks=pytest.mark.slow),
        pytest.param("[one]\nsize=1m\nrw=write\nfilename=${{WHERE}}\n", id="variable", marks=pytest.mark.slow),
        pytest.param(
            "[one]\nsize=1m\nrw=write\ndirectory=/dev\nfilename={name}\n", id="directory", marks=pytest.mark.slow
        ),
        pytest.param("[one]\nsize=1m\nrw=write\nfilename=mine:{device}\n", id="list"),
    ],
)
def test_a_job_file_never_writes_to_a_device(workstation: Workstation, make_loop: MakeLoop, job: str) -> None:
    device = make_loop("scratch.img")
    before = digest(device)
    text = job.format(device=device, name=device.removeprefix("/dev/"))
    _, ended = execute(workstation, "fio-job", AnsweringAsker(), job=text, environment=f"WHERE={device}")
    assert ended.state is State.FAILED
    assert digest(device) == before
