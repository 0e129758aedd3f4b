"""Selection of hosts by group, name, pattern or attribute, as groups for a comparison."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from app.fleet.inventory import MOST_LISTED, Inventory, InventoryError, checked_group
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry
from app.natural_order import natural_key
from app.plans.plan import LOCAL
from remote.ssh.ssh_config import matches, matches_list

SINGLE_HOSTS = "hosts"
"""The group of the hosts that are named one by one."""

ATTRIBUTES: Mapping[str, Callable[[HostAttributes], str]] = MappingProxyType({
    "type": lambda one: one.instance_type,
    "zone": lambda one: one.zone,
    "image": lambda one: one.image,
    "storage": lambda one: one.storage,
    "link": lambda one: one.link,
    "id": lambda one: one.instance_id,
})  # fmt: skip
"""The attributes of KEY=VALUE and by=KEY."""

_BY = "by"
_NAMED = ":="
_PATTERN = str.maketrans("*?=", "xxx")
"""Characters of a word that selects hosts; a study names a group by its word."""


def selected(words: Sequence[str], entries: Iterable[HostEntry], inventory: Inventory) -> Mapping[str, tuple[str, ...]]:
    """Return the hosts of each selected group, both in natural order.

    A word is a group, a host, a pattern of host names (``*`` and ``?``; of this computer, its name only) or KEY=VALUE
    of ATTRIBUTES, whose value may be a pattern. ``group=NAME`` and ``host=NAME`` are for a name that both have.
    ``NAME:=WORD,WORD`` names a group, also by a pattern, as an earlier study did; ``by=KEY`` makes one of each value.
    Hosts named one by one are SINGLE_HOSTS. Raises InventoryError for a word that selects nothing, and for a host in
    two groups.
    """
    keys = [word.removeprefix(f"{_BY}=") for word in words if word.startswith(f"{_BY}=")]
    others = [word for word in words if not word.startswith(f"{_BY}=")]
    choice = _Choice([entry.name for entry in entries], inventory)
    if not others:
        raise InventoryError("No hosts are selected.", "Name a group, a host, a pattern, or KEY=VALUE of an attribute.")
    if keys:
        return _split(keys, others, choice)
    groups: dict[str, list[str]] = {}
    for word in others:
        name, hosts = _group(word, choice)
        groups.setdefault(name, []).extend(hosts)
    found = {name: _ordered(hosts) for name, hosts in groups.items()}
    _refuse_shared(found)
    return found


def selected_once(words: Iterable[str], entries: Iterable[HostEntry], inventory: Inventory) -> tuple[str, ...]:
    """Return the hosts that words without by=KEY select, each once, also if several select it."""
    choice = _Choice([entry.name for entry in entries], inventory)
    return _ordered(host for word in words for host in _group(word, choice)[1])


def _group(word: str, choice: "_Choice") -> tuple[str, list[str]]:
    """Return the name and the hosts of the group that a word makes."""
    name, mark, parts = word.partition(_NAMED)
    if mark:
        checked_group(name.translate(_PATTERN))
        return name, [host for part in parts.split(",") for host in choice.hosts(part.strip())]
    hosts = choice.hosts(word)
    return (SINGLE_HOSTS if choice.is_host(word) else word), hosts


def _split(keys: Sequence[str], words: Sequence[str], choice: "_Choice") -> Mapping[str, tuple[str, ...]]:
    """Return a group for each value of an attribute of the selected hosts; those without one are ``no KEY``."""
    key = keys[0]
    if len(keys) > 1 or key not in ATTRIBUTES:
        fault = "Hosts are grouped by one attribute" if len(keys) > 1 else f"“{key[:40]}” is not an attribute"
        raise InventoryError(f"{fault}.", f"Write {_BY}=KEY once; KEY is one of {_keys()}.")
    if named := next((word for word in words if _NAMED in word), None):
        raise InventoryError(f"“{named[:60]}” names a group that {_BY}={key} splits.", "Use one of them.")
    groups: dict[str, list[str]] = {}
    for host in _ordered(host for word in words for host in choice.hosts(word)):
        groups.setdefault(choice.value(host, key) or f"no {key}", []).append(host)
    return {name: tuple(groups[name]) for name in sorted(groups, key=natural_key)}


def _keys() -> str:
    return ", ".join(ATTRIBUTES)


def _ordered(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(hosts), key=natural_key))


def _refuse_shared(groups: Mapping[str, Sequence[str]]) -> None:
    seen: dict[str, str] = {}
    for name, hosts in groups.items():
        for host in hosts:
            if host in seen:
                raise InventoryError(
                    f"{host} is in two groups, {seen[host]} and {name}.",
                    "Select it once: a named group leaves it out with a pattern such as !NAME.",
                )
            seen[host] = name


def all_groups(names: Iterable[str], inventory: Inventory) -> dict[str, list[str]]:
    """Return the groups of the attributes of hosts and those of patterns, in natural order, with their hosts."""
    groups: dict[str, dict[str, None]] = {}
    hosts = _ordered(names)
    for host in hosts:
        for group in inventory.of(host).groups:
            groups.setdefault(group, {})[host] = None
    for group, patterns in inventory.groups.items():
        groups.setdefault(group, {}).update((host, None) for host in hosts if _in_list(patterns, host))
    return {group: list(_ordered(groups[group])) for group in _ordered(groups)}


def members_of(groups: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the groups of each host."""
    found: dict[str, list[str]] = {}
    for group, hosts in groups.items():
        for host in hosts:
            found.setdefault(host, []).append(group)
    return found


