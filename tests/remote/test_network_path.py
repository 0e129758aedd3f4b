"""How a host reaches another is read from the host itself; words that are none are not believed."""

import re
import socket

import pytest

from app.runs.findings import mtu_not_carried
from remote.local import LocalSession
from remote.network_path import meet, read_path, understand_path
from suites.network_path import PORTS
from tests.suites.host_facts import host


@pytest.fixture
def here() -> LocalSession:
    return LocalSession()


def test_the_path_to_this_computer_is_its_loopback(here: LocalSession) -> None:
    found = read_path(here, "127.0.0.1", host("a", boot="x"), host("b", boot="x"))
    assert (found.address, found.same_host) == ("127.0.0.1", True)
    if found.interface:  # where there is no ip, nothing more is told
        assert (found.interface, found.on_link, found.mtu) == ("lo", True, 65536)


def test_a_name_is_resolved_on_the_host(here: LocalSession) -> None:
    assert read_path(here, "localhost", None, None).address in {"127.0.0.1", "::1"}


@pytest.mark.parametrize("address", ["", "-h", "$(reboot)", "no.such.host.invalid", "999.1.1.1"])
def test_an_address_that_is_none_tells_nothing(here: LocalSession, address: str) -> None:
    found = read_path(here, address, None, None)
    assert (found.address, found.interface, found.on_link, found.same_host) == ("", "", None, None)


def test_a_route_through_a_router_with_a_size_of_its_own() -> None:
    route = "10.9.0.3 via 10.0.0.1 dev ens5 src 10.0.0.2 uid 0 mtu 1400"
    found = understand_path({"address": "10.9.0.3", "route": route, "mtu": "9001"}, None, None)
    assert (found.gateway, found.on_link, found.interface, found.mtu) == ("10.0.0.1", False, "ens5", 1400)


@pytest.mark.parametrize(("carried", "found"), [("9000", []), ("1500", ["mtu-not-carried"]), ("x", []), (None, [])])
def test_a_path_that_does_not_carry_large_packets_is_a_finding(carried: str | None, found: list[str]) -> None:
    route = "10.0.0.3 dev ens5 src 10.0.0.2 uid 0"
    reply = {"address": "10.0.0.3", "route": route, "mtu": "9000", **({"carried": carried} if carried else {})}
    raised = mtu_not_carried("net", "web-1", understand_path(reply, None, None))
    assert [finding.id for finding in raised] == found
    assert all("9000 B from ens5" in finding.measured for finding in raised)


def test_hostile_answers_are_not_believed() -> None:
    shown = {"address": "<b>", "route": "x via $(id) dev " + "e" * 99 + " src no mtu -5", "mtu": "99999999999"}
    found = understand_path(shown, None, None)
    assert (found.address, found.gateway, found.interface, found.source, found.mtu) == ("", "", "", "", None)


def test_a_port_in_use_is_not_drawn(here: LocalSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        monkeypatch.setattr("suites.network_path.PORTS", [port, port + 1 if port < 65535 else 1])
        with pytest.raises(Exception, match=re.escape("No free port")):
            meet(here)


def test_a_meeting_is_another_each_time(here: LocalSession) -> None:
    one, other = meet(here), meet(here)
    assert one.nonce != other.nonce
    assert one.port in PORTS
