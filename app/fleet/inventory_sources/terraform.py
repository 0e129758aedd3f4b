"""Hosts in ``terraform output -json``: addresses, lists and maps of them, and whole resources; and in a state.

Sources: Terraform, Command: output, and JSON Output Format (values representation) of ``terraform show -json``. The
attributes are those of aws_instance, google_compute_instance, azurerm_linux_virtual_machine, digitalocean_droplet,
hcloud_server and openstack_compute_instance_v2.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.fleet.inventory_sources.found import (
    NO_ADDRESS,
    FoundInventory,
    StatedHost,
    chosen_address,
    first_of,
    found_inventory,
    groups_of,
    is_address,
    is_ip_address,
    last_part,
    note_on,
    text_of,
    valid_name,
)
from app.host_attributes import HostAttributes
from suites.strict_json import object_in, objects_in

MACHINES = frozenset(
    {
        "aws_instance",
        "aws_spot_instance_request",
        "azurerm_linux_virtual_machine",
        "azurerm_virtual_machine",
        "digitalocean_droplet",
        "google_compute_instance",
        "hcloud_server",
        "linode_instance",
        "openstack_compute_instance_v2",
        "scaleway_instance_server",
        "vultr_instance",
    }
)
"""The resources of a state that are hosts; others, such as databases, have addresses, too."""

DEEPEST = 6
"""Levels of lists and maps in a value that are searched."""

_PUBLIC = ("public_ip", "public_ip_address", "ipv4_address", "public_dns", "fqdn", "public_dns_name", "access_ip_v4")
_PRIVATE = ("private_ip", "private_ip_address", "ipv4_address_private", "private_dns", "network_ip")
_EITHER = ("address", "ip", "ip_address", "host", "host_name", "hostname")
_TYPE = ("instance_type", "machine_type", "size", "vm_size", "server_type", "flavor_name", "type")
_ZONE = ("availability_zone", "zone", "location", "region")
_IMAGE = ("ami", "image", "image_name", "source_image")
_LAUNCHED = ("launch_time", "creation_timestamp", "created_at", "created")
_NAME = ("name", "hostname", "host_name", "id")

_OF_ADDRESS = re.compile(
    r"ip|ips|ipv4|ipv6|dns|fqdns?|host|hosts|hostnames?|address|addresses|servers?|nodes?|instances?"
)
"""Words in the name of an output whose texts are addresses even if they are host names."""


@dataclass(frozen=True, slots=True)
class _Output:
    """An output, or a part of one with its name."""

    name: str
    value: Any
    group: str
    depth: int = DEEPEST

    @property
    def words(self) -> set[str]:
        """The words of the output's name."""
        return set(re.split(r"[^a-z0-9]+", self.group.casefold()))

    def part(self, name: str, value: Any) -> "_Output":
        """Return a part of the value."""
        return replace(self, name=name, value=value, depth=self.depth - 1)


def terraform(content: Any, *, private: bool = False) -> FoundInventory:
    """Return the hosts in the outputs. Those marked sensitive are left out, and outputs of the addresses not wanted."""
    if isinstance(content, dict) and "terraform_version" in content:
        root = object_in(object_in(content, "values"), "root_module")
        return found_inventory(_without_repetition(list(_machines(root, private=private))))
    outputs = {name: one for name, one in content.items() if isinstance(one, dict)} if isinstance(content, dict) else {}
    hidden = [name for name, one in outputs.items() if one.get("sensitive") is not False]
    shown = [_Output(name, one.get("value"), name) for name, one in outputs.items() if name not in hidden]
    found = {one.group: list(_hosts(one, private=private)) for one in shown}
    without = [name for name, hosts in found.items() if not hosts]
    other = _of_other_addresses([one for one in shown if found[one.group]], private=private)
    wanted = [host for name, hosts in found.items() if name not in other for host in hosts]
    wanted.sort(key=lambda one: not one.attributes.instance_type)  # a resource before its bare address
    notes = [
        *note_on("Sensitive outputs were left out", hidden),
        *note_on("Outputs without an address", without),
        *note_on(f"Outputs with {'public' if private else 'private'} addresses were left out", sorted(other)),
    ]
    return found_inventory(_without_repetition(wanted), notes)


