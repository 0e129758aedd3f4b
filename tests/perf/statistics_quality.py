"""What the statistics do on simulated trials whose truth is known, beside what was found when they were chosen."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain

import click

from app.comparison.power import SampleDesign
from app.comparison.verdicts import ComparisonVerdict
from app.plans.plan import Order
from suites.quantities import count_text
from tests.perf.outcome import Met, Outcome
from tests.simulation import (
    experiments,
    history,
    levels,
    repeatability,
    replication,
    sample_size,
    scaling,
    sequential,
    sessions,
    shapes,
)
from tests.simulation.experiments import Share
from tests.simulation.noise import Draw, correlated, normal, skewed, two_levels
from tests.simulation.sequential import Setting

TRIES = 1000
"""Simulated experiments for each line; a share of a half is then known to within 3 %."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What was found before, and between which values the true figure has to lie for that to hold."""

    before: str
    low: float
    high: float


def _shapes() -> list[Outcome]:
    """Return what percentiles and noise figures hold."""
    tries = TRIES // 4
    held = Expected("", 0.93, 0.97)
    return [
        _shared("the interval of a p95 of 5 trials holds the truth", shapes.percentile_coverage(95, 5, tries), held),
        _shared("the same by resampling trials", shapes.resampled_coverage(95, 5, tries), Expected("", 0.78, 0.9)),
        _shared("the interval of a shift at p90 holds it, 6 trials", shapes.shift_coverage(90, 1.1, 6, tries), held),
    ]


