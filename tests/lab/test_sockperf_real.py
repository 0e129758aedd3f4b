"""sockperf between two hosts: the figures are those of the same command by hand, and a server that is not reached."""

import shutil
import subprocess
import time
from pathlib import Path
from statistics import median

import pytest

from app.events import State
from suites.sockperf import SockperfParser
from tests.lab.links import LinkedHosts
from tests.lab.probe_runs import run_once, workstation_in
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_sockperf_real")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("sockperf") is None, reason="sockperf is not installed"),
]


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_the_median_is_that_by_hand(linked_hosts: LinkedHosts, tmp_path: Path, protocol: str) -> None:
    near, far = linked_hosts(2)
    tcp = ["--tcp"] if protocol == "tcp" else []
    ours, by_hand = [], []
    with workstation_in(tmp_path) as workstation:
        for _ in range(3):
            ended, _events = run_once(
                workstation, "sockperf", "near", peer="far", time=2, port=0, protocol=protocol, full_rtt=True
            )
            assert (ended.state, ended.reason) == (State.DONE, "")
            ours.append(figures(ended.parsed)["round_trip_p50"])
            # A new server as in a trial: one that has served TCP before took a seventh longer (n = 6).
            words = far.words("sockperf", "server", "-p", "11111", *tcp)
            with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
                time.sleep(0.5)
                parser = SockperfParser()
                parser.feed(near.run("sockperf", "ping-pong", "-i", far.address, "-p", "11111", *tcp, "-t", "2", "-m",
                                     "14", "--full-rtt").encode())  # fmt: skip
                server.kill()  # it takes no other signal while it waits for a message
            by_hand.append(figures(parser.finish(0))["round_trip_p50"])
    assert median(ours) / median(by_hand) == pytest.approx(1, abs=0.2)


def test_the_queue_of_a_link_is_in_the_round_trip_under_load(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """Messages at a little more than the rate of the link fill its bucket: 20 ms and 16 kB, of which 1,042 B is one."""
    near, _far = linked_hosts(2)
    near.shape(8, latency=20)
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "sockperf", "near", peer="far", mode="under-load", time=5, port=0, size=1000,
                            rate=1200, reply_every=10, full_rtt=True)  # fmt: skip
    found = figures(ended.parsed)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert found["round_trip_p50"] == pytest.approx(36_000, rel=0.1)
    assert found["dropped"] > 0


def test_a_server_that_is_not_reached_is_no_result(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    _near, far = linked_hosts(2)
    far.lose(1.0)
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "sockperf", "near", peer="far", time=1, port=0)
    assert ended.state is State.FAILED
    assert MESSAGES["no_server"] in ended.reason
