"""Installed programs of suites, and the probe's short measurements."""

import re
from collections.abc import Iterable, Mapping, Sequence

from remote.facts.items import Items, number, text_line
from suites.facts import Absent, Tool
from suites.programs import Program

NOTHING = "-"
"""Placeholder of an empty argument of facts.sh: not every login shell passes an empty word on."""


KILLED = "Killed"
"""Text of the shell in place of a version: the program exceeded its time, as on a host under load."""


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
    printed = (items.text(f"tool.{name}") or "").splitlines()
    lines = [line for line in printed if line.strip() and line.strip() != KILLED]
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


def urandom_rate(items: Items) -> float | Absent:
    """Return the rate of /dev/urandom by dd's own output."""
    text = items.text("urandom")
    found = re.search(r"^([0-9]{1,12}) bytes .*copied, ([0-9.]{1,16}) s", text or "", re.MULTILINE)
    if found is None:
        return items.missing("urandom", "dd on this host prints no times")
    size, seconds = number(found[1]), number(found[2], 1e-6, 1e6)
    if not size or seconds is None:
        return Absent("dd on this host printed an invalid time")
    return size / seconds
