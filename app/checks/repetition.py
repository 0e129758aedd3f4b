"""Checks across trials: spread, drift, autocorrelation, bimodality, outliers, tail percentiles, and the goal."""

import math
import statistics
from collections.abc import Callable, Iterator
from operator import itemgetter

from app.checks.evidence import busiest_core, throttled
from app.checks.goals import GOAL_MET
from app.checks.plans import FEW_TRIALS, FOR_A_SPREAD, missing_statistics
from app.checks.run_findings import HOST_TUNED
from app.comparison.caveats import CORRELATION_FROM, SIGNIFICANT, correlation_p, two_levels
from app.comparison.estimates import FEWEST_TRIALS
from app.numeric import mean_of, stats
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.evidence import HostWatch, OutcomeCheck, StepOutcomeEvidence, TrialCheck, TrialEvidence
from suites.facts import Facts, known
from suites.quantities import count_text, ends_text, figure_text, frequency_text, label_text, metric_text, share_text
from suites.verdict import Trust
from suites.vocab import Figure, Severity, labels

NOISY = 0.10
"""Coefficient of variation, and range relative to the median, from which trials vary widely (check M16)."""

VERY_NOISY = 0.30
"""Coefficient of variation from which a step's figure is doubtful."""

RANGE_UP_TO = 10
"""Most trials for which the range is checked: the range grows with the number of trials."""

LEAST_OWN = 0.01
"""Least CoV assumed for a calibrated host: a session of minutes misses the variation over hours."""

RANGE_OF_TEN = 6.0
"""The 99.9 % quantile of the range of ten trials, in standard deviations (studentized range: 5.97)."""

OUTLIER = 14.826
"""Median absolute deviations from the median: ten standard deviations of a normal spread (hyperfine)."""

DRIFTED = 0.05
"""Least relative change over the trials that counts as drift."""

ALMOST_SURE = 0.01
"""p-value of Kendall's tau between the trials and their order below which a drift is significant."""

FOR_A_DRIFT = 5
"""Fewest trials for a drift; five have to change in one direction along a line."""

STRAIGHT = 0.95
"""Least correlation of few trials with their order."""

ALONE = 4.0
"""Times the range of the others by which one trial of few is apart."""

CLOCK_CHANGED = 0.15
"""Relative difference of the mean CPU clocks of two trials that is reported."""

QUOTA_CHANGED = 0.10
"""Difference of the shares of two trials in which a quota throttled the tool."""

AT_WORK = 0.5
"""Use of the busiest CPU from which its clock is compared."""

TAIL = 10_000
"""Fewest I/Os for a p99.9, which leaves ten beyond it (check M27)."""

BARELY = 1_000
"""I/Os below which a p99.9 is the maximum."""


FEWEST_OF_DUET = 3
"""Fewest trials of a duet that have noise: two have nothing but the effect of the halves."""


def _headline_figures(step: StepOutcomeEvidence) -> Iterator[tuple[Figure, tuple[float, ...]]]:
    """Yield each figure of the headline metric with its values over the trials; of duets without the half effect."""
    first = step.done[0] if step.done else None
    headline = None if first is None else first.headline
    if first is None or headline is None:
        return
    for figure in first.all_of(headline.metric.name):
        values = step.over_trials(figure.metric.name, figure.labels)
        halves = step.halves_over(figure.metric.name, figure.labels)
        if not halves or len(values) >= FEWEST_OF_DUET:
            yield figure, _without_halves(values, halves)


def _without_halves(values: tuple[float, ...], on_first: tuple[bool, ...]) -> tuple[float, ...]:
    """Return the trials of a duet without the effect of the halves of the CPUs, which swap with each trial.

    The level of a half is its median, which an outlier does not move.
    """
    if len(set(on_first)) < 2 or min(values) <= 0:
        return values
    halves = {half: [value for value, own in zip(values, on_first, strict=True) if own is half] for half in on_first}
    levels = {half: statistics.median(own) for half, own in halves.items()}
    whole = mean_of(list(levels.values()))
    return tuple(value * whole / levels[half] for value, half in zip(values, on_first, strict=True))


