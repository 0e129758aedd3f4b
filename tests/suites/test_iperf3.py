"""iperf3: its commands for each version, its tuning and its estimates."""

import shlex
from dataclasses import replace

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.errors import ParameterError
from suites.facts import Interface
from suites.iperf3.link import is_loopback, link_speed
from suites.iperf3.suite import Iperf3
from suites.network_path import Rendezvous
from suites.peer import peer_address
from tests.suites.host_facts import host

SUITE = Iperf3()
DEFAULTS = complete_values(SUITE, {})
NEW = Context(host(iperf3="iperf 3.21"), host("db-1", iperf3="iperf 3.21"), "10.0.0.2")
OLD = Context(host(iperf3="iperf 3.12 (cJSON 1.7.15)"), host("db-1", iperf3="iperf 3.12"), "10.0.0.2")


def client(context: Context, **given: object) -> str:
    return shlex.join(SUITE.commands(complete_values(SUITE, given), context)[1].argv)


def test_the_server_runs_once_on_the_peer_before_the_client() -> None:
    serve, measure = SUITE.commands(complete_values(SUITE, {"port": 5333}), NEW)
    assert (serve.purpose, serve.on_peer) == (Purpose.SERVE, True)
    assert shlex.join(serve.argv) == "iperf3 -s -1 -p 5333 --forceflush"
    assert (measure.purpose, measure.on_peer) == (Purpose.MEASURE, False)


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (NEW, "iperf3 -c 10.0.0.2 -p 5201 -t 10 -i 1 --json-stream"),
        (OLD, "iperf3 -c 10.0.0.2 -p 5201 -t 10 -i 1 --forceflush -f k -V"),
        (Context(peer_address="10.0.0.2"), "iperf3 -c 10.0.0.2 -p 5201 -t 10 -i 1 --forceflush -f k -V"),
    ],
)
def test_the_output_is_the_best_that_arrives_live_from_the_version(context: Context, words: str) -> None:
    assert client(context) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"protocol": "udp"}, "-u -b 1M"),
        ({"protocol": "udp", "bitrate": 0}, "-u -b 0"),
        ({"protocol": "udp", "bitrate": 12345.5}, "-u -b 12345.5M"),
        ({"protocol": "udp", "bitrate": 0.000001}, "-u -b 0.000001M"),
        ({"direction": "receive"}, "-R"),
        ({"direction": "both", "streams": 4}, "--bidir -P 4"),
        ({"omit": "2 s"}, "-O 2"),
        ({"length": "8 KiB", "window": "4 MiB"}, "-l 8192 -w 4194304"),
        ({"congestion": "bbr"}, "-C bbr"),
        ({"mss": 1200}, "-M 1200"),
        ({"tcp_rate": 40}, "-b 40M"),
        ({"tcp_rate": 40, "pacing": "kernel"}, "--fq-rate 40M"),
    ],
)
def test_each_parameter_has_its_option(given: dict[str, object], words: str) -> None:
    assert client(OLD, **given) == f"iperf3 -c 10.0.0.2 -p 5201 {words} -t 10 -i 1 --forceflush -f k -V"


def test_port_0_is_the_one_that_was_found_free() -> None:
    values = complete_values(SUITE, {"port": 0})
    serve, measure = SUITE.commands(values, replace(OLD, meeting=Rendezvous(20001, "n")))
    assert "-p 20001" in shlex.join(serve.argv)
    assert "-p 20001" in shlex.join(measure.argv)
    assert "-p '<a free port>'" in shlex.join(SUITE.commands(values, OLD)[0].argv)


def test_what_has_no_effect_is_left_out() -> None:
    assert "-b" not in client(OLD, bitrate=100).split()
    assert "--fq-rate" not in client(OLD, protocol="udp", tcp_rate=40, pacing="kernel").split()
    assert "-C" not in client(OLD, protocol="udp", congestion="bbr").split()


def test_a_given_address_wins() -> None:
    assert client(OLD, address="fe80::1%eth0").startswith("iperf3 -c fe80::1%eth0 ")


def test_an_unknown_address_is_a_placeholder_that_no_shell_takes_for_a_host() -> None:
    assert peer_address(DEFAULTS, Context()) == "<address of the peer>"
    assert peer_address(DEFAULTS, Context(peer_facts=host("db-1"))) == "<address of db-1>"
    assert "'<address of the peer>'" in client(Context())


@pytest.mark.parametrize("address", ["-F/etc/passwd", "10.0.0.2;reboot", "$(id)", "a b", "ü", "x" * 300])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, {"address": address})
    assert peer_address(DEFAULTS, Context(peer_address=address)) == "<address of the peer>"


@pytest.mark.parametrize(
    "given",
    [{"streams": 129}, {"time": 0}, {"time": 1.5}, {"omit": 601}, {"bitrate": -1}, {"port": -1}, {"length": "2 MiB"}],
)
def test_values_the_tool_would_refuse_are_refused_before(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, given)


def test_tuned_values_leave_out_slow_start_and_run_longer() -> None:
    tuned = tuned_values(SUITE, OLD)
    assert {name: tuned[name] for name in tuned if tuned[name] != DEFAULTS[name]} == {
        "time": 30.0,
        "omit": 2.0,
        "port": 0,
    }


def test_tuned_values_fit_the_slower_interface() -> None:
    context = Context(host(speed=25 * 10**9), host("db-1", speed=10 * 10**9))
    tuned = tuned_values(SUITE, context)
    assert (tuned["streams"], tuned["bitrate"]) == (2, 4500.0)
    assert "10 Gbit/s" in SUITE.tune(context)["bitrate"].why


def test_a_link_of_which_one_end_is_not_known_has_no_speed() -> None:
    assert link_speed(Context(host(speed=10**9), host("db-1"))) is None
    assert link_speed(Context(host(speed=10**9))) == 10**9
    assert link_speed(Context()) is None


def test_interfaces_within_the_host_have_no_part_in_its_speed() -> None:
    facts = host(speed=10**9)
    bridge = Interface(name="docker0", state="up", driver="bridge", speed=10**10)
    down = Interface(name="eth1", state="down", speed=10**11)
    assert link_speed(Context(type(facts)(host="h", read_at="", interfaces=(*facts.interfaces, bridge, down)))) == 10**9


@pytest.mark.parametrize(
    ("given", "duration", "network"),
    [
        ({}, 10, None),
        ({"bitrate": 100}, 10, None),  # TCP is never limited
        ({"protocol": "udp", "bitrate": 100}, 10, 125_000_000),
        ({"protocol": "udp", "bitrate": 100, "omit": 2, "streams": 2}, 12, 300_000_000),
        ({"protocol": "udp", "bitrate": 100, "direction": "both"}, 10, 250_000_000),
        ({"protocol": "udp", "bitrate": 0}, 10, None),
    ],
)
def test_the_estimate_is_the_rate_times_the_time(
    given: dict[str, object], duration: float, network: int | None
) -> None:
    estimate = SUITE.estimate(complete_values(SUITE, given), Context())
    assert (estimate.duration, estimate.network) == (duration, network)


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("LOCALHOST.", True), ("10.0.0.1", False), ("db", False)],
)
def test_loopback_addresses_are_known(address: str, expected: bool) -> None:  # noqa: FBT001 (a table's column)
    assert is_loopback(address) is expected
