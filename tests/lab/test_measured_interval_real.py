"""The measured interval of real tools that prepare for seconds before they count."""

from pathlib import Path

import pytest

from app.plans.plan import LOCAL, Step, make_step
from app.records import RunRecord
from app.services import Workstation
from app.verdict.stored import evidence_of
from suites.evidence import Interval, TrialEvidence
from tests.lab.links import LinkedHosts
from tests.lab.test_during_real import measured, needs_fio, needs_iperf3, needs_sysbench, workstation

__all__ = ["workstation"]  # a fixture

pytestmark = [pytest.mark.alone, pytest.mark.slow]

GIB = 2**30
CPUS = ("cpu_user", "cpu_system")


def measure(workstation: Workstation, step: Step) -> tuple[RunRecord, TrialEvidence, Interval]:
    """Run one trial; return what is stored, its evidence and its measured interval."""
    _reported, _verdict, record = measured(workstation, step)
    samples, telemetry = workstation.samples(record.summary.id), workstation.telemetry(record.summary.id)
    (trial,) = evidence_of(record, samples, telemetry, record.plan.step(step.name), LOCAL).trials
    interval = record.interval(record.trials[0], trial.samples)
    assert interval is not None
    return record, trial, interval


@needs_sysbench
def test_the_filling_of_sysbench_memory_is_no_part_of_the_host_evidence(workstation: Workstation) -> None:
    given = {"block_size": GIB, "scope": "local", "threads": 2, "time": 6, "total_size": 1024 * GIB}
    record, trial, interval = measure(workstation, make_step("sysbench-memory", given))
    clock, ended = record.trials[0].trial.clock, record.trials[0].ended_clock
    assert clock is not None
    assert ended is not None
    assert interval.start - clock > 0.4, "sysbench fills 2 GiB with one thread before it counts"
    assert interval.end - interval.start == pytest.approx(trial.sum_of("total_time"), abs=0.02)
    assert clock < interval.origin < interval.end <= ended
    assert trial.watch is not None
    cpus = trial.context.facts.cpu.threads if trial.context.facts is not None else None
    assert isinstance(cpus, int)
    busy = sum(trial.watch.mean(name) or 0.0 for name in CPUS)
    assert busy >= 90.0 * min(2, cpus) / cpus, "both threads write all the time"


@needs_fio
def test_the_ramp_of_fio_is_no_part_of_the_host_evidence(workstation: Workstation, tmp_path: Path) -> None:
    given = {"directory": str(tmp_path), "size": 64 * 2**20, "rw": "randread", "runtime": 4, "ramp_time": 3}
    record, _trial, interval = measure(workstation, make_step("fio", given))
    clock = record.trials[0].trial.clock
    assert clock is not None
    assert 2.7 < interval.start - clock < 4.7, "the ramp and fio's own start"
    assert interval.end - interval.start == pytest.approx(4.0, abs=0.5)


@needs_fio
def test_the_layout_within_a_fio_job_is_no_part_of_the_host_evidence(workstation: Workstation, tmp_path: Path) -> None:
    job = "[a]\nrw=randread\nbs=4k\nsize=1500m\nruntime=3\ntime_based=1\nfallocate=none\n"
    given = {"job": job, "directory": str(tmp_path)}
    record, _trial, interval = measure(workstation, make_step("fio-job", given))
    clock = record.trials[0].trial.clock
    assert clock is not None
    assert interval.start - clock > 0.3, "fio lays its file out first"
    assert interval.end - interval.start == pytest.approx(3.0, abs=0.5)


@needs_iperf3
def test_the_peer_is_watched_on_the_clock_of_the_host(workstation: Workstation, linked_hosts: LinkedHosts) -> None:
    near, far = linked_hosts(2)
    step = make_step("iperf3", {"time": 6, "omit": 2, "address": far.address}, peer=far.alias)
    _reported, _verdict, record = measured(workstation, step, near.alias)
    trial = record.trials[0].trial
    assert trial.clock is not None
    assert trial.peer_clock == pytest.approx(trial.clock, abs=0.3), "both hosts are name spaces of one kernel"
    run = record.summary.id
    telemetry = workstation.telemetry(run)
    (evidence,) = evidence_of(record, workstation.samples(run), telemetry, step, near.alias).trials
    assert evidence.watch is not None
    assert evidence.peer_watch is not None
    assert evidence.peer_watch.host == far.alias
    assert evidence.peer_watch.seconds == evidence.watch.seconds == pytest.approx(6.0, abs=0.2)
    interval = record.interval(record.trials[0], evidence.samples)
    assert interval is not None
    assert interval.start - trial.clock == pytest.approx(2.0, abs=0.6), "the omitted seconds do not count"
    (received,) = (at for at in evidence.peer_watch.labels_of("network_received") if dict(at)["interface"] != "lo")
    rate = 8 * (evidence.peer_watch.mean("network_received", **dict(received)) or 0.0)
    headline = evidence.headline
    assert headline is not None
    assert rate == pytest.approx(headline.value, rel=0.15)
