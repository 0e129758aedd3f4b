"""Mounted file systems and candidate test directories."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from remote.facts.block import Disks
from remote.facts.items import Items, text_line, whole
from suites.facts import Absent, Directory, FileSystem

MOST_FILE_SYSTEMS = 128
MOST_DIRECTORIES = 64
LARGEST_KIB = 2**53 - 1
"""8 EiB, the size that Amazon EFS reports."""

_WITHOUT_DATA = re.compile(
    r"autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|efivarfs|fusectl|hugetlbfs|mqueue|nsfs"
    r"|proc|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs"
)
_KERNEL_PATHS = ("/sys/", "/proc/")
_NO_DISK = {
    "tmpfs": "in memory, no disk",
    "ramfs": "in memory, no disk",
    "overlay": "an overlay: its disk is not visible",
    "zfs": "a ZFS pool",
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
    upper: str = ""  # the directory that stores the changes of an overlay


def parse_mounts(text: str | None) -> Mapping[str, Mount]:
    """Return the mounts by path; of several on one path the last, which shadows the others."""
    found: dict[str, Mount] = {}
    for line in (text or "").splitlines():
        before, divided, after = line.partition(" - ")
        # proc(5): ID parent major:minor root path options ... - type source options
        mount, source = before.split(" "), after.split(" ")
        if not divided or len(mount) < 6 or len(source) < 3:
            continue
        options = dict.fromkeys([*mount[5].split(","), *source[2].split(",")])
        path = _unescaped(mount[4])
        upper = next((each.partition("=")[2] for each in options if each.startswith("upperdir=")), "")
        found[path] = Mount(path, mount[2], source[0], _unescaped(source[1]), ",".join(options), _unescaped(upper))
    return found


def _below(mount: Mount, mounts: Mapping[str, Mount]) -> Mount | None:
    """Return the mount that stores the changes of an overlay, or None if it is not visible.

    The upper directory of a root overlay, such as a container's, is a path outside this mount namespace.
    """
    if not mount.upper.startswith("/") or mount.path == "/":
        return None
    parts = mount.upper.rstrip("/").split("/")
    above = ("/".join(parts[:count]) or "/" for count in range(len(parts), 0, -1))
    found = next((mounts[path] for path in above if path in mounts), None)
    return None if found is None or found.upper else found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


@dataclass(frozen=True, slots=True)
class Space:
    """One line of `df -Pk`, in bytes; `free` is available to this user."""

    size: int
    free: int


def parse_df(text: str | None) -> Mapping[str, Space]:
    """Return sizes by mount path."""
    found: dict[str, Space] = {}
    line = re.compile(r"^.*?\s([0-9]{1,16})\s+-?[0-9]{1,16}\s+(-?[0-9]{1,16})\s+(?:[0-9]+%|-)\s+(/.*)$", re.MULTILINE)
    for size_text, free_text, path in line.findall(text or ""):
        size, free = whole(size_text, high=LARGEST_KIB), whole(free_text, -LARGEST_KIB, LARGEST_KIB)
        if size is not None and free is not None:
            found[path] = Space(size * 1024, max(0, free) * 1024)  # negative if only root's reserve is free
    return found


def file_systems(items: Items, mounts: Mapping[str, Mount]) -> tuple[FileSystem, ...]:
    """Return the mounted file systems that store data."""
    spaces = parse_df(items.text("df"))
    unknown = items.missing("df", "not listed by df")
    holding = [mount for mount in mounts.values() if _stores_data(mount)]
    return tuple(
        FileSystem(
            mount=mount.path,
            kind=text_line(mount.kind, 64) or Absent("not reported by the kernel"),
            source=text_line(mount.source, 4096) or Absent("not reported by the kernel"),
            options=text_line(mount.options, 1024) or Absent("not reported by the kernel"),
            size=unknown if mount.path not in spaces else spaces[mount.path].size,
            free=unknown if mount.path not in spaces else spaces[mount.path].free,
        )
        for mount in holding[:MOST_FILE_SYSTEMS]
    )


def _stores_data(mount: Mount) -> bool:
    own = _WITHOUT_DATA.fullmatch(mount.kind) or mount.path.startswith(_KERNEL_PATHS)
    return not own and text_line(mount.path, 4096) == mount.path


def directories(items: Items, mounts: Mapping[str, Mount], disks: Disks) -> tuple[Directory, ...]:
    """Return the facts of each directory, requested ones first."""
    found: dict[str, Directory] = {}
    for number in range(MOST_DIRECTORIES):
        path = items.text(f"directory.{number}.path")
        if path is not None and text_line(path, 4096) == path:
            path = path.rstrip("/") or "/"
            found.setdefault(path, _directory(items, f"directory.{number}", path, mounts, disks))
    return tuple(found.values())


def _directory(items: Items, name: str, path: str, mounts: Mapping[str, Mount], disks: Disks) -> Directory:
    spaces = parse_df(items.text(f"{name}.df"))
    absent = items.missing(f"{name}.df", "no answer from df")
    if not spaces:
        return Directory(
            path=path,
            mount=absent,
            kind=absent,
            upper=absent,
            device=absent,
            volume=absent,
            attributes=absent,
            file=_allocated(items, name),
            free=absent,
            writable=absent,
            direct=absent,
        )
    where, space = next(iter(spaces.items()))
    mount = mounts.get(where)
    unlisted = Absent("its mount is not in /proc/self/mountinfo")
    below = None if mount is None else _below(mount, mounts)
    return Directory(
        path=path,
        mount=text_line(where, 4096) or unlisted,
        kind=unlisted if mount is None else text_line(mount.kind, 64) or unlisted,
        upper=_upper(mount, below),
        device=unlisted if mount is None else _device(below or mount, disks),
        volume=unlisted if mount is None else _volume(below or mount, disks),
        attributes=_attributes(items, name),
        free=space.free,
        writable=_writable(items, name),
        direct=_direct(items, name),
        guard=text_line(items.text(f"{name}.guard") or "", 4200) or items.missing(f"{name}.guard", "not checked"),
    )


def _allocated(items: Items, name: str) -> int | Absent:
    """Return the bytes that `du -k` counts for a file."""
    found = whole((items.text(f"{name}.file") or "").split("\t")[0], high=LARGEST_KIB)
    return Absent("not a file") if found is None else found * 1024


def _upper(mount: Mount | None, below: Mount | None) -> str | Absent:
    """Return the type of the file system that stores an overlay's changes."""
    if mount is None or mount.kind not in {"overlay", "aufs"}:
        return Absent("not an overlay")
    if below is None:
        return Absent("its upper directory is not visible")
    return text_line(below.kind, 64) or Absent("not reported by the kernel")


