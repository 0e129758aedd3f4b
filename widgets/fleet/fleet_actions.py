"""Actions on a study and on the selected hosts of its board, shared by buttons, context menu and shortcuts."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.fleet.board import BoardRow
from app.fleet_study import FleetStudy, HostRunState
from widgets.fleet.board_text import BoardHead
from widgets.parts.actions import offer

NO_STUDY = "No study is shown"
NO_HOST = "Select a host"
REPLACED = "Another host is measured in its place"


class FleetActions(QObject):
    """Actions of the page Fleet; the page does the work when one is triggered."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.pause = self._make("Pause", "Ctrl+Shift+P")
        self.resume = self._make("Resume", "Ctrl+Shift+L")
        self.stop = self._make("Stop…")
        self.retry_failed = self._make("Retry failed")
        self.add = self._make("Add hosts…")
        self.end = self._make("End study…")
        self.delete = self._make("Delete study")
        self.open_run = self._make("Open run")
        self.retry = self._make("Retry", "Ctrl+R")
        self.skip = self._make("Skip", "Del")
        self.stop_hosts = self._make("Stop host", "Ctrl+Del")
        self.replace = self._make("Replace with host…")
        self.show_nothing()

    def of_study(self) -> Sequence[QAction]:
        """Return the actions on the study, in display order."""
        return (self.pause, self.resume, self.stop, self.retry_failed, self.add, self.end, self.delete)

    def of_hosts(self) -> Sequence[QAction]:
        """Return the actions on the selected hosts, in display order."""
        return (self.open_run, self.retry, self.skip, self.stop_hosts, self.replace)

    def show_nothing(self) -> None:
        """Offer nothing: no study is shown."""
        for action in self.of_study():
            offer(action, False, "", NO_STUDY)
        for action in self.of_hosts():
            offer(action, False, "", NO_HOST)
        self.resume.setVisible(False)

    def show_study(self, head: BoardHead, chosen: Sequence[BoardRow], *, stopping: bool) -> None:
        """Enable the actions that apply to a study and its `chosen` rows.

        A study that another process runs can be paused, and run from here, too: that process may be out of reach.
        """
        study, own = head.study, head.own
        open_, paused = study.ended is None, study.paused is not None
        startable = (head.idle and not open_) or (open_ and (paused or not (own or study.by_workers)))
        self.resume.setVisible(startable)
        self.pause.setVisible(not startable or not (paused or head.idle))
        offer(self.pause, open_ and not paused, "Start no more hosts; those under way continue", "The study has ended")
        resume = "Start the hosts that wait, and attach runs that continue on their hosts"
        if not open_:
            resume = "Attach what is under way on the hosts, to stop it or until its end"
        elif not (paused or head.idle):
            resume = "Start hosts that wait from here, too: another Benchwright runs the study"
        offer(self.resume, startable and (head.idle or not stopping), resume, "The study is stopping")
        elsewhere = "The study has ended" if not open_ else "This window does not run the study"
        offer(self.stop, own and not stopping, "Stop or detach the hosts under way", elsewhere)
        failed = study.counts.get(HostRunState.FAILED, 0) > 0
        offer(self.retry_failed, failed, "Run every failed host again", "No host has failed")
        offer(self.add, True, "Measure more hosts in the sessions that are not over, or in the last one", "")
        offer(self.end, open_, "Skip what waits, and stop or continue what is under way", "The study has ended")
        offer(self.delete, study.over, "Its runs stay in the library", "End the study first")
        self._show_chosen(study, chosen, own=own, elsewhere=elsewhere)

    def _show_chosen(self, study: FleetStudy, chosen: Sequence[BoardRow], *, own: bool, elsewhere: str) -> None:
        """Enable the actions that apply to the `chosen` rows; `elsewhere`: why this window runs none, unless `own`."""
        kept = [row for row in chosen if row.current.host in study.plan.by_name]
        states = {one.state for row in kept for one in row.host_runs}
        one = len(chosen) == 1
        reason = "Select one host" if chosen else NO_HOST
        run = one and bool(chosen[0].current.run)
        opens = "Show the run, live if this window runs it"
        offer(self.open_run, run, opens, "It has no run yet" if one else reason)
        deleted = any(row.state is HostRunState.DONE and row.progress is None for row in kept)
        again = deleted or bool(states & {HostRunState.FAILED, HostRunState.SKIPPED})
        none_failed = "None has failed" if kept else REPLACED
        offer(
            self.retry,
            again,
            "Run the failed and skipped sessions again, and those whose runs were deleted",
            none_failed if chosen else NO_HOST,
        )
        waits = HostRunState.WAITING in states
        offer(self.skip, waits, "Skip the sessions that wait", "No session waits" if chosen else NO_HOST)
        runs = own and HostRunState.RUNNING in states
        stops = "Stop the sessions under way; what they measured is stored, and Retry runs them again"
        idle = elsewhere if not own else "No session is under way"
        offer(self.stop_hosts, runs, stops, idle if chosen else NO_HOST)
        single = one and chosen[0].current.peer is None and bool(kept)
        replaced = REPLACED if chosen and not kept else reason
        offer(self.replace, single, "Measure another host in place of this one", replaced)

    def _make(self, text: str, keys: str = "") -> QAction:
        context = Qt.ShortcutContext.WidgetWithChildrenShortcut
        return QAction(text, self, shortcut=QKeySequence(keys), shortcutContext=context)
