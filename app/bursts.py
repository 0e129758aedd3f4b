"""Burst meter: rates, size and refill of a token bucket, from trials that drain it with rests between them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, TypedDict

from app.centres import geometric_mean_of, student
from app.chart import Chart, ChartAxis, ChartSeries
from app.checks.shapes import FEWEST, MOST_POINTS, Shape, ShapeKind, shape_of
from app.events import State
from app.json_converter import Json, publish, published
from app.numeric import Numbers, np
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries, TrialRecord
from app.sample_statistics import within_of
from suites.errors import BenchwrightError
from suites.quantities import (
    count_text,
    duration_text,
    figure_text,
    label_pairs,
    metric_text,
    parse_quantity,
    quantity,
    range_text,
)
from suites.units import Unit, convert, same_dimension
from suites.vocab import Labels, Metric, Sample

_FALLS = {ShapeKind.BURST, ShapeKind.STEP_DOWN}


@dataclass(frozen=True, slots=True)
class BurstEstimate:
    """A rate or amount with its 95 % interval."""

    value: float
    low: float
    high: float

    def over(self, divisor: float) -> "BurstEstimate":
        """Return the estimate divided by `divisor`."""
        return BurstEstimate(self.value / divisor, self.low / divisor, self.high / divisor)


@dataclass(frozen=True, slots=True)
class Drain:
    """A trial that drains the bucket: the rates before and after it is empty, and what was taken above the base rate.

    `rest` are the seconds since the trial before it, None if unknown. `spent` is in the unit of the rate times seconds;
    `duration` is `spent` / (burst - base). Without a fall of the rate they are None, and `reason` is why. `points` are
    the samples: seconds of the trial and rate.
    """

    number: int
    rest: float | None = None
    burst: BurstEstimate | None = None
    base: BurstEstimate | None = None
    duration: float | None = None
    spent: BurstEstimate | None = None
    reason: str = ""
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LoadDuration:
    """How long a full bucket serves a load of `rate`; `seconds` is None if `sustained`, `high` if it may be."""

    rate: float
    sustained: bool
    seconds: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BurstAnalysis:
    """The token bucket of a step on a host. `size` and `refill` are in the unit of the metric, times seconds the size.

    `refill_at_least`: the bucket may have been full again before the end of a rest. `refill_ratio` is refill by base
    rate, which is 1 for a token bucket. `full_after` are the seconds of rest that fill it.
    """

    run: str
    step: str
    host: str
    metric: Metric
    labels: Labels
    drains: tuple[Drain, ...]
    burst: BurstEstimate | None = None
    base: BurstEstimate | None = None
    size: BurstEstimate | None = None
    refill: BurstEstimate | None = None
    refill_at_least: bool = False
    refill_ratio: BurstEstimate | None = None
    load: LoadDuration | None = None

    @property
    def full_after(self) -> float | None:
        """The size by the refill rate, or by the base rate where no refill was measured or it is a lower bound."""
        rate = self.base if self.refill_at_least else self.refill or self.base
        return None if self.size is None or rate is None or not rate.value else self.size.value / rate.value

    def under(self, load: float) -> "BurstAnalysis":
        """Return the analysis with the time in which `load`, in the unit of the metric, empties the full bucket."""
        if self.burst is None or self.base is None or self.size is None:
            return self
        taken, base, size = min(load, self.burst.value), self.base, self.size
        if taken <= base.value:
            return replace(self, load=LoadDuration(load, sustained=True))
        seconds, low = size.value / (taken - base.value), size.low / (taken - base.low)
        high = size.high / (taken - base.high) if base.high < taken else None
        return replace(self, load=LoadDuration(load, sustained=False, seconds=seconds, low=low, high=high))


def drain_of(number: int, times: Sequence[float], values: Sequence[float], rest: float | None = None) -> Drain:
    """Return the drain of a trial from the samples of its rate; `times` are the ends of their intervals in seconds.

    The fall is that of shape_of(). `spent` sums the samples up to it, so that a sample in which the bucket ran empty
    counts by its share. Its 95 % interval is from the errors of both levels, corrected for autocorrelation.
    """
    if len(values) < FEWEST:
        return Drain(number, rest, reason=f"{count_text(len(values), 'sample')}, fewer than {FEWEST}")
    at, rates = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    shape, count = _fall(at, rates)
    if shape is None:
        return Drain(
            number, rest, reason="The rate does not fall: no burst, or not spent, or shorter than three samples"
        )
    if shape.kind not in _FALLS:
        return Drain(number, rest, reason=f"No single fall of the rate: {shape.kind}")
    usual = float(np.median(np.diff(at)))
    lengths = np.diff(at, prepend=0.0 if at[0] < 2 * usual else at[0] - usual)
    cut, blur = shape.spans[0].until, usual * 1.01 * math.ceil(count / MOST_POINTS)
    before, after = rates[at <= cut - blur], rates[at > cut + blur]
    burst, base = _level(before), _level(after)
    if burst is None or base is None:
        return Drain(number, rest, reason="The burst or the time after it is shorter than three samples")
    early = at <= cut + blur
    spent = float(((rates - base.value) * lengths)[early].sum())
    duration = spent / (burst.value - base.value)
    reach = duration * math.hypot(burst.high - burst.value, base.high - base.value)
    return Drain(number, rest, burst, base, duration, BurstEstimate(spent, max(0.0, spent - reach), spent + reach))


def _fall(at: Numbers, rates: Numbers) -> tuple[Shape | None, int]:
    """Return the shape, and of how many samples from the first on: of so many that a short burst is no single point."""
    shape, count = shape_of(at.tolist(), rates.tolist()), len(at)
    while count > MOST_POINTS and (shape is None or shape.kind in _FALLS):
        until = 0 if shape is None else int(np.searchsorted(at, shape.spans[0].until))
        nearer = max(MOST_POINTS, 4 * until)
        closer = shape_of(at[:nearer].tolist(), rates[:nearer].tolist()) if nearer < count else None
        if closer is None or closer.kind not in _FALLS:
            break
        shape, count = closer, nearer
    return shape, count


def _level(rates: Numbers) -> BurstEstimate | None:
    """Return the mean of samples with its interval from their effective number; None for fewer than two."""
    within = within_of(rates)
    if within is None:
        return None
    reach = student(max(1.0, within.worth - 1)) * math.sqrt(within.variance / within.worth)
    return BurstEstimate(within.mean, max(0.0, within.mean - reach), within.mean + reach)


def burst_of(run: str, step: str, host: str, what: tuple[Metric, Labels], drains: Sequence[Drain]) -> BurstAnalysis:
    """Return the bucket from its drains in order of time.

    The rates are over the trials. The size is that of the first drain, or of a later one that is significantly larger;
    a lower bound unless the bucket was full. After a drain that emptied it, the bucket has what flows in during the
    rest: the refill rate is what the next drain takes above the base rate, by the rest.
    """
    found = BurstAnalysis(run, step, host, *what, tuple(drains))
    spent = [one.spent for one in drains if one.spent is not None]
    if not spent:
        return found
    size = next((one for one in spent[1:] if one.low > spent[0].high), spent[0])
    refills, ratios, full = [], [], False
    for last, one in pairwise(drains):
        if last.spent is not None and one.spent is not None and one.base is not None and one.rest is not None:
            refills.append(one.spent.over(one.rest))
            ratios.append(refills[-1].over(one.base.value))
            full = full or (one.spent.high >= size.low and ratios[-1].high < 1)  # else all that flowed in was taken
    return replace(
        found,
        burst=_over_trials([one.burst for one in drains if one.burst is not None]),
        base=_over_trials([one.base for one in drains if one.base is not None]),
        size=size,
        refill=_over_trials(refills),
        refill_at_least=full,
        refill_ratio=_over_trials(ratios),
    )


def _over_trials(found: Sequence[BurstEstimate]) -> BurstEstimate | None:
    """Return the geometric mean of trials with the interval over them; one trial has its own. None without any."""
    if len(found) < 2 or min(one.value for one in found) <= 0:
        return found[0] if found else None
    centre = geometric_mean_of([one.value for one in found])
    if centre.low is None or centre.high is None:
        return None
    return BurstEstimate(centre.value, centre.low, centre.high)


def drains_of(
    record: RunRecord, step: str, host: str, samples: SampleSeries, what: tuple[Metric, Labels]
) -> list[Drain]:
    """Return a drain for each trial of a step on a host, warm-ups included, in order of their start."""
    own = [one for one in record.trials if (one.trial.step, one.trial.host) == (step, host) and not one.trial.profiled]
    drains: list[Drain] = []
    last: float | None = None
    for one in sorted(own, key=lambda one: one.trial.started):
        given = samples.get(one.trial.id, ())
        span = record.interval(one, given)
        rest = None if span is None or last is None else span.start - last
        last = None if span is None else span.end
        drains.append(_drain(one, given, what, rest if rest is not None and rest > 0 else None))
    return drains


def _drain(one: TrialRecord, given: Sequence[Sample], what: tuple[Metric, Labels], rest: float | None) -> Drain:
    if one.state is not State.DONE:
        return Drain(one.trial.number, rest, reason=f"The trial is {one.state.text}")
    metric, labels = what
    own = [each for each in given if each.metric.name == metric.name and each.labels == labels]
    values = [convert(each.value, each.metric.unit, metric.unit) for each in own]
    found = drain_of(one.trial.number, [each.time for each in own], values, rest)
    return replace(found, points=tuple(zip((each.time for each in own), values, strict=True)))


def amount_text(metric: Metric, value: float) -> str:
    """Return an amount, a rate times seconds: bytes, or a number of operations."""
    if same_dimension(metric.unit, Unit.BYTES_PER_SECOND):
        return quantity(convert(value, metric.unit, Unit.BYTES_PER_SECOND), measured=True)
    return f"{value:,.0f}"


def rate_text(metric: Metric, found: BurstEstimate) -> str:
    """Return a rate with its 95 % interval."""
    reach = found.high - found.value or None
    ends = range_text(metric, found.low, found.high, reach, value=found.value)
    return f"{figure_text(metric, found.value, reach)} ({ends})"


def _range(metric: Metric, found: BurstEstimate) -> str:
    value, low, high = (amount_text(metric, each) for each in (found.value, found.low, found.high))
    unit = "" if same_dimension(metric.unit, Unit.BYTES_PER_SECOND) else " operations"
    return f"{value}{unit} ({low} to {high})"


def burst_lines(one: BurstAnalysis) -> list[str]:
    """Return the bucket in sentences."""
    if one.burst is None or one.base is None or one.size is None:
        return ["No burst measured: no trial has a fall of the rate."]
    metric = one.metric
    lines = [
        f"Burst rate: {rate_text(metric, one.burst)}.",
        f"Base rate: {rate_text(metric, one.base)}.",
        f"Bucket size: at least {_range(metric, one.size)}.",
    ]
    if one.drains[0].spent is None:
        lines.append("The first drain has no fall: the size is only what flowed in during the rests.")
    elif one.full_after is not None:
        rest = duration_text(one.full_after)
        lines.append(
            f"The size is a lower bound unless the host rested for {rest} before the run: only then was it full."
        )
    if one.refill is None:
        emptied = any(each.spent is not None for each in one.drains[:-1])
        why = "no later drain has a fall. Rest longer" if emptied else "no drain follows one that emptied the bucket"
        lines.append(f"Refill rate not measured: {why}.")
    else:
        least = "at least " if one.refill_at_least else ""
        lines.append(f"Refill rate: {least}{rate_text(metric, one.refill)}.")
    if one.refill_at_least:
        lines.append(
            "The bucket may have been full before the end of the rest. Shorten the pause to measure the refill."
        )
    elif one.refill_ratio is not None:
        ratio = one.refill_ratio
        ends = f"{ratio.low:.2f} to {ratio.high:.2f}"
        lines.append(
            f"The refill rate is {ratio.value:.2f} of the base rate ({ends}); a token bucket refills at its base rate."
        )
    return lines if one.load is None else [*lines, _load_text(metric, one.load)]


def _load_text(metric: Metric, load: LoadDuration) -> str:
    rate = figure_text(metric, load.rate)
    if load.seconds is None:
        return f"{rate} does not exceed the base rate: the bucket never runs empty."
    ends = "" if load.low is None else f", 95 % interval from {duration_text(load.low)}"
    if load.high is not None:
        ends += f" to {duration_text(load.high)}"
    return f"{rate} empties the bucket of this size in {duration_text(load.seconds)}{ends}."


FORMAT = "benchwright-burst/1"

publish(Drain, "number rest burst base duration spent reason")
publish(
    BurstAnalysis,
    "run step host metric=metric.name unit=metric.unit labels burst base size full_after refill refill_at_least "
    "refill_ratio load drains",
)


class BurstJson(TypedDict):
    """Bursts of a run."""

    format: Annotated[str, FORMAT]
    bursts: list[Annotated[Json, BurstAnalysis]]


def burst_to_json(found: Sequence[BurstAnalysis]) -> BurstJson:
    """Return the public JSON of bursts; null is what was not measured."""
    return {"format": FORMAT, "bursts": [published(one) for one in found]}


_ESTIMATES = "burst", "base", "spent", "size", "refill"

BURST_COLUMNS = (
    "run", "step", "host", "metric", "unit", "labels", "trial", "rest", "duration", "reason",
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_low", "_high")),
)  # fmt: skip


def burst_rows(found: Sequence[BurstAnalysis]) -> list[Json]:
    """Return the drains as rows of a table with BURST_COLUMNS; size and refill are those of the bucket."""
    rows = []
    for one in found:
        bucket = published(one)
        for drain in bucket["drains"]:
            row = {name: bucket[name] for name in BURST_COLUMNS[:5]}
            row |= {"labels": label_pairs(one.labels), "trial": drain["number"]}
            row |= {name: drain[name] for name in ("rest", "duration", "reason")}
            for name in _ESTIMATES:
                estimate = (drain if name in drain else bucket)[name] or {}
                row |= {
                    name + end: estimate.get(key) for end, key in (("", "value"), ("_low", "low"), ("_high", "high"))
                }
            rows.append(row)
    return rows


def burst_chart(one: BurstAnalysis) -> Chart:
    """Return the rate of each drain over the seconds of its trial, with the burst and base rate of the bucket."""
    series = []
    for number, each in enumerate(one.drains):
        if each.points:
            xs, ys = zip(*each.points, strict=True)
            series.append(ChartSeries(f"trial {each.number}", xs, ys, colour=number))
    ends = [x for each in series for x in (each.xs[0], each.xs[-1])]
    for name, rate in (("burst rate", one.burst), ("base rate", one.base)):
        if rate is not None:
            level, low, high = ((edge, edge) for edge in (rate.value, rate.low, rate.high))
            title, span = f"{name}, 95 % interval", (min(ends), max(ends))
            series.append(ChartSeries(title, span, level, colour=None, low=low, high=high, dashed=True))
    title = f"{one.step} on {host_label(one.host)}, {metric_text(one.metric, one.labels)}"
    notes = (*(f"Trial {each.number}: {each.reason}." for each in one.drains if each.reason), *burst_lines(one))
    return Chart(
        title,
        ChartAxis("seconds of the trial"),
        ChartAxis("", one.metric, from_zero=True),
        tuple(series),
        " ".join(notes),
    )


def under_load(found: Sequence[BurstAnalysis], load: str) -> list[BurstAnalysis]:
    """Return bursts with the time in which a load empties each: 2000, or “100 MB/s”. Raises BenchwrightError."""
    rate, unit = parse_quantity(load)
    if rate <= 0:
        raise BenchwrightError(f"The load is {load[:60]}.", "Set a load above 0.")
    return [one.under(rate if unit is None else convert(rate, unit, one.metric.unit)) for one in found]
