"""Background load: use of CPUs and disks by others while the facts were read."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from remote.facts.block import SECTOR, WHOLE_DISK, Disks
from remote.facts.items import LONGEST_ITEM, Items, number, text_line, whole
from suites.facts import HIDDEN, OUTSIDE, SHORT_LIVED, Absent, DiskLoad, ProcessLoad, known

IDLE = (3, 4)
"""Positions of idle and iowait in the cpu line of /proc/stat (proc(5))."""

OWN_TICKS = 1
"""Ticks allowed for the script's own start."""

TICK = 0.01
"""Seconds of a tick in /proc, on every architecture (USER_HZ)."""

LEAST_CPUS = 0.02
"""CPU use from which a process is listed, in CPUs."""

MOST_LISTED = 8

PAGE = 4096
"""Least bytes of one own request: an upper bound of the number of own requests."""

_PROCESS = re.compile(
    r"^(\d{1,10}) (\d{1,10}) (\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,19}) (.+)$", re.MULTILINE
)
_DISK = re.compile(r"^ *\d+ +\d+ (\S{1,64})((?: \d{1,19}){11})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Process:
    """Ticks of one process: its own, and with those of its waited children."""

    parent: int
    ticks: int
    with_children: int
    name: str


def watched_seconds(items: Items) -> float | Absent:
    """Return the seconds in which the load was counted."""
    before, after = (number((items.text(f"load.{at}.uptime") or "").split(" ")[0], high=1e11) for at in _MOMENTS)
    if before is None or after is None or after <= before:
        return items.missing("load.after.uptime", "invalid /proc/uptime")
    return after - before


_MOMENTS = ("before", "after")


def foreign_cpu(items: Items) -> float | Absent:
    """Return the CPU use of others: busy ticks less those of Benchwright, as a fraction of all CPUs."""
    found = _cpu_ticks(items)
    if isinstance(found, Absent):
        return found
    total, busy = found
    return max(0, busy - OWN_TICKS - _own_ticks(items)) / total


def _cpu_ticks(items: Items) -> tuple[int, int] | Absent:
    """Return the ticks of all CPUs and the busy ones."""
    before, after = (_ticks(items.text(f"load.{at}.processors")) for at in _MOMENTS)
    if before is None or after is None or len(before) != len(after):
        return items.missing("load.after.processors", "unknown format of /proc/stat")
    grown = [later - earlier for earlier, later in zip(before, after, strict=True)]
    total, busy = sum(grown), sum(ticks for index, ticks in enumerate(grown) if index not in IDLE)
    if total <= 0 or min(grown) < -1:  # idle and iowait may decrease by a tick (proc(5))
        return Absent("the ticks in /proc/stat did not grow")
    return total, busy


def _ticks(text: str | None) -> list[int] | None:
    """Return user, nice, system, idle, iowait, irq, softirq and steal; user and nice include the guest times."""
    fields = (text or "").split()
    found = [whole(field) for field in fields[1:9]]
    if not fields or fields[0] != "cpu" or len(found) < 8 or None in found:
        return None
    return [ticks for ticks in found if ticks is not None]


Processes = Mapping[tuple[int, int], _Process]
"""Processes by PID and start time."""


def _processes(items: Items, moment: str) -> Processes:
    """Return the processes at `moment`; none if the list is truncated, as a part would blame the wrong ones."""
    text = items.text(f"load.{moment}.processes") or ""
    if len(text.encode()) + 1 >= LONGEST_ITEM:  # the shell drops a line break at its end
        return {}
    return {
        (int(pid), int(start)): _Process(int(parent), int(user) + int(system), sum(map(int, used)), name)
        for pid, parent, user, system, *waited, start, name in _PROCESS.findall(text)
        if (used := (user, system, *waited))
    }


def _own(items: Items, processes: Processes) -> tuple[int | None, frozenset[int]]:
    """Return the PID of the client, which is Benchwright here or sshd on a remote host, and of all its descendants."""
    pids = [whole(part, 1) for part in (items.text("load.after.own") or "").split()]
    if len(pids) != 2 or pids[0] is None or pids[1] is None:
        return None, frozenset()
    own = {pids[0], *([pids[1]] if pids[1] > 1 else [])}
    children: dict[int, list[int]] = {}
    for (pid, _), process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    waiting = list(own)
    while waiting:
        below = [pid for pid in children.get(waiting.pop(), ()) if pid not in own]
        own.update(below)
        waiting += below
    return pids[1], frozenset(own)


def _own_ticks(items: Items) -> int:
    """Return the ticks that Benchwright used meanwhile: its client without children, and the processes below it."""
    before, after = (_processes(items, moment) for moment in _MOMENTS)
    client, own = _own(items, after)
    used = 0
    for key, process in after.items():
        if key[0] in own:
            earlier = before.get(key, _Process(0, 0, 0, ""))
            grown = process.ticks - earlier.ticks
            used += max(0, grown if key[0] == client else process.with_children - earlier.with_children)
    return used


def foreign_processes(items: Items, container: str | Absent) -> tuple[ProcessLoad, ...] | Absent:
    """Return the CPU use of others by name, the largest first, with what no process explains."""
    total, seconds = _cpu_ticks(items), watched_seconds(items)
    before, after = (_processes(items, moment) for moment in _MOMENTS)
    if isinstance(total, Absent) or isinstance(seconds, Absent) or not before or not after:
        return items.missing("load.after.processes", "no list of processes")
    _, own = _own(items, after)
    used: Counter[str] = Counter()
    for key, process in after.items():
        earlier = before.get(key)
        if key[0] not in own:
            used[process.name] += max(0, process.ticks - (0 if earlier is None else earlier.ticks))
    rest = total[1] - OWN_TICKS - _own_ticks(items) - sum(used.values())
    kernel_visible = any(pid == 2 and process.name == "kthreadd" for (pid, _), process in after.items())
    inside = (known(container) or "none") != "none"
    unnamed = SHORT_LIVED if kernel_visible else OUTSIDE if inside else HIDDEN  # hidepid of /proc hides the kernel's
    used[unnamed] += max(0, rest)
    return tuple(
        ProcessLoad(name=name, cpus=ticks * TICK / seconds)
        for given, ticks in used.most_common(MOST_LISTED)
        if ticks * TICK >= LEAST_CPUS * seconds and (name := text_line(given, 32))
    )


def foreign_disks(items: Items, disks: Disks) -> tuple[DiskLoad, ...] | Absent:
    """Return the use of each whole disk by others: its counters less the bytes of the script and its children."""
    seconds = watched_seconds(items)
    before, after = (_disk_counters(items, moment) for moment in _MOMENTS)
    if isinstance(seconds, Absent) or not before or not after:
        return items.missing("load.after.disks", "no disks in /proc/diskstats")
    own_read, own_written = (_own_bytes(items, name) for name in ("read_bytes", "write_bytes"))
    found: list[DiskLoad] = []
    for name in sorted(after):
        if name not in before or name not in disks.attributes or disks.below(name) != WHOLE_DISK:
            continue
        reads, read, writes, written = (max(0, b - a) for a, b in zip(before[name], after[name], strict=True))
        own = min(reads, own_read // PAGE) + min(writes, own_written // PAGE)
        found.append(
            DiskLoad(
                name=name,
                read=max(0, read * SECTOR - own_read) / seconds,
                written=max(0, written * SECTOR - own_written) / seconds,
                requests=(reads + writes - own) / seconds,
                own_requests=own / seconds,
            )
        )
    return tuple(found)


Counters = Mapping[str, tuple[int, int, int, int]]
"""Reads, sectors read, writes and sectors written, by disk."""


def _disk_counters(items: Items, moment: str) -> Counters:
    found: dict[str, tuple[int, int, int, int]] = {}
    for name, text in _DISK.findall(items.text(f"load.{moment}.disks") or ""):
        reads, _, read, _, writes, _, written = map(int, text.split()[:7])
        found[name] = (reads, read, writes, written)
    return found


def _own_bytes(items: Items, name: str) -> int:
    """Return the bytes that the script and its waited children moved at the block layer; 0 if not counted."""
    both = [re.search(rf"^{name}: (\d{{1,19}})$", items.text(f"load.{at}.io") or "", re.MULTILINE) for at in _MOMENTS]
    before, after = (0 if found is None else int(found[1]) for found in both)
    return max(0, after - before)
