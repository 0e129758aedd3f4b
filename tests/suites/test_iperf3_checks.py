"""What is known to fool people about iperf3 is said with its evidence, and never where there is nothing to say."""

from dataclasses import replace

import pytest

from suites.base import Context, tuned_values
from suites.facts import Interface
from suites.iperf3.suite import Iperf3
from suites.vocab import Severity
from tests.messages import messages
from tests.suites.host_facts import applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_iperf3_checks")

SUITE = Iperf3()
SEPARATE = Context(host(iperf3="iperf 3.18", speed=10**9), host("db-1", iperf3="iperf 3.18", speed=10**9), "10.0.0.2")
OLD = Context(host(iperf3="iperf 3.12"), host("db-1", iperf3="iperf 3.12"), "10.0.0.2")
ANCIENT = Context(host(iperf3="iperf 3.18"), host("db-1", iperf3="iperf 3.1.3"), "10.0.0.2")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_tuned_values_between_quiet_hosts_raise_nothing(protocol: str) -> None:
    step = evidence(SUITE, SEPARATE, **{**tuned_values(SUITE, SEPARATE), "protocol": protocol})
    assert raised(step) == {}
    assert silent(step) == set()


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1"])
def test_a_loopback_address_is_no_link(address: str) -> None:
    assert address in raised(evidence(SUITE, SEPARATE, address=address))["same-host-peer"].measured
    context = Context(peer_address=address)
    assert raised(evidence(SUITE, context))["same-host-peer"].severity is Severity.WARNING


def test_two_names_of_one_kernel_are_no_link() -> None:
    context = Context(host("web-1", boot="x"), host("web-1-private", boot="x"), "10.0.0.1")
    assert "same boot" in raised(evidence(SUITE, context))["same-host-peer"].measured


def test_hosts_that_boot_apart_are_a_link() -> None:
    assert "same-host-peer" not in raised(evidence(SUITE, SEPARATE))
    assert "same-host-peer" not in silent(evidence(SUITE, SEPARATE))


def test_a_peer_that_was_not_read_is_not_guessed_about() -> None:
    assert "same-host-peer" in silent(evidence(SUITE, Context(host(), peer_address="10.0.0.2")))


def test_loopback_on_a_quiet_host_raises_nothing_but_that_it_is_loopback() -> None:
    context = Context(host(iperf3="iperf 3.12"), host(iperf3="iperf 3.12"), "127.0.0.1")
    assert set(raised(evidence(SUITE, context, **tuned_values(SUITE, context)))) == {"same-host-peer"}


def test_the_default_rate_of_udp_measures_itself() -> None:
    step = evidence(SUITE, SEPARATE, protocol="udp")
    finding = raised(step)["udp-default-rate"]
    assert finding.severity is Severity.WARNING
    assert finding.measured == MESSAGES["bitrate_is_1_mbit_s_the_default"]
    assert finding.changes == {"bitrate": 900.0}
    assert "udp-default-rate" not in raised(applied(step, "udp-default-rate"))


def test_without_a_known_speed_the_remedy_is_the_search() -> None:
    finding = raised(evidence(SUITE, OLD, protocol="udp"))["udp-default-rate"]
    assert finding.changes == {}
    assert "iperf3-udp" in finding.remedy


def test_tcp_has_no_rate_to_warn_about() -> None:
    assert "udp-default-rate" not in raised(evidence(SUITE, SEPARATE))


def test_datagrams_above_the_mtu_are_fragments() -> None:
    step = evidence(SUITE, SEPARATE, protocol="udp", bitrate=100, length=9000)
    assert raised(step)["udp-fragments"].measured == (MESSAGES["length_is_9000_b_the_largest"])
    assert "udp-fragments" not in raised(applied(step, "udp-fragments"))


@pytest.mark.parametrize("given", [{"length": 1472}, {"length": 0}, {"length": 9000, "protocol": "tcp"},
                                   {"length": 9000, "address": "127.0.0.1"}])  # fmt: skip
def test_datagrams_that_fit_are_none(given: dict[str, object]) -> None:
    assert "udp-fragments" not in raised(evidence(SUITE, SEPARATE, **{"protocol": "udp", **given}))


def test_an_unknown_mtu_is_named_and_changes_nothing() -> None:
    context = Context(host(mtu=None), host("db-1"), "10.0.0.2")
    assert "udp-fragments" in silent(evidence(SUITE, context, protocol="udp", length=1400))
    found = raised(evidence(SUITE, context, protocol="udp", length=9000))["udp-fragments"]
    assert "7 fragments" in found.measured
    assert "not known" in found.measured
    assert not found.changes


