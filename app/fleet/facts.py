"""Facts in which a lemon differs from the other hosts of its group, and facts that separate two populations."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from app.fleet.sameness import DifferingFact, sameness_of
from app.fleet.study import FleetMetric
from suites.facts import Facts


@dataclass(frozen=True, slots=True)
class LemonFact:
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


@dataclass(frozen=True, slots=True)
class SeparatingFact:
    """A fact that has one value on all hosts of a population, `low`, and another on all of the other, `high`."""

    title: str
    low: str
    high: str

    @property
    def text(self) -> str:
        """The fact as a line: ``CPU · Model: A on the lower level, B on the higher``."""
        return f"{self.title}: {self.low} on the lower level, {self.high} on the higher"


def _differing(facts: Mapping[str, Facts]) -> tuple[DifferingFact, ...]:
    (group,) = sameness_of({"": facts})
    return group.differing


def differing_facts(host: str, facts: Mapping[str, Facts]) -> list[LemonFact]:
    """Return the facts of `host` that most of the other hosts of `facts` do not share, those of no other host first."""
    found = []
    for fact in _differing(facts):
        own = next((value for value in fact.values if host in value.hosts), None)
        rest = [value for value in fact.values if value is not own]
        others = sum(len(value.hosts) for value in rest)
        if own is not None and len(own.hosts) <= others and len(rest[0].hosts) > 1:  # else it differs on every host
            found.append(LemonFact(fact.title, own.text, rest[0].text, len(own.hosts) - 1))
    return sorted(found, key=lambda one: one.sharing)


def differing_versions(host: str, metrics: Iterable[FleetMetric]) -> list[LemonFact]:
    """Return the versions of tools on `host` that most of the other hosts of its group do not have, one a step."""
    found = {}
    for one in metrics:
        group = next((own for own in one.groups.values() if host in own), {})
        texts = {each: " and ".join(sorted(one.record.versions.get(each, ()))) for each in group}
        own, others = texts.get(host), Counter(text for each, text in texts.items() if each != host and text)
        if own and others and 2 * others[own] < others.total():
            found[one.step] = LemonFact(f"Tool of {one.step}", own, others.most_common(1)[0][0], others[own])
    return list(found.values())


def separating_facts(low: Collection[str], high: Collection[str], facts: Mapping[str, Facts]) -> list[SeparatingFact]:
    """Return the facts that separate two populations, on all of their hosts that have facts."""
    sides = [frozenset(host for host in side if host in facts) for side in (low, high)]
    found = []
    for fact in _differing({host: facts[host] for side in sides for host in sorted(side)}) if all(sides) else ():
        by_hosts = {frozenset(value.hosts): value.text for value in fact.values}
        if by_hosts.keys() == set(sides):
            found.append(SeparatingFact(fact.title, by_hosts[sides[0]], by_hosts[sides[1]]))
    return found
