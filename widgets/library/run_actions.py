"""What can be done with the selected runs: one list for the buttons, the context menu and the keys."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from app.comparing.choosing import parts_side_by_side
from app.events import State
from suites.errors import BenchwrightError
from widgets.library.run_lines import RunLine
from widgets.parts.text import set_tool_tip


class RunActions(QObject):
    """The actions; each asks through its signal, the page does."""

    open_requested = Signal()
    compare_requested = Signal()
    pin_requested = Signal()
    unpin_requested = Signal()
    noise_requested = Signal()
    scaling_requested = Signal()
    heat_requested = Signal()
    rounds_requested = Signal()
    rank_requested = Signal()
    export_requested = Signal()
    repeat_requested = Signal()
    opinion_requested = Signal()
    delete_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.newer: BenchwrightError | None = None  # why nothing can be written to the library
        self.open = self._make("Show alone", self.open_requested)
        self.compare = self._make("Compare", self.compare_requested, "Ctrl+D")
        self.pin = self._make("Pin as baseline…", self.pin_requested, "Ctrl+B")
        self.unpin = self._make("Unpin", self.unpin_requested, "Ctrl+B")
        self.noise = self._make("Noise…", self.noise_requested)
        self.scaling = self._make("Scaling…", self.scaling_requested)
        self.heat = self._make("Heat map…", self.heat_requested)
        self.rounds = self._make("Rounds…", self.rounds_requested)
        self.rank = self._make("Rank…", self.rank_requested)
        self.export = self._make("Export…", self.export_requested)
        self.repeat = self._make("Repeat", self.repeat_requested, "Ctrl+R")
        self.opinion = self._make("Check with another tool…", self.opinion_requested)
        self.delete = self._make("Delete…", self.delete_requested, "Del")
        self.studies = QMenu("Study", parent)
        self.studies.setToolTipsVisible(True)
        self.studies.addActions([self.noise, self.scaling, self.heat, self.rounds, self.rank])
        self.studies.addSeparator()
        self.studies.addAction(self.opinion)
        self.study = self.studies.menuAction()
        self.show_chosen([])

    def all(self) -> Sequence[QAction]:
        """Return the actions in the order in which they are offered."""
        return (
            self.open,
            self.compare,
            self.pin,
            self.unpin,
            self.study,
            self.export,
            self.repeat,
            self.delete,
        )

    def show_chosen(self, chosen: Sequence[RunLine]) -> None:
        """Offer what can be done with `chosen`; say of the rest why it cannot."""
        one, several = len(chosen) == 1, len(chosen) > 1
        pinned = one and chosen[0].summary.baseline is not None
        under_way = any(line.summary.state is State.RUNNING for line in chosen)
        _offer(self.open, one or several, "Give the run the whole page, or the list back", "Select a run")
        parts = one and bool(parts_side_by_side(chosen[0].summary))
        beside = (
            "Put the selected runs side by side" if several else "Put the hosts, or the steps, of this run side by side"
        )
        _offer(self.compare, several or parts, beside, "Select two runs or more, with Ctrl")
        shown = "these runs, as one group," if several else "this run"
        measured = bool(chosen) and all(line.summary.trials for line in chosen)
        reason = "No trial of it counts: there is no figure to compare against" if chosen else "Select a run"
        _offer(self.pin, measured and not pinned, f"Show {shown} beneath the curves of the next ones", reason)
        _offer(self.unpin, pinned, "Stop showing it beneath other runs; the run stays", "Select a pinned run")
        what = "Noise, scaling, latencies over time, rounds until steady, and which of the runs is the best"
        _offer(self.study, bool(chosen), what, "Select a run")
        _offer(
            self.noise, one or several, "Rank what the selected runs measured by how repeatable it is", "Select a run"
        )
        _offer(self.rank, bool(chosen), "Find the best of the selected runs, as you define it", "Select runs")
        _offer(self.scaling, one or several, "Show what more threads, depth or streams give", "Select a run")
        _offer(self.heat, bool(chosen), "Show every request by its moment and its latency", "Select a run")
        _offer(self.rounds, one or several, "Show how a test became steady, round by round", "Select a run")
        _offer(self.export, bool(chosen), "Write the selected runs as CSV and picture (Ctrl+E)", "Select a run")
        _offer(self.repeat, one, "Open this run's plan, to run it again", "Select one run")
        _offer(self.opinion, one, "Ask another tool the same, and see whether both agree", "Select one run")
        reason = "A run that is under way is stopped first" if under_way else "Select a run"
        _offer(self.delete, bool(chosen) and not under_way, "Delete the selected runs for good, after asking", reason)
        self.pin.setVisible(not pinned)
        self.unpin.setVisible(pinned)
        if self.newer is not None:
            for writing in (self.pin, self.unpin, self.delete):
                _offer(writing, False, "", f"{self.newer.message} {self.newer.remedy}")

    def _make(self, text: str, request: SignalInstance, keys: str = "") -> QAction:
        made = QAction(text, self)
        made.setShortcut(QKeySequence(keys))
        made.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        made.triggered.connect(request)
        return made


class ActionButton(QPushButton):
    """A button that stands for an action: its words, its tool tip, and whether it can be pressed."""

    def __init__(self, action: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = action
        menu = action.menu()
        if isinstance(menu, QMenu):
            self.setMenu(menu)
        else:
            self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        keys = self._action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self.setText(self._action.text())
        self.setEnabled(self._action.isEnabled())
        if self.parent() is not None or not self._action.isVisible():  # on its own it would be a window
            self.setVisible(self._action.isVisible())
        set_tool_tip(self, f"{self._action.property('why')}{f' ({keys})' if keys else ''}")


def _offer(action: QAction, possible: bool, what: str, why_not: str) -> None:  # noqa: FBT001 (private; reads as a sentence)
    action.setEnabled(possible)
    action.setProperty("why", what if possible else why_not)
    action.setToolTip(what if possible else why_not)
    action.changed.emit()
