"""The inventory: attributes of hosts, and named groups of them, in a TOML file beside that of the saved hosts."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from app.host_attributes import HostAttributes
from app.natural_order import natural_key
from app.output import WriteError, write_whole
from app.user_texts import checked_text
from remote.local_file import FileStamp, parse_toml, read_file, stamp_of
from remote.locked_file import locked
from suites.errors import BenchwrightError
from suites.quantities import listed, quantity

T = TypeVar("T")

INVENTORY_FILE = "inventory.toml"
"""Its name, in the folder of the saved hosts."""

LARGEST = 2**24
"""Size limit of the file, in bytes: some 800 for each of MOST_HOSTS."""

MOST_HOSTS = 20_000
"""Limit of hosts in an inventory."""

MOST_GROUPS = 1000
"""Limit of named groups, of the patterns of one, and of the groups of a host."""

LONGEST_TEXT = 200
"""Of an attribute or a pattern, in characters."""

LONGEST_GROUP = 100
"""Of the name of a group, in characters."""

HIGHEST_PRICE = 1e9
"""Bound of a believable price of an hour, in any currency."""

MOST_LISTED = 8
"""Names in a message."""

_REMEDY = "Fix or move the file."

_GROUP = re.compile(r"[^\s\-!*?=:,][^\s!*?=:,]*")
"""A group's name: not to be confused with a pattern, KEY=VALUE or NAME:=WORD,WORD."""


class InventoryError(BenchwrightError):
    """The inventory cannot be read or written, has an invalid value, or a selection of hosts is wrong."""


_TEXTS = tuple(one.name for one in fields(HostAttributes) if one.type is str)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The attributes by host, and the patterns of host names by group."""

    attributes: Mapping[str, HostAttributes] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, host: str) -> HostAttributes:
        """Return the attributes of a host, empty ones if none are stated."""
        return self.attributes.get(host, HostAttributes())


def checked_group(name: str) -> str:
    """Return the name of a group; raise InventoryError for an invalid one."""
    if not name.isprintable() or len(name) > LONGEST_GROUP or _GROUP.fullmatch(name) is None:
        raise InventoryError(
            f"“{name[:60]}” is not the name of a group.", "Use a name without blanks, a leading dash and ! * ? = : ,"
        )
    return name


def checked_attributes(host: str, given: HostAttributes) -> HostAttributes:
    """Return the attributes with the time of launch in UTC; raise InventoryError for an invalid one, or host name."""
    if not host or " " in host or not host.isprintable() or len(host) > LONGEST_TEXT:
        raise InventoryError(f"“{host[:60]}” is not the name of a host.", "List the names: benchwright hosts")
    texts = {
        name: checked_text(f"The {name} of {host[:60]}", getattr(given, name), LONGEST_TEXT, InventoryError)
        for name in _TEXTS
    }
    price = given.price
    if price is not None and not (math.isfinite(price) and 0 < price <= HIGHEST_PRICE):
        raise InventoryError(f"The price of {host[:60]} is {price:g}.", "Give the price of an hour, such as 0.34.")
    if len(given.groups) > MOST_GROUPS:
        raise InventoryError(f"{host[:60]} has {len(given.groups)} groups.", f"The limit is {MOST_GROUPS}.")
    launched = launch_time(texts["launched"])
    if texts["launched"] and not launched:
        raise InventoryError(
            f"The launch time of {host[:60]} is “{texts['launched'][:60]}”.", "Write 2026-11-30T08:00:00Z, in ISO 8601."
        )
    groups = tuple(dict.fromkeys(map(checked_group, given.groups)))
    return HostAttributes(**{**texts, "launched": launched}, price=price, groups=groups)


def launch_time(text: str) -> str:
    """Return a time in ISO 8601 (without an offset: UTC) in UTC to the second; empty if it is none."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat(timespec="seconds")