@pytest.mark.parametrize(("length", "refused"), [(15, True), (16, False), (65507, False), (65508, True), (0, False)])
def test_lengths_that_udp_refuses(length: int, refused: bool) -> None:  # noqa: FBT001 (a table's column)
    step = evidence(SUITE, SEPARATE, protocol="udp", length=length)
    assert ("iperf3-length-refused" in raised(step)) is refused


def test_slow_start_in_a_short_run_is_worth_a_hint() -> None:
    step = evidence(SUITE, SEPARATE)
    assert raised(step)["omit-missing"].severity is Severity.INFO
    assert "omit-missing" not in raised(applied(step, "omit-missing"))
    assert "omit-missing" not in raised(evidence(SUITE, SEPARATE, time=30))
    assert "omit-missing" not in raised(evidence(SUITE, SEPARATE, protocol="udp"))


def test_streams_of_an_old_iperf3_share_a_cpu() -> None:
    assert "3.12 at one end" in raised(evidence(SUITE, OLD, streams=4))["single-stream-old-iperf"].measured
    assert "single-stream-old-iperf" not in raised(evidence(SUITE, OLD))
    assert "single-stream-old-iperf" not in raised(evidence(SUITE, SEPARATE, streams=4))
    assert "single-stream-old-iperf" in silent(evidence(SUITE, Context(), streams=4))


def test_an_end_that_cannot_send_both_ways_is_an_error() -> None:
    assert raised(evidence(SUITE, ANCIENT, direction="both"))["iperf3-bidir-too-old"].severity is Severity.ERROR
    assert "iperf3-bidir-too-old" not in raised(evidence(SUITE, OLD, direction="both"))
    assert "iperf3-bidir-too-old" in silent(evidence(SUITE, Context(), direction="both"))


def test_a_short_run_is_said_to_be_short() -> None:
    assert raised(evidence(SUITE, SEPARATE, time=3))["short-runtime"].severity is Severity.WARNING


GBIT = 10**9


def ends(speed: int | None, mtu: int = 9000, peer_mtu: int | None = None, address: str = "10.0.0.2") -> Context:
    peer = host("db-1", speed=speed, mtu=mtu if peer_mtu is None else peer_mtu, iperf3="iperf 3.18")
    return Context(host(speed=speed, mtu=mtu, iperf3="iperf 3.18"), peer, address)


def test_one_tcp_stream_cannot_fill_a_link_of_100_gbit() -> None:
    step = evidence(SUITE, ends(100 * GBIT), time=30, omit=2)
    found = raised(step)["one-stream-fast-link"]
    assert "100 Gbit/s" in found.measured
    assert found.changes == {"streams": 8}
    assert raised(applied(step, "one-stream-fast-link")) == {}


@pytest.mark.parametrize(
    ("speed", "given"),
    [
        (10 * GBIT, {}),
        (None, {}),
        (100 * GBIT, {"streams": 4}),
        (100 * GBIT, {"tcp_rate": 1000}),
        (100 * GBIT, {"protocol": "udp", "bitrate": 1000}),
    ],
)
def test_a_stream_that_can_fill_its_link_is_no_finding(speed: int | None, given: dict[str, object]) -> None:
    assert raised(evidence(SUITE, ends(speed), **{"time": 30, "omit": 2, **given})) == {}


@pytest.mark.parametrize("speed", [10 * GBIT, 25 * GBIT, 100 * GBIT])
def test_a_standard_mtu_is_no_finding(speed: int) -> None:
    assert raised(evidence(SUITE, ends(speed, 1500), time=30, omit=2, streams=5)) == {}


def test_ends_of_different_mtu_are_warned_of() -> None:
    found = raised(evidence(SUITE, ends(GBIT, 9000, 1500), time=30, omit=2))
    assert found["mtu-differs"].measured == "MTU 9000 B on web-1, 1500 B on db-1."
    assert set(found) == {"mtu-differs"}


def test_an_end_with_several_links_may_use_the_fitting_one() -> None:
    context = ends(GBIT, 9000, 1500)
    assert context.peer_facts is not None
    jumbo = Interface(name="eth1", state="up", mtu=9000, addresses=("10.1.0.2",))
    both = replace(context.peer_facts, interfaces=(*context.peer_facts.interfaces, jumbo))
    assert raised(evidence(SUITE, replace(context, peer_facts=both), time=30, omit=2)) == {}
    reached = replace(context, peer_facts=both, peer_address="10.1.0.2")
    assert raised(evidence(SUITE, reached, time=30, omit=2)) == {}
    alone = replace(context, facts=host(mtu=1500, iperf3="iperf 3.18"), peer_facts=both, peer_address="10.1.0.2")
    assert "mtu-differs" in raised(evidence(SUITE, alone, time=30, omit=2))
