"""Effects of a moment that all hosts of a fleet share: sessions of one name, crossed with hosts."""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.centres import student
from app.comparison.estimates import ERROR, FEWEST_HOSTS, Ratio, holm
from app.comparison.sentences import change_text
from app.comparison.variance import ROUNDING
from app.fleet.study import FleetMetric, Sessions, session_means
from app.numeric import Numbers, np, special


@dataclass(frozen=True, slots=True)
class MomentEffect:
    """The session `session` of `hosts` hosts relative to their other sessions: ratio with its 95 % interval.

    `p_adjusted` is the p-value of no effect, with Holm's correction for all sessions. With a `group`, the effect is
    that on its hosts, which differs from that on others.
    """

    session: str
    hosts: int
    ratio: float
    low: float
    high: float
    p_adjusted: float
    group: str = ""

    @property
    def significant(self) -> bool:
        """Whether the effect is shown at the family-wise error of 5 %."""
        return self.p_adjusted < ERROR

    @property
    def text(self) -> str:
        """The effect as a line: ``session 2, all hosts: −4.1 % (95 % CI −4.7 to −3.5 %) against the others``."""
        change = change_text(Ratio(self.ratio, self.low, self.high))
        hosts = f"all hosts of {self.group}" if self.group else "all hosts"
        return f"session {self.session}, {hosts}: {change} against the mean of the other sessions"


def moment_effects(one: FleetMetric) -> tuple[MomentEffect, ...]:
    """Return the effect of each session that at least FEWEST_HOSTS hosts share, in the order of the names.

    Two-way model of the logarithms of session means, host + moment, by least squares after subtracting the mean of
    each host (Searle, Casella and McCulloch 1992, 5.4), so that missing sessions are no bias. Each moment is compared
    with the mean of the others by Student's t. Empty for fewer than two such sessions, without residual
    freedom, or if sessions share no hosts with others: effects of moments are then not separate from those of hosts.
    If moments differ between groups, by the F test of the interaction and by half of the margin, the effects are those
    of each group.
    """
    groups = {name: [_logs(host) for host in group.values()] for name, group in one.groups.items()}
    whole = _fit([host for hosts in groups.values() for host in hosts])
    parts = {name: _fit(hosts) for name, hosts in groups.items()}
    fits = {name: each for name, each in parts.items() if each is not None}
    if whole is None:
        return ()
    of_groups = len(fits) == len(parts) > 1 and _differ(whole, list(fits.values()), one.margin)
    return tuple(_effects(fits if of_groups else {"": whole}))


def _logs(host: Sessions) -> dict[str, float]:
    return {name: math.log(mean) for name, mean in session_means(host).items()}


@dataclass(frozen=True, slots=True)
class _Fit:
    """Effects of the moments `counts`, hosts by session, with their covariance by the variance `square` / `freedom`."""

    counts: Mapping[str, int]
    effects: "Numbers"
    inverse: "Numbers"
    square: float
    freedom: int


def _fit(hosts: Sequence[Mapping[str, float]]) -> _Fit | None:
    """Return the least squares of the logarithms of session means; None if moments are not separate from hosts."""
    counts = Counter(name for own in hosts for name in own)
    names = [name for name, count in counts.items() if count >= FEWEST_HOSTS]
    shared = [found for own in hosts if len(found := {k: v for k, v in own.items() if k in names}) > 1]
    freedom = sum(len(own) - 1 for own in shared) - (len(names) - 1)
    if len(names) < 2 or len(shared) < FEWEST_HOSTS or freedom < 2:
        return None
    design, response = (np.concatenate(parts) for parts in zip(*(_rows(own, names) for own in shared), strict=True))
    products = design.T @ design
    if np.linalg.matrix_rank(products, tol=1e-6) < len(names) - 1:
        return None
    inverse = np.linalg.pinv(products)
    effects = inverse @ design.T @ response
    rest = response - design @ effects
    return _Fit({name: counts[name] for name in names}, effects, inverse, float(rest @ rest), freedom)


