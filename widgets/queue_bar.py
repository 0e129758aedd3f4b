"""Bar about runs that an earlier Benchwright left in the queue: nothing starts before the user says so."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QTimer, Signal

from app.plans.plan import Plan, host_label
from app.services import Workstation
from suites.quantities import count_text, listed
from widgets.hosts.host_bars import NoticeBar
from widgets.jobs import BackgroundJob
from widgets.parts.controls import push_button

if TYPE_CHECKING:
    from app.queue.entries import QueueEntry

SETTLE = 1000
"""Milliseconds after a change of the queue's file until it is read."""

MOST = 3
"""Runs named in the bar."""


def _title(plan: Plan) -> str:
    """Return the name of a plan and its first host, which an automatic name has already."""
    host = host_label(plan.hosts[0])
    return plan.name if plan.name.endswith(f" on {host}") else f"{plan.name} on {host}"


class QueueBar(NoticeBar):
    """Runs in the queue that no process will start; hidden if there are none. Notices runs of other processes."""

    start_requested = Signal()
    others_found = Signal()  # another process of the user runs something
    shown = Signal(list)  # the id and the name of each entry

    def __init__(self, workstation: Workstation) -> None:
        self.start_button = push_button("Start", self._start, tip="Start each as soon as its hosts are free")
        self.remove_button = push_button("Remove from queue", self._remove, tip="They do not run")
        super().__init__(workstation, "info", self.start_button, self.remove_button)
        self._entries: Sequence[str] = ()
        self._settle = QTimer(self, singleShot=True, interval=SETTLE)
        self._settle.timeout.connect(self.refresh)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._note_change)

    def _note_change(self) -> None:
        if not self._settle.isActive():
            self._settle.start()

    def refresh(self) -> None:
        """Read the queue; a read-only library cannot store runs."""
        workstation = self._workstation

        def read() -> "list[QueueEntry]":
            entries = [place.entry for place in workstation.queue.places()]
            return [] if workstation.read_only() is not None else entries

        self._read(read, self._show_queue)

    def _show_queue(self, entries: "Sequence[QueueEntry]") -> None:
        queue, library = self._workstation.queue, str(self._workstation.library_location)
        if not self._watcher.directories():  # reading the queue has made it
            self._watcher.addPath(str(queue.path.parent))
        left = [entry for entry in entries if entry.owner is None and entry.library == library]
        self.show_entries([(entry.id, _title(entry.plan)) for entry in left])
        if any(entry.running and not queue.is_own(entry) for entry in entries):
            self.others_found.emit()

    def show_entries(self, entries: Sequence[tuple[str, str]]) -> None:
        """Show the id and the name of each entry that waits to be started."""
        self._entries = [entry for entry, _ in entries]
        self.setVisible(bool(entries))
        self.shown.emit(list(entries))
        if entries:
            names = listed([name for _, name in entries], MOST)
            self._write(f"{count_text(len(entries), 'run')} in the queue, not started.", f"{names}.")

    def _start(self) -> None:
        self.hide()
        self.start_requested.emit()

    def _remove(self) -> None:
        queue, entries = self._workstation.queue, self._entries

        def remove() -> None:
            for entry in entries:
                queue.discard(entry)

        BackgroundJob(remove, self).start(finished=self.refresh)
