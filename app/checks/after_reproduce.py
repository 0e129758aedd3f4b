"""Does it reproduce: spread, drift, levels and outliers of the trials, and how much a percentile rests on."""

import statistics
from collections.abc import Iterator

from app.checks.plans import FOR_A_SPREAD
from app.comparing.assumptions import CORRELATION_FROM, SIGNIFICANT, correlation_p, two_levels
from app.comparing.intervals import FEWEST_TRIALS
from app.wording import figure_text, metric_text, share_text
from suites.checks import CannotTell, Check, Outcome, OutcomeCheck, TrialCheck, When
from suites.evidence import StepOutcomeEvidence, TrialEvidence
from suites.verdict import Trust
from suites.vocab import Figure, Level

NOISY = 0.10
"""The coefficient of variation, and the range by the median, from which trials do not agree (check M16)."""

VERY_NOISY = 0.30
"""The coefficient of variation from which the figure of a step is doubtful."""

RANGE_UP_TO = 10
"""Trials up to which the range is looked at: it grows with their number whatever they are."""

OWN_NOISE = {
    "sysbench-mutex": 0.10,
    "sysbench-threads": 0.10,
    "unixbench": 0.05,
    "cp": 0.10,
    "dd": 0.10,
    "ioping": 0.10,
}
"""The variation that a tool shows by itself on a quiet host, as far as it is known: one stream of few, short or
lock-bound events. Twice as much is expected of it before anybody else is blamed."""

LEAST_OWN = 0.01
"""The least variation that is expected of a calibrated host: an A/A test of minutes knows nothing of hours."""

RANGE_OF_TEN = 6.0
"""Standard deviations that ten trials span in 999 of 1,000 cases (the studentized range: 5.97)."""

OUTLIER = 14.826
"""Median absolute deviations from the median: ten standard deviations of a normal spread (hyperfine)."""

DRIFTED = 0.05
"""The least change along the trials that is called a drift."""

ALMOST_SURE = 0.01
"""The p-value of Kendall's tau between the trials and their order, below which a drift is more than chance."""

TAIL = 10_000
"""I/Os that a p99.9 should rest on: ten of them lie beyond it (check M27)."""

BARELY = 1_000
"""I/Os below which a p99.9 is the maximum under another name."""


def _leading(step: StepOutcomeEvidence) -> Iterator[tuple[Figure, tuple[float, ...]]]:
    """Yield each figure of the leading metric, with its values over the trials."""
    first = step.done[0] if step.done else None
    headline = None if first is None else first.headline
    if first is None or headline is None:
        return
    for figure in first.all_of(headline.metric.name):
        yield figure, step.over_trials(figure.metric.name, figure.labels)


def _named(figure: Figure) -> str:
    return metric_text(figure.metric, figure.labels)


def _expected_noise(step: StepOutcomeEvidence) -> tuple[float, str]:
    """Return the variation that is expected of the step's tool by itself, and in words whose that is.

    What was measured on the host goes before what is known of the tool in general.
    """
    if step.own_noise is not None:
        own = max(step.own_noise.cov, LEAST_OWN)
        return own, f"{step.suite.id} on this host, calibrated on {step.own_noise.day},"
    return OWN_NOISE.get(step.suite.id, 0.0), f"{step.suite.tool} alone"


def _spread(step: StepOutcomeEvidence) -> Outcome | CannotTell | None:
    own, whose = _expected_noise(step)
    allowed = 2 * own if step.own_noise else max(NOISY, 2 * own)
    reach = RANGE_OF_TEN * own if step.own_noise else allowed
    for figure, values in _leading(step):
        mean, middle = statistics.fmean(values), statistics.median(values)
        if len(values) < FOR_A_SPREAD or not mean or not middle:
            continue
        variation, width = statistics.stdev(values) / abs(mean), (max(values) - min(values)) / abs(middle)
        if variation < allowed and (width <= reach or len(values) > RANGE_UP_TO):
            continue
        lowest, highest = figure_text(figure.metric, min(values)), figure_text(figure.metric, max(values))
        noise = f"; {whose} varies by about {share_text(own)}" if own else ""
        return Outcome(
            f"{_named(figure)}: {lowest} to {highest} over {len(values)} trials, CoV {share_text(variation)}, range "
            f"{share_text(width)} of the median{noise}.",
            trust=Trust.DOUBTFUL if variation >= VERY_NOISY else None,
        )
    return None


def _few(step: StepOutcomeEvidence) -> Outcome | None:
    count = len(step.done)
    if not count or count >= FEWEST_TRIALS or any(one.id == "few-trials" for one in step.findings):
        return None
    what = "no spread can be told" if count < FOR_A_SPREAD else "a spread can be told, but no interval at 95 %"
    return Outcome(f"{count} trial{'' if count == 1 else 's'}: {what}.")


