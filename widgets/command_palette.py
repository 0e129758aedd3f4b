"""Command palette: find a command, host, run or setting by its words, and perform it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QAction, QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QMenuBar,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import line_edit
from widgets.parts.names import host_label, host_title
from widgets.parts.table_model import Index
from widgets.parts.text import Text, Tone, visible
from widgets.theme import ICON_SIZE, SPACE, TextSize, icon, palette, scaled, text_font

MOST = 60
"""Most entries shown."""

WIDTH, ROWS = 620, 12
_ENTRY = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class PaletteEntry:
    """Something that can be performed, or that `disabled` says why not: its title, where it belongs, its shortcut, and
    its icon."""

    title: str
    detail: str
    perform: Callable[[], object]
    keys: str = ""
    icon: str = ""
    words: str = ""  # by which it is found besides
    disabled: bool = False

    @cached_property
    def _text(self) -> str:
        """A space before each word that is searched."""
        return f" {self.title} {self.detail} {self.words}".casefold()

    def rank(self, words: Sequence[str]) -> int | None:
        """Return how well `words` (case-folded) match, 0 the best; None if one of them does not occur."""
        text = self._text
        if not all(word in text for word in words):
            return None
        if words and text.startswith(f" {' '.join(words)}"):
            return 0
        return 1 + sum(f" {word}" not in text for word in words)


def matching(entries: Iterable[PaletteEntry], text: str) -> list[PaletteEntry]:
    """Return the entries in which every word of `text` occurs, the best matches first, MOST at most."""
    words = text.casefold().split()
    ranked = [(rank, entry) for entry in entries if (rank := entry.rank(words)) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda found: (found[0], found[1].disabled))[:MOST]]


def menu_entries(bar: QMenuBar) -> list[PaletteEntry]:
    """Return the actions of a menu bar with the names of their menus, disabled ones with the reason."""
    return [entry for action in bar.actions() for entry in _entries_of(action, "")]


def _entries_of(action: QAction, above: str) -> list[PaletteEntry]:
    title = action.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
    menu = action.menu()
    if isinstance(menu, QMenu):
        path = f"{above} > {title}" if above else title
        return [entry for each in menu.actions() for entry in _entries_of(each, path)]
    if action.isSeparator() or not action.isVisible() or not title:
        return []
    why = action.toolTip() if action.toolTip() != title else ""
    detail = above if action.isEnabled() else f"{above}, disabled{f': {why}' if why else ''}"
    keys, words = action.shortcut().toString(), action.whatsThis()
    return [PaletteEntry(title, detail, action.trigger, keys, words=words, disabled=not action.isEnabled())]


class _EntryDelegate(QStyledItemDelegate):
    """Draws an entry in one line: icon, title, where it belongs, shortcut."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: Index) -> QSize:
        """Return the height of a row."""
        return QSize(0, option.fontMetrics.height() + 2 * SPACE[1])

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the entry."""
        entry = index.data(_ENTRY)
        colours = palette()
        row = QRect(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(row, QColor(colours.selected))
        row.adjust(SPACE[2], 0, -SPACE[2], 0)
        if entry.icon:
            icon(entry.icon).paint(painter, QRect(row.left(), row.top(), scaled(ICON_SIZE), row.height()))
        row.setLeft(row.left() + scaled(ICON_SIZE) + SPACE[1])
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        painter.setPen(QColor(colours.muted))
        if entry.keys:
            painter.drawText(row, middle | int(Qt.AlignmentFlag.AlignRight), entry.keys)
            row.setRight(row.right() - option.fontMetrics.horizontalAdvance(entry.keys) - SPACE[3])
        painter.setPen(QColor(colours.muted if entry.disabled else colours.text))
        title = option.fontMetrics.elidedText(visible(entry.title), Qt.TextElideMode.ElideRight, row.width())
        painter.drawText(row, middle, title)
        row.setLeft(row.left() + option.fontMetrics.horizontalAdvance(title) + SPACE[2])
        painter.setPen(QColor(colours.muted))
        detail = option.fontMetrics.elidedText(visible(entry.detail), Qt.TextElideMode.ElideRight, max(0, row.width()))
        painter.drawText(row, middle, detail)


class CommandPalette(QFrame):
    """Field above a list of matches, over the window. Up and Down move in the list while typing, Enter performs; Esc
    or a click elsewhere closes.

    `commands` are at hand; hosts and runs are read in the background and added as they arrive. `show_run` and
    `show_host` are called with the id or name chosen.
    """

    def __init__(
        self,
        workstation: Workstation,
        commands: Sequence[PaletteEntry],
        show_host: Callable[[str], object],
        show_run: Callable[[str], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._entries = list(commands)
        self._show_host, self._show_run = show_host, show_run
        self.setObjectName("card")
        self.setAccessibleName("Find or do")
        self.field = line_edit("Find or do", self._search, placeholderText="Command, host, run or setting")
        self.field.installEventFilter(self)
        self.list = QListWidget()
        self.list.setItemDelegate(_EntryDelegate(self.list))
        self.list.setAccessibleName("Matches")
        self.list.setUniformItemSizes(True)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.itemClicked.connect(self._perform)
        self.note, self._nothing = Text(tone=Tone.MUTED), Text("Nothing found", Tone.MUTED)
        self.note.hide()
        fill(
            column_in(self, SPACE[0], (SPACE[1], SPACE[1], SPACE[1], SPACE[1])),
            self.field,
            self.list,
            self._nothing,
            self.note,
        )
        self.setFont(text_font(TextSize.BODY))
        self._place(parent)
        self._search("")
        for work in (lambda: self._hosts(workstation), lambda: self._runs(workstation)):
            BackgroundJob(work, self).start(self._add, self._show_error)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list with the keys of the field."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -ROWS, Qt.Key.Key_PageDown: ROWS}
            key = Qt.Key(event.key())
            if key in steps and self.list.count():
                row = self.list.currentRow() + steps[key]
                self.list.setCurrentRow(max(0, min(self.list.count() - 1, row)))
                return True
            if key == Qt.Key.Key_Escape:
                self.close_palette()
                return True
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._perform(self.list.currentItem())
                return True
        if event.type() is QEvent.Type.FocusOut and watched is self.field and self.isActiveWindow():
            self.close_palette()
        return super().eventFilter(watched, event)

    def _place(self, parent: QWidget) -> None:
        """Place the palette at the top of the window, in its middle."""
        wide = min(WIDTH, parent.width() - 2 * SPACE[4])
        self.setFixedWidth(wide)
        self.move((parent.width() - wide) // 2, 2 * SPACE[4])
        focused: QWidget | None = parent.focusWidget()
        self._before = parent if focused is None else focused
        self.show()
        self.raise_()
        self.field.setFocus()

    def close_palette(self) -> None:
        """Close, and give the focus back."""
        self.field.removeEventFilter(self)
        self.hide()
        if isValid(self._before):
            self._before.setFocus()
        self.deleteLater()

    def _hosts(self, workstation: Workstation) -> list[PaletteEntry]:
        """Return the hosts; called in the background."""
        return [
            PaletteEntry(host_title(host.name), "Host", partial(self._show_host, host.name), icon="hosts")
            for host in workstation.hosts()
        ]

    def _runs(self, workstation: Workstation) -> list[PaletteEntry]:
        """Return the runs, ready to be searched; called in the background."""
        found = []
        for row in workstation.library().rows:
            if row.binned:
                continue
            run, started = row.summary, row.summary.utc_text
            hosts = ", ".join(map(host_label, run.hosts))
            about = ", ".join(filter(None, ("Run", row.result, hosts, f"{started} UTC", run.id)))
            entry = PaletteEntry(run.name, about, partial(self._show_run, run.id), icon="library")
            entry.rank(())
            found.append(entry)
        return found

    def _add(self, found: Sequence[PaletteEntry]) -> None:
        self._entries.extend(found)
        self._search(self.field.text())

    def _show_error(self, error: BenchwrightError) -> None:
        self.note.setText(str(error))
        self.note.show()
        self._fit()

    def _search(self, text: str) -> None:
        self.list.clear()
        for entry in matching(self._entries, text):
            item = QListWidgetItem(f"{entry.title}, {entry.detail}")
            item.setData(_ENTRY, entry)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self._fit()

    def _fit(self) -> None:
        """Make the list as high as its rows, up to ROWS."""
        count, row = self.list.count(), self.list.sizeHintForRow(0)
        parent = self.parentWidget()
        most = ROWS * row if parent is None else min(ROWS * row, parent.height() * 3 // 5)
        self.list.setFixedHeight(min(count * row, most) + 2 * self.list.frameWidth() if count else 0)
        self._nothing.setVisible(not count)
        self.adjustSize()

    def _perform(self, item: QListWidgetItem | None) -> None:
        if item is not None and not item.data(_ENTRY).disabled:
            self.close_palette()
            item.data(_ENTRY).perform()
