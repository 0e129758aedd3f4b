"""Reads how a host reaches another, and finds a port that nobody uses there."""

import ipaddress
import re
from collections.abc import Mapping

from remote.errors import RemoteError
from remote.facts.values import whole, word
from remote.script import ask
from remote.session import Session
from suites.facts import Facts, known
from suites.network_path import Meeting, NetworkPath, draw_meeting

SCRIPT = "path.sh"

TIMEOUT = 10.0
"""Seconds; a resolver that does not answer takes five."""


class PortError(RemoteError):
    """No port could be found for a server end."""


def read_path(session: Session, address: str, facts: Facts | None, peer_facts: Facts | None) -> NetworkPath:
    """Return how the session's host reaches `address`; what it does not tell stays unknown."""
    said = ask(session, SCRIPT, "path", address, timeout=TIMEOUT)
    return understand_path(said, facts, peer_facts)


def understand_path(said: Mapping[str, str], facts: Facts | None, peer_facts: Facts | None) -> NetworkPath:
    """Return the path that the answers of the script tell of; words that are no addresses count as not told."""
    found = dict(re.findall(r"(?<=\s)(via|dev|src|mtu) (\S{1,48})(?!\S)", said.get("route", "")))
    gateway = _address(found.get("via"))
    told = bool(found.get("dev"))
    return NetworkPath(
        address=_address(said.get("address")),
        source=_address(found.get("src")),
        interface=word(found.get("dev"), 32) or "",
        gateway=gateway,
        on_link=(not gateway) if told else None,
        mtu=whole(found.get("mtu"), 1, 2**24) or whole(said.get("mtu"), 1, 2**24),
        same_host=_same_host(facts, peer_facts),
    )


def _address(text: str | None) -> str:
    try:
        return str(ipaddress.ip_address((text or "").partition("%")[0]))
    except ValueError:
        return ""


def _same_host(facts: Facts | None, peer_facts: Facts | None) -> bool | None:
    if facts is None or peer_facts is None:
        return None
    ours, theirs = known(facts.system.boot_id), known(peer_facts.system.boot_id)
    return None if ours is None or theirs is None else ours == theirs


def meet(session: Session) -> Meeting:
    """Return a port that nobody uses on the session's host, and a nonce; raise PortError where no port is free."""
    said = ask(session, SCRIPT, "ports", timeout=TIMEOUT)
    meeting = draw_meeting({int(port, 16) for port in re.findall(r"\b[0-9A-F]{4}\b", said.get("ports", ""))})
    if meeting is None:
        raise PortError(f"No port is free on {session.host}.", "Name a port.", host=session.host)
    return meeting
