"""The main window: menus, rail, page and status bar."""

import gc
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QStackedWidget, QWidget

from app.command_hints import use_library
from app.events import LibraryChanged
from app.margins import DEFAULTS, Margins
from app.paths import log_path
from app.plans.plan import LOCAL
from app.services import Workstation
from app.session_series import SessionSeries
from widgets import jobs, settings, theme
from widgets.command_palette import CommandPalette, menu_entries
from widgets.dropped_files import DroppedFiles
from widgets.hosts.host_bars import DetachedBar
from widgets.jobs import BackgroundJob
from widgets.library.library_bar import LibraryBar
from widgets.page import Page
from widgets.pages import Pages
from widgets.parts.boxes import column_in, fill, in_row, row_in
from widgets.parts.controls import tool_button
from widgets.parts.dialogs import QuestionDialog, ask_for_file, opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.text import set_tool_tip
from widgets.presence import Presence
from widgets.questions import WindowAsker
from widgets.queue_bar import QueueBar
from widgets.rail import SIGNS, PageName, Rail
from widgets.run_strip import NEXT_RUN, PREVIOUS_RUN, LineState, QueueAction, RunStrip, StripLine, counts_text
from widgets.session_bar import SessionBar
from widgets.shutdown import CloseGuard, signals_handled
from widgets.status_line import StatusLine
from widgets.theme import SPACE, Appearance, appearance, icon, set_appearance

if TYPE_CHECKING:
    from widgets.hosts.hosts_page import HostsPage
    from widgets.live.live_page import LivePage

FIND = "Ctrl+K"
"""Shortcut of the command palette."""

HOST_ACTIONS: dict[str, Callable[["HostsPage"], object]] = {
    "&New test on this host": lambda page: page.card.measure_requested.emit(),
    "&Quick benchmark of this host": lambda page: page.card.quick_requested.emit(),
    "&Test connection": lambda page: page.card.test_requested.emit(),
    "&Edit connection…": lambda page: page.card.edit_requested.emit(),
    "&Calibrate…": lambda page: page.card.calibrate_requested.emit(),
    "&Leftovers…": lambda page: page.card.leftovers_requested.emit(),
}
"""Actions on the current host of the page Hosts."""

SIZE = (1280, 800)
SMALLEST = (896, 480)
PATIENCE = 3.0
"""Seconds to wait for background threads after the window has closed."""

_APPEARANCES = {Appearance.SYSTEM: "System", Appearance.LIGHT: "Light", Appearance.DARK: "Dark"}

LOADED = 2000
"""Milliseconds after which a page has loaded its modules."""


