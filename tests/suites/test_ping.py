"""Latency under load: its commands, and what is read from ping, from our probe and from the load beside them."""

import shlex

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.network_path import Rendezvous
from suites.outputs import ParsedTrial
from suites.ping import LatencyUnderLoad
from suites.programs import COMPILER
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_ping")

SUITE = LatencyUnderLoad()
DEFAULTS = complete_values(SUITE, {})
VALUES = complete_values(SUITE, {"interval": 0.05})
BOTH = Context(
    host("web-1", iperf3="iperf 3.12", gcc="gcc 12.2"),
    host("db-1", iperf3="iperf 3.12", gcc="gcc 12.2"),
    "10.0.0.2",
    Rendezvous(20001, "0123456789abcdef", 20002),
)


def parsed(name: str) -> ParsedTrial:
    return capture(f"latency-under-load/1/{name}").parse(SUITE.parser(VALUES))


def test_ping_times_both_phases_and_iperf3_loads_the_second() -> None:
    serve, measure = SUITE.commands(DEFAULTS, BOTH)
    assert (serve.purpose, serve.on_peer) == (Purpose.SERVE, True)
    assert shlex.join(serve.argv) == "iperf3 -s -1 -p 20001 --forceflush"
    ping = "'ping -n -i 0.2 -c 150 10.0.0.2'"
    assert shlex.join(measure.argv) == (
        f"sh under-load.sh 2 32 {ping} {ping} iperf3 -c 10.0.0.2 -p 20001 -t 34 -i 1 --forceflush -f k -V"
    )
    assert [file.resource for file in measure.files] == ["under-load.sh"]


def test_the_probe_has_a_server_end_and_a_port_of_its_own() -> None:
    commands = SUITE.commands(complete_values(SUITE, {"method": "probe", "time": 10}), BOTH)
    served = [shlex.join(command.argv) for command in commands if command.purpose is Purpose.SERVE]
    assert served == ["./netblocks --serve --port 20002 --nonce-file nonce", "iperf3 -s -1 -p 20001 --forceflush"]
    assert "0123456789abcdef" not in shlex.join(commands[-1].argv)
    assert "'./netblocks --connect 10.0.0.2 --port 20002 --nonce-file nonce --protocols udp" in shlex.join(
        commands[-1].argv
    )
    assert {file.name for file in commands[-1].files} == {"nonce", "under-load.sh"}


def test_the_load_is_what_iperf3_is_told() -> None:
    given = {"protocol": "udp", "bitrate": 50, "direction": "receive", "streams": 2}
    line = shlex.join(SUITE.commands(complete_values(SUITE, given), BOTH)[-1].argv)
    assert "iperf3 -c 10.0.0.2 -p 20001 -u -b 50M -R -P 2 -t 34" in line


def test_tuned_values_on_quiet_hosts_raise_nothing() -> None:
    step = evidence(SUITE, BOTH, **tuned_values(SUITE, BOTH))
    assert (raised(step), silent(step)) == ({}, set())
    assert SUITE.estimate(DEFAULTS, BOTH).duration == 64


def test_what_would_fool_somebody_is_said_before() -> None:
    step = evidence(SUITE, BOTH, time=10)
    finding = raised(step)["few-round-trips"]
    assert finding.measured == MESSAGES["10_s_at_one_every_0_2_s_are"]
    assert raised(applied(step, "few-round-trips")) == {}
    assert "udp-default-rate" in raised(evidence(SUITE, BOTH, protocol="udp"))
    assert "probe-no-compiler" in raised(evidence(SUITE, BOTH, method="probe", build="shipped"))
    assert raised(evidence(SUITE, BOTH, build="shipped")) == {}
    needed = {
        method: SUITE.programs(complete_values(SUITE, {"method": method, "build": "host"}), BOTH.facts)
        for method in ("probe", "ping")
    }
    assert needed == {"probe": (SUITE.program, COMPILER), "ping": (SUITE.program,)}


def test_the_increase_is_the_difference_of_the_phases() -> None:
    found = parsed("ping")
    values = figures(found)
    assert found.complete
    assert (found.figures[0].metric.name, dict(found.figures[0].labels)) == ("round_trip", {"phase": "loaded"})
    assert values["round_trip idle"] == 0.051
    assert values["round_trip loaded"] == 50.2
    assert values["latency_increase"] == 50.2 - 0.051
    assert values["latency_increase_p99"] == 61.8 - 0.085
    assert values["latency_max loaded"] == 63.8
    assert values["lost loaded"] == 0
    assert values["throughput send receiver"] == 18.8e6


def test_both_phases_and_the_load_are_live_on_one_axis() -> None:
    samples = parsed("ping").samples
    idle, loaded = (series(samples, "round_trip", phase=name) for name in ("idle", "loaded"))
    assert (len(idle), len(loaded)) == (120, 120)
    assert idle[:2] == [(0.0, 0.393), (0.05, 0.064)]
    assert loaded[0][0] == 8.79  # when the second ping began
    assert [time for time, _rate in series(samples, "throughput")][:2] == [7.79, 8.79]


def test_the_probe_tells_percentiles_of_its_own() -> None:
    values = figures(parsed("probe"))
    assert values["round_trip loaded"] == pytest.approx(54.788, abs=0.001)
    assert values["latency_increase"] == pytest.approx(54.788 - 0.076, abs=0.001)
    assert "latency_p99 idle" not in values
    assert MESSAGES["fewer_than_100_round_trips"] in parsed("probe").notes[-1]
    assert len(series(parsed("probe").samples, "round_trip", phase="loaded")) == 5


def test_busybox_counts_from_nought() -> None:
    found = parsed("busybox")
    assert found.complete
    assert figures(found)["round_trip idle"] == 0.058


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("load_refused", "The load broke off: no increase under load."),
        ("unreachable", "No round trip completed while the network was idle."),
        ("no_ping", "ping is not installed on this host: install it, or set the method to Benchwright's probe."),
    ],
)
def test_a_failure_is_named_and_gives_no_increase(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert words == found.notes[0]
    assert "latency_increase" not in figures(found)


@pytest.mark.parametrize("case", ["ping", "probe"])
def test_an_output_that_is_cut_off_is_not_complete(case: str) -> None:
    data = capture(f"latency-under-load/1/{case}").stdout
    for length in range(0, len(data) - 400, 211):
        parser = SUITE.parser(VALUES)
        parser.feed(data[:length])
        found = parser.finish()
        assert not found.complete
        assert found.notes


PIECES = [
    b"phase idle 1.0\n",
    b"phase ramp 2.0\n",
    b"phase loaded 0.5\n",
    b"64 bytes from x: icmp_seq=1 ttl=64 time=1.0 ms\n",
    b"64 bytes from x: seq=999999999 ttl=64 time=999999999.0 ms\n",
    b"1 packets transmitted, 9 received, 0% packet loss\n",
    b"result test latency trips 0 lost 0\n",
    b"result test latency trips 500 lost 0 p50 5.0 p99 nan max 6.0\n",
    b"live time 1.0 p50 5.0\n",
    b"{\n",
    b"\xff\xfe\x00",
]


@drawn(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = SUITE.parser(VALUES)
    live = list(parser.feed(data))
    assert list(parser.finish().samples) == live
