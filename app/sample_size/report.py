"""A sample size: the designs that show a difference, as sentences, a table, a chart and the public JSON."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypedDict

from app.centres import CONFIDENCE
from app.chart import Chart, ChartAxis, ChartMark, ChartSeries
from app.comparison.power import SampleDesign
from app.comparison.variance import HOST, RUN, TRIAL, UPPER, VarianceComponent
from app.comparison.verdicts import FEWEST, Level
from app.json_converter import Json, publish, published
from app.plans.plan import DAY
from app.ranking.candidates import amount_text
from app.sample_size.designs import (
    CostedDesign,
    Effort,
    SampleSizeRequest,
    best_within,
    claim_level,
    costed,
    dominating,
    fewest_with_unlimited,
    proposed,
    proposed_cautious,
    shortfall,
)
from app.sample_size.pilot import Pilot
from suites.errors import BenchwrightError
from suites.quantities import count_text, duration_text, ends_text, exact_share_text, metric_text, share_text

FORMAT = "benchwright-sample-size/1"


class SampleSizeError(BenchwrightError):
    """No sample size, or none of a design that was given."""


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The efficient designs for a request, the cheapest first; `cautious` is that by the upper limits, if any.

    `level` is what a claim can speak of; `best` the smallest difference within the limits. `given`: the only design is
    one that was given.
    """

    pilot: Pilot
    request: SampleSizeRequest
    level: Level
    designs: tuple[CostedDesign, ...]
    cautious: CostedDesign | None
    best: CostedDesign | None
    given: bool = False

    @property
    def recommended(self) -> CostedDesign | None:
        """The cheapest design."""
        return self.designs[0] if self.designs else None


def sample_size(pilot: Pilot, request: SampleSizeRequest) -> SampleSize:
    """Return the designs that show the wanted difference."""
    noise = pilot.noise
    level = claim_level(noise.found, request.limits, request.test)
    designs = tuple(proposed(noise, request))
    return SampleSize(
        pilot, request, level, designs, proposed_cautious(noise, request), best_within(noise, request)
    )  # fmt: skip


def sample_size_given(pilot: Pilot, request: SampleSizeRequest, design: SampleDesign) -> SampleSize:
    """Return what one design shows and costs. Raises SampleSizeError for too few units, or a level not known."""
    if reason := shortfall(design):
        raise SampleSizeError(f"{reason[:1].upper()}{reason[1:]}.", "Give more.")
    found = costed(pilot.noise, design, request)
    if found is None:
        missing = HOST if design.level is Level.HOST and not request.test.paired else RUN
        unknown = RUN if design.sessions > 1 and pilot.noise.found.session is None else missing
        reason = _unknown(pilot.component(unknown), paired=request.test.paired)
        raise SampleSizeError(f"Variation between {_LEVELS[unknown]}: {reason}.", _pilot_needed(unknown))
    return SampleSize(pilot, request, design.level, (found,), None, found, given=True)


_LEVELS = {HOST: "hosts", RUN: "sessions", TRIAL: "trials"}
_PILOTS = {HOST: SampleDesign(3, 3, 6), RUN: SampleDesign(1, 3, 6)}


def _pilot_needed(level: str) -> str:
    design = _PILOTS[level]
    hosts = f"{design.hosts} hosts x " if design.hosts > 1 else ""
    return f"Run a pilot of {hosts}{design.sessions} sessions x {design.trials} trials and name all of its runs."


def _unknown(one: VarianceComponent, *, paired: bool) -> str:
    if one.name == HOST:
        where = "one host" if one.n == 1 else "one host in each group"
        return "not needed: both sides use the same hosts" if paired else f"not known: {where}"
    return "not known: one session on each host"


# Components


COMPONENT_HEAD = ("Level", "n", "CoV", "95 % interval", f"{100 * UPPER:.0f} % upper limit")
"""Column titles of component_rows()."""


def component_rows(pilot: Pilot) -> list[list[str]]:
    """Return a row for each level: units, coefficient of variation, interval, upper limit; why it is not known."""
    return [_component_row(pilot, one) for one in reversed(pilot.components)]


