"""Network suites find the rate, the loss and the delay of links on which these are known."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import Event, FindingRaised, State, TrialEnded
from app.plans.plan import Repetition, make_step
from app.plans.presets import filled_preset
from app.questions import RefusingAsker
from app.runs.control import Control
from app.runs.findings import PATH_USED
from tests.lab.links import TCP_SHARE, LinkedHost, LinkedHosts, delayed
from tests.lab.probe_runs import run_once, workstation_in
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_network_links")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed"),
]


def measured(folder: Path, suite: str, **given: object) -> tuple[TrialEnded, list[Event]]:
    """Return how one trial from near to far ended, and everything that happened."""
    with workstation_in(folder) as workstation:
        return run_once(workstation, suite, "near", peer="far", **given)


@pytest.mark.parametrize("rate", [100, 500])
def test_iperf3_finds_the_rate_of_a_link_both_ways(linked_hosts: LinkedHosts, tmp_path: Path, rate: int) -> None:
    near, far = linked_hosts(2)
    near.shape(rate)
    far.shape(rate / 2)
    up, _ = measured(tmp_path, "iperf3", time=4, omit=1, congestion="cubic")
    down, _ = measured(tmp_path, "iperf3", time=4, omit=1, congestion="cubic", direction="receive")
    assert (up.state, up.reason, down.state) == (State.DONE, "", State.DONE)
    found = figures(up.parsed)
    assert found["throughput send receiver"] == pytest.approx(rate * 1e6 * TCP_SHARE, rel=0.03)
    assert down.parsed.figures[0].value == pytest.approx(rate / 2 * 1e6 * TCP_SHARE, rel=0.03)
    assert {"cpu_utilization client", "cpu_utilization server", "retransmits send"} <= set(found)
    assert any(sample.metric.name == "congestion_window" for sample in up.parsed.samples)


def test_iperf3_by_hand_gives_the_same_figure(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far = linked_hosts(2)
    near.shape(80)
    ours, _ = measured(tmp_path, "iperf3", time=4, omit=1, congestion="cubic")
    assert ours.parsed.figures[0].value == pytest.approx(by_hand(near, far), rel=0.03)


def test_a_path_that_drops_large_packets_is_found_before_it_is_measured(
    linked_hosts: LinkedHosts, tmp_path: Path
) -> None:
    near, _ = linked_hosts(2)
    near.run("ip", "link", "set", "eth0", "mtu", "9000")  # the bridge and the other end have 1500
    ended, events = measured(tmp_path, "iperf3", time=2)
    assert ended.state is State.DONE
    found = {event.finding.id: event.finding for event in events if isinstance(event, FindingRaised)}
    assert "those of 1500 B" in found["mtu-not-carried"].measured
    near.run("ip", "link", "set", "eth0", "mtu", "1500")
    _, events = measured(tmp_path, "iperf3", time=2)
    assert not [event for event in events if isinstance(event, FindingRaised) and event.finding.id.startswith("mtu-")]


def test_the_path_is_told_and_a_free_port_is_found(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far = linked_hosts(2)
    with subprocess.Popen(far.words("iperf3", "-s", "--forceflush"), stdout=subprocess.PIPE) as other:
        ended, events = measured(tmp_path, "iperf3", time=1, port=0)
        other.terminate()
    assert (ended.state, ended.reason) == (State.DONE, "")
    (path,) = (event.finding for event in events if isinstance(event, FindingRaised) and event.finding.id == PATH_USED)
    words = f"near ({near.address}, eth0, MTU 1500 B) to far ({far.address}): same subnet, one host."
    assert path.measured == words  # one kernel: the hosts are namespaces


def by_hand(near: LinkedHost, far: LinkedHost) -> float:
    """Return the received bit/s that iperf3, typed on both hosts, says itself."""
    with subprocess.Popen(far.words("iperf3", "-s", "-1", "--forceflush"), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert any("Server listening" in line for line in server.stdout)
        shown = near.run("iperf3", "-c", far.address, "-t", "4", "-O", "1", "-C", "cubic", "-J")
    return float(json.loads(shown)["end"]["sum_received"]["bits_per_second"])


@pytest.mark.parametrize("pacing", ["application", "kernel"])
def test_tcp_is_held_to_its_rate(linked_hosts: LinkedHosts, tmp_path: Path, pacing: str) -> None:
    linked_hosts(2)
    ended, _ = measured(tmp_path, "iperf3", time=3, tcp_rate=40, pacing=pacing)
    assert ended.parsed.figures[0].value == pytest.approx(40e6, rel=0.05)


def test_a_smaller_segment_carries_less_of_a_link(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """The kernel takes 12 bytes of options from the segment that was asked for: 488 B of data in frames of 554 B."""
    near, _far = linked_hosts(2)
    near.shape(50)
    near.run("ip", "link", "set", "eth0", "gso_max_segs", "1")  # the bucket counts frames as they leave
    ended, _ = measured(tmp_path, "iperf3", time=3, omit=1, mss=500, congestion="cubic")
    assert ended.parsed.figures[0].value == pytest.approx(50e6 * 488 / 554, rel=0.03)


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_iperf3_finds_the_loss_of_udp(linked_hosts: LinkedHosts, tmp_path: Path, share: float) -> None:
    _near, far = linked_hosts(2)
    far.lose(share)
    ended, _ = measured(tmp_path, "iperf3", time=4, protocol="udp", bitrate=40, window="200 KiB")
    found = figures(ended.parsed)
    dropped = far.dropped()
    assert 0.6 * share < dropped / found["datagrams send"] < 1.5 * share
    lost = 100 * dropped / found["datagrams send"]
    assert found["lost send"] == pytest.approx(lost, rel=0.03, abs=0.05)  # iperf3 prints two digits
    assert ended.parsed.figures[0].value == pytest.approx(40e6 * (1 - dropped / found["datagrams send"]), rel=0.03)
    assert MESSAGES["the_received_rate_is_the"] in " ".join(ended.parsed.notes)


def test_net_blocks_finds_the_rate_of_a_link_both_ways(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    near, far = linked_hosts(2)
    near.shape(100)
    far.shape(50)
    given = {"protocol": "tcp", "tests": "upload,download", "buffers": "64 KiB", "time": 3, "omit": 1}
    ended, _ = measured(tmp_path, "net-blocks", **given)
    assert (ended.state, ended.reason) == (State.DONE, "")
    up, down = (figure.value for figure in ended.parsed.figures[:2])
    assert up == pytest.approx(100e6 * TCP_SHARE, rel=0.03)
    assert down == pytest.approx(50e6 * TCP_SHARE, rel=0.03)


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
@pytest.mark.parametrize("method", ["ping", "probe"])
def test_the_queue_of_a_full_link_is_found_as_latency(linked_hosts: LinkedHosts, tmp_path: Path, method: str) -> None:
    """UDP beyond the rate keeps the queue full: what comes out of it has waited for as long as the queue holds."""
    _near, far = linked_hosts(2)
    far.shape_arrivals(20, latency=80)
    given = {"time": 6, "interval": 0.05, "protocol": "udp", "bitrate": 24, "method": method}
    ended, _ = measured(tmp_path, "latency-under-load", **given)
    found = figures(ended.parsed)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert found["round_trip idle"] < 5
    assert found["round_trip loaded"] == pytest.approx(80, rel=0.12)
    assert found["latency_increase"] == found["round_trip loaded"] - found["round_trip idle"]


@pytest.mark.parametrize("delay", [5, 25])
def test_net_blocks_finds_the_delay_of_a_wire(linked_hosts: LinkedHosts, tmp_path: Path, delay: float) -> None:
    near, far = linked_hosts(2)
    with delayed(near, far, delay) as address:
        given = {"tests": "latency", "buffers": "1 B, 1 KiB", "time": 2, "address": address}
        ended, events = measured(tmp_path, "net-blocks", **given)
    assert (ended.state, ended.reason) == (State.DONE, "")
    medians = {figure.labels: figure.value for figure in ended.parsed.figures if figure.metric.name == "round_trip_p50"}
    assert len(medians) == 4
    for median in medians.values():
        assert median == pytest.approx(2000 * delay, rel=0.1)
    (path,) = (event.finding for event in events if isinstance(event, FindingRaised) and event.finding.id == PATH_USED)
    assert ", eth1, MTU 1500 B) to far" in path.measured


def test_net_blocks_finds_the_loss_of_udp(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    _near, far = linked_hosts(2)
    far.lose(0.05)
    given = {"protocol": "udp", "tests": "upload", "buffers": "1 KiB", "rate": 40, "time": 3}
    ended, _ = measured(tmp_path, "net-blocks", **given)
    (lost,) = (figure.value for figure in ended.parsed.figures if figure.metric.name == "lost")
    assert lost == pytest.approx(5, rel=0.15)
    assert ended.parsed.figures[0].value == pytest.approx(40e6 * (1 - lost / 100), rel=0.03)


def test_the_preset_runs_between_two_hosts(linked_hosts: LinkedHosts, tmp_path: Path) -> None:
    """As it comes along, but for its times."""
    near, far = linked_hosts(2)
    near.shape(60)
    far.shape(60)
    shorter: dict[str, dict[str, object]] = {
        "iperf3": {"time": 2, "omit": 1},
        "iperf3-udp": {"time": 1},
        "net-blocks": {"time": 0.5},
        "latency-under-load": {"time": 3},
    }
    preset = filled_preset("network-between-two", ["near"], {"peer": "far", "rate": "20"}).plan
    steps = (
        make_step(step.suite_id, {**step.values, **shorter[step.suite_id]}, name=step.name, peer=step.peer)
        for step in preset.steps
    )
    plan = replace(preset, steps=tuple(steps), repetition=Repetition(trials=1))
    with workstation_in(tmp_path) as workstation:
        workstation.consents.remember_made(plan)
        events = list(workstation.run(plan, RefusingAsker(), Control()))
    ended = [event for event in events if isinstance(event, TrialEnded)]
    assert [(trial.state, trial.reason) for trial in ended] == [(State.DONE, "")] * len(plan.steps)
    paths = [event for event in events if isinstance(event, FindingRaised) and event.finding.id == PATH_USED]
    assert [event.finding.step for event in paths] == [step.name for step in plan.steps]
