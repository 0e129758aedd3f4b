"""Facts of several hosts side by side: those that differ, or all."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from app.hosts.facts_rows import ComparedFact, compared_facts
from suites.facts import Facts
from suites.quantities import count_text
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.names import host_title
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.messages import listed

_TITLE: TableColumn[ComparedFact] = TableColumn("Fact", lambda fact: fact.title)


def _column(host: str, number: int) -> TableColumn[ComparedFact]:
    return TableColumn(host_title(host), lambda fact: fact.values[number])


class ComparedFactsView(QWidget):
    """Table of the facts that differ between hosts, with a filter."""

    read_requested = Signal()  # facts of the hosts that have none

    def __init__(self) -> None:
        super().__init__()
        self._found: Sequence[ComparedFact] = ()
        self._title = Text("Differences", font=text_font(TextSize.HEADING, bold=True))
        self._count = Text(tone=Tone.MUTED, wrap=False)
        self.missing = Text(tone=Tone.MUTED, wrap=False)
        self.read_button = tool_button("Read facts", self.read_requested, tip="Connect to the hosts without facts")
        self.every = QCheckBox("Also equal facts")
        self.every.toggled.connect(self._show)
        self.filter = line_edit("Filter facts", placeholderText="Filter", clearButtonEnabled=True)
        self.filter.textChanged.connect(self._filter)
        self.table = Table("Facts that differ", TableModel([_TITLE]))
        self.copy_button = tool_button(icon="copy", tip="Copy the table", accessibleName="Copy the table")
        self.copy_button.clicked.connect(self.table.copy)
        rows = column_in(self, SPACE[1], (SPACE[2], SPACE[3], SPACE[2], SPACE[2]))
        counts = in_row(self._count, self.missing, self.read_button, None, spacing=SPACE[2])
        fill(rows, in_row((self._title, 1), self.copy_button), counts)
        fill(rows, in_row((self.filter, 1), self.every, spacing=SPACE[1]), (self.table, 1))

    def show_hosts(self, facts: Mapping[str, Facts | None]) -> None:
        """Show the facts by host name; those that are None are not read yet."""
        read = {host: one for host, one in facts.items() if one is not None}
        without = [host_title(host) for host in facts if host not in read]
        self.read_button.setVisible(bool(without))
        self.missing.setVisible(bool(without))
        if without:
            self.missing.setText(f"Facts not read: {listed(without)}")
        self._found = compared_facts(list(read.values())) if len(read) > 1 else ()
        self._columns = [_TITLE, *(_column(host, number) for number, host in enumerate(read))]
        self._show()

    def _show(self) -> None:
        shown = [fact for fact in self._found if fact.differs or self.every.isChecked()]
        differing = sum(fact.differs for fact in self._found)
        self._count.setText(f"{differing} of {count_text(len(self._found), 'fact')} differ" if self._found else "")
        self.table.show_rows(shown, self._columns)

    def _filter(self, text: str) -> None:
        self.table.search(text)
