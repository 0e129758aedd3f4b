"""Limits that the lab sets, so that the truth is known: what Benchwright measures of them, and what it names."""

from collections.abc import Callable
from dataclasses import dataclass

from app.plans.plan import Plan
from app.records import RunRecord
from suites.verdict import Limiter
from tests.lab.links import TCP_SHARE, LinkedHost
from tests.lab.pitfalls import between, cpu, granted, run_plan
from tests.lab.staging import GIB, Stage


@dataclass(frozen=True, slots=True)
class KnownLimit:
    """A limit, what it makes the true value of `metric`, and what has to be named as the limit.

    Where `free` is given, `truth` is the share of what that plan measures; otherwise it is in the metric's unit.
    """

    name: str
    truth: float
    metric: str
    stage: Callable[[Stage], Plan]
    limiter: Limiter
    free: Callable[[Stage], Plan] | None = None
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was measured where `truth` is true, and what the verdict names. `disturbed` tells that others took part."""

    truth: float
    measured: float
    unit: str
    limiter: Limiter | None
    disturbed: bool

    @property
    def error(self) -> float:
        """By which share the measured value differs from the truth."""
        return self.measured / self.truth - 1


def recover(stage: Stage, limit: KnownLimit) -> Recovered:
    """Set a limit, measure, and return what came of it."""
    truth = limit.truth
    if limit.free is not None:
        truth *= _figure(run_plan(stage, limit.free(stage)), limit.metric)[0]
    record = run_plan(stage, limit.stage(stage))
    measured, unit = _figure(record, limit.metric)
    (verdict,) = (one for one in record.verdicts if one.step is not None)
    disturbed = bool({finding.id for finding in record.findings} & {"other-process"})
    return Recovered(truth, measured, unit, verdict.limited_by, disturbed)


def _figure(record: RunRecord, metric: str) -> tuple[float, str]:
    figures = [one for trial in record.trials for one in trial.figures if one.metric.name == metric]
    received = [one for one in figures if dict(one.labels).get("end") == "receiver"]
    first = (received or figures)[0]
    return first.value, first.metric.unit.value


def _link(megabits: float) -> KnownLimit:
    def shaped(near: LinkedHost, _far: LinkedHost) -> None:
        near.shape(megabits)

    return KnownLimit(
        f"link of {megabits:g} Mbit/s (tc tbf), TCP’s share of it", megabits * 1e6 * TCP_SHARE, "throughput",
        lambda stage: between(stage, shaped), Limiter.LINK, tools=("iperf3",),
    )  # fmt: skip


def _rate(ios: int) -> KnownLimit:
    return KnownLimit(
        f"device of {ios} I/Os a second (blkio.throttle)", ios, "iops",
        lambda stage: granted(stage, "read_iops", ios), Limiter.PROVISIONED, tools=("fio",),
    )  # fmt: skip


def _quota(share: float) -> KnownLimit:
    first, quota = str(2**18), f"{share * 100_000:.0f}"  # a group's weight, beside 1024 of each task in none
    return KnownLimit(
        f"{share:.0%} of a processor (cfs_quota), by one thread without it", share, "events_per_second",
        lambda stage: cpu(stage.grouped("cpu", shares=first, cfs_quota_us=quota), threads=1), Limiter.QUOTA,
        free=lambda stage: cpu(stage.grouped("cpu", shares=first), threads=1), tools=("sysbench",),
    )  # fmt: skip


LIMITS: tuple[KnownLimit, ...] = (
    _link(50),
    _link(100),
    _link(500),
    _rate(500),
    _rate(4000),
    KnownLimit(
        "device of 64 MiB/s (blkio.throttle)", GIB / 16, "bandwidth",
        lambda stage: granted(stage, "read_bps", GIB // 16, block_size=65536, iodepth=16), Limiter.PROVISIONED,
        tools=("fio",),
    ),
    _quota(0.25),
    _quota(0.5),
)  # fmt: skip
"""A limit of memory has no rate of its own, and the lab’s kernel has nothing that slows memory down."""
