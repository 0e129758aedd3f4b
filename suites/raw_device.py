"""Safety checks of raw devices: identity, confirmation token and objections to writing.

The checks of other tools do not suffice: fio compares mount points literally and misses a disk with a mounted
partition, symbolic links, swap, and members of LVM and RAID (fio, lib/mountcheck.c).
"""

import re
from collections.abc import Iterable, Mapping

from suites.facts import Absent, RawDevice, known
from suites.quantities import quantity

_KINDS: Mapping[str, str] = {
    "part": "It is a partition; only whole disks are allowed.",
    "dm": "It is a device-mapper device (LVM, encryption); only whole disks are allowed.",
    "md": "It is a RAID device; only whole disks are allowed.",
    "memory": "It is in memory: there is no disk below it.",
    "network": "It is on another machine, whose other users are not visible here.",
    "removable": "It is removable; only fixed disks are allowed.",
}

_NO_NAME = re.compile(r"(wwn-|nvme-eui\.|nvme-nvme\.|dm-|lvm-|md-)")
"""Names of /dev/disk/by-id that are hard to tell apart at a glance."""


def confirmation(device: RawDevice, among: Iterable[RawDevice] = ()) -> str | Absent:
    """Return the text that confirms overwriting `device`: a property unique to it `among` the devices of a plan.

    It is the serial number; the name in /dev/disk/by-id of a virtual disk without one, and of an NVMe namespace beside
    others of its drive; the file of a loop device.
    """
    if isinstance(device.node, Absent):
        return device.node
    texts = _identifying(device)
    taken = {text for each in among if each.node != device.node for text in _identifying(each)}
    unique = next((text for text in texts if text not in taken), None)
    if unique is None and texts:
        return Absent(f"another device of the plan is {texts[0]}, too: it cannot be identified")
    return unique or Absent("it has neither a serial number nor a name in /dev/disk/by-id: it cannot be identified")


def _identifying(device: RawDevice) -> list[str]:
    backing, serial = known(device.backing_file), known(device.serial)
    if backing is not None:
        return [backing.rpartition("/")[2], backing]
    names = [name for name in known(device.by_id) or () if not _NO_NAME.match(name)]
    return [serial, *names] if serial else names


def described(device: RawDevice) -> str:
    """Return the identity of the device: ``/dev/sdb: Samsung SSD 870, serial S6P1, ata-Samsung_SSD_870_S6P1, …``."""
    if isinstance(device.node, Absent):
        return f"{device.path}: {device.node.reason}"
    names = known(device.by_id) or ()
    parts = (
        known(device.model),
        f"serial {device.serial}" if known(device.serial) else None,
        names[0] if names else None,
        f"backed by {device.backing_file}" if known(device.backing_file) else None,
        None if isinstance(device.size, Absent) else quantity(device.size),
    )
    name = device.path if device.path == device.node else f"{device.path} ({device.node})"
    return f"{name}: {', '.join(part for part in parts if part)}"


def objections(device: RawDevice) -> tuple[str, ...]:
    """Return all objections to writing to `device` as sentences; () if there are none.

    A failed check is an objection, too.
    """
    if isinstance(device.node, Absent):
        return (f"{device.node.reason[:1].upper()}{device.node.reason[1:]}.",)
    kind = known(device.kind) or ""
    found = [_KINDS[kind]] if kind in _KINDS else []
    if device.read_only is True:
        found.append("It is read-only.")
    found += [_use_text(use) for use in known(device.uses) or ()]
    found += [_signature_text(signature) for signature in known(device.signatures) or ()]
    if device.free is False:
        found.append("The kernel reports it in use (O_EXCL).")
    token = confirmation(device)
    if isinstance(token, Absent):
        found.append(f"{token.reason[:1].upper()}{token.reason[1:]}.")
    return (*found, *_unseen(device))


def _unseen(device: RawDevice) -> tuple[str, ...]:
    """Return the checks that could not be made."""
    if isinstance(device.signatures, Absent):
        return (f"Not checked: content of the device: {device.signatures.reason}.",)
    if isinstance(device.free, Absent):
        return (f"Not checked: exclusive use (O_EXCL): {device.free.reason}.",)
    return ()


def needs_root_to_judge(device: RawDevice) -> bool:
    """Whether the only objection to `device` is that checks require root."""
    return bool(_unseen(device)) and objections(device) == _unseen(device)


def _use_text(use: str) -> str:
    """Return a line of device.sh as a sentence."""
    word, _, rest = use.partition(" ")
    name, _, more = rest.partition(" ")
    texts = {
        "part": f"It has the partition {name}.",
        "holder": f"{name} is part of {more.replace(' ', ' (', 1) + ')' if ' ' in more else more}.",
        "mount": f"{name} is mounted on {more}.",
        "swap": f"{name} is used as swap.",
        "loop": f"{name} is behind {more}.",
        "open": f"A process has {name} open: {more.replace(' ', ' (', 1) + ')' if ' ' in more else more}.",
    }
    return texts.get(word, f"It is in use: {use}.")


def _signature_text(signature: str) -> str:
    name, _, kind = signature.partition(" ")
    what = "a partition table" if kind in {"gpt", "dos", "PMBR"} else "data or a member of a larger device"
    return f"{name} holds {kind or 'something'}: {what}."
