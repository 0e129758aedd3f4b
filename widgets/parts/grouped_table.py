"""A table of figures in groups: a heading across the whole width, and its lines below it."""

from PySide6.QtCore import QAbstractItemModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from widgets.theme import SPACE

HEADING = Qt.ItemDataRole.UserRole + 1
"""The role in which a model tells over how many columns a heading reaches; 0 for every other line."""


class GroupedTable(QTableView):
    """Shows a model that answers in the role HEADING. Its columns never take more room than there is."""

    copy_requested = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + SPACE[1])
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setMinimumSectionSize(SPACE[4])

    def setModel(self, model: QAbstractItemModel | None) -> None:
        """Show `model`, and let its headings reach across whenever it is filled anew."""
        super().setModel(model)
        if model is not None:
            model.modelReset.connect(self.span_headings)
            self.span_headings()

    def span_headings(self) -> None:
        """Let headings reach as far as the model says."""
        self.clearSpans()
        model = self.model()
        for row in range(model.rowCount()):
            if (reach := model.index(row, 0).data(HEADING)) > 1:
                self.setSpan(row, 0, 1, reach)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ask for a copy of the whole table on the platform's shortcut; Qt alone would copy one cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            return
        super().keyPressEvent(event)
