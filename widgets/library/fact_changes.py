"""What a run changed on a host: facts that read otherwise after it than before. No Qt."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from suites.facts import Facts
from widgets.hosts.facts_rows import Row, fact_rows

_PASSES_BY_ITSELF = {"System · Uptime"}
"""Facts that no run leaves alone; to tell them would hide what matters."""

_NOT_THERE = "not there"
_ABSENT = "absent ("


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that reads otherwise; an absent value is the reason in brackets."""

    title: str
    before: str
    after: str


def changes(before: Facts, after: Facts) -> list[Change]:
    """Return the facts that read otherwise in `after`, in the order in which a benchmark asks for them."""
    one, two = dict(_flat(fact_rows(before))), dict(_flat(fact_rows(after)))
    pairs = ((title, one.get(title), two.get(title)) for title in dict.fromkeys([*one, *two]))
    return [
        Change(title, was or _NOT_THERE, becomes or _NOT_THERE)
        for title, was, becomes in pairs
        if _tells(was, becomes) and title not in _PASSES_BY_ITSELF
    ]


def _tells(was: str | None, becomes: str | None) -> bool:
    """Whether two values differ; of what is there only once, that it could not be read tells nothing."""
    alone = was or becomes if was is None or becomes is None else None
    return was != becomes and not (alone or "").startswith(_ABSENT)


def _flat(rows: Iterable[Row], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield every fact with its whole title; a group that only sums its children up is left out."""
    for row in rows:
        title = f"{above} · {row.title}" if above else row.title
        if row.children:
            yield from _flat(row.children, title)
        else:
            yield title, f"{_ABSENT}{row.value})" if row.absent else row.value