def _volume(mount: Mount, disks: Disks) -> str | Absent:
    """Return the mounted block device itself, such as a partition or a logical volume."""
    return disks.numbered(mount.number) or disks.named(mount.source) or Absent("its device is not in /sys")


def _attributes(items: Items, name: str) -> str | Absent:
    """Return the attribute letters that lsattr prints, without dashes."""
    found = re.match(r"([-A-Za-z]{4,64}) ", items.text(f"{name}.attributes") or "")
    if found is None:
        return items.missing(f"{name}.attributes", "not supported by the file system")
    return found[1].replace("-", "") or Absent("none set")


def _device(mount: Mount, disks: Disks) -> str | Absent:
    """Return the whole disk below a mount, by device number, or by source: btrfs has anonymous device numbers."""
    name = disks.numbered(mount.number) or disks.named(mount.source)
    if name is not None:
        return disks.whole_disk(name)
    if _NETWORK.search(mount.kind):
        return Absent("a network file system")
    return Absent(_NO_DISK.get(mount.kind, "its device is not in /sys"))


def _writable(items: Items, name: str) -> bool | Absent:
    if items.text(f"{name}.write"):
        return True
    absent = items.missing(f"{name}.write")
    return False if _REFUSED.search(absent.reason) else absent


def _direct(items: Items, name: str) -> bool | Absent:
    """Return whether dd could write a block with O_DIRECT; without support open fails with EINVAL (open(2))."""
    if items.text(f"{name}.direct"):
        return True
    if f"{name}.write" in items.reasons:
        return Absent("not writable")
    absent = items.missing(f"{name}.direct")
    return False if "Invalid argument" in absent.reason else absent
