"""Hosts found in a source: valid names, addresses and texts, or the reason why a host is skipped."""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from app.fleet.inventory import LONGEST_GROUP, LONGEST_TEXT, InventoryError, checked_attributes
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL
from remote.ssh.destination import is_port
from suites.quantities import listed

LONGEST_ADDRESS = 255
"""The limit of DNS names."""

MOST_NAMED = 5
"""Hosts that a note names."""

NO_ADDRESS = "no address"

_ADDRESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+){3}")
"""What looks like an IPv4 address."""

_NAME = re.compile(r"[^\s\-!*?=:,/\"'\\][^\s!*?=:,/\"'\\]*")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]*\$?")
_JUMP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:,%\[\]-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedHost:
    """A host as a source states it. `fallback` names it if `name` is empty, invalid or that of several hosts.

    `problem` is why it is skipped.
    """

    name: str
    fallback: str = ""
    address: str = ""
    port: object = None
    user: str = ""
    identity_file: str = ""
    jump: str = ""
    attributes: HostAttributes = field(default_factory=HostAttributes)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FoundHost:
    """A host of a source that can be saved, or `problem`: why it is skipped. `note` names it as the source does."""

    entry: HostEntry
    attributes: HostAttributes
    problem: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class FoundInventory:
    """The hosts of a source in its order, and notes on what was left out."""

    hosts: tuple[FoundHost, ...]
    notes: tuple[str, ...] = ()


def found_inventory(stated: Iterable[StatedHost], notes: Iterable[str] = ()) -> FoundInventory:
    """Return the hosts with valid names; the names of several are numbered. A second one of an address is skipped."""
    stated = list(stated)
    used = Counter(one.name for one in stated if not one.problem)
    names: set[str] = {LOCAL}
    reached: dict[tuple[object, ...], str] = {}
    hosts = []
    for one in stated:
        usable = is_name(one.name) and (used[one.name] <= 1 or not one.fallback)
        name = one.name if usable else valid_name(one.fallback or one.name)
        found = _found(one, name)
        if not found.problem and (earlier := reached.get(reached_by(found.entry))):
            found = replace(found, problem=f"same address as {earlier[:60]}")
        if not found.problem:
            found = _named(found, _free(name, names), text_of(one.name))
            names.add(found.entry.name)
            reached[reached_by(found.entry)] = found.entry.name
        hosts.append(_without_own_name(found))
    return FoundInventory(tuple(hosts), tuple(notes))


def _found(stated: StatedHost, name: str) -> FoundHost:
    entry, problem = HostEntry(name, host_name=stated.address or None), stated.problem
    port = str(stated.port) if stated.port not in {None, ""} else ""
    faults = {
        NO_ADDRESS: not stated.address,
        f"“{stated.address[:60]}” is not an address": not is_address(stated.address),
        f"“{port[:20]}” is not a port": bool(port) and not is_port(port),
    }
    stated_faults = _faults(stated.user, stated.identity_file, stated.jump)
    problem = problem or next((text for text, wrong in faults.items() if wrong), next(stated_faults, ""))
    attributes = stated.attributes
    try:
        attributes = checked_attributes(name, attributes)
    except InventoryError as error:
        problem = problem or error.message.rstrip(".")
    if not problem:
        entry = replace(
            entry,
            port=int(port) if port and int(port) != SSH_PORT else None,
            user=stated.user or None,
            identity_file=stated.identity_file or None,
            jump=stated.jump or None,
        )
    return FoundHost(entry, attributes, problem)


SSH_PORT = 22


def reached_by(entry: HostEntry) -> tuple[object, ...]:
    """Return the address, port and jump hosts of a host: two hosts with the same are one machine."""
    return (entry.host_name or entry.name).casefold(), entry.port, entry.jump


def _named(found: FoundHost, name: str, stated: str) -> FoundHost:
    note = f"named “{stated[:60]}” in the file" if stated and stated != name else ""
    return replace(found, entry=replace(found.entry, name=name), note=note)


def check_connection(user: str | None, identity_file: str | None, jump: str | None) -> None:
    """Raise InventoryError for an account, a key file or a jump host that no host may have."""
    problem = next(_faults(user or "", identity_file or "", jump or ""), None)
    if problem is not None:
        raise InventoryError(f"{problem[0].upper()}{problem[1:]}.", "Correct the option.")


def _faults(user: str, identity_file: str, jump: str) -> Iterator[str]:
    if user and not _USER.fullmatch(user):
        yield f"“{user[:60]}” is not a user name"
    if jump and not _JUMP.fullmatch(jump):
        yield f"“{jump[:60]}” is not a jump host"
    if not identity_file.isprintable():
        yield "the name of the key file has control characters"


def _without_own_name(found: FoundHost) -> FoundHost:
    """Return a host without an address that is its name."""
    same = found.entry.host_name == found.entry.name
    return replace(found, entry=replace(found.entry, host_name=None)) if same else found


def _free(name: str, names: set[str]) -> str:
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a host: not confused with an option, a pattern or KEY=VALUE."""
    return len(text) <= LONGEST_TEXT and text.isprintable() and _NAME.fullmatch(text) is not None and text != LOCAL


def valid_name(text: str) -> str:
    """Return a text as the name of a host, with a dash for what it must not have."""
    shown = "".join(character if character.isprintable() else "-" for character in text[:LONGEST_TEXT])
    return re.sub(r"[\s!*?=:,/\"'\\]+", "-", shown).strip("-") or "host"


def is_address(text: str) -> bool:
    """Return whether a text is an IP address or a host name."""
    if len(text) > LONGEST_ADDRESS:
        return False
    return is_ip_address(text) or (_ADDRESS.fullmatch(text) is not None and not _NUMBERS.fullmatch(text))


def is_ip_address(text: str) -> bool:
    """Return whether a text is an IPv4 or IPv6 address."""
    with suppress(ValueError):
        ipaddress.ip_address(text)
        return text.isascii()
    return False


def text_of(value: Any) -> str:
    """Return a text, number or whole number as a printable text of at most LONGEST_TEXT; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return "".join(filter(str.isprintable, str(value)))[:LONGEST_TEXT].strip()


def last_part(value: Any) -> str:
    """Return the last part of a URL: ``e2-small`` of ``https://…/machineTypes/e2-small``."""
    return text_of(value.rpartition("/")[2]) if isinstance(value, str) else text_of(value)


def groups_of(*texts: str) -> tuple[str, ...]:
    """Return the texts as names of groups; empty ones are left out."""
    return tuple(dict.fromkeys(valid_name(text)[:LONGEST_GROUP] for text in texts if text))


def chosen_address(public: str, private: str, *, prefer_private: bool) -> str:
    """Return the public address, else the private one; with `prefer_private` the other way round."""
    return (private or public) if prefer_private else (public or private)


def note_on(what: str, hosts: Sequence[str]) -> list[str]:
    """Return a note on what was left out of hosts; none without hosts."""
    return [f"{what}: {listed(hosts, MOST_NAMED)}."] if hosts else []


def first_of(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the first text of some keys, empty if there is none."""
    return next((text for key in keys if (text := text_of(values.get(key)))), "")