class MainWindow(QMainWindow):
    """The main window. Shows pages and connects them to each other."""

    runs_changed = Signal()
    page_created = Signal()  # a page was shown for the first time

    def __init__(self, workstation: Workstation) -> None:
        super().__init__()
        self.workstation = workstation
        self.asker = WindowAsker(self)
        self.pages = Pages(workstation, self.asker, self)
        self.closing = CloseGuard(self, lambda: self.pages.live, self._show_waiting)
        self.rail = Rail()
        self._stack = QStackedWidget()
        self.status_line = StatusLine()
        self.library_bar = LibraryBar(workstation)
        self.detached_bar = DetachedBar(workstation)
        self.session_bar = SessionBar(workstation)
        self.queue_bar = QueueBar(workstation)
        self.strip = RunStrip()
        self.presence = Presence(self)
        self._failed: dict[PageName, QWidget] = {}
        self._messages: dict[QWidget, str] = {}
        self._painted = False
        self._summary = ""
        self._lines: Sequence[StripLine] = ()
        self._arrange()
        _build_menus(self)
        self._connect()
        self._corner = _corner(self)  # the menu bar would not keep it
        self.menuBar().setCornerWidget(self._corner)
        plans = {".toml": self._load_plan, ".fio": self.pages.open_job_file, ".job": self.pages.open_job_file}
        DroppedFiles(self, {**plans, ".sqlite3": self.library_bar.open_library}, self.show_message)
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
            page.other_library_requested.connect(self.library_bar.choose_library)
            self.page_created.emit()
        self.rail.show_page(name)
        self.status_line.show_message(self._messages.get(shown, ""))
        if page is not None and self._painted:
            page.activated()
        if not self.rail.hasFocus():
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
        """Show every run in the strip, the rail, the status bar and the title; `front` is the key of that on Live."""
        self._lines = lines
        self.strip.show_lines(lines, front)
        self.rail.show_running(sum(line.state is LineState.RUNNING for line in lines))
        self.presence.show_lines(lines)
        self.runs_changed.emit()
        self._show_summary()

    def _show_summary(self) -> None:
        """Show the run of the page Live in the status bar, and how many others there are."""
        if self.closing.waits:
            return
        text = counts_text(self._lines)
        one = bool(self._summary) and sum(line.state is LineState.RUNNING for line in self._lines) < 2
        self.status_line.show_running("   ".join(filter(None, [text, self._summary])), stoppable=one)

    def run_ended(self) -> None:
        """Update the window after the end of a run."""
        self.detached_bar.refresh()
        self.session_bar.refresh()
        self.closing.run_ended()

    def show_library_change(self, change: LibraryChanged) -> None:
        """Show whether the library can store the run under way."""
        self.library_bar.show_change(change)

    def show_help(self, topic: str) -> None:
        """Show the help page of `topic`."""
        self.pages.show_help(topic)

    def show_about(self) -> None:
        """Show name, version and purpose of the program."""
        from app.version import VERSION

        self.show_message(f"Benchwright {VERSION}", "Benchmark Linux hosts and check whether the results are valid.")

    def show_message(self, text: str, more: str) -> None:
        """Show a modal message."""
        opened(QuestionDialog(text, more, "Close", self, decline_text=""))

    def open_export(
        self,
        runs: Sequence[str],
        name: str,
        margins: Margins = DEFAULTS,
        overruled: str = "",
        tested: Collection[str] = (),
    ) -> None:
        """Open the export dialog for `runs`; the other arguments are those of ExportDialog."""
        from widgets.export_dialog import ExportDialog

        opened(ExportDialog(self.workstation, runs, name, self, margins=margins, overruled=overruled, tested=tested))

    def choose_plan_file(self) -> None:
        """Ask for a plan file and open it."""
        ask_for_file(self, "Open a plan", self._load_plan, ["Plans (*.toml)", "All files (*)"])

    def export(self) -> None:
        """Export the content of the current page; if it has none, show the library."""
        page = self.front
        if not (isinstance(page, Page) and page.export()) and self.show_page(PageName.LIBRARY) is not None:
            self.status_line.show_message("Select a run to export")

    def event(self, event: QEvent) -> bool:
        """Activate the current page after the first paint, so that the window appears sooner."""
        handled = super().event(event)
        if event.type() is QEvent.Type.Paint and not self._painted:
            self._painted = True
            QTimer.singleShot(0, self, self._activate_front)
        return handled

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close, or ask first if a run is under way."""
        if not self.closing.allowed():
            event.ignore()
            return
        settings.put("geometry", self.saveGeometry())
        self.asker.close()
        for job in jobs.running():
            job.cancel()
        event.accept()

    def _activate_front(self) -> None:
        page = self.front
        if isinstance(page, Page):
            page.activated()
        self.library_bar.refresh()
        self.detached_bar.refresh()
        self.session_bar.refresh()
        self.queue_bar.refresh()

    def _arrange(self) -> None:
        self.setWindowTitle("Benchwright")
        self.setMinimumSize(*SMALLEST)
        self._inside = QWidget()
        row = in_row(self.rail, (self._stack, 1), spacing=0)
        bars = (self.library_bar, self.detached_bar, self.queue_bar, self.session_bar, self.strip)
        fill(column_in(self._inside, 0), *bars, (row, 1))
        self.setCentralWidget(self._inside)
        self.setStatusBar(self.status_line)
        self.resize(*SIZE)
        self.restoreGeometry(settings.blob("geometry"))

    def _connect(self) -> None:
        self.rail.chosen.connect(self.show_page)
        self.library_bar.is_measuring = self._is_measuring
        self.session_bar.is_under_way = self._is_under_way
        self.asker.asked.connect(self.presence.note_question)
        self.queue_bar.others_found.connect(lambda: self.pages.page(PageName.LIVE))  # it shows them in the strip
        self.queue_bar.start_requested.connect(self.pages.run_queue)
        self.strip.chosen.connect(self.pages.show_live)
        self.strip.stop_requested.connect(lambda key: self._on_live(lambda live: live.stop_key(key)))
        self.strip.queue_requested.connect(lambda key, action: self._on_live(lambda live: live.act_on_key(key, action)))
        self.library_bar.opened.connect(self._show_other_library)
        self.library_bar.save_requested.connect(self._save_library)
        self.detached_bar.attach_requested.connect(self.pages.attach)
        self.detached_bar.stop_requested.connect(lambda run: self.pages.attach(run, stop=True))
        self.session_bar.start_requested.connect(lambda series, asked: self.pages.run_session(series, show=asked))
        self.status_line.stop_requested.connect(self.stop_run)

    def _show_other_library(self) -> None:
        page = self.front
        use_library(self.workstation.library_path)
        self.pages.refresh_library()
        if isinstance(page, Page) and page is not self.pages.existing(PageName.LIBRARY):
            page.activated()
        self.detached_bar.refresh()
        self.session_bar.refresh()

    def _is_measuring(self) -> bool:
        return self.pages.live is not None and self.pages.live.running

    def _is_under_way(self, series: SessionSeries) -> bool:
        """Return whether a session of `series` runs or waits; that of a new series is known by its plan alone."""
        begun = [] if self.pages.live is None else [run.start_request for run in self.pages.live.runs.active]
        return any(one.series == series.id or one.plan.hash() == series.plan.hash() for one in begun)

    def _on_live(self, act: Callable[["LivePage"], object]) -> None:
        if self.pages.live is not None:
            act(self.pages.live)

    def next_run(self, step: int = 1) -> None:
        """Show the next run live, or the previous one (`step` -1)."""
        if self.pages.live is not None and self.pages.live.runs.controllers:
            self.show_page(PageName.LIVE)
            self.pages.live.show_next(step)

    def act_on_run(self, action: QueueAction) -> None:
        """Apply `action` to the run of the page Live, if it waits in the queue."""
        self._on_live(lambda live: live.act_on_front(action))

    def _failure(self, name: PageName) -> QWidget:
        if name not in self._failed:
            self._failed[name] = EmptyState(
                f"Cannot open {name.value}",
                f"This is a bug in Benchwright. The other pages work. The traceback is in {log_path()}.",
                "Try again",
                lambda: self.show_page(name),
                icon="error",
            )
        return self._failed[name]

    def _show_status(self, page: Page, text: str) -> None:
        self._messages[page] = text
        if self.front is page:
            self.status_line.show_message(text)

    def _load_plan(self, path: Path) -> None:
        BackgroundJob(lambda: self.workstation.load_plan(path, usable_goals=False), self).start(
            self.pages.open_plan, lambda error: self.show_message(error.message, error.remedy)
        )

    def _save_library(self, path: Path) -> None:
        if self.pages.live is not None:
            self.pages.live.save_library_to(path)

    def open_palette(self) -> None:
        """Open the palette over every command, host, run and setting."""
        CommandPalette(
            self.workstation, menu_entries(self.menuBar()), self.pages.show_host, self.pages.show_run, self._inside
        )

    def act_on_host(self, act: Callable[["HostsPage"], object]) -> None:
        """Apply `act` to the page Hosts, whose current host it concerns."""
        if page := self.show_page(PageName.HOSTS):
            act(cast("HostsPage", page))

    def stop_run(self) -> None:
        """Stop the run of the page Live, or take it from the queue."""
        self._on_live(lambda live: live.stop())

    def stop_all_runs(self) -> None:
        """Stop every run under way."""
        self._on_live(lambda live: live.stop_all())

    def clear_runs(self) -> None:
        """Remove the runs that are over from the strip, except the one that is shown."""
        self._on_live(lambda live: live.clear_finished())

    def run_again(self) -> None:
        """Run the plan of the run on the page Live again."""
        self._on_live(lambda live: live.run_again())

    def _show_waiting(self, text: str) -> None:
        self._inside.setEnabled(False)
        self.menuBar().setEnabled(False)
        self.status_line.show_waiting(text)


def _build_menus(window: MainWindow) -> None:
    """Fill the window's menu bar."""
    bar, keys = window.menuBar(), QKeySequence.StandardKey
    titles = ("&File", "&Run", "H&ost", "&View", "&Help")
    file, run, host, view, help_menu = (bar.addMenu(title) for title in titles)
    _add(file, "&New test", lambda: window.pages.measure([]), keys.New)
    _add(file, "&Quick benchmark of this computer", lambda: window.pages.measure_quickly(LOCAL), "Ctrl+Shift+N")
    _add(file, "&Open plan…", window.choose_plan_file, keys.Open)
    _add(file, "&Export…", window.export, "Ctrl+E")
    file.addSeparator()
    _add(file, "&Quit", window.close, "Ctrl+Q")
    _build_run_menu(run, window)
    _build_host_menu(host, window)
    _add(view, "&Find or do…", window.open_palette, FIND)
    view.addSeparator()
    for name, sign in SIGNS.items():
        _add(view, name.value, partial(window.show_page, name), sign.keys)
    view.addSeparator()
    _add(view, "Show or hide &issues", window.toggle_issues, "F9")
    _build_appearances(view.addMenu("&Appearance"))
    topics = {"tour": "&Tour", "words": "&Glossary", "rules": "&Rules of measurement", "keyboard": "&Keyboard"}
    for topic, title in topics.items():
        _add(help_menu, title, partial(window.show_help, topic), keys.HelpContents if topic == "tour" else None)
    help_menu.addSeparator()
    _add(help_menu, "&About Benchwright", window.show_about)


