"""The header of a table: the sort indicator has room beside a title, on whichever side that is."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QStyleOptionHeader, QWidget

_ROOM = "\N{NO-BREAK SPACE}" * 4
"""The width of the sort indicator, in a font of any size."""


class TableHeader(QHeaderView):
    """A horizontal header. A style sheet draws the sort indicator over the end of a title at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, logical_index: int) -> None:
        """Move the title of a sorted column at the right away from the sort indicator."""
        super().initStyleOptionForIndex(option, logical_index)
        sorted_by = self.isSortIndicatorShown() and self.sortIndicatorSection() == logical_index
        if sorted_by and option.textAlignment & Qt.AlignmentFlag.AlignRight:
            option.text += _ROOM
