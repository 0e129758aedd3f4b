"""Sessions that all hosts of a side share: their error is part of a ratio to a side of other sessions."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.comparison.estimates import Ratio, ratio_with_interval
from suites.vocab import Labels

FigureName = tuple[str, str, Labels]
"""A step, the name of a metric and its labels."""


@dataclass(frozen=True, slots=True)
class SharedSessions:
    """The sessions of a side in the study `study`, by number.

    `variance` is that of their means over the hosts, on logarithms, with `freedom` degrees of freedom; 0: unknown.
    """

    study: str
    count: int
    variance: float = 0.0
    freedom: int = 0


SidesSessions = Sequence[Mapping[FigureName, SharedSessions]]
"""The shared sessions of the sides of a comparison, by figure."""


def shared_sessions(study: str, hosts: Iterable[Mapping[str, float]]) -> SharedSessions:
    """Return the shared sessions of hosts, each with the means of its sessions by name, all above zero.

    The variance is that of the deviations of session means from those of their hosts: what all hosts of a session
    share, and the mean of what they do not. A host with one session has no part in it.
    """
    found: dict[str, list[float]] = {}
    names: set[str] = set()
    for host in hosts:
        logs = {name: math.log(mean) for name, mean in host.items()}
        middle = statistics.fmean(logs.values())
        names |= logs.keys()
        for name, value in logs.items() if len(logs) > 1 else ():
            found.setdefault(name, []).append(value - middle)
    means = [statistics.fmean(own) for own in found.values()]
    if not means:
        return SharedSessions(study, len(names))
    return SharedSessions(study, len(names), statistics.variance(means), len(means) - 1)


def with_session_error(ratio: Ratio, sides: Sequence[SharedSessions | None]) -> Ratio:
    """Return the ratio of two sides over their hosts with the error of the sessions, which the hosts of a side share.

    s^2 (1 / k1 + 1 / k2) for k1 and k2 sessions, s^2 pooled over the sides with several. Unchanged if the sessions of a
    side are not known, if both are those of one study, and cancel, and if s^2 is not known: the ratio is then that of
    two moments.
    """
    known = [one for one in sides if one is not None]
    freedom = sum(one.freedom for one in known)
    if len(known) < len(sides) or len({one.study for one in known}) < len(sides) or not (freedom and ratio.error):
        return ratio
    variance = sum(one.variance * one.freedom for one in known) / freedom
    errors = [(ratio.error**2, ratio.freedom), (variance * sum(1 / one.count for one in known), freedom)]
    difference = math.log(ratio.value)
    return ratio_with_interval(difference, errors, spread=ratio.spread, spread_baseline=ratio.spread_baseline)
