"""The benchmark tools a host has, and the short measurement the probe takes with one of them."""

import re

from remote.facts.items import Items
from remote.facts.values import number, word
from suites.facts import Absent, Measured, Tool

PLACED = ("unixbench", "geekbench", "speccpu")
"""Tools that no package brings: their path is the folder they were found in."""

TOOLS = ("fio", "sysbench", "iperf3", "dd", "stress-ng", "ioping", "hpcc", "mpirun", "cc", "gcc", "python3")
"""The tools that facts.sh looks for."""


def tools(items: Items) -> tuple[Tool, ...]:
    """Return every tool looked for; one that is not installed is absent."""
    return tuple(_tool(items, name) for name in (*TOOLS, *PLACED))


def _tool(items: Items, name: str) -> Tool:
    absent = items.missing(f"tool.{name}")
    lines = [line for line in (items.text(f"tool.{name}") or "").splitlines() if line.strip()]
    telling = next((line for line in lines if re.search(r"[0-9]\.[0-9]", line)), lines[0] if lines else None)
    version = word(telling)
    if version is None and items.text(f"tool.{name}.path"):
        version_absent = Absent("it does not tell its version")
        return Tool(name=name, version=version_absent, path=word(items.text(f"tool.{name}.path"), 4096) or absent)
    return Tool(name=name, version=version or absent, path=word(items.text(f"tool.{name}.path"), 4096) or absent)


def measured(items: Items) -> Measured:
    """Return the rate at which dd read /dev/urandom, from the bytes and seconds dd itself printed."""
    text = items.text("urandom")
    found = re.search(r"^([0-9]{1,12}) bytes .*copied, ([0-9.]{1,16}) s", text or "", re.MULTILINE)
    if found is None:
        return Measured(urandom_rate=items.missing("urandom", "dd on this host prints no times"))
    size, seconds = number(found[1]), number(found[2], 1e-6, 1e6)
    if not size or seconds is None:
        return Measured(urandom_rate=Absent("dd on this host printed a time that cannot be"))
    return Measured(urandom_rate=size / seconds)
