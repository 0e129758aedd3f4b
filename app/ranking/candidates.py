"""Candidates of a ranking: hosts of runs, or groups of runs; ranking criteria and prices."""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.centres import geometric_mean_of
from app.comparison.cell_caveats import MOST_FAILED
from app.comparison.comparability import Profile
from app.comparison.comparison import CompareError
from app.comparison.estimates import group_means
from app.comparison.moments import NO_MOMENTS, Moments, means_by_moment
from app.comparison.sides import Side, StepHosts
from app.comparison.verdicts import Level
from app.host_attributes import currency_code
from app.margins import DEFAULTS, Margins
from app.ranking.scores import Score, ValueUnit
from app.records import RunRecord, TrialRecord
from remote.local_file import read_file
from suites.errors import BenchwrightError, UnitError
from suites.facts import known
from suites.quantities import parse_quantity
from suites.units import Unit, convert, ungrouped
from suites.verdict import Trust, Verdict, least_trusted
from suites.vocab import Better, Figure, Labels, Metric

MAXIMUM_SIZE = 1024 * 1024
MOST_ROWS = 10_000
LONGEST_NAME = 200

_PRICE = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?: ?([^\s\d/]{1,12}))?")


class PriceError(BenchwrightError):
    """An invalid price, or prices in different currencies."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one hour. `currency` is a text, and may be empty."""

    amount: float
    currency: str = ""

    def __post_init__(self) -> None:
        """Write the currency in one way: two would be two currencies."""
        object.__setattr__(self, "currency", currency_code(self.currency))

    @property
    def text(self) -> str:
        """The price as text: ``0.34 USD an hour``."""
        return f"{self.amount:g}{f' {self.currency}' if self.currency else ''} an hour"


def amount_text(amount: float, currency: str = "") -> str:
    """Return an amount to the hundredth, or with three digits if it is less than one, with its currency."""
    digits = 2 if amount >= 1 or not amount else 2 - math.floor(math.log10(amount))
    whole, _, part = f"{amount:,.{digits}f}".partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')} {currency}".rstrip()


Prices = Mapping[str, Price]
"""Prices by host, or by instance type."""


def price_key(selector: str, host: str) -> str:
    """Return the key of the price of a host in one candidate only, beside those by host and by instance type."""
    return f"{selector}@{host}"


def parse_price(text: str) -> Price:
    """Parse a price, ``0.34`` or ``0.34 USD``; raise PriceError for anything else, and for 0."""
    text = ungrouped(text)
    found = _PRICE.fullmatch(text.strip())
    if found is None or not float(found[1]) or not text.isprintable():
        raise PriceError(f"“{text[:40]}” is not a price.", "Write 0.34 or 0.34 USD, for one hour.")
    return Price(float(found[1]), found[2] or "")


def parse_pairs(pairs: Iterable[str]) -> dict[str, Price]:
    """Parse prices, ``HOST=PRICE``."""
    found = {}
    for pair in pairs:
        name, mark, price = pair.rpartition("=")
        if not mark or not name.strip():
            raise PriceError(f"“{pair[:60]}” is not HOST=PRICE.", "Write web-1=0.34, for example.")
        found[name.strip()] = parse_price(price)
    return found


def read_prices(path: Path) -> dict[str, Price]:
    """Read a CSV file of prices with the columns host or instance_type, price, and optionally currency.

    Raises PriceError naming the file and the fault.
    """
    return read_file(path, MAXIMUM_SIZE, PriceError, "Prices are a CSV file in UTF-8.", parse_table)


def parse_table(text: str) -> dict[str, Price]:
    """Parse the text of a CSV file of prices."""
    found: dict[str, Price] = {}
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        head = [column.strip().lower() for column in reader.fieldnames or ()]
        reader.fieldnames = head
        if "price" not in head or not {"host", "instance_type"} & set(head):
            raise PriceError(
                "the header lacks price, or host or instance_type.", "Start the file with host,price,currency."
            )
        for number, row in enumerate(reader, 2):
            name = (row.get("host") or row.get("instance_type") or "").strip()
            if not name or len(name) > LONGEST_NAME or not name.isprintable() or number > MOST_ROWS:
                raise PriceError(f"line {number} has no valid host, or exceeds the limit of {MOST_ROWS} lines.")
            found[name] = parse_price(f"{row.get('price') or ''} {row.get('currency') or ''}")
    except csv.Error as error:
        raise PriceError(f"not valid CSV: {error}.") from error
    return found


