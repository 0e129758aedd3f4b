"""Strip above the page with every run under way, those that wait, and those that have just ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QSizePolicy, QWidget

from suites.quantities import count_text
from widgets.parts.boxes import column_in, fill, row_in
from widgets.parts.controls import push_button, tool_button
from widgets.parts.text import OneLine, set_tool_tip, visible
from widgets.theme import SPACE, TextSize, restyle, set_icon, text_font

WIDTH = 236
"""Width in pixels of a run in the strip at the platform's default text size."""


class LineState(StrEnum):
    """State of a run in the strip."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    ELSEWHERE = "elsewhere"  # another process runs it, or will

    @property
    def waits(self) -> bool:
        """Whether it has not begun and this window will start it."""
        return self in {LineState.WAITING, LineState.PAUSED}


_ICONS = {
    LineState.RUNNING: "live",
    LineState.WAITING: "info",
    LineState.PAUSED: "info",
    LineState.DONE: "good",
    LineState.FAILED: "error",
    LineState.ELSEWHERE: "hosts",
}


@dataclass(frozen=True, slots=True)
class StripLine:
    """What the strip shows of a run: `title` is host and plan, `detail` its progress or what it waits for.

    `key` names it in the signals. `figure` and `left` are the figure so far and the remaining time, for the title of
    the window; `share` is the share done (0 to 1), None if unknown.
    """

    key: str
    title: str
    detail: str
    state: LineState
    figure: str = field(default="", compare=False)
    left: str = field(default="", compare=False)
    share: float | None = field(default=None, compare=False)


class _RunCard(QFrame):
    """One run: a button that shows it, and one that stops it or takes it from the queue."""

    def __init__(self, strip: "RunStrip") -> None:
        super().__init__()
        self.setObjectName("runcard")
        self.line = StripLine("", "", "", LineState.ELSEWHERE)
        self.button = push_button("", lambda: strip.chosen.emit(self.line.key), checkable=True, flat=True)
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._title, self._detail = (
            OneLine(text_font(TextSize.BODY, bold=True)),
            OneLine(text_font(TextSize.SMALL), "muted"),
        )
        for text in (self._title, self._detail):
            text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        texts = fill(column_in(self.button, 0, (SPACE[1], 2, SPACE[0], 2)), self._title, self._detail)
        self.button.setMinimumHeight(texts.sizeHint().height())
        self.stop_button = tool_button(clicked=lambda: strip.stop_requested.emit(self.line.key), autoRaise=True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        self._strip, self._front = strip, False
        fill(row_in(self, 0, (0, 0, 2, 0)), (self.button, 1), self.stop_button)
        self.setFixedWidth(max(WIDTH, 28 * self.fontMetrics().averageCharWidth() + SPACE[3]))

    def show_line(self, line: StripLine, *, front: bool) -> None:
        """Show a run; `front`: its page is the one shown."""
        if line != self.line:
            self.line = line
            self._title.set_text(line.title)
            self._detail.set_text(line.detail)
            text = f"{line.title}\n{line.detail}"
            set_tool_tip(self.button, text)
            self.button.setAccessibleName(f"{line.state.value}: {line.title}, {line.detail}")
            restyle(self, "state", line.state.value)
            self._show_action(line)
        self.button.setChecked(front)
        if front is not self._front:
            self._front = front
            restyle(self, "front", front)
            if front:
                self._strip.ensureWidgetVisible(self, SPACE[1], 0)

    def _show_action(self, line: StripLine) -> None:
        removes = line.state is not LineState.RUNNING
        set_icon(self.stop_button, "remove" if removes else "stop", "text")
        tip = "Remove from the queue" if line.state.waits else "Remove from this list" if removes else "Stop the run"
        set_tool_tip(self.stop_button, tip)
        self.stop_button.setAccessibleName(f"{tip}: {visible(line.title)}")
        self.stop_button.setVisible(line.state is not LineState.ELSEWHERE)

    def _open_menu(self, at: QPoint) -> None:
        if self.line.state.waits:
            menu = QMenu(self)
            for action in actions_of(paused=self.line.state is LineState.PAUSED):
                menu.addAction(action.value).triggered.connect(
                    lambda _checked, chosen=action: self._strip.queue_requested.emit(self.line.key, chosen)
                )
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.mapToGlobal(at))


class QueueAction(StrEnum):
    """What can be done with a run that waits."""

    FRONT = "Move to front"
    PAUSE = "Pause"
    RESUME = "Resume"
    ANYWAY = "Run anyway"
    REMOVE = "Remove from queue"


def actions_of(*, paused: bool) -> tuple[QueueAction, ...]:
    """Return what can be done with a run that waits."""
    return (
        QueueAction.FRONT,
        QueueAction.RESUME if paused else QueueAction.PAUSE,
        QueueAction.ANYWAY,
        QueueAction.REMOVE,
    )


class RunStrip(QScrollArea):
    """Every run, in a row that scrolls. Hidden while there is at most one, of this window."""

    chosen = Signal(str)  # the key of a run
    stop_requested = Signal(str)
    queue_requested = Signal(str, object)  # the key of a run that waits, and a QueueAction

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("runstrip")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Runs")
        self.cards: list[_RunCard] = []
        inside = QWidget()
        self._row = row_in(inside, SPACE[1], (SPACE[1], SPACE[0], SPACE[1], SPACE[0]))
        self._row.addStretch(1)
        self.setWidget(inside)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_lines(self, lines: Sequence[StripLine], front: str) -> None:
        """Show `lines`; that with the key `front` is the one shown on Live."""
        while len(self.cards) < len(lines):
            card = _RunCard(self)
            self.cards.append(card)
            self._row.insertWidget(len(self.cards) - 1, card)
        while len(self.cards) > len(lines):
            card = self.cards.pop()
            card.hide()
            card.deleteLater()
        for card, line in zip(self.cards, lines, strict=True):
            card.show_line(line, front=line.key == front)
        self.setVisible(len(lines) > 1 or any(line.state is LineState.ELSEWHERE for line in lines))
        if lines:
            bar = self.horizontalScrollBar()
            scrolls = bar.sizeHint().height() if bar.maximum() > 0 else 0
            self.setFixedHeight(self.cards[0].sizeHint().height() + 2 * SPACE[0] + scrolls)


def counts_text(lines: Sequence[StripLine]) -> str:
    """Return how many runs are under way and wait: ``3 runs, 1 waiting``; empty for fewer than two."""
    running = sum(line.state is LineState.RUNNING for line in lines)
    waiting = sum(line.state.waits for line in lines)
    if running + waiting < 2:
        return ""
    parts = [count_text(running, "run") if running else "", f"{waiting} waiting" if waiting else ""]
    return ", ".join(filter(None, parts))


NEXT_RUN = "Ctrl+Tab"
PREVIOUS_RUN = "Ctrl+Shift+Tab"
