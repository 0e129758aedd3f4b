"""Question for hosts that join a study under way, or for one in place of another."""

from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from app.fleet_study import FleetHost
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.fleet.study_draft import groups_text
from widgets.fleet.study_form import WORDS_TIP
from widgets.jobs import BackgroundJob
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.notice import FieldMessage
from widgets.parts.text import Text, Tone

SETTLED = 250
"""Milliseconds after the last change until the hosts are looked up."""

ADD = "They are measured in the sessions that are not over. What was measured stays."
REPLACE = "The new host takes the group and the sessions that did not end well. What was measured stays."


class HostsQuestion(QuestionDialog):
    """Asks for hosts; with `replaced`, for one host in its place. `hosts` are those found, empty while invalid."""

    def __init__(self, workstation: Workstation, parent: QWidget | None, replaced: str = "") -> None:
        title = f"Replace {replaced}" if replaced else "Add hosts"
        super().__init__(title, REPLACE if replaced else ADD, "Replace" if replaced else "Add hosts", parent)
        self.hosts: Sequence[FleetHost] = ()
        self._workstation, self._replaced = workstation, replaced
        self._job: BackgroundJob | None = None
        hint = "name of a host" if replaced else "web  db-*  type=c7i.*"
        self.words = line_edit("Hosts", lambda _text: self._edited(), tip=WORDS_TIP, placeholderText=hint)
        self.found = FieldMessage()
        self.form.addRow(Text("Host" if replaced else "Hosts", Tone.MUTED, wrap=False), self.words)
        self.form.addRow("", self.found)
        self._settle = QTimer(self, singleShot=True, interval=SETTLED)
        self._settle.timeout.connect(self._look_up)
        self.make_default(self.accept_button)
        self.accept_button.setEnabled(False)
        self.words.setFocus()

    def _edited(self) -> None:
        self.hosts, self._job = (), None  # what is found by earlier words is dropped
        self.accept_button.setEnabled(False)
        self._settle.start()

    def _look_up(self) -> None:
        words, workstation = self.words.text().split(), self._workstation
        self.found.clear()
        if words:
            job = self._job = BackgroundJob(lambda: workstation.fleet_hosts(words), self)
            job.start(
                lambda hosts: self._show(hosts) if job is self._job else None,
                lambda fault: self._show_fault(fault) if job is self._job else None,
            )

    def _show(self, hosts: Sequence[FleetHost]) -> None:
        if self._replaced and len(hosts) != 1:
            self.found.show_message("error", f"{len(hosts)} hosts are selected. Name one.")
            return
        groups: dict[str, list[str]] = {}
        for host in hosts:
            groups.setdefault(host.group, []).append(host.name)
        self.hosts = hosts
        self.found.show_message("good", groups_text(groups))
        self.accept_button.setEnabled(True)

    def _show_fault(self, fault: BenchwrightError) -> None:
        self.found.show_message("error", f"{fault.message} {fault.remedy}".strip())
