"""Dialogs that clean up a host: leftovers of runs, and changed settings."""

import shlex
from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QWidget

from app.hosts.leftovers import HEAD, Leftover, LeftoverOwner, leftover_row, recorded_text, still_changed
from app.plans.tuning import path_title
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row, dialog_column, fit
from widgets.parts.names import host_label
from widgets.parts.notice import Notice, ProgressNotice
from widgets.parts.table import Table
from widgets.parts.table_model import LEFT, RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone

SIZE = (720, 360)


class LeftoversDialog(QDialog):
    """Lists leftovers when opened; removes on request only those of this library whose run has ended."""

    def __init__(self, workstation: Workstation, asker: Asker, host: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._host = host
        self._nonces: list[str] = []
        self.setWindowTitle("Leftovers")
        fit(self, SIZE)
        self.table = Table("Leftovers", TableModel(COLUMNS))
        self.table.hide()
        self.notice, self.working = Notice(), ProgressNotice()
        tip = "Stop their processes and remove the directories and leases of this library"
        self.remove_button = push_button("Remove", tip=tip, autoDefault=False)
        self.remove_button.clicked.connect(lambda: self._look("Removing…", self._nonces))
        self.close_button = push_button("Close", self.reject, default=True)
        self._arrange()
        self._look(f"Searching {host_label(host)}…", [])

    def _arrange(self) -> None:
        rows = dialog_column(self, f"Leftovers of runs on {host_label(self._host)}")
        explanation = (
            "A run removes its private directory at its end; a crash leaves it behind. A lease marks the host as in "
            "use. Only directories and leases of this library are removed, after their run has ended."
        )
        buttons = button_row(None, self.remove_button, self.close_button)
        fill(rows, Text(explanation, Tone.MUTED), self.working, self.notice, (self.table, 1), buttons)

    def _look(self, activity: str, nonces: list[str]) -> None:
        """List the leftovers on the host, after removing those of `nonces`."""
        workstation, asker, host = self._workstation, self._asker, self._host
        self.remove_button.setEnabled(False)
        self.notice.hide()
        self.working.begin(activity)
        self.working.cancel_button.hide()

        def work() -> list[Leftover]:
            return workstation.remove_leftovers(host, asker, nonces) if nonces else workstation.leftovers(host, asker)

        BackgroundJob(work, self).start(lambda found: self._show(found, nonces), self._fail, finished=self.working.end)

    def _show(self, found: list[Leftover], requested: list[str]) -> None:
        removed = len(set(requested) - {leftover.nonce for leftover in found})
        self._nonces = [leftover.nonce for leftover in found if leftover.owner is LeftoverOwner.ENDED_RUN]
        self.remove_button.setEnabled(bool(self._nonces))
        self.table.show_rows(found)
        self.table.setVisible(bool(found))
        if requested:
            self.notice.show_message(
                "good" if removed == len(requested) else "warning" if removed else "error",
                f"Removed {removed} of {len(requested)}.",
                "" if found else "No leftovers remain.",
            )
        elif not found:
            self.notice.show_message("good", f"No leftovers on {host_label(self._host)}.")
        elif changed := still_changed(self._host, found):
            self.notice.show_message("warning", *changed)

    def _fail(self, error: BenchwrightError) -> None:
        self.remove_button.setEnabled(bool(self._nonces))
        self.notice.show_error(error)


def _column(number: int) -> TableColumn[Leftover]:
    return TableColumn(
        HEAD[number],
        lambda leftover: leftover_row(leftover)[number],
        align=RIGHT if number > 2 else LEFT,
        stretch=number == 0,
    )


COLUMNS = tuple(map(_column, range(len(HEAD))))


MOST = 12
"""Limit of settings listed: a host has a governor for each CPU."""


class RestoreDialog(QDialog):
    """Restores the changed settings of one host. Reads only until *Restore* is clicked; Enter cancels."""

    restored = Signal(str)  # the host

    def __init__(self, workstation: Workstation, asker: Asker, host: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation, self._asker, self._host = workstation, asker, host
        self._job: BackgroundJob | None = None
        self.setWindowTitle("Restore settings")
        self.settings = Text()
        self.working = ProgressNotice()
        self.working.cancelled.connect(self.reject)
        self.notice = Notice()
        self.restore_button = push_button("Restore", self._restore, autoDefault=False, enabled=False)
        self.close_button = push_button("Cancel", self.reject, default=True)
        self._arrange()
        self._look()

    def _arrange(self) -> None:
        explanation = (
            "Runs record changed settings on the host and restore them as root. Settings that another program or user "
            "has changed since are not touched."
        )
        buttons = button_row(None, self.restore_button, self.close_button)
        column = dialog_column(self, f"Changed settings on {host_label(self._host)}")
        fill(column, Text(explanation, Tone.MUTED), self.settings, self.working, self.notice, None, buttons)

    def _look(self) -> None:
        workstation, host, asker = self._workstation, self._host, self._asker
        self._begin(lambda: workstation.host_notes(host, asker), "Reading the host", self._show_notes)

    def _show_notes(self, notes: object) -> None:
        found = notes if isinstance(notes, tuple) else ()
        lines = [recorded_text(note) for note in found[:MOST]]
        if len(found) > MOST:
            lines.append(f"and {len(found) - MOST} more")
        self.settings.setText("\n".join(lines))
        self.restore_button.setEnabled(bool(found))
        if not found:
            self.notice.show_message("good", "No changed settings recorded on this host.")
            self._restore()  # nothing to restore: marks the library's pending changes as done

    def _restore(self) -> None:
        self.restore_button.setEnabled(False)
        workstation, host, asker = self._workstation, self._host, self._asker
        self._begin(lambda: workstation.restore(host, asker), "Restoring", self._show_outcome)

    def _show_outcome(self, done: object) -> None:
        found = done if isinstance(done, tuple) else ()
        if found:
            self.settings.setText("\n".join(f"{path_title(each.path)}: {each.problem or 'restored'}" for each in found))
            failed = any(each.kept for each in found)
            text = "Some settings were not restored." if failed else "Settings restored."
            log = f"Recorded in: benchwright hosts log {shlex.quote(self._host)}"
            self.notice.show_message("warning" if failed else "good", text, log)
        self.close_button.setText("Close")
        self.restored.emit(self._host)

    def _begin(self, work: Callable[[], object], activity: str, show: Callable[[object], None]) -> None:
        job = self._job = BackgroundJob(work, self)
        self.working.begin(f"{activity}…")
        job.returned.connect(show)
        job.failed.connect(self._fail)
        job.finished.connect(lambda: self.working.end() if job is self._job else None)
        job.start()

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.show_error(error)
        self.close_button.setText("Close")

    def reject(self) -> None:
        """Close; a command running on the host is not interrupted."""
        if self._job is not None:
            self._job.cancel()
        super().reject()
