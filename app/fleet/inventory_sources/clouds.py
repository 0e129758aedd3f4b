"""Instances in the JSON of the CLIs of clouds.

Sources: EC2 API, DescribeInstances (Reservation, Instance); Compute Engine API, instances.list (Instance); Azure CLI,
az vm list --show-details (Virtual Machines REST API, and publicIps, privateIps, powerState of the CLI's own).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.fleet.inventory_sources.found import (
    NO_ADDRESS,
    FoundInventory,
    StatedHost,
    chosen_address,
    first_of,
    found_inventory,
    groups_of,
    last_part,
    text_of,
)
from app.host_attributes import HostAttributes
from suites.strict_json import object_in, objects_in

DEEPEST = 4
"""Levels of lists around the instances: ``--query 'Reservations[].Instances'`` has two."""


def objects_at(content: Any, depth: int = DEEPEST) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of nested lists."""
    if isinstance(content, dict):
        yield content
    elif isinstance(content, list) and depth:
        for one in content:
            yield from objects_at(one, depth - 1)


def aws(content: Any, *, private: bool = False) -> FoundInventory:
    """Return the instances of ``aws ec2 describe-instances``, whole or after --query."""
    more = any(one.get("NextToken") for one in objects_at(content))
    notes = ["More instances follow (NextToken): list all, without --max-items and --no-paginate."] if more else []
    return found_inventory((_aws_instance(one, private=private) for one in _aws_instances(content)), notes)


def _aws_instances(content: Any) -> Iterator[Mapping[str, Any]]:
    for one in objects_at(content):
        if "InstanceId" in one:
            yield one
        else:
            for reservation in [one, *objects_in(one, "Reservations")]:
                yield from objects_in(reservation, "Instances")


def _aws_instance(one: Mapping[str, Any], *, private: bool) -> StatedHost:
    kind, state = text_of(one.get("InstanceType")), text_of(object_in(one, "State").get("Name"))
    tags = {text_of(tag.get("Key")): text_of(tag.get("Value")) for tag in objects_in(one, "Tags")}
    public = first_of(one, ("PublicIpAddress", "PublicDnsName", "Ipv6Address"))
    identity = text_of(one.get("InstanceId"))
    return StatedHost(
        name=tags.get("Name", ""),
        fallback=identity,
        address=chosen_address(public, text_of(one.get("PrivateIpAddress")), prefer_private=private),
        attributes=HostAttributes(
            instance_type=kind,
            zone=text_of(object_in(one, "Placement").get("AvailabilityZone")),
            image=text_of(one.get("ImageId")),
            launched=text_of(one.get("LaunchTime")),
            instance_id=identity,
            groups=groups_of(kind),
        ),
        problem=_state(state, "running") or _windows(one.get("Platform")),
    )


def gcloud(content: Any, *, private: bool = False) -> FoundInventory:
    """Return the instances of ``gcloud compute instances list --format=json``."""
    return found_inventory(_gcloud_instance(one, private=private) for one in objects_at(content))


def _gcloud_instance(one: Mapping[str, Any], *, private: bool) -> StatedHost:
    kind, zone = last_part(one.get("machineType")), last_part(one.get("zone"))
    interface = next(iter(objects_in(one, "networkInterfaces")), {})
    access = [*objects_in(interface, "accessConfigs"), *objects_in(interface, "ipv6AccessConfigs")]
    public = next((text for each in access if (text := first_of(each, ("natIP", "externalIpv6")))), "")
    inner = first_of(interface, ("networkIP", "ipv6Address"))
    boot = next((disk for disk in objects_in(one, "disks") if disk.get("boot") is True), {})
    licences = boot.get("licenses")
    return StatedHost(
        name=text_of(one.get("name")),
        fallback=f"{text_of(one.get('name'))}-{zone}" if zone else text_of(one.get("id")),  # names are of a zone
        address=chosen_address(public, inner, prefer_private=private),
        attributes=HostAttributes(
            instance_type=kind,
            zone=zone,
            image=last_part(licences[0]) if isinstance(licences, list) and licences else "",
            launched=text_of(one.get("creationTimestamp")),
            instance_id=text_of(one.get("id")),
            groups=groups_of(kind),
        ),
        problem=_state(text_of(one.get("status")), "RUNNING"),
    )


def azure(content: Any, *, private: bool = False) -> FoundInventory:
    """Return the machines of ``az vm list --show-details``."""
    return found_inventory(_azure_machine(one, private=private) for one in objects_at(content))


def _azure_machine(one: Mapping[str, Any], *, private: bool) -> StatedHost:
    kind, location = text_of(object_in(one, "hardwareProfile").get("vmSize")), text_of(one.get("location"))
    storage = object_in(one, "storageProfile")
    image = object_in(storage, "imageReference")
    parts = [text_of(image.get(key)) for key in ("publisher", "offer", "sku")]
    version = first_of(image, ("exactVersion", "version"))
    zones = one.get("zones")
    zone = text_of(zones[0]) if isinstance(zones, list) and zones else ""
    public = _first_address(one, "publicIps") or _first_address(one, "fqdns")
    address = chosen_address(public, _first_address(one, "privateIps"), prefer_private=private)
    bare = not {"publicIps", "privateIps", "powerState"} & one.keys()
    unlisted = f"{NO_ADDRESS}: list the machines with az vm list --show-details" if bare else ""
    return StatedHost(
        name=text_of(one.get("name")),
        fallback=f"{text_of(one.get('name'))}-{text_of(one.get('resourceGroup'))}".strip("-"),
        address=address,
        user=text_of(object_in(one, "osProfile").get("adminUsername")),
        attributes=HostAttributes(
            instance_type=kind,
            zone=f"{location}-{zone}" if zone else location,
            image=":".join(filter(None, (*parts, version))) or last_part(image.get("id")),
            launched=text_of(one.get("timeCreated")),
            instance_id=text_of(one.get("vmId")),
            groups=groups_of(kind),
        ),
        problem=unlisted
        or _state(text_of(one.get("powerState")).removeprefix("VM "), "running")
        or _windows(object_in(storage, "osDisk").get("osType")),
    )


def _first_address(one: Mapping[str, Any], key: str) -> str:
    return text_of(one.get(key)).partition(",")[0].strip()


def _state(state: str, running: str) -> str:
    """Return the problem of an instance that does not run."""
    return "" if state == running else f"not running: {state.lower() or 'no state'}"


def _windows(system: Any) -> str:
    return "runs Windows" if text_of(system).casefold().startswith("windows") else ""
