"""Drift within the sessions of a study: values that rise or fall in the order in which the hosts started."""

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from app.fleet.study import FleetMetric
from app.numeric import np, stats
from suites.quantities import share_text

FEWEST_IN_ORDER = 8
"""Fewest hosts of a session for a claim on their order: Spearman's p-value is an approximation."""

MOST_OF_SLOPE = 500
"""Most hosts of whose pairs the slope is the median."""

DRIFT_ERROR = 0.01
"""Error of a claim on drift, with Bonferroni's correction for the sessions of a metric: effects of the hosts have an
order by chance, which several sessions share."""

Orders = Mapping[str, Mapping[str, int]]
"""The places of hosts in the order of start, by session."""


def drift_notes(one: FleetMetric, orders: Orders) -> Iterator[str]:
    """Yield the sessions of a metric in which the values follow the order of start, by more than the margin.

    Spearman's rank correlation of the order with the logarithms of the medians of trials, both relative to the median
    of their group; the amount by the slope of Theil and Sen, of MOST_OF_SLOPE hosts that are evenly spaced.
    """
    for session, order in orders.items():
        points = list(_relative(one, session, order))
        if len(points) < FEWEST_IN_ORDER:
            continue
        places, logs = np.array(points).T
        found: Any = stats.spearmanr(places, logs)
        started = [order[host] for group in one.groups.values() for host in group if host in order]
        some = slice(None, None, 1 + len(points) // MOST_OF_SLOPE)  # it takes the slopes of all pairs
        slope = float(stats.theilslopes(logs[some], places[some])[0])
        whole = math.expm1(min(50.0, slope * (max(started) - min(started))))
        if found.pvalue * len(orders) < DRIFT_ERROR and abs(whole) > one.margin:
            way = "rise" if whole > 0 else "fall"
            drift = f"values {way} by {share_text(abs(whole))} from the first host to the last that started"
            yield f"{one.title}, session {session}: {drift}: drift counts as differences of instances."


def _relative(one: FleetMetric, session: str, order: Mapping[str, int]) -> Iterator[tuple[float, float]]:
    """Yield place and logarithm of the median of each host in a session, minus the medians of its group."""
    for group in one.groups.values():
        hosts = [host for host, own in group.items() if session in own and host in order]
        if len(hosts) > 1:
            logs = [math.log(statistics.median(group[host][session])) for host in hosts]
            places = [order[host] for host in hosts]
            middles = statistics.median(places), statistics.median(logs)
            yield from ((place - middles[0], log - middles[1]) for place, log in zip(places, logs, strict=True))
