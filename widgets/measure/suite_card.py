"""One kind of test: what it is, whether the hosts have its tool, and the plan's steps of it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.plans.plan import LOCAL
from suites.base import Suite
from widgets.measure.check_box import TitleBox
from widgets.measure.draft import DraftStep
from widgets.measure.step_view import clear
from widgets.measure.tools import Missing
from widgets.parts.icons import set_icon
from widgets.parts.names import host_title, host_words
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font


class StepLine(QWidget):
    """One step of the suite: its name, its other end where it needs one, and the way out of the plan."""

    removed = Signal(object)
    changed = Signal()

    def __init__(self, step: DraftStep, peers: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._step = step
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        name = Text(step.name)
        row.addWidget(name, 1)
        self.peer = QComboBox()
        if step.suite.needs_peer:
            row.addWidget(Text("server end on", Tone.MUTED, wrap=False))
            row.addWidget(self._fill_peers(peers))
        self.remove = QToolButton()
        set_icon(self.remove, "remove")
        self.remove.setAccessibleName(f"Remove {step.name}")
        set_tool_tip(self.remove, f"Remove {step.name}")
        self.remove.clicked.connect(self._remove)
        row.addWidget(self.remove)

    def _fill_peers(self, peers: Sequence[str]) -> QComboBox:
        chosen = self._step.peer or LOCAL
        for peer in dict.fromkeys([*peers, chosen]):
            self.peer.addItem(host_title(peer), peer)
        self.peer.setCurrentIndex(self.peer.findData(chosen))
        self.peer.setAccessibleName(f"Server end of {self._step.name}")
        self.peer.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.peer.setMinimumContentsLength(12)
        self.peer.setMaximumWidth(220)
        self.peer.activated.connect(self._choose_peer)
        return self.peer

    def _choose_peer(self, index: int) -> None:
        self._step.peer = str(self.peer.itemData(index))
        self.changed.emit()

    def _remove(self) -> None:
        self.removed.emit(self._step)


class SuiteCard(QFrame):
    """A box to tick, the suite in a sentence, its tool on the hosts, its steps."""

    ticked = Signal(object, bool)  # the Suite
    another_requested = Signal(object)  # the Suite
    removed = Signal(object)  # the DraftStep
    changed = Signal()
    install_requested = Signal(object)  # a Missing

    def __init__(self, suite: Suite, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.suite = suite
        self.lines: list[StepLine] = []
        self.install_buttons: list[QPushButton] = []
        self._missing: tuple[Missing, ...] | None = None
        self._steps: list[tuple[DraftStep, str, str | None]] | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        column.setSpacing(SPACE[0])
        column.addLayout(self._build_head())
        column.addWidget(Text(suite.summary, Tone.MUTED))
        self._tools = QVBoxLayout()
        self._tools.setSpacing(SPACE[0])
        column.addLayout(self._tools)
        self._list = QVBoxLayout()
        self._list.setSpacing(SPACE[0])
        column.addLayout(self._list)

    def show_steps(self, steps: Sequence[DraftStep], peers: Sequence[str]) -> None:
        """Show the plan's steps of this suite."""
        self.box.setChecked(bool(steps))
        self.another.setVisible(bool(steps))
        drawn = [(step, step.name, step.peer) for step in steps]
        if drawn == self._steps:
            return
        self._steps = drawn
        clear(self._list)
        worth_lines = len(steps) > 1 or self.suite.needs_peer
        self.lines = [StepLine(step, peers) for step in steps] if worth_lines else []
        for line in self.lines:
            line.removed.connect(self.removed)
            line.changed.connect(self.changed)
            self._list.addWidget(line)

    def show_tool(self, words: str, missing: tuple[Missing, ...]) -> None:
        """Show the versions found, and on which hosts the tool is missing."""
        self._version.setText(words)
        if missing == self._missing:
            return
        self._missing = missing
        clear(self._tools)
        self.install_buttons = []
        for each in missing:
            self._tools.addWidget(self._missing_line(each))

    def _build_head(self) -> QHBoxLayout:
        self.box = TitleBox(self.suite.title)
        self.box.clicked.connect(self._tick)
        self._version = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self._version.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.another = QPushButton("Add another")
        set_icon(self.another, "add")
        self.another.setAccessibleName(f"Add another {self.suite.title}")
        self.another.clicked.connect(self._ask_another)
        head = QHBoxLayout()
        head.setSpacing(SPACE[2])
        head.addWidget(self.box)
        head.addWidget(self._version, 1)
        head.addWidget(self.another)
        return head

    def _missing_line(self, missing: Missing) -> QWidget:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        row.addWidget(Picture("warning"))
        row.addWidget(Text(f"{missing.program}: not installed on {host_words(missing.host)}.", Tone.WARNING), 1)
        if missing.install:
            button = QPushButton("Install…")
            button.setAccessibleName(f"Install {missing.program} on {missing.host}")
            set_tool_tip(button, f"Asks first, then runs: {missing.install}")
            button.clicked.connect(lambda: self.install_requested.emit(missing))
            self.install_buttons.append(button)
            row.addWidget(button)
        return line

    def _tick(self, ticked: bool) -> None:  # noqa: FBT001 (Qt passes it so)
        self.ticked.emit(self.suite, ticked)

    def _ask_another(self) -> None:
        self.another_requested.emit(self.suite)
