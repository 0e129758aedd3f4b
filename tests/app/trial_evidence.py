"""Evidence made up for the checks of after: a trial, the host beside it, and a step of several trials."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from suites.base import Context, complete_values
from suites.checks import Check, CheckOutcome, NotChecked
from suites.evidence import HostWatch, StepOutcomeEvidence, TrialEvidence
from suites.facts import Absent, Cache, CpuFacts, Directory, Facts, Interface, MemoryFacts, ProbeMeasurements
from suites.registry import suite as find_suite
from suites.vocab import Figure, Labels, Metric, Sample, labels
from tests.disk_host import GIB

CLOCK = 1000.0
"""When the trial began, on the host's clock."""

SECONDS = 10
READ, WRITE = labels(operation="read"), labels(operation="write")


def facts(
    *, quota: float | None = None, urandom: float = 500e6, speed: int | None = 1_000_000_000, kind: str = "ext4"
) -> Facts:
    """Return a host with four processors, 32 MiB of cache, a disk vda, and a link eth0."""
    absent = Absent("not read")
    return Facts(
        host="web-1",
        read_at="2026-01-02T03:04:05Z",
        cpu=CpuFacts(
            threads=4,
            usable=4,
            quota=absent if quota is None else quota,
            caches=(Cache(level=3, kind="Unified", size=32 * 2**20, shared_by=4, instances=1),),
        ),
        memory=MemoryFacts(total=16 * GIB, available=15 * GIB),
        measured=ProbeMeasurements(urandom_rate=urandom),
        directories=(Directory(path="/var/tmp", kind=kind, device="vda", writable=True, direct=True, free=90 * GIB),),
        interfaces=(
            Interface(name="lo", state="unknown"),
            Interface(name="eth0", state="up", speed=absent if speed is None else speed),
        ),
    )


def watch(rates: Mapping[str, float], seconds: float = SECONDS, known: Facts | None = None) -> HostWatch:
    """Return telemetry once a second, from two seconds before the trial to two after it, all of it level.

    A name is that of a metric, with a colon and the label's value behind it where it has one: ``disk_busy:vda``.
    """
    samples = {
        _key(name): tuple((CLOCK - 2 + second, value) for second in range(int(seconds) + 5))
        for name, value in rates.items()
    }
    return HostWatch("web-1", CLOCK, CLOCK + seconds, samples, known, None)


def _key(name: str) -> tuple[str, Labels]:
    metric, _, value = name.partition(":")
    if not value:
        return metric, ()
    kind = {"network": "interface", "process": "process"}.get(metric.partition("_")[0], "device")
    return metric, ((kind, value),)


QUIET = {"cpu_user": 5.0, "cpu_system": 5.0}
"""A host that does next to nothing."""


def trial(
    suite: str,
    figures: Mapping[str, float] | None = None,
    *,
    at: Labels = (),
    host: Mapping[str, float] | None = None,
    known: Facts | None = None,
    samples: Sequence[float] = (),
    seconds: float = SECONDS,
    **given: object,
) -> TrialEvidence:
    """Return a trial of `suite` with `figures` by the names of its metrics, in their own units, under the labels `at`.

    `host` is its telemetry, `samples` are those of the first metric, one a second.
    """
    found = find_suite(suite)
    values = complete_values(found, given)
    metrics = {metric.name: metric for metric in (*found.metrics, *found.metrics_of(values))}
    own = facts() if known is None else known
    made = tuple(Figure(metrics[name], value, at) for name, value in (figures or {}).items())
    return TrialEvidence(
        name="step",
        suite=found,
        values=values,
        context=Context(own),
        host="web-1",
        figures=made,
        samples=_samples(made[0].metric if made else found.metrics[0], samples, at),
        duration=seconds,
        watch=None if host is None else watch({**QUIET, **host}, seconds, own),
    )


def _samples(metric: Metric, values: Sequence[float], at: Labels) -> tuple[Sample, ...]:
    return tuple(Sample(float(second), metric, value, at) for second, value in enumerate(values, 1))


def step(*trials: TrialEvidence) -> StepOutcomeEvidence:
    """Return the trials as those of one step."""
    first = trials[0]
    return StepOutcomeEvidence(
        name="step", suite=first.suite, values=first.values, context=first.context, host="web-1", trials=trials
    )


def repeated(one: TrialEvidence, values: Sequence[float]) -> StepOutcomeEvidence:
    """Return a step of trials like `one`, whose first figure has one of `values` each."""
    figure = one.figures[0]
    return step(
        *(
            replace(one, id=number, number=number, figures=(replace(figure, value=value), *one.figures[1:]))
            for number, value in enumerate(values, 1)
        )
    )


def shown(check: Check[TrialEvidence], one: TrialEvidence) -> str | None:
    """Return what `check` measured, None where it says nothing, “cannot tell” where it cannot."""
    outcome = check.evaluate(one)
    if isinstance(outcome, NotChecked):
        return "cannot tell"
    return outcome.measured if isinstance(outcome, CheckOutcome) else None
