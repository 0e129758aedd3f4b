"""Facts that differ within a group of hosts, and how far each host departs from the others."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.host_attributes import HostAttributes
from app.hosts.facts_rows import ABSENT_TEXT, fact_rows, flat_facts
from app.natural_order import natural_key
from suites.facts import NONE, Facts, known

ALL_GROUPS = "all groups"
"""The hosts of every group as one."""

MISSING = "missing"
"""The value of a device or interface on hosts that do not have it."""

_FIRST = (
    "System · Kernel", "System · Kernel command line", "CPU · Microcode", "CPU · Mitigations", "CPU · Model",
    "Cloud · Instance type", "Inventory", "CPU · Threads", "CPU · Usable threads", "CPU · Governor",
    "CPU · Maximum frequency", "CPU · Frequency in the guest", "CPU · Boost", "CPU", "Memory · Total",
    "Memory · Transparent huge pages", "Memory", "System · Distribution", "System · Clock source", "System",
    "Block devices", "File systems", "Directories", "Tools", "Network interfaces", "Cloud",
)  # fmt: skip
"""Facts by relevance to a benchmark: the longest title of these with which that of a fact begins counts."""

_NEVER = re.compile(
    r"System · (Host name|Boot ID|Uptime|Load, 1 minute|Clock offset|User|Address of this computer)"
    r"|Cloud · Instance ID|Cloud limits.*|Raw devices.*|Measured by the probe.*"
    r"|Memory · (Available|Swap used)"
    r"|Block devices · (loop|ram|zram)\d+.*|Block devices · .* · (Serial|Backing file)"
    r"|Network interfaces · (lo|ifb|veth|docker|br-|virbr|cali|flannel|tap|tun).*"
    r"|Network interfaces · .* · Addresses"
    r"|(File systems|Directories) · .* · (Free for this user|File|Guard)"
    r"|Tools · .* · (Path|Start up)"
)
"""Facts that differ between any two hosts, or at each reading, and say nothing about a result."""

_LISTED = ("Block devices", "File systems", "Network interfaces")
"""Groups whose entries a host may have or not. Those of tools and directories are absent with a reason."""

_OF_ONE_BOOT = re.compile(r"\b(root|resume|BOOT_IMAGE)=\S+|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_OF_TMPFS = re.compile(r",?\b(size|nr_inodes)=\d+[kmg]?", re.IGNORECASE)

_CORES = "CPU · Usable cores"

_ATTRIBUTES = {"instance_type": "Type", "zone": "Zone", "image": "Image", "storage": "Storage"}


@dataclass(frozen=True, slots=True)
class FactValue:
    """A value of a fact, or the reason of an absent one, with the hosts that have it, in natural order."""

    text: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DifferingFact:
    """A fact with several values in a group, the most frequent first. `usual` is that value, None if it has a tie."""

    title: str
    values: tuple[FactValue, ...]

    @property
    def usual(self) -> str | None:
        """The value of more hosts than any other has."""
        first, second, *_ = self.values
        return first.text if len(first.hosts) > len(second.hosts) else None

    @property
    def departures(self) -> dict[str, float]:
        """The hosts without the usual value (with a tie, all), each with the share of hosts that have another one."""
        total = sum(len(value.hosts) for value in self.values)
        return {
            host: 1 - len(value.hosts) / total
            for value in self.values
            if value.text != self.usual
            for host in value.hosts
        }


@dataclass(frozen=True, slots=True)
class UnreadFact:
    """A fact that some hosts of a group have and others have not: the reasons of the latter."""

    title: str
    reasons: tuple[FactValue, ...]


@dataclass(frozen=True, slots=True)
class HostDeparture:
    """A host with the facts in which it departs. `score` is the sum of the shares of hosts with another value."""

    host: str
    score: float
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupSameness:
    """A group: the facts that differ and those that are not read everywhere, by relevance.

    `departures` are the hosts that depart, by their score: that with the most and the rarest values is first.
    `machines` are hosts, also of other groups, that report one boot ID: names of one kernel, which counts as several.
    """

    name: str
    hosts: tuple[str, ...]
    differing: tuple[DifferingFact, ...]
    unread: tuple[UnreadFact, ...]
    departures: tuple[HostDeparture, ...]
    machines: tuple[tuple[str, ...], ...] = ()


def sameness_of(
    groups: Mapping[str, Mapping[str, Facts]],
    attributes: Mapping[str, HostAttributes] | None = None,
    *,
    across: bool = False,
) -> tuple[GroupSameness, ...]:
    """Return for each group of hosts which facts differ; `across` adds the hosts of ALL_GROUPS.

    `attributes` are those of the inventory, which are compared like facts. An absent fact never differs.
    """
    whole = {host: facts for group in groups.values() for host, facts in group.items()}
    values = {host: _values(facts, (attributes or {}).get(host, HostAttributes())) for host, facts in whole.items()}
    named = {**groups, ALL_GROUPS: whole} if across and len(groups) > 1 else groups
    machines = _machines(whole)
    return tuple(
        replace(
            _group(name, {host: values[host] for host in hosts}),
            machines=tuple(names for names in machines if set(names) & hosts.keys()),
        )
        for name, hosts in named.items()
    )


def _machines(whole: Mapping[str, Facts]) -> list[tuple[str, ...]]:
    """Return the hosts that report the boot ID of another one, by boot ID: each boot of a kernel has another."""
    hosts = dict[str, list[str]]()
    for host in sorted(whole, key=natural_key):
        if boot := known(whole[host].system.boot_id):
            hosts.setdefault(boot, []).append(host)
    return [tuple(names) for names in hosts.values() if len(names) > 1]


def _values(facts: Facts, attributes: HostAttributes) -> dict[str, str]:
    """Return the comparable facts of a host by title."""
    stated = {f"Inventory · {title}": getattr(attributes, name) for name, title in _ATTRIBUTES.items()}
    found = {title: value for title, value in stated.items() if value}
    for title, value in flat_facts(fact_rows(facts)):
        if title.startswith(f"{_CORES} · "):  # one fact, not one of each core
            core = f"{title.removeprefix(f'{_CORES} · ')}: {value}"
            found[_CORES] = f"{found[_CORES]}; {core}" if _CORES in found else core
        elif not _NEVER.fullmatch(title):
            found[title] = _comparable(title, value)
    return found


def _comparable(title: str, value: str) -> str:
    """Return a value without what differs between boots or disks of the same image."""
    if title == "System · Kernel command line":
        return " ".join(_OF_ONE_BOOT.sub("", value).split())
    return _OF_TMPFS.sub("", value) if title.startswith("File systems") else value


def _group(name: str, values: Mapping[str, Mapping[str, str]]) -> GroupSameness:
    titles = dict.fromkeys(title for one in values.values() for title in one)
    differing, unread = list[DifferingFact](), list[UnreadFact]()
    for title in sorted(_entries(titles), key=_relevance):
        known, absent = _known_and_absent(title, values)
        if len(known) > 1:
            differing.append(DifferingFact(title, known))
        if known and absent:
            unread.append(UnreadFact(title, absent))
    ordered = tuple(sorted(values, key=natural_key))
    return GroupSameness(name, ordered, tuple(differing), _outermost(unread), _departures(differing))


def _entries(titles: Iterable[str]) -> Iterable[str]:
    """Return the titles with one for each device, file system and interface, which a host may not have."""
    found = dict.fromkeys(titles)
    found.update((_entry(title), None) for title in titles if _entry(title))
    return found


def _entry(title: str) -> str:
    """Return the title of the entry to which a fact belongs: ``Block devices · vda``; empty if to none."""
    parts = title.split(" · ")
    return " · ".join(parts[:2]) if len(parts) > 2 and parts[0] in _LISTED else ""


def _known_and_absent(
    title: str, values: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[FactValue, ...], tuple[FactValue, ...]]:
    known, absent = dict[str, list[str]](), dict[str, list[str]]()
    for host in sorted(values, key=natural_key):
        value = _value(title, values[host])
        if value is None:
            continue
        text = value.removeprefix(ABSENT_TEXT).removesuffix(")") if value.startswith(ABSENT_TEXT) else value
        (known if text == value or text in NONE else absent).setdefault(text, []).append(host)
    return _by_frequency(known), _by_frequency(absent)


def _value(title: str, own: Mapping[str, str]) -> str | None:
    """Return the value of a host, absent for the reason of the group above; None if it has nothing to compare."""
    if title in own:
        return own[title]
    parts = title.split(" · ")
    if len(parts) == 2 and parts[0] in _LISTED:  # an entry as a whole
        return "present" if any(other.startswith(f"{title} · ") for other in own) else MISSING
    above = (" · ".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((own[one] for one in above if own.get(one, "").startswith(ABSENT_TEXT)), None)


def _by_frequency(hosts: Mapping[str, list[str]]) -> tuple[FactValue, ...]:
    ordered = sorted(hosts.items(), key=lambda one: (-len(one[1]), natural_key(one[0])))
    return tuple(FactValue(text, tuple(names)) for text, names in ordered)


def _outermost(unread: Iterable[UnreadFact]) -> tuple[UnreadFact, ...]:
    """Return the facts with one for those of a tool, device or cloud that the same hosts lack for the same reasons."""
    found: dict[tuple[str, tuple[FactValue, ...]], UnreadFact] = {}
    for one in unread:
        above, _, _ = one.title.rpartition(" · ")
        whole = above if " · " in above or above == "Cloud" else one.title
        key = (whole, one.reasons)
        found[key] = UnreadFact(whole, one.reasons) if key in found else one
    return tuple(found.values())


def _departures(differing: Iterable[DifferingFact]) -> tuple[HostDeparture, ...]:
    scores, facts = dict[str, float](), dict[str, list[str]]()
    for fact in differing:
        for host, share in fact.departures.items():
            scores[host] = scores.get(host, 0.0) + share
            facts.setdefault(host, []).append(fact.title)
    found = [HostDeparture(host, score, tuple(facts[host])) for host, score in scores.items()]
    return tuple(sorted(found, key=lambda one: (-one.score, natural_key(one.host))))


def _relevance(title: str) -> int:
    """Return the place of a fact in _FIRST; facts of the same place stay in the order of their reading."""
    matching = [one for one in _FIRST if title == one or title.startswith(f"{one} · ")]
    return _FIRST.index(max(matching, key=len)) if matching else len(_FIRST)
