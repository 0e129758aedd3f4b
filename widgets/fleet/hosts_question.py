"""Question for hosts that join a study under way, or for one in place of another."""

from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from app.fleet.board import Board
from app.fleet_study import FleetHost
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import listed
from widgets.fleet.study_draft import LISTED, by_group, groups_text
from widgets.fleet.study_form import WORDS_TIP
from widgets.jobs import BackgroundJob
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.notice import FieldMessage
from widgets.parts.text import Text, Tone

SETTLED = 250
"""Milliseconds after the last change until the hosts are looked up."""

ADD = "They are measured in the sessions that are not over, or in the last one. What was measured stays."
REPLACE = "The new host takes the group and the sessions that did not end well. What was measured stays."


class HostsQuestion(QuestionDialog):
    """Asks for hosts that join the study of a board; with `replaced`, for one host in its place.

    `hosts` are those found that the study never had, empty while invalid.
    """

    def __init__(self, workstation: Workstation, parent: QWidget | None, board: Board, replaced: str = "") -> None:
        title = f"Replace {replaced}" if replaced else "Add hosts"
        super().__init__(title, REPLACE if replaced else ADD, "Replace" if replaced else "Add hosts", parent)
        self.hosts: Sequence[FleetHost] = ()
        self._workstation, self._board, self._replaced = workstation, board, replaced
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
        before = {one.host for row in self._board.rows for one in row.host_runs}
        self.hosts = [host for host in hosts if host.name not in before]
        known = [host.name for host in hosts if host not in self.hosts]
        lines = [f"In the study already: {listed(known, LISTED)}."] if known else []
        if self.hosts:
            lines.insert(0, groups_text(by_group(self.hosts)))
        separate = not self._replaced and self._separate_text()
        if separate:
            lines.append(separate)
        self.found.show_message("warning" if separate else "good" if self.hosts else "error", "\n".join(lines))
        self.accept_button.setEnabled(bool(self.hosts))

    def _separate_text(self) -> str:
        """Return how to add hosts to a group of the study, if some are of another one; else an empty text."""
        groups = self._board.study.plan.groups
        other = next((host for host in self.hosts if host.group not in groups), None)
        if other is None:
            return ""
        known = next(iter(groups))
        return f"{other.group} is a new group of the study. To add to {known}: {known}:={other.name}"

    def _show_fault(self, fault: BenchwrightError) -> None:
        self.found.show_message("error", f"{fault.message} {fault.remedy}".strip())
