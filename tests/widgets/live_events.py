"""Events of a run as the tests of the live view need them: short to write, like those of a real run."""

from collections.abc import Iterable

from app.events import Event, RunStarted, SampleRead, State, Trial, TrialEnded, TrialStarted
from app.plans.plan import Plan, Repetition, make_step
from suites.base import Command
from suites.fio.metrics import IOPS, LATENCY_P99
from suites.outputs import ParsedTrial
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Sample, labels
from widgets.live.model import RunModel, StepKey

READ = labels(operation="read")
WRITE = labels(operation="write")
PLACE: StepKey = ("disk", "web-1")
CPU_USER = Metric("cpu_user", "CPU, programs", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
CLOCK = 5000.0


def plan(trials: int = 3, hosts: tuple[str, ...] = ("web-1",)) -> Plan:
    """Return a plan with a disk test and a CPU test."""
    steps = (make_step("fio", {}, name="disk"), make_step("sysbench-cpu", {}, name="cpu"))
    return Plan("Quick", hosts, steps, repetition=Repetition(trials=trials))


def trial(id_: int = 1, number: int = 1, *, warm_up: bool = False, step: str = "disk") -> Trial:
    """Return a trial on web-1 whose tool began at CLOCK."""
    command = Command(("fio", "--name=a b", "--rw=randrw"))
    return Trial(id_, "web-1", step, number, warm_up, (command,), "2026-01-01T00:00:00+00:00", CLOCK)


def begin(id_: int = 1, number: int = 1, *, warm_up: bool = False, expected: float | None = 10.0) -> TrialStarted:
    """Return the beginning of a trial."""
    return TrialStarted(trial(id_, number, warm_up=warm_up), expected)


def sample(
    value: float, time: float, id_: int = 1, *, metric: Metric = IOPS, labelled: Labels = READ, warm_up: bool = False
) -> SampleRead:
    """Return a sample of a trial."""
    return SampleRead(id_, Sample(time, metric, value, labelled, warm_up))


def end(value: float | None, id_: int = 1, state: State = State.DONE, reason: str = "") -> TrialEnded:
    """Return the end of a trial with `value` as its IOPS, and a p99 of 2 ms."""
    figures = () if value is None else (Figure(IOPS, value, READ), Figure(LATENCY_P99, 2e6, READ))
    return TrialEnded(id_, state, 0 if value is not None else 1, ParsedTrial(figures), reason)


def folded(events: Iterable[Event], of: Plan | None = None) -> RunModel:
    """Return the model of a run after `events`, one a second."""
    model = RunModel(of or plan())
    model.fold(RunStarted("run-1", model.plan, "2026-01-01T00:00:00+00:00"), 0.0)
    for now, event in enumerate(events, start=1):
        model.fold(event, float(now))
    return model
