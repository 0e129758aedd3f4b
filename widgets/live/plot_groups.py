"""Which plot a series belongs to, and its name, colour and line there. No Qt."""

from dataclasses import dataclass, replace

from suites.errors import UnitError
from suites.quantities import label_text
from suites.units import Unit, convert
from suites.vocab import Better, Labels, Metric, MetricKind, Resource
from widgets.live.model import LiveSeries

HEADLINE = "headline"
LATENCY = "latency"

_HOST = {
    "cpu": ("Host: CPU", 50),
    "disk": ("Host: disk", 60),
    "network": ("Host: network", 70),
    "memory": ("Host: memory", 80),
    "swap": ("Host: swap", 81),
    "pressure": ("Host: pressure (PSI)", 82),
    "load": ("Host: load", 83),
    "core": ("Host: CPU per core", 51),
    "clock": ("Host: CPU frequency", 52),
    "temperature": ("Host: temperature, share of limit", 53),
    "cgroup": ("Host: CPU throttled (cgroup)", 54),
    "tasks": ("Host: tasks", 84),
    "page": ("Host: major page faults", 85),
}
"""Title and rank of a host plot, by the first word of its metrics' names."""

_EXTRA = {
    ("disk", Unit.PERCENT): " busy",
    ("disk", Unit.PER_SECOND): " I/Os",
    ("disk", Unit.ONE): " queue",
    ("network", Unit.PER_SECOND): " drops",
}
_OTHER_RANK = 20
_MEAN = "_mean"
"""Suffix of means, hidden at first: the percentiles show more."""

_REDUNDANT = ("idle", "segments")
"""Suffixes of host metrics that follow from the others."""

_COUNTED = frozenset({"process", "allowance", "link", "filesystem", "throttle", "out"})
"""Host metrics that are nearly always zero: findings report them, no plot shows them."""

_PEER = 100
"""Ranks of the peer's plots after those of the host."""

_WATCHED = {
    Resource.CPU: {"cpu"},
    Resource.MEMORY: {"cpu"},
    Resource.DISK: {"cpu", "disk"},
    Resource.NETWORK: {"cpu", "network"},
    Resource.APPLICATION: {"cpu", "disk"},
}
"""Host plots shown at first, by the resource that the suite loads."""


COLOURS = 6
_PERCENTILES = (50.0, 95.0, 99.0, 99.9, 99.999, 100.0)
"""Upper limits of the percentiles of each colour: a percentile has the same colour in every plot."""


@dataclass(frozen=True, slots=True)
class Group:
    """One plot: its name, title, unit and order (lowest `rank` on top)."""

    name: str
    title: str
    unit: Unit
    rank: int
    better: Better | None = None
    may_be_logarithmic: bool = False
    stretch: int = 2
    shown: bool = True
    of_host: bool = False


SO_FAR, OFFERED = "_so_far", "_offered"
"""Suffixes of the samples of a search: the best figure so far, of which the last counts, and what it tries."""


def running_names(headline: Metric) -> tuple[str, ...]:
    """Return the names that samples of a headline metric have: its own, that of a part, that of a search so far."""
    return headline.name, headline.name.removeprefix("total_"), f"{headline.name}{SO_FAR}"


def of_test(series: LiveSeries, headline: Metric | None) -> Group:
    """Return the plot for a series of the test."""
    metric = series.metric
    if headline is not None and metric.name in {*running_names(headline), f"{headline.name}{OFFERED}"}:
        return Group(HEADLINE, headline.title, headline.unit, 0, headline.better, stretch=4)
    if metric.percentile is not None and _same_dimension(metric.unit, Unit.SECOND):
        return Group(LATENCY, "Latency", metric.unit, 10, Better.LOWER, may_be_logarithmic=True, stretch=3)
    another_time = metric.kind is MetricKind.TIME and not metric.name.endswith(_MEAN)
    return Group(metric.name, metric.title, metric.unit, _OTHER_RANK, metric.better, shown=another_time)


def of_host(series: LiveSeries, resource: Resource | None, *, peer: bool = False) -> Group | None:
    """Return the plot for a series of telemetry of the host or its `peer`, or None if it is not drawn."""
    metric = series.metric
    part = metric.name.partition("_")[0]
    if metric.name.endswith(_REDUNDANT) or part in _COUNTED:
        return None
    title, rank = _HOST.get(part, (f"Host: {part}", 90))
    watched = resource is None or part in _WATCHED[resource]
    name = f"host {part} {metric.unit.value}"
    extra = _EXTRA.get((part, metric.unit), "")
    group = Group(name, title + extra, metric.unit, rank, stretch=2, shown=watched and not extra, of_host=True)
    if not peer:
        return group
    title = group.title.replace("Host", "Peer", 1)
    return replace(group, name=f"peer {name}", title=title, rank=rank + _PEER, shown=part == "cpu")


def series_title(series: LiveSeries, group: Group) -> str:
    """Return the name of a series within its plot."""
    metric = series.metric
    labelled = label_text(series.labels)
    if group.name == LATENCY:
        name = "max" if metric.percentile == 100 else f"p{metric.percentile:g}"
        return f"{name} {labelled}".strip()
    if group.of_host:
        return f"{_short_name(metric)} {labelled}".strip()
    return labelled or ("total" if metric.name.startswith("total_") else metric.title)


def style(series: LiveSeries, group: Group, operations: list[Labels], number: int) -> tuple[int, bool]:
    """Return the index of the colour and whether the line is dashed.

    Latencies have a colour per percentile, dashed from the second operation on; `operations` collects those seen.
    Other series are coloured by their `number` in the plot: six colours, then the same ones dashed.
    """
    if group.name != LATENCY:
        return number, number >= COLOURS
    if series.labels not in operations:
        operations.append(series.labels)
    percentile = series.metric.percentile or 0.0
    colour = next(index for index, known in enumerate(_PERCENTILES) if percentile <= known)
    return colour, operations.index(series.labels) > 0


def fits(series: LiveSeries, unit: Unit) -> bool:
    """Return whether `series` can be drawn in a plot of `unit`."""
    return _same_dimension(series.metric.unit, unit)


def factor(series: LiveSeries, unit: Unit) -> float:
    """Return the factor that converts `series` to `unit`."""
    return convert(1.0, series.metric.unit, unit)


def _short_name(metric: Metric) -> str:
    """Return the short name of a host metric in its plot: ``user`` for ``cpu_user``."""
    name = metric.name.partition("_")[2].removesuffix("_rate").removesuffix("_ios")
    return name.replace("_", " ") or metric.title


def _same_dimension(one: Unit, other: Unit) -> bool:
    try:
        convert(1.0, one, other)
    except UnitError:
        return False
    return True