class _Choice:
    """The hosts that can be selected, with their attributes and groups."""

    def __init__(self, names: Sequence[str], inventory: Inventory) -> None:
        self._names = dict.fromkeys(names)
        self._inventory = inventory
        self._groups = all_groups(names, inventory)

    def is_host(self, word: str) -> bool:
        """Return whether a word is the name of one host."""
        return word.removeprefix("host=") in self._names

    def value(self, host: str, key: str) -> str:
        """Return the value of an attribute of a host, empty if it is not stated."""
        return ATTRIBUTES[key](self._inventory.of(host))

    def hosts(self, word: str) -> list[str]:
        """Return the hosts that a word selects; raise InventoryError for none, and a name of a host and a group."""
        key, mark, value = word.partition("=")
        if mark and key in ATTRIBUTES:
            found = [host for host in self._names if (own := self.value(host, key)) and matches(value, own)]
            return found or self._refuse(word, f"{key}=", {self.value(host, key) for host in self._names} - {""})
        if mark and key in {"group", "host"}:
            known: Collection[str] = self._groups if key == "group" else self._names
            if value not in known:
                self._refuse(word, f"{key}=", known)
            return self._members(value) if key == "group" else [value]
        if mark:
            raise InventoryError(f"“{key[:40]}” is not an attribute.", f"Attributes: {_keys()}.")
        return self._named(word)

    def _named(self, word: str) -> list[str]:
        if word in self._names and word in self._groups and self._groups[word] != [word]:
            raise InventoryError(f"“{word}” is a host and a group.", f"Write host={word} or group={word}.")
        if word in self._names:
            return [word]
        if word in self._groups:
            return self._members(word)
        found = [host for host in self._names if _in_list([word], host)] if set(word) & set("*?") else []
        return found or self._refuse(word, "", [*self._groups, *self._names])

    def _members(self, group: str) -> list[str]:
        if not self._groups[group]:
            patterns = " ".join(self._inventory.groups.get(group, ()))
            raise InventoryError(f"The group {group} has no host: no name matches {patterns[:200]}.", _LIST)
        return self._groups[group]

    @staticmethod
    def _refuse(word: str, prefix: str, known: Collection[str]) -> list[str]:
        """Raise InventoryError with the names that are like a word."""
        like = difflib.get_close_matches(word.removeprefix(prefix), sorted(known)[:MOST_COMPARED], 3)
        if not like and prefix and len(known) <= MOST_LISTED:
            like = sorted(known, key=natural_key)
        remedy = f"Did you mean {' or '.join(f'{prefix}{one}' for one in like)}?" if like else _LIST
        raise InventoryError(f"No host is selected by “{word[:60]}”.", remedy)


MOST_COMPARED = 5000
"""Names compared with a word that selects nothing: some 10 µs each."""

_LIST = "List the hosts with their groups: benchwright inventory"


def _in_list(patterns: Iterable[str], host: str) -> bool:
    """Return whether patterns include a host; this computer only by its name."""
    found = matches_list(patterns, host)
    return found and (host != LOCAL or LOCAL in patterns)
