"""Charts of a fleet study: a strip for each instance with its trials, or for each group with its instances."""

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries, HeatCell
from app.fleet.lemons import Lemon, LemonKind
from app.fleet.study import FleetMetric, host_centre
from app.plans.plan import host_label
from suites.quantities import count_text, direction_text, listed, metric_text, times_text
from suites.vocab import Better

MOST_STRIPS = 40
"""Most instances with a strip of their own; the strip of their group shows all."""

MOST_NAMED = 6
"""Most outliers that have a name in the chart of groups."""

_HALF = 0.4
"""Half the height of a strip, in rows."""

_BAND = 0.25
"""Shade of the band from the lower to the upper quartile of a group."""


def _host_name(host: str, outliers: Sequence[Lemon]) -> str:
    """Return a host with what differs: ``web-3: lemon, 0.48x``."""
    own = [one for one in outliers if one.host == host]
    if not own:
        return host_label(host)
    first = min(own, key=lambda one: (not one.is_worse, one.kind))
    spread = "spread " if first.kind is LemonKind.SPREAD else ""
    return f"{host_label(host)}: {'lemon' if first.is_worse else first.direction}, {spread}{times_text(first.ratio)}"


def instance_strips(one: FleetMetric, group: str, outliers: Sequence[Lemon] = ()) -> Chart:
    """Return a strip for each instance of a group: its trials, and its centre; outliers at the top, then the worst.

    Behind them are the median of the group and the band of its middle half, both without outliers.
    """
    own = [each for each in outliers if (each.group, each.step, each.metric, each.labels) == _key(one, group)]
    centres = {host: host_centre(sessions) for host, sessions in one.groups[group].items()}
    ratios = {each.host: each for each in reversed(own)}
    sign = 1 if one.metric.better is Better.HIGHER else -1
    order = sorted(centres, key=lambda host: (host not in ratios, sign * centres[host]))
    hosts = order[:MOST_STRIPS]
    series = [*_group_marks(_usual(centres, ratios), -_HALF, len(hosts) - 1 + _HALF, named=True)]
    trials = [(value, float(row)) for row, host in enumerate(hosts)
              for session in one.groups[group][host].values() for value in session]  # fmt: skip
    series.append(_marks("trials", trials, ChartMark.POINTS, None))
    for name, wanted, colour in (("instances", False, 0), ("outliers", True, 1)):
        dots = [(centres[host], float(row)) for row, host in enumerate(hosts) if (host in ratios) is wanted]
        series += [_marks(name, dots, ChartMark.DOTS, colour)] if dots else []
    omitted = len(order) - len(hosts)
    return Chart(
        f"{group}, {count_text(len(order), 'instance')}",
        _axis(one),
        ChartAxis("", names=tuple(_host_name(host, own) for host in hosts)),
        tuple(series),
        f"{count_text(omitted, 'instance')} only in the chart of groups." if omitted else "",
    )


def group_strips(one: FleetMetric, outliers: Sequence[Lemon] = ()) -> Chart:
    """Return a strip for each group with every instance as a dot, the groups with lemons at the top, then the worst.

    Dots of a strip are spread over its height in the order of the hosts, so that equal ones are all visible.
    """
    own = [each for each in outliers if (each.step, each.metric, each.labels) == _key(one, "")[1:]]
    odd, lemons = {each.host for each in own}, [each.host for each in own if each.is_worse]
    centres = {group: {host: host_centre(sessions) for host, sessions in hosts.items()}
               for group, hosts in one.groups.items()}  # fmt: skip
    sign = 1 if one.metric.better is Better.HIGHER else -1
    order = sorted(
        centres,
        key=lambda group: (
            -len(centres[group].keys() & set(lemons)),
            sign * statistics.median(centres[group].values()),
        ),
    )
    series = [
        mark
        for row, group in enumerate(order)
        for mark in _group_marks(_usual(centres[group], odd), row - _HALF, row + _HALF, named=not row)
    ]
    places = {
        host: (value, row + _offset(index, len(centres[group])))
        for row, group in enumerate(order)
        for index, (host, value) in enumerate(centres[group].items())
    }
    series.append(_marks("instances", [at for host, at in places.items() if host not in odd], ChartMark.DOTS, 0))
    series += _named(own, places)
    names = tuple(f"{group}, n = {len(centres[group])}" for group in order)
    return Chart("Instances by type", _axis(one), ChartAxis("", names=names), tuple(series), _note(lemons))


def _key(one: FleetMetric, group: str) -> tuple[object, ...]:
    return group, one.step, one.metric, one.labels


def _axis(one: FleetMetric) -> ChartAxis:
    title = f"{metric_text(one.metric, one.labels)} of {one.step}, {direction_text(one.metric.better)}"
    return ChartAxis(title, one.metric)


def _offset(index: int, count: int) -> float:
    """Return the place of a dot within the height of its strip, from -0.3 to 0.3."""
    return 0.0 if count == 1 else 0.6 * index / (count - 1) - 0.3


def _usual(centres: Mapping[str, float], odd: Collection[str]) -> list[float]:
    """Return the centres of the hosts that are no outliers; of all if all are."""
    return [value for host, value in centres.items() if host not in odd] or list(centres.values())


def _group_marks(values: Sequence[float], top: float, bottom: float, *, named: bool) -> Iterator[ChartSeries]:
    """Yield the band of the middle half of a group, and its median."""
    middle = statistics.median(values)
    low, _, high = statistics.quantiles(values, method="inclusive") if len(values) > 1 else (middle,) * 3
    cell = HeatCell(low, high, top, bottom, _BAND, len(values))
    yield ChartSeries("middle half" if named else "", (), (), ChartMark.HEAT, None, cells=(cell,))
    name = "median" if named else ""
    yield ChartSeries(name, (middle, middle), (top, bottom), ChartMark.LINE, None, dashed=True)


def _marks(name: str, places: Collection[tuple[float, float]], mark: ChartMark, colour: int | None) -> ChartSeries:
    return ChartSeries(name, tuple(x for x, _ in places), tuple(y for _, y in places), mark, colour)


def _named(own: Sequence[Lemon], places: dict[str, tuple[float, float]]) -> Iterator[ChartSeries]:
    """Yield the outliers, the first MOST_NAMED with their names."""
    hosts = list(dict.fromkeys(each.host for each in own))
    for number, host in enumerate(hosts[:MOST_NAMED]):
        yield _marks(_host_name(host, own), [places[host]], ChartMark.DOTS, number + 1)
    rest = [places[host] for host in hosts[MOST_NAMED:]]
    if rest:
        yield _marks(f"{len(rest)} more outliers", rest, ChartMark.DOTS, MOST_NAMED + 1)


def _note(lemons: Sequence[str]) -> str:
    hosts = [host_label(host) for host in dict.fromkeys(lemons)]
    return f"Lemons: {listed(hosts, 2 * MOST_NAMED)}." if hosts else ""
