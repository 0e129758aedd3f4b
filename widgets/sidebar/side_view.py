"""Tree view of the sidebar, and how its rows are drawn: wide, or as icons only."""

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
)

from widgets import settings
from widgets.page import SIGNS, PageName
from widgets.parts.help_topics import set_help
from widgets.parts.table_model import Index
from widgets.parts.text import small, strong, visible
from widgets.sidebar.items import SideItem, SideKind, SideSection
from widgets.sidebar.side_model import ITEM, TITLED, SideModel
from widgets.theme import ICON_SIZE, SPACE, icon, palette, scaled

_COLLAPSED, _OPENED = "sidebar/collapsed", "sidebar/opened"
"""Settings: collapsed sections, and opened groups of hosts."""

_MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)
MARK = 3
"""Width in pixels of the bar beside the page that is shown."""

WIDE_ICON = 20
"""Size in pixels of an icon without a title."""

INDENT = SPACE[1]
"""Pixels by which the items of a section are indented."""


_TOPICS = {
    SideKind.HOST: "connections",
    SideKind.GROUP: "inventory",
    SideKind.RUN: "queue",
    SideKind.BAR: "queue",
    SideKind.FILTER: "library",
}


class _SideDelegate(QStyledItemDelegate):
    """Draws an icon, the title (elided in the middle) and the detail at the right; a tall row has it below."""

    def __init__(self, view: "SideView") -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the height of a row."""
        line = QFontMetrics(option.font).height()
        if self._view.narrow:
            return QSize(0, line + 2 * SPACE[1])
        lines = 2 if index.data(ITEM).tall else 1
        return QSize(0, lines * line + SPACE[1] + (SPACE[1] if index.data(TITLED) else 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a row."""
        item, row, colours = index.data(ITEM), QRect(option.rect), palette()
        front = item.kind is SideKind.PAGE and self._view.is_front(index)
        current = option.state & QStyle.StateFlag.State_Selected and self._view.hasFocus()
        painter.save()
        if index.data(TITLED) and not self._view.narrow:
            row.setTop(row.top() + SPACE[1])
        if current or option.state & QStyle.StateFlag.State_MouseOver or front:
            painter.fillRect(row, QColor(colours.selected if current else colours.window if front else colours.line))
        if front:
            painter.fillRect(QRect(row.left(), row.top(), MARK, row.height()), QColor(colours.accent))
        self._paint_item(painter, row, index, bold=front)
        painter.restore()

    def _paint_item(self, painter: QPainter, row: QRect, index: Index, *, bold: bool) -> None:
        item = index.data(ITEM)
        drawn = icon(item.icon, item.colour or ("text" if bold else ""))
        if self._view.narrow:
            middle = QRect(0, 0, scaled(WIDE_ICON), scaled(WIDE_ICON))
            middle.moveCenter(row.center())
            drawn.paint(painter, middle)
            self._paint_badge(painter, row, item)
            return
        row.adjust(MARK + SPACE[0] + INDENT * _depth(index), 0, -SPACE[1], 0)
        height = row.height() // 2 if item.tall else row.height()
        if index.data(TITLED) or item.kind is SideKind.GROUP:
            self._paint_fold(painter, row, index)
        drawn.paint(painter, QRect(row.left(), row.top(), scaled(ICON_SIZE), height))
        row.setLeft(row.left() + scaled(ICON_SIZE) + SPACE[1])
        font = strong() if bold or index.data(TITLED) else painter.font()
        title = QRect(row.left(), row.top(), row.width(), height)
        if not item.tall:
            title.setRight(self._paint_detail(painter, row, item, font))
        painter.setPen(QColor(palette().text))
        _write(painter, title, item.title, font)
        if item.tall:
            row.setTop(row.top() + height - 2)
            painter.setPen(QColor(palette().muted))
            _write(painter, row, item.detail, small(), Qt.TextElideMode.ElideRight)

    def _paint_detail(self, painter: QPainter, row: QRect, item: SideItem, font: QFont) -> int:
        """Draw the detail at the right; return where the title ends. The title gets at least half of the row."""
        wanted = QFontMetrics(font).horizontalAdvance(visible(item.title))
        metrics = QFontMetrics(small())
        room = row.width() - min(wanted, row.width() // 2) - SPACE[1]
        text = metrics.elidedText(visible(item.detail), Qt.TextElideMode.ElideRight, max(0, room))
        wide = metrics.horizontalAdvance(text)
        painter.setFont(small())
        painter.setPen(QColor(palette().muted))
        painter.drawText(row, _MIDDLE | int(Qt.AlignmentFlag.AlignRight), text)
        return row.right() - wide - (SPACE[1] if wide else 0)

    def _paint_fold(self, painter: QPainter, row: QRect, index: Index) -> None:
        """Draw at the right whether a section is collapsed; an empty one cannot be."""
        if index.model().hasChildren(index):
            open_ = self._view.isExpanded(index.sibling(index.row(), 0))
            icon("down" if open_ else "right").paint(painter, fold_area(row))
            row.setRight(fold_area(row).left() - SPACE[0])

    @staticmethod
    def _paint_badge(painter: QPainter, row: QRect, item: SideItem) -> None:
        """Draw the number of a row of icons at its lower right."""
        number = item.detail.partition(" ")[0]
        if not number:
            return
        painter.setFont(small())
        painter.setPen(QColor(palette().accent))
        text = number if number.isdecimal() else "!"
        painter.drawText(
            row.adjusted(0, 0, -3, 0), int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom), text
        )


