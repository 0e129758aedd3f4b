"""Name the hypothesis that explains a trial's figure, or list how far each resource was used."""

from collections.abc import Callable, Iterator, Sequence

from app.checks.disk import GENERATOR_BOUND
from app.checks.disk_others import OTHERS_ON_THE_DISK
from app.checks.evidence import as_measured, share, workers_parameter, workload_of
from app.checks.limits import cpu, disk, memory, network
from app.checks.limits.disk import WITH_FIO, WITHOUT_OTHERS
from app.checks.limits.hypothesis import Hypothesis
from app.checks.network import link_of, speed_of, throughput
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.evidence import TrialCheck, TrialEvidence
from suites.quantities import figure_text, quantity, share_text
from suites.units import Unit
from suites.verdict import Limiter
from suites.vocab import MetricKind, Resource, Severity

_NAMES = {
    Limiter.CPU: "the CPU",
    Limiter.ONE_THREAD: "a lock or a single thread",
    Limiter.OTHERS: "other processes",
    Limiter.STEAL: "steal time",
    Limiter.SWAP: "swapping",
    Limiter.DEVICE: "the device",
    Limiter.QUEUE_DEPTH: "the queue depth",
    Limiter.PROVISIONED: "a provisioned limit",
    Limiter.QUOTA: "a quota",
    Limiter.SYNC: "the sync latency",
    Limiter.LINK: "the link",
    Limiter.SHAPED: "shaping on the network path",
    Limiter.WINDOW: "the TCP window and the round trip",
    Limiter.LOSS: "packet loss on the path",
    Limiter.RECEIVER: "the receiver",
    Limiter.CLIENT: "the client’s CPU",
    Limiter.RATE: "the requested rate",
    Limiter.TOOL: "the tool",
}

AHEAD = 0.05
"""How much further than another resource one must be used to be named alone: the error of its counters."""

SATURATED = frozenset({Limiter.CPU, Limiter.MEMORY_BANDWIDTH, Limiter.DEVICE, Limiter.LINK})
"""Limits that compete: neither of two saturated resources explains the other."""

GROWS_NOT, GROWS = 1.1, 1.5
"""Speed-up by doubling the threads: below the first they do not help, above the second they do."""

MOST_REFUSED = 3
"""Most hypotheses whose counter-evidence is listed."""


def limiter_text(limiter: Limiter | None) -> str:
    """Return the limiter as it follows “limited by”: ``the CPU``; empty for None."""
    return "" if limiter is None else _NAMES.get(limiter, limiter.value)


