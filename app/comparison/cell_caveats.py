"""Caveats on a cell of a comparison: its verdicts, hosts, units and failed trials."""

from collections.abc import Iterator, Sequence
from functools import partial

from app.comparison.caveats import SIGNIFICANT, THE_BASELINE, THIS_RUN, Caveat, correlation_p, of_spread
from app.comparison.estimates import FEWEST_HOSTS
from app.comparison.replication import Units
from app.comparison.sides import Censored
from app.comparison.variance import hosts_text
from app.comparison.verdicts import OF_TRIALS, Level
from app.summary import MetricSummary, levels
from suites.quantities import count_text, figure_text, share_text
from suites.vocab import Metric


def of_units(units: Units, other: MetricSummary, baseline: MetricSummary) -> Iterator[Caveat]:
    """Yield the caveats on the units of a ratio: on their order where it matters to the interval, and their levels."""
    if units.pairs in OF_TRIALS:
        p = correlation_p(units.pair_ratios)
        if p is not None and p < SIGNIFICANT:
            yield Caveat(
                "correlated",
                f"ratios of the {units.pairs} are autocorrelated (p = {p:.3f}): the interval is too narrow",
            )
    elif units.level is Level.TRIAL:
        for side, side_name in _named(other, baseline):
            yield from of_spread(side.values, side_name, partial(figure_text, side.metric))
    elif units.level is Level.HOST and not units.pairs:
        yield from _of_hosts(other, baseline)
    if units.unpaired:
        yield _of_unpaired(units, other.metric)


def _of_unpaired(units: Units, metric: Metric) -> Caveat:
    where = "" if units.level is not Level.TRIAL else f" in the same {'duet' if units.on_first else 'round'}"
    ours, theirs = (figure_text(metric, centre) for centre in units.centres)
    left_out = f"{count_text(units.unpaired, units.level)} without a partner{where} left out"
    return Caveat("unpaired", f"{left_out}: the ratio is that of {ours} to {theirs}")


MOST_FAILED = 0.2
"""Share of failed trials above which a side has no verdict: trials that fail are often those that would be slow, so the
rest is a selection. At this share the mean of the rest is off by a third of the spread of the trials (the mean of a
normal distribution without its slowest fifth is 0.35 standard deviations too high)."""


def of_failures(sides: Sequence[tuple[str, Censored]]) -> Iterator[Caveat]:
    """Yield a caveat for each side with failed trials: its name and their number."""
    for side_name, censored in sides:
        if censored.failed:
            share = f", more than {share_text(MOST_FAILED)}" if censored.share > MOST_FAILED else ""
            text = f"{censored.text} in {side_name}{share}: the rest may be a selection of the fast ones"
            yield Caveat("censored", text, side_name)


def of_verdicts(other: MetricSummary, baseline: MetricSummary) -> Iterator[Caveat]:
    """Yield a caveat for each side whose result is doubtful or invalid."""
    for side, side_name in _named(other, baseline):
        if side.verdict is not None and side.trust is not None and side.trust.in_doubt:
            yield Caveat(str(side.trust), f"{side_name}{side.verdict_host_text} is {side.verdict.text}", side_name)


def of_instances(units: Units, hosts: tuple[int, int]) -> Iterator[Caveat]:
    """Yield the caveat on the numbers of hosts of both sides, which are not the same machines."""
    if units.level is not Level.HOST or min(hosts) < FEWEST_HOSTS:
        text = f"instances of one type differ too; comparing types needs {FEWEST_HOSTS} hosts on each side"
        yield Caveat("other-instance", text)


def _named(other: MetricSummary, baseline: MetricSummary) -> tuple[tuple[MetricSummary, str], ...]:
    return (other, THIS_RUN), (baseline, THE_BASELINE)


def _of_hosts(other: MetricSummary, baseline: MetricSummary) -> Iterator[Caveat]:
    for side, side_name in _named(other, baseline):
        found = levels(side, {})
        if found is not None and (text := hosts_text(found, side_name)):
            yield Caveat("hosts-dominate", text, side_name)