def one_currency(prices: Iterable[Price]) -> str:
    """Return the currency of all prices; raise PriceError for several."""
    found = list(dict.fromkeys(price.currency for price in prices))
    if len(found) > 1:
        names = " and ".join(one or "no currency" for one in found)
        raise PriceError(f"Prices in {names} cannot be compared.", "Give all in one currency, as with --price.")
    return found[0] if found else ""


BY_POINT = "_by_point"
"""The suffix of a metric's name for its value at each point of a sweep."""


@dataclass(frozen=True, slots=True)
class FigureLimit:
    """A limit at a point of a sweep: ``latency_p99 <= 1 ms``. `value` is in `unit`; None is the metric's unit."""

    metric: str
    value: float
    unit: Unit | None = None
    at_most: bool = True

    def is_met(self, figure: Figure) -> bool:
        """Return whether the limit holds for a figure of its metric."""
        try:
            edge = self.value if self.unit is None else convert(self.value, self.unit, figure.metric.unit)
        except UnitError as error:
            raise CompareError(f"Invalid limit on {self.metric}: {error.message}") from error
        return figure.value <= edge if self.at_most else figure.value >= edge

    @property
    def text(self) -> str:
        """The limit as text."""
        unit = f" {self.unit}" if self.unit is not None else ""
        return f"{self.metric} {'≤' if self.at_most else '≥'} {self.value:g}{unit}"


class RankingGoal(StrEnum):
    """The goal of a ranking. CHEAPEST needs a threshold; PER_PRICE is the value divided by the price."""

    HIGHEST = "highest"
    CHEAPEST = "cheapest"
    PER_PRICE = "per price"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on a metric, in `unit`, or in the metric's unit for None."""

    value: float
    at_least: bool = True
    unit: Unit | None = None

    def edge(self, metric: Metric) -> float:
        """Return the threshold in the unit of `metric`."""
        if self.unit is None:
            return self.value
        try:
            return convert(self.value, self.unit, metric.unit)
        except UnitError as error:
            raise CompareError(f"Invalid threshold: {error.message}", error.remedy) from error