def _build_run_menu(menu: QMenu, window: MainWindow) -> None:
    again = _add(menu, "&Run again", window.run_again)
    stop = _add(menu, "&Stop", window.stop_run)  # Ctrl+. is that of the button on the page
    stop_all = _add(menu, "Stop &all", window.stop_all_runs)
    menu.addSeparator()
    _add(menu, "&Next run", window.next_run, NEXT_RUN)
    _add(menu, "&Previous run", lambda: window.next_run(-1), PREVIOUS_RUN)
    clear = _add(menu, "&Clear finished runs", window.clear_runs)
    menu.addSeparator()
    queued = [(action, _add(menu, action.value, partial(window.act_on_run, action))) for action in QueueAction]
    menu.addSeparator()

    def fit() -> None:
        live = window.pages.live
        front = None if live is None else live.front
        again.setEnabled(front is not None)
        stop.setEnabled(front is not None and front.running)
        stop_all.setEnabled(live is not None and live.running)
        clear.setEnabled(live is not None and any(run.over and run is not front for run in live.runs.controllers))
        for action, entry in queued:
            entry.setEnabled(front is not None and action in front.queue_actions)

    window.runs_changed.connect(fit)
    fit()
    notify = menu.addAction("Notify when a run ends or asks")
    notify.setCheckable(True)
    notify.setChecked(window.presence.notifies)
    notify.toggled.connect(window.presence.set_notifies)


