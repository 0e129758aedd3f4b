"""Card of the selected host: address, facts, connection status and actions."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.hosts.hosts import HostEntry, Origin
from app.hosts.short_facts import short_facts
from app.questions import ConnectOutcome
from widgets.hosts.host_actions import HostActions
from widgets.hosts.host_connections import HostStatus
from widgets.parts.actions import ActionButton, ActionTool
from widgets.parts.boxes import column_in, fill, in_row, scrolled
from widgets.parts.flow_layout import flowing
from widgets.parts.names import host_title
from widgets.parts.notice import Notice, ProgressNotice
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, restyle, text_font
from widgets.wizard.messages import listed


class HostCard(QFrame):
    """Card of one host, or of several selected ones, with buttons for the actions on them."""

    cancel_requested = Signal()

    def __init__(self, actions: HostActions) -> None:
        super().__init__()
        self.setObjectName("card")
        self._title = Text(font=text_font(TextSize.HEADING, bold=True))
        self._address = Text(tone=Tone.MUTED)
        self._summary = Text()
        self.notice = Notice()
        self.working = ProgressNotice()
        self.working.cancelled.connect(self.cancel_requested)
        self.new_test_button = ActionButton(actions.new_test)
        self.test_button = ActionButton(actions.test)
        self._activity = ""
        self.edit_button, self.remove_button = ActionTool(actions.edit, "edit"), ActionTool(actions.remove, "remove")
        head = in_row((self._title, 1), self.edit_button, self.remove_button, spacing=SPACE[0])
        self.quick_button = ActionButton(actions.quick)
        self.leftovers_button = ActionButton(actions.leftovers)
        others = (ActionButton(actions.calibrate), ActionButton(actions.limits), self.leftovers_button)
        buttons = (self.new_test_button, self.quick_button, self.test_button, *others)
        inner = QWidget()
        texts = (self._address, self._summary, self.working, self.notice)
        fill(column_in(inner, SPACE[1]), head, *texts, flowing(*buttons, spacing=SPACE[1]), None)
        area = scrolled(inner)
        for part in (inner, area.viewport()):
            part.setAutoFillBackground(False)  # the card's own shows
        fill(column_in(self, 0, (SPACE[3], SPACE[2], SPACE[2], SPACE[2])), area)

    def show_host(self, entry: HostEntry, address: str, status: HostStatus) -> None:
        """Show `entry`, its address and its status."""
        self._title.setText(host_title(entry.name))
        self._address.setText(address)
        self._summary.setText("" if status.facts is None else short_facts(status.facts))
        self._summary.setVisible(status.facts is not None)
        self._show_activity(entry, status)
        self._show_outcome(entry, status)

    def show_many(self, entries: list[HostEntry]) -> None:
        """Show several selected hosts: they can be measured in one plan."""
        self._title.setText(f"{len(entries)} hosts")
        self._address.setText(listed(host_title(entry.name) for entry in entries))
        self._summary.setVisible(False)
        self.notice.hide()
        self.working.end()
        self._activity = ""

    def set_primary(self, *, primary: bool) -> None:
        """Set whether *New test* is the page's primary button."""
        restyle(self.new_test_button, "primary", primary)

    def _show_outcome(self, entry: HostEntry, status: HostStatus) -> None:
        report = status.report
        if status.activity:
            self.notice.hide()
        elif report is not None and report.outcome is not ConnectOutcome.CONNECTED:
            self.notice.show_message(report.severity, report.message, report.remedy)
        elif status.problem is not None:
            self.notice.show_error(status.problem)
        elif report is not None and entry.origin is not Origin.THIS_COMPUTER:
            self.notice.show_message("good", f"Connected in {report.seconds:.2f} s.")
        else:
            self.notice.hide()

    def _show_activity(self, entry: HostEntry, status: HostStatus) -> None:
        activity = f"{host_title(entry.name)}: {status.activity}" if status.activity else ""
        if activity and activity != self._activity:
            self.working.begin(activity)
        elif not activity:
            self.working.end()
        self._activity = activity
