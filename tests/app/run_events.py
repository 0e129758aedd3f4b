"""Runs to test with: events as an engine would yield them, with figures that are known."""

from collections.abc import Iterator, Sequence

from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    OutputRead,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    Trial,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import Plan, Repetition, Step
from app.records import RunRecord, RunSummary, TrialRecord
from suites.base import Command
from suites.facts import CloudFacts, CpuFacts, Facts, SystemFacts
from suites.outputs import ParsedTrial
from suites.units import Unit
from suites.vocab import Better, Figure, Finding, Metric, MetricKind, Sample, Severity

IOPS = Metric("iops", "I/O operations", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
P99 = Metric("latency_p99", "Latency, 99th percentile", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME, 99.0)
CPU_BUSY = Metric("cpu_busy", "CPU busy", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
READ = (("operation", "read"),)

STEP = Step("random read", "fio", {"rw": "randread", "block_size": 4096, "directory": "/var/tmp"})
COMMAND = Command(("fio", "--name=random read", "--rw=randread", "--bs=4096"))


def plan(*steps: Step, hosts: Sequence[str] = ("web-1",), trials: int = 1, name: str = "disk") -> Plan:
    """Return a plan of `steps`."""
    return Plan(name, tuple(hosts), steps or (STEP,), "Is the volume fast enough?", Repetition(trials))


def facts(host: str, kernel: str = "6.1.0") -> Facts:
    """Return the few facts that comparisons and pictures show."""
    return Facts(
        host=host,
        read_at="2026-11-20T14:15:30Z",
        system=SystemFacts(kernel=kernel),
        cloud=CloudFacts(instance_type="c7i.2xlarge"),
        cpu=CpuFacts(model="Xeon Platinum 8488C", threads=8),
    )


FINDING = Finding(
    "page-cache", Severity.WARNING, "The page cache answers", "file 1 GiB, memory 16 GiB", "It measures memory.",
    "Set direct.", "fio(1)", "random read", "web-1", {"direct": True}, None,
)  # fmt: skip


def trial(
    number: int,
    *,
    host: str = "web-1",
    step: str = "random read",
    warm_up: bool = False,
    version: str | None = "fio-3.33",
) -> Trial:
    """Return the trial `number`."""
    started = f"2026-11-20T14:15:{30 + number % 30:02d}.000+00:00"
    return Trial(number, host, step, number, warm_up, (COMMAND,), started, 1000.0 * number, version)


def trial_events(
    one: Trial, figures: Sequence[Figure], samples: Sequence[Sample] = (), state: State = State.DONE, reason: str = ""
) -> Iterator[Event]:
    """Yield what happens in a trial."""
    yield TrialStarted(one, 2.0)
    yield OutputRead(one.id, "stdout", f"fio: trial {one.id}\n".encode())
    for sample in samples:
        yield SampleRead(one.id, sample)
    status = 0 if state is State.DONE else 1
    yield TrialEnded(one.id, state, status, ParsedTrial(tuple(figures), tuple(samples)), reason)


def samples(value: float, count: int = 5) -> list[Sample]:
    """Return `count` seconds of IOPS around `value`, the first of them warm-up."""
    return [Sample(float(i), IOPS, value + i, READ, warm_up=i == 0) for i in range(count)]


def run_events(
    run_id: str, values: Sequence[float] = (1000.0,), *, started: str = "2026-11-20T14:15:30+00:00"
) -> Iterator[Event]:
    """Yield a whole run: one trial for each of `values`, which is its IOPS."""
    yield RunStarted(run_id, plan(trials=len(values)), started)
    yield FactsRead("web-1", Moment.BEFORE, facts("web-1"))
    yield FindingRaised(FINDING)
    for number, value in enumerate(values, 1):
        figures = [Figure(IOPS, value, READ), Figure(P99, 1e8 / value, READ)]
        yield TelemetryRead("web-1", (Sample(1000.0 * number, CPU_BUSY, 12.5),))
        yield from trial_events(trial(number), figures, samples(value))
    yield FactsRead("web-1", Moment.AFTER, facts("web-1"))
    yield RunEnded(run_id, State.DONE, "", {"web-1": 0.002})


def sessions(
    prefix: str,
    values: Sequence[float],
    factor: float = 1.0,
    *,
    metric: Metric = IOPS,
    count: int = 3,
    host: str = "web-1",
) -> list[RunRecord]:
    """Return the runs of `count` sessions with trials of `values` times `factor`; sessions differ by 0.2 %."""
    return [
        run_record(
            f"{prefix}{number}", [value * factor * (1 + 0.002 * number) for value in values], metric=metric, host=host
        )
        for number in range(count)
    ]


def run_record(
    run_id: str,
    values: Sequence[float],
    *,
    step: Step = STEP,
    host: str = "web-1",
    metric: Metric = IOPS,
    version: str | None = "fio-3.33",
    kernel: str = "6.1.0",
) -> RunRecord:
    """Return a stored run of one step, one trial for each of `values`."""
    whole = plan(step, hosts=(host,), trials=len(values))
    trials = tuple(
        TrialRecord(
            trial(number, host=host, step=step.name, version=version),
            State.DONE,
            None,
            0,
            (Figure(metric, value, READ),),
            ended_clock=1000.0 * number + 19.0,
        )
        for number, value in enumerate(values, 1)
    )
    summary = RunSummary(
        run_id,
        whole.name,
        whole.question,
        (host,),
        (step.name,),
        State.DONE,
        "2026-11-20T14:15:30+00:00",
        None,
        len(values),
    )
    return RunRecord(summary, whole, whole.hash(), "0.1.0", "", {host: facts(host, kernel)}, {}, trials)
