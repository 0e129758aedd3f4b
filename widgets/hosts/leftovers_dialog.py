"""Leftovers of runs on a host: whose it is, what still runs in it, and its removal where it is ours."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.hosts.leftovers import Leftover, Whose
from app.moments import age_text
from app.questions import Asker
from app.services import Workstation
from app.wording import bytes_text
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.names import host_words
from widgets.parts.notice import Notice, Working
from widgets.parts.screen import fit
from widgets.parts.text import Text, Tone, set_tool_tip, visible
from widgets.theme import SPACE, TextSize, text_font

HEADS = ("Directory", "Whose", "Age", "Size", "Still running")
SIZE = (720, 360)


class LeftoversDialog(QDialog):
    """Looks when it is opened; removes only when told to, and only what is ours and whose run has ended."""

    def __init__(self, workstation: Workstation, asker: Asker, host: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._host = host
        self._ours: list[str] = []
        self.setWindowTitle("Leftovers")
        fit(self, SIZE)
        self.table = _table()
        self.notice, self.working = Notice(), Working()
        self.remove_button = QPushButton("Remove ours")
        set_tool_tip(self.remove_button, "End what runs in them, and remove the directories and leases of this library")
        self.remove_button.setAutoDefault(False)
        self.remove_button.clicked.connect(self._remove)
        self.close_button = QPushButton("Close")
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.reject)
        self._arrange()
        self._look(f"Looking on {host_words(host)}…", [])

    def _arrange(self) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        title = f"Leftovers of runs on {host_words(self._host)}"
        rows.addWidget(Text(title, font=text_font(TextSize.HEADING, bold=True)))
        explanation = (
            "Each run works in a private directory and removes it at its end. What a crash left is ours where its "
            "nonce is known to this library. A lease tells others that a host is in use. Nothing else is ever removed."
        )
        rows.addWidget(Text(explanation, Tone.MUTED))
        for widget in (self.working, self.notice):
            rows.addWidget(widget)
        rows.addWidget(self.table, 1)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.remove_button)
        buttons.addWidget(self.close_button)
        rows.addLayout(buttons)

    def _look(self, doing: str, nonces: list[str]) -> None:
        """Look at the host, after the removal of what `nonces` name."""
        workstation, asker, host = self._workstation, self._asker, self._host
        self.remove_button.setEnabled(False)
        self.notice.hide()
        self.working.begin(doing)
        self.working.cancel_button.hide()

        def work() -> list[Leftover]:
            return workstation.remove_leftovers(host, asker, nonces) if nonces else workstation.leftovers(host, asker)

        job = Job(work, self)
        job.returned.connect(lambda found: self._show(found, removed=len(nonces)))
        job.failed.connect(self._fail)
        job.finished.connect(self.working.end)
        job.start()

    def _remove(self) -> None:
        self._look("Removing…", self._ours)

    def _show(self, found: list[Leftover], removed: int) -> None:
        self._ours = [leftover.nonce for leftover in found if leftover.whose is Whose.OURS]
        self.remove_button.setEnabled(bool(self._ours))
        self.table.setRowCount(len(found))
        for row, leftover in enumerate(found):
            for column, text in enumerate(_texts(leftover)):
                item = QTableWidgetItem(visible(text))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
                self.table.setItem(row, column, item)
        self.table.setVisible(bool(found))
        if removed:
            self.notice.say("good", f"Removed {removed}.", "" if found else "Nothing else is left.")
        elif not found:
            self.notice.say("good", f"Nothing of Benchwright is left on {host_words(self._host)}.")

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)


def _table() -> QTableWidget:
    table = QTableWidget(0, len(HEADS))
    table.setHorizontalHeaderLabels(HEADS)
    table.setAccessibleName("Leftovers")
    table.verticalHeader().hide()
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)
    table.setShowGrid(False)
    head = table.horizontalHeader()
    head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    table.hide()
    return table


def _texts(leftover: Leftover) -> tuple[str, ...]:
    whose = {
        Whose.OURS: "ours (lease)" if leftover.is_lease else "ours",
        Whose.UNDER_WAY: "ours, its run has not ended",
        Whose.OTHERS: f"others ({leftover.account})",
    }[leftover.whose]
    return (
        leftover.path,
        whose,
        "" if leftover.age is None else age_text(leftover.age),
        "" if leftover.size is None else bytes_text(leftover.size),
        f"{leftover.processes} processes" if leftover.processes else "nothing",
    )
