"""Hosts in the JSON of ``ansible-inventory --list``, also with --export, and of scripts of dynamic inventories.

Source: Ansible, Developing dynamic inventory, and the connection variables of its ssh plugin.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from app.fleet.inventory_sources.found import (
    FoundInventory,
    StatedHost,
    chosen_address,
    first_of,
    found_inventory,
    groups_of,
    last_part,
    note_on,
    text_of,
)
from app.host_attributes import HostAttributes
from suites.strict_json import object_in

LONGEST_ARGUMENTS = 4000
"""Of the arguments of ssh, in characters."""

_OF_EVERY_HOST = frozenset({"all", "ungrouped"})
_CONNECTIONS = frozenset({"", "ssh", "smart", "paramiko", "paramiko_ssh", "libssh", "ansible.netcommon.libssh"})
_PASSWORD = re.compile(r"ansible_\w*pass(word|wd|phrase)?")
_ARGUMENTS = ("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args")
_PROXY = re.compile(r"(proxyjump|proxycommand)\s*[=\s]\s*(.*)", re.IGNORECASE | re.DOTALL)

_TYPE = ("instance_type", "ec2_instance_type", "virtual_machine_size", "server_type", "flavor")
_ZONE = ("availability_zone", "ec2_placement", "zone", "location", "region")
_IMAGE = ("image_id", "ec2_image_id", "image")
_LAUNCHED = ("launch_time", "ec2_launch_time", "creationTimestamp", "creation_timestamp")
_IDENTITY = ("instance_id", "ec2_id", "vmid", "id")
_PUBLIC = ("public_ip_address", "ec2_ip_address", "public_ip")
_PRIVATE = ("private_ip_address", "ec2_private_ip_address", "private_ip")


def ansible(content: Any, *, private: bool = False) -> FoundInventory:
    """Return the hosts with their groups, those of nested groups included; `all` and `ungrouped` are none.

    Passwords and ProxyCommand are left out, with a note.
    """
    tree = _Groups(content if isinstance(content, dict) else {})
    hosts, notes = [], defaultdict[str, list[str]](list)
    for name in tree.hosts:
        values = tree.variables(name)
        jump, refused = _jump(values)
        for what in refused:
            notes[what].append(name)
        if any(_PASSWORD.fullmatch(key) and value for key, value in values.items()):
            notes["Passwords are not stored"].append(name)
        hosts.append(_host(name, values, jump, tree.of(name), private=private))
    return found_inventory(hosts, [text for what, names in notes.items() for text in note_on(what, names)])


def _host(name: str, values: Mapping[str, Any], jump: str, groups: tuple[str, ...], *, private: bool) -> StatedHost:
    own = first_of(values, ("ansible_host", "ansible_ssh_host"))
    inner = chosen_address(first_of(values, _PUBLIC), first_of(values, _PRIVATE), prefer_private=private)
    connection = first_of(values, ("ansible_connection",))
    kind = first_of(values, _TYPE) or last_part(values.get("machineType"))
    zone = text_of(object_in(values, "placement").get("availability_zone")) or last_part(first_of(values, _ZONE))
    return StatedHost(
        name=name,
        address=(inner if private and inner else own) or name,
        port=first_of(values, ("ansible_port", "ansible_ssh_port")),
        user=first_of(values, ("ansible_user", "ansible_ssh_user")),
        identity_file=first_of(values, ("ansible_ssh_private_key_file", "ansible_private_key_file")),
        jump=jump,
        attributes=HostAttributes(
            instance_type=kind,
            zone=zone,
            image=first_of(values, _IMAGE),
            launched=first_of(values, _LAUNCHED),
            instance_id=first_of(values, _IDENTITY),
            groups=groups_of(*groups),
        ),
        problem="" if connection in _CONNECTIONS else f"ansible_connection is {connection[:40]}",
    )


def _jump(values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the jump host in the arguments of ssh, and what of them is left out."""
    jump, refused = "", []
    for key in _ARGUMENTS:
        try:
            words = shlex.split(str(values.get(key) or "")[:LONGEST_ARGUMENTS])
        except ValueError:
            refused.append(f"{key} cannot be read")
            continue
        for option, value in _options(words):
            found = _PROXY.fullmatch(value) if option == "-o" else None
            if option == "-J" or (found and found[1].lower() == "proxyjump"):
                jump = jump or (value if option == "-J" else found[2] if found else "")
            elif found:
                refused.append("ProxyCommand is left out, a jump host can replace it")
    return jump, list(dict.fromkeys(refused))


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield -J and -o of ssh(1) with their values, written together or as two words."""
    for at, word in enumerate(words):
        if word[:2] in {"-J", "-o"}:
            yield word[:2], word[2:] or (words[at + 1] if at + 1 < len(words) else "")


class _Groups:
    """The groups of an inventory, with the groups that contain them."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._own = object_in(object_in(content, "_meta"), "hostvars")
        self._groups = {name: _group(one) for name, one in content.items() if name != "_meta"}
        self._above: dict[str, list[str]] = defaultdict(list)
        self._direct: dict[str, list[str]] = defaultdict(list)
        for name, group in self._groups.items():
            for child in _texts(group, "children"):
                self._above[child].append(name)
            for host in _texts(group, "hosts"):
                self._direct[host].append(name)
        self.hosts = list(dict.fromkeys([*self._direct, *self._own]))
        """All hosts, in the order of the groups."""
        self._lineages: dict[tuple[str, ...], list[str]] = {}

    def of(self, host: str) -> tuple[str, ...]:
        """Return the groups of a host, the nearest first."""
        return tuple(name for name in self._lineage(host) if name not in _OF_EVERY_HOST)

    def variables(self, host: str) -> dict[str, Any]:
        """Return the variables of a host: its own, then those of its nearest group."""
        found: dict[str, Any] = dict(object_in(self._groups.get("all", {}), "vars"))
        for name in reversed(self._lineage(host)):
            found |= object_in(self._groups[name], "vars") if name in self._groups else {}
        return found | dict(object_in(self._own, host))

    def _lineage(self, host: str) -> list[str]:
        direct = tuple(self._direct.get(host, ()))
        if direct not in self._lineages:
            found = dict.fromkeys(direct)
            level = list(direct)
            while level:  # a circle ends it: each group is added once
                level = [name for one in level for name in self._above.get(one, ()) if name not in found]
                found |= dict.fromkeys(level)
            self._lineages[direct] = list(found)
        return self._lineages[direct]


def _group(one: Any) -> Mapping[str, Any]:
    """Return a group; a script may write a list of hosts only."""
    return one if isinstance(one, dict) else {"hosts": one}


def _texts(group: Mapping[str, Any], key: str) -> list[str]:
    found = group.get(key)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
