"""The public JSON of the inventory and of imports into it."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from app.fleet.host_selection import all_groups, members_of
from app.fleet.inventory import Inventory
from app.fleet.inventory_import import ImportAction, ImportedHost, ImportPreview
from app.fleet.inventory_sources.sources import Source
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry, Origin
from app.json_converter import Json, published

FORMAT = "benchwright-inventory/1"


class InventoryHostKeys(TypedDict):
    """Keys of a host beside those of HostAttributes; `groups` has also those of patterns."""

    name: str
    source: Origin
    groups: list[str]


InventoryHost = Annotated[Json, HostAttributes, InventoryHostKeys]


class HostGroup(TypedDict):
    """A group with its hosts; `patterns` are empty if the attributes of the hosts name it."""

    name: str
    patterns: list[str]
    hosts: list[str]


class InventoryJson(TypedDict):
    """The hosts with their attributes, and the groups."""

    format: Annotated[str, FORMAT]
    hosts: list[InventoryHost]
    groups: list[HostGroup]


class ImportedHostKeys(TypedDict):
    """A host of an import; `note` is what changes, or why it is skipped."""

    action: ImportAction
    note: str
    entry: Annotated[Json, HostEntry]
    attributes: Annotated[Json, HostAttributes]


class InventoryImportJson(TypedDict):
    """What an import changes, and whether it was stored."""

    source: Source
    stored: bool
    hosts: list[ImportedHostKeys]
    notes: list[str]


def inventory_to_json(entries: Iterable[HostEntry], inventory: Inventory) -> InventoryJson:
    """Return the public JSON of the inventory of hosts."""
    entries = list(entries)
    groups = all_groups([entry.name for entry in entries], inventory)
    members = members_of(groups)
    return {
        "format": FORMAT,
        "hosts": [
            {
                **published(inventory.of(entry.name)),
                "name": entry.name,
                "source": entry.origin,
                "groups": members.get(entry.name, []),
            }
            for entry in entries
        ],
        "groups": [
            {"name": name, "patterns": list(inventory.groups.get(name, ())), "hosts": hosts}
            for name, hosts in groups.items()
        ],
    }


def import_to_json(source: Source, preview: ImportPreview, *, stored: bool) -> InventoryImportJson:
    """Return the public JSON of an import."""
    return {
        "source": source,
        "stored": stored,
        "hosts": [_host(one) for one in preview.hosts],
        "notes": list(preview.notes),
    }


def _host(one: ImportedHost) -> ImportedHostKeys:
    return {
        "action": one.action,
        "note": one.note,
        "entry": published(one.entry),
        "attributes": published(one.attributes),
    }
