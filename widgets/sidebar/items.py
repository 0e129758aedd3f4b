"""What the sidebar lists, as plain data. No Qt."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from app.host_attributes import HostAttributes
from app.hosts.hosts import THIS_COMPUTER, HostEntry, Origin
from app.library_digest import ALL, BASELINES, BIN, TODAY, LibraryDigest
from app.natural_order import natural_key
from suites.quantities import count_text
from widgets.hosts.host_connections import HostStatus
from widgets.hosts.hosts_table import address_text, connection_text
from widgets.page import SIGNS, PageName
from widgets.parts.names import host_title
from widgets.run_strip import ASKS, ICONS, LineState, StripLine


class SideKind(StrEnum):
    """What an item leads to."""

    PAGE = "page"
    HOST = "host"
    GROUP = "group"  # its key is that of hosts of the inventory, folded at first
    RUN = "run"  # its key is that of a run in the strip
    BAR = "bar"  # its key names a bar above the page
    FILTER = "filter"  # its key is a filter of the library


@dataclass(frozen=True, slots=True)
class SideItem:
    """A line of the sidebar: its icon in a `colour` of the palette, its title, and a detail.

    A `tall` one has its detail below the title. `run` is the key of the run under way on a host.
    """

    kind: SideKind
    key: str
    title: str
    detail: str = ""
    icon: str = ""
    colour: str = ""
    tip: str = ""
    run: str = ""
    tall: bool = False

    @property
    def text(self) -> str:
        """What a screen reader reads."""
        return ", ".join(filter(None, (self.title, self.detail)))


@dataclass(frozen=True, slots=True)
class SideSection:
    """An item at the left edge and the items below it. A `titled` one has the look of a heading."""

    head: SideItem
    items: tuple[SideItem, ...] = ()
    titled: bool = True


@dataclass(slots=True)
class SideState:
    """What the sidebar is made of. `groups` are those of hosts, by host; `left` the runs that no process will start,
    by id; `detached` the texts of detached runs."""

    hosts: Sequence[HostEntry] = (THIS_COMPUTER,)
    status_of: Callable[[str], HostStatus] = lambda _name: HostStatus()
    lines: Sequence[StripLine] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    detached: Sequence[str] = ()
    digest: LibraryDigest = field(default_factory=LibraryDigest)
    groups: Mapping[str, str] = field(default_factory=dict)

    def sections(self) -> Iterator[SideSection]:
        """Yield the pages, and the hosts, the queue, the library and the saved searches."""
        running = sum(line.under_way for line in self.lines if not line.fleet)
        studies = sum(line.under_way for line in self.lines if line.fleet)
        asks = ASKS if any(line.asks for line in self.lines) else ""
        yield SideSection(_page(PageName.MEASURE), titled=False)
        yield SideSection(_page(PageName.LIVE, asks or (f"{running} running" if running else "")), titled=False)
        yield SideSection(_page(PageName.COMPARE), titled=False)
        yield SideSection(_page(PageName.FLEET, f"{studies} running" if studies else ""), titled=False)
        yield SideSection(_page(PageName.JUDGE), titled=False)
        yield SideSection(_page(PageName.INVESTIGATIONS), titled=False)
        yield from self._hosts()
        waiting = tuple(self._queue())
        tip = "" if waiting else "Runs that wait for their hosts"
        yield SideSection(
            SideItem(SideKind.PAGE, PageName.LIVE, "Queue", str(len(waiting) or ""), "queue", tip=tip), waiting
        )
        yield SideSection(_page(PageName.LIBRARY), tuple(self._library()))
        if searches := tuple(_search(name, text) for name, text in self.digest.searches.items()):
            head = SideItem(
                SideKind.PAGE, PageName.LIBRARY, "Saved searches", "", "search", tip="Searches of the library"
            )
            yield SideSection(head, searches)

    def _hosts(self) -> Iterator[SideSection]:
        """Yield the hosts; of more than FOLDED_FROM, those that share a group of the inventory below it."""
        sizes = Counter(self.groups.get(entry.name, "") for entry in self.hosts)
        many = len(self.hosts) > FOLDED_FROM
        shared = [name for name, size in sizes.items() if many and name and size > 1]
        below: dict[str, list[SideItem]] = {name: [] for name in ("", *sorted(shared, key=natural_key))}
        for entry in self.hosts:
            below.get(self.groups.get(entry.name, ""), below[""]).append(self._host(entry))
        for name, items in below.items():
            head = _group(name, items) if name else _page(PageName.HOSTS)
            yield SideSection(head, tuple(items), titled=not name)

    def _host(self, entry: HostEntry) -> SideItem:
        status, title = self.status_of(entry.name), host_title(entry.name)
        text = connection_text(entry, status)
        local = entry.origin is Origin.THIS_COMPUTER
        last = self.digest.last.get(entry.name)
        result = "" if last is None else f"Last result: {last.figure.estimate_text}"
        made = SideItem(
            SideKind.HOST,
            entry.name,
            title,
            "" if text in _QUIET else text,
            status.level if status.level and not (local and status.level == "good") else "",
            tip="\n".join(dict.fromkeys(filter(None, (title, address_text(entry), text, result)))),
        )
        if not made.icon:
            made = replace(made, icon="this-computer" if local else "unknown")
        line = self._line_of(entry.name)
        return made if line is None else _measured(made, line)

    def _line_of(self, host: str) -> StripLine | None:
        """Return the run that matters most on a host: one that asks, else one under way."""
        found = [line for line in self.lines if line.under_way and host in line.hosts]
        return max(found, key=lambda line: line.asks, default=None)

    def _queue(self) -> Iterator[SideItem]:
        for line in self.lines:
            if line.state.waits or line.state is LineState.QUEUED:
                yield SideItem(
                    SideKind.RUN, line.key, line.title, line.detail, ICONS[line.state],
                    tip=f"{line.title}\n{line.detail}", tall=True,
                )  # fmt: skip
        for key, name in self.left.items():
            yield SideItem(
                SideKind.BAR, f"{LEFT}{key}", name, "not started", "pause", tip=f"{name}\nLeft in the queue: start or "
                "remove it in the bar above the page", tall=True,
            )  # fmt: skip
        for number, text in enumerate(self.detached):
            yield SideItem(
                SideKind.BAR, f"{DETACHED}{number}", text, "detached: attach it", "connect", tip=text, tall=True
            )

    def _library(self) -> Iterator[SideItem]:
        for text, (title, icon, tip) in _FILTERS.items():
            count = self.digest.counts.get(text, 0)
            if count or text != BIN:
                yield SideItem(SideKind.FILTER, text, title, str(count), icon, tip=tip)


FOLDED_FROM = 20
"""Hosts above which groups of the inventory are folded."""

LEFT, DETACHED = "left:", "detached:"
"""Prefixes of the keys of items that lead to a bar."""

_QUIET = {"not tried", "local", "ready"}
"""States of hosts that need no word."""

_FILTERS = {
    TODAY: ("Today", "today", "Runs since midnight"),
    BASELINES: ("Baselines", "pin", "Runs pinned as baselines"),
    ALL: ("All", "library", "All runs but those in the bin"),
    BIN: ("Bin", "remove", "Deleted runs, which can be restored"),
}


def _measured(host: SideItem, line: StripLine) -> SideItem:
    """Return the item of a host on which a run is under way."""
    tip = f"{host.tip}\n{line.title}: {line.detail}"
    if line.asks:
        return replace(host, detail=ASKS, icon="warning", tip=tip, run=line.key)
    if host.key in line.lost:
        return replace(host, detail="connection lost", icon="warning", tip=tip, run=line.key)
    left = "" if line.fleet else line.left.removeprefix("about ")
    return replace(host, detail=left or "running", icon="live", colour="accent", tip=tip, run=line.key)


def group_of(attributes: HostAttributes) -> str:
    """Return the group below which a host is listed: its first one in the inventory, else its type."""
    return next(iter(attributes.groups), attributes.instance_type)


def _group(name: str, items: Sequence[SideItem]) -> SideItem:
    """Return the head of a group: how many of its hosts run something, else their number."""
    asks, running = any(item.detail == ASKS for item in items), sum(bool(item.run) for item in items)
    detail = ASKS if asks else f"{running} running" if running else str(len(items))
    icon = "warning" if asks else "live" if running else "hosts"
    tip = f"{name}: {count_text(len(items), 'host')}"
    return SideItem(SideKind.GROUP, name, name, detail, icon, "accent" if icon == "live" else "", tip=tip)


def _page(name: PageName, detail: str = "") -> SideItem:
    sign = SIGNS[name]
    return SideItem(SideKind.PAGE, name, name.value, detail, sign.icon, tip=f"{sign.purpose} ({sign.keys})")


def _search(name: str, text: str) -> SideItem:
    return SideItem(SideKind.FILTER, text, name, icon="search", tip=f"{name}\n{text}")
