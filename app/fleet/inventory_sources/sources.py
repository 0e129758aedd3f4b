"""The sources of an inventory, and their recognition by content."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from json import JSONDecodeError
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from app.fleet.inventory import MOST_HOSTS, InventoryError
from app.fleet.inventory_sources.ansible import ansible
from app.fleet.inventory_sources.clouds import aws, azure, gcloud, objects_at
from app.fleet.inventory_sources.csv_table import csv_table, is_header
from app.fleet.inventory_sources.found import FoundInventory
from app.fleet.inventory_sources.terraform import terraform
from remote.local_file import read_file
from suites.strict_json import documents_in, object_in, read_json

LARGEST = 2**26
"""Size limit of a file, in bytes: aws ec2 describe-instances has some 5 kB for an instance."""


class Source(StrEnum):
    """What wrote a file of hosts."""

    ANSIBLE = "ansible"
    AWS = "aws"
    AZURE = "azure"
    CSV = "csv"
    GCLOUD = "gcloud"
    TERRAFORM = "terraform"


COMMANDS: Mapping[Source, str] = MappingProxyType({
    Source.ANSIBLE: "ansible-inventory --list",
    Source.AWS: "aws ec2 describe-instances",
    Source.AZURE: "az vm list --show-details",
    Source.CSV: "a spreadsheet, as CSV with a header row and a row for each host",
    Source.GCLOUD: "gcloud compute instances list --format=json",
    Source.TERRAFORM: "terraform show -json or terraform output -json",
})  # fmt: skip
"""What prints each source."""


class _Reader(Protocol):
    def __call__(self, content: Any, *, private: bool) -> FoundInventory: ...


_READERS: Mapping[Source, _Reader] = MappingProxyType({
    Source.ANSIBLE: ansible,
    Source.AWS: aws,
    Source.AZURE: azure,
    Source.GCLOUD: gcloud,
    Source.TERRAFORM: terraform,
})  # fmt: skip


def read_inventory(path: Path, source: Source | None = None, *, private: bool = False) -> tuple[Source, FoundInventory]:
    """Return the source and the hosts of a file as inventory_in() does; raise InventoryError with its name."""
    hint = "Give JSON or CSV in UTF-8."
    return read_file(path, LARGEST, InventoryError, hint, lambda text: inventory_in(text, source, private=private))


def inventory_in(
    text: str, source: Source | None = None, *, private: bool = False, now: datetime | None = None
) -> tuple[Source, FoundInventory]:
    """Return the source of a text, recognised by its content unless given, and the hosts in it.

    `private` prefers private addresses; an age is counted from `now`. Raises InventoryError for an unknown source, a
    text that is not of it, and one without hosts.
    """
    if not text.strip():
        raise InventoryError("it is empty.", "Write the file again.")
    content, fault = None, ""
    if source is not Source.CSV and text.lstrip()[:1] in {"{", "["}:
        try:
            content = _documents(text)
        except ValueError as error:
            fault = f"not valid JSON: {error}."
    chosen = source or _recognised(text, content, fault)
    if chosen is Source.CSV:
        found = csv_table(text, now or datetime.now(UTC), private=private)
    elif content is None:
        raise InventoryError(fault or f"not JSON of {chosen}.", f"Give the output of {COMMANDS[chosen]}.")
    else:
        found = _READERS[chosen](content, private=private)
    if not found.hosts:
        raise InventoryError(f"no host of {chosen} is in it.", f"Give the output of {COMMANDS[chosen]}.")
    if len(found.hosts) > MOST_HOSTS:
        raise InventoryError(f"it has {len(found.hosts):,} hosts.", f"The limit is {MOST_HOSTS:,}.")
    return chosen, found


def _documents(text: str) -> Any:
    """Return the JSON value in a text, or a list of those that follow one another: the pages of a list."""
    try:
        return read_json(text)
    except JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return list(map(read_json, documents_in(text)))


def _recognised(text: str, content: Any, fault: str) -> Source:
    if fault:
        raise InventoryError(fault, "Write the file again.")
    if content is None:
        found = [Source.CSV] if is_header(text.lstrip().partition("\n")[0]) else []
    else:
        found = [source for source, test in _TESTS.items() if test(content)]
    if len(found) != 1:
        seen = f"it may be of {' or '.join(found)}" if found else "its source is not recognised"
        raise InventoryError(f"{seen}.", f"Name its source: {', '.join(Source)}.")
    return found[0]


def _first(content: Any) -> Iterable[Mapping[str, Any]]:
    return (one for one, _ in zip(objects_at(content), range(10), strict=False))


def _with(*keys: str) -> Callable[[Any], bool]:
    """Return a test whether objects of a list have one of `keys`."""
    return lambda content: any(key in one for one in _first(content) for key in keys)


def _is_ansible(content: Any) -> bool:
    if not isinstance(content, dict) or _is_terraform(content):
        return False
    groups = (one for name, one in content.items() if name != "_meta" and isinstance(one, dict))
    return "hostvars" in object_in(content, "_meta") or any(isinstance(one.get("hosts"), list) for one in groups)


def _is_terraform(content: Any) -> bool:
    outputs = list(content.values()) if isinstance(content, dict) else []
    if isinstance(content, dict) and "terraform_version" in content:
        return True
    return bool(outputs) and all(isinstance(one, dict) and {"value", "sensitive"} <= one.keys() for one in outputs)


def _is_gcloud(content: Any) -> bool:
    return any("machineType" in one and "networkInterfaces" in one for one in _first(content))


_TESTS: Mapping[Source, Callable[[Any], bool]] = MappingProxyType({
    Source.ANSIBLE: _is_ansible,
    Source.AWS: _with("Reservations", "Instances", "InstanceId"),
    Source.AZURE: _with("hardwareProfile", "vmId"),
    Source.GCLOUD: _is_gcloud,
    Source.TERRAFORM: _is_terraform,
})  # fmt: skip
