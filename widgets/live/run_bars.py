"""Bars above a run: host in use by another measurement, and outcome of the run."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QPushButton, QWidget

from widgets.parts.boxes import column_in, fill, in_column, in_row, row_in
from widgets.parts.controls import line_edit, push_button
from widgets.parts.flow_layout import flowing
from widgets.parts.notice import SEVERITY_NAMES, Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, restyle


class BusyBar(QFrame):
    """What a run in the queue waits for, with buttons to run it anyway or to resume it. Hidden otherwise."""

    anyway_requested = Signal()
    resume_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        self.resume_button = push_button("Resume", self.resume_requested, tip="Start when its hosts are free")
        self.anyway_button = QPushButton("Run anyway")
        set_tool_tip(self.anyway_button, "Run concurrently; the run records this")
        self.anyway_button.clicked.connect(self.anyway_requested)
        first = in_row(Picture("warning"), (self.message, 1), self.resume_button, self.anyway_button, spacing=SPACE[1])
        fill(column_in(self, SPACE[0], (SPACE[2], SPACE[1], SPACE[1], SPACE[1])), first, self.detail)
        restyle(self, "level", "warning")
        self.hide()

    def wait(self, message: str, *, paused: bool = False) -> None:
        """Show what the run waits for, or that it is `paused`; it can still run anyway."""
        self.message.setText(message)
        self.detail.setText("Others pass while it is paused." if paused else WAITING)
        self.resume_button.setVisible(paused)
        self.setAccessibleName(f"{SEVERITY_NAMES['warning']}: {self.message.text()} {self.detail.text()}")
        self.show()


WAITING = "Concurrent measurements on one host disturb each other. The run starts when its hosts are free."


class ConnectionBar(QFrame):
    """What is known of broken connections. Hidden while there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        texts = in_column(self.message, self.detail, spacing=SPACE[0])
        fill(
            row_in(self, SPACE[1], (SPACE[2], SPACE[1], SPACE[1], SPACE[1])),
            Picture("connect", 16, "warning"),
            (texts, 1),
        )
        restyle(self, "level", "warning")
        self.hide()

    def show_links(self, texts: Sequence[tuple[str, str]]) -> None:
        """Show the title and the details of each broken connection."""
        if texts:
            (title, detail), *others = texts
            self.message.setText(title)
            self.detail.setText("\n".join([detail, *(f"{one} {more}" for one, more in others)]))
            self.setAccessibleName(f"{SEVERITY_NAMES['warning']}: {self.message.text()} {self.detail.text()}")
        self.setVisible(bool(texts))


TEXT_LEAST = 180
"""Least width in pixels of the text; with less, the buttons move below it."""


class OutcomeBar(QFrame):
    """Outcome of a run with buttons and a field for a baseline's name. Hidden while a run is under way."""

    show_requested = Signal()
    export_requested = Signal()
    rerun_requested = Signal()
    crosscheck_requested = Signal()
    compare_requested = Signal()
    pin_requested = Signal(str)  # the baseline's name

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        self._picture = Picture("info")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        self.show_button = _button("Show in library", self.show_requested)
        self.pin_button = push_button("Pin as baseline…", self._ask_name)
        self.export_button = _button("Export…", self.export_requested)
        self.rerun_button = _button("Run again", self.rerun_requested)
        self.crosscheck_button = _button("Check with another tool…", self.crosscheck_requested)
        self.compare_button = _button("Compare with baseline", self.compare_requested)
        for button, keys in (
            (self.pin_button, "Ctrl+B"),
            (self.rerun_button, "Ctrl+R"),
            (self.compare_button, "Ctrl+D"),
        ):
            button.setShortcut(keys)
            set_tool_tip(button, f"{button.text()} ({keys})")
        self.name = line_edit(
            "Name of the baseline", self._enable, placeholderText="Name of the baseline", maxLength=80, minimumWidth=220
        )
        self.name.returnPressed.connect(self._pin)
        self.accept_button = push_button("Pin", self._pin)
        self.cancel_button = push_button("Cancel", self._close_name)
        self._lay_out()
        self.hide()

    def show_message(
        self, level: str, message: str, detail: str, *, stored: bool, measured: bool = True, compared: bool = False
    ) -> None:
        """Show the outcome as `level`. Without a stored run (`stored`) only *Run again* is offered.

        A run without a counted trial (not `measured`) cannot be pinned; one that has a baseline can be `compared`.
        """
        self._picture.show_icon(level)
        self._picture.setAccessibleName(SEVERITY_NAMES[level])
        self.message.setText(message)
        self.detail.setText(detail)
        self.detail.setVisible(bool(detail))
        self.setAccessibleName(f"{SEVERITY_NAMES[level]}: {message} {detail}".strip())
        restyle(self, "level", level)
        for button in (self.show_button, self.pin_button, self.export_button, self.crosscheck_button):
            button.setVisible(stored)
        self.compare_button.setVisible(stored and compared)
        self.pin_button.setEnabled(stored and measured)
        why = "Pin as baseline (Ctrl+B)" if measured else "No trial counts: nothing to compare against"
        set_tool_tip(self.pin_button, why)
        self._close_name()
        self.show()

    def propose(self, name: str) -> None:
        """Propose `name` for the baseline."""
        self.name.setText(name)

    def show_detail(self, detail: str) -> None:
        """Show the result of a request."""
        self.detail.setText(detail)
        self.detail.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close the name field with Esc."""
        if event.key() == Qt.Key.Key_Escape and self._name_row.isVisible():
            self._close_name()
            self.pin_button.setFocus()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Move the buttons below the text where there is no room beside it."""
        super().resizeEvent(event)
        right, below = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        room = self.width() - self._actions.sizeHint().width()
        self._first.setDirection(below if room < TEXT_LEAST else right)

    def _lay_out(self) -> None:
        stored = (self.show_button, self.pin_button, self.export_button, self.crosscheck_button)
        self._actions = flowing(self.compare_button, *stored, self.rerun_button, spacing=SPACE[1])
        self._name_row = QWidget()
        fill(row_in(self._name_row, SPACE[1]), self.name, self.accept_button, self.cancel_button)
        texts = in_row(self._picture, (self.message, 1), spacing=SPACE[1])
        self._first = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._first.setSpacing(SPACE[1])
        fill(self._first, (texts, 1), self._actions, self._name_row)
        fill(column_in(self, SPACE[0], (SPACE[2], SPACE[0], SPACE[1], SPACE[0])), self._first, self.detail)
        self._name_row.hide()

    def _ask_name(self) -> None:
        self._actions.hide()
        self._name_row.show()
        self.name.selectAll()
        self.name.setFocus()
        self._enable()

    def _close_name(self) -> None:
        self._name_row.hide()
        self._actions.show()

    def _enable(self) -> None:
        self.accept_button.setEnabled(bool(self.name.text().strip()))

    def _pin(self) -> None:
        name = self.name.text().strip()
        if name:
            self._close_name()
            self.pin_requested.emit(name)


def _button(text: str, request: SignalInstance) -> QPushButton:
    return push_button(text, lambda _checked: request.emit())
