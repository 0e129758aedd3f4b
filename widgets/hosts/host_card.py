"""Card of the selected host: address, facts, connection status and actions."""

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QToolButton

from app.hosts.hosts import HostEntry, Origin
from app.hosts.short_facts import short_facts
from app.questions import ConnectOutcome
from widgets.hosts.host_connections import HostStatus
from widgets.hosts.hosts_table import address_text
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button, tool_button
from widgets.parts.flow_layout import flowing
from widgets.parts.names import host_title
from widgets.parts.notice import Notice, ProgressNotice
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, restyle, text_font
from widgets.wizard.messages import listed


class HostCard(QFrame):
    """Card of one host, or of several selected ones. Its buttons emit requests; the page does the work."""

    measure_requested = Signal()
    quick_requested = Signal()
    test_requested = Signal()
    edit_requested = Signal()
    remove_requested = Signal()
    leftovers_requested = Signal()
    calibrate_requested = Signal()
    cancel_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self._title = Text(font=text_font(TextSize.HEADING, bold=True))
        self._address = Text(tone=Tone.MUTED)
        self._summary = Text()
        self.notice = Notice()
        self.working = ProgressNotice()
        self.working.cancelled.connect(self.cancel_requested)
        self.measure_button = push_button("Measure this host", self.measure_requested)
        self.quick_button = push_button("Quick benchmark", self.quick_requested)
        self.test_button = push_button("Test connection", self.test_requested)
        self.leftovers_button = push_button("Leftovers…", self.leftovers_requested)
        self.calibrate_button = push_button("Calibrate…", self.calibrate_requested)
        set_tool_tip(self.calibrate_button, "Measure the noise of this host to derive its own margins")
        set_tool_tip(self.leftovers_button, "Directories and processes left on the host by interrupted runs")
        self.edit_button = self._tool("edit", "Edit the connection", "F2", self.edit_requested)
        self.remove_button = self._tool("remove", "Remove the host from the list", "Del", self.remove_requested)
        set_tool_tip(self.quick_button, "CPU, memory and disk in under 90 s")
        self._activity = ""
        self._arrange()

    def show_host(self, entry: HostEntry, status: HostStatus) -> None:
        """Show `entry` and its status."""
        local = entry.origin is Origin.THIS_COMPUTER
        self._title.setText(host_title(entry.name))
        self._address.setText(address_text(entry))
        self._summary.setText("" if status.facts is None else short_facts(status.facts))
        self._summary.setVisible(status.facts is not None)
        self.measure_button.setText("Measure this host")
        for shown in (self.quick_button, self.leftovers_button, self.calibrate_button):
            shown.setVisible(True)
        self.test_button.setVisible(not local)
        self.edit_button.setVisible(not local)
        self.remove_button.setVisible(entry.origin is Origin.SAVED)
        self._show_activity(entry, status)
        self._show_outcome(entry, status)

    def show_many(self, entries: list[HostEntry]) -> None:
        """Show several selected hosts: they can be measured in one plan."""
        self._title.setText(f"{len(entries)} hosts")
        self._address.setText(listed(host_title(entry.name) for entry in entries))
        self.measure_button.setText(f"Measure {len(entries)} hosts")
        for one_only in (
            self._summary,
            self.quick_button,
            self.test_button,
            self.leftovers_button,
            self.calibrate_button,
            self.edit_button,
            self.remove_button,
        ):
            one_only.setVisible(False)
        self.notice.hide()
        self.working.end()
        self._activity = ""

    def set_primary(self, *, primary: bool) -> None:
        """Set whether *Measure* is the page's primary button."""
        restyle(self.measure_button, "primary", primary)

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
        self.test_button.setEnabled(not activity)

    def _arrange(self) -> None:
        head = in_row((self._title, 1), self.edit_button, self.remove_button, spacing=SPACE[0])
        buttons = (
            self.measure_button,
            self.quick_button,
            self.test_button,
            self.calibrate_button,
            self.leftovers_button,
        )
        rows = column_in(self, SPACE[1], (SPACE[3], SPACE[2], SPACE[2], SPACE[3]))
        fill(
            rows,
            head,
            self._address,
            self._summary,
            self.working,
            self.notice,
            flowing(*buttons, spacing=SPACE[1]),
            None,
        )

    def _tool(self, icon: str, tip: str, keys: str, request: SignalInstance) -> QToolButton:
        focus = Qt.FocusPolicy.StrongFocus
        return tool_button("", request, icon=icon, tip=f"{tip} ({keys})", accessibleName=tip, focusPolicy=focus)
