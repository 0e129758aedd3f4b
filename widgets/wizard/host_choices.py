"""The known hosts with their check boxes and facts."""

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.hosts.hosts import HostEntry, Origin, ssh_address
from app.hosts.short_facts import short_facts
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.choice_list import ChoiceEntry, ChoiceList
from widgets.wizard.draft import PlanDraft
from widgets.wizard.host_reader import HostFacts, HostReader, Reading

FILTER_FROM = 8
"""Number of hosts from which the filter field is shown."""


class HostChoices(QWidget):
    """Check list of the known hosts and of the plan's other hosts."""

    changed = Signal()

    def __init__(self, draft: PlanDraft, reader: HostReader) -> None:
        super().__init__()
        self._draft, self._reader = draft, reader
        self._known: tuple[HostEntry, ...] = ()
        self.filter = line_edit(
            "Filter hosts", self._filter, placeholderText="Filter hosts", clearButtonEnabled=True, visible=False
        )
        self.list = ChoiceList("Hosts", ("Host", "State"), stretched=1, first=0.7)
        self.list.ticked.connect(self._tick)
        self.remedy = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self.retry = push_button("Retry", self._retry, icon="refresh", tip="Read the facts of the failed hosts again")
        foot = in_row((self.remedy, 1), self.retry, spacing=SPACE[1])
        fill(column_in(self, SPACE[1]), self.filter, (self.list, 1), foot)

    def set_hosts(self, entries: Iterable[HostEntry]) -> None:
        """Show `entries`, then the plan's hosts that are not among them."""
        self._known = tuple(entries)
        self.refresh()

    def refresh(self) -> None:
        """Show the state of each host."""
        names = {entry.name for entry in self._known}
        wanted = [*self._known, *(HostEntry(name) for name in self._draft.hosts if name not in names)]
        self.filter.setVisible(len(wanted) >= FILTER_FROM)
        self.list.show_entries([self._entry(entry) for entry in wanted])
        failed = self._failed()
        self.retry.setVisible(bool(failed))
        self.remedy.setText(" ".join(dict.fromkeys(each.error.remedy for each in failed if each.error is not None)))
        self.remedy.setVisible(bool(failed))

    def _entry(self, host: HostEntry) -> ChoiceEntry:
        known, chosen = self._reader.of(host.name), host.name in self._draft.hosts
        removed = host.name in self._draft.removed
        failed = removed or (chosen and known.reading is Reading.FAILED)
        state = _state_text(known) if chosen or known.reading is Reading.READ else ""
        state = "No longer a host" if removed else state
        tip = "\n".join(part for part in (_address(host), state) if part)
        return ChoiceEntry(host.name, (host_title(host.name), state), ticked=chosen, tip=tip, failed=failed)

    def _failed(self) -> list[HostFacts]:
        states = [self._reader.of(host) for host in self._draft.hosts]
        return [each for each in states if each.reading is Reading.FAILED]

    def _retry(self) -> None:
        for each in self._failed():
            self._reader.reread(each.host)

    def _tick(self, name: str, ticked: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self._draft.set_host(name, chosen=ticked)
        self.changed.emit()

    def _filter(self, text: str) -> None:
        self.list.set_filter(text)


def renamed_hosts(before: Iterable[HostEntry], after: Iterable[HostEntry]) -> dict[str, str]:
    """Return the new name of each host that is in the list `after` under another name, at the same address."""
    old, new = ({entry.name: entry for entry in entries} for entries in (before, after))
    added = {_login(entry): name for name, entry in new.items() if name not in old}
    return {name: added[_login(entry)] for name, entry in old.items() if name not in new and _login(entry) in added}


def _login(entry: HostEntry) -> tuple[str, str | None]:
    return ssh_address(entry), entry.identity_file


def _state_text(known: HostFacts) -> str:
    if known.reading is Reading.READ and known.facts is not None:
        return short_facts(known.facts)
    if known.reading is Reading.FAILED and known.error is not None:
        return known.error.message
    return "Reading facts…" if known.reading is Reading.UNDER_WAY else ""


def _address(entry: HostEntry) -> str:
    if entry.origin is Origin.THIS_COMPUTER:
        return "no SSH"
    return f"{ssh_address(entry)}{' (~/.ssh/config)' if entry.origin is Origin.SSH_CONFIG else ''}"
