"""Time, cost and network volume of a study before its start, from a simulation of its host-runs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.fleet.simulation import simulated
from app.fleet_study import FleetPlan, HostRun
from app.plans.totals import Totals
from app.ranking.candidates import amount_text
from suites.quantities import count_text, duration_text, ends_text, quantity

SETUP = 8.0
"""Seconds of a host-run besides its trials: connecting, facts before and after, clean-up. Measured in the lab."""


@dataclass(frozen=True, slots=True)
class FleetEstimate:
    """Cost of a study. Times are in seconds, volumes in bytes.

    `session` is the time of one session, `whole` until the end of the last. `measured` is the price of the hours in
    which hosts are measured, by currency, `kept` that of hosts which run from the start of the study to its end.
    `unpriced` hosts have no price. `open`: some step has no known duration, so that times are lower bounds; `unknown`
    names the volumes that are lower bounds, ``written`` and ``network``. `grows`: the results decide on the number of
    trials: `trials` and the volumes are lower bounds, the times upper ones; `most` are the most trials, None if only
    time limits them. `prepared` are the bytes of test files
    that are written before the first trials, in a time that is not known.
    """

    hosts: int
    host_runs: int
    trials: int
    session: float
    whole: float
    at_once: int
    written: int
    network: int
    across_zones: int
    measured: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)
    unpriced: int = 0
    open: bool = False
    resting: int = 0
    unknown: tuple[str, ...] = ()
    prepared: int = 0
    grows: bool = False
    most: int | None = None


def estimate_of(plan: FleetPlan, totals_of: Callable[[HostRun], Totals]) -> FleetEstimate:
    """Return the estimate of a study; `totals_of` returns the totals of a host-run's plan."""
    known: dict[tuple[bool, str], Totals] = {}

    def totals(one: HostRun) -> Totals:
        key = (one.peer is not None, plan.by_name[one.host].group)
        if key not in known:
            known[key] = totals_of(one)
        return known[key]

    first = simulated(plan, lambda one: SETUP + (totals(one).longest or totals(one).duration))
    session = max((one.end for one in first if one.one.session == 1), default=0.0)
    whole = max((one.end for one in first), default=0.0)
    busy: dict[str, float] = defaultdict(float)
    for each in first:
        for host in each.one.hosts:
            busy[host] += each.end - each.start
    return FleetEstimate(
        hosts=len(plan.hosts),
        host_runs=len(first),
        trials=sum(totals(each.one).trials for each in first),
        session=session,
        whole=whole,
        at_once=_most_at_once((each.start, each.end) for each in first),
        written=sum(totals(each.one).written for each in first),
        prepared=sum(totals(each.one).prepared for each in first),
        network=sum(totals(each.one).network for each in first),
        across_zones=sum(_crosses(plan, each.one) for each in first),
        measured=_priced(plan, busy),
        kept=_priced(plan, dict.fromkeys(plan.by_name, whole)),
        unpriced=sum(host.attributes.price is None for host in plan.hosts),
        grows=any(one.grows for one in known.values()),
        most=_most_trials([totals(each.one) for each in first]),
        open=any("duration" in one.open for one in known.values()),
        resting=plan.unpaired(),
        unknown=tuple(sorted({name for one in known.values() for name in one.open} - {"duration"})),
    )


def _most_trials(found: Sequence[Totals]) -> int | None:
    """Return the most trials of host-runs; None if only time limits those of one."""
    most = [one.most if one.grows else one.trials for one in found]
    return None if None in most else sum(filter(None, most))


def _priced(plan: FleetPlan, seconds: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for host in plan.hosts:
        if host.attributes.price is not None:
            found[host.attributes.currency] += host.attributes.price * seconds.get(host.name, 0.0) / 3600
    return dict(found)


def _crosses(plan: FleetPlan, one: HostRun) -> bool:
    zones = {plan.by_name[host].attributes.zone for host in one.hosts if host in plan.by_name} - {""}
    return len(zones) > 1


def _most_at_once(spans: Iterator[tuple[float, float]]) -> int:
    changes = sorted(change for start, end in spans for change in ((start, 1), (end, -1)))
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def estimate_lines(found: FleetEstimate) -> list[str]:
    """Return the estimate as lines of text."""
    bound = _bound(found)
    first = f", and {quantity(found.prepared)} of test files are written first" if found.prepared else ""
    numbers = ((found.hosts, "host"), (found.host_runs, "host-run"))
    each = f", {duration_text(found.session)} in each session" if found.whole > found.session else ""
    lines = [
        f"{', '.join(count_text(*each) for each in numbers)}, {_trials_text(found)}; up to {found.at_once} at once",
        f"Time: {bound}{duration_text(found.whole)}{each}{first}",
        f"Cost: {_cost_text(found)}",
    ]
    lines += [f"Written: {text}" for text in _volume_texts(found, "written", found.written)]
    across = f", {count_text(found.across_zones, 'host-run')} between zones" if found.across_zones else ""
    lines += [f"Network: {text}{across}" for text in _volume_texts(found, "network", found.network)]
    if found.resting:
        lines.append(f"Without a partner in each session: {count_text(found.resting, 'host')}")
    return lines


def _trials_text(found: FleetEstimate) -> str:
    if not found.grows:
        return count_text(found.trials, "trial")
    if found.most is None:
        return f"at least {count_text(found.trials, 'trial')}"
    return f"{ends_text(str(found.trials), str(found.most))} trials"


def _bound(found: FleetEstimate) -> str:
    """Return of what the time, and with it the cost, is a bound."""
    if found.open or found.prepared:
        return "at least "
    return "up to " if found.grows and found.most is not None else ""


def _volume_texts(found: FleetEstimate, name: str, size: int) -> list[str]:
    """Return a volume; none if nothing is written or sent."""
    if name in found.unknown or (found.grows and size):
        return [f"at least {quantity(size)}" if size else "unknown volume"]
    return [quantity(size)] if size else []


def _cost_text(found: FleetEstimate) -> str:
    if not found.measured:
        return "unknown: no host has a price (benchwright inventory set HOST --price PRICE)"
    measured, kept = _prices(found.measured), _prices(found.kept)
    missing = f"; {count_text(found.unpriced, 'host')} without a price" if found.unpriced else ""
    return f"{_bound(found)}{measured} for the hours measured, {kept} if the hosts run from start to end{missing}"


def _prices(amounts: Mapping[str, float]) -> str:
    """Return amounts by currency: ``0.14 EUR and 0.0031 USD``."""
    return " and ".join(amount_text(amounts[currency], currency) for currency in sorted(amounts))
