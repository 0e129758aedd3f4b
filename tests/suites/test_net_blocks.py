"""net-blocks: its commands at both ends, what it warns of, and what is read from its probe."""

import shlex
from dataclasses import replace
from typing import Any

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.errors import ParameterError
from suites.facts import Facts
from suites.net_blocks.suite import NetBlocks
from suites.network_path import Rendezvous
from suites.outputs import ParsedTrial
from suites.vocab import Severity, labels
from tests.messages import messages
from tests.suites.captured_outputs import capture, series
from tests.suites.host_facts import applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_net_blocks")

SUITE = NetBlocks()
DEFAULTS = complete_values(SUITE, {})


def end(name: str, *, compiler: bool = True, **given: Any) -> Facts:
    given |= {"gcc": "gcc 12.2.0"} if compiler else {}
    facts = host(name, **given)
    return replace(facts, system=replace(facts.system, architecture="x86_64"))


BOTH = Context(end("web-1"), end("db-1"), "10.0.0.2", Rendezvous(20001, "0123456789abcdef"))


def parsed(name: str) -> ParsedTrial:
    return capture(f"net-blocks/1/{name}").parse(SUITE.parser(DEFAULTS))


def line(given: dict[str, object], context: Context = BOTH) -> str:
    return shlex.join(SUITE.commands(complete_values(SUITE, given), context)[-1].argv)


def test_both_ends_are_built_and_the_server_end_listens_before_the_client_asks() -> None:
    build, serve, own, ask = SUITE.commands(complete_values(SUITE, {"build": "host"}), BOTH)
    assert [command.purpose for command in (build, serve, own, ask)] == [
        Purpose.PREPARE,
        Purpose.SERVE,
        Purpose.PREPARE,
        Purpose.MEASURE,
    ]
    assert (build.on_peer, serve.on_peer, own.on_peer, ask.on_peer) == (True, True, False, False)
    assert shlex.join(serve.argv) == "./netblocks --serve --port 20001 --nonce-file nonce"
    assert shlex.join(ask.argv) == (
        "./netblocks --connect 10.0.0.2 --port 20001 --nonce-file nonce --blocks 1,1024,65536,1048576 "
        "--datagram 1472 --time 1 --threads 1 --sweep single"
    )


def test_the_nonce_is_in_a_file_and_in_no_command() -> None:
    commands = SUITE.commands(DEFAULTS, BOTH)
    assert [file.text for command in commands for file in command.files if file.text] == ["0123456789abcdef\n"] * 2
    assert not any("0123456789abcdef" in word for command in commands for word in command.argv)


def test_each_end_is_given_the_shipped_program_of_its_architecture() -> None:
    arm = replace(end("db-1"), system=replace(end("db-1").system, architecture="aarch64"))
    serve, ask = SUITE.commands(DEFAULTS, replace(BOTH, peer_facts=arm))
    assert [file.resource for file in serve.files] == ["probes/bin/aarch64/netblocks", ""]
    assert [file.resource for file in ask.files] == ["probes/bin/x86_64/netblocks", ""]


def test_a_program_built_here_has_all_its_sources() -> None:
    serve, _ask = SUITE.commands(complete_values(SUITE, {"build": "here"}), BOTH)
    (program, _nonce) = serve.files
    assert program.build is not None
    assert program.build.sources == ("probes/netblocks.c", "probes/probe.h", "probes/flows.h", "probes/sockets.h")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"protocol": "tcp"}, "--protocols tcp --time 1"),
        ({"protocol": "udp", "rate": 40}, "--protocols udp --datagram 1472 --rate 40 --time 1"),
        ({"tests": "latency", "nodelay": False}, "--tests latency --datagram 1472 --nodelay 0 --time 1"),
        ({"omit": 2, "time": 0.5}, "--datagram 1472 --time 0.5 --omit 2"),
    ],
)
def test_each_parameter_has_its_option(given: dict[str, object], words: str) -> None:
    assert f" --blocks 1,1024,65536,1048576 {words} --threads 1" in line(given)


def test_a_given_port_and_address_win() -> None:
    assert " --connect fe80::1%eth0 --port 5999 " in line({"port": 5999, "address": "fe80::1%eth0"})
    assert " --connect '<address of the peer>' --port '<a free port>' " in line({}, Context())


@pytest.mark.parametrize("given", [{"buffers": "0"}, {"datagram": 65508}, {"threads": 257}, {"rate": 1.5}])
def test_other_values_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, given)


def test_the_estimate_counts_every_combination() -> None:
    few = SUITE.estimate(complete_values(SUITE, {"protocol": "tcp", "tests": "latency", "buffers": "1"}), BOTH)
    assert few.duration == pytest.approx(1.7)
    all_of_them = SUITE.estimate(complete_values(SUITE, {"threads": 4, "sweep": "doubling"}), BOTH)
    assert all_of_them.duration == pytest.approx(2 * 3 * 4 * 3 * 1.7)
    assert SUITE.estimate(complete_values(SUITE, {"threads": 0}), Context()).duration is None


def test_it_brings_its_tool() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


def test_tuned_values_on_quiet_hosts_raise_nothing() -> None:
    step = evidence(SUITE, BOTH, **tuned_values(SUITE, BOTH))
    assert raised(step) == {}
    assert silent(step) == set()