def _repeatability() -> list[Outcome]:
    """Return the coverage of CoV intervals, and the false claims of the noise study and of the ranking."""
    tries = 2 * TRIES
    rows = []
    # Before: the chi-square interval of the variance of the logarithms, 20,000 experiments.
    for shape, before, aims in (
        ("normal", (".949", ".946", ".947", ".947"), (0.93,) * 4),
        ("log-normal", (".952", ".949", ".949", ".951"), (0.93,) * 4),
        ("two levels", (".966", ".997", "1.000", "1.000"), (0.93,) * 4),
        ("exponential", (".827", ".797", ".764", ".748"), (0.92, 0.87, 0.86, 0.86)),
        ("t3", (".831", ".752", ".667", ".611"), (0.93, 0.84, 0.78, 0.76)),
    ):
        draw, truth = repeatability.SHAPES[shape]
        rows += [
            _shared(
                f"the interval of a CoV of {count} trials holds it: {shape}",
                shapes.cov_coverage(draw, truth, count, tries),
                Expected(old, least, 1.0),
            )
            for count, old, least in zip((6, 10, 20, 30), before, aims, strict=True)
        ]
    for shape, old in (("normal", ""), ("log-normal", ""), ("t3", ".98")):
        for counts in ((6, 6), (10, 10), (6, 30)):
            found = repeatability.false_ranks(repeatability.SHAPES[shape][0], counts, tries)
            what = f"one of 20 equal tests is ranked above another: {shape}, {counts[0]} to {counts[1]} trials"
            rows.append(_shared(what, found, Expected(old, 0.0, 0.05)))
    hosts = repeatability.false_pool_ranks(tries // 2)
    rows.append(_shared("one of 10 equal hosts is ranked above another", hosts, Expected("", 0.0, 0.05)))
    for count, least in ((6, 0.1), (14, 0.85), (20, 0.97)):
        found = repeatability.found_ranks(4, count, tries)
        rows.append(_shared(f"  four times the CoV is found, {count} trials", found, Expected("", least, 1.0)))
    for margin, difference in ((0.0, 0.0), (0.05, 0.05)):
        found = repeatability.false_winners(10, 8, margin, difference, tries)
        rows.append(_shared(f"best separates one of 10 at the edge of ±{margin:.0%}", found, Expected("", 0.0, 0.05)))
    return rows


def _scaling() -> list[Outcome]:
    """Return what flatness, knees and models of sweeps hold: noise 2 %, three trials a point, 1 to 64 threads."""
    tries, held = 2 * TRIES, Expected("", 0.93, 0.97)
    flat, noisy = (scaling.fits(lambda _: 1.0, tries, scaling.Sweep(trials=trials)) for trials in (3, 1))
    similar = scaling.fits(scaling.amdahl(0.2), tries, scaling.Sweep(range(1, 9), 1), serial=0.2)
    turning = scaling.fits(scaling.usl(0.05, 18), tries, peak=18)
    limited = scaling.fits(scaling.clamped(scaling.amdahl(0.0), 8), tries)
    knees = [
        (name, *scaling.knees(curve, tries))
        for name, curve in (
            ("a limit at 8", scaling.clamped(scaling.amdahl(0.0), 8)),
            ("Amdahl, 20 %", scaling.amdahl(0.2)),
            ("five points at 94.5 %", scaling.nearly(0.945)),
        )
    ]
    return [
        _shared("a flat rate is given a law", flat.law, Expected("1.0 (Amdahl, 100 %)", 0.0, 0.05)),
        _shared("  with one trial a point", noisy.law, Expected("1.0 (Amdahl, 100 %)", 0.0, 0.05)),
        _shared("a rate with a hard limit is named as clamped", limited.models["clamped"], Expected("0", 0.97, 1.0)),
        _shared("Amdahl's law from 1 to 8 is given a peak", similar.models["USL"], Expected(".52 (USL)", 0.0, 0.01)),
        _shared("  or a limit", similar.models["clamped"], Expected("", 0.0, 0.01)),
        _shared("  the interval of the serial share holds 20 %", similar.serial, held),
        _shared("a peak at 18 of 1 to 64 is found", turning.models["USL"], Expected("", 0.97, 1.0)),
        _shared("  its interval holds 18", turning.peak, held),
        *(
            _shared(f"the interval of the knee, {width:.1f} points, holds it: {name}", share, Expected("", 0.93, 1.0))
            for name, share, width in knees
        ),
    ]


def _levels() -> list[Outcome]:
    """Return how often the interval of the intraclass correlation holds it."""
    tries = 2 * TRIES
    cases = [
        (f"{hosts} hosts, {trials} trials, {icc:g}", levels.icc_coverage(icc, hosts, trials, tries))
        for hosts in (3, 5, 10)
        for trials in (3, 6)
        for icc in (0.0, 0.3, 0.7)
    ]
    cases += [
        ("10 hosts, 2 to 8 trials, 0.3", levels.icc_coverage(0.3, 10, 0, tries, unequal=True)),
        ("5 hosts, 3 sessions of 3 trials, 0.3", levels.nested_icc_coverage((0.3, 0.5, 0.2), (5, 3, 3), tries)),
    ]
    return [_shared(f"the interval of the ICC holds it: {name}", found, _OF_ICC) for name, found in cases]


_OF_ICC = Expected("no interval", 0.93, 0.985)
"""Of an ICC of 0 it holds 97.5 %: the lower end is always right."""


def _history() -> list[Outcome]:
    """Return how often a history claims a change that is none, and finds those that are."""
    most, few = Expected("0.05 (otava)", 0.0, 0.05), Expected("0.21 (otava)", 0.0, 0.05)
    lines = []
    for count in (20, 50, 100, 200):
        for cov, name, autocorrelation, heavy, aim in (
            (0.01, "independent", 0.0, False, most),
            (0.03, "t3", 0.0, True, most),
            (0.05, "AR(1) 0.3", 0.3, False, few),
            (0.10, "AR(1) 0.6", 0.6, False, Expected("0.64 (otava)", 0.0, 0.3)),
        ):
            tries = TRIES // 2 if heavy or autocorrelation > 0.3 else 2 * TRIES
            found = history.false_claims(count, cov, autocorrelation, tries, heavy=heavy)
            lines.append(_shared(f"history: false change in {count} runs, {name}, CoV {cov:.0%}", found, aim))
    for name, course, before, low in (
        ("-10 %, then +4 %", history.DOWN_AND_UP, "disowned", 0.8),
        ("five times -4 % (of 20 runs each)", history.FIVE_STEPS, "disowned", 0.95),
        ("-10 % on a trend of -0.1 %", history.STEP_ON_TREND, "disowned", 0.95),
        ("+8 % on a trend of -0.2 %", history.STEP_AGAINST_TREND, "disowned", 0.95),
        ("a permanent -4.5 %", history.PERMANENT, "disowned", 0.95),
        ("+10 % found after 4 runs", history.LATE, "", 0.95),
    ):
        # Where results vary by 2 %, five steps look like a drift, and a weak drift is part of a step.
        for cov in (0.01,) if course in (history.FIVE_STEPS, history.STEP_ON_TREND) else (0.01, 0.02):
            found_in = history.claims(course, cov, TRIES)
            lines.append(
                _shared(f"history: {name}: all claimed, CoV {cov:.0%}", found_in.all, Expected(before, low, 1.0))
            )
            lines.append(_shared("  and another step", found_in.extra, Expected("", 0.0, 0.1)))
            lines.append(_shared("  the interval of the ratio holds it", found_in.covered, Expected("", 0.93, 1.0)))
            lines.append(_shared("  the interval of the run holds it", found_in.placed, Expected("", 0.93, 1.0)))
    trend = history.claims(history.TREND, 0.02, TRIES)
    lines.append(_shared("history: -0.3 % per run is a drift, CoV 2 %", trend.drifting, Expected("steps", 0.95, 1.0)))
    return [*lines, _shared("  and a step", trend.extra, Expected("steps", 0.0, 0.05))]


def _designs() -> list[Outcome]:
    """Return how often the smallest detectable difference shows, with noise that is known, and that is estimated."""
    aim = Expected("0.68 (Student's degrees of freedom)", 0.77, 0.83)
    known = [
        _shared(
            f"detectable difference shows: {trial:.0%} within, {between:.0%} between, {design[0]} x {design[1]}",
            sessions.power((trial, between), design, 2 * TRIES),
            aim if design[0] == 3 else Expected("", 0.77, 0.83),
        )
        for trial, between, design in (
            (0.03, 0.0, (1, 6)), (0.01, 0.03, (3, 6)), (0.05, 0.01, (3, 6)), (0.01, 0.03, (5, 6)),
            (0.03, 0.02, (5, 10)),
        )
    ]  # fmt: skip
    estimated = [
        _shared(
            f"  5 % shows with the design from {count} calibrations",
            sessions.planned((0.02, 0.02), count, 0.05, 2 * TRIES),
            Expected("", low, 0.83),
        )
        for count, low in ((3, 0.65), (5, 0.72), (10, 0.77))
    ]
    return [*known, *estimated, *_sample_sizes()]


def _sample_sizes() -> list[Outcome]:
    """Return how often compare() shows the difference for which a design of hosts, sessions and trials was proposed."""
    known = [
        _shared(
            f"proposed {design.text if (design := setting.cheapest()) else ''} shows {setting.wanted:.0%}: {name}",
            sample_size.power(setting, 2 * TRIES),
            Expected("", 0.75, 0.9),
        )
        for name, setting in sample_size.SETTINGS.items()
    ]
    pilot = SampleDesign(5, 3, 6)
    pilots = [
        _shared(
            f"  with the design of a pilot of {pilot.text}{', upper limits' if cautious else ''}",
            sample_size.power_of_pilots(sample_size.FROM_PILOTS, pilot, TRIES, cautious=cautious),
            Expected("", *aims),
        )
        for cautious, aims in ((False, (0.65, 0.83)), (True, (0.8, 1.0)))
    ]
    return [*known, *pilots]


def _shared(what: str, found: Share, expected: Expected) -> Outcome:
    low, high = found.interval
    met = Met.MET if low <= expected.high and high >= expected.low else Met.MISSED
    return Outcome(what, f"{found.value:.3f}", f"{low:.3f} to {high:.3f}", expected.before, met)


def _counted(what: str, trials: float, expected: Expected) -> Outcome:
    met = Met.MET if expected.low <= trials <= expected.high else Met.MISSED
    return Outcome(what, f"{trials:.1f}", "", expected.before, met)


def _coverage() -> list[Outcome]:
    shapes: tuple[tuple[str, Draw, Expected, Expected], ...] = (
        ("normal, 3 %", normal(0.03), Expected(".95 (t)", 0.93, 0.98), Expected(".95 (t)", 0.93, 0.97)),
        ("skewed, 30 %", skewed(0.3), Expected("", 0.92, 0.98), Expected("", 0.90, 0.97)),
        ("two levels", two_levels(0.1, 0.01), Expected(".89 (t)", 0.92, 1.0), Expected(".93 (t)", 0.92, 1.0)),
        ("correlated, 0.3", correlated(0.03, 0.3), Expected("", 0.80, 0.92), Expected("", 0.80, 0.92)),
        ("correlated, 0.7", correlated(0.03, 0.7), Expected(".58 (t)", 0.50, 0.68), Expected(".58 (t)", 0.50, 0.68)),
    )
    return [
        _shared(
            f"the interval of {trials} trials holds the truth: {name}", experiments.coverage(draw, trials, TRIES), aim
        )
        for name, draw, ten, thirty in shapes
        for trials, aim in ((10, ten), (30, thirty))
    ]


def _sequential() -> list[Outcome]:
    lines = []
    for cov, before, holds in ((0.01, 7.2, 0.95), (0.03, 14.5, 0.945), (0.05, 27.0, 0.94)):
        found = sequential.until_interval(normal(cov), 0.02, TRIES)
        aim = Expected(f"{before:g}", before * 0.95, before * 1.05)
        lines.append(_counted(f"trials until ±2 % at a spread of {cov:.0%} (fixed: 10, 30)", found.trials, aim))
        lines.append(_shared("  and the interval holds the truth", found.held, Expected(f"{holds:g}", 0.91, 0.97)))
        for trials in (10, 30):
            near = experiments.near(normal(cov), trials, 0.02, TRIES)
            lines.append(_shared(f"  fixed {trials}: the middle lies within 2 %", near, _NEAR[cov, trials]))
    return lines


_NEAR = {
    (0.01, 10): Expected("", 0.99, 1.0), (0.01, 30): Expected("", 0.99, 1.0),
    (0.03, 10): Expected("", 0.93, 0.98), (0.03, 30): Expected("", 0.99, 1.0),
    (0.05, 10): Expected(".79", 0.74, 0.84), (0.05, 30): Expected("", 0.94, 0.99),
}  # fmt: skip


def _verdicts() -> list[Outcome]:
    lines = []
    for factor, before, right in ((1.2, 6.0, "better"), (1.1, 7.1, "better"), (0.9, 6.7, "worse"), (1.0, 7.7, "same")):
        found = sequential.until_verdict(factor, TRIES)
        aim = Expected(f"{before}, error 2.8 times", 6.0, 1.5 * before)
        lines.append(_counted(f"trials until a verdict at a true ratio of {factor:g}, minimum 6", found.trials, aim))
        lines.append(_shared(f"  and it is “{right}”", getattr(found, right), Expected("", 0.93, 1.0)))
    edges = (
        (Setting(), ".071", 0.025),
        (Setting(cov=0.01), ".072", 0.025),
        (Setting(cov=0.05), ".071", 0.025),
        (Setting(cov=0.08), ".070", 0.025),
        (Setting(baseline=6), ".060", 0.025),
        (Setting(baseline=20), ".088", 0.025),
        (Setting(confidence=0.99), ".024", 0.005),
    )
    for setting, before_text, high in edges:
        found = sequential.until_verdict(1.05, 2 * TRIES, setting)
        name = f"at the edge, {setting.baseline} in the baseline, CoV {setting.cov:.0%}, {setting.confidence:.0%}"
        lines.append(_shared(f"{name}: better", found.better, Expected(before_text, 0.0, high)))
        lines.append(_shared("  smaller than the margin", found.same, Expected("", 0.0, high)))
        lines.append(_shared("  the sequential interval holds the ratio", found.held, Expected("", 1 - 2 * high, 1.0)))
    same = sequential.until_verdict(1.0, 2 * TRIES, Setting(margin=0.0))
    differs = Share(same.better.happened + same.worse.happened, same.better.tries)
    return [*lines, _shared("a difference without any, margin 0", differs, Expected(".17", 0.0, 0.05))]


def _alarms() -> list[Outcome]:
    aims = (
        ("seconds of five trials thrown together", experiments.samples_pooled(TRIES), Expected(".62", 0.55, 0.69)),
        ("five trials, each one value", experiments.samples_as_trials(5, 0.0, TRIES), Expected(".05", 0.03, 0.07)),
        ("five trials, beyond ±2 %", experiments.samples_as_trials(5, 0.02, TRIES), Expected(".001", 0.0, 0.005)),
    )
    lines = [_shared(f"a thing differs from itself: {name}", found, aim) for name, found, aim in aims]
    for coefficient, bare, margin in ((0.0, 0.06, 0.002), (0.3, 0.16, 0.01), (0.7, 0.50, 0.03)):
        draw = correlated(0.03, coefficient)
        name = f"ten trials that hang together with {coefficient:g}"
        without = experiments.claims(draw, (10, 10), 0.0, TRIES)
        lines.append(_shared(f"a thing differs from itself: {name}", without, Expected("", 0.0, bare)))
        within = experiments.claims(draw, (10, 10), 0.05, TRIES)
        lines.append(_shared("  beyond ±5 %", within, Expected("", 0.0, margin)))
    return lines


def _power() -> list[Outcome]:
    cases = ((5, 1.05, ".31", 0.25, 0.37), (10, 1.05, ".62", 0.56, 0.68), (5, 1.10, ".96", 0.93, 0.99))
    return [
        _shared(
            f"{factor - 1:+.0%} is found beyond ±2 % with {trials} trials",
            experiments.samples_as_trials(trials, 0.02, TRIES, factor=factor),
            Expected(before, low, high),
        )
        for trials, factor, before, low, high in cases
    ]


def _several() -> list[Outcome]:
    cases = (("raw", ".67", 0.60, 0.76), ("holm", ".03", 0.0, 0.05), ("margin", ".000", 0.0, 0.002))
    return [
        _shared(f"one of 24 metrics that do not differ does: {how}", experiments.many_metrics(24, how, TRIES // 2), aim)
        for how, aim in ((how, Expected(before, low, high)) for how, before, low, high in cases)
    ]


def _hosts() -> list[Outcome]:
    cases = (
        ("a type differs from itself: one host each", 1, "trials", 1.0, Expected(".58", 0.42, 0.62)),
        ("a type differs from itself: three hosts each", 3, "hosts", 1.0, Expected(".04", 0.0, 0.06)),
        ("  +10 % is found with three hosts", 3, "hosts", 1.1, Expected(".67", 0.60, 0.74)),
        ("  +10 % is found with five hosts", 5, "hosts", 1.1, Expected(".98", 0.94, 1.0)),
    )
    return [
        _shared(f"{name}, {how} as values", experiments.fleets(count, how, TRIES, factor=factor), aim)
        for name, count, how, factor, aim in cases
    ]


LARGE = 2000
"""Tries of the headline figures; a share of 5 % is then known to within 1 %."""

_HELD = Expected("", 0.93, 1.0)
_FALSE = Expected("", 0.0, 0.05)


def _sessions() -> list[Outcome]:
    """Return what sessions as a level hold, 3 % between and 1 % within sessions unless named."""
    trials = replication.of_trials(10, LARGE)
    lines = [
        _shared("1 session x 10 trials, trials as values: covers", trials.covered, Expected(".17", 0.12, 0.2)),
        _shared("  claims a false difference beyond 5 %", trials.claimed, Expected(".18", 0.14, 0.22)),
        _shared(
            "  claimed now, of the configurations",
            replication.of_sessions((1, 1), 10, LARGE).claimed,
            Expected(".18", 0, 0),
        ),
    ]
    for counts in ((3, 3), (5, 5), (10, 10), (3, 10), (1, 3), (1, 10)):
        found = replication.of_sessions(counts, 5, LARGE)
        before = ".62" if counts == (10, 10) else ""
        lines.append(
            _shared(f"{counts[0]} against {counts[1]} sessions x 5: covers", found.covered, Expected(before, 0.93, 1))
        )
        lines.append(_shared("  claims a false difference beyond 5 %", found.claimed, Expected("", 0.0, 0.01)))
    for fewer in (1, 2, 5):
        found = replication.of_sessions((1, 5), 10, LARGE, between=0.01, within=0.05, ours_of=fewer)
        case = f"1 session x {fewer} against 5 x 10, 1 % between and 5 % within: covers"
        lines.append(_shared(case, found.covered, _HELD))
    for cov in (0.01, 0.03, 0.05, 0.08):
        same = replication.of_sessions((5, 5), 5, LARGE, between=cov, within=cov / 2, margin=0.0)
        lines.append(_shared(f"A/A across 5 sessions, {cov:.0%} between them, no margin", same.claimed, _FALSE))
    found = replication.of_sessions((5, 5), 5, LARGE, factor=1.15)
    lines.append(_shared("+15 % beyond 5 % is found with 5 sessions a side", found.claimed, Expected("", 0.9, 1.0)))
    return lines


def _pairs() -> list[Outcome]:
    """Return what pairs hold beside the same values unpaired."""
    lines = []
    for paired, before in ((True, "1.0"), (False, "0 (rows alone)")):
        found, how = replication.paired_hosts(10, 1.1, LARGE, paired=paired), "in pairs" if paired else "unpaired"
        power = Expected(before, 0.99, 1.0) if paired else Expected(before, 0.0, 1.0)
        lines.append(_shared(f"10 hosts that differ by 5 %, +10 %, {how}: covers", found.covered, _HELD))
        lines.append(_shared("  found beyond 5 %", found.claimed, power))
        rounds = replication.rounds(1.015, LARGE, paired=paired)
        lines.append(Outcome(f"interleaved on drift, {how}: width", f"{rounds.width:.3f}", "",
                             ".023" if paired else ".031", Met.MET))  # fmt: skip
        lines.append(_shared("  +1.5 % is found", rounds.found, Expected(".36" if paired else ".16", 0.0, 1.0)))
        same = replication.rounds(1.0, LARGE, paired=paired)
        lines.append(_shared("  a thing differs from itself", same.found, _FALSE))
    return lines


def _families() -> list[Outcome]:
    """Return how often one metric of several, all at the edge of the margin, has a wrong verdict."""
    lines = []
    for count, before in ((1, ""), (10, ""), (30, ".54")):
        better = replication.family(count, 1.05, lambda verdict: verdict is ComparisonVerdict.BETTER, LARGE)
        same = replication.family(count, 1.0501, lambda verdict: verdict is ComparisonVerdict.SAME, LARGE, cov=0.02)
        lines.append(_shared(f"{count} metrics at the edge: one is called better", better, Expected(before, 0.0, 0.05)))
        lines.append(_shared("  one is called the same", same, _FALSE))
    alone = replication.family(30, 1.05, lambda verdict: verdict is ComparisonVerdict.BETTER, LARGE, corrected=False)
    return [*lines, _shared("  30 without Holm's correction", alone, Expected(".54", 0.4, 0.6))]


def _order() -> list[Outcome]:
    aims = {
        Order.BLOCK: Expected(".31", 0.27, 0.40),
        Order.INTERLEAVED: Expected("", 0.0, 0.06),
        Order.RANDOMISED: Expected(".05", 0.0, 0.07),
        Order.ABBA: Expected("", 0.0, 0.06),
    }
    return [
        _shared(f"a thing differs from itself on a host that drifts: {order}", experiments.drifting(order, TRIES), aim)
        for order, aim in aims.items()
    ]


def _starts() -> list[Outcome]:
    before, after, found = experiments.slow_start(TRIES)
    steady = experiments.steady_called_unsteady(0.8, 60, TRIES)
    return [
        Outcome("error of a figure with a slow start, 20 of 120 s", f"{before:.1%}", "", "6.6 %", Met.MET),
        Outcome("  without it", f"{after:.1%}", "", ".4 to .5 %", Met.MET if after < 0.01 else Met.MISSED),
        _shared("  and it is found", found, Expected("", 0.98, 1.0)),
        _shared("a steady minute is called unsteady, seconds correlated with 0.8", steady, Expected("", 0.0, 0.05)),
    ]


SECTIONS = (
    _coverage,
    _sequential,
    _verdicts,
    _alarms,
    _power,
    _several,
    _hosts,
    _sessions,
    _pairs,
    _families,
    _order,
    _starts,
    _shapes,
    _repeatability,
    _scaling,
    _levels,
    _history,
    _designs,
)


def run() -> list[Outcome]:
    """Return a line for everything that is promised: coverage, trials needed, false alarms, power.

    Each section has seeds of its own, so that they can share the processors.
    """
    with ProcessPoolExecutor() as pool:
        return list(chain.from_iterable(pool.map(_outcomes, SECTIONS)))


def _outcomes(section: Callable[[], list[Outcome]]) -> list[Outcome]:
    """Return the lines of a section, and print its name when it is done."""
    found = section()
    click.echo(f"  {section.__name__.lstrip('_')}: {count_text(len(found), 'line')}", err=True)
    return found
