"""Runs for the library and the comparison: made-up events written down by the real recorder."""

import atexit
import math
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

from app.checks.version import CHECKS_VERSION
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
    VerdictReached,
)
from app.plans.plan import Plan, Repetition, make_step
from app.records import Recall
from app.services import Workstation
from app.store.recorder import Recorder
from app.store.verdict_history import NewVerdicts
from suites.base import Command
from suites.facts import CloudFacts, CpuFacts, Facts, MemoryFacts, SystemFacts
from suites.fio.metrics import BANDWIDTH, IOPS, LATENCY_MEAN, LATENCY_P50, LATENCY_P99
from suites.outputs import ParsedTrial
from suites.sysbench.cpu import EVENTS_PER_SECOND
from suites.units import Unit
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Better, Figure, Finding, Metric, MetricKind, Sample, Severity, labels

READ = labels(operation="read")
DISK = "disk random read"
BLOCK = 4096
SECONDS = 10
CLOCK = 5000.0
CPU_USER = Metric("cpu_user", "CPU, programs", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
STEADY = (412e3, 409e3, 415e3, 411e3, 413e3, 410e3, 414e3, 412e3)


@dataclass(frozen=True, slots=True)
class Made:
    """A run to be made up: the IOPS of each trial, and what tells it from others."""

    run_id: str
    iops: Sequence[float] = STEADY
    name: str = "volume check"
    host: str = "web-1"
    question: str = "Is the volume as fast as promised?"
    version: str = "fio-3.33"
    block_size: int = BLOCK
    state: State = State.DONE
    reason: str = ""
    cpu: Sequence[float] = ()
    instance: str = "c7i.2xlarge"
    kernel: str = "6.1.0-28-cloud-amd64"
    output: bytes = b""
    samples: int = SECONDS
    trust: Trust | None = None  # of its verdict; None: it was never judged

    @property
    def started(self) -> datetime:
        """When it began: the id says it."""
        return datetime.strptime(self.run_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


FINDING = Finding(
    "interval", Severity.WARNING, "Fewer than 6 trials", "3 trials", "One odd trial changes the median.",
    "Run six or more.", "benchstat", DISK, None,
)  # fmt: skip


def record(workstation: Workstation, *runs: Made) -> list[str]:
    """Write `runs` down as an engine would have had them written; return their ids."""
    for made in runs:
        ended = (made.started + timedelta(seconds=len(made.iops) * (SECONDS + 2))).isoformat(timespec="milliseconds")
        with patch("app.store.recorder.now", return_value=ended), recorder(workstation, made) as writing:
            for event in events(made):
                writing.defer(event)
            writing.flush()  # in one transaction, which takes a fifth of the time
    return [made.run_id for made in runs]


def recorder(workstation: Workstation, made: Made) -> Recorder:
    """Return what writes the run down."""
    return workstation._store.recorder(made.run_id)


def plan_of(made: Made) -> Plan:
    """Return the plan of a made-up run."""
    steps = [make_step("fio", {"rw": "randread", "block_size": made.block_size, "runtime": SECONDS}, name=DISK)]
    if made.cpu:
        steps.append(make_step("sysbench-cpu", {}, name="cpu"))
    return Plan(made.name, (made.host,), tuple(steps), made.question, Repetition(len(made.iops)))


def facts(made: Made, *, load: float = 0.1) -> Facts:
    """Return some facts of the host."""
    return Facts(
        host=made.host,
        read_at=made.started.isoformat(),
        system=SystemFacts(kernel=made.kernel, distribution="Debian GNU/Linux 12", load_1_minute=load),
        cloud=CloudFacts(provider="aws", instance_type=made.instance, region="eu-central-1"),
        cpu=CpuFacts(model="Intel Xeon Platinum 8488C", threads=8),
        memory=MemoryFacts(total=16 * 2**30),
    )


def events(made: Made) -> Iterator[Event]:
    """Yield a whole run."""
    yield RunStarted(made.run_id, plan_of(made), made.started.isoformat())
    yield FactsRead(made.host, Moment.BEFORE, facts(made))
    if len(made.iops) < 6:
        yield FindingRaised(FINDING)
    yield from _disk(made)
    yield from _cpu(made)
    if made.state is not State.RUNNING:
        yield FactsRead(made.host, Moment.AFTER, facts(made, load=1.9))
        yield from _judged(made)
        yield RunEnded(made.run_id, made.state, made.reason, {made.host: 0.002})


def _judged(made: Made) -> Iterator[Event]:
    if made.trust is None:
        return
    shown = f"{made.trust.value.capitalize()}: IOPS, median of {len(made.iops)} trials, limited by the device."
    findings = () if made.trust is Trust.VALID else (FINDING,)
    verdict = Verdict(made.trust, Limiter.DEVICE, shown, findings, DISK, made.host, CHECKS_VERSION)
    yield VerdictReached(verdict)
    yield VerdictReached(replace(verdict, step=None, host=None))


def _disk(made: Made) -> Iterator[Event]:
    command = Command(("fio", f"--name={DISK}", "--rw=randread", f"--bs={made.block_size}", "--iodepth=32"))
    for number, value in enumerate(made.iops, 1):
        trial = _trial(made, number, number, step=DISK, command=command, version=made.version)
        yield TrialStarted(trial, float(SECONDS))
        yield OutputRead(trial.id, "stdout", made.output or f"fio: trial {number}, IOPS={value:.0f}\n".encode())
        yield from (SampleRead(trial.id, sample) for sample in samples(made, number, value))
        watched = (Sample(CLOCK * number + second, CPU_USER, 30 + second % 5) for second in range(SECONDS))
        yield TelemetryRead(made.host, tuple(watched))
        broke = made.state is State.FAILED
        parsed = ParsedTrial(() if broke else figures(made, value), complete=not broke)
        state = State.FAILED if broke else State.DONE
        yield TrialEnded(trial.id, state, 1 if broke else 0, parsed, made.reason if broke else "")


def _cpu(made: Made) -> Iterator[Event]:
    command = Command(("sysbench", "cpu", "run", "--threads=8"))
    for number, value in enumerate(made.cpu, 1):
        trial = _trial(made, 100 + number, number, step="cpu", command=command, version="1.0.20")
        yield TrialStarted(trial, float(SECONDS))
        yield from (SampleRead(trial.id, Sample(float(second), EVENTS_PER_SECOND, value)) for second in range(SECONDS))
        yield TrialEnded(trial.id, State.DONE, 0, ParsedTrial((Figure(EVENTS_PER_SECOND, value),)))


def figures(made: Made, value: float) -> tuple[Figure, ...]:
    """Return the figures of a trial of random reads."""
    return (
        Figure(IOPS, value, READ),
        Figure(BANDWIDTH, value * made.block_size, READ),
        Figure(LATENCY_MEAN, 32e9 / value, READ),
        Figure(LATENCY_P50, 30e9 / value, READ),
        Figure(LATENCY_P99, 90e9 / value * (1 + 0.02 * math.sin(value)), READ),
    )


def samples(made: Made, number: int, value: float) -> Iterable[Sample]:
    """Yield the samples of a trial: a ramp of two seconds, then what swings around `value`."""
    chance = random.Random(f"{made.run_id} {number}")  # the same figures in every test
    for second in range(made.samples):
        ramp = second < 2
        swing = value * (0.6 if ramp else 1 + chance.uniform(-0.03, 0.03))
        yield Sample(float(second), IOPS, swing, READ, warm_up=ramp)


def _trial(made: Made, number_of_all: int, number: int, *, step: str, command: Command, version: str) -> Trial:
    started = (made.started + timedelta(seconds=number_of_all * (SECONDS + 2))).isoformat()
    clock = CLOCK * number_of_all
    return Trial(number_of_all, made.host, step, number, False, (command,), started, clock, version)


def library(workstation: Workstation) -> list[str]:
    """Fill the library with runs of every kind; return their ids, the oldest first."""
    first = Made(
        "20260112-081502-a1b2", cpu=(8123.0, 8090.0, 8155.0, 8101.0, 8132.0, 8119.0, 8097.0, 8140.0), trust=Trust.VALID
    )
    slower = [value * 0.91 for value in STEADY]
    runs = [
        first,
        replace(first, run_id="20260112-093010-c3d4", iops=[value * 1.004 for value in STEADY]),
        replace(first, run_id="20260113-141230-e5f6", name="after the kernel update", iops=slower,
                kernel="6.12.3-cloud-amd64", cpu=(8302.0, 8290.0, 8255.0, 8311.0, 8287.0, 8299.0, 8260.0, 8305.0)),
        replace(first, run_id="20260113-160544-g7h8", name="gp3 with 16000 IOPS", iops=STEADY[:3], host="web-2", cpu=(),
                trust=Trust.CAVEATS, question="Does the larger volume pay?", instance="c7i.4xlarge"),
        replace(first, run_id="20260114-090120-i9j0", name="with 16 KiB blocks", block_size=16384, cpu=(), trust=None),
        replace(first, run_id="20260114-101500-k1l2", state=State.FAILED, cpu=(), iops=(1.0,), trust=Trust.INVALID,
                reason="fio ended with exit status 1: No space left on device."),
        replace(first, run_id="20260114-112233-m3n4", state=State.PARTIAL, iops=STEADY[:2], cpu=(),
                trust=Trust.DOUBTFUL,
                reason="Stopped before its end."),
        replace(first, run_id="20260114-123456-o5p6", host="local", name="quick benchmark of local",
                question="What do this host's CPU, memory and disk deliver?"),
    ]  # fmt: skip
    found = record(workstation, *runs)
    workstation.pin(first.run_id, "before the update")
    return found


def copied_library(workstation: Workstation) -> None:
    """Give `workstation`, which has not looked at its store yet, the library above; it is written down only once."""
    shutil.copy(_written_library(), workstation.library_path)


@cache
def _written_library() -> Path:
    folder = Path(mkdtemp(prefix="benchwright-library-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    writing = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    library(writing)
    writing.close()
    return folder / "runs.sqlite3"


def recalled(workstation: Workstation, runs: Iterable[str], trust: Trust, title: str) -> None:
    """Give runs a verdict of the present checks that has another trust than the one they had, for a finding `title`."""
    made = []
    for run in runs:
        record = workstation._store.load(run)
        finding = replace(FINDING, id="recalled", title=title, measured="58 % of the bytes came from memory.")
        text = f"{trust.value.capitalize()}: {title}."
        verdicts = tuple(
            replace(one, trust=trust, summary=text, findings=(finding, *one.findings)) for one in record.verdicts
        )
        was = record.verdicts[-1].trust
        recall = Recall(was, trust, title, CHECKS_VERSION + 1, "2026-11-28T09:00:00.000+00:00")
        made.append(NewVerdicts(record, verdicts, (*record.raised, FindingRaised(finding)), recall))
    workstation._store.replace_verdicts(made, CHECKS_VERSION)