def _differ(whole: _Fit, parts: Sequence[_Fit], margin: float) -> bool:
    """Return whether the moments of parts differ by half of `margin`: F test against the common model, at ERROR."""
    effects: dict[str, list[float]] = {}
    for one in parts:
        for name, effect in zip(one.counts, one.effects, strict=True):
            effects.setdefault(name, []).append(float(effect))
    if max(max(own) - min(own) for own in effects.values()) < margin / 2:
        return False
    square, freedom = sum(one.square for one in parts), sum(one.freedom for one in parts)
    more = whole.freedom - freedom
    if more < 1 or whole.square <= square:
        return False
    ratio = (whole.square - square) / more / max(square / freedom, ROUNDING**2)
    return float(special.fdtrc(more, freedom, ratio)) < ERROR


def _effects(fits: Mapping[str, _Fit]) -> Iterator[MomentEffect]:
    """Yield the effects of the moments by group, with Holm's correction for all."""
    found = {}
    for group, fit in fits.items():
        covariance = max(fit.square / fit.freedom, ROUNDING**2) * fit.inverse
        for index, name in enumerate(fit.counts):
            found[group, name] = _effect(index, fit.effects, covariance, fit.freedom)
    # Of two moments, one test is the other.
    tests = {(group, name if len(fits[group].counts) > 2 else ""): p for (group, name), (*_, p) in found.items()}
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    for (group, name), (middle, low, high, _) in found.items():
        counts = fits[group].counts
        p = corrected[group, name if len(counts) > 2 else ""]
        yield MomentEffect(name, counts[name], math.exp(middle), math.exp(low), math.exp(high), p, group)


def _rows(own: Mapping[str, float], names: list[str]) -> "tuple[Numbers, Numbers]":
    """Return the design and the response of a host, each minus its mean."""
    design = np.array([[float(name == column) for column in names] for name in own])
    response = np.array(list(own.values()))
    return design - design.mean(axis=0), response - response.mean()


def _effect(index: int, effects: Numbers, covariance: Numbers, freedom: int) -> tuple[float, float, float, float]:
    """Return the difference of a moment from the mean of the others with its interval and p-value."""
    contrast = np.full(len(effects), -1 / (len(effects) - 1))
    contrast[index] = 1
    middle, error = float(contrast @ effects), math.sqrt(float(contrast @ covariance @ contrast))
    reach = student(freedom) * error
    return middle, middle - reach, middle + reach, 2 * float(special.stdtr(freedom, -abs(middle) / error))


def without_moments(one: FleetMetric, found: tuple[MomentEffect, ...]) -> FleetMetric:
    """Return the metric without the effects of its moments: session means as deviations from their host alone.

    The mean of a host keeps its value. The deviations are scaled by the freedom that the estimated effects take.
    """
    counts = Counter(each.group for each in found)
    effects: dict[str, dict[str, float]] = {}
    for each in found:
        scale = (counts[each.group] - 1) / counts[each.group]
        effects.setdefault(each.group, {})[each.session] = math.log(each.ratio) * scale
    every = sum(len(group) for group in one.groups.values())
    groups = {}
    for name, group in one.groups.items():
        own, hosts = (effects[name], len(group)) if name in effects else (effects.get("", {}), every)
        scale = math.sqrt(hosts / (hosts - 1))
        groups[name] = {host: _corrected(sessions, own, scale) for host, sessions in group.items()}
    return replace(one, groups=groups)


def _corrected(host: Sessions, effects: dict[str, float], scale: float) -> dict[str, list[float]]:
    logs = {name: math.log(mean) for name, mean in session_means(host).items()}
    middle = statistics.fmean(logs.values())
    kept = {name: value - effects.get(name, 0.0) for name, value in logs.items()}
    own = statistics.fmean(kept.values())
    return {
        name: [value * math.exp(middle + scale * (kept[name] - own) - logs[name]) for value in trials]
        for name, trials in host.items()
    }
