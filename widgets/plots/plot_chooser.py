"""Pop-up list with a filter to choose the plots of a stack."""

from collections.abc import Mapping

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QWidget

from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import line_edit
from widgets.parts.text import visible
from widgets.theme import SPACE

_MOST_ROWS = 14


class PlotChooser(QFrame):
    """Checkable titles of plots. It opens beside a button, within the screen."""

    toggled = Signal(str, bool)  # name of a plot, whether it is shown

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.filter = line_edit("Filter the plots", self._filter, placeholderText="Filter", clearButtonEnabled=True)
        self.list = QListWidget()
        self.list.setAccessibleName("Plots to show")
        self.list.itemChanged.connect(self._toggle)
        fill(column_in(self, SPACE[0], (SPACE[0], SPACE[0], SPACE[0], SPACE[0])), self.filter, self.list)

    def open_below(self, button: QWidget, titles: Mapping[str, str], shown: frozenset[str]) -> None:
        """Open below `button`, or above it where the screen ends, with `titles` by name."""
        self.list.blockSignals(True)
        self.list.clear()
        for name, title in titles.items():
            item = QListWidgetItem(visible(title), self.list)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setCheckState(Qt.CheckState.Checked if name in shown else Qt.CheckState.Unchecked)
        self.list.blockSignals(False)
        self.filter.clear()
        self.resize(self._wanted())
        self.show()  # which may enlarge it to what the style needs
        self.move(self._place(button))
        self.filter.setFocus()

    def _wanted(self) -> QSize:
        rows = min(_MOST_ROWS, max(3, self.list.count()))
        height = rows * max(self.list.sizeHintForRow(0), self.fontMetrics().height()) + 2 * self.list.frameWidth()
        width = max(self.list.sizeHintForColumn(0) + 2 * SPACE[4], 30 * self.fontMetrics().averageCharWidth())
        margins = 3 * SPACE[0] + 2 * self.frameWidth()
        wanted = QSize(width, height + self.filter.sizeHint().height() + margins)
        return wanted.expandedTo(self.minimumSizeHint()).boundedTo(self.screen().availableSize())

    def _place(self, button: QWidget) -> QPoint:
        """Return the place of the upper left corner: the pop-up is wholly on the button's screen."""
        area, below = button.screen().availableGeometry(), button.mapToGlobal(button.rect().bottomLeft())
        left = max(area.left(), min(below.x(), area.right() + 1 - self.width()))
        if below.y() + self.height() <= area.bottom() + 1:
            return QPoint(left, below.y())
        return QPoint(left, max(area.top(), button.mapToGlobal(QPoint(0, 0)).y() - self.height()))

    def _filter(self) -> None:
        words = self.filter.text().casefold().split()
        for row in range(self.list.count()):
            item = self.list.item(row)
            item.setHidden(not all(word in item.text().casefold() for word in words))

    def _toggle(self, item: QListWidgetItem) -> None:
        name = item.data(Qt.ItemDataRole.UserRole)
        self.toggled.emit(str(name), item.checkState() is Qt.CheckState.Checked)
