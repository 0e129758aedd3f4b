"""Real trials over sshd: a thing does not differ from itself, and a known change is found where it is."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.comparison.comparison import Comparison, ComparisonRow
from app.comparison.verdicts import ComparisonVerdict
from app.plans.plan import Order, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
from tests.lab.links import LinkedHosts
from tests.lab_sshd import LabHost

pytestmark = [pytest.mark.slow, pytest.mark.alone]

CPU = {"time": 1, "threads": 1}
MEMORY = {"time": 1, "threads": 1, "block_size": "1 MiB", "total_size": "1 TiB"}
CLAIMS = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
CGROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD = 1_000_000
"""Microseconds of which a quota grants a share: as long as can be, for each new grant costs about one millisecond."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a quota and a network of its own need root")


def measured(workstation: Workstation, plan: Plan) -> str:
    """Run a plan to its end and return the id of the run."""
    for _ in workstation.run(plan, RefusingAsker(), Control()):
        continue
    return workstation.load("last").summary.id


def row_of(comparison: Comparison, metric: str, **labels: str) -> ComparisonRow:
    """Return the row of a metric."""
    wanted = tuple(sorted(labels.items()))
    return next(row for row in comparison.rows if (row.metric.name, row.labels) == (metric, wanted))


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_a_host_does_not_differ_from_itself(workstation: Workstation, lab: LabHost) -> None:
    """Two suites, each measured twice over in turns drawn by lot, twelve trials each."""
    del lab
    steps = tuple(
        make_step(suite, values, name=f"{suite} {copy}")
        for suite, values in (("sysbench-cpu", CPU), ("sysbench-memory", MEMORY))
        for copy in ("one", "two")
    )
    run = measured(workstation, Plan("a and a", ("lab",), steps, repetition=Repetition(12), order=Order.ABBA))
    assert workstation.load(run).plan.seed is not None
    for suite in ("sysbench-cpu", "sysbench-memory"):
        comparison = workstation.compare([f"{run}:{suite} one", f"{run}:{suite} two"])
        found = {row.metric.name: row.against[0] for row in comparison.rows}
        assert {against.verdict for against in found.values()} & CLAIMS == set(), found
        assert all(row.sides[1] is not None and row.sides[1].n == 12 for row in comparison.rows)


# A known change of the processor


@pytest.fixture
def quota(start_lab_host: Callable[..., LabHost], tmp_path: Path) -> Iterator[Callable[[float], None]]:
    """A host whose sysbench may use a share of one CPU, and a function that sets the share."""
    group = CGROUPS / f"benchwright-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.shares").write_text("262144")  # it gets what it is granted, whatever else runs
    except OSError as error:
        pytest.skip(f"no quota of a control group can be set here: {error}")
    tools = tmp_path / "tools"
    tools.mkdir()
    wrapper = tools / "sysbench"
    wrapper.write_text(f'#!/bin/sh\necho $$ > {group}/cgroup.procs\nexec {shutil.which("sysbench")} "$@"\n')
    wrapper.chmod(0o755)
    start_lab_host(SetEnv=f"PATH={tools}:/usr/bin:/bin").add_to_home()

    def grant(share: float) -> None:
        (group / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD)))

    yield grant
    group.rmdir()


@needs_root
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_half_the_processor_is_found_as_half_the_speed(
    workstation: Workstation, quota: Callable[[float], None]
) -> None:
    # Five seconds, so that what the tool's start takes of its grant is lost in them.
    step = make_step("sysbench-cpu", {"time": 5, "threads": 1})
    plan = Plan("quota", ("lab",), (step,), repetition=Repetition(6))
    runs = []
    for share in (0.4, 0.2):
        quota(share)
        runs.append(measured(workstation, plan))
    against = row_of(workstation.compare(runs), "events_per_second").against[0]
    assert against.verdict is ComparisonVerdict.DIFFERS  # one session each
    assert "slower" in against.text
    assert against.low is not None
    assert against.high is not None
    assert against.low <= 0.5 <= against.high, against.text


# A known change of the link


@needs_root
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_half_the_link_is_found_as_half_the_rate(workstation: Workstation, linked_hosts: LinkedHosts) -> None:
    near, _far = linked_hosts(2)
    step = make_step("iperf3", {"time": 3, "omit": 1}, peer="far")
    plan = Plan("link", ("near",), (step,), repetition=Repetition(8))
    runs = []
    for rate in (98, 49):  # iperf3 prints three digits; here they are tenths of a Mbit/s
        near.shape(rate)
        runs.append(measured(workstation, plan))
    against = row_of(workstation.compare(runs), "throughput", direction="send", end="receiver").against[0]
    assert against.verdict is ComparisonVerdict.DIFFERS  # one session each
    assert against.low is not None
    assert against.high is not None
    assert against.low <= 0.5 <= against.high, against.text
