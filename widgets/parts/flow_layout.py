"""Layout that places widgets in rows and wraps them like words in a text."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QSizePolicy, QWidget


class FlowLayout(QLayout):
    """Wrapping layout with as many rows as the width needs. A widget wider than the layout is shrunk to it."""

    def __init__(self, parent: QWidget | None = None, spacing: int = 8, *, at_end: bool = False) -> None:
        """Leave `spacing` pixels between widgets; `at_end` aligns the rows right."""
        super().__init__(parent)
        self._at_end = at_end
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        """Append `item`."""
        self._items.append(item)

    def count(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return the item at `index`, or None."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Remove and return the item at `index`, or return None."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Return that the layout does not expand."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Return that the height depends on the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of the rows in `width` pixels."""
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, area: QRect) -> None:
        """Place the items into `area`."""
        super().setGeometry(area)
        self._place(area, move=True)

    def sizeHint(self) -> QSize:
        """Return the size of a single row."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in sizes) + self.spacing() * max(0, len(sizes) - 1)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Return the size of the widest item."""
        sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
        return QSize(
            max((size.width() for size in sizes), default=0), max((size.height() for size in sizes), default=0)
        )

    def _place(self, area: QRect, *, move: bool) -> int:
        """Lay out the rows in `area`, moving the items if `move`; return the height used."""
        y = area.y()
        for row in self._rows(area.width()):
            tallest = max(size.height() for _, size in row)
            taken = sum(size.width() for _, size in row) + self.spacing() * (len(row) - 1)
            x = area.x() + (max(0, area.width() - taken) if self._at_end else 0)
            for item, size in row:
                if move:
                    item.setGeometry(QRect(QPoint(x, y + (tallest - size.height()) // 2), size))
                x += size.width() + self.spacing()
            y += tallest + self.spacing()
        return max(0, y - self.spacing() - area.y())

    def _rows(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        """Return the items of each row with their sizes."""
        rows: list[list[tuple[QLayoutItem, QSize]]] = []
        remaining = 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint().boundedTo(QSize(width, 1 << 20))
            if not rows or size.width() > remaining:
                rows.append([])
                remaining = width
            rows[-1].append((item, size))
            remaining -= size.width() + self.spacing()
        return rows


def flowing(*widgets: QWidget, spacing: int = 8, at_end: bool = False) -> QWidget:
    """Return a widget with `widgets` in a FlowLayout."""
    container = QWidget()
    policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    policy.setHeightForWidth(True)
    container.setSizePolicy(policy)
    layout = FlowLayout(container, spacing, at_end=at_end)
    for widget in widgets:
        layout.addWidget(widget)
    return container
