"""Strip above the page with every run under way, those that wait, and those that have just ended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QSizePolicy, QWidget

from suites.quantities import count_text
from widgets.parts.boxes import fill, in_column, row_in
from widgets.parts.controls import push_button, tool_button
from widgets.parts.notice import Picture
from widgets.parts.text import OneLine, set_tool_tip, visible
from widgets.theme import SPACE, TextSize, restyle, set_icon, text_font

WIDTH = 236
"""Width in pixels of a run in the strip at the platform's default text size."""


class LineState(StrEnum):
    """State of a run in the strip."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "finished"
    EARLY = "ended early"
    DETACHED = "detached"
    FAILED = "failed"
    ELSEWHERE = "elsewhere"  # another process runs it
    QUEUED = "queued elsewhere"  # another process will run it

    @property
    def elsewhere(self) -> bool:
        """Whether it belongs to another process."""
        return self in {LineState.ELSEWHERE, LineState.QUEUED}

    @property
    def waits(self) -> bool:
        """Whether it has not begun and this window will start it."""
        return self in {LineState.WAITING, LineState.PAUSED}


ICONS: Mapping[LineState, str] = {
    LineState.RUNNING: "live",
    LineState.WAITING: "queue",
    LineState.PAUSED: "pause",
    LineState.DONE: "good",
    LineState.EARLY: "warning",
    LineState.DETACHED: "connect",
    LineState.FAILED: "error",
    LineState.ELSEWHERE: "live",
    LineState.QUEUED: "queue",
}

ASKS = "needs an answer"
"""Detail of a run that waits for an answer of the user."""


@dataclass(frozen=True, slots=True)
class StripLine:
    """What the strip shows of a run: `title` is host and plan, `detail` its progress or what it waits for.

    `key` names it in the signals. `doing`, `figure` and `left` are the trial under way, the headline's figure and the
    remaining time, for the title of the window; `share` is the share done (0 to 1), None if unknown. The connections to
    the hosts `lost` are. It `asks` if a question of it is open. `fleet`: it is a fleet study.
    """

    key: str
    title: str
    detail: str
    state: LineState
    doing: str = field(default="", compare=False)
    figure: str = field(default="", compare=False)
    left: str = field(default="", compare=False)
    share: float | None = field(default=None, compare=False)
    hosts: tuple[str, ...] = ()
    plan: str = ""
    lost: tuple[str, ...] = ()
    asks: bool = False
    fleet: bool = False

    @property
    def under_way(self) -> bool:
        """Whether it runs, in this process or in another."""
        return self.state in {LineState.RUNNING, LineState.ELSEWHERE}


def with_questions(lines: Sequence[StripLine], asked: Collection[str]) -> list[StripLine]:
    """Return `lines`, in which runs of this window ask whose host or plan is named in `asked`."""
    return [
        replace(line, asks=True, detail=ASKS)
        if line.state is LineState.RUNNING and not {*line.hosts, line.plan}.isdisjoint(asked)
        else line
        for line in lines
    ]


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
        self._picture = Picture("live")
        self._picture.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        texts = in_column(self._title, self._detail, spacing=0)
        inside = fill(row_in(self.button, SPACE[1], (SPACE[1], 2, SPACE[0], 2)), self._picture, (texts, 1))
        self.button.setMinimumHeight(inside.sizeHint().height())
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
            self._picture.show_icon("warning" if line.asks else ICONS[line.state])
            restyle(self, "state", "asks" if line.asks else line.state.value)
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
        self.stop_button.setVisible(not line.state.elsewhere)

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
        self.setVisible(len(lines) > 1 or any(line.state.elsewhere for line in lines))
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


def only_run_text(lines: Sequence[StripLine]) -> str:
    """Return the run that goes on or waits, if there is one alone, with what it does; else their number, or nothing."""
    active = [line for line in lines if line.under_way or line.state.waits]
    return f"{active[0].title} · {active[0].detail}" if len(active) == 1 else counts_text(lines)


NEXT_RUN = "Ctrl+Tab"
PREVIOUS_RUN = "Ctrl+Shift+Tab"