def _named(figure: Figure) -> str:
    return metric_text(figure.metric, figure.labels)


def _named_in(step: StepOutcomeEvidence, figure: Figure) -> str:
    """Return the name of a figure; of a duet with what its values are without."""
    halves = step.halves_over(figure.metric.name, figure.labels)
    return f"{_named(figure)}{' without the effect of the CPU halves' if halves else ''}"


def _expected_noise(step: StepOutcomeEvidence) -> tuple[float, str]:
    """Return the expected CoV of the step's tool and its subject as text; calibration on the host takes precedence."""
    if step.host_noise is not None:
        own = max(step.host_noise.cov, LEAST_OWN)
        return own, f"{step.suite.id} on this host, calibrated on {step.host_noise.day},"
    return step.suite.usual_cov, f"{step.suite.tool} alone"


def _spread(step: StepOutcomeEvidence) -> CheckOutcome | NotChecked | None:
    own, origin = _expected_noise(step)
    allowed = 2 * own if step.host_noise else max(NOISY, 2 * own)
    reach = RANGE_OF_TEN * own if step.host_noise else allowed
    for figure, values in _headline_figures(step):
        mean, middle = statistics.fmean(values), statistics.median(values)
        if len(values) < 2 or not mean or not middle:
            continue
        lost = max(1, len(set(step.halves_over(figure.metric.name, figure.labels))))  # degrees of freedom
        squares = statistics.variance(values) * (len(values) - 1) / (len(values) - lost)
        variation, width = math.sqrt(squares) / abs(mean), (max(values) - min(values)) / abs(middle)
        if variation < allowed and (width <= reach or len(values) > RANGE_UP_TO):
            continue
        lowest, highest = figure_text(figure.metric, min(values)), figure_text(figure.metric, max(values))
        noise = f"; {origin} varies by about {share_text(own)}" if own else ""
        spread = (
            f"CoV {share_text(variation)}, range {share_text(width)} of the median"
            if len(values) >= FOR_A_SPREAD
            else f"{share_text(max(values) / min(values) - 1) if min(values) > 0 else 'all'} apart"
        )
        return CheckOutcome(
            f"{_named_in(step, figure)}: {ends_text(lowest, highest)} over {len(values)} trials, {spread}{noise}.",
            trust=Trust.DOUBTFUL if variation >= VERY_NOISY else None,
        )
    return None


def _few(step: StepOutcomeEvidence) -> CheckOutcome | None:
    count = len(step.done)
    reported = step.planned == 1 or any(one.id == FEW_TRIALS.id for one in step.findings)
    if not count or count >= FEWEST_TRIALS or reported:
        return None
    return CheckOutcome(f"{count_text(count, 'trial')}: {missing_statistics(count)}.")


