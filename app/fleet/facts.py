"""Facts in which a lemon differs from the other hosts of its group, and facts that separate two populations."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.hosts.facts_rows import MISSING, ComparedFact, compared_facts
from suites.facts import Facts

VOLATILE = (
    "System · Host name", "System · Boot ID", "System · Uptime", "System · Load, 1 minute", "System · Clock offset",
    "System · Address of this computer", "Cloud · Instance ID", "CPU · Frequency in the guest", "Memory · Available",
    "Memory · Swap used", "Measured by the probe",
)  # fmt: skip
"""Titles, or their beginnings, of facts that differ between any two hosts or readings."""

VOLATILE_ENDS = (
    " · Free", " · Free for this user", " · Serial", " · By id", " · Addresses", " · Written", " · Lifetime written",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DifferingFact:
    """A fact of a host: its value, the commonest value of the others, and how many others share its own value."""

    title: str
    value: str
    others: str
    sharing: int

    @property
    def text(self) -> str:
        """The fact as a line: ``CPU · Model: A; others: B``."""
        shared = f" (also on {self.sharing} other{'s' if self.sharing > 1 else ''})" if self.sharing else ""
        return f"{self.title}: {self.value}{shared}; others: {self.others}"


def is_volatile(title: str) -> bool:
    """Return whether a fact differs between any two hosts or readings, so that it explains nothing."""
    return title.startswith(VOLATILE) or title.endswith(VOLATILE_ENDS)


def _compared(hosts: Collection[str], facts: Mapping[str, Facts]) -> list[ComparedFact]:
    found = compared_facts([facts[host] for host in hosts])
    return [fact for fact in found if fact.differs and not is_volatile(fact.title) and not _is_of_paths(fact)]


def _is_of_paths(fact: ComparedFact) -> bool:
    """Return whether a fact is of a directory or device that only some hosts have under that path."""
    return fact.title.startswith(("Directories · ", "Raw devices · ")) and MISSING in fact.values


def differing_facts(host: str, facts: Mapping[str, Facts]) -> list[DifferingFact]:
    """Return the facts of `host` that most of the other hosts of `facts` do not share, those of no other host first."""
    if host not in facts:
        return []
    others = [name for name in facts if name != host]
    found = []
    for fact in _compared([host, *others], facts) if others else ():
        own, *rest = fact.values
        counts = Counter(rest)
        if 2 * counts[own] < len(rest) and counts.most_common(1)[0][1] > 1:  # else it differs on every host
            found.append(DifferingFact(fact.title, own, counts.most_common(1)[0][0], counts[own]))
    return sorted(found, key=lambda one: one.sharing)


def separating_facts(low: Sequence[str], high: Sequence[str], facts: Mapping[str, Facts]) -> list[ComparedFact]:
    """Return the facts that separate two populations: one value on all known hosts of `low`, another on all of `high`.

    `values` are the value of `low` and that of `high`.
    """
    sides = [[host for host in side if host in facts] for side in (low, high)]
    found = []
    for fact in _compared([*sides[0], *sides[1]], facts) if all(sides) else ():
        values = set(fact.values[: len(sides[0])]), set(fact.values[len(sides[0]) :])
        if len(values[0]) == len(values[1]) == 1 and values[0] != values[1]:
            found.append(ComparedFact(fact.title, (*values[0], *values[1]), differs=True))
    return found
