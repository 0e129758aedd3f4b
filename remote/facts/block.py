"""Block devices and the whole disks below them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from remote.facts.items import LARGEST, Items, text_line, tree, whole
from suites.facts import Absent, BlockDevice

SECTOR = 512
"""Bytes: the unit of `size` in /sys, whatever the device's own sectors are (kernel, admin-guide/abi-stable)."""

WHOLE_DISK = Absent("a whole disk")
"""What is below a block device that is a disk."""

DEEPEST = 8
"""Largest depth of stacked devices."""

MOST_DEVICES = 256

_NAME = r"([A-Za-z0-9_.!:-]{1,64})"
"""Allowed device names: they become labels and parts of messages."""

_LINK = re.compile(rf" {_NAME} -> \S+/{_NAME}/{_NAME}$", re.MULTILINE)
_BUILT_ON = re.compile(rf"^{_NAME}/slaves/{_NAME}$", re.MULTILINE)

_SWITCH: Mapping[str, bool] = {"0": False, "1": True}


@dataclass(frozen=True, slots=True)
class Disks:
    """Block devices in /sys by name: attributes, the device of a partition (`on`), and the `slaves` (`built_on`)."""

    attributes: Mapping[str, Mapping[str, str]]
    on: Mapping[str, str] = field(default_factory=dict)
    built_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, items: Items) -> "Disks":
        """Parse the three listings of /sys/class/block."""
        found = {name: values for name, values in tree(items.text("block")).items() if re.fullmatch(_NAME, name)}
        attributes = dict(list(found.items())[:MOST_DEVICES])
        built_on: dict[str, tuple[str, ...]] = {}
        for name, below in _BUILT_ON.findall(items.text("block.slaves") or ""):
            built_on[name] = (*built_on.get(name, ()), below)
        on = {
            name: parent
            for name, parent, itself in _LINK.findall(items.text("block.links") or "")
            if name == itself and "partition" in attributes.get(name, ()) and parent in attributes
        }
        return cls(attributes, on, built_on)

    def numbered(self, device_number: str) -> str | None:
        """Return the name of the device with a ``MAJOR:MINOR`` number."""
        return next((name for name, found in self.attributes.items() if found.get("dev") == device_number), None)

    def named(self, source: str) -> str | None:
        """Return the kernel's name of the device at a path such as ``/dev/mapper/data``."""
        last = source.rpartition("/")[2]
        if not source.startswith("/dev/"):
            return None
        if last in self.attributes:
            return last
        return next((name for name, found in self.attributes.items() if found.get("dm/name") == last), None)

    def below(self, name: str) -> str | Absent:
        """Return the device directly below `name`, or why there is not exactly one."""
        if name in self.on:
            return self.on[name]
        below = self.built_on.get(name, ())
        if len(below) == 1:
            return below[0]
        if below:
            return Absent(f"built on several devices: {', '.join(sorted(below)[:8])}")
        return Absent("backed by a file") if name.startswith("loop") else WHOLE_DISK

    def whole_disk(self, name: str) -> str | Absent:
        """Return the whole disk below `name`, or why there is not exactly one."""
        for _ in range(DEEPEST):
            below = self.below(name)
            if isinstance(below, Absent):
                return name if below == WHOLE_DISK else below
            name = below
        return Absent(f"more than {DEEPEST} stacked devices")


def block_devices(items: Items, disks: Disks) -> tuple[BlockDevice, ...]:
    """Return all block devices by name."""
    return tuple(_device(items, disks, name) for name in sorted(disks.attributes))


def _device(items: Items, disks: Disks, name: str) -> BlockDevice:
    found = disks.attributes[name]
    queue = Absent(f"a property of {disks.on[name]}" if name in disks.on else "not in /sys")
    sectors = whole(found.get("size"), 1, LARGEST // SECTOR)
    readahead = whole(found.get("queue/read_ahead_kb"), high=2**32)
    depth = whole(found.get("device/queue_depth"), 1, 2**20) or whole(found.get("queue/nr_requests"), 1, 2**20)
    scheduler = re.search(r"\[([a-z0-9_-]{1,32})\]", found.get("queue/scheduler", ""))
    return BlockDevice(
        name=name,
        kind=_cached(disks, name) or _kind(name, found),
        size=items.missing("block", "no size in /sys") if sectors is None else sectors * SECTOR,
        model=text_line(found.get("device/model")) or Absent("not reported by the device"),
        serial=text_line(found.get("device/serial") or found.get("serial")) or Absent("not in /sys"),
        rotational=_SWITCH.get(found.get("queue/rotational", ""), queue),
        scheduler=scheduler[1] if scheduler else text_line(found.get("queue/scheduler"), 32) or queue,
        readahead=queue if readahead is None else readahead * 1024,
        queue_depth=depth or queue,
        sector=whole(found.get("queue/logical_block_size"), 512, 2**20) or queue,
        low_latency=_SWITCH.get(found.get("queue/iosched/low_latency", ""), Absent("not supported by the scheduler")),
        parent=disks.below(name),
        backing_file=text_line(found.get("loop/backing_file"), 4096) or Absent("not a loop device"),
    )


def _cached(disks: Disks, name: str) -> str | None:
    """Return ``cache`` or ``vdo`` for a volume on an LVM cache or VDO pool, named by suffixes of their dm/uuid."""
    below = [disks.attributes.get(each, {}).get("dm/uuid", "") for each in (name, *disks.built_on.get(name, ()))]
    if any(each.endswith(("-cdata", "-cvol")) for each in below[1:]):
        return "cache"
    return "vdo" if any(each.endswith("-vpool") for each in below) else None


def _kind(name: str, found: Mapping[str, str]) -> str | Absent:
    """Return the device type as lsblk prints it."""
    if "partition" in found:
        return "part"
    if found.get("dm/uuid", "").endswith("-tpool"):
        return "thin-pool"  # the device below LVM thin volumes
    if "dm/name" in found:
        kind = re.match(r"[A-Za-z]{2,16}", found.get("dm/uuid", ""))
        return kind[0].lower() if kind else "dm"
    if name.startswith("md"):
        return text_line(found.get("md/level"), 16) or "md"
    special = re.match(r"(loop|zram|nbd|sr|bcache)[0-9]+$", name)
    return {"sr": "rom"}.get(special[1], special[1]) if special else "disk"
