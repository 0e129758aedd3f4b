"""Fifty and a hundred hosts from one desktop: every host-run ends once, and what was staged is found and named."""

from pathlib import Path

import pytest

from app.fleet.results import outlier_text, results_lines
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, HostRunState
from app.plans.plan import Plan, Repetition, Step, make_step
from app.services import Workstation
from tests.lab.fleet_hosts import PROGRAMS, fleet, names_of, network
from tests.lab_sshd import AnsweringAsker, LabKeys

pytestmark = [pytest.mark.slow, pytest.mark.alone]

QUOTA = 0.15
"""Share of a CPU that each host has: those that are measured at once have less than two together."""

AT_ONCE = 10

CPU = make_step("sysbench-cpu", {"time": 2, "threads": 1})


def round_trips(address: str) -> Step:
    """Return a step that measures round trips to an address, in ms."""
    return make_step(
        "command",
        {
            "command": f"ping -q -c 10 -i 0.2 -s 1400 {address}",
            "figure": "pattern",
            "pattern": "rtt [^=]* = [0-9.]+/([0-9.]+)/",
            "metric": "Round trip",
            "unit": "ms",
            "better": "lower",
        },
        name="ping",
    )


def other_sysbench(folder: Path) -> dict[str, str]:
    """Return an environment with a sysbench of another version in a folder."""
    folder.mkdir()
    script = '#!/bin/sh\n[ "$1" = --version ] && { echo "sysbench 1.0.11"; exit; }\nexec /usr/bin/sysbench "$@"\n'
    (folder / "sysbench").write_text(script)
    (folder / "sysbench").chmod(0o755)
    return {"PATH": f"{folder}:{PROGRAMS}"}


@pytest.mark.parametrize("count", [50, 100])
def test_staged_hosts_are_found_and_named(tmp_path: Path, lab_keys: LabKeys, count: int) -> None:
    names = names_of(count)
    slowed, delayed, other = [names[2], names[17]], names[30], names[24]
    quotas = dict.fromkeys(names, QUOTA) | dict.fromkeys(slowed, 0.6 * QUOTA)
    tools = other_sysbench(tmp_path / "tools")
    with network(count, {names.index(delayed): 2.0}) as namespaces:
        gateway = f"{namespaces[0][1].rpartition('.')[0]}.1"
        hosts = fleet(
            tmp_path / "fleet", lab_keys, names, quotas=quotas, environment={other: tools}, namespaces=namespaces
        )
        workstation = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")
        with hosts:
            groups = tuple(FleetHost(name, "ab"[index % 2]) for index, name in enumerate(names))
            plan = Plan("short", (), (CPU, round_trips(gateway)), repetition=Repetition())
            study = workstation.begin_fleet_study(
                FleetPlan(plan, groups, limits=FleetLimits(AT_ONCE)), AnsweringAsker()
            )
            ended = workstation.fleet_runner(study.id, AnsweringAsker()).run()
    assert ended.counts == {HostRunState.DONE: count}
    assert len(workstation.runs()) == count
    found = workstation.fleet_results(study.id)
    lemons = {(one.host, one.step) for one in found.search.lemons}
    assert lemons == {*((host, "sysbench-cpu") for host in slowed), (delayed, "ping")}, results_lines(found)
    for host in slowed:
        assert "cgroup CPU quota: 0.09; others: 0.15" in workstation.lemon_ticket(study.id, host)
    departing = {one.host: one.facts for group in workstation.fleet_sameness(study.id) for one in group.departures}
    assert any("Tools · sysbench" in fact for fact in departing[other])
    assert all("CPU · cgroup CPU quota" in departing[host] for host in slowed)


def test_twenty_clean_fleets_have_no_lemon(tmp_path: Path, lab_keys: LabKeys) -> None:
    """Each fleet is a study of 24 hosts alike, in two groups, started anew."""
    names = names_of(24)
    hosts = tuple(FleetHost(name, "ab"[index % 2]) for index, name in enumerate(names))
    step = make_step("sysbench-cpu", {"time": 1, "threads": 1})
    plan = FleetPlan(Plan("clean", (), (step,), repetition=Repetition(pause=0.0)), hosts, limits=FleetLimits(AT_ONCE))
    workstation = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")
    wrong = []
    for number in range(20):
        folder = tmp_path / f"fleet-{number}"
        with fleet(folder, lab_keys, names, quotas=dict.fromkeys(names, QUOTA)):
            study = workstation.begin_fleet_study(plan, AnsweringAsker())
            ended = workstation.fleet_runner(study.id, AnsweringAsker()).run()
        (Path.home() / ".ssh" / "config").unlink()  # the hosts of the next fleet have the same names
        assert ended.counts == {HostRunState.DONE: len(names)}
        found = workstation.fleet_results(study.id)
        assert found.tested == {"a": 12, "b": 12}
        wrong += [(number, outlier_text(lemon)) for lemon in found.search.lemons]
    assert wrong == []
