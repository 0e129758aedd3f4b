"""Mounted file systems, and the directories a disk test may write in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from remote.facts.block import Disks
from remote.facts.items import Items
from remote.facts.values import whole, word
from suites.facts import Absent, Directory, FileSystem

MOST_FILE_SYSTEMS = 128
MOST_DIRECTORIES = 64
LARGEST_KIB = 2**53 - 1
"""8 EiB, which an elastic network file system does claim to have."""

_WITHOUT_DATA = re.compile(
    r"autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|efivarfs|fusectl|hugetlbfs|mqueue|nsfs"
    r"|proc|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs"
)
_KERNELS_OWN = ("/sys/", "/proc/")
_NO_DISK = {
    "tmpfs": "in memory: there is no disk below it",
    "ramfs": "in memory: there is no disk below it",
    "overlay": "an overlay: its disk is not visible",
    "zfs": "a pool of devices of its own",
}
_NETWORK = re.compile(r"nfs|cifs|smb|ceph|lustre|glusterfs|9p|virtiofs|beegfs|gpfs|sshfs")
_REFUSED = re.compile(r"Permission denied|Read-only file system|Operation not permitted", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of /proc/self/mountinfo (proc(5))."""

    path: str
    number: str
    kind: str
    source: str
    options: str


def parse_mounts(text: str | None) -> Mapping[str, Mount]:
    """Return the mounts by path; of several on one path the last, which hides the others."""
    found: dict[str, Mount] = {}
    for line in (text or "").splitlines():
        before, divided, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if (
            not divided or len(left) < 6 or len(right) < 3
        ):  # proc(5): ID parent major:minor root path options ... - type source options
            continue
        options = dict.fromkeys([*left[5].split(","), *right[2].split(",")])
        path = _unescaped(left[4])
        found[path] = Mount(path, left[2], right[0], _unescaped(right[1]), ",".join(options))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


@dataclass(frozen=True, slots=True)
class Space:
    """One line of `df -Pk`, in bytes; `free` is for this user."""

    size: int
    free: int


def parse_df(text: str | None) -> Mapping[str, Space]:
    """Return sizes by mount path."""
    found: dict[str, Space] = {}
    line = re.compile(r"^.*?\s([0-9]{1,16})\s+-?[0-9]{1,16}\s+(-?[0-9]{1,16})\s+(?:[0-9]+%|-)\s+(/.*)$", re.MULTILINE)
    for size_text, free_text, path in line.findall(text or ""):
        size, free = whole(size_text, high=LARGEST_KIB), whole(free_text, -LARGEST_KIB, LARGEST_KIB)
        if size is not None and free is not None:
            found[path] = Space(size * 1024, max(0, free) * 1024)  # below zero: only root's reserve is left
    return found


def file_systems(items: Items, mounts: Mapping[str, Mount]) -> tuple[FileSystem, ...]:
    """Return the mounted file systems that hold data."""
    spaces = parse_df(items.text("df"))
    unknown = items.missing("df", "df did not list it")
    holding = [mount for mount in mounts.values() if _holds_data(mount)]
    return tuple(
        FileSystem(
            mount=mount.path,
            kind=word(mount.kind, 64) or Absent("the kernel does not tell"),
            source=word(mount.source, 4096) or Absent("the kernel does not tell"),
            options=word(mount.options, 1024) or Absent("the kernel does not tell"),
            size=unknown if mount.path not in spaces else spaces[mount.path].size,
            free=unknown if mount.path not in spaces else spaces[mount.path].free,
        )
        for mount in holding[:MOST_FILE_SYSTEMS]
    )


def _holds_data(mount: Mount) -> bool:
    own = _WITHOUT_DATA.fullmatch(mount.kind) or mount.path.startswith(_KERNELS_OWN)
    return not own and word(mount.path, 4096) == mount.path


def directories(items: Items, mounts: Mapping[str, Mount], disks: Disks) -> tuple[Directory, ...]:
    """Return what was found about each directory, those asked for first."""
    found: dict[str, Directory] = {}
    for number in range(MOST_DIRECTORIES):
        path = items.text(f"directory.{number}.path")
        if path is not None and word(path, 4096) == path:
            path = path.rstrip("/") or "/"
            found.setdefault(path, _directory(items, f"directory.{number}", path, mounts, disks))
    return tuple(found.values())


def _directory(items: Items, name: str, path: str, mounts: Mapping[str, Mount], disks: Disks) -> Directory:
    spaces = parse_df(items.text(f"{name}.df"))
    absent = items.missing(f"{name}.df", "df did not answer for it")
    if not spaces:
        return Directory(
            path=path,
            mount=absent,
            kind=absent,
            device=absent,
            volume=absent,
            attributes=absent,
            free=absent,
            writable=absent,
            direct=absent,
        )
    where, space = next(iter(spaces.items()))
    mount = mounts.get(where)
    unlisted = Absent("its mount is not in the host's list of mounts")
    return Directory(
        path=path,
        mount=word(where, 4096) or unlisted,
        kind=unlisted if mount is None else word(mount.kind, 64) or unlisted,
        device=unlisted if mount is None else _device(mount, disks),
        volume=unlisted if mount is None else _volume(mount, disks),
        attributes=_attributes(items, name),
        free=space.free,
        writable=_writable(items, name),
        direct=_direct(items, name),
        guard=word(items.text(f"{name}.guard") or "", 4200) or items.missing(f"{name}.guard", "it was not looked at"),
    )


def _volume(mount: Mount, disks: Disks) -> str | Absent:
    """Return the block device that is mounted itself, whatever lies below it."""
    return disks.numbered(mount.number) or disks.named(mount.source) or Absent("/sys does not show its device")


def _attributes(items: Items, name: str) -> str | Absent:
    """Return the letters that lsattr prints before the path, without its dashes."""
    found = re.match(r"([-A-Za-z]{4,64}) ", items.text(f"{name}.attributes") or "")
    if found is None:
        return items.missing(f"{name}.attributes", "its file system has none")
    return found[1].replace("-", "") or Absent("none is set")


def _device(mount: Mount, disks: Disks) -> str | Absent:
    """Return the whole disk below a mount, by device number, or by source where btrfs hides the number."""
    name = disks.numbered(mount.number) or disks.named(mount.source)
    if name is not None:
        return disks.whole_disk(name)
    if _NETWORK.search(mount.kind):
        return Absent("a network file system")
    return Absent(_NO_DISK.get(mount.kind, "/sys does not show its device"))


def _writable(items: Items, name: str) -> bool | Absent:
    if items.text(f"{name}.write"):
        return True
    absent = items.missing(f"{name}.write")
    return False if _REFUSED.search(absent.reason) else absent


def _direct(items: Items, name: str) -> bool | Absent:
    """Return whether dd could write a block with O_DIRECT; EINVAL is the kernel's way to refuse it (open(2))."""
    if items.text(f"{name}.direct"):
        return True
    if f"{name}.write" in items.reasons:
        return Absent("nothing could be written there")
    absent = items.missing(f"{name}.direct")
    return False if "Invalid argument" in absent.reason else absent
