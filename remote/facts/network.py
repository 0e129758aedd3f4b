"""Network interfaces."""

import ipaddress
import re
from collections.abc import Mapping

from remote.facts.items import Items
from remote.facts.values import tree, whole, word
from suites.facts import Absent, Interface

MOST_INTERFACES = 64
MOST_ADDRESSES = 32

NOMINAL = 10_000
"""Mbit/s that each end of a pair of virtual interfaces names (kernel, veth.c), whatever it carries."""

_BUILT_ON_OTHERS = re.compile(r"bond|team|vlan|br|[^.]+\.\d")
"""Names of interfaces without a driver that tell the speed of those below them."""


def interfaces(items: Items) -> tuple[Interface, ...]:
    """Return the interfaces by name."""
    found = tree(items.text("net"))
    drivers = dict(re.findall(r" (\S+)/device/driver -> \S*?([^/\s]+)$", items.text("net.drivers") or "", re.MULTILINE))
    addresses = _addresses(items.text("net.addresses"))
    return tuple(
        Interface(
            name=name,
            speed=_speed(name, found[name], driver=name in drivers),
            mtu=whole(found[name].get("mtu"), 1, 2**24) or Absent("/sys does not tell"),
            state=word(found[name].get("operstate"), 32) or Absent("/sys does not tell"),
            driver=word(drivers.get(name), 64) or Absent("a virtual interface without a driver"),
            addresses=addresses.get(name) or items.missing("net.addresses", "it has none"),
        )
        for name in sorted(found)[:MOST_INTERFACES]
        if word(name, 64) == name
    )


def _speed(name: str, found: Mapping[str, str], *, driver: bool) -> int | Absent:
    """Return bit/s; /sys has Mbit/s, and -1 or nothing where the driver does not know."""
    megabits = whole(found.get("speed"), 1, 10_000_000)
    if megabits == NOMINAL and not driver and not _BUILT_ON_OTHERS.match(name):
        return Absent("a virtual interface, which names 10 Gbit/s whatever it carries")
    if megabits is not None:
        return megabits * 1_000_000
    return Absent("the link is down" if found.get("operstate") == "down" else "the driver tells no speed")


def _addresses(text: str | None) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, address in re.findall(r"^[0-9]+:\s+([^\s@]+)\S*\s+inet6?\s+([0-9a-fA-F.:]+)", text or "", re.MULTILINE):
        try:
            valid = str(ipaddress.ip_address(address))
        except ValueError:
            continue
        found[name] = (*found.get(name, ()), valid)[:MOST_ADDRESSES]
    return found
