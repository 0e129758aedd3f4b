"""The quality of a path through a router: as mtr by hand, with loss that is known, and the limit of ICMP replies."""

import json
import shutil
from pathlib import Path
from statistics import geometric_mean

import pytest

from app.events import State, TrialEnded
from tests.lab.links import LinkedHosts, routed
from tests.lab.probe_runs import run_once, workstation_in
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_mtr_real")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("mtr") is None, reason="mtr is not installed"),
]


def measured(folder: Path, target: str, **given: object) -> TrialEnded:
    with workstation_in(folder) as workstation:
        return run_once(workstation, "mtr", "near", peer=None, target=target, **given)[0]


@pytest.mark.alone
def test_the_figures_are_those_by_hand(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far, router = linked_hosts(3)
    target = routed(near, router, far)
    ratios = []
    for number in range(3):
        by_hand = json.loads(near.run("mtr", "--json", "-n", "-c", "5", target))["report"]["hubs"]
        ended = measured(tmp_path / str(number), target, cycles=5)
        assert (ended.state, ended.reason) == (State.DONE, "")
        found = figures(ended.parsed)
        assert (found["hops"], found["lost"]) == (2, 0)
        assert f"round_trip_mean 1 {router.address}" in found
        ratios.append(found["round_trip_mean"] / by_hand[-1]["Avg"])
    assert geometric_mean(ratios) == pytest.approx(1, abs=0.5), ratios


def test_a_limit_of_icmp_replies_is_no_loss_of_the_path(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """Linux sends six ICMP errors to a host, then one per second."""
    near, far, router = linked_hosts(3)
    ended = measured(tmp_path, routed(near, router, far), cycles=40, interval=0.1)
    found = figures(ended.parsed)
    assert found["lost"] == 0
    assert found[f"lost 1 {router.address}"] > 50
    assert MESSAGES["limited"] in " ".join(ended.parsed.notes)


def test_loss_of_the_path_is_that_of_the_packets_dropped(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far, router = linked_hosts(3)
    target = routed(near, router, far)
    far.lose(0.3, protocol="icmp")
    ended = measured(tmp_path, target, cycles=100, interval=0.1)
    # Packets beyond the last cycle are dropped too; on a busy computer more than one is on its way.
    assert figures(ended.parsed)["lost"] == pytest.approx(far.dropped(), abs=3)
