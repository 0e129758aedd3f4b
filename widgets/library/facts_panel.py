"""The facts of a run's hosts before it, and what read otherwise after it."""

from collections.abc import Mapping, Sequence

from PySide6.QtWidgets import QComboBox, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from app.records import RunRecord
from suites.facts import Facts
from widgets.hosts.facts_view import FactsView
from widgets.library.fact_changes import Change, changes
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone, strong, tool_tip, visible
from widgets.theme import SPACE

LISTED = 200
"""Changes that are shown: a host with thousands of devices could fill any number of lines."""

SEEN = 5
"""Changes that are seen at once; the rest scrolls."""


class FactsPanel(QWidget):
    """One host at a time; nothing is read from it, all of it was stored."""

    def __init__(self) -> None:
        super().__init__()
        self._before: Mapping[str, Facts] = {}
        self._after: Mapping[str, Facts] = {}
        self.hosts = QComboBox()
        self.hosts.setAccessibleName("Host")
        self.hosts.currentIndexChanged.connect(self._show_host)
        self._head = Text(font=strong())
        self._note = Text(tone=Tone.MUTED)
        self.table = self._build_table()
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
        self._note.setText(_said(before, after, found))
        self._note.setVisible(bool(self._note.text()))
        self._show_changes(found)

    def _show_changes(self, found: Sequence[Change]) -> None:
        self.table.clear()
        for change in found[:LISTED]:
            words = (change.title, change.before, change.after)
            item = QTreeWidgetItem([" ".join(visible(word).split()) for word in words])
            for column, word in enumerate(words):
                item.setToolTip(column, tool_tip(word))
            self.table.addTopLevelItem(item)
        self.table.setVisible(bool(found))
        height = self.table.header().sizeHint().height() + 2 * self.table.frameWidth() + 2
        if found:
            height += min(len(found), SEEN) * self.table.sizeHintForRow(0)
        self.table.setFixedHeight(height)
        for column in range(3):
            self.table.resizeColumnToContents(column)

    def _build_table(self) -> QTreeWidget:
        table = QTreeWidget()
        table.setObjectName("bare")
        table.setAccessibleName("Changed during the run")
        table.setHeaderLabels(["Fact", "Before", "After"])
        table.setRootIsDecorated(False)
        table.setUniformRowHeights(True)
        table.header().setStretchLastSection(True)
        return table

    def _build(self) -> None:
        changed = QVBoxLayout()
        changed.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], 0)
        changed.setSpacing(SPACE[0])
        for widget in (self.hosts, self._head, self._note, self.table):
            changed.addWidget(widget)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addLayout(changed)
        rows.addWidget(self.facts, 1)
        rows.addStretch(0)


def _said(before: Facts | None, after: Facts | None, found: Sequence[Change]) -> str:
    if before is None:
        return "The facts were not read before the run."
    if after is None:
        return "The facts were not read after the run, so it is not known what changed."
    if len(found) > LISTED:
        return f"The first {LISTED} are shown."
    return "" if found else "Every fact reads the same after the run."