def _drifted(step: StepOutcomeEvidence) -> CheckOutcome | None:
    for figure, values in _headline_figures(step):
        if len(values) < FOR_A_DRIFT or not values[0]:
            continue
        found = stats.kendalltau(range(len(values)), values)
        third = max(2, len(values) // 3)
        first, last = statistics.median(values[:third]), statistics.median(values[-third:])
        one_way = len(values) < FEWEST_TRIALS and abs(float(found.statistic)) > 1 - 1e-9 and _straight(values)
        if not first or abs(last / first - 1) < DRIFTED or not (one_way or float(found.pvalue) < ALMOST_SURE):
            continue
        way = "rose" if last > first else "fell"
        if one_way:
            first, last = values[0], values[-1]
            course = ", ".join(figure_text(figure.metric, value) for value in values)
        else:
            ends = f"{figure_text(figure.metric, first)} to {figure_text(figure.metric, last)}"
            course = f"{ends}, medians of the first and last {third} of {len(values)} trials"
        return CheckOutcome(f"{_named_in(step, figure)} {way}: {course} ({share_text(abs(last / first - 1))}).")
    return None


def _straight(values: tuple[float, ...]) -> bool:
    """Return whether the values follow a line: few values in order do so by chance, but hardly along a line."""
    return abs(statistics.correlation(range(len(values)), values)) >= STRAIGHT


def _correlated(step: StepOutcomeEvidence) -> CheckOutcome | None:
    for figure, values in _headline_figures(step):
        p = correlation_p(values)
        if p is not None and p < SIGNIFICANT:
            return CheckOutcome(
                f"{_named_in(step, figure)}: the trials are autocorrelated (p = {p:.3f}, n = {len(values)})."
            )
    return None


def _levels(step: StepOutcomeEvidence) -> CheckOutcome | None:
    for figure, values in _headline_figures(step):
        found = two_levels(values)
        if found is not None and found[1] > (1 + DRIFTED) * found[0] > 0:
            low, high = (figure_text(figure.metric, level) for level in found)
            return CheckOutcome(
                f"{_named_in(step, figure)}: the {len(values)} trials form two levels, about {low} and {high}."
            )
    return None


def _outliers(step: StepOutcomeEvidence) -> CheckOutcome | None:
    for figure, values in _headline_figures(step):
        middle = statistics.median(values)
        if len(values) < FOR_A_SPREAD or not middle:
            continue
        odd = [
            f"trial {number} ({figure_text(figure.metric, value)})"
            for number, value in enumerate(values, 1)
            if abs(value / middle - 1) > DRIFTED and _is_outlier(value, values)
        ]
        if odd:
            listed = ", ".join(odd[:5])
            return CheckOutcome(
                f"{_named_in(step, figure)}: {listed}; the median is {figure_text(figure.metric, middle)}."
            )
    return None


def _is_outlier(value: float, values: tuple[float, ...]) -> bool:
    """Return whether a value is an outlier: by the median absolute deviation; of few, by the range of the others."""
    middle = statistics.median(values)
    if len(values) >= FEWEST_TRIALS:
        deviation = statistics.median(abs(one - middle) for one in values)
        return abs(value - middle) > OUTLIER * deviation
    others = list(values)
    others.remove(value)
    return min(abs(value - one) for one in others) > max(NOISY * abs(middle), ALONE * (max(others) - min(others)))


def _conditions(step: StepOutcomeEvidence) -> CheckOutcome | NotChecked | None:
    """Report settings of the host and the clock or quota of its CPUs that changed between the trials."""
    watched = [(number, one.watch) for number, one in enumerate(step.done, 1) if one.watch is not None]
    if len(watched) < 2:
        return None if len(step.done) < 2 else NotChecked("No telemetry of the host.")
    watches = [one for _, one in watched]
    tuned = any(one.id == HOST_TUNED.id for one in step.findings)
    parts = [] if tuned else list(_settings_changed(watches[0].before, watches[-1].after))
    clocks = [(n, clock) for n, one in watched if (clock := _clock(one)) is not None]
    if clocks:
        (slow, low), (fast, high) = min(clocks, key=itemgetter(1)), max(clocks, key=itemgetter(1))
        if high >= (1 + CLOCK_CHANGED) * low:
            parts.append(f"CPU clock {frequency_text(high)} in trial {fast}, {frequency_text(low)} in trial {slow}")
    held = [(n, share) for n, one in watched if (share := throttled(one)) is not None]
    if held:
        (free, least), (held_trial, most) = min(held, key=itemgetter(1)), max(held, key=itemgetter(1))
        if most - least >= QUOTA_CHANGED:
            parts.append(
                f"CPU quota throttled {share_text(most)} of trial {held_trial}, {share_text(least)} of trial {free}"
            )
    return CheckOutcome(f"Changed during the run: {'; '.join(parts)}.") if parts else None


def _clock(watch: HostWatch) -> float | None:
    """Return the mean clock of the CPUs in a trial that kept one busy; None if idle or unknown."""
    at_work = busiest_core(watch)
    return watch.mean("clock_frequency") if at_work is not None and at_work >= AT_WORK else None


_SETTINGS: tuple[tuple[str, Callable[[Facts], object]], ...] = (
    ("CPU quota", lambda facts: known(facts.cpu.quota) or "none"),
    ("memory limit", lambda facts: known(facts.memory.limit) or "none"),
    ("governor", lambda facts: known(facts.cpu.governor)),
    ("energy preference", lambda facts: known(facts.cpu.energy_preference)),
    ("boost", lambda facts: known(facts.cpu.boost)),
    ("usable CPUs", lambda facts: known(facts.cpu.usable)),
    ("hyperthreading", lambda facts: known(facts.cpu.hyperthreading)),
    ("NUMA balancing", lambda facts: known(facts.cpu.numa_balancing)),
    ("transparent_hugepage", lambda facts: known(facts.memory.transparent_huge_pages)),
)


def _settings_changed(before: Facts | None, after: Facts | None) -> Iterator[str]:
    """Yield the settings of the host that differ after the run; unknown ones are not compared."""
    if before is None or after is None:
        return
    for name, read in _SETTINGS:
        old, new = read(before), read(after)
        if old is not None and new is not None and old != new:
            yield f"{name} {_setting_text(old)}, then {_setting_text(new)}"


def _setting_text(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else f"{value}"


def _thin_tail(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    for tail in trial.as_named("latency_p99_9") if trial.done else ():
        count = trial.value("issued_ios", **dict(tail.labels))
        rate, seconds = trial.value("iops", **dict(tail.labels)), trial.values.get("runtime")
        if count is None and rate is not None and isinstance(seconds, int | float) and seconds:
            count = rate * seconds
        if count is None:
            return NotChecked("The number of I/Os behind the percentile is unknown.")
        if count < TAIL:
            scarce = count < BARELY
            return CheckOutcome(
                f"{_named(tail)} rests on the slowest {max(1, round(count / 1000))} of {count:.0f} I/Os.",
                severity=Severity.WARNING if scarce else None,
                trust=Trust.CAVEATS if scarce else None,
            )
    return None


_OVER_TRIALS = "the headline figure of every trial"

_LATENCIES = (("mean", "{} on average"), ("p99", "p99 {}"))


def latency_text(step: StepOutcomeEvidence) -> str:
    """Return the latency of the headline IOPS: ``at 310 µs on average, p99 1.2 ms``; empty without one.

    Of rates in two directions at once, return the other or both. The latency of flushes leads: the application waits
    for them.
    """
    figure = step.headline
    if figure is not None and figure.metric.name.startswith("total_"):
        return _both_ways(step, figure.metric.name.removeprefix("total_"))
    if figure is not None and "direction" in dict(figure.labels):
        return _other_way(step, figure)
    if figure is None or figure.metric.name != "iops":
        return ""
    sync = labels(**{**dict(figure.labels), "operation": "sync"})
    at, what = (sync, "flush latency ") if step.done[0].latency("mean", sync) is not None else (figure.labels, "")
    found, kinds = list[str](), set[str]()
    for statistic, template in _LATENCIES:
        latencies = [one for trial in step.done if (one := trial.latency(statistic, at)) is not None]
        if latencies:
            metric = latencies[0].metric
            kinds.add(metric.name.removesuffix(f"_{statistic}"))
            kind = f"{metric.title.partition(',')[0].lower()} " if len(kinds) > 1 else ""  # not that of the mean
            middle = mean_of([one.value for one in latencies])  # as the headline, so that its parts fit together
            found.append(kind + template.format(figure_text(metric, middle)))
    return f"at {what}{', '.join(found)}" if found else ""


def _other_way(step: StepOutcomeEvidence, figure: Figure) -> str:
    """Return the headline of the other direction at the same time: ``and receive 9.8 Gbit/s``; empty without one."""
    end = {**dict(figure.labels), "direction": ""}
    for one in step.done[0].all_of(figure.metric.name):
        if one.labels != figure.labels and {**dict(one.labels), "direction": ""} == end:
            found = mean_of(step.over_trials(one.metric.name, one.labels))
            return f"and {dict(one.labels).get('direction', '')} {figure_text(one.metric, found)}"
    return ""


def _both_ways(step: StepOutcomeEvidence, metric: str) -> str:
    """Return the parts of a total: ``(read 7,000 IOPS, write 3,000 IOPS)``; empty for one, which is the total."""
    parts = [
        f"{label_text(one.labels)} {figure_text(one.metric, mean_of(step.over_trials(metric, one.labels)))}"
        for one in step.done[0].all_of(metric)
    ]
    return f"({', '.join(parts)})" if len(parts) > 1 else ""


TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    after_check(
        id="thin-tail",
        severity=Severity.INFO,
        title="Percentile rests on few I/Os",
        why="A handful of I/Os decide this percentile, and it differs in the next run.",
        remedy="Run longer: 10,000 I/Os leave ten beyond the 99.9th percentile.",
        source="HdrHistogram’s documentation: how many values a percentile needs.",
        evaluate=_thin_tail,
        needs="the rate, the runtime and the 99.9th percentile",
    ),
)

OUTCOME_CHECKS: tuple[OutcomeCheck, ...] = (
    after_check(
        id="trials-disagree",
        title="Trials vary widely",
        why="Another trial may give any value in this range.",
        remedy="Compare the host’s charts of the lowest and the highest trial, remove the cause, and run it again.",
        source="pyperf and a database vendor’s noise study: CoV or (max − min) / median from 10 %; on a calibrated "
        "host twice its own CoV, or six times in the range.",
        evaluate=_spread,
        needs=f"{_OVER_TRIALS}, at least two, and the host’s calibration where there is one",
    ),
    after_check(
        id="few-trials-done",
        severity=Severity.INFO,
        title=FEW_TRIALS.title,
        why=FEW_TRIALS.why,
        remedy=FEW_TRIALS.remedy,
        source=FEW_TRIALS.source,
        evaluate=_few,
        needs="the completed trials",
    ),
    after_check(
        id="drifted",
        title="Trials drift over time",
        why="Something changes steadily: heat, credits, a cache, a filling volume. The median describes no point in "
        "time.",
        remedy="Find what changes, or interleave the trials with those to compare.",
        source="Kendall’s rank correlation with the trials’ order, p < 0.01, of five trials all in order along a line; "
        "5 % between first and last third.",
        evaluate=_drifted,
        needs=f"{_OVER_TRIALS}, at least five",
    ),
    after_check(
        id="trials-correlated",
        title="Trials are autocorrelated",
        why="Correlated trials carry less information than independent ones: every interval is too narrow.",
        remedy="Pause between trials, or randomise their order.",
        source="A permutation test of the first autocorrelation, 5 %.",
        evaluate=_correlated,
        needs=f"{_OVER_TRIALS}, at least {CORRELATION_FROM}",
    ),
    after_check(
        id="two-levels",
        severity=Severity.INFO,
        title="Trials are bimodal",
        why="A mean or median between two levels is a value that no trial has.",
        remedy="Quote both levels, and find what switches between them.",
        source="Otsu’s criterion: 90 % of the variance is between the levels.",
        evaluate=_levels,
        needs=f"{_OVER_TRIALS}, at least six",
        trust=Trust.CAVEATS,
    ),
    after_check(
        id="outliers",
        severity=Severity.INFO,
        title="Outliers among the trials",
        why="Outliers are shown and counted: they may be errors, or what the application meets too.",
        remedy="Check the host’s charts for these trials. Exclude a trial only by hand, with a reason.",
        source="hyperfine: more than 14.8 median absolute deviations from the median; of up to five trials, four times "
        "the range of the others and 10 %.",
        evaluate=_outliers,
        needs=f"{_OVER_TRIALS}, at least three",
    ),
    after_check(
        id="conditions-changed",
        title="Host changed between the trials",
        why="The trials are of two configurations: their median and their interval describe neither.",
        remedy="Find what changed it, keep it fixed, and run it again.",
        source="The host’s settings before and after the run; CPU clock and cgroup throttling in each trial.",
        evaluate=_conditions,
        needs="the host’s facts before and after, and telemetry of two trials",
    ),
    GOAL_MET,
)
