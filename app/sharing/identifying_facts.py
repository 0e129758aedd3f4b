"""Facts that identify a host, a person or an account, and those that others share."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from suites.facts import Absent, Facts

IDENTIFYING_FACTS: Mapping[str, str] = {
    "host": "host",
    "system.host_name": "host",
    "system.boot_id": "id",
    "system.user": "user",
    "system.command_line": "places",
    "system.workstation_address": "places",
    "cloud.instance_id": "id",
    "measured.foreign_processes.name": "process",
    "measured.foreign_disks.name": "volume",
    "block_devices.name": "volume",
    "block_devices.serial": "serial",
    "block_devices.parent": "volume",
    "block_devices.backing_file": "path",
    "file_systems.mount": "path",
    "file_systems.source": "place",
    "file_systems.options": "places",
    "directories.path": "path",
    "directories.mount": "path",
    "directories.device": "volume",
    "directories.volume": "volume",
    "directories.guard": "places",
    "devices.path": "path",
    "devices.node": "path",
    "devices.serial": "serial",
    "devices.by_id": "path",
    "devices.backing_file": "path",
    "devices.uses": "words",
    "devices.signatures": "words",
    "devices.state": "words",
    "interfaces.name": "interface",
    "interfaces.addresses": "places",
    "tools.path": "path",
    "cloud_limits.device": "volume",
    "cloud_limits.volume": "id",
}
"""Facts that identify a host, a person or an account, by their path in Facts, and how their values are taken."""

PUBLIC_FACTS = frozenset({
    "read_at", "system.kernel", "system.architecture", "system.distribution", "system.distribution_id",
    "system.distribution_version", "system.distribution_like", "system.virtualisation", "system.container",
    "system.clock_source", "cloud.provider", "cloud.instance_type", "cloud.region", "cloud.baseline", "cpu.model",
    "cpu.microcode", "cpu.mitigations", "cpu.flags", "cpu.governor", "cpu.energy_preference", "cpu.energy_counters",
    "cpu.hyperthreading", "cpu.caches.kind", "memory.transparent_huge_pages", "block_devices.kind",
    "block_devices.model", "block_devices.scheduler", "file_systems.kind", "directories.kind", "directories.upper",
    "directories.attributes", "devices.kind", "devices.model", "interfaces.state", "interfaces.driver",
    "tools.name", "tools.version", "tools.engines", "cloud_limits.name", "cloud_limits.unit",
    "cloud_limits.instance_type",
})  # fmt: skip
"""Facts in text that others share: models, versions, kinds."""


def text_facts(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield every fact in text with its path in Facts; an absent one with its reason, as ``guard``."""
    yield from _texts(facts, "")


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Absent):
        yield "directories.guard", value.reason
    elif isinstance(value, str):
        yield path, value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts(each, path)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name), f"{path}.{each.name}" if path else each.name)
