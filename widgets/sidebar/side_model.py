"""Tree model of the sidebar: sections with their items, changed in place so that the cursor stays."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from widgets.parts.table_model import Index
from widgets.parts.text import tool_tip, visible
from widgets.sidebar.items import SideItem, SideSection

ITEM = Qt.ItemDataRole.UserRole
"""Role of the SideItem."""

TITLED = Qt.ItemDataRole.UserRole + 1
"""Role of whether a row is the heading of a section."""


class SideModel(QStandardItemModel):
    """Sections and their items. Text from hosts and the library is shown literally."""

    def show_sections(self, sections: Sequence[SideSection]) -> None:
        """Show `sections`; rows whose item is the same are left alone."""
        root = self.invisibleRootItem()
        _fit(root, [section.head for section in sections])
        for number, section in enumerate(sections):
            head = root.child(number)
            head.setData(section.titled, TITLED)
            _fit(head, section.items)

    def item_at(self, index: Index) -> SideItem | None:
        """Return the item at `index`."""
        found = index.data(ITEM) if index.isValid() else None
        return found if isinstance(found, SideItem) else None

    def find(self, item: SideItem) -> QModelIndex:
        """Return the index of the item with the kind and key of `item`, invalid if it is not listed."""
        for number in range(self.rowCount()):
            head = self.index(number, 0)
            for index in (head, *(self.index(row, 0, head) for row in range(self.rowCount(head)))):
                found = self.item_at(index)
                if found is not None and (found.kind, found.key, found.title) == (item.kind, item.key, item.title):
                    return index
        return QModelIndex()


def _fit(parent: QStandardItem, items: Sequence[SideItem]) -> None:
    """Make the rows of `parent` those of `items`."""
    while parent.rowCount() > len(items):
        parent.removeRow(parent.rowCount() - 1)
    while parent.rowCount() < len(items):
        made = QStandardItem()
        made.setEditable(False)
        parent.appendRow(made)
    for number, item in enumerate(items):
        row = parent.child(number)
        if row.data(ITEM) != item:
            row.setData(item, ITEM)
            row.setText(visible(item.title))
            row.setToolTip(tool_tip(item.tip or item.title))
            row.setData(visible(item.text), Qt.ItemDataRole.AccessibleTextRole)
            row.setData(visible(item.tip), Qt.ItemDataRole.AccessibleDescriptionRole)
