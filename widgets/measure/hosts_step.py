"""First step: where the tests run."""

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.hosts.hosts import HostEntry, Origin
from widgets.measure.check_box import TitleBox
from widgets.measure.draft import PlanDraft
from widgets.measure.host_reader import HostFacts, HostReader, Reading
from widgets.measure.question_card import QuestionBand
from widgets.measure.step_view import StepView, scrolled
from widgets.measure.words import short_facts
from widgets.parts.icons import set_icon
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

FILTER_FROM = 8
"""Hosts from which a field to filter them is worth its place."""


class HostRow(QFrame):
    """One host: a box to tick, how it is reached, and what was read off it."""

    ticked = Signal(str, bool)
    retry_requested = Signal(str)

    def __init__(self, entry: HostEntry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.entry = entry
        self.box = TitleBox(host_title(entry.name))
        self.box.clicked.connect(self._tick)
        self.state = Text(tone=Tone.MUTED)
        self.state.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.retry = QPushButton("Retry")
        set_icon(self.retry, "refresh")
        self.retry.setAccessibleName(f"Read {entry.name} again")
        self.retry.clicked.connect(self._retry)
        self._remedy = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        grid = QGridLayout(self)
        grid.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        grid.setHorizontalSpacing(SPACE[2])
        grid.setVerticalSpacing(SPACE[0])
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.box, 0, 0)
        state = QHBoxLayout()
        state.setSpacing(SPACE[2])
        state.addWidget(self.state, 1)
        state.addWidget(self.retry)
        grid.addLayout(state, 0, 1)
        grid.addWidget(Text(_how_reached(entry), Tone.MUTED, font=text_font(TextSize.SMALL)), 1, 0)
        grid.addWidget(self._remedy, 1, 1)
        self._remedy.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_state(self, known: HostFacts, *, chosen: bool) -> None:
        """Show whether the host is part of the plan, and how the reading of its facts stands."""
        self.box.setChecked(chosen)
        failed = known.reading is Reading.FAILED
        self.retry.setVisible(failed and chosen)
        self._remedy.setVisible(failed and chosen)
        self._remedy.setText(known.error.remedy if known.error is not None else "")
        words, tone = _state_words(known)
        shown = chosen or known.reading is Reading.READ
        self.state.set_tone(tone)
        self.state.setText(words if shown else "")
        set_tool_tip(self.state, words if shown else "")

    def _tick(self, ticked: bool) -> None:  # noqa: FBT001 (Qt passes it so)
        self.ticked.emit(self.entry.name, ticked)

    def _retry(self) -> None:
        self.retry_requested.emit(self.entry.name)


def _state_words(known: HostFacts) -> tuple[str, Tone]:
    if known.reading is Reading.READ and known.facts is not None:
        return short_facts(known.facts), Tone.NORMAL
    if known.reading is Reading.FAILED and known.error is not None:
        return known.error.message, Tone.ERROR
    return ("Reading facts…", Tone.MUTED) if known.reading is Reading.UNDER_WAY else ("", Tone.MUTED)


def _how_reached(entry: HostEntry) -> str:
    if entry.origin is Origin.THIS_COMPUTER:
        return "No server needed"
    user = f"{entry.user}@" if entry.user else ""
    port = f":{entry.port}" if entry.port else ""
    address = f"{user}{entry.host_name or entry.name}{port}"
    via = f" via {entry.jump}" if entry.jump else ""
    origin = " · ~/.ssh/config" if entry.origin is Origin.SSH_CONFIG else ""
    return f"{address}{via}{origin}"


class HostsStep(StepView):
    """Every host the workstation knows, and those the plan names besides."""

    title = "Hosts"
    open_requested = Signal()

    def __init__(self, draft: PlanDraft, reader: HostReader, parent: QWidget | None = None) -> None:
        explanation = "Pick one or more. Several are measured one at a time, so that they cannot disturb each other."
        super().__init__(draft, "Where shall the tests run?", explanation, parent)
        self._reader = reader
        self.rows: dict[str, HostRow] = {}
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter hosts")
        self.filter.setAccessibleName("Filter hosts")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._filter)
        self.column.addWidget(self.filter)
        self._inner = QWidget()
        self._inner.setObjectName("page")
        self._list = QVBoxLayout(self._inner)
        self._list.setContentsMargins(0, SPACE[1], SPACE[1], 0)
        self._list.setSpacing(SPACE[1])
        self.band = QuestionBand()
        self._list.addWidget(self.band)
        self._list.addStretch(1)
        self.column.addWidget(scrolled(self._inner), 1)

    def set_hosts(self, entries: Iterable[HostEntry]) -> None:
        """Show `entries`, and below them the plan's hosts that are not among them."""
        known = {entry.name: entry for entry in entries}
        wanted = [*known.values(), *(HostEntry(name) for name in self.draft.hosts if name not in known)]
        for name, row in list(self.rows.items()):
            if row.entry not in wanted:
                self._list.removeWidget(row)
                row.hide()
                row.deleteLater()
                del self.rows[name]
        for index, entry in enumerate(wanted):
            if entry.name not in self.rows:
                self._add_row(index, entry)
        self.filter.setVisible(len(wanted) >= FILTER_FROM)
        self.refresh()

    def refresh(self) -> None:
        """Show how each host stands."""
        for name, row in self.rows.items():
            row.show_state(self._reader.of(name), chosen=name in self.draft.hosts)
        self.band.setVisible(not self.draft.steps)

    def problem(self) -> str:
        """Say what is missing: a host, or its facts."""
        if not self.draft.hosts:
            return "Pick at least one host."
        return self._reader.problem(self.draft.hosts)

    def focus_first(self) -> None:
        """Put the keyboard on the first host."""
        first = next(iter(self.rows.values()), None)
        if first is not None:
            first.box.setFocus(Qt.FocusReason.TabFocusReason)

    def _add_row(self, index: int, entry: HostEntry) -> None:
        row = HostRow(entry)
        row.ticked.connect(self._tick)
        row.retry_requested.connect(self._reader.again)
        self.rows[entry.name] = row
        self._list.insertWidget(index, row)

    def _tick(self, name: str, ticked: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self.draft.set_host(name, chosen=ticked)
        self.changed.emit()

    def _filter(self, text: str) -> None:
        for name, row in self.rows.items():
            row.setVisible(text.strip().lower() in host_title(name).lower())
