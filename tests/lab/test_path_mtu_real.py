"""The preset that finds the MTU of a path: a router with a smaller one, which says so, or drops without a word."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import State
from app.plans.plan import Repetition
from app.plans.presets import filled_preset
from app.runs.control import Control
from tests.lab.links import LinkedHosts, routed
from tests.lab.probe_runs import workstation_in
from tests.lab_sshd import AnsweringAsker

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, ("tracepath", "ping"))), reason="a tool is not installed"),
]


def path_mtus(folder: Path, target: str) -> list[float]:
    """Return the path MTU reported and the one proved."""
    plan = replace(filled_preset("path-mtu", ["near"], {"target": target}).plan, repetition=Repetition(trials=1))
    with workstation_in(folder) as workstation:
        list(workstation.run(plan, AnsweringAsker(), Control()))
        trials = workstation.load("last").trials
    assert [(trial.state, trial.reason) for trial in trials] == [(State.DONE, "")] * 2
    return [next(one.value for one in trial.figures if "MTU" in one.metric.title) for trial in trials]


@pytest.mark.parametrize("mtu", [1500, 1400])
def test_what_the_router_carries_is_found(linked_hosts: LinkedHosts, tmp_path: Path, mtu: int) -> None:
    near, far, router = linked_hosts(3)
    assert path_mtus(tmp_path, routed(near, router, far, mtu=mtu)) == [mtu, mtu]


def test_a_black_hole_is_seen_only_by_ping(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far, router = linked_hosts(3)
    target = routed(near, router, far, mtu=1400)
    router.run("iptables", "-A", "OUTPUT", "-p", "icmp", "--icmp-type", "fragmentation-needed", "-j", "DROP")
    assert path_mtus(tmp_path, target) == [1500, 1400]