def _rate(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the requested rate, if it was reached."""
    requested = workload_of(trial).rate_limit
    if requested is None or not requested.value:
        return
    got = throughput(trial) if requested.metric == "throughput" else trial.sum_of(requested.metric)
    metric = next((one for one in trial.suite.metrics if one.name == requested.metric), None)
    if got is not None and metric is not None:
        reached = min(1.0, got / requested.value)
        counter = f"{figure_text(metric, got)} of {figure_text(metric, requested.value)}"
        yield Hypothesis(Limiter.RATE, reached, counter, requested.then, (), requested.reached)


def _data_source(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the load generator as found by its own check, such as a slow /dev/urandom."""
    outcome = GENERATOR_BOUND.evaluate(trial)
    if isinstance(outcome, CheckOutcome) and outcome.limiter is not None:
        yield Hypothesis(outcome.limiter, 1.0, outcome.measured.rstrip("."), GENERATOR_BOUND.remedy)


_CAUSES: tuple[Callable[[TrialEvidence], Iterator[Hypothesis]], ...] = (
    _rate, disk.allowance, disk.stated, memory.tool_limit, _data_source, cpu.quota, memory.swap, cpu.lost,
    cpu.generator, network.network, disk.storage, memory.bandwidth, cpu.processors,
)  # fmt: skip
"""The hypotheses by causality: a requested rate or a quota explains whatever else it keeps busy or idle."""

_TAKEN = (cpu.quota, memory.swap, cpu.lost)
"""What takes from every point of a sweep: the counters of the whole trial show it."""


def hypotheses_of(trial: TrialEvidence) -> tuple[Hypothesis, ...]:
    """Return all hypotheses on a trial, the causes of others first."""
    return tuple(one for find in _CAUSES for one in find(as_measured(trial)))


def named(hypotheses: tuple[Hypothesis, ...]) -> Hypothesis | None:
    """Return the first hypothesis that explains the figure; None if two saturated resources do equally well."""
    explaining = [one for one in hypotheses if one.explains]
    if not explaining:
        return None
    first, rivals = explaining[0], [one for one in explaining if one.limiter in SATURATED]
    if first.limiter not in SATURATED:
        return first
    best = max(rivals, key=lambda one: one.used or 0.0)
    clear = all((best.used or 0.0) - (one.used or 0.0) >= AHEAD for one in rivals if one.limiter is not best.limiter)
    return best if clear else None


def _limited(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    trial = as_measured(trial)
    if not trial.done or trial.headline is None:
        return None
    if trial.suite.several_limits is not None:
        return _outcome(Limiter.UNKNOWN, *trial.suite.several_limits)
    curve = _curve(trial)
    if _has_points(trial):
        taken = named(tuple(one for find in _TAKEN for one in find(trial)))
        if taken is not None:
            return _outcome(taken.limiter, f"{taken.counter}.", taken.then)
        return _by_threads(trial, curve) or _outcome(
            Limiter.UNKNOWN,
            "each point of the sweep has its own.",
            "Find the knee of the curve: beyond it, more threads or I/Os give nothing.",
        )
    hypotheses = hypotheses_of(trial)
    found = named(hypotheses)
    if found is not None:
        beside = [text for text, _ in disk.stated_use(trial)[:1] if text != found.counter]
        return _outcome(found.limiter, f"{'; '.join((found.counter, *beside))}.", found.then)
    return _unknown(trial, hypotheses)


def unexplaining(trials: Sequence[TrialEvidence]) -> list[Hypothesis]:
    """Return the limits that explain none of `trials`, each with the evidence of the trial that came closest to it.

    None of a sweep: each of its points has a limit of its own.
    """
    if any(trial.suite.several_limits is not None or _has_points(trial) for trial in trials):
        return []
    every = [one for trial in trials for one in hypotheses_of(trial)]
    explaining = {one.limiter for one in every if one.explains}
    known = [one for one in every if one.used is not None and one.limiter not in explaining]
    closest = {one.limiter: one for one in sorted(known, key=lambda one: one.used or 0.0)}
    return [closest[limiter] for limiter in dict.fromkeys(one.limiter for one in known)]


def _has_points(trial: TrialEvidence) -> bool:
    """Return whether a trial has several points, as a sweep."""
    return trial.suite.sweeps or len(_curve(trial)) > 1


def _outcome(limiter: Limiter, evidence: str, then: str) -> CheckOutcome:
    """Return the outcome that names a limiter, its evidence, and the next test."""
    head = "Limit not identified" if limiter is Limiter.UNKNOWN else f"Limited by {limiter_text(limiter)}"
    return CheckOutcome(f"{head}: {evidence}", remedy=then, limiter=limiter)


def _unknown(trial: TrialEvidence, hypotheses: tuple[Hypothesis, ...]) -> CheckOutcome:
    """Return how far each resource was used, and what speaks against those that were used up."""
    deeper, more = workload_of(trial).deepened_by, workers_parameter(trial)
    then = {
        Resource.CPU: f"Set {more} to 1, then to the number of CPUs: a rate that grows is CPU-bound."
        if more
        else cpu.ALONE,
        Resource.MEMORY: f"Set {more} to 1, then to the number of CPUs, then the working set to 1 MiB."
        if more
        else cpu.ALONE,
        Resource.DISK: f"Double {deeper}: a higher rate means latency was the limit." if deeper else WITH_FIO,
        Resource.NETWORK: "Run it with four streams: a higher rate means one connection was the limit.",
        Resource.APPLICATION: "Measure its disk, network and CPU separately, and compare.",
    }.get(trial.suite.resource, "Run it again with telemetry on.")
    if isinstance(OTHERS_ON_THE_DISK.evaluate(trial), CheckOutcome):
        then = WITHOUT_OTHERS
    refused = [
        f"not {limiter_text(one.limiter)}, because {one.against[0]}"
        for one in hypotheses
        if one.used is not None and one.used >= one.enough and one.against
    ]
    return _outcome(Limiter.UNKNOWN, "; ".join((_use(trial), *refused[:MOST_REFUSED])) + ".", then)


def _use(trial: TrialEvidence) -> str:
    """Return how far each watched resource was used: ``CPU: test 41 %, others 3 %; disk vda 12 %; link eth0 3 %``."""
    watch, link, rate = trial.watch, link_of(trial), throughput(trial)
    if watch is None:
        return "no telemetry of the host"
    disks = () if workload_of(trial).no_device else watch.labels_of("disk_busy")
    used = [(share(watch.mean("disk_busy", **dict(at)), 100.0) or 0.0, f"disk {dict(at)['device']}") for at in disks]
    shares = sorted(used)[-1:]
    speed = link if isinstance(link, NotChecked) else speed_of(link)
    if not isinstance(link, NotChecked) and not isinstance(speed, NotChecked):
        part = share(rate, speed)
        shares += [] if part is None else [(part, f"link {link.name}")]
    found = [cpu.use_text(trial), *(f"{name} {share_text(part)}" for part, name in shares)]
    if not shares and rate is not None:
        found.append(quantity(rate, Unit.BITS_PER_SECOND))
    found += [text for text, _ in disk.stated_use(trial)[:1]]
    return "; ".join(text for text in found if text) or "no resource use was recorded"


def _curve(trial: TrialEvidence) -> dict[int, float]:
    """Return the first rate measured at several thread counts, keyed by thread count."""
    found: dict[str, dict[int, float]] = {}
    for figure in trial.figures:
        at = dict(figure.labels)
        if figure.metric.kind is MetricKind.RATE and set(at) == {"threads"} and at["threads"].isdigit():
            found.setdefault(figure.metric.name, {})[int(at["threads"])] = figure.value
    return next((curve for curve in found.values() if len(curve) > 1), {})


def _by_threads(trial: TrialEvidence, curve: dict[int, float]) -> CheckOutcome | None:
    """Return the limit shown by the last doubling of threads in a sweep."""
    most = max(curve, default=0)
    half = max((threads for threads in curve if 2 * threads <= most), default=0)
    if not half or not curve[half]:
        return None
    growth = curve[most] / curve[half]
    evidence = f"{most} threads gave {growth:.2f} times the rate of {half}."
    if growth < GROWS_NOT and trial.suite.resource is Resource.MEMORY:
        return _outcome(Limiter.MEMORY_BANDWIDTH, evidence, "Use memory with more or faster channels.")
    if growth > GROWS:
        return _outcome(Limiter.CPU, evidence, "Use more CPUs.")
    return None


LIMITED_BY: TrialCheck = after_check(
    id="limited-by",
    severity=Severity.INFO,
    title="Limiting factor",
    why="The figure measures the limiting resource, not the others.",
    remedy="Run the test that the finding names.",
    source="The host’s counters during the trial, and the tool’s figures.",
    evaluate=_limited,
    needs="the host’s telemetry, its facts, and the figures of the trial",
)
