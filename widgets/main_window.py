"""The main window: menus, sidebar, page, bars and status bar."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QStackedWidget, QWidget

from app.command_hints import use_library
from app.comparison.criteria import DEFAULT_CRITERIA, ComparisonCriteria
from app.events import LibraryChanged
from app.services import Workstation
from app.session_series import SessionSeries
from suites.errors import BenchwrightError
from widgets import jobs, settings
from widgets.command_palette import CommandPalette, menu_entries
from widgets.dropped_files import DroppedFiles
from widgets.fleet.fleet_runs import FleetRuns, study_of
from widgets.fleet.idle_bar import IdleBar
from widgets.hosts.host_bars import DetachedBar
from widgets.investigations.text_guard import TextGuard
from widgets.library.library_bar import LibraryBar
from widgets.library_digests import LibraryDigests
from widgets.menus import build_menus, corner_buttons
from widgets.page import Page, PageName
from widgets.pages import Pages, failed_page
from widgets.parts.boxes import column_in, fill
from widgets.parts.dialogs import QuestionDialog, ask_for_file, opened
from widgets.parts.help_topics import set_help, topic_of
from widgets.presence import Presence
from widgets.questions import WindowAsker
from widgets.queue_bar import QueueBar
from widgets.rejudging import Rejudging
from widgets.run_strip import LineState, RunStrip, StripLine, counts_text, only_run_text, with_questions
from widgets.session_bar import SessionBar
from widgets.shutdown import CloseGuard
from widgets.sidebar.sidebar import Sidebar, SidebarSplitter
from widgets.sidebar_links import SidebarLinks
from widgets.status_line import StatusLine
from widgets.undo import UndoStack
from widgets.window_actions import WindowActions

if TYPE_CHECKING:
    from widgets.library.library_page import LibraryPage
    from widgets.live.live_page import LivePage

SIZE = (1280, 800)
SMALLEST = (896, 480)


class MainWindow(QMainWindow):
    """The main window. Shows pages and connects them to each other."""

    runs_changed = Signal()
    page_created = Signal()  # a page was shown for the first time

    def __init__(self, workstation: Workstation) -> None:
        super().__init__()
        self.workstation = workstation
        self.asker = WindowAsker(self)
        self.undo = UndoStack(self)
        self.digests = LibraryDigests(workstation, self)
        self.fleet_runs = FleetRuns(workstation, self.asker, self, self.asker.host_keys)
        self.pages = Pages(workstation, self.asker, self, self.undo, self.digests)
        self.closing = CloseGuard(self, lambda: self.pages.live, self.fleet_runs, self._show_waiting)
        self._typed = TextGuard(self, lambda: self.pages.investigations, self._stay_open)
        self.sidebar = Sidebar()
        self._stack = QStackedWidget()
        self.frame = SidebarSplitter(self.sidebar, self._stack)
        self.status_line = StatusLine()
        self.rejudging = Rejudging(workstation, self)
        self.library_bar = LibraryBar(workstation)
        self.detached_bar = DetachedBar(workstation)
        self.idle_bar = IdleBar(workstation, self.fleet_runs.has_run)
        self.session_bar = SessionBar(workstation)
        self.queue_bar = QueueBar(workstation)
        self.strip = RunStrip()
        self.presence = Presence(self)
        self._failed: dict[PageName, QWidget] = {}
        self._messages: dict[QWidget, str] = {}
        self._painted = False
        self._summary = ""
        self._lines: Sequence[StripLine] = ()
        self._shown_lines: tuple[Sequence[StripLine], str] = ((), "")
        self.actions_of_window = WindowActions(self, self)
        self._arrange()
        build_menus(self, self.actions_of_window)
        self._corner = corner_buttons(self.actions_of_window)  # the menu bar would not keep it
        self.menuBar().setCornerWidget(self._corner)
        self._connect()
        self.links = SidebarLinks(self, self.actions_of_window.sidebar, self)
        plans = {".toml": self.pages.open_plan_file, ".fio": self.pages.open_job_file, ".job": self.pages.open_job_file}
        bundles = {".sqlite3": self.library_bar.open_dropped, ".html": self._open_html}
        DroppedFiles(self, {**plans, **bundles}, self.pages.judge, self.library_bar)
        self.digests.watch(self)
        self.show_page(PageName.HOSTS)

    @property
    def front(self) -> QWidget | None:
        """The page that is shown, or None."""
        return self._stack.currentWidget()

    def show_page(self, name: PageName) -> Page | None:
        """Show the page `name` and return it, or None if it could not be opened."""
        page = self.pages.page(name)
        shown = page or self._failure(name)
        new = self._stack.indexOf(shown) < 0
        if new:
            self._stack.addWidget(shown)
        self._stack.setCurrentWidget(shown)
        if new and page is not None:
            page.status.connect(lambda text: self._show_status(page, text))
            page.library_damaged.connect(self.library_bar.show_damage)
            page.salvage_requested.connect(self.library_bar.choose_salvage_path)
            page.other_library_requested.connect(self.library_bar.choose_other)
            self.page_created.emit()
        self.sidebar.show_page(name)
        self.status_line.show_message(self._messages.get(shown, ""))
        if page is not None and self._painted:
            page.activated()
        shown.take_focus() if isinstance(shown, Page) else shown.setFocus()
        return page

    def toggle_issues(self) -> None:
        """Fold or open the issues drawer of the page, if it has one."""
        drawer = self.front.drawer if isinstance(self.front, Page) else None
        if drawer is not None and drawer.isVisible():
            drawer.set_folded(folded=not drawer.folded)

    def show_running(self, summary: str) -> None:
        """Show the run of the page Live in the status bar, if it is under way."""
        self._summary = summary
        self._show_summary()

    def show_lines(self, lines: Sequence[StripLine], front: str) -> None:
        """Show every run in strip, sidebar, status bar and title; `front` is the key of that on Live."""
        self._shown_lines = lines, front
        others = [line for line in lines if not self.fleet_runs.covers(line)]
        self._lines = with_questions([*others, *self.fleet_runs.lines()], self.asker.asking)
        self.strip.show_lines(self._lines, front)
        self.sidebar.show_lines(self._lines)
        self.presence.show_lines(self._lines)
        self.runs_changed.emit()
        self._show_summary()

    def _show_summary(self) -> None:
        """Show the run of the page Live in the status bar, and how many others there are."""
        if self.closing.waits:
            return
        text = counts_text(self._lines) if self._summary else only_run_text(self._lines)
        one = bool(self._summary) and sum(line.state is LineState.RUNNING for line in self._lines) < 2
        self.status_line.show_running("   ".join(filter(None, [text, self._summary])), stoppable=one)

    def run_ended(self) -> None:
        """Update the window after the end of a run."""
        self._refresh_bars()
        self.closing.run_ended()

    def show_library_change(self, change: LibraryChanged) -> None:
        """Show whether the library can store the run under way."""
        self.library_bar.show_change(change)

    def show_help(self, topic: str) -> None:
        """Show the help page of `topic`."""
        self.pages.show_help(topic)

    def help_here(self) -> None:
        """Show the help on the focused widget, else on the page that is shown."""
        self.show_help(topic_of(QApplication.focusWidget()) or topic_of(self.front) or "tour")

    def show_message(self, text: str, more: str) -> None:
        """Show a modal message."""
        opened(QuestionDialog(text, more, "Close", self, decline_text=""))

    def open_export(self, runs: Sequence[str], name: str, criteria: ComparisonCriteria = DEFAULT_CRITERIA) -> None:
        """Open the export dialog for `runs`, which are compared by `criteria`."""
        from widgets.export_dialog import ExportDialog

        opened(ExportDialog(self.workstation, runs, name, self, criteria=criteria))

    def write_library(self, runs: Sequence[str], path: Path) -> None:
        """Write `runs` to a new library at `path`."""
        self.library_bar.export_runs(runs, path)

    def choose_plan_file(self) -> None:
        """Ask for a plan file and open it."""
        ask_for_file(self, "Open a plan", self.pages.open_plan_file, ["Plans (*.toml)", "All files (*)"])

    def import_runs(self) -> None:
        """Ask for the library file of another Benchwright, and whether to import its runs."""
        self.library_bar.choose_import()

    def export_library(self) -> None:
        """Export the selected runs of the library as a library file."""
        if page := self.show_page(PageName.LIBRARY):
            cast("LibraryPage", page).export_library()

    def choose_library(self) -> None:
        """Ask for another library, in a file or on a server, and open it."""
        self.library_bar.choose_location()

    def back_up(self) -> None:
        """Ask for a new file and copy the whole library to it."""
        ask_for_file(
            self, "Back up library", self.library_bar.back_up, ["Libraries (*.sqlite3)"], save_as="backup.sqlite3"
        )

    def export(self) -> None:
        """Export the content of the current page; if it has none, show the library."""
        page = self.front
        if not (isinstance(page, Page) and page.export()) and self.show_page(PageName.LIBRARY) is not None:
            self.status_line.show_message("Select a run to export")

    def end(self) -> None:
        """Stop the runs, store what was typed and close, without a question: a signal has arrived."""
        self._typed.ask_nothing()
        self.closing.stop_and_close()

    def _open_html(self, path: Path) -> None:
        """Offer the runs in a report, or judge a file that is none."""

        def is_ours() -> bool:
            from app.outputs.files import has_library

            return has_library(path)

        def go_on(found: object) -> None:
            if found:
                self.library_bar.open_dropped(path)
            else:
                self.pages.judge([path])

        jobs.BackgroundJob(is_ours, self).start(go_on)

    def event(self, event: QEvent) -> bool:
        """Activate the current page after the first paint, so that the window appears sooner."""
        handled = super().event(event)
        if event.type() is QEvent.Type.Paint and not self._painted:
            self._painted = True
            QTimer.singleShot(0, self, self._activate_front)
        return handled

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close, or ask first if a run is under way or a typed text is not stored."""
        if not (self.closing.allowed() and self._typed.allowed()):
            event.ignore()
            return
        if self.pages.live is not None:
            self.pages.live.runs.hold()
        settings.put("geometry", self.saveGeometry())
        self.asker.close()
        for job in jobs.running():
            job.cancel()
        event.accept()

    def _activate_front(self) -> None:
        page = self.front
        if isinstance(page, Page):
            page.activated()
        self._refresh_bars()
        self.queue_bar.refresh()
        self.rejudging.start()

    def _arrange(self) -> None:
        self.setWindowTitle("Benchwright")
        self.setMinimumSize(*SMALLEST)
        self._inside = QWidget()
        bars = (self.library_bar, self.detached_bar, self.idle_bar, self.queue_bar, self.session_bar, self.strip)
        fill(column_in(self._inside, 0), *bars, (self.frame, 1))
        for bar, topic in zip(bars, ("faults", "survival", "fleet", "queue", "sessions", "queue"), strict=True):
            set_help(bar, topic)
        self.setCentralWidget(self._inside)
        self.setStatusBar(self.status_line)
        self.resize(*SIZE)
        self.restoreGeometry(settings.blob("geometry"))

    def _connect(self) -> None:
        self.library_bar.is_measuring = self._is_measuring
        self.session_bar.is_under_way = self._is_under_way
        self.asker.asked.connect(self.presence.note_question)
        self.asker.asking_changed.connect(lambda: self.show_lines(*self._shown_lines))
        self.undo.changed.connect(self.status_line.show_message)
        self.digests.changed.connect(self._follow_library)
        self.rejudging.changed.connect(self._follow_library)
        self.rejudging.progressed.connect(self._show_judged)
        self.rejudging.blocked.connect(self._show_not_judged)
        self.rejudging.resumed.connect(self.library_bar.end_failure)
        self.digests.read.connect(lambda _digest: self.library_bar.show_listed())
        self.digests.failed.connect(self.library_bar.show_unlisted)
        self.queue_bar.others_found.connect(lambda: self.pages.page(PageName.LIVE))  # it shows them in the strip
        self.queue_bar.start_requested.connect(self.pages.run_queue)
        self.fleet_runs.changed.connect(lambda: self.show_lines(*self._shown_lines))
        self.fleet_runs.ended.connect(self.presence.note_end)
        self.fleet_runs.ended.connect(lambda _title, _counts: self.pages.finish_run())
        self.strip.chosen.connect(self.pages.show_live)
        self.strip.stop_requested.connect(self._stop_key)
        self.strip.queue_requested.connect(lambda key, action: self.on_live(lambda live: live.act_on_key(key, action)))
        self.library_bar.imported.connect(self._follow_library)
        self.library_bar.opened.connect(self._show_other_library)
        self.library_bar.save_requested.connect(self._save_library)
        self.detached_bar.attach_requested.connect(self.pages.attach)
        self.detached_bar.stop_requested.connect(lambda run: self.pages.attach(run, stop=True))
        self.idle_bar.resume_requested.connect(self.pages.resume_study)
        self.session_bar.start_requested.connect(lambda series, asked: self.pages.run_session(series, show=asked))
        self.status_line.stop_requested.connect(self.actions_of_window.stop.trigger)

    def _refresh_bars(self) -> None:
        """Read what the bars show of the library."""
        self.library_bar.refresh()
        self.detached_bar.refresh()
        self.idle_bar.refresh()
        self.session_bar.refresh()

    def _follow_library(self) -> None:
        """Show what another process has changed in the library."""
        self.pages.refresh_library()
        self._refresh_bars()

    def _show_other_library(self) -> None:
        page = self.front
        use_library(self.workstation.library_location)
        self.undo.forget()
        self.rejudging.restart()
        self._follow_library()
        if isinstance(page, Page) and page is not self.pages.existing(PageName.LIBRARY):
            page.activated()

    def _show_not_judged(self, error: BenchwrightError) -> None:
        """Show that verdicts of earlier checks stay, as the library is full; the status line has no progress then."""
        message = self._messages.get(self.front, "") if self.front is not None else ""
        self.status_line.show_message(message)
        title = f"Stored runs keep the verdicts of earlier checks for now: {error.message}"
        self.library_bar.show_failure(title, f"{error.remedy} They are judged again when there is room.".strip())

    def _show_judged(self, done: int, total: int) -> None:
        """Show how far the library is judged by the checks of this version."""
        if done < total:
            self.status_line.show_message(f"Judging stored runs by the present checks: {done:,} of {total:,}")
        else:
            self.status_line.show_message(self._messages.get(self.front, "") if self.front is not None else "")

    def _is_measuring(self) -> bool:
        return self.fleet_runs.running or (self.pages.live is not None and self.pages.live.running)

    def _is_under_way(self, series: SessionSeries) -> bool:
        """Return whether a session of `series` runs or waits; that of a new series is known by its plan alone."""
        begun = [] if self.pages.live is None else [run.start_request for run in self.pages.live.runs.active]
        return any(one.series == series.id or one.plan.hash() == series.plan.hash() for one in begun)

    def on_live(self, act: Callable[["LivePage"], object]) -> None:
        """Apply `act` to the page Live, if it exists."""
        if self.pages.live is not None:
            act(self.pages.live)

    def _stop_key(self, key: str) -> None:
        """Stop the run with a key of the strip; of a fleet study ask first."""
        if study := study_of(key):
            self.pages.stop_study(study)
        else:
            self.on_live(lambda live: live.stop_key(key))

    def next_run(self, step: int = 1) -> None:
        """Show the next run live, or the previous one (`step` -1)."""
        if self.pages.live is not None and self.pages.live.runs.controllers:
            self.show_page(PageName.LIVE)
            self.pages.live.show_next(step)

    def _failure(self, name: PageName) -> QWidget:
        if name not in self._failed:
            self._failed[name] = failed_page(name, lambda: self.show_page(name))
        return self._failed[name]

    def _show_status(self, page: Page, text: str) -> None:
        self._messages[page] = text
        if self.front is page:
            self.status_line.show_message(text)

    def _save_library(self, path: Path) -> None:
        if self.pages.live is not None:
            self.pages.live.save_library_to(path)

    def open_palette(self) -> None:
        """Open the palette over every command, host, run and setting."""
        CommandPalette(
            self.workstation, menu_entries(self.menuBar()), self.pages.show_host, self.pages.show_run, self._inside
        )

    def _stay_open(self) -> None:
        """Let the user go on where the window has waited to close."""
        self.closing.reset()
        self._inside.setEnabled(True)
        self.menuBar().setEnabled(True)
        self._show_summary()

    def _show_waiting(self, text: str) -> None:
        self._inside.setEnabled(False)
        self.menuBar().setEnabled(False)
        self.status_line.show_waiting(text)