def _build_host_menu(menu: QMenu, window: MainWindow) -> None:
    _add(menu, "&Add a host…", window.pages.add_host)
    menu.addSeparator()
    for text, act in HOST_ACTIONS.items():
        _add(menu, text, partial(window.act_on_host, act))


def _corner(window: MainWindow) -> QWidget:
    """Return the buttons at the right of the menu bar: find or do, quick benchmark, new test."""
    corner = QWidget()
    find = tool_button(f"Find or do  {FIND}", window.open_palette, icon="search", objectName="find")
    find.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    quick = tool_button("Quick", lambda: window.pages.measure_quickly(LOCAL), objectName="corner")
    set_tool_tip(quick, "Benchmark this computer in under 90 s (Ctrl+Shift+N)")
    new = tool_button("New test", lambda: window.pages.measure([]), objectName="corner")
    set_tool_tip(new, "Plan a test (Ctrl+N)")
    fill(row_in(corner, SPACE[0], (0, 0, SPACE[1], 0)), find, quick, new)
    return corner


def _build_appearances(menu: QMenu) -> None:
    group = QActionGroup(menu)
    for chosen, title in _APPEARANCES.items():
        action = menu.addAction(title, partial(set_appearance, chosen))
        action.setCheckable(True)
        action.setChecked(chosen is appearance())
        group.addAction(action)


def _add(
    menu: QMenu, text: str, callback: Callable[[], object], keys: QKeySequence.StandardKey | str | None = None
) -> QAction:
    action = menu.addAction(text)
    if keys is not None:
        action.setShortcut(QKeySequence(keys))
    action.triggered.connect(lambda _checked: callback())
    return action


def _freeze_loaded() -> None:
    """Exclude the objects loaded by a page from garbage collection (gc.freeze), once it is loaded.

    A full collection traverses 200,000 objects of the libraries and blocked the window for 110 to 140 ms on an AMD
    EPYC; without them for 6 ms.
    """
    QTimer.singleShot(LOADED, gc.freeze)


def open_window(workstation: Workstation) -> int:
    """Run the window until it is closed; return the exit status."""
    application = QApplication.instance() or QApplication(sys.argv[:1])
    if not isinstance(application, QApplication):
        raise TypeError("a QApplication is needed to show a window")
    application.setApplicationName("benchwright")
    application.setApplicationDisplayName("Benchwright")
    application.setDesktopFileName("benchwright")
    theme.apply(application)
    application.setWindowIcon(icon("benchwright", "accent"))
    window = MainWindow(workstation)
    window.page_created.connect(_freeze_loaded)
    window.show()
    _freeze_loaded()
    with signals_handled(window.closing.stop_and_close):
        status = application.exec()
    deadline = time.monotonic() + PATIENCE
    for job in jobs.running():
        job.cancel()
        job.wait(max(0.0, deadline - time.monotonic()))
    return status