def _machines(module: Mapping[str, Any], depth: int = DEEPEST, *, private: bool) -> Iterator[StatedHost]:
    """Yield the hosts of a module of a state and of its child modules; the group is the name of the resource."""
    for one in objects_in(module, "resources"):
        if one.get("type") in MACHINES and one.get("mode") != "data":
            name, index = text_of(one.get("name")), text_of(one.get("index"))
            output = _Output("-".join(filter(None, (name, index))), {}, name)
            values = object_in(one, "values")
            yield _resource(output, values, private=private) or StatedHost(name=output.name, problem=NO_ADDRESS)
    if depth:
        for child in objects_in(module, "child_modules"):
            yield from _machines(child, depth - 1, private=private)


def _of_other_addresses(outputs: list[_Output], *, private: bool) -> set[str]:
    """Return the outputs of private addresses, with `private` of public ones, if there are any of the wanted ones."""
    kinds = {kind: {one.group for one in outputs if kind in one.words} for kind in ("private", "public")}
    wanted, other = ("private", "public") if private else ("public", "private")
    return kinds[other] if kinds[wanted] else set()


def _without_repetition(hosts: list[StatedHost]) -> Iterator[StatedHost]:
    """Yield the hosts; those with the address of an earlier one have that as a problem."""
    names: dict[str, str] = {}
    for one in hosts:
        earlier = names.setdefault(one.address, one.name)
        repeated = earlier if names[one.address] is not one.name else ""
        yield replace(one, problem=f"same address as {repeated[:60]}") if repeated else one


def _hosts(output: _Output, *, private: bool) -> Iterator[StatedHost]:
    value = output.value
    if output.depth < 0:
        return
    if isinstance(value, str):
        if _is_host(value, output):
            yield StatedHost(name=output.name, address=value, attributes=HostAttributes(groups=groups_of(output.group)))
    elif isinstance(value, list):
        for number, one in enumerate(value, 1):
            yield from _hosts(output.part(f"{output.name}-{number}", one), private=private)
    elif isinstance(value, dict):
        resource = _resource(output, value, private=private)
        if resource is not None:
            yield resource
        else:
            for key, one in value.items():
                yield from _hosts(output.part(key, one), private=private)


def _is_host(text: str, output: _Output) -> bool:
    named = any(_OF_ADDRESS.fullmatch(word) for word in output.words)
    return is_ip_address(text) or (named and "." in text and is_address(text))


def _resource(output: _Output, value: Mapping[str, Any], *, private: bool) -> StatedHost | None:
    """Return the host that a map describes; None if it has no address."""
    public, inner = _addresses(value)
    address = chosen_address(public, inner, prefer_private=private) or first_of(value, _EITHER)
    if not is_address(address):
        return None
    identity = first_of(value, ("instance_id", "id"))
    tags = object_in(value, "tags")
    kind = last_part(first_of(value, _TYPE))
    return StatedHost(
        name=text_of(tags.get("Name")) or first_of(value, _NAME) or output.name,
        fallback=last_part(identity) or valid_name(output.name),
        address=address,
        port=first_of(value, ("port", "ssh_port")),
        user=first_of(value, ("user", "ssh_user", "admin_username")),
        attributes=HostAttributes(
            instance_type=kind,
            zone=last_part(first_of(value, _ZONE)),
            image=last_part(first_of(value, _IMAGE)),
            launched=first_of(value, _LAUNCHED),
            instance_id=last_part(identity),
            groups=groups_of(output.group),
        ),
    )


def _addresses(value: Mapping[str, Any]) -> tuple[str, str]:
    """Return the public and the private address of a resource, also of its first network interface."""
    interface = next(iter(objects_in(value, "network_interface")), {})
    access = next(iter(objects_in(interface, "access_config")), {})
    public = first_of(value, _PUBLIC) or first_of(access, ("nat_ip",))
    return public, first_of(value, _PRIVATE) or first_of(interface, ("network_ip",))
