"""RRUL between two hosts: the queue of a known length is the added latency of every class."""

import shutil
from pathlib import Path

import pytest

from app.events import State, TrialEnded
from suites.rrul import CLASSES, UDP
from tests.lab.links import LinkedHost, LinkedHosts, routed
from tests.lab.probe_runs import run_once, workstation_in
from tests.suites.captured_outputs import figures

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(not all(map(shutil.which, ("iperf3", "ping"))), reason="a tool is not installed"),
]


def measured(folder: Path, address: str = "") -> TrialEnded:
    given = {"time": 8, "interval": 0.05, "congestion": "cubic", "address": address}
    with workstation_in(folder) as workstation:
        return run_once(workstation, "rrul", "near", peer="far", **given)[0]


def test_every_class_waits_in_one_queue(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """Four TCP streams keep a queue of 80 ms nearly full."""
    _near, far = linked_hosts(2)
    far.shape_arrivals(20, latency=80)
    ended = measured(tmp_path)
    found = figures(ended.parsed)
    assert (ended.state, ended.reason) == (State.DONE, "")
    for name in (*CLASSES, *UDP.values()):
        assert found[f"round_trip {name} idle"] < 5
        assert 0.6 * 80 < found[f"latency_increase {name}"] < 1.05 * 80
    assert sum(found[f"throughput {name} send receiver"] for name in ("BE", "BK", "CS5", "EF")) == pytest.approx(
        20e6 * 1448 / 1514, rel=0.08
    )


EF_QUEUE, OTHER_QUEUE = 40, 160
"""Milliseconds in the full queues of a router."""


def favour(router: LinkedHost, tos: str) -> None:
    """Forward a class of packets at 10 Mbit/s through a short queue, and the others at as much through a long one."""
    router.run("tc", "qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "htb", "default", "2")
    for minor, milliseconds in ((1, EF_QUEUE), (2, OTHER_QUEUE)):
        one = f"1:{minor}"
        router.run(*f"tc class add dev eth0 parent 1: classid {one} htb rate 10mbit burst 3k cburst 3k".split())
        router.run(*f"tc qdisc add dev eth0 parent {one} bfifo limit {milliseconds * 1250}".split())
    marked = f"iptables -t mangle -A POSTROUTING -m tos --tos {tos}/0xfc -j CLASSIFY --set-class 1:1"
    router.run(*marked.split())


def test_a_class_that_is_treated_differently_is_seen(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """TCP fills a queue to its end before each loss, so the p99 of the round trips is that of the full queue."""
    near, far, router = linked_hosts(3)
    target = routed(near, router, far)
    favour(router, "0xb8")
    near.run("ip", "link", "set", "dev", "eth0", "gso_max_segs", "1")  # so that packets are queued, not batches
    near.shape_arrivals(200, latency=1)  # the way back
    ended = measured(tmp_path, target)
    found = figures(ended.parsed)
    assert (ended.state, ended.reason) == (State.DONE, "")
    for name in CLASSES:
        queue = EF_QUEUE if name == "EF" else OTHER_QUEUE
        assert found[f"latency_p99 {name} loaded"] == pytest.approx(queue, rel=0.1)
    for name, label in UDP.items():
        assert found[f"round_trip {label} loaded"] == pytest.approx(found[f"round_trip {name} loaded"], rel=0.1)
    others = sum(found[f"throughput {name} send receiver"] for name in ("BE", "BK", "CS5"))
    assert found["throughput EF send receiver"] == pytest.approx(10e6 * 1448 / 1514, rel=0.15)
    assert others == pytest.approx(10e6 * 1448 / 1514, rel=0.15)