def _drifted(step: StepOutcomeEvidence) -> Outcome | None:
    for figure, values in _leading(step):
        if len(values) < FEWEST_TRIALS or not values[0]:
            continue
        from scipy import stats

        found = stats.kendalltau(range(len(values)), values)
        third = max(2, len(values) // 3)
        first, last = statistics.median(values[:third]), statistics.median(values[-third:])
        if not first or abs(last / first - 1) < DRIFTED or float(found.pvalue) >= ALMOST_SURE:
            continue
        way = "rose" if last > first else "fell"
        return Outcome(
            f"{_named(figure)} {way} from {figure_text(figure.metric, first)} to {figure_text(figure.metric, last)} "
            f"along {len(values)} trials ({share_text(abs(last / first - 1))})."
        )
    return None


def _correlated(step: StepOutcomeEvidence) -> Outcome | None:
    for figure, values in _leading(step):
        p = correlation_p(values)
        if p is not None and p < SIGNIFICANT:
            return Outcome(f"{_named(figure)}: neighbouring trials hang together (p = {p:.3f}, n = {len(values)}).")
    return None


def _levels(step: StepOutcomeEvidence) -> Outcome | None:
    for figure, values in _leading(step):
        found = two_levels(values)
        if found is not None and found[1] > (1 + DRIFTED) * found[0] > 0:
            low, high = (figure_text(figure.metric, level) for level in found)
            return Outcome(f"{_named(figure)}: the {len(values)} trials fall on two levels, about {low} and {high}.")
    return None


def _outliers(step: StepOutcomeEvidence) -> Outcome | None:
    for figure, values in _leading(step):
        middle = statistics.median(values)
        deviation = statistics.median(abs(value - middle) for value in values)
        if len(values) < FEWEST_TRIALS or not deviation:
            continue
        odd = [
            f"trial {place} ({figure_text(figure.metric, value)})"
            for place, value in enumerate(values, 1)
            if abs(value - middle) > OUTLIER * deviation and abs(value / middle - 1) > DRIFTED
        ]
        if odd:
            listed = ", ".join(odd[:5])
            return Outcome(f"{_named(figure)}: {listed}; the median is {figure_text(figure.metric, middle)}.")
    return None


def _thin_tail(trial: TrialEvidence) -> Outcome | CannotTell | None:
    for tail in trial.all_of("latency_p99_9") if trial.done else ():
        rate, seconds = trial.value("iops", **dict(tail.labels)), trial.values.get("runtime") or trial.duration
        if rate is None or not isinstance(seconds, int | float):
            return CannotTell("How many I/Os the percentile rests on is not known.")
        count = rate * seconds
        if count < TAIL:
            scarce = count < BARELY
            return Outcome(
                f"{_named(tail)} rests on the slowest {max(1, round(count / 1000))} of {count:.0f} I/Os.",
                level=Level.WARNING if scarce else None,
                trust=Trust.CAVEATS if scarce else None,
            )
    return None


_OVER_TRIALS = "the leading figure of every trial"

OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="thin-tail",
        level=Level.INFO,
        title="A percentile rests on few I/Os",
        why="So far out in the tail a handful of I/Os decide, and the next run has other ones.",
        remedy="Run longer: 10,000 I/Os leave ten beyond the 99.9th percentile.",
        source="HdrHistogram’s documentation: how many values a percentile needs.",
        evaluate=_thin_tail,
        when=When.AFTER,
        needs="the rate, the runtime, and that the 99.9th percentile is shown",
    ),
)

OF_A_STEP: tuple[OutcomeCheck, ...] = (
    Check(
        id="trials-disagree",
        level=Level.WARNING,
        title="The trials do not agree",
        why="Another trial may give anything in this range, so that the figure is one draw of many.",
        remedy="Find what disturbs the host (its curves tell when); then make more trials, and quote the interval.",
        source="pyperf and a database vendor’s noise study: CoV or (max − min) / median from 10 %; on a calibrated "
        "host twice its own CoV, or six times in the range.",
        evaluate=_spread,
        when=When.AFTER,
        needs=f"{_OVER_TRIALS}, at least three, and the host’s calibration where there is one",
    ),
    Check(
        id="few-trials-done",
        level=Level.INFO,
        title="Few trials",
        why="A difference between two hosts means nothing while it is not known how far trials on one host differ.",
        remedy=f"Make {FEWEST_TRIALS} trials or more for a comparison; fewer do for a first look.",
        source="benchstat: at least 6 samples for an interval at 95 %.",
        evaluate=_few,
        when=When.AFTER,
        needs="the trials that were done",
    ),
    Check(
        id="drifted",
        level=Level.WARNING,
        title="It drifted from trial to trial",
        why="Something changed all the while: heat, credits, a cache, a volume that fills. The median is of no moment.",
        remedy="Find what changes, or interleave the trials with those they are to be compared with.",
        source="Kendall’s rank correlation with the trials’ order, p < 0.01; 5 % between first and last third.",
        evaluate=_drifted,
        when=When.AFTER,
        needs=f"{_OVER_TRIALS}, at least six",
    ),
    Check(
        id="trials-correlated",
        level=Level.WARNING,
        title="Neighbouring trials hang together",
        why="Trials that repeat each other count as fewer than they are: every interval of them is too narrow.",
        remedy="Leave a pause between trials, or randomise their order.",
        source="A permutation test of the first autocorrelation, 5 %.",
        evaluate=_correlated,
        when=When.AFTER,
        needs=f"{_OVER_TRIALS}, at least {CORRELATION_FROM}",
    ),
    Check(
        id="two-levels",
        level=Level.INFO,
        title="The trials fall on two levels",
        why="A middle of two levels is a figure that no trial gives.",
        remedy="Quote both levels, and find what switches between them.",
        source="Otsu’s criterion: 90 % of the variance lies between the levels.",
        evaluate=_levels,
        when=When.AFTER,
        needs=f"{_OVER_TRIALS}, at least six",
        trust=Trust.CAVEATS,
    ),
    Check(
        id="outliers",
        level=Level.INFO,
        title="Some trials lie far off",
        why="They are shown and they count: they may be errors, or what the application will meet, too.",
        remedy="Look at the host’s curves beside them. A trial is left out only by a person who says why.",
        source="hyperfine: more than 14.8 median absolute deviations from the median.",
        evaluate=_outliers,
        when=When.AFTER,
        needs=f"{_OVER_TRIALS}, at least six",
    ),
)
