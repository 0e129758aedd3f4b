"""Table of hosts with search, shortcuts and a context menu of all actions."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView

from app.host_attributes import HostAttributes
from app.hosts.hosts import THIS_COMPUTER, HostEntry, Origin, ssh_address
from app.hosts.short_facts import clock_text, cpu_text, memory_text, system_text
from app.library_digest import HostResult
from suites.facts import Facts
from suites.quantities import metric_text
from suites.verdict import NOT_JUDGED, Limiter
from widgets.hosts.host_connections import HostConnections, HostStatus
from widgets.parts.names import MOST_NAME, host_title, mark_of
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.theme import SPACE, icon

PRICE = "Price an hour"


def address_text(entry: HostEntry) -> str:
    """Return the address of a host in ssh notation, or its source if ~/.ssh/config defines it."""
    if entry.origin is Origin.THIS_COMPUTER:
        return "no SSH"
    if not any((entry.host_name, entry.user, entry.port, entry.jump)):
        return "from ~/.ssh/config" if entry.origin is Origin.SSH_CONFIG else entry.name
    return ssh_address(entry)


def connection_text(entry: HostEntry, status: HostStatus) -> str:
    """Return the connection status in a word or two; this computer needs no connection."""
    if entry.origin is Origin.THIS_COMPUTER and not status.activity and status.problem is None:
        return "ready" if status.facts is not None else "local"
    return status.text


def host_columns(
    status: Callable[[str], HostStatus],
    last_result: Callable[[str], HostResult | None] = lambda _name: None,
    resolved: Callable[[str], str | None] = lambda _name: None,
    stated: Callable[[str], HostAttributes | None] = lambda _name: None,
) -> tuple[TableColumn[HostEntry], ...]:
    """Return the columns of hosts: name, state, address, last result, hardware, system and clock.

    Type, zone and price an hour are shown if the inventory states them of a host.
    """

    def address(entry: HostEntry) -> str:
        return resolved(entry.name) or address_text(entry)

    return (
        TableColumn(
            "Host", lambda entry: host_title(entry.name), bold=True, key=lambda entry: entry.name,
            width=90, whole=True, most=MOST_NAME,
            mark=lambda entry: icon("this-computer" if entry.origin is Origin.THIS_COMPUTER else "hosts"),
        ),
        TableColumn(
            "State", lambda entry: connection_text(entry, status(entry.name)),
            mark=lambda entry: icon(level) if (level := status(entry.name).level) else None,
            tone=lambda entry: "" if status(entry.name).level else "muted",
            key=lambda entry: connection_text(entry, status(entry.name)),
        ),
        TableColumn(
            "Address", address, tone="muted", stretch=True, least=140, key=address,
            more=lambda entry: "\n".join(dict.fromkeys((address(entry), address_text(entry), entry.origin.value))),
        ),
        *_attribute_columns(stated),
        _result_column(last_result),
        *_fact_columns(status),
    )  # fmt: skip


def _attribute_columns(stated: Callable[[str], HostAttributes | None]) -> Iterator[TableColumn[HostEntry]]:
    def price(entry: HostEntry) -> float:
        return 0.0 if (known := stated(entry.name)) is None else known.price or 0.0

    def column(title: str, text: Callable[[HostAttributes], str], hide_order: int) -> TableColumn[HostEntry]:
        def shown(entry: HostEntry) -> str:
            return "" if (known := stated(entry.name)) is None else text(known)

        def needed(rows: Sequence[HostEntry]) -> bool:
            return any(map(shown, rows))

        key = price if title == PRICE else shown
        return TableColumn(title, shown, key=key, needed=needed, hide_order=hide_order, topic="inventory")

    yield column("Type", lambda one: one.instance_type, 8)
    yield column("Zone", lambda one: one.zone, 7)
    yield column(PRICE, lambda one: one.price_text, 6)


def _result_column(last_result: Callable[[str], HostResult | None]) -> TableColumn[HostEntry]:
    def result(text: Callable[[HostResult], str]) -> Callable[[HostEntry], str]:
        return lambda entry: "" if (last := last_result(entry.name)) is None else text(last)

    return TableColumn(
        "Last result", result(lambda last: last.figure.estimate_text), align=RIGHT, hide_order=5,
        mark=lambda entry: icon(level) if (level := result(_verdict_mark)(entry)) else None,
        more=result(_about_result), topic="verdicts",
    )  # fmt: skip


def _fact_columns(status: Callable[[str], HostStatus]) -> Iterator[TableColumn[HostEntry]]:
    def fact(text: Callable[[Facts], str]) -> Callable[[HostEntry], str]:
        return lambda entry: "" if (facts := status(entry.name).facts) is None else text(facts)

    yield TableColumn("CPU", fact(cpu_text), align=RIGHT, hide_order=4)
    yield TableColumn("Memory", fact(memory_text), align=RIGHT, hide_order=3)
    yield TableColumn("System", fact(system_text), tone="muted", hide_order=2)
    yield TableColumn(
        "Clock offset",
        lambda entry: "" if entry.origin is Origin.THIS_COMPUTER else fact(clock_text)(entry),
        align=RIGHT, hide_order=1,
        tip="Clock of the host minus that of this computer, and the range that the round trip leaves",
        topic="faults",
    )  # fmt: skip


def _verdict_mark(last: HostResult) -> str:
    return mark_of(last.figure.trust or "")


def _about_result(last: HostResult) -> str:
    """Return the condition of a result, its verdict, and the run."""
    figure, run = last.figure, last.row.summary
    limiter = None if figure.verdict is None else figure.verdict.limited_by
    limited = "" if limiter in {None, Limiter.UNKNOWN} else f"limited by {limiter}"
    verdict = ", ".join(filter(None, (figure.trust or NOT_JUDGED, limited)))
    condition = f"{figure.step}: {metric_text(figure.metric, figure.labels)}, {figure.estimate_text}, n={figure.n}"
    return "\n".join(filter(None, (condition, verdict, f"{run.name}, {run.utc_text} UTC")))


class HostsTable(Table[HostEntry]):
    """Table of hosts; the actions on them are in its context menu."""

    attributes_read = Signal(object)  # what the inventory states, by host

    def __init__(self, connections: HostConnections) -> None:
        self._last: dict[str, HostResult] = {}
        self._resolved: dict[str, str] = {}
        self._stated: dict[str, HostAttributes] = {}
        super().__init__(
            "Hosts",
            TableModel(host_columns(connections.of, self._last.get, self._resolved.get, self._stated.get)),
            identity=lambda entry: entry.name,
            selection=QAbstractItemView.SelectionMode.ExtendedSelection,
            row_padding=2 * SPACE[1],
        )
        connections.changed.connect(lambda _name: self.content.refresh())
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def show_results(self, last: Mapping[str, HostResult]) -> None:
        """Show the last result of each host."""
        self._last.clear()
        self._last |= last
        self.content.refresh()
        self.fit_if_shown()

    def show_attributes(self, stated: Mapping[str, HostAttributes]) -> None:
        """Show what the inventory states of each host."""
        self._stated.clear()
        self._stated |= stated
        self.attributes_read.emit(stated)
        self.content.refresh()
        self.fit_if_shown()

    def address(self, entry: HostEntry) -> str:
        """Return where ssh connects to, or what is known of it until it was read."""
        return self._resolved.get(entry.name) or address_text(entry)

    def show_resolved(self, resolved: Mapping[str, str]) -> None:
        """Show where ssh connects to for each host."""
        self._resolved.clear()
        self._resolved |= resolved
        self.content.refresh()
        self.moved.emit()

    def current_host(self) -> HostEntry:
        """Return the current host, else this computer."""
        return self.current() or THIS_COMPUTER

    def chosen(self) -> list[HostEntry]:
        """Return the selected hosts, from top to bottom."""
        return super().chosen() or [self.current_host()]
