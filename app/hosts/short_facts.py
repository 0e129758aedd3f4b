"""The facts that tell hosts apart at a glance, as short texts; empty where unknown."""

import re
from collections.abc import Callable
from typing import Any

from suites.facts import Absent, Facts, known, virtualisation_of
from suites.quantities import count_text, offset_text, quantity

_DISTRIBUTION_NOISE = re.compile(r"\s*\([^)]*\)$")


def cpu_text(facts: Facts) -> str:
    """Return the number of usable CPUs: ``8 vCPU``."""
    usable = known(facts.cpu.usable)
    return "" if usable is None else f"{usable} vCPU"


def memory_text(facts: Facts) -> str:
    """Return the size of the memory: ``15.4 GiB``."""
    total = known(facts.memory.total)
    return "" if total is None else quantity(total)


def system_text(facts: Facts) -> str:
    """Return the distribution: ``Debian 12``."""
    return _DISTRIBUTION_NOISE.sub("", known(facts.system.distribution) or "").replace(" GNU/Linux", "")


def clock_text(facts: Facts) -> str:
    """Return the offset of the host's clock from this computer's with its range: ``+0.20 (−0.22 to +0.62) ms``."""
    offset = known(facts.system.clock_offset)
    return "" if offset is None else offset_text(offset, known(facts.system.clock_offset_uncertainty))


def short_facts(facts: Facts) -> str:
    """Return a host in one line: ``8 vCPU · 15.4 GiB · Debian 12``; unknown facts are omitted."""
    parts = [cpu_text(facts), memory_text(facts), system_text(facts), known(facts.cloud.instance_type) or ""]
    return " · ".join(part for part in parts if part) or "no facts"


def host_text(facts: Facts | None) -> str:
    """Return the main facts of a host in one line."""
    if facts is None:
        return "no facts"
    found: tuple[tuple[Any, Callable[[Any], str]], ...] = (
        (facts.cloud.instance_type, str),
        (facts.cpu.model, str),
        (facts.cpu.threads, lambda threads: count_text(threads, "CPU")),
        (facts.memory.total, quantity),
        (facts.system.distribution, str),
        (facts.system.kernel, "kernel {}".format),
        (virtualisation_of(facts), "on {}".format),
    )
    texts = [text(fact) for fact, text in found if not isinstance(fact, Absent) and fact not in {"none", None}]
    return ", ".join(texts) or "no known facts"