def _component_row(pilot: Pilot, one: VarianceComponent) -> list[str]:
    name = f"between {_LEVELS[one.name]}"
    if one.name == HOST and pilot.hosts_include_sessions:
        name = "between hosts and sessions"
    if one.variance is None or one.low is None or one.high is None or one.upper is None:
        return [name, str(one.n), _unknown(one, paired=False), "", ""]
    low, high = (share_text(cov_of(edge)) for edge in (one.low, one.high))
    return [name, str(one.n), share_text(cov_of(one.variance)), ends_text(low, high), share_text(cov_of(one.upper))]


def cov_of(variance: float) -> float:
    """Return the coefficient of variation that a variance of logarithms gives: √(exp(s²) − 1)."""
    return math.sqrt(math.expm1(min(variance, 500.0)))


# Designs


def design_head(found: SampleSize) -> list[str]:
    """Return the column titles of design_rows()."""
    cost = [] if found.request.effort.price is None else ["Cost"]
    return ["Hosts x sessions x trials", "Shows", "Shows at upper limits", "Each host", "Days", "Host-hours", *cost]


def design_rows(found: SampleSize) -> list[list[str]]:
    """Return a row for each design."""
    return [list(_design_cells(one, found.request)) for one in found.designs]


def _design_cells(one: CostedDesign, request: SampleSizeRequest) -> Iterator[str]:
    yield from (one.design.text, share_text(one.detectable), share_text(one.cautious), duration_text(one.per_host))
    yield from (f"{one.days:.1f}", hours_text(one.host_hours))
    if one.cost is not None:
        yield cost_text(one, request)


def hours_text(hours: float) -> str:
    """Return hours with three digits: ``0.215``, ``1,060``."""
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.3g}"


def cost_text(one: CostedDesign, request: SampleSizeRequest) -> str:
    """Return the cost with its currency; the host-hours without a price."""
    if one.cost is None or request.effort.price is None:
        return f"{hours_text(one.host_hours)} host-hours"
    return amount_text(one.cost, request.effort.price.currency)


# Sentences


def title_text(found: SampleSize) -> str:
    """Return the metric and its step: ``IOPS, read of random read``."""
    return f"{metric_text(found.pilot.metric, found.pilot.labels)} of {found.pilot.step.name}"


def claim_text_of(found: SampleSize) -> str:
    """Return what a comparison of the designs may claim."""
    paired = found.request.test.paired
    if found.level is Level.HOST:
        return "a change on hosts like these, in pairs" if paired else "two types of hosts"
    if found.level is Level.SESSION:
        return "a change on this host" if paired else "these two hosts"
    return "within one session"


def sample_size_lines(found: SampleSize) -> list[str]:
    """Return the result as sentences, the recommended design first."""
    lines = [_first_line(found), _claim_line(found), *_unknown_lines(found)]
    if found.recommended is not None:
        lines += [_dominating_line(found, found.recommended), _verdict_line(found, found.recommended)]
    if found.designs and not found.given:
        lines.append(_cautious_line(found))
    return [*lines, _effort_line(found), *(f"{reason}." for reason in found.pilot.excluded)]


def _first_line(found: SampleSize) -> str:
    request, best = found.request, found.recommended
    power = f"in {share_text(request.test.power)} of comparisons"
    if best is not None and found.given:
        return (
            f"{_in_words(best.design)} on each side show {share_text(best.detectable)} {power}: {_price(best, found)}."
        )
    if best is not None:
        return (
            f"{_in_words(best.design)} on each side show {share_text(request.wanted)} {power}: {_price(best, found)}."
        )
    limit = found.best
    most = "" if limit is None else (
        f" {_in_words(limit.design)} on each side show {share_text(limit.detectable)}: {_price(limit, found)}."
    )  # fmt: skip
    return f"No design within the limits shows {share_text(request.wanted)}.{most}"


def _price(one: CostedDesign, found: SampleSize) -> str:
    price = "" if one.cost is None else f", {cost_text(one, found.request)}"
    return f"{hours_text(one.host_hours)} host-hours{price}, {duration_text(one.days * DAY)}"


def _in_words(design: SampleDesign) -> str:
    """Return a design as text: ``3 hosts x 2 sessions x 6 trials``, without levels that are not repeated."""
    counts = {"host": design.hosts, "session": design.sessions, "trial": design.trials}
    first = {Level.HOST: 0, Level.SESSION: 1, Level.TRIAL: 2}[design.level]
    return " x ".join(count_text(count, name) for name, count in list(counts.items())[first:])


