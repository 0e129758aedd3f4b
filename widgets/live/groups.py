"""Which series are drawn together: the leading metric, the latencies, and each part of the host."""

from dataclasses import dataclass

from app.wording import label_text
from suites.errors import UnitError
from suites.units import Unit, convert
from suites.vocab import Better, Kind, Labels, Metric, Resource
from widgets.live.model import Series

LEADING = "leading"
LATENCY = "latency"

_HOST = {
    "cpu": ("Host: CPU", 50),
    "disk": ("Host: disk", 60),
    "network": ("Host: network", 70),
    "memory": ("Host: memory", 80),
    "swap": ("Host: swapping", 81),
    "pressure": ("Host: time tasks waited", 82),
    "load": ("Host: load", 83),
    "core": ("Host: each processor", 51),
    "clock": ("Host: clock of the processors", 52),
    "temperature": ("Host: heat, share of the limit", 53),
    "cgroup": ("Host: time kept back by a quota", 54),
    "tasks": ("Host: tasks", 84),
    "page": ("Host: page faults that read", 85),
}
"""Title and rank of a part of the host, by the first word of its metrics' names."""

_EXTRA = {
    ("disk", Unit.PERCENT): " busy",
    ("disk", Unit.PER_SECOND): " I/Os",
    ("disk", Unit.ONE): " queue",
    ("network", Unit.PER_SECOND): " drops",
}
_BESIDES = 20
_MEAN = "_mean"
"""A mean beside percentiles tells nothing new; it is one click away."""

_UNSHOWN = ("idle", "segments")
"""States that say nothing the others do not."""

_COUNTED = frozenset({"process", "allowance", "link", "filesystem", "throttle", "out"})
"""Parts of the host that are nearly always at nought: a finding tells of them, and no plot is kept for them."""

_WATCHED = {
    Resource.CPU: {"cpu"},
    Resource.MEMORY: {"cpu"},
    Resource.DISK: {"cpu", "disk"},
    Resource.NETWORK: {"cpu", "network"},
    Resource.APPLICATION: {"cpu", "disk"},
}
"""What of the host is shown at first, by what the suite puts under load. The rest is one click away."""


COLOURS = 6
_PERCENTILES = (50.0, 95.0, 99.0, 99.9, 99.999, 100.0)
"""One colour each: a percentile keeps its colour whatever else is shown."""


@dataclass(frozen=True, slots=True)
class Group:
    """One plot: its name, what stands above it, and its place (the lowest `rank` on top)."""

    name: str
    title: str
    unit: Unit
    rank: int
    better: Better | None = None
    may_be_logarithmic: bool = False
    stretch: int = 2
    shown: bool = True


def of_test(series: Series, leading: Metric | None) -> Group:
    """Return the plot for a series of the test."""
    metric = series.metric
    if leading is not None and metric.name == leading.name:
        return Group(LEADING, metric.title, metric.unit, 0, metric.better, stretch=4)
    if metric.percentile is not None and _same_dimension(metric.unit, Unit.SECOND):
        return Group(LATENCY, "Latency", metric.unit, 10, Better.LOWER, may_be_logarithmic=True, stretch=3)
    another_time = metric.kind is Kind.TIME and not metric.name.endswith(_MEAN)
    return Group(metric.name, metric.title, metric.unit, _BESIDES, metric.better, shown=another_time)


def of_host(series: Series, resource: Resource | None) -> Group | None:
    """Return the plot for a series of telemetry, or None where it is not drawn."""
    metric = series.metric
    part = metric.name.partition("_")[0]
    if metric.name.endswith(_UNSHOWN) or part in _COUNTED:
        return None
    title, rank = _HOST.get(part, (f"Host: {part}", 90))
    watched = resource is None or part in _WATCHED[resource]
    name = f"host {part} {metric.unit.value}"
    extra = _EXTRA.get((part, metric.unit), "")
    return Group(name, title + extra, metric.unit, rank, stretch=2, shown=watched and not extra)


def series_title(series: Series, group: Group) -> str:
    """Return how a series is called within its plot."""
    metric = series.metric
    labelled = label_text(series.labels)
    if group.name == LATENCY:
        words = "max" if metric.percentile == 100 else f"p{metric.percentile:g}"
        return f"{words} {labelled}".strip()
    if group.name.startswith("host "):
        return f"{_own_words(metric)} {labelled}".strip()
    return labelled or metric.title


def style(series: Series, group: Group, operations: list[Labels], number: int) -> tuple[int, bool]:
    """Return the colour's number and whether the line is dashed.

    Latencies have a colour for each percentile, dashed for the second operation on; `operations` collects those
    seen. All else goes by the series' `number` in its plot: six colours, then the same ones dashed.
    """
    if group.name != LATENCY:
        return number, number >= COLOURS
    if series.labels not in operations:
        operations.append(series.labels)
    percentile = series.metric.percentile or 0.0
    colour = next(index for index, known in enumerate(_PERCENTILES) if percentile <= known)
    return colour, operations.index(series.labels) > 0


def fits(series: Series, unit: Unit) -> bool:
    """Return whether `series` can stand in a plot of `unit`."""
    return _same_dimension(series.metric.unit, unit)


def factor(series: Series, unit: Unit) -> float:
    """Return what the values of `series` are multiplied by in a plot of `unit`."""
    return convert(1.0, series.metric.unit, unit)


def _own_words(metric: Metric) -> str:
    """Return what tells a metric of the host from its neighbours: ``cpu_user`` is ``user``."""
    words = metric.name.partition("_")[2].removesuffix("_rate").removesuffix("_ios")
    return words.replace("_", " ") or metric.title


def _same_dimension(one: Unit, other: Unit) -> bool:
    try:
        convert(1.0, one, other)
    except UnitError:
        return False
    return True
