"""Facts of a run's hosts before the run, and changes after it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from app.records import RunRecord
from suites.facts import Facts
from widgets.hosts.facts_rows import FactRow, fact_rows
from widgets.hosts.facts_view import FactsView
from widgets.parts.boxes import column_in, fill
from widgets.parts.names import host_title
from widgets.parts.table import Table, TableColumn, TableModel
from widgets.parts.text import Text, Tone, strong, visible
from widgets.theme import SPACE

_IGNORED = {"System · Uptime"}
"""Facts that change in every run and would hide relevant changes."""

_MISSING = "missing"
_ABSENT = "absent ("


@dataclass(frozen=True, slots=True)
class FactChange:
    """A changed fact; an absent value is ``absent (reason)``."""

    title: str
    before: str
    after: str


def changes(before: Facts, after: Facts) -> list[FactChange]:
    """Return the facts that differ in `after`, in the order of fact_rows()."""
    one, two = dict(_flat(fact_rows(before))), dict(_flat(fact_rows(after)))
    pairs = ((title, one.get(title), two.get(title)) for title in dict.fromkeys([*one, *two]))
    return [
        FactChange(title, old or _MISSING, new or _MISSING)
        for title, old, new in pairs
        if _differs(old, new) and title not in _IGNORED
    ]


def _differs(old: str | None, new: str | None) -> bool:
    """Return whether two values differ; a fact listed only once and absent there is no change."""
    single = old or new if old is None or new is None else None
    return old != new and not (single or "").startswith(_ABSENT)


def _flat(rows: Iterable[FactRow], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield (title path, value) of every leaf fact."""
    for row in rows:
        title = f"{above} · {row.title}" if above else row.title
        if row.children:
            yield from _flat(row.children, title)
        else:
            yield title, f"{_ABSENT}{row.value})" if row.absent else row.value


LISTED = 200
"""Limit of changes shown, for hosts with thousands of devices."""

MIN_VISIBLE_ROWS = 5
"""Visible rows; the table scrolls beyond."""

COLUMNS: tuple[TableColumn[FactChange], ...] = (
    TableColumn("Fact", lambda change: change.title),
    TableColumn("Before", lambda change: change.before),
    TableColumn("After", lambda change: change.after, stretch=True),
)


class FactsPanel(QWidget):
    """Stored facts and their changes, one host at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._before: Mapping[str, Facts] = {}
        self._after: Mapping[str, Facts] = {}
        self.hosts = QComboBox()
        self.hosts.setAccessibleName("Host")
        self.hosts.currentIndexChanged.connect(self._show_host)
        self._head = Text(font=strong())
        self._note = Text(tone=Tone.MUTED)
        self.table = Table("Changed during the run", TableModel(COLUMNS))
        self.table.setObjectName("bare")
        self.facts = FactsView()
        self.facts.read_button.hide()
        self._build()

    def show_run(self, record: RunRecord) -> None:
        """Show the facts of the hosts of `record`."""
        self._before, self._after = record.facts_before, record.facts_after
        quiet = self.hosts.blockSignals(True)
        self.hosts.clear()
        for host in record.plan.hosts:
            self.hosts.addItem(visible(host_title(host)).replace("\n", " "), host)
        self.hosts.blockSignals(quiet)
        self.hosts.setVisible(self.hosts.count() > 1)
        self._show_host()

    def _show_host(self) -> None:
        host = str(self.hosts.currentData() or "")
        before, after = self._before.get(host), self._after.get(host)
        self.facts.setVisible(before is not None)
        if before is not None:
            self.facts.show_facts(before, host_title(host))
        found = changes(before, after) if before is not None and after is not None else []
        self._head.setText(f"Changed during the run: {len(found)}" if found else "Changed during the run")
        self._note.setText(_note_text(before, after, found))
        self._note.setVisible(bool(self._note.text()))
        self.table.show_rows(found[:LISTED])
        self.table.setVisible(bool(found))
        self.table.setFixedHeight(self.table.whole_height(MIN_VISIBLE_ROWS))

    def _build(self) -> None:
        changed = QVBoxLayout()
        changed.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], 0)
        changed.setSpacing(SPACE[0])
        fill(changed, self.hosts, self._head, self._note, self.table)
        rows = column_in(self, 0)
        fill(rows, changed, (self.facts, 1))
        rows.addStretch(0)


def _note_text(before: Facts | None, after: Facts | None, found: Sequence[FactChange]) -> str:
    if before is None:
        return "Facts not read before the run."
    if after is None:
        return "Facts not read after the run: changes unknown."
    if len(found) > LISTED:
        return f"First {LISTED} shown."
    return "" if found else "No fact changed."
