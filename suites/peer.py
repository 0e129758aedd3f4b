"""The other end of a network test: its parameters, its address and its port, as words of a command."""

import re

from suites.base import Context, Effect, EffectKind
from suites.parameters import Parameter, Type, Values

ADDRESS_PATTERN = r"[A-Za-z0-9:][A-Za-z0-9.:%_-]{0,252}"
"""A host name or an IPv4 or IPv6 address; never an option, never anything a shell would take apart."""

ADDRESS = Parameter(
    name="address",
    title="Address of the peer",
    type=Type.TEXT,
    default="",
    help="A host name or address at which the host reaches the peer; empty, and Benchwright finds it.",
    option="-c",
    pattern=ADDRESS_PATTERN,
    identity=False,
)


def peer_address(values: Values, context: Context) -> str:
    """Return the address the client connects to, or a placeholder where none is known."""
    for candidate in (str(values["address"]), context.peer_address or ""):
        if re.fullmatch(ADDRESS_PATTERN, candidate):
            return candidate
    return f"<address of {context.peer_facts.host if context.peer_facts else 'the peer'}>"


def address_effects(values: Values) -> tuple[Effect, ...]:
    """Return the address that is tested where the step names one: the traffic goes there, whoever it belongs to."""
    address = str(values["address"])
    return (Effect(EffectKind.SENDS, address, ADDRESS.title),) if address else ()


def port_word(values: Values, context: Context) -> str:
    """Return the port both ends use: the one given, else the one that was found free, else a placeholder."""
    if values["port"]:
        return str(values["port"])
    return "<a free port>" if context.meeting is None else str(context.meeting.port)
