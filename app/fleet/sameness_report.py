"""The facts that differ within groups of hosts as text, JSON and rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from app.fleet.sameness import DifferingFact, FactValue, GroupSameness
from suites.quantities import count_text, listed

FORMAT = "benchwright-sameness/1"

COLUMNS = ("group", "fact", "host", "value", "departs")
"""The columns of the CSV file, which has a row for each value of a host."""

MOST_HOSTS = 3
"""Hosts that a text names of a value."""

MOST_DEPARTING = 10
"""Hosts that are listed by how far they depart, by default."""

MOST_FACTS = 6
"""Facts that a text names of a host."""

LONGEST_VALUE = 120
"""Of a value in a text, in characters."""

Problems = Mapping[str, str]
"""Why hosts were not read."""


class FactValueJson(TypedDict):
    """A value, or the reason of an absent one, with its hosts."""

    value: str
    hosts: list[str]


class DifferingFactJson(TypedDict):
    """A fact with several values, the most frequent first; `usual` is null if no value has more hosts than another."""

    fact: str
    usual: str | None
    values: list[FactValueJson]


class UnreadFactJson(TypedDict):
    """A fact that some hosts lack: the reasons with their hosts."""

    fact: str
    reasons: list[FactValueJson]


class HostDepartureJson(TypedDict):
    """A host with the facts in which it departs; `score` is the sum of the shares of hosts with another value."""

    host: str
    score: float
    facts: list[str]


class GroupSamenessJson(TypedDict):
    """A group with what differs in it; the odd host is the first of `departures`.

    `one_machine` are hosts that report one boot ID.
    """

    group: str
    hosts: list[str]
    differing: list[DifferingFactJson]
    not_read: list[UnreadFactJson]
    departures: list[HostDepartureJson]
    one_machine: list[list[str]]


class SamenessJson(TypedDict):
    """The groups, and why hosts were not read, by host."""

    format: Annotated[str, FORMAT]
    groups: list[GroupSamenessJson]
    problems: Mapping[str, str]


def sameness_to_json(groups: Iterable[GroupSameness], problems: Problems) -> SamenessJson:
    """Return the public JSON of groups."""
    return {"format": FORMAT, "groups": [_group_to_json(one) for one in groups], "problems": dict(problems)}


def _group_to_json(one: GroupSameness) -> GroupSamenessJson:
    return {
        "group": one.name,
        "hosts": list(one.hosts),
        "differing": [
            {"fact": fact.title, "usual": fact.usual, "values": _values_to_json(fact.values)} for fact in one.differing
        ],
        "not_read": [{"fact": fact.title, "reasons": _values_to_json(fact.reasons)} for fact in one.unread],
        "departures": [
            {"host": each.host, "score": round(each.score, 6), "facts": list(each.facts)} for each in one.departures
        ],
        "one_machine": [list(names) for names in one.machines],
    }


def _values_to_json(values: Iterable[FactValue]) -> list[FactValueJson]:
    return [{"value": value.text, "hosts": list(value.hosts)} for value in values]


def sameness_rows(groups: Iterable[GroupSameness]) -> Iterator[dict[str, Any]]:
    """Yield a row of COLUMNS for each host and fact that differs in its group."""
    for group in groups:
        for fact in group.differing:
            departing = fact.departures
            for value in fact.values:
                for host in value.hosts:
                    departs = "yes" if host in departing else "no"
                    cells = (group.name, fact.title, host, value.text, departs)
                    yield dict(zip(COLUMNS, cells, strict=True))


def summary_text(one: GroupSameness) -> str:
    """Return a headline, such as ``c5: 8 hosts, 3 facts differ.``, the odd host, names of one machine."""
    counted = f"{one.name}: {count_text(len(one.hosts), 'host')}"
    if len(one.hosts) < 2:
        return f"{counted}, nothing to compare.{_machines_text(one)}"
    if not one.differing:
        return f"{counted}, no fact differs.{_machines_text(one)}"
    verb = "differs" if len(one.differing) == 1 else "differ"
    odd = f" The odd host is {one.departures[0].host}." if _has_odd_host(one) else ""
    return f"{counted}, {count_text(len(one.differing), 'fact')} {verb}.{odd}{_machines_text(one)}"


def _machines_text(one: GroupSameness) -> str:
    """Return the names of one machine: `` One machine by boot ID: web-1 and web-2.``; empty without any."""
    found = [listed(hosts, MOST_HOSTS) for hosts in one.machines[:MOST_HOSTS]]
    more = [f"{len(one.machines) - MOST_HOSTS} more"] if len(one.machines) > MOST_HOSTS else []
    return f" One machine by boot ID: {'; '.join([*found, *more])}." if found else ""


def _has_odd_host(one: GroupSameness) -> bool:
    """Return whether one host departs more than any other; of two hosts none does."""
    first, second = [*one.departures, None, None][:2]
    return first is not None and len(one.hosts) > 2 and (second is None or first.score > second.score)


def departure_rows(one: GroupSameness, most: int) -> list[list[str]]:
    """Return rows of the `most` hosts that depart the most: host, number of facts, and their names."""
    return [
        [each.host, str(len(each.facts)), listed([_short(fact) for fact in each.facts], MOST_FACTS)]
        for each in one.departures[:most]
    ]


def _short(title: str) -> str:
    """Return a title without the name of its group where that is clear: ``Kernel``, ``vda · Scheduler``."""
    group, mark, rest = title.partition(" · ")
    return rest if mark and group in {"System", "CPU", "Block devices", "Tools", "Network interfaces"} else title


def fact_value_rows(one: GroupSameness) -> list[list[str]]:
    """Return a row for each value of each fact: title, value, number of hosts, and some of their names."""
    rows = []
    for fact in one.differing:
        texts = value_texts(fact)
        for number, value in enumerate(fact.values):
            title = fact.title if number == 0 else ""
            rows.append([title, texts[number], str(len(value.hosts)), listed(value.hosts, MOST_HOSTS)])
    return rows


def value_texts(fact: DifferingFact) -> list[str]:
    """Return the values; of long lists of words only the words that not all have, after an ellipsis."""
    texts = [value.text for value in fact.values]
    if max(map(len, texts)) > LONGEST_VALUE // 2:
        words = [text.replace(",", " ").split() for text in texts]
        common = set.intersection(*map(set, words))
        texts = [" ".join(["…", *(word for word in each if word not in common)]) for each in words] if common else texts
    return [text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…" for text in texts]


def unread_lines(one: GroupSameness) -> Sequence[str]:
    """Return a line for each fact that some hosts lack: ``Tools · fio: not installed (web-3)``."""
    return [
        f"{fact.title}: " + "; ".join(f"{each.text} ({listed(each.hosts, MOST_HOSTS)})" for each in fact.reasons)
        for fact in one.unread
    ]
