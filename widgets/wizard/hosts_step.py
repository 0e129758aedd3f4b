"""First step: hosts."""

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from app.hosts.hosts import HostEntry, Origin, ssh_address
from app.hosts.short_facts import short_facts
from widgets.parts.boxes import column_in, fill, in_row, scrolled
from widgets.parts.controls import line_edit, push_button
from widgets.parts.fields import TitleBox
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.draft import PlanDraft
from widgets.wizard.host_reader import HostFacts, HostReader, Reading
from widgets.wizard.questions_view import QuestionBand
from widgets.wizard.wizard_step import WizardStep

FILTER_FROM = 8
"""Number of hosts from which the filter field is shown."""


class HostRow(QFrame):
    """One host: check box, address, and its facts in one line."""

    ticked = Signal(str, bool)
    retry_requested = Signal(str)

    def __init__(self, entry: HostEntry) -> None:
        super().__init__()
        self.setObjectName("card")
        self.entry = entry
        self.box = TitleBox(host_title(entry.name))
        self.box.clicked.connect(lambda ticked: self.ticked.emit(self.entry.name, ticked))
        self.state = Text(tone=Tone.MUTED)
        self.state.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.retry = push_button("Retry", self._retry, icon="refresh", accessibleName=f"Read {entry.name} again")
        self._remedy = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        grid = QGridLayout(self)
        grid.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        grid.setHorizontalSpacing(SPACE[2])
        grid.setVerticalSpacing(SPACE[0])
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.box, 0, 0)
        state = in_row((self.state, 1), self.retry, spacing=SPACE[2])
        grid.addLayout(state, 0, 1)
        grid.addWidget(Text(_address(entry), Tone.MUTED, font=text_font(TextSize.SMALL)), 1, 0)
        grid.addWidget(self._remedy, 1, 1)
        self._remedy.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_state(self, known: HostFacts, *, chosen: bool) -> None:
        """Show whether the host is part of the plan, and the state of its facts."""
        self.box.setChecked(chosen)
        failed = known.reading is Reading.FAILED
        self.retry.setVisible(failed and chosen)
        self._remedy.setVisible(failed and chosen)
        self._remedy.setText(known.error.remedy if known.error is not None else "")
        text, tone = _state_text(known)
        text = text if chosen or known.reading is Reading.READ else ""
        self.state.set_tone(tone)
        self.state.setText(text)
        set_tool_tip(self.state, text)

    def _retry(self) -> None:
        self.retry_requested.emit(self.entry.name)


def _state_text(known: HostFacts) -> tuple[str, Tone]:
    if known.reading is Reading.READ and known.facts is not None:
        return short_facts(known.facts), Tone.NORMAL
    if known.reading is Reading.FAILED and known.error is not None:
        return known.error.message, Tone.ERROR
    return ("Reading facts…", Tone.MUTED) if known.reading is Reading.UNDER_WAY else ("", Tone.MUTED)


def _address(entry: HostEntry) -> str:
    if entry.origin is Origin.THIS_COMPUTER:
        return "no SSH"
    origin = " · ~/.ssh/config" if entry.origin is Origin.SSH_CONFIG else ""
    return f"{ssh_address(entry)}{origin}"


class HostsStep(WizardStep):
    """Check list of the known hosts and the plan's other hosts."""

    title = "Hosts"
    open_requested = Signal()

    def __init__(self, draft: PlanDraft, reader: HostReader) -> None:
        explanation = "Select one or more. Tests run on one host at a time."
        super().__init__(draft, "Hosts", explanation)
        self._reader = reader
        self.rows: dict[str, HostRow] = {}
        self.filter = line_edit("Filter hosts", self._filter, placeholderText="Filter hosts", clearButtonEnabled=True)
        self.column.addWidget(self.filter)
        self._inner = QWidget()
        self._inner.setObjectName("page")
        self._list = column_in(self._inner, SPACE[1], (0, SPACE[1], SPACE[1], 0))
        self.band = QuestionBand()
        fill(self._list, self.band, None)
        self.column.addWidget(scrolled(self._inner), 1)

    def set_hosts(self, entries: Iterable[HostEntry]) -> None:
        """Show `entries`, then the plan's hosts that are not among them."""
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
        """Show the state of each host."""
        for name, row in self.rows.items():
            row.show_state(self._reader.of(name), chosen=name in self.draft.hosts)
        self.band.setVisible(not self.draft.steps)

    def problem(self) -> str:
        """Return whether hosts or facts are missing."""
        if not self.draft.hosts:
            return "Select at least one host."
        return self._reader.problem(self.draft.hosts)

    def focus_first(self) -> None:
        """Focus the first host."""
        first = next(iter(self.rows.values()), None)
        if first is not None:
            first.box.setFocus(Qt.FocusReason.TabFocusReason)

    def _add_row(self, index: int, entry: HostEntry) -> None:
        row = HostRow(entry)
        row.ticked.connect(self._tick)
        row.retry_requested.connect(self._reader.reread)
        self.rows[entry.name] = row
        self._list.insertWidget(index, row)

    def _tick(self, name: str, ticked: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self.draft.set_host(name, chosen=ticked)
        self.changed.emit()

    def _filter(self, text: str) -> None:
        for name, row in self.rows.items():
            row.setVisible(text.strip().lower() in host_title(name).lower())
