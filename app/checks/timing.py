"""Checks of the rate over a trial: its shape, the rounds of SNIA PTS, and a mean latency far above the median."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from app.checks.evidence import RUNNING, as_measured
from app.checks.shapes import FEWEST, Shape, ShapeKind, Span, shape_of
from app.checks.starts import MIN_SAMPLES, start_of, start_text
from suites.checks import CheckOutcome, NotChecked, after_check, during_check
from suites.evidence import TrialCheck, TrialEvidence, series_of
from suites.quantities import count_text, duration_text, figure_text, metric_text, quantity, share_text
from suites.snia.output import ROUNDS, STEADY_AFTER, WINDOW_DIFFERENCE, WINDOW_RANGE, WINDOW_SLOPE
from suites.snia.steady import PTS_RANGE, PTS_SLOPE, WINDOW, WINDOWS_AGREE
from suites.units import Unit, convert, same_dimension
from suites.verdict import Trust
from suites.vocab import Figure, Metric, MetricKind, Resource, Sample, Severity

LASTED = 10
"""Samples that a new level must last in a running trial: a dip may end."""

LASTED_PART = 0.1
"""The share of all samples that it must last."""

LATE = 0.6
"""The share of the expected time after which a rate must have settled."""

LARGE = 0.20
"""Relative difference of the levels from which the figure of a rate that has not settled is doubtful."""

SMALL = 0.01
"""Relative effect on the mean below which a dip or peak is a note."""

MOST_LISTED = 3
"""Dips or peaks that are listed with their times."""

TAIL = 5.0
"""Times the median from which a mean latency is reported."""


_Found = tuple[Metric, Shape] | None

_latest: deque[tuple[TrialEvidence, _Found]] = deque(maxlen=1)


def rate_shape(trial: TrialEvidence) -> _Found:
    """Return the shape of the headline rate of a completed or running trial; None if it is flat or no rate.

    Of a running trial, only a shape that the rest of the trial cannot turn into another. Several checks read that of
    the same trial one after the other.
    """
    for one, found in tuple(_latest):
        if one is trial:
            return found
    made = _rate_shape(trial)
    _latest.append((trial, made))
    return made


def _rate_shape(trial: TrialEvidence) -> _Found:
    if not (trial.done or trial.state == RUNNING) or by_rounds(trial) or trial.suite.searches:
        return None
    samples = _rate_series(trial)
    if len(samples) < FEWEST:
        return None
    metric, running = samples[0].metric, trial.state == RUNNING
    expected = (trial.expected or 0.0) if running else 0.0
    times, values = [one.time for one in samples], [one.value for one in samples]
    found = shape_of(times, values, expected, _counted_event(trial, metric))
    if found is None or (running and not _lasts(found, len(samples), expected)):
        return None
    return metric, found


TOO_FEW = NotChecked(f"Fewer than {FEWEST} samples of a rate.")


def _lacks_samples(trial: TrialEvidence) -> bool:
    return not by_rounds(trial) and not trial.suite.searches and len(_rate_series(trial)) < FEWEST


def _counted_event(trial: TrialEvidence, metric: Metric) -> float:
    """Return by how much one event or block a second changes a rate, in its unit; 0 if unknown."""
    block = trial.values.get("block_size")
    if metric.unit is Unit.PER_SECOND:
        return 1.0
    if not isinstance(block, int) or not same_dimension(metric.unit, Unit.BYTES_PER_SECOND):
        return 0.0
    return convert(block, Unit.BYTES_PER_SECOND, metric.unit)


def _rate_series(trial: TrialEvidence) -> tuple[Sample, ...]:
    """Return the samples of the headline rate; of a headline that is no rate, those of the first rate."""
    samples = trial.headline_series()
    if samples and samples[0].metric.kind is MetricKind.RATE:
        return samples
    first = next((one for one in trial.samples if one.metric.kind is MetricKind.RATE), None)
    return () if first is None else trial.series(first.metric.name, first.labels)


def _lasts(found: Shape, count: int, expected: float) -> bool:
    """Return whether the last level of a shape in a running trial has lasted."""
    if found.kind in {ShapeKind.DECAY, ShapeKind.RISE}:
        return found.end >= LATE * expected > 0
    if found.kind in {ShapeKind.STALL, ShapeKind.TELEGRAPH}:
        return len(found.spans) >= 4
    interval = found.end / count
    return (found.end - found.spans[-1].until) / interval >= max(LASTED, LASTED_PART * count)


def _on_shape(
    kinds: frozenset[ShapeKind],
    words: Callable[[Metric, Shape], CheckOutcome],
    remedies: Mapping[Resource, str] | None = None,
) -> Callable[[TrialEvidence], CheckOutcome | NotChecked | None]:
    """Return an evaluation that reports the rate's shape if it is one of `kinds`; `remedies` are those by resource."""

    def evaluate(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
        found = rate_shape(trial)
        if found is None or found[1].kind not in kinds:
            return TOO_FEW if found is None and trial.done and _lacks_samples(trial) else None
        return replace(words(*found), remedy=(remedies or {}).get(as_measured(trial).suite.resource))

    return evaluate


def _worst(metric: Metric, found: Shape) -> str:
    return f"Worst second: {figure_text(metric, found.worst[1])} at {duration_text(found.worst[0])}."


def _burst(metric: Metric, found: Shape) -> CheckOutcome:
    until = found.spans[0].until
    size = _bucket_size(metric, found)
    return CheckOutcome(
        f"{figure_text(metric, found.other)} until {duration_text(until)}, then {figure_text(metric, found.level)}. "
        f"This fits a token bucket of about {size} above the lower rate."
    )


def _bucket_size(metric: Metric, found: Shape) -> str:
    """Return the size of the bucket, (high - low) x time, in the metric's unit times seconds."""
    return quantity((found.other - found.level) * found.spans[0].until, metric.unit).removesuffix("/s")


def _step(metric: Metric, found: Shape) -> CheckOutcome:
    down = found.kind is ShapeKind.STEP_DOWN
    until = found.spans[0].until
    measured = (
        f"Rate steps {'down' if down else 'up'} from {figure_text(metric, found.other)} to "
        f"{figure_text(metric, found.level)} at {duration_text(until)}; the last level lasts "
        f"{duration_text(found.end - until)}."
    )
    if down:
        measured += f" A token bucket of about {_bucket_size(metric, found)} above the lower rate ends the same way."
    return CheckOutcome(measured)


def _slope(metric: Metric, found: Shape) -> CheckOutcome:
    way = "falls" if found.kind is ShapeKind.DECAY else "rises"
    levels = f"Rate {way} from {figure_text(metric, found.other)} to {figure_text(metric, found.level)}"
    far = abs(found.other / found.level - 1) if found.level else 1.0
    if found.settled:
        until = duration_text(found.spans[0].until)
        return CheckOutcome(f"{levels} until {until}, then it is level. {_worst(metric, found)}")
    return CheckOutcome(
        f"{levels} at {duration_text(found.end)} and has not levelled off. {_worst(metric, found)}",
        trust=Trust.DOUBTFUL if far > LARGE else None,
    )


def _dips(metric: Metric, found: Shape) -> CheckOutcome:
    verb = "dips" if found.kind is ShapeKind.DIP else "peaks"
    other, level = figure_text(metric, found.other), figure_text(metric, found.level)
    count = len(found.spans)
    times = f"{verb} {count} times" if count > 1 else verb
    parts = f"Rate {times} {'to' if verb == 'dips' else 'at'} {other} {_spans_text(found.spans)}; {level} otherwise."
    return CheckOutcome(
        f"{parts} {_worst(metric, found)}", severity=Severity.INFO if abs(found.effect) < SMALL else None
    )


def _spans_text(spans: Sequence[Span]) -> str:
    parts = [f"between {duration_text(one.since)} and {duration_text(one.until)}" for one in spans[:MOST_LISTED]]
    more = len(spans) - MOST_LISTED
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def _stalls(metric: Metric, found: Shape) -> CheckOutcome:
    return CheckOutcome(
        f"Rate stalls every {found.period:.1f} s for {found.length:.1f} s, {count_text(len(found.spans), 'time')}; "
        f"{figure_text(metric, found.level)} between stalls. {_worst(metric, found)}"
    )


def _alternates(metric: Metric, found: Shape) -> CheckOutcome:
    return CheckOutcome(
        f"Rate alternates between {figure_text(metric, found.level)} and {figure_text(metric, found.other)}, about "
        f"every {duration_text(found.period)}, {len(found.spans)} times low for {duration_text(found.length)} on "
        f"average. {_worst(metric, found)}"
    )


def by_rounds(trial: TrialEvidence) -> bool:
    """Return whether the trial's figures are those of its last rounds, independent of the rounds before."""
    return ROUNDS in trial.suite.metrics


def unsteady_rounds(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the outcome for last rounds that are not steady by both criteria; None if they are.

    A missed criterion of the standard is an error. Met alone, the figure may be that of a slow decay: doubtful if
    two windows differ, a caveat if there are too few rounds for two.
    """
    rounds, difference = trial.value(ROUNDS.name), trial.value(WINDOW_DIFFERENCE.name)
    shares = (trial.value(WINDOW_RANGE.name), trial.value(WINDOW_SLOPE.name))
    if rounds is None or None in shares:
        return None
    windows = _rounds_text(trial)
    standard = rounds >= WINDOW and all(
        share is not None and share <= 100 * bound + 1e-6
        for share, bound in zip(shares, (PTS_RANGE, PTS_SLOPE), strict=True)
    )
    if not standard:
        return CheckOutcome(f"After {rounds:.0f} rounds: {windows}.", severity=Severity.ERROR, trust=Trust.DOUBTFUL)
    if difference is None:
        only = f"Steady by one window of {WINDOW} rounds only; {rounds:.0f} rounds are too few for two."
        return CheckOutcome(f"{only} {windows.capitalize()}.", trust=Trust.CAVEATS)
    if difference > 100 * WINDOWS_AGREE + 1e-6:
        level = Severity.WARNING if trial.value(STEADY_AFTER.name) else Severity.ERROR
        return CheckOutcome(f"After {rounds:.0f} rounds: {windows}.", severity=level, trust=Trust.DOUBTFUL)
    return None


def _rounds_text(trial: TrialEvidence) -> str:
    figures = {figure.metric.name: figure for figure in trial.figures if not figure.labels}
    parts = (
        (WINDOW_RANGE, "range {} of the mean over the last five", PTS_RANGE),
        (WINDOW_SLOPE, "slope {}", PTS_SLOPE),
        (WINDOW_DIFFERENCE, "difference {} from the five before", WINDOWS_AGREE),
    )
    return ", ".join(
        f"{text.format(figure_text(metric, figures[metric.name].value))} (at most {100 * bound:.0f} %)"
        for metric, text, bound in parts
        if metric.name in figures
    )


def _tail(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    """Report a mean latency far above the median, unless the shape of the rate explains it."""
    if not trial.done or rate_shape(trial) is not None:
        return None
    compared = False
    for kind in ("total_latency", "latency"):
        medians = {figure.labels: figure for figure in trial.all_of(f"{kind}_p50") if figure.value > 0}
        for mean in trial.all_of(f"{kind}_mean"):
            median = medians.get(mean.labels)
            compared = compared or median is not None
            if median is not None and _seconds(mean) >= TAIL * _seconds(median):
                return CheckOutcome(
                    f"Mean latency {figure_text(mean.metric, mean.value)} is {_seconds(mean) / _seconds(median):.3g} "
                    f"times the median of {figure_text(median.metric, median.value)}."
                )
    return None if compared else NotChecked("No mean and median latency.")


def _start(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    """Report a start that differs from the rest, in any direction, unless the shape of the rate shows it."""
    headline = trial.headline
    if not trial.done or headline is None or by_rounds(trial) or rate_shape(trial) is not None:
        return None
    most = 0
    for figure in trial.all_of(headline.metric.name):
        samples = series_of(trial.suite, trial.samples, figure.metric.name, figure.labels)
        most = max(most, len(samples))
        found = start_of([one.time for one in samples], [one.value for one in samples])
        if found is not None:
            means = (figure_text(figure.metric, mean) for mean in (found.whole, found.rest))
            name = metric_text(figure.metric, figure.labels)
            return CheckOutcome(f"{name}: {start_text(found)} ({' with it, '.join(means)} without).")
    return None if most >= MIN_SAMPLES else NotChecked(f"Fewer than {MIN_SAMPLES} samples of the headline metric.")


def _seconds(figure: Figure) -> float:
    return convert(figure.value, figure.metric.unit, Unit.SECOND)


_UNTIL_LEVEL = {
    Resource.DISK: "Precondition the device or set a longer ramp-up, and measure longer.",
    Resource.CPU: "Set a warm-up until clock and temperature are level, and measure longer.",
    Resource.NETWORK: "Leave out the start (TCP slow start) by a ramp-up, and measure longer.",
}
_AT_THIS_INTERVAL = dict.fromkeys(
    (Resource.DISK, Resource.APPLICATION),
    "Find what runs at this interval: journal commits, write-back, a checkpoint, a timer.",
)

_SERIES = "the samples of the headline rate, at least 20"
_SIMULATED = "Change points by optimal partitioning (Killick 2012) with long-run variance; simulated for this project."

ROUNDS_CHECK: TrialCheck = after_check(
    id="not-steady",
    title="Steady state not reached",
    why="The rate was still changing, so the figure depends on the runtime.",
    remedy="Precondition the device, set a ramp-up, and measure longer.",
    source="SNIA PTS: range ≤ 20 %, slope ≤ 10 % of the mean; and two windows that agree within 5 %.",
    evaluate=lambda trial: unsteady_rounds(trial) if trial.done and by_rounds(trial) else None,
    needs="the rounds of the test",
)

SHAPE_CHECKS: tuple[TrialCheck, ...] = (
    during_check(
        id="token-bucket",
        title="Throughput dropped after a burst",
        why="The figure mixes the burst rate and the sustained rate. The application's runtime decides which one "
        "matters.",
        remedy="Quote both. To measure the sustained rate, run until the burst is used up and exclude that time.",
        source=f"{_SIMULATED} Burst credits of cloud volumes and networks.",
        evaluate=_on_shape(frozenset({ShapeKind.BURST}), _burst),
        needs=_SERIES,
    ),
    during_check(
        id="changed-late",
        title="Rate changed level",
        why="The figure mixes two levels, and the last one may not be the final one.",
        remedy="Find what changed in the host’s charts at that time; measure three times as long.",
        source=f"{_SIMULATED} Barrett et al., OOPSLA 2017: the last segment has to be the longest part.",
        evaluate=_on_shape(frozenset({ShapeKind.STEP_DOWN, ShapeKind.STEP_UP}), _step),
        needs=_SERIES,
    ),
    during_check(
        id="still-on-its-way",
        title="Rate was not steady",
        why="Caches, clocks or credits fill or drain: another runtime gives another figure.",
        remedy="Set a ramp-up until the rate is level, and measure longer.",
        source=_SIMULATED,
        evaluate=_on_shape(frozenset({ShapeKind.DECAY, ShapeKind.RISE}), _slope, _UNTIL_LEVEL),
        needs=f"{_SERIES}; during a trial, after {share_text(LATE)} of the expected time",
    ),
    during_check(
        id="rate-dips",
        title="Rate dipped or peaked",
        why="A disturbance of some seconds is part of the figure; another trial may have none or several.",
        remedy="Find its cause in the host’s charts at that time, and run it again.",
        source=_SIMULATED,
        evaluate=_on_shape(frozenset({ShapeKind.DIP, ShapeKind.PEAK}), _dips),
        needs=_SERIES,
    ),
    during_check(
        id="rate-stalls",
        title="Rate stalls periodically",
        why="Requests wait in each stall: the mean hides it, the highest percentiles show it.",
        remedy="Find what runs at this interval: a timer, a backup, a throttled cgroup.",
        source=_SIMULATED,
        evaluate=_on_shape(frozenset({ShapeKind.STALL}), _stalls, _AT_THIS_INTERVAL),
        needs=_SERIES,
    ),
    during_check(
        id="rate-alternates",
        title="Rate alternates between two levels",
        why="The mean is a value between two levels that the rate never has; it depends on the time at each.",
        remedy="Quote both levels, and find what switches between them.",
        source=f"{_SIMULATED} Otsu’s criterion: 85 % of the variance is between the levels.",
        evaluate=_on_shape(frozenset({ShapeKind.TELEGRAPH}), _alternates),
        needs=_SERIES,
    ),
)
"""Checks of which one at most reports a trial: its rate has one shape."""

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    *SHAPE_CHECKS,
    ROUNDS_CHECK,
    after_check(
        id="unsteady-start",
        severity=Severity.INFO,
        title="Start-up transient in the samples",
        why="Caches, clocks or credits were still settling, and the figure includes that time.",
        remedy="Set a ramp-up of that length, or run longer. Nothing was left out.",
        source="MSER-5 (White 1997) and least-squares change points.",
        evaluate=_start,
        needs="the samples of the headline metric",
    ),
    after_check(
        id="mean-above-median",
        title="Mean latency far above the median",
        why="Few slow requests make up most of the mean: most requests are far faster.",
        remedy="Quote percentiles beside the mean, and find the slow requests: a rate limit, a cache, sync writes.",
        source="Mean and median of the tool’s own histogram, from five times on.",
        evaluate=_tail,
        needs="mean and median latency",
    ),
)
