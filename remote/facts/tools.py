"""Installed programs of suites, and the probe's short measurements."""

import re
from collections.abc import Iterable, Mapping, Sequence

from remote.facts.items import Items, number, text_line, whole
from suites.facts import Absent, ProbeMeasurements, Tool
from suites.programs import Program

NOTHING = "-"
"""Placeholder of an empty argument of facts.sh: not every login shell passes an empty word on."""


def probe_arguments(programs: Iterable[Program]) -> tuple[str, ...]:
    """Return the arguments of facts.sh for `programs`: six per name, then ``--``."""
    found: list[str] = []
    for program in programs:
        lists = (program.version, program.engines)
        timed = "timed" if program.timed else ""
        for name in program.names:
            found += [name, program.sign, ":".join(program.search), *(" ".join(argv) for argv in lists), timed]
    return (*(argument or NOTHING for argument in found), "--")


def tools(items: Items, programs: Sequence[Program]) -> tuple[Tool, ...]:
    """Return a Tool for each name of each program; the values of a program that is not installed are absent."""
    started = {
        name: epoch
        for name in (*(name for program in programs if program.timed for name in program.names), "end")
        if (epoch := number(items.text(f"started.{name}"), high=1e11)) is not None
    }
    return tuple(_tool(items, program, name, started) for program in programs for name in program.names)


def _tool(items: Items, program: Program, name: str, started: Mapping[str, float]) -> Tool:
    absent = items.missing(f"tool.{name}")
    lines = [line for line in (items.text(f"tool.{name}") or "").splitlines() if line.strip()]
    first = lines[0] if lines else None
    version = text_line(next((line for line in lines if re.search(program.version_line, line)), first))
    path = text_line(items.text(f"tool.{name}.path"), 4096)
    return Tool(
        name=name,
        version=version or (absent if path is None else Absent("no version printed")),
        path=path or absent,
        start_up=_start_up(items, program, name, started),
        engines=_engines(items, program, name),
    )


def _engines(items: Items, program: Program, name: str) -> tuple[str, ...] | Absent:
    """Return the engines that the program lists below a heading, one per line."""
    listed = (items.text(f"engines.{name}") or "").splitlines()[1:]
    found = tuple(line.strip() for line in listed if re.fullmatch(r"\s*[A-Za-z0-9_-]{1,40}", line))
    reason = "no engines listed" if program.engines else "none"
    return found or items.missing(f"engines.{name}", reason)


def _start_up(items: Items, program: Program, name: str, started: Mapping[str, float]) -> float | Absent:
    """Return the seconds from the program's start to that of the next one, which starts when it has ended."""
    if name not in started:
        reason = items.missing(f"tool.{name}").reason if program.timed else "not timed"
        return items.missing(f"started.{name}", reason)
    later = [epoch - started[name] for epoch in started.values() if epoch > started[name]]
    return min(later) if later else Absent("the host's date is too coarse")


def measured(items: Items) -> ProbeMeasurements:
    """Return the rate of /dev/urandom by dd's own output, and the CPU use of other programs."""
    return ProbeMeasurements(urandom_rate=_urandom(items), foreign_cpu=_foreign_cpu(items))


def _urandom(items: Items) -> float | Absent:
    text = items.text("urandom")
    found = re.search(r"^([0-9]{1,12}) bytes .*copied, ([0-9.]{1,16}) s", text or "", re.MULTILINE)
    if found is None:
        return items.missing("urandom", "dd on this host prints no times")
    size, seconds = number(found[1]), number(found[2], 1e-6, 1e6)
    if not size or seconds is None:
        return Absent("dd on this host printed an invalid time")
    return size / seconds


IDLE = (3, 4)
"""Positions of idle and iowait in the cpu line of /proc/stat (proc(5))."""

CLIENT_TICKS = 1
"""Ticks allowed for starting the probe's own sleep."""


def _foreign_cpu(items: Items) -> float | Absent:
    """Return the CPU use of others while the probe slept: busy ticks less our own, as a fraction of all CPUs."""
    before, after = (_ticks(items.text(f"idle.{moment}")) for moment in ("before", "after"))
    if before is None or after is None or len(before) != len(after):
        return items.missing("idle.after", "unknown format of /proc/stat")
    grown = [later - earlier for earlier, later in zip(before, after, strict=True)]
    total, busy = sum(grown), sum(ticks for index, ticks in enumerate(grown) if index not in IDLE)
    if total <= 0 or min(grown) < -1:  # idle and iowait may decrease by a tick (proc(5))
        return Absent("the ticks in /proc/stat did not grow")
    return max(0, busy - CLIENT_TICKS - _client_ticks(items)) / total


USED = slice(11, 13)
"""Positions of utime and stime in /proc/PID/stat after the name (proc(5))."""


def _client_ticks(items: Items) -> int:
    """Return the ticks that the probe's client used meanwhile; 0 if unknown.

    The client is Benchwright itself on this computer, and sshd on a remote host.
    """
    texts = [items.text(f"idle.{moment}.own") or "" for moment in ("before", "after")]
    used = [[whole(field) for field in text.rpartition(")")[2].split()[USED]] for text in texts]
    before, after = (sum(ticks for ticks in each if ticks is not None) if len(each) == 2 else None for each in used)
    return 0 if before is None or after is None else max(0, after - before)


def _ticks(text: str | None) -> list[int] | None:
    """Return user, nice, system, idle, iowait, irq, softirq and steal; user and nice include the guest times."""
    fields = (text or "").split()
    found = [whole(field) for field in fields[1:9]]
    if not fields or fields[0] != "cpu" or len(found) < 8 or None in found:
        return None
    return [ticks for ticks in found if ticks is not None]