_SAME_HOSTS = {
    Level.HOST: "Both sides use the same hosts: differences between hosts cancel, those between their sessions do not.",
    Level.SESSION: "Both sides use the same host.",
    Level.TRIAL: "Both sides share one session, as two steps of one plan do; a change between sessions is not shown.",
}


def _claim_line(found: SampleSize) -> str:
    paired = f" {_SAME_HOSTS[found.level]}" if found.request.test.paired or found.level is Level.TRIAL else ""
    return f"Claim: {claim_text_of(found)}.{paired}"


def _unknown_lines(found: SampleSize) -> Iterator[str]:
    """Yield the levels that are not known, and the pilot that makes them known."""
    for one in found.pilot.components:
        if one.variance is not None or one.name == TRIAL or (one.name == HOST and found.request.test.paired):
            continue
        if one.name == RUN and found.pilot.hosts_include_sessions and not found.request.test.paired:
            yield "Variation between sessions is part of that between hosts: designs have one session on each host."
        else:
            reason = _unknown(one, paired=False)
            yield f"Variation between {_LEVELS[one.name]}: {reason}. {_pilot_needed(one.name)}"


def _dominating_line(found: SampleSize, best: CostedDesign) -> str:
    """Return the level that dominates the variance of a result, and what unlimited units of the others need."""
    if not best.parts.whole:
        return "No variance of a result: the trials of each host are identical."
    noise, request = found.pilot.noise.found, found.request
    level = dominating(noise, best.design, request)
    parts = {Level.HOST: best.parts.host, Level.SESSION: best.parts.session, Level.TRIAL: best.parts.trial}
    first = f"{level.capitalize()}s: {share_text(parts[level] / best.parts.whole)} of the variance of a result."
    needed = fewest_with_unlimited(noise, best.design, request)
    if level is Level.TRIAL or needed is None or needed == 1:
        return first
    where = " on each host" if level is Level.SESSION and best.design.hosts > 1 else ""
    others = "sessions and trials" if level is Level.HOST else "trials"
    return (
        f"{first} With unlimited {others} {share_text(request.wanted)} still needs {count_text(needed, level)}{where}."
    )


def _verdict_line(found: SampleSize, best: CostedDesign) -> str:
    margin, ratios = found.request.margin, found.request.test.ratios(best.design)
    corrected = f", after Holm’s correction for {ratios} ratios" if ratios > 1 else ""
    return (
        f"Shown: the {100 * CONFIDENCE:.0f} % interval excludes no difference{corrected}. A verdict beyond the margin "
        f"of {exact_share_text(margin)} needs a difference of {share_text(best.beyond(margin))}."
    )


def _cautious_line(found: SampleSize) -> str:
    one, limit = found.cautious, f"With every component at its {100 * UPPER:.0f} % upper limit"
    if one is None:
        return f"{limit} no design within the limits shows {share_text(found.request.wanted)}: repeat the pilot."
    return f"{limit}: {_in_words(one.design)} on each side, {_price(one, found)}."


def _effort_line(found: SampleSize) -> str:
    effort = found.request.effort
    return (
        f"Cost of both sides: {duration_text(effort.trial)} a trial, {duration_text(effort.setup)} of set-up a "
        f"session, sessions {duration_text(effort.every)} apart."
    )


# Chart


def sample_size_chart(found: SampleSize) -> Chart:
    """Return the smallest detectable difference by host-hours: a line for each number of sessions on each host."""
    lines = [_line(found, number, name, designs) for number, (name, designs) in enumerate(_families(found))]
    series = [line for line in lines if line.xs]
    hours = [x for line in series for x in line.xs]
    if hours:
        ends, wanted = (min(hours), max(hours)), found.request.wanted
        target = ChartSeries(f"wanted {share_text(wanted)}", ends, (wanted, wanted), colour=None, dashed=True)
        series.append(target)
    x, y = ChartAxis("host-hours of both sides", logarithmic=True), ChartAxis("", share=True, logarithmic=True)
    return Chart("Smallest detectable difference", x, y, tuple(series))


