"""The benchmark tools a host has, and the short measurement the probe takes with one of them."""

import re

from remote.facts.items import Items
from remote.facts.values import number, whole, word
from suites.facts import Absent, Measured, Tool

PLACED = ("unixbench", "geekbench", "speccpu")
"""Tools that no package brings: their path is the folder they were found in."""

STARTED = ("fio", "sysbench", "iperf3", "dd", "cp", "ioping", "stress-ng")
"""The tools that facts.sh starts once for its time, in this order."""

TOOLS = (
    "fio",
    "sysbench",
    "pgbench",
    "iperf3",
    "dd",
    "cp",
    "stress-ng",
    "ioping",
    "hpcc",
    "mpirun",
    "cc",
    "gcc",
    "make",
    "perl",
    "postgres",
    "mariadbd",
    "python3",
)
"""The tools that facts.sh looks for."""


def tools(items: Items) -> tuple[Tool, ...]:
    """Return every tool looked for; one that is not installed is absent."""
    return tuple(_tool(items, name) for name in (*TOOLS, *PLACED))


def _tool(items: Items, name: str) -> Tool:
    absent = items.missing(f"tool.{name}")
    lines = [line for line in (items.text(f"tool.{name}") or "").splitlines() if line.strip()]
    telling = next((line for line in lines if re.search(r"[0-9]\.[0-9]", line)), lines[0] if lines else None)
    version = word(telling)
    path = word(items.text(f"tool.{name}.path"), 4096)
    if version is None and path is not None:
        version_absent = Absent("it does not tell its version")
        return Tool(name=name, version=version_absent, path=path, start_up=_start_up(items, name, absent))
    return Tool(
        name=name,
        version=version or absent,
        path=path or absent,
        start_up=_start_up(items, name, absent),
        engines=_engines(items, name),
    )


def _engines(items: Items, name: str) -> tuple[str, ...] | Absent:
    """Return the engines that fio lists below its heading, one to a line."""
    listed = (items.text(f"engines.{name}") or "").splitlines()[1:]
    found = tuple(line.strip() for line in listed if re.fullmatch(r"\s*[A-Za-z0-9_-]{1,40}", line))
    return found or items.missing(f"engines.{name}", "it does not list its engines" if name == "fio" else "it has none")


def _start_up(items: Items, name: str, absent: Absent) -> float | Absent:
    """Return the seconds from the tool's start to the next one's, which began when it had ended."""
    moments = {tool: number(items.text(f"started.{tool}"), high=1e11) for tool in (*STARTED, "end")}
    if moments.get(name) is None:
        return items.missing(f"started.{name}", absent.reason if name in STARTED else "it is not timed")
    later = sorted(moment for moment in moments.values() if moment is not None and moment > (moments[name] or 0))
    return later[0] - (moments[name] or 0) if later else Absent("the host's date is too coarse")


def measured(items: Items) -> Measured:
    """Return the rate at which dd read /dev/urandom, from the bytes and seconds dd itself printed."""
    return Measured(urandom_rate=_urandom(items), foreign_cpu=_foreign_cpu(items))


def _urandom(items: Items) -> float | Absent:
    text = items.text("urandom")
    found = re.search(r"^([0-9]{1,12}) bytes .*copied, ([0-9.]{1,16}) s", text or "", re.MULTILINE)
    if found is None:
        return items.missing("urandom", "dd on this host prints no times")
    size, seconds = number(found[1]), number(found[2], 1e-6, 1e6)
    if not size or seconds is None:
        return Absent("dd on this host printed a time that cannot be")
    return size / seconds


IDLE = (3, 4)
"""Where /proc/stat has the ticks in which a CPU was idle, and idle while I/O was awaited (proc(5))."""

OWN_TICKS = 1
"""Ticks that starting the probe's own sleep may have taken."""


def _foreign_cpu(items: Items) -> float | Absent:
    """Return the share of all CPUs that was in use while the probe slept."""
    before, after = (_ticks(items.text(f"idle.{moment}")) for moment in ("before", "after"))
    if before is None or after is None or len(before) != len(after):
        return items.missing("idle.after", "/proc/stat on this host is not as proc(5) has it")
    grown = [later - earlier for earlier, later in zip(before, after, strict=True)]
    total, busy = sum(grown), sum(ticks for place, ticks in enumerate(grown) if place not in IDLE)
    if total <= 0 or min(grown) < -1:  # idle and iowait may step back by a tick
        return Absent("the ticks in /proc/stat did not grow")
    return max(0, busy - OWN_TICKS - _own_ticks(items)) / total


USED = slice(11, 13)
"""Where /proc/PID/stat has the ticks that a process itself used, behind its name (proc(5), utime and stime)."""


def _own_ticks(items: Items) -> int:
    """Return the ticks that whoever asks used meanwhile; 0 where they cannot be told.

    On this computer that is Benchwright, whose window may just be painting; elsewhere, what serves the connection.
    """
    told = [items.text(f"idle.{moment}.own") or "" for moment in ("before", "after")]
    used = [[whole(word_) for word_ in text.rpartition(")")[2].split()[USED]] for text in told]
    before, after = (sum(ticks for ticks in each if ticks is not None) if len(each) == 2 else None for each in used)
    return 0 if before is None or after is None else max(0, after - before)


def _ticks(text: str | None) -> list[int] | None:
    """Return user, nice, system, idle, iowait, irq, softirq and steal; guests are counted in user already."""
    words = (text or "").split()
    found = [whole(word_) for word_ in words[1:9]]
    if not words or words[0] != "cpu" or len(found) < 8 or None in found:
        return None
    return [ticks for ticks in found if ticks is not None]
