"""RRUL between two hosts: the queue of a known length is the added latency of every class."""

import shutil
from pathlib import Path

import pytest

from app.events import State, TrialEnded
from tests.lab.links import LinkedHosts
from tests.lab.probe_runs import run_once, workstation_in
from tests.suites.captured_outputs import figures

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(not all(map(shutil.which, ("iperf3", "ping"))), reason="a tool is not installed"),
]


def measured(folder: Path) -> TrialEnded:
    with workstation_in(folder) as workstation:
        return run_once(workstation, "rrul", "near", peer="far", time=8, interval=0.05, congestion="cubic")[0]


def test_every_class_waits_in_one_queue(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """Four TCP streams keep a queue of 80 ms nearly full."""
    _near, far = linked_hosts(2)
    far.shape_arrivals(20, latency=80)
    ended = measured(tmp_path)
    found = figures(ended.parsed)
    assert (ended.state, ended.reason) == (State.DONE, "")
    for name in ("BE", "BK", "CS5", "EF", "UDP"):
        assert found[f"round_trip {name} idle"] < 5
        assert 0.6 * 80 < found[f"latency_increase {name}"] < 1.05 * 80
    assert sum(found[f"throughput {name} send receiver"] for name in ("BE", "BK", "CS5", "EF")) == pytest.approx(
        20e6 * 1448 / 1514, rel=0.08
    )
