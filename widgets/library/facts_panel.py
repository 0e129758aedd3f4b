"""Facts of a run's hosts before the run, and changes after it."""

from collections.abc import Mapping, Sequence

from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from app.hosts.facts_rows import ComparedFact, compared_facts
from app.records import RunRecord
from suites.facts import Facts
from widgets.hosts.facts_view import FactsView
from widgets.parts.boxes import column_in, fill, scrolled
from widgets.parts.names import host_title
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.parts.text import Text, Tone, strong, visible
from widgets.theme import SPACE

LISTED = 200
"""Limit of changes shown, for hosts with thousands of devices."""

MIN_VISIBLE_ROWS = 5
"""Visible rows; the table scrolls beyond."""

COLUMNS: tuple[TableColumn[ComparedFact], ...] = (
    TableColumn("Fact", lambda change: change.title),
    TableColumn("Before", lambda change: change.values[0]),
    TableColumn("After", lambda change: change.values[1], stretch=True),
)


def changes(before: Facts, after: Facts) -> list[ComparedFact]:
    """Return the facts that changed during a run."""
    return [fact for fact in compared_facts((before, after)) if fact.differs]


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
        self.facts.tree.setMinimumHeight(self.table.verticalHeader().defaultSectionSize() * MIN_VISIBLE_ROWS)
        inner = QWidget()
        rows = column_in(inner, 0)
        fill(rows, changed, (self.facts, 1))
        rows.addStretch(0)
        fill(column_in(self), scrolled(inner))


def _note_text(before: Facts | None, after: Facts | None, found: Sequence[ComparedFact]) -> str:
    if before is None:
        return "Facts not read before the run."
    if after is None:
        return "Facts not read after the run: changes unknown."
    if len(found) > LISTED:
        return f"First {LISTED} shown."
    return "" if found else "No fact changed."