def test_datagrams_are_tuned_to_a_smaller_packet() -> None:
    assert SUITE.tune(replace(BOTH, facts=end("web-1", mtu=1400)))["datagram"].value == 1372
    assert "datagram" not in SUITE.tune(BOTH)


def test_datagrams_that_travel_in_fragments_are_warned_about() -> None:
    step = evidence(SUITE, BOTH, datagram=8192)
    assert raised(step)["net-blocks-fragments"].severity is Severity.WARNING
    assert raised(applied(step, "net-blocks-fragments")) == {}
    assert raised(evidence(SUITE, BOTH, datagram=8192, protocol="tcp")) == {}


def test_what_cannot_work_is_an_error_before() -> None:
    assert "net-blocks-refused" in raised(evidence(SUITE, BOTH, buffers="128 MiB"))
    riscv = replace(end("db-1"), system=replace(end("db-1").system, architecture="riscv64"))
    odd = replace(BOTH, peer_facts=riscv)
    assert raised(evidence(SUITE, odd)) == {}
    finding = raised(evidence(SUITE, odd, build="shipped"))["probe-no-compiler-peer"]
    assert finding.measured == MESSAGES["on_the_peer_the_host_is"]
    assert "same-host-peer" in raised(evidence(SUITE, replace(BOTH, peer_address="127.0.0.1")))


def test_rates_are_by_protocol_direction_buffer_and_flows() -> None:
    found = parsed("all")
    assert found.complete
    rates = {figure.labels: figure.value for figure in found.figures if figure.metric.name == "throughput"}
    assert len(rates) == 2 * 2 * 4
    assert found.figures[0].value == max(rates.values())
    assert rates[labels(protocol="udp", direction="upload", buffer="1 KiB", threads="1")] == 723278810
    assert found.tool_version == "1, gcc 12.2.0, -std=gnu11 -O3 -pthread -march=native"


def test_loss_is_of_what_was_sent() -> None:
    found = parsed("two_seconds")
    marks = labels(protocol="udp", direction="upload", buffer="1 KiB", threads="1")
    lost = {figure.labels: figure.value for figure in found.figures if figure.metric.name == "lost"}
    assert lost[marks] == pytest.approx(100 * 167 / 9766)
    assert lost[labels(protocol="udp", buffer="1 KiB", threads="2")] == pytest.approx(100 * 2 / 144)


def test_percentiles_are_told_of_as_many_round_trips_as_they_need() -> None:
    found = parsed("two_seconds")
    few, many = (labels(protocol="udp", buffer="1 KiB", threads=threads) for threads in ("1", "2"))
    reported = {figure.metric.name: figure.value for figure in found.figures if figure.labels == few}
    assert reported["round_trip_p50"] == 11.840
    assert reported["round_trip_max"] == 337.207
    assert "round_trip_p99" not in reported  # of 98 round trips
    assert {figure.metric.name for figure in found.figures if figure.labels == many} >= {"round_trip_p99"}
    assert any(figure.metric.name == "round_trip_p999" for figure in parsed("all").figures)


def test_both_ends_use_of_their_processors_is_told() -> None:
    marks = {"protocol": "udp", "direction": "upload", "buffer": "1 KiB", "threads": "1"}
    use = {figure.labels: figure.value for figure in parsed("two_seconds").figures if "cpu" in figure.metric.name}
    assert (use[labels(side="client", **marks)], use[labels(side="server", **marks)]) == (10.009, 2.118)


def test_every_second_is_a_sample() -> None:
    found = parsed("two_seconds")
    marks = {"protocol": "udp", "direction": "upload", "buffer": "1 KiB", "threads": "1"}
    assert series(found.samples, "throughput", **marks) == [(1.001, 39261390), (2.001, 39370870)]
    trips = series(found.samples, "round_trip_p50", protocol="udp", buffer="1 KiB", threads="2")
    assert trips == [(12.673, 10.944), (13.674, 23.168)]


def test_what_never_came_back_is_said() -> None:
    notes = parsed("all").notes
    assert MESSAGES["no_buffer_came_back_whole"] in notes
    assert MESSAGES["over_udp_a_buffer_of_64_kib"] in notes


def test_nagle_and_the_loopback_are_said() -> None:
    assert any(note.startswith("TCP_NODELAY was on") for note in parsed("all").notes)
    assert any("used the loopback" in note for note in parsed("sigterm").notes)
    assert not any("used the loopback" in note for note in parsed("all").notes)
    parser = SUITE.parser(DEFAULTS)
    parser.feed(b"# benchwright-netblocks 1\n# nodelay off\ndone\n")
    assert any(note.startswith("TCP_NODELAY was off") for note in parser.finish(0).notes)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refused", "netblocks failed: nothing can be reached at 10.216.7.2 port 20500: Connection refused."),
        ("stranger", "netblocks failed: what listens at port 20500 did not let us in"),
        ("server_killed", "netblocks failed: the other end ended, or was lost, before the test did."),
        ("sigterm", "netblocks was ended by SIGTERM"),
    ],
)
def test_a_failure_is_named_and_gives_no_figure(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)