def _write(
    painter: QPainter, row: QRect, text: str, font: QFont, elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle
) -> None:
    painter.setFont(font)
    painter.drawText(row, _MIDDLE, QFontMetrics(font).elidedText(visible(text).replace("\n", " "), elide, row.width()))


def _depth(index: Index) -> int:
    """Return how often an item is indented: groups of hosts are below the page Hosts."""
    below, group = index.parent().isValid(), SideKind.GROUP
    return below + (group in {index.data(ITEM).kind, index.parent().data(ITEM).kind if below else None})


def fold_area(row: QRect) -> QRect:
    """Return where a section is collapsed by a click, in its row."""
    return QRect(row.right() - scaled(ICON_SIZE), row.top(), scaled(ICON_SIZE), row.height())


class SideView(QTreeView):
    """Sections and items; one Tab stop. Up and Down move, Left and Right collapse and expand, Enter chooses."""

    chosen = Signal(object)  # a SideItem
    opened = Signal(object)  # a SideItem that was clicked twice
    menu_requested = Signal(object, QPoint)  # a SideItem, and where on the screen

    def __init__(self) -> None:
        super().__init__()
        self.narrow = False
        self.content = SideModel(self)
        self._front: PageName | None = None
        self._collapsed, self._opened = (
            set(filter(None, settings.text(name).split("\n"))) for name in (_COLLAPSED, _OPENED)
        )
        self.setModel(self.content)
        self.setItemDelegate(_SideDelegate(self))
        self._set_look()
        self.selectionModel().currentChanged.connect(lambda index, _before: set_help(self, self._topic_of(index)))
        self.clicked.connect(self._click)
        self.doubleClicked.connect(lambda index: self.opened.emit(self.content.item_at(index)))
        self.customContextMenuRequested.connect(self._request_menu)
        self.collapsed.connect(self._keep_collapsed)
        self.expanded.connect(self._keep_collapsed)

    def show_sections(self, sections: Sequence[SideSection]) -> None:
        """Show `sections`; the cursor stays on its item."""
        before = self.content.item_at(self.currentIndex())
        self.content.show_sections(sections)
        self._fit_sections()
        if before is not None and (found := self.content.find(before)).isValid() and found != self.currentIndex():
            self.selectionModel().setCurrentIndex(found, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def show_front(self, name: PageName) -> None:
        """Mark `name` as the page that is shown."""
        self._front = name
        self.viewport().update()

    def is_front(self, index: Index) -> bool:
        """Return whether `index` is the item of the page that is shown: the first one that leads to it."""
        item = self.content.item_at(index)
        return item is not None and item.key == self._front and item.title == self._front

    def set_narrow(self, *, narrow: bool) -> None:
        """Show icons of pages and sections only, or everything."""
        self.narrow = narrow
        self._fit_sections()
        self.doItemsLayout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the rows to the width: the last section of a hidden header is never narrower than 100 pixels."""
        super().resizeEvent(event)
        self.setColumnWidth(0, self.viewport().width())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose the current item."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self._choose(self.currentIndex())
            return
        super().keyPressEvent(event)

    def _fit_sections(self) -> None:
        for number in range(self.content.rowCount()):
            index = self.content.index(number, 0)
            item = self.content.item_at(index)
            open_ = not self.narrow and item is not None and self._is_open(item)
            self.setRowHidden(number, QModelIndex(), self.narrow and item is not None and item.kind is SideKind.GROUP)
            if open_ is not self.isExpanded(index):
                self.blockSignals(True)
                self.setExpanded(index, open_)
                self.blockSignals(False)

    def _is_open(self, item: SideItem) -> bool:
        return item.key in self._opened if item.kind is SideKind.GROUP else item.title not in self._collapsed

    def _click(self, index: QModelIndex) -> None:
        row = self.visualRect(index).adjusted(0, 0, -SPACE[1], 0)
        at = self.viewport().mapFromGlobal(self.cursor().pos())
        if not self.narrow and self.content.hasChildren(index) and fold_area(row).contains(at):
            self.setExpanded(index, not self.isExpanded(index))
        else:
            self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        item = self.content.item_at(index)
        if item is not None and item.kind is SideKind.GROUP:
            self.setExpanded(index, not self.isExpanded(index))
        elif item is not None:
            self.chosen.emit(item)

    def _topic_of(self, index: QModelIndex) -> str:
        """Return the topic of the help about an item."""
        item = self.content.item_at(index)
        if item is None:
            return ""
        return SIGNS[PageName(item.key)].topic if item.kind is SideKind.PAGE else _TOPICS[item.kind]

    def _request_menu(self, at: QPoint) -> None:
        if (item := self.content.item_at(self.indexAt(at))) is not None:
            self.menu_requested.emit(item, self.viewport().mapToGlobal(at))

    def _keep_collapsed(self, index: QModelIndex) -> None:
        item = self.content.item_at(index)
        if item is None or self.narrow:
            return
        open_ = self.isExpanded(index)
        if item.kind is SideKind.GROUP:
            (self._opened.add if open_ else self._opened.discard)(item.key)
        else:
            (self._collapsed.discard if open_ else self._collapsed.add)(item.title)
        settings.put(_COLLAPSED, "\n".join(sorted(self._collapsed)))
        settings.put(_OPENED, "\n".join(sorted(self._opened)))

    def _set_look(self) -> None:
        self.setAccessibleName("Sidebar")
        self.setHeaderHidden(True)
        self.header().setMinimumSectionSize(1)
        self.header().setStretchLastSection(False)
        self.setMinimumWidth(1)  # as icons it is narrower than a scroll area by itself
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setExpandsOnDoubleClick(False)
        self.setTabKeyNavigation(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leads to a page, which takes the focus
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
