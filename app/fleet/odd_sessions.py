"""Sessions of a study in which one instance differs from its other sessions, and the other instances do not."""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping

from app.comparison.estimates import ERROR, FEWEST_HOSTS
from app.comparison.verdicts import FEWEST, Level
from app.fleet.distances import LEVEL_TAIL
from app.fleet.study import FleetMetric, Group
from app.numeric import special
from suites.quantities import listed, share_text

FEWEST_DEVIATIONS = 12
"""Fewest sessions of all hosts for a scale of their deviations."""

MOST_SESSIONS = 8
"""Sessions that a note names."""


def odd_session_notes(one: FleetMetric) -> Iterator[str]:
    """Yield a note on the sessions of single instances that differ from their others by more than the margin.

    The deviation of the logarithm of a session's median from those of its host and of its moment, in units of the
    median of the absolute deviations; tails as of Student's t with LEVEL_TAIL degrees of freedom, Bonferroni's
    correction for all sessions. A host needs FEWEST of Level.SESSION.

    Share of 200 simulated studies of 10 instances x 3 sessions x 3 trials with a note, and of those that name a session
    that is 30 % slower, by the CoV of sessions; moments of 0, -10 and 10 % change neither:

    | none, 1 % | none, 3 % | slower, 1 % | slower, 3 % |
    |   .000    |   .010    |    1.00     |     .95     |
    """
    found = {key: value for group in one.groups.values() for key, value in _deviations(group).items()}
    sizes = [abs(value) for value in found.values() if abs(value) > _ROUNDING]
    if len(sizes) < FEWEST_DEVIATIONS:
        return
    scale = max(statistics.median(sizes) / _MEDIAN_OF_T, 1e-9)
    odd = [
        (host, session, value)
        for (host, session), value in found.items()
        if 2 * float(special.stdtr(LEVEL_TAIL, -abs(value) / scale)) * len(found) < ERROR
        and abs(math.expm1(value)) > one.margin
    ]
    if odd:
        odd.sort(key=lambda each: -abs(each[2]))
        texts = [f"{host} in session {session} ({_change(value)})" for host, session, value in odd]
        yield f"{one.title}: unlike the other sessions of the instance: {listed(texts, MOST_SESSIONS)}."


_ROUNDING = 1e-9

_MEDIAN_OF_T = 0.741
"""The median of the absolute value of Student's t with LEVEL_TAIL degrees of freedom."""


def _change(value: float) -> str:
    return f"{'+' if value > 0 else '−'}{share_text(abs(math.expm1(value)))}"


def _deviations(group: Group) -> dict[tuple[str, str], float]:
    """Return the deviations of sessions from those of their host, by host and session, without what hosts share.

    Medians are subtracted in turn over sessions and over hosts (median polish, Tukey 1977), twice.
    """
    found = {
        (host, name): math.log(statistics.median(trials))
        for host, own in group.items() if len(own) >= FEWEST[Level.SESSION] for name, trials in own.items()
    }  # fmt: skip
    for index in (0, 1, 0, 1, 0):
        found = _without_medians(found, index)
    hosts = Counter(session for _, session in found)
    return {key: value for key, value in found.items() if hosts[key[1]] >= FEWEST_HOSTS}


def _without_medians(values: Mapping[tuple[str, str], float], index: int) -> dict[tuple[str, str], float]:
    """Return values minus the median of those with the same host, `index` 0, or the same session, 1."""
    alike: dict[str, list[float]] = {}
    for key, value in values.items():
        alike.setdefault(key[index], []).append(value)
    middles = {name: statistics.median(own) for name, own in alike.items()}
    return {key: value - middles[key[index]] for key, value in values.items()}
