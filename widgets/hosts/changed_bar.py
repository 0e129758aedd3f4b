"""A quiet bar for a host that a run left changed, because it crashed or lost its connection: put it back."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.records import ChangeRecord
from app.services import Workstation
from widgets.jobs import Job
from widgets.parts.names import host_title
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, restyle

MOST = 2
"""Settings that are named; the others are counted."""


class ChangedBar(QFrame):
    """Shows the host whose change is the oldest. Hidden while there is none."""

    restore_requested = Signal(str)  # the name of a host

    def __init__(self, workstation: Workstation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self.host = ""
        self.setObjectName("notice")
        restyle(self, "level", "warning")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        self.restore_button = QPushButton("Put back…")
        set_tool_tip(self.restore_button, "Look at what is changed on the host, and put it back as root")
        self.restore_button.clicked.connect(lambda: self.restore_requested.emit(self.host))
        words = QVBoxLayout()
        words.setSpacing(SPACE[0])
        words.addWidget(self.message)
        words.addWidget(self.detail)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        row.setSpacing(SPACE[1])
        row.addWidget(Picture("warning"))
        row.addLayout(words, 1)
        row.addWidget(self.restore_button)
        self.hide()

    def refresh(self) -> None:
        """Read anew what there is to put back."""
        job = Job(self._workstation.pending_changes, self)
        job.returned.connect(self.show_changes)
        job.failed.connect(lambda _error: self.hide())  # the page says what is wrong with the library
        job.start()

    def show_changes(self, changes: Sequence[ChangeRecord]) -> None:
        """Offer to put back what was changed first; hide where there is nothing."""
        self.setVisible(bool(changes))
        if not changes:
            return
        self.host = changes[0].change.host
        own = [record for record in changes if record.change.host == self.host]
        more = len({record.change.host for record in changes}) - 1
        others = f" {more} more host{'s are' if more > 1 else ' is'}, too." if more else ""
        self.message.setText(f"{host_title(self.host)} is still as a run has changed it.{others}")
        told = [f"{each.change.what}: {each.change.during}, before {each.change.before}" for each in own[:MOST]]
        rest = f"; and {len(own) - MOST} more" if len(own) > MOST else ""
        self.detail.setText(f"{'; '.join(told)}{rest} (run {own[0].run_id}).")
        self.setAccessibleName(f"{self.message.text()} {self.detail.text()}")
