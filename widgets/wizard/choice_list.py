"""A list of choices in sections: rows of one height, check boxes, a filter. Space ticks, Enter takes."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QHeaderView, QTreeWidget, QTreeWidgetItem

from widgets.parts.text import visible
from widgets.theme import SPACE, TextSize, palette, text_font

LEAST = 0.16
"""Least share of the width for the stretched column."""

_ENTRY = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class ChoiceEntry:
    """One row: its key, a text for each column, its section, and whether it is ticked; None without a check box.

    `also` are words by which it is found and that are not shown.
    """

    key: str
    texts: tuple[str, ...]
    section: str = ""
    ticked: bool | None = None
    tip: str = ""
    failed: bool = False
    also: str = ""

    @property
    def searched(self) -> str:
        """The text that a filter searches."""
        return f" {' '.join(self.texts)} {self.section} {self.also}".casefold()

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether every one of `words` (case-folded) occurs."""
        return all(word in self.searched for word in words)

    def rank(self, words: Sequence[str]) -> int:
        """Return how well the row matches, 0 the best: the title begins with the words, then contains one as a word."""
        title = f" {self.texts[0]}".casefold()
        return 0 if title.startswith(f" {' '.join(words)}") else 1 + sum(f" {word}" not in title for word in words)


class ChoiceList(QTreeWidget):
    """List of ChoiceEntry. Type-ahead finds rows by their first column."""

    ticked = Signal(str, bool)  # the key
    taken = Signal(str)  # the key, with Enter or a double click

    def __init__(self, name: str, columns: Sequence[str], stretched: int, first: float) -> None:
        """`stretched` is the column that takes the rest of the width, `first` the largest share of the first one."""
        super().__init__()
        self._entries: tuple[ChoiceEntry, ...] = ()
        self._stretched, self._first = stretched, first
        self._words: list[str] = []
        self.setAccessibleName(name)
        self.setHeaderLabels(list(columns))
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.header().setSectionsMovable(False)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.itemChanged.connect(self._changed)
        self.itemDoubleClicked.connect(self._take)

    def entry(self, key: str) -> ChoiceEntry:
        """Return the entry `key`."""
        return next(entry for entry in self._entries if entry.key == key)

    def visible_keys(self) -> list[str]:
        """Return the keys of the rows that the filter shows."""
        return [_entry(item).key for item in self._items() if not item.isHidden()]

    def show_entries(self, entries: Sequence[ChoiceEntry]) -> None:
        """Show `entries`; the current row, the scroll position and the filter stay."""
        shown = tuple(entries)
        if shown == self._entries:
            return
        self.blockSignals(True)
        if [(each.key, each.section) for each in shown] != [(each.key, each.section) for each in self._entries]:
            self._rebuild(shown)
        for item, entry in zip(self._items(), shown, strict=True):
            _show(item, entry)
        self._entries = shown
        self.blockSignals(False)
        self._fit()
        self.set_filter(" ".join(self._words))
        self._make_current()

    def set_filter(self, text: str) -> None:
        """Show the rows in which every word of `text` occurs, and make the best match current."""
        self._words = text.casefold().split()
        items = self._items()
        for item in items:
            item.setHidden(not _entry(item).matches(self._words))
        for section in self._sections():
            following = [item for item in items if _entry(item).section == section.text(0)]
            section.setHidden(all(item.isHidden() for item in following))
        matches = [item for item in items if not item.isHidden()]
        if self._words and matches:
            self.setCurrentItem(min(matches, key=lambda item: _entry(item).rank(self._words)))

    def current_key(self) -> str:
        """Return the key of the current row, or an empty string."""
        item = self.currentItem()
        return _entry(item).key if item is not None and item.data(0, _ENTRY) is not None else ""

    def set_current(self, key: str) -> None:
        """Make the row `key` current."""
        self.setCurrentItem(next(item for item in self._items() if _entry(item).key == key))

    def toggle(self, key: str) -> None:
        """Tick the row `key`, or untick it."""
        item = next(item for item in self._items() if _entry(item).key == key)
        ticked = item.checkState(0) is Qt.CheckState.Checked
        item.setCheckState(0, Qt.CheckState.Unchecked if ticked else Qt.CheckState.Checked)

    def take(self) -> None:
        """Take the current row: tick it, or emit `taken` where it has no check box."""
        self._take(self.currentItem())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take the current row with Enter, tick it with Space."""
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        keys = {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}
        if event.key() in keys and plain:
            self.take()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Make the first row current where none is."""
        super().focusInEvent(event)
        self._make_current()

    def _make_current(self) -> None:
        visible_items = [item for item in self._items() if not item.isHidden()]
        if self.hasFocus() and not self.current_key() and visible_items:
            self.setCurrentItem(visible_items[0])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the width."""
        super().resizeEvent(event)
        self._fit()

    def _rebuild(self, entries: Sequence[ChoiceEntry]) -> None:
        current = self.current_key()
        self.clear()
        section = ""
        for entry in entries:
            if entry.section != section:
                section = entry.section
                heading = _heading(section)
                self.addTopLevelItem(heading)
                heading.setFirstColumnSpanned(True)
            item = QTreeWidgetItem()
            item.setData(0, _ENTRY, entry)
            self.addTopLevelItem(item)
            if entry.key == current:
                self.setCurrentItem(item)

    def _items(self) -> list[QTreeWidgetItem]:
        return [item for item in self._rows() if item.data(0, _ENTRY) is not None]

    def _sections(self) -> list[QTreeWidgetItem]:
        return [item for item in self._rows() if item.data(0, _ENTRY) is None]

    def _rows(self) -> list[QTreeWidgetItem]:
        every = (self.topLevelItem(row) for row in range(self.topLevelItemCount()))
        return [item for item in every if item is not None]

    def _fit(self) -> None:
        """Give the columns the width of their texts, and the rest to the stretched one; without room it is hidden."""
        space = self.viewport().width()
        widths = [self._text_width(column) for column in range(self.columnCount())]
        fitted = [min(width, round(space * (0.28 if at else self._first))) for at, width in enumerate(widths)]
        rest = space - sum(width for at, width in enumerate(fitted) if at != self._stretched)
        narrow = rest < LEAST * space
        if narrow:
            fitted[0] += rest
        for column, width in enumerate(fitted):
            hidden = narrow if column == self._stretched else not widths[column]
            self.setColumnHidden(column, hidden)
            self.setColumnWidth(column, max(0, rest if column == self._stretched else width))

    def _text_width(self, column: int) -> int:
        """Return the width of the longest text of a column; 0 if it is empty."""
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(entry.texts[column]) for entry in self._entries), default=0)
        heading = metrics.horizontalAdvance(self.headerItem().text(column))
        return max(widest, heading) + SPACE[3] + (0 if column else SPACE[4]) if widest else 0

    def _changed(self, item: QTreeWidgetItem, column: int) -> None:
        if column == 0 and item.data(0, _ENTRY) is not None and _entry(item).ticked is not None:
            self.ticked.emit(_entry(item).key, item.checkState(0) is Qt.CheckState.Checked)

    def _take(self, item: QTreeWidgetItem | None) -> None:
        if item is None or item.data(0, _ENTRY) is None or item.isHidden():
            return
        if _entry(item).ticked is None:
            self.taken.emit(_entry(item).key)
        else:
            self.toggle(_entry(item).key)


def _entry(item: QTreeWidgetItem) -> ChoiceEntry:
    entry = item.data(0, _ENTRY)
    assert isinstance(entry, ChoiceEntry)  # noqa: S101 (set by _show())
    return entry


def row_height() -> int:
    """Return the height of a row in pixels."""
    return max(26, round(1.6 * QFontMetrics(QApplication.font()).height()))


def _heading(text: str) -> QTreeWidgetItem:
    heading = QTreeWidgetItem([text])
    heading.setSizeHint(0, QSize(0, row_height()))
    heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
    heading.setFont(0, text_font(TextSize.SMALL, bold=True))
    heading.setForeground(0, QColor(palette().muted))
    return heading


def _show(item: QTreeWidgetItem, entry: ChoiceEntry) -> None:
    item.setData(0, _ENTRY, entry)
    item.setSizeHint(0, QSize(0, row_height()))
    for column, text in enumerate(entry.texts):
        item.setText(column, visible(text))
        item.setToolTip(column, visible(entry.tip or text))
        if column:
            item.setFont(column, text_font(TextSize.SMALL))
            colours = palette()
            item.setForeground(column, QColor(colours.error if entry.failed else colours.muted))
    if entry.ticked is not None:
        item.setCheckState(0, Qt.CheckState.Checked if entry.ticked else Qt.CheckState.Unchecked)