class SavedInventory:
    """The inventory, in a TOML file that can be edited by hand. Other processes may change it.

    It has a table for each host, ``[hosts.web-1]``, and each group, ``[groups.web]`` with ``hosts``: patterns of host
    names as in ssh_config(5), excluded with a leading ``!``. Its methods raise InventoryError for a damaged file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Inventory:
        """Return all of the inventory; empty without a file."""
        try:
            return read_file(self._path, LARGEST, InventoryError, _REMEDY, _inventory)
        except InventoryError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return Inventory()
            raise

    def stamp(self) -> FileStamp | None:
        """Return the stamp of the file, None without one."""
        return stamp_of(self._path)

    def attributes(self) -> Mapping[str, HostAttributes]:
        """Return the attributes by host."""
        return self.read().attributes

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the patterns of each named group."""
        return self.read().groups

    def put(self, attributes: Mapping[str, HostAttributes]) -> None:
        """Store the attributes of hosts in place of what is stated about them. Nothing is changed if one is invalid."""
        checked = {host: checked_attributes(host, one) for host, one in attributes.items()}
        with self._changed() as (hosts, _groups):
            hosts.update(checked)

    def forget(self, host: str) -> HostAttributes:
        """Delete the attributes of a host, and return them."""
        with self._changed() as (hosts, _groups):
            return hosts.pop(host, HostAttributes())

    def move(self, old: str, new: str) -> None:
        """Give the attributes of a host that was renamed to its new name, also where a group has the old one."""
        with self._changed() as (hosts, groups):
            if old in hosts:
                hosts[new] = hosts.pop(old)
            for name, patterns in groups.items():
                groups[name] = tuple(new if one == old else one for one in patterns)

    def put_back(self, host: str, attributes: HostAttributes) -> None:
        """Store attributes that forget() returned, unless others are stated by now."""
        with self._changed() as (hosts, _groups):
            hosts.setdefault(host, attributes)

    def put_group(self, name: str, patterns: Sequence[str]) -> None:
        """Store a group with the patterns of its hosts, in place of one of this name."""
        checked = _checked_patterns(checked_group(name), patterns)
        with self._changed() as (_hosts, groups):
            groups[name] = checked

    def remove_group(self, name: str) -> None:
        """Delete a named group; its hosts stay. Raise InventoryError if there is none of this name."""
        with self._changed() as (_hosts, groups):
            if groups.pop(name, None) is None:
                known = listed(sorted(groups, key=natural_key), MOST_LISTED) or "none"
                raise InventoryError(f"No named group is “{name[:60]}”.", f"Named groups: {known}.")

    @contextmanager
    def _changed(self) -> Iterator[tuple[dict[str, HostAttributes], dict[str, tuple[str, ...]]]]:
        """Yield hosts and groups for a change that no other process interleaves; then write them, if they changed."""
        try:
            with locked(self._path):
                before = self.read()
                hosts, groups = dict(before.attributes), dict(before.groups)
                yield hosts, groups
                if (hosts, groups) != (before.attributes, before.groups):
                    self._write(hosts, groups)
        except OSError as error:
            reason = "another process holds it" if isinstance(error, BlockingIOError) else error.strerror
            remedy = "Check its permissions, or try again."
            raise InventoryError(f"{self._path} was not changed: {reason}.", remedy) from error

    def _write(self, hosts: Mapping[str, HostAttributes], groups: Mapping[str, tuple[str, ...]]) -> None:
        if len(hosts) > MOST_HOSTS or len(groups) > MOST_GROUPS:
            raise InventoryError(
                f"{len(hosts):,} hosts and {len(groups):,} groups are too many.",
                f"The limits are {MOST_HOSTS:,} and {MOST_GROUPS:,}.",
            )
        tables = [*_tables("hosts", hosts, _stated), *_tables("groups", groups, lambda patterns: {"hosts": patterns})]
        content = "\n".join(tables).encode()
        if len(content) > LARGEST:
            raise InventoryError(
                f"The inventory exceeds {quantity(LARGEST)}: nothing was stored.", "Store fewer hosts."
            )
        try:
            write_whole(self._path, content, private=True)
        except WriteError as error:
            raise InventoryError(f"Cannot save the inventory: {error.message}", error.remedy) from error


def _stated(attributes: HostAttributes) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(attributes).items() if value not in {"", None, ()}}


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _tables(above: str, content: Mapping[str, T], values: Callable[[T], Mapping[str, Any]]) -> Iterator[str]:
    """Yield a TOML table for each entry. tomlkit would take 10 s for MOST_HOSTS, in which no other process may write.

    The texts have no control characters, so that a basic string of TOML is written as one of JSON.
    """
    for name in sorted(content, key=natural_key):
        key = name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values(content[name]).items()]
        if lines:
            yield "\n".join([f"[{above}.{key}]", *lines, ""])


def _checked_patterns(name: str, patterns: Sequence[str]) -> tuple[str, ...]:
    if not patterns or len(patterns) > MOST_GROUPS:
        raise InventoryError(f"The group {name} has {len(patterns)} patterns.", f"Give 1 to {MOST_GROUPS}.")
    for one in patterns:
        if not one.removeprefix("!") or len(one) > LONGEST_TEXT or not one.isprintable() or " " in one:
            raise InventoryError(f"“{one[:60]}” is not a pattern of host names.", "Write web-*, for example.")
    if all(one.startswith("!") for one in patterns):
        raise InventoryError(f"The group {name} only excludes hosts.", "Add a pattern without !, such as *.")
    return tuple(dict.fromkeys(patterns))


def _inventory(text: str) -> Inventory:
    content = parse_toml(text, InventoryError, _REMEDY)
    if unknown := content.keys() - {"hosts", "groups"}:
        raise InventoryError(f"“{min(unknown)[:60]}” is neither hosts nor groups.", _REMEDY)
    hosts, groups = (content.get(name, {}) for name in ("hosts", "groups"))
    if not isinstance(hosts, dict) or not isinstance(groups, dict):
        raise InventoryError("hosts or groups is not a table.", _REMEDY)
    if len(hosts) > MOST_HOSTS or len(groups) > MOST_GROUPS:
        raise InventoryError(f"more than {MOST_HOSTS:,} hosts or {MOST_GROUPS:,} groups.", _REMEDY)
    try:
        return Inventory(
            {host: _attributes(host, table) for host, table in hosts.items()},
            {checked_group(name): _patterns(name, table) for name, table in groups.items()},
        )
    except InventoryError as error:
        raise InventoryError(error.message, _REMEDY) from error


def _attributes(host: str, table: Any) -> HostAttributes:
    if not isinstance(table, dict):
        raise InventoryError(f"hosts.{host[:60]} is not a table.", _REMEDY)
    for key, value in table.items():
        known = {"price": int | float, "groups": list, **dict.fromkeys(_TEXTS, str)}
        if not isinstance(value, known.get(key, ())) or isinstance(value, bool):
            raise InventoryError(f"hosts.{host[:60]}.{key[:60]} is {str(value)[:60]!r}.", _REMEDY)
    groups = _texts(f"hosts.{host[:60]}.groups", table.get("groups", []))
    return checked_attributes(host, HostAttributes(**{**table, "groups": groups}))


def _patterns(name: str, table: Any) -> tuple[str, ...]:
    if not isinstance(table, dict) or table.keys() != {"hosts"}:
        raise InventoryError(f"groups.{name[:60]} is not a table with hosts.", _REMEDY)
    return _checked_patterns(name, _texts(f"groups.{name[:60]}.hosts", table["hosts"]))


def _texts(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InventoryError(f"{where} is not a list of texts.", _REMEDY)
    return tuple(value)
