"""Every check there is, by family, each with a page of help that is made from the very words of its findings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.checks import HOST_CHECKS, OF_EVERY_SUITE, PLAN_CHECKS
from app.checks.after import FAMILIES as AFTER
from app.checks.during import FAMILIES as DURING
from app.checks.raised import RAISED_CHECKS
from suites.checks import Check, When
from suites.errors import BenchwrightError
from suites.registry import SUITES
from suites.vocab import Level

AnyCheck = Check[Any]


class UnknownCheckError(BenchwrightError):
    """There is no check of that id."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A check in one wording, and the ids of the suites that speak so; none where it holds for all."""

    check: AnyCheck
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalogue has under one id: one wording, or several where suites speak in their own words."""

    id: str
    family: str
    wordings: tuple[Wording, ...]

    @property
    def level(self) -> Level:
        """The gravest level that a wording begins at."""
        return max((each.check.level for each in self.wordings), key=lambda level: level.rank)

    @property
    def title(self) -> str:
        """The title of the first wording."""
        return self.wordings[0].check.title

    @property
    def when(self) -> str:
        """When it speaks."""
        return self.wordings[0].check.when.value

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites it belongs to; none where it holds for all."""
        return tuple(dict.fromkeys(suite for each in self.wordings for suite in each.suites))


def _families() -> tuple[tuple[str, tuple[AnyCheck, ...]], ...]:
    """Return the families that belong to no suite: an explicit list, to which a new family is one line."""
    return (
        ("The plan", PLAN_CHECKS),
        ("The host", HOST_CHECKS),
        ("Every test", OF_EVERY_SUITE),
        ("While it runs", RAISED_CHECKS),
        *DURING,
        *AFTER,
    )


@cache
def catalogue() -> tuple[Entry, ...]:
    """Return every check, in the order of the families; an id that several suites use stands once."""
    found: dict[str, Entry] = {}
    for family, suite, check in _all():
        entry = found.get(check.id) or Entry(check.id, family, ())
        found[check.id] = Entry(check.id, entry.family, tuple(_with(entry.wordings, check, suite)))
    return tuple(found.values())


def before_ids() -> frozenset[str]:
    """Return the ids of the checks that speak before a run."""
    return frozenset(each.id for each in catalogue() if each.when == When.BEFORE.value)


def entry(check_id: str) -> Entry:
    """Return the entry of a check; raise UnknownCheckError where there is none."""
    for found in catalogue():
        if found.id == check_id:
            return found
    raise UnknownCheckError(f"There is no check “{check_id[:60]}”.", "List them with: benchwright checks")


def _all() -> Iterator[tuple[str, str, AnyCheck]]:
    for family, checks in _families():
        for check in checks:
            yield family, "", check
    for suite in SUITES:
        for check in suite.checks:
            yield suite.title, suite.id, check


def _with(wordings: Iterable[Wording], check: AnyCheck, suite: str) -> Iterator[Wording]:
    """Yield `wordings` with `suite` in the one that has the words of `check`, or in a new one."""
    own = (suite,) if suite else ()
    new = True
    for each in wordings:
        if _words(each.check) == _words(check):
            new = False
            yield Wording(each.check, tuple(dict.fromkeys((*each.suites, *own))))
        else:
            yield each
    if new:
        yield Wording(check, own)


def _words(check: AnyCheck) -> tuple[str, ...]:
    return (check.title, check.level.value, check.why, check.remedy, check.source, check.needs)


def page(found: Entry) -> str:
    """Return the page of help of one entry, in Markdown."""
    parts = [f"# {found.title}", f"`{found.id}`, told {_when(found.when)}.{_where(found)}"]
    several = len(found.wordings) > 1
    for each in found.wordings:
        if several:
            parts.append(f"## {each.check.title}: {', '.join(each.suites) or 'every test'}")
        parts.extend(_lines(each.check))
    parts.append("[All checks](checks.md)")
    return "\n\n".join(parts) + "\n"


def _lines(check: AnyCheck) -> list[str]:
    told = {
        "Level": f"{check.level.value}, unless the evidence makes it graver or lighter",
        "Why": check.why,
        "Remedy": check.remedy,
        "Needs": check.needs,
        "Source": check.source,
    }
    return [f"**{name}:** {words.rstrip('.')}." for name, words in told.items() if words]


def _when(when: str) -> str:
    return {"before": "before anything runs", "during": "while it runs"}.get(when, "after it has run")


def _where(found: Entry) -> str:
    return f" Of {', '.join(found.suites)}." if found.suites else ""


_OPENING = (
    "Everything that is looked for before, during and after a run. A check without evidence says that it cannot tell, "
    "and why. The same list: `benchwright checks`; one page: `benchwright checks ID`."
)


def overview() -> str:
    """Return the page that lists every check, in Markdown, each with a link to its page."""
    parts = ["# Checks", _OPENING]
    family = None
    for found in catalogue():
        if found.family != family:
            family = found.family
            parts.append(f"\n## {family}\n")
        parts.append(f"- [{found.title}](check-{found.id}.md) ({found.level.value}, {found.when}) `{found.id}`")
    return "\n".join(parts) + "\n"
