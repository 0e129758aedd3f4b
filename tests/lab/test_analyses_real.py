"""Distributions, noise and scaling of what real tools measured over sshd."""

import os
import shutil
import statistics
from pathlib import Path

import pytest

from app.distributions.percentiles import ValueLevel
from app.noise import NoiseLevel
from app.plans.plan import Order, Plan, Repetition, make_step
from app.plans.presets import filled_preset
from app.questions import RefusingAsker
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from tests.lab_sshd import LabHost

pytestmark = pytest.mark.slow

READ = {"rw": "randread", "size": 32 * 2**20, "runtime": 4, "direct": False}


def measured(workstation: Workstation, plan: Plan) -> str:
    """Run a plan to its end and return the id of the run."""
    for _ in workstation.run(plan, RefusingAsker(), Control(BusyPolicy.ANYWAY)):
        continue
    return workstation.load("last").summary.id


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_percentiles_of_all_requests_are_those_that_fio_prints(
    workstation: Workstation, lab: LabHost, tmp_path: Path
) -> None:
    del lab
    step = make_step("fio", {**READ, "directory": str(tmp_path)}, name="read")
    run = measured(workstation, Plan("requests", ("lab",), (step,), repetition=Repetition(3)))
    (found,) = workstation.analyses.distributions([run], "latency_p99")
    assert found.source is ValueLevel.REQUESTS
    reported = {
        figure.metric.percentile: [
            one.value
            for trial in workstation.load(run).trials_of("read")
            for one in trial.figures
            if one.metric == figure.metric
        ]
        for figure in workstation.load(run).trials[0].figures
        if figure.metric.percentile not in {None, 100.0}
    }
    ours = {each.percentile: each.value for each in found.sides[0].percentiles}
    assert {50, 95, 99, 99.9} <= set(ours)
    for percentile, values in reported.items():
        assert ours[float(percentile or 0)] == pytest.approx(statistics.geometric_mean(values), rel=1e-6)
    issued = [f.value for t in workstation.load(run).trials for f in t.figures if f.metric.name == "iops"]
    assert found.sides[0].count == pytest.approx(sum(issued) * 4, rel=0.1)


def test_a_sweep_of_threads_on_this_computer_has_its_knee_no_later_than_its_processors(
    workstation: Workstation, lab: LabHost
) -> None:
    del lab
    if shutil.which("sysbench") is None:
        pytest.skip("sysbench is not installed")
    counts = (1, 2, 3, 4, 6, 8)
    steps = tuple(make_step("sysbench-cpu", {"threads": count, "time": 1}, name=f"{count} threads") for count in counts)
    plan = Plan("threads", ("lab",), steps, repetition=Repetition(3), order=Order.INTERLEAVED)
    run = measured(workstation, plan)
    (found,) = workstation.analyses.scaling(run)
    assert [point.x for point in found.curve.points] == [float(count) for count in counts]
    assert [len(point.values) for point in found.curve.points] == [3] * len(counts)
    last = found.efficiencies[-1]
    cores = os.cpu_count() or 1
    if cores < 8:  # eight threads on fewer cores: none can be as fast as one alone
        assert last.value < 1.5 * cores / 8
    assert found.fit is None or found.fit.model in {"Amdahl", "USL"}
    assert found.fit is not None or found.reasons


@pytest.mark.skipif(not all(map(shutil.which, ("fio", "ioping", "sysbench"))), reason="a tool is not installed")
def test_the_noise_study_runs_and_is_sorted(workstation: Workstation, lab: LabHost, tmp_path: Path) -> None:
    """The preset itself, shortened: every step of it on small files for seconds."""
    del lab
    preset = filled_preset("noise-study", ["lab"]).plan
    short: dict[str, dict[str, object]] = {
        "fio": {"size": 32 * 2**20, "runtime": 2, "ramp_time": 0, "direct": False, "directory": str(tmp_path)},
        "ioping": {"count": 20, "working_set": 2**20, "cache": "default", "directory": str(tmp_path)},
        "sysbench-cpu": {"time": 1},
    }
    steps = tuple(
        make_step(step.suite_id, {**step.values, **short[step.suite_id]}, name=step.name) for step in preset.steps
    )
    plan = Plan(preset.name, ("lab",), steps, repetition=Repetition(3), order=preset.order)
    found = workstation.analyses.noise([measured(workstation, plan)])
    ranked = found.at(NoiseLevel.TRIAL)
    assert {entry.step for entry in ranked} == {step.name for step in preset.steps}
    assert {entry.rank for entry in ranked} == {None}  # three trials are too few for a rank
    assert [entry.spread.cov for entry in ranked] == sorted(entry.spread.cov for entry in ranked)
    assert {one.name for one in found.tests} == {step.name for step in preset.steps}
