"""The search for the highest UDP rate ends at the rate of a link that is known."""

import shutil
from pathlib import Path

import pytest

from app.events import State, TrialEnded
from tests.lab.links import LinkedHosts
from tests.lab.probe_runs import run_once, workstation_in
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_udp_rate_real")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed"),
]

UDP_SHARE = 1448 / 1490
"""The share of a link's rate that is UDP's data: 1448 of a frame's 1490 bytes (Ethernet 14, IP 20, UDP 8)."""


def searched(folder: Path, **given: object) -> TrialEnded:
    with workstation_in(folder) as workstation:
        return run_once(workstation, "iperf3-udp", "near", peer="far", **given)[0]


@pytest.mark.parametrize("where", ["sender", "network"])
def test_the_search_ends_at_the_rate_of_the_link(linked_hosts: LinkedHosts, tmp_path: Path, where: str) -> None:
    """A queue of the sender holds it back; one in the network loses what exceeds the rate."""
    near, far = linked_hosts(2)
    if where == "sender":
        near.shape(40)
    else:
        far.shape_arrivals(40)
    ended = searched(tmp_path, time=3)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert figures(ended.parsed)["udp_rate"] == pytest.approx(40e6 * UDP_SHARE, rel=0.03)


def test_loss_at_every_rate_gives_no_rate(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far = linked_hosts(2)
    near.shape(20)
    far.lose(0.03)
    ended = searched(tmp_path, time=1, direction="send")
    assert ended.state is State.FAILED
    assert MESSAGES["not_the_rate"] in ended.reason
    assert "udp_rate" not in figures(ended.parsed)
