"""The selected host in a frame: what it is, how it stands, and what can be done with it."""

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QToolButton, QVBoxLayout

from app.hosts.hosts import HostEntry, Origin
from app.questions import Outcome
from widgets.hosts.host_connections import Standing
from widgets.hosts.hosts_model import address_text
from widgets.measure.words import listed, short_facts
from widgets.parts.flow_layout import flowing
from widgets.parts.icons import set_icon
from widgets.parts.names import host_title
from widgets.parts.notice import Notice, Working
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, restyle, text_font


class HostCard(QFrame):
    """One host. Its buttons only ask; the page does."""

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
        self._way = Text(tone=Tone.MUTED)
        self._summary = Text()
        self.notice = Notice()
        self.working = Working()
        self.working.cancelled.connect(self.cancel_requested)
        self.measure_button = self._button("Measure this host", self.measure_requested)
        self.quick_button = self._button("Quick benchmark", self.quick_requested)
        self.test_button = self._button("Test connection", self.test_requested)
        self.leftovers_button = self._button("Leftovers…", self.leftovers_requested)
        self.calibrate_button = self._button("Calibrate…", self.calibrate_requested)
        set_tool_tip(self.calibrate_button, "Measure the instrument on this host, so that margins are its own")
        set_tool_tip(self.leftovers_button, "Directories and processes that interrupted runs left on the host")
        self.edit_button = self._tool("edit", "Change how the host is reached", "F2", self.edit_requested)
        self.remove_button = self._tool("remove", "Remove the host from the list", "Del", self.remove_requested)
        set_tool_tip(self.quick_button, "CPU, memory and disk in under two minutes")
        self._doing = ""
        self._arrange()

    def show_host(self, entry: HostEntry, standing: Standing) -> None:
        """Show `entry` and how it stands."""
        local = entry.origin is Origin.THIS_COMPUTER
        self._title.setText(host_title(entry.name))
        self._way.setText(address_text(entry))
        self._summary.setText("" if standing.facts is None else short_facts(standing.facts))
        self._summary.setVisible(standing.facts is not None)
        self.measure_button.setText("Measure this host")
        self.quick_button.setVisible(True)
        self.leftovers_button.setVisible(True)
        self.calibrate_button.setVisible(True)
        self.test_button.setVisible(not local)
        self.edit_button.setVisible(not local)
        self.remove_button.setVisible(entry.origin is Origin.SAVED)
        self._show_doing(entry, standing)
        self._show_outcome(entry, standing)

    def show_many(self, entries: list[HostEntry]) -> None:
        """Show that several hosts are selected: they can be measured together."""
        self._title.setText(f"{len(entries)} hosts")
        self._way.setText(listed(host_title(entry.name) for entry in entries))
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
        self._doing = ""

    def set_leading(self, *, leading: bool) -> None:
        """Tell whether measuring this host is the page's one next step."""
        restyle(self.measure_button, "primary", leading)

    def _show_outcome(self, entry: HostEntry, standing: Standing) -> None:
        report = standing.report
        if standing.doing:
            self.notice.hide()
        elif report is not None and report.outcome is not Outcome.CONNECTED:
            self.notice.say("error", report.message, report.remedy)
        elif standing.problem is not None:
            self.notice.say_error(standing.problem)
        elif report is not None and entry.origin is not Origin.THIS_COMPUTER:
            self.notice.say("good", f"Connected in {report.seconds:.2f} s.")
        else:
            self.notice.hide()

    def _show_doing(self, entry: HostEntry, standing: Standing) -> None:
        doing = f"{host_title(entry.name)}: {standing.doing}" if standing.doing else ""
        if doing and doing != self._doing:
            self.working.begin(doing)
        elif not doing:
            self.working.end()
        self._doing = doing
        self.test_button.setEnabled(not doing)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SPACE[0])
        head.addWidget(self._title, 1)
        head.addWidget(self.edit_button)
        head.addWidget(self.remove_button)
        asked = (self.measure_button, self.quick_button, self.test_button, self.calibrate_button, self.leftovers_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[3], SPACE[2], SPACE[2], SPACE[3])
        rows.setSpacing(SPACE[1])
        rows.addLayout(head)
        rows.addWidget(self._way)
        rows.addWidget(self._summary)
        rows.addWidget(self.working)
        rows.addWidget(self.notice)
        rows.addWidget(flowing(*asked, spacing=SPACE[1]))

    def _button(self, text: str, request: SignalInstance) -> QPushButton:
        button = QPushButton(text)
        button.clicked.connect(request)
        return button

    def _tool(self, icon: str, tip: str, keys: str, request: SignalInstance) -> QToolButton:
        button = QToolButton()
        set_icon(button, icon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setAccessibleName(tip)
        set_tool_tip(button, f"{tip} ({keys})")
        button.clicked.connect(request)
        return button
