"""A user who does anything: clicks, keys, texts and menus in the open window, at random."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st
from PySide6.QtCore import QAbstractListModel, QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QContextMenuEvent, QDesktopServices, QInputMethodEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)

from tests.event_loop import process_events_while

KEYS = (
    "Tab", "Shift+Tab", "Return", "Space", "Esc", "Up", "Down", "Left", "Right", "Home", "End", "PgUp", "PgDown", "Del",
    "Backspace", "Ctrl+A", "Ctrl+B", "Ctrl+C", "Ctrl+F", "Ctrl+K", "Ctrl+N", "Ctrl+O", "Ctrl+S", "Ctrl+Z", "Ctrl+Tab",
    "F1", "F2", "F5", "F9", "Ctrl+1", "Ctrl+2", "Ctrl+3", "Ctrl+4", "Ctrl+5", "Ctrl+6", "Ctrl+7", "Ctrl+8", "Ctrl+9",
)  # fmt: skip


TEXTS = ("web", "4k", "-1", "rw=read", "0", "1e308", "(((", "root@h:22", "ä 漢 \u202e", '"', "x" * 300, "local")

T = TypeVar("T")

Act = tuple[str, int]
"""What is done, and the number that chooses among what can be done."""


def walks(steps: int) -> st.SearchStrategy[list[Act]]:
    """Return lists of `steps` acts."""
    acts = st.tuples(st.sampled_from(tuple(Walker.ACTS)), st.integers(0, 10_000))
    return st.lists(acts, min_size=steps, max_size=steps)


@dataclass
class Walker:
    """Does acts in `window`, or in the dialog or menu before it; `done` names them for a failure."""

    window: QMainWindow
    done: list[str]

    def act(self, act: Act) -> None:
        """Do one act; nothing where there is nothing to do it with."""
        name, number = act
        nested = QTimer(self.window, interval=200)  # a button's menu has a loop of its own, which only a choice ends
        nested.timeout.connect(lambda: self.done.append(self._popup(number)))
        nested.start()
        self.done.append(self.ACTS[name](self, number) or f"{name}: nothing")
        nested.stop()
        nested.deleteLater()
        QApplication.processEvents()

    @property
    def front(self) -> QWidget:
        """The menu, dialog or window that takes the user's input."""
        return QApplication.activePopupWidget() or QApplication.activeModalWidget() or self.window

    def _visible(self, kinds: tuple[type[QWidget], ...]) -> list[QWidget]:
        found: list[QWidget] = [one for one in self.front.findChildren(QWidget) if isinstance(one, kinds)]
        return [one for one in found if one.isVisible() and one.isEnabled() and not one.visibleRegion().isEmpty()]

    def _click(self, number: int) -> str:
        button = _chosen(self._visible((QAbstractButton, QTabBar, QComboBox)), number)
        if button is None:
            return ""
        at = QPoint(number % max(1, button.width()), button.height() // 2)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=at)
        return f"click {_name(button)}"

    def _row(self, number: int) -> str:
        views = [one for one in self._visible((QAbstractItemView,)) if one.model() and one.model().rowCount()]  # type: ignore[attr-defined]
        view = _chosen(views, number)
        if not isinstance(view, QAbstractItemView):
            return ""
        model = view.model()
        index = model.index(
            number % model.rowCount(),
            number % (1 if isinstance(model, QAbstractListModel) else model.columnCount() or 1),
        )
        held = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier)[number % 2]
        at = view.visualRect(index).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, held, at)
        if number % 5 == 0:
            QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
            QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
        return f"row {index.row()} of {_name(view)}"

    def _key(self, number: int) -> str:
        text = KEYS[number % len(KEYS)]
        combination = QKeySequence(text)[0]  # type: ignore[index]
        aim = QApplication.focusWidget() or self.front
        QTest.keyClick(aim, combination.key(), combination.keyboardModifiers())
        return f"key {text} in {_name(aim)}"

    def _text(self, number: int) -> str:
        aim = QApplication.focusWidget()
        if not isinstance(aim, QLineEdit | QPlainTextEdit | QAbstractSpinBox | QComboBox):
            aim = _chosen(self._visible((QLineEdit, QPlainTextEdit)), number)
        if aim is None:
            return ""
        text = TEXTS[number % len(TEXTS)]
        typed = QInputMethodEvent()
        typed.setCommitString(text)
        QApplication.sendEvent(aim, typed)
        return f"text {text[:20]!r} in {_name(aim)}"

    def _menu(self, number: int) -> str:
        if self.front is not self.window:
            return ""
        action = _chosen(list(_leaves(self.window.menuBar().actions())), number)
        if action is None:
            return ""
        action.trigger()
        return f"menu {action.text()}"

    def _context(self, number: int) -> str:
        aim = _chosen(self._visible((QWidget,)), number)
        if aim is None or isinstance(self.front, QMenu):
            return ""
        at = aim.rect().center()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, aim.mapToGlobal(at))
        QApplication.sendEvent(aim, event)
        return f"context menu of {_name(aim)}"

    def _popup(self, number: int) -> str:
        menu = QApplication.activePopupWidget()
        if not isinstance(menu, QMenu):
            return ""
        action = _chosen(list(_leaves(menu.actions())), number)
        menu.close()
        if action is not None:
            action.trigger()
        return f"popup {action.text() if action else 'closed'}"

    def _back(self, _number: int) -> str:
        leave(self.front, self.window)
        return "back"

    def _resize(self, number: int) -> str:
        width, height = ((900, 640), (1024, 700), (1280, 800), (1920, 1080))[number % 4]
        self.window.resize(width, height)
        return f"resize {width}x{height}"

    def _wait(self, number: int) -> str:
        until = time.monotonic() + number % 200 / 1000
        process_events_while(lambda: time.monotonic() < until)
        return "wait"

    ACTS = {  # noqa: RUF012 (of the class)
        "click": _click, "click more": _click, "row": _row, "key": _key, "key more": _key, "text": _text, "menu": _menu,
        "context": _context, "popup": _popup, "back": _back, "resize": _resize, "wait": _wait,
    }  # fmt: skip


def leave(front: QWidget, window: QWidget) -> None:
    """Close what is before the window without an answer."""
    if isinstance(front, QDialog):
        front.reject()
    elif front is not window:
        front.close()


def harmless(monkeypatch: Callable[..., None]) -> None:
    """Keep what leaves the window from opening: browsers, and the system's own file dialogs."""
    monkeypatch(QDesktopServices, "openUrl", lambda _url: True)
    monkeypatch(QFileDialog, "open", lambda dialog, *_: dialog.reject())


def _chosen(found: Sequence[T], number: int) -> T | None:
    return found[number % len(found)] if found else None


def _leaves(actions: Sequence[QAction]) -> Iterator[QAction]:
    for action in actions:
        menu = action.menu()
        if isinstance(menu, QMenu):
            yield from _leaves(menu.actions())
        elif action.isEnabled() and not action.isSeparator() and action.text().replace("&", "") != "Quit":
            yield action


def _name(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return f"{type(widget).__name__} “{(text or widget.accessibleName())[:40]}”"
