"""The commands of the window. Menus, buttons and the palette share one action for each, so that it has one name."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence

from app.plans.plan import LOCAL
from widgets.parts.actions import offer
from widgets.run_strip import NEXT_RUN, PREVIOUS_RUN, QueueAction
from widgets.sidebar.sidebar import FOLD_KEY
from widgets.window_parts import WindowParts

FIND = "Ctrl+K"
"""Shortcut of the command palette."""

Keys = QKeySequence.StandardKey | str | None


class WindowActions(QObject):
    """Actions on files, runs and the window itself. Those on hosts and on stored runs are of their pages."""

    def __init__(self, window: WindowParts, parent: QObject) -> None:
        super().__init__(parent)
        keys, pages = QKeySequence.StandardKey, window.pages
        self.new_test = self._make("New test", lambda: pages.measure([]), keys.New, "Plan a test")
        quick = "Benchmark this computer in under 90 s"
        self.quick = self._make(
            "Quick benchmark of this computer", lambda: pages.measure_quickly(LOCAL), "Ctrl+Shift+N", quick
        )
        self.quick.setIconText("Quick")
        self.open_plan = self._make("Open plan…", window.choose_plan_file, keys.Open)
        self.export = self._make("Export…", window.export, "Ctrl+E")
        self.export_library = self._make("Export runs as a library file…", window.export_library)
        self.import_runs = self._make("Import runs…", window.import_runs)
        self.open_library = self._make("Open library…", window.choose_library, tip="In a file, or in PostgreSQL")
        self.back_up = self._make("Back up library…", window.back_up)
        for action in (self.export_library, self.import_runs):
            action.setWhatsThis("run bundle")  # found by this, too
        self.undo = window.undo.action
        self.quit = self._make("Quit", window.close, "Ctrl+Q")
        self.add_host = self._make("Add a host…", pages.add_host)
        self.find = self._make("Find or do…", window.open_palette, FIND)
        self.sidebar = self._make("Sidebar", None, FOLD_KEY)
        self.issues = self._make("Show or hide issues", window.toggle_issues, "F9")
        self.help_here = self._make("Help on this", window.help_here, None, "Help on what has the focus")
        self.help_here.setShortcuts([QKeySequence("F1"), QKeySequence("Shift+F1")])
        self.about = self._make("About Benchwright", lambda: _show_about(window))
        self._window = window
        self._add_run_actions(window)

    def _add_run_actions(self, window: WindowParts) -> None:
        act = window.on_live
        self.again = self._make("Run again", lambda: act(lambda live: live.run_again()))
        # Ctrl+. is that of the button on the page
        self.stop = self._make("Stop", lambda: act(lambda live: live.stop()))
        self.stop_all = self._make("Stop all", lambda: act(lambda live: live.stop_all()))
        self.next_run = self._make("Next run", window.next_run, NEXT_RUN)
        self.previous_run = self._make("Previous run", lambda: window.next_run(-1), PREVIOUS_RUN)
        self.clear = self._make("Clear finished runs", lambda: act(lambda live: live.clear_finished()))
        self.queued = {each: self._queued(window, each) for each in QueueAction}
        window.runs_changed.connect(self.fit)
        self.fit()

    def fit(self) -> None:
        """Enable the actions that apply to the shown run."""
        live = self._window.pages.live
        front = None if live is None else live.front
        finished = live is not None and any(run.over and run is not front for run in live.runs.controllers)
        offer(self.again, front is not None, "Run the plan of the shown run again", "Live shows no run")
        offer(self.stop, front is not None and front.running, "Stop the shown run", "Live shows no run under way")
        offer(self.stop_all, live is not None and live.running, "Stop every run", "No run is under way")
        offer(self.clear, finished, "Remove finished runs from Live", "No other run has finished")
        for action, entry in self.queued.items():
            possible = front is not None and action in front.queue_actions
            offer(entry, possible, action.value, "Live shows no run that waits for this")

    def _queued(self, window: WindowParts, action: QueueAction) -> QAction:
        return self._make(action.value, lambda: window.on_live(lambda live: live.act_on_front(action)))

    def _make(self, text: str, act: Callable[[], object] | None, keys: Keys = None, tip: str = "") -> QAction:
        made = QAction(text, self)
        if keys is not None:
            made.setShortcut(QKeySequence(keys))
        shown = made.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        made.setToolTip(" ".join(filter(None, (tip or text.rstrip("…"), f"({shown})" if shown else ""))))
        if act is None:
            made.setCheckable(True)
        else:
            made.triggered.connect(lambda _checked: act())
        return made


def _show_about(window: WindowParts) -> None:
    """Show name, version and purpose of the program."""
    from app.version import VERSION

    window.show_message(f"Benchwright {VERSION}", "Benchmark Linux hosts and check whether the results are valid.")