@dataclass(frozen=True, slots=True)
class RankingCriteria:
    """The criteria of a ranking. `weights` are by metric name; a single metric has weight 1.

    `limit` has to hold at the same point of a sweep; `labels` select a figure of the metric.
    """

    weights: Mapping[str, float]
    goal: RankingGoal = RankingGoal.HIGHEST
    threshold: Threshold | None = None
    limit: FigureLimit | None = None
    labels: Labels | None = None
    step: str = ""
    prices: Prices = field(default_factory=dict)
    margins: Margins = DEFAULTS
    overruled: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host of a run, or a group. `values` are by metric, then by the unit of `level`: the trials of one run, the runs
    (sessions) of one host, or the hosts of a group; `steps` has the step of each metric. `types` are the known instance
    types by host. `verdict` is the least trusted of those on its values. `moments` has the means of a group by
    metric, then by host and moment."""

    name: str
    selector: str
    hosts: tuple[str, ...]
    metrics: Mapping[str, Metric] = field(hash=False)
    values: Mapping[str, Mapping[ValueUnit, float]] = field(hash=False)
    steps: Mapping[str, str] = field(hash=False)
    profiles: Mapping[str, Profile] = field(hash=False)
    types: Mapping[str, str] = field(default_factory=dict, hash=False)
    level: Level = Level.TRIAL
    verdict: Verdict | None = field(default=None, hash=False)
    moments: Mapping[str, Mapping[tuple[str, str], float]] = field(default_factory=dict, hash=False)

    def score(self, weights: Mapping[str, float]) -> Score:
        """Return the score, the weighted geometric mean of the metrics in `weights`."""
        whole = sum(weights.values())
        parts: dict[str, dict[ValueUnit, float]] = {}
        moments: dict[tuple[str, str], list[float]] = {}
        for name, weight in weights.items():
            share = weight / whole * (1 if self.metrics[name].better is Better.HIGHER else -1)
            for moment, mean in self.moments.get(name, {}).items():
                moments.setdefault(moment, []).append(share * math.log(mean))
            part = parts.setdefault(self.steps[name], {})
            for unit, value in self.values[name].items():
                part[unit] = part.get(unit, 0.0) + share * math.log(value)
        complete = [self._complete(step, part, weights) for step, part in parts.items()]
        whole_moments = {one: math.exp(sum(logs)) for one, logs in moments.items() if len(logs) == len(weights)}
        values, units = tuple(tuple(part.values()) for part in complete), tuple(map(tuple, complete))
        return Score(values, self.level, units, means_by_moment(whole_moments))

    def _complete(
        self, step: str, part: Mapping[ValueUnit, float], weights: Mapping[str, float]
    ) -> dict[ValueUnit, float]:
        """Return the values of the units that have every metric of the step."""
        names = [name for name in weights if self.steps[name] == step]
        return {unit: value for unit, value in part.items() if all(unit in self.values[name] for name in names)}

    def centre(self, metric: str) -> tuple[float, float | None, float | None]:
        """Return the geometric mean of a metric with its 95 % interval (Student's t on the logarithms)."""
        found = geometric_mean_of(tuple(self.values[metric].values()))
        return found.value, found.low, found.high


@dataclass(frozen=True, slots=True)
class _HostGroup:
    """A host of a run, or all hosts of a group, before its values are read."""

    selector: str
    side: Side
    hosts: tuple[str, ...]


def candidates_of(
    selectors: Sequence[str],
    sides: Sequence[Sequence[RunRecord]],
    metrics: Sequence[str],
    criteria: RankingCriteria,
    moments: Moments = NO_MOMENTS,
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return the candidates that have all of `metrics`, and names and reasons of the others."""
    found: list[Candidate] = []
    excluded: list[tuple[str, str]] = []
    groups = list(_host_groups(selectors, sides))
    for name, group in zip(_names(groups), groups, strict=True):
        made = _candidate(name, group, metrics, criteria, moments)
        reason = made if isinstance(made, str) else _other_unit(made, found[0] if found else made)
        if isinstance(made, str) or reason:
            excluded.append((name, reason))
        else:
            found.append(made)
    return found, excluded


def _host_groups(selectors: Sequence[str], sides: Sequence[Sequence[RunRecord]]) -> Iterator[_HostGroup]:
    for word, runs in zip(selectors, sides, strict=True):
        side = Side(runs)
        if len(runs) > 1:
            yield _HostGroup(word, side, side.hosts)
        else:
            yield from (_HostGroup(word, side, (host,)) for host in side.hosts)


def _names(groups: Sequence[_HostGroup]) -> list[str]:
    """Return a name for each candidate: its host if unique, else its run and host."""
    hosts = [group.hosts[0] if len(group.hosts) == 1 else f"{len(group.hosts)} hosts" for group in groups]
    short = [group.selector if len(group.selector) <= 40 else f"{group.selector[:37]}…" for group in groups]
    return [
        host if hosts.count(host) == 1 and len(group.hosts) == 1 else f"{word} ({host})"
        for host, word, group in zip(hosts, short, groups, strict=True)
    ]


def _candidate(
    name: str, group: _HostGroup, metrics: Sequence[str], criteria: RankingCriteria, moments: Moments
) -> Candidate | str:
    known_metrics: dict[str, Metric] = {}
    figures: dict[str, _Figures] = {}
    steps: dict[str, str] = {}
    profiles: dict[str, Profile] = {}
    verdicts: list[Verdict] = []
    for metric in metrics:
        for step in group.side.steps:
            cell = StepHosts(step, group.hosts)
            taken = _taken(group.side, cell, metric, criteria) if criteria.step in {"", step.name} else []
            if taken:
                failed = group.side.censored(cell)
                if failed.share > MOST_FAILED:
                    return f"{failed.text}: the rest may be a selection of the fast ones"
                steps[metric], known_metrics[metric] = step.name, taken[0][1]
                profiles[step.name] = group.side.profile(cell)
                verdicts += [verdict] if (verdict := group.side.verdict(cell)) is not None else []
                figures[metric] = taken
                break
        else:
            return f"no counted trial has “{metric[:60]}”"
        if any(value <= 0 for value, _, _, _ in taken):
            return f"{metric} is not above zero: no ratio"
    level = _level([one for taken in figures.values() for one in taken])
    values = {metric: _values(taken, level) for metric, taken in figures.items()}
    for measured in profiles:
        if not set.intersection(*(set(values[metric]) for metric in metrics if steps[metric] == measured)):
            return f"no trial of {measured} has all of the metrics"
    verdict = least_trusted(verdicts)
    if verdict is not None and verdict.trust is Trust.INVALID and not criteria.overruled:
        return verdict.text
    types = _types(group.side)
    at_moments = {}
    for metric, taken in figures.items() if level is Level.HOST else ():
        of = [(host, moments.get(unit[0], unit[0])) for _, _, unit, host in taken]
        at_moments[metric] = group_means((value for value, *_ in taken), of)
    return Candidate(
        name, group.selector, group.hosts, known_metrics, values, steps, profiles, types, level, verdict, at_moments
    )


def _types(side: Side) -> dict[str, str]:
    """Return the known instance types by host."""
    facts = {host: own for run in side.runs for host, own in run.facts_before.items()}
    return {host: kind for host, own in facts.items() if (kind := known(own.cloud.instance_type)) is not None}


def _other_unit(one: Candidate, first: Candidate) -> str:
    """Return the reason if a metric has another unit than the first candidate's, else an empty string."""
    for name, metric in one.metrics.items():
        if metric.unit is not first.metrics[name].unit:
            return f"{name} is in {metric.unit}, not in {first.metrics[name].unit}"
    return ""


_Figures = list[tuple[float, Metric, ValueUnit, str]]
"""Figures of a metric: value, metric, trial and host."""


def _taken(side: Side, cell: StepHosts, metric: str, criteria: RankingCriteria) -> _Figures:
    """Return the figure of `metric` of every counted trial."""
    found: _Figures = []
    rounds = side.rounds(cell)
    for counted in side.trials(cell):
        figure = _figure(counted.record, metric, criteria)
        if figure is not None:
            (run, trial), host = counted.key, counted.record.trial.host
            unit = (run, host, str(rounds[counted.key])) if rounds else (run, str(trial))
            found.append((figure.value, figure.metric, unit, host))
    return found


def _figure(record: TrialRecord, metric: str, criteria: RankingCriteria) -> Figure | None:
    """Return the selected figure: the first, that with the labels, or the best point at which the limit holds."""
    own = [figure for figure in record.figures if figure.metric.name in _names_of(metric, criteria.limit)]
    if criteria.labels is not None:
        own = [figure for figure in own if set(criteria.labels) <= set(figure.labels)]
    if criteria.limit is None:
        return own[0] if own else None
    limited = criteria.limit.metric
    wanted = (limited, f"total_{limited}") if limited.startswith("latency_") else (limited,)  # of whole requests last
    names = [name for each in wanted for name in _names_of(each, criteria.limit)]
    limits = {one.labels: one for name in names for one in record.figures if one.metric.name == name}
    met = [figure for figure in own if figure.labels in limits and criteria.limit.is_met(limits[figure.labels])]
    if not met:
        return None
    best = max if met[0].metric.better is Better.HIGHER else min
    return best(met, key=lambda figure: figure.value)


def _names_of(metric: str, limit: FigureLimit | None) -> tuple[str, ...]:
    """Return the names of a metric; with a limit also its name at the points of a sweep."""
    return (metric,) if limit is None else (metric, f"{metric}{BY_POINT}")


def _level(taken: _Figures) -> Level:
    """Return the highest level of which there are several: hosts, else runs, else trials."""
    hosts, runs = {host for _, _, _, host in taken}, {unit[0] for _, _, unit, _ in taken}
    return Level.HOST if len(hosts) > 1 else Level.SESSION if len(runs) > 1 else Level.TRIAL


def _values(taken: _Figures, level: Level) -> dict[ValueUnit, float]:
    """Return the values by trial, or the means of sessions by run, or those of their hosts."""
    metric = taken[0][1]
    trials = [convert(value, one.unit, metric.unit) for value, one, _, _ in taken]
    if level is Level.TRIAL:
        return {unit: value for value, (_, _, unit, _) in zip(trials, taken, strict=True)}
    sessions = group_means(trials, [(host, unit[0]) for _, _, unit, host in taken])
    if level is Level.SESSION:
        return {(run, host): value for (host, run), value in sessions.items()}
    hosts = group_means(sessions.values(), [host for host, _ in sessions])
    return {(host,): value for host, value in hosts.items()}


_LIMIT = re.compile(r"\s*([^\s<>=≤≥]+)\s*(<=|>=|≤|≥)\s*(.+)")


def limit_of(text: str) -> FigureLimit:
    """Parse a limit, ``latency_p99 <= 1 ms``."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise BenchwrightError(f"“{text[:60]}” is not a limit.", "Write latency_p99 <= 1 ms, for example.")
    value, unit = parse_quantity(found[3])
    return FigureLimit(found[1], value, unit, found[2] in {"<=", "≤"})


def weights_of(selectors: Iterable[str]) -> dict[str, float]:
    """Parse weights, ``NAME`` or ``NAME=WEIGHT``."""
    found = {}
    for word in selectors:
        name, mark, weight = word.partition("=")
        found[name] = parse_quantity(weight)[0] if mark else 1.0
    return found
