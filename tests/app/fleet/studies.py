"""Fleet plans to test with, and what they may do at once."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.fleet_study import FleetHost, FleetLimits, FleetPlan, HostRun, Topology
from app.host_attributes import HostAttributes
from app.plans.plan import Plan, Repetition, Step, make_step
from app.store.ownership import this_computer

CPU = make_step("sysbench-cpu", {"time": 1, "threads": 1})
NETWORK = Step("network", "iperf3", {})


def ended_process() -> str:
    """Return the name of a process of this computer that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return f"{this_computer()} (process {process.pid})"


def short_plan(*steps: Step, sessions: int = 1, trials: int = 1, every: float = 3600.0) -> Plan:
    """Return the plan of a short study without hosts."""
    return Plan("short", (), steps or (CPU,), repetition=Repetition(trials=trials, sessions=sessions, every=every))


def numbered(*sizes: int) -> tuple[FleetHost, ...]:
    """Return hosts a1, a2, … of group a, b1, … of group b, as many as `sizes`."""
    return tuple(
        FleetHost(f"{group}{number}", group)
        for group, size in zip("abcdefghij", sizes, strict=False)
        for number in range(1, size + 1)
    )


def with_attributes(hosts: Iterable[FleetHost], attributes: Sequence[HostAttributes]) -> tuple[FleetHost, ...]:
    """Return hosts with these attributes, in turn."""
    return tuple(replace(host, attributes=attributes[place % len(attributes)]) for place, host in enumerate(hosts))


def fleet_plan(
    hosts: Sequence[FleetHost],
    plan: Plan | None = None,
    limits: FleetLimits | None = None,
    topology: Topology = Topology.FIXED,
) -> FleetPlan:
    """Return a fleet plan of `hosts`."""
    return FleetPlan(plan or short_plan(), tuple(hosts), topology, limits=limits or FleetLimits(4))


def broken_limits(plan: FleetPlan, under_way: Sequence[HostRun]) -> list[str]:
    """Return the limits that these host-runs exceed together, by the words of the help: counted anew, by hand."""
    limits, attributes = plan.limits, {host.name: host.attributes for host in plan.hosts}
    groups = {host.name: host.group for host in plan.hosts}
    used: Counter[tuple[str, str]] = Counter()
    for one in under_way:
        for host in one.hosts:
            used["host", host] += 1
        for group in {groups[host] for host in one.hosts if host in groups}:
            used["group", group] += 1
        stated = [attributes[host] for host in one.hosts if host in attributes]
        used.update(("zone", zone) for zone in {each.zone for each in stated} - {""})
        used.update(("storage", storage) for storage in {each.storage for each in stated} - {""})
        if one.peer is not None:
            used.update(("link", link) for link in {each.link for each in stated} - {""})
    most = {
        "host": 1, "link": 1, "group": limits.per_group, "zone": limits.per_zone, "storage": limits.per_storage,
    }  # fmt: skip
    found = [f"{kind} {name}" for (kind, name), count in used.items() if count > (most[kind] or len(under_way))]
    return [*found, *(["all"] if len(under_way) > limits.at_once else [])]