def _families(found: SampleSize) -> Iterator[tuple[str, list[SampleDesign]]]:
    """Yield the lines of the chart: their names and designs."""
    limits = found.request.limits
    best = found.recommended or found.best
    trials = limits.trials if best is None else best.design.trials
    if found.level is Level.TRIAL:
        yield "1 session", [SampleDesign(1, 1, n) for n in range(FEWEST[Level.TRIAL], limits.trials + 1)]
    elif found.level is Level.SESSION:
        for n in dict.fromkeys((trials, min(2 * trials, limits.trials))):
            sessions = range(FEWEST[Level.SESSION], limits.sessions + 1)
            yield f"{n} trials a session", [SampleDesign(1, k, n) for k in sessions]
    else:
        known = found.pilot.noise.found.session is not None
        counts = {1} | ({2, 5} | ({best.design.sessions} if best else set()) if known else set())
        for k in sorted(count for count in counts if count <= limits.sessions):
            hosts = range(FEWEST[Level.HOST], limits.hosts + 1)
            yield f"{count_text(k, 'session')} a host", [SampleDesign(h, k, trials) for h in hosts]


def _line(found: SampleSize, colour: int, name: str, designs: list[SampleDesign]) -> ChartSeries:
    points = [costed(found.pilot.noise, design, found.request) for design in designs]
    known = [one for one in points if one is not None]
    return ChartSeries(
        name,
        tuple(one.host_hours for one in known),
        tuple(one.detectable for one in known),
        ChartMark.DOTS if len(known) == 1 else ChartMark.LINE,
        colour,
    )


# JSON


class ComponentJson(TypedDict):
    """A level of variance: its coefficient of variation and interval, `upper` the one-sided bound."""

    level: str
    n: int
    freedom: int
    cov: float | None
    low: float | None
    high: float | None
    upper: float | None


class DesignShares(TypedDict):
    """The shares of the levels in the variance of a result."""

    host: float
    session: float
    trial: float


class DesignKeys(TypedDict):
    """Keys of a design beside those of CostedDesign."""

    beyond_margin: float
    shares: DesignShares


DesignJson = Annotated[Json, CostedDesign, DesignKeys]


class SampleSizeJson(TypedDict):
    """Designs that show a difference. Shares are fractions; hours and costs are those of both sides."""

    format: Annotated[str, FORMAT]
    step: str
    metric: str
    labels: Mapping[str, str]
    detect: float
    power: float
    confidence: float
    paired: bool
    metrics_tested: int
    margin: float
    claim: Level
    components: list[ComponentJson]
    effort: Annotated[Json, Effort]
    designs: list[DesignJson]
    cautious: DesignJson | None
    best: DesignJson | None
    excluded: list[str]
    text: list[str]


def sample_size_to_json(found: SampleSize) -> SampleSizeJson:
    """Return the public JSON. Shares are fractions; hours and costs are those of both sides."""
    request, pilot = found.request, found.pilot
    return {
        "format": FORMAT,
        "step": pilot.step.name,
        "metric": pilot.metric.name,
        "labels": dict(pilot.labels),
        "detect": request.wanted,
        "power": request.test.power,
        "confidence": CONFIDENCE,
        "paired": request.test.paired,
        "metrics_tested": request.test.metrics,
        "margin": request.margin,
        "claim": found.level,
        "components": [_component_json(one) for one in pilot.components],
        "effort": published(request.effort),
        "designs": [_design_json(one, request) for one in found.designs],
        "cautious": None if found.cautious is None else _design_json(found.cautious, request),
        "best": None if found.best is None else _design_json(found.best, request),
        "excluded": list(pilot.excluded),
        "text": sample_size_lines(found),
    }


def _component_json(one: VarianceComponent) -> ComponentJson:
    edges = (one.variance, one.low, one.high, one.upper)
    cov, low, high, upper = (None if variance is None else cov_of(variance) for variance in edges)
    return {
        "level": one.name, "n": one.n, "freedom": one.freedom, "cov": cov, "low": low, "high": high, "upper": upper,
    }  # fmt: skip


def _design_json(one: CostedDesign, request: SampleSizeRequest) -> DesignJson:
    whole = one.parts.whole or 1.0
    shares = {name: getattr(one.parts, name) / whole for name in ("host", "session", "trial")}
    return {**published(one), "beyond_margin": one.beyond(request.margin), "shares": shares}


publish(
    CostedDesign,
    "hosts=design.hosts sessions=design.sessions trials=design.trials detectable detectable_upper=cautious "
    "seconds_per_host=per_host days host_hours cost",
)
