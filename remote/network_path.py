"""Network path from one host to another, and a free port for a server."""

import ipaddress
import re
from collections.abc import Mapping

from remote.errors import RemoteError
from remote.facts.items import text_line, whole
from remote.script import query_script
from remote.session import Session
from suites.facts import Facts, known
from suites.network_path import NetworkPath, Rendezvous, draw_meeting

SCRIPT = "path.sh"

TIMEOUT = 10.0
"""Seconds; the resolver's own timeout is 5 s (resolv.conf(5))."""


class PortError(RemoteError):
    """No free port was found for a server."""


def read_path(session: Session, address: str, facts: Facts | None, peer_facts: Facts | None) -> NetworkPath:
    """Return the path from the session's host to `address`; values that it does not report stay unknown."""
    reply = query_script(session, SCRIPT, "path", address, timeout=TIMEOUT)
    return understand_path(reply, facts, peer_facts)


def understand_path(reply: Mapping[str, str], facts: Facts | None, peer_facts: Facts | None) -> NetworkPath:
    """Parse the script's reply; values that are no addresses count as unknown."""
    found = dict(re.findall(r"(?<=\s)(via|dev|src|mtu) (\S{1,48})(?!\S)", reply.get("route", "")))
    gateway = _address(found.get("via"))
    has_route = bool(found.get("dev"))
    return NetworkPath(
        address=_address(reply.get("address")),
        source=_address(found.get("src")),
        interface=text_line(found.get("dev"), 32) or "",
        gateway=gateway,
        on_link=(not gateway) if has_route else None,
        mtu=whole(found.get("mtu"), 1, 2**24) or whole(reply.get("mtu"), 1, 2**24),
        carried=whole(reply.get("carried"), 1, 2**24),
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
    own, peer = known(facts.system.boot_id), known(peer_facts.system.boot_id)
    return None if own is None or peer is None else own == peer


def meet(session: Session) -> Rendezvous:
    """Return a free port on the session's host, and a nonce; raise PortError if no port is free."""
    reply = query_script(session, SCRIPT, "ports", timeout=TIMEOUT)
    meeting = draw_meeting({int(port, 16) for port in re.findall(r"\b[0-9A-F]{4}\b", reply.get("ports", ""))})
    if meeting is None:
        raise PortError(f"No free port on {session.host}.", "Set the port.", host=session.host)
    return meeting
