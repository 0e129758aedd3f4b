"""Actions on the selected runs, shared by buttons, context menu and shortcuts."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.comparison.selectors import parts_side_by_side
from app.events import State
from app.library_rows import LibraryRow
from suites.errors import BenchwrightError
from widgets.parts.actions import offer


class RunActions(QObject):
    """Actions on runs; the page does the work when one is triggered."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.newer: BenchwrightError | None = None  # why the library is read-only, or None
        self.open = self._make("Show alone")
        self.compare = self._make("Compare", "Ctrl+D")
        self.sessions = self._make("Select all sessions", "Ctrl+Shift+A")
        self.pin = self._make("Pin as baseline…", "Ctrl+B")
        self.unpin = self._make("Unpin", "Ctrl+B")
        self.sample_size = self._make("Sample size")
        self.export = self._make("Export…")
        self.investigate = self._make("Add to investigation…", "Ctrl+I")
        self.export_library = self._make("Export as a library file…")
        self.again = self._make("Run again", "Ctrl+R")
        self.edit_plan = self._make("Edit plan", "Ctrl+Shift+R")
        self.crosscheck = self._make("Check with another tool…")
        self.rename = self._make("Rename", "F2")
        self.tag = self._make("Tag…", "Ctrl+T")
        self.lock = self._make("Lock…")
        self.unlock = self._make("Unlock")
        self.like = self._make("Runs like this", "Ctrl+L")
        self.differences = self._make("Show differing parameters", "Ctrl+Shift+D")
        self.preview = self._make("Preview", "F8")
        self.preview.setCheckable(True)
        self.preview.setChecked(True)
        self.delete = self._make("Delete", "Del")
        self.restore = self._make("Restore")
        self.erase = self._make("Delete for good…", "Shift+Del")
        self.studies = QMenu("Analysis", parent, toolTipsVisible=True)
        self.studies.addActions([self.sample_size, self.crosscheck])
        self.study = self.studies.menuAction()
        self.show_chosen([])

    def all(self) -> Sequence[QAction]:
        """Return the actions in display order."""
        return (
            self.open, self.compare, self.like, self.differences, self.sessions, self.pin, self.unpin, self.study,
            self.export, self.investigate, self.export_library, self.again, self.edit_plan, self.rename, self.tag,
            self.lock, self.unlock, self.delete, self.restore, self.erase, self.preview,
        )  # fmt: skip

    def show_chosen(self, chosen: Sequence[LibraryRow]) -> None:
        """Enable the actions that apply to `chosen`; the tooltips of the others give the reason."""
        one, several = len(chosen) == 1, len(chosen) > 1
        pinned = one and chosen[0].summary.baseline is not None
        offer(self.open, one or several, "Show or hide the list", "Select a run")
        parts = one and bool(parts_side_by_side(chosen[0].summary))
        compared = "the selected runs" if several else "the hosts or steps of this run"
        offer(self.compare, several or parts, f"Compare {compared}", "Select two or more runs (Ctrl+click)")
        sessions = "Select the sessions of this series, or the runs of the same plan"
        offer(self.sessions, one, sessions, "Select one run")
        pinned_runs = "these runs, as one group," if several else "this run"
        measured = bool(chosen) and all(line.summary.trials for line in chosen)
        reason = "No counted trials to compare with" if chosen else "Select a run"
        offer(self.pin, measured and not pinned, f"Use {pinned_runs} as the baseline of later runs", reason)
        offer(self.unpin, pinned, "Remove the baseline; the run is kept", "Select a pinned run")
        offer(self.study, bool(chosen), "Sample size, and the same with another tool", "Select a run")
        sizes = "Hosts, sessions and trials that show a difference, from the noise of the selected runs"
        offer(self.sample_size, bool(chosen), sizes, "Select runs")
        offer(self.export, bool(chosen), "Export the selected runs as CSV, image or HTML (Ctrl+E)", "Select a run")
        offer(self.investigate, bool(chosen), "Add the selected runs to an investigation", "Select a run")
        running = any(row.summary.state is State.RUNNING for row in chosen)
        bundle = "One file with all data of the selected runs, for another Benchwright to open or import"
        reason = "Stop the run first" if running else "Select a run"
        offer(self.export_library, bool(chosen) and not running, bundle, reason)
        offer(self.again, one, "Run the plan of this run as soon as its hosts are free", "Select one run")
        offer(self.edit_plan, one, "Open the plan of this run to change it, then run it", "Select one run")
        offer(self.crosscheck, one, "Measure the same with another tool and compare the results", "Select one run")
        self._offer_changes(chosen)
        self.pin.setVisible(not pinned)
        self.unpin.setVisible(pinned)
        if self.newer is not None:
            changing = (self.investigate, self.pin, self.unpin, self.rename, self.tag, self.lock, self.unlock)
            for writing in (*changing, self.delete, self.restore, self.erase):
                offer(writing, False, "", f"{self.newer.message} {self.newer.remedy}")

    def _offer_changes(self, chosen: Sequence[LibraryRow]) -> None:
        """Enable what adds to runs, finds others like them, or deletes them."""
        one = len(chosen) == 1
        running = any(row.summary.state is State.RUNNING for row in chosen)
        binned = any(row.binned for row in chosen)
        offer(
            self.rename, one, "Rename this run in place; F2 in the columns Note and Tags edits these", "Select one run"
        )
        offer(self.tag, bool(chosen), "Add or remove tags of the selected runs", "Select a run")
        like = one and bool(chosen[0].configurations)
        offer(self.like, like, "Show the runs with the same tests and parameters, on any host", "Select one run")
        several = len(chosen) > 1
        offer(self.differences, several, "Add a column for each parameter that differs", "Select two or more runs")
        locked = any(row.lock for row in chosen)
        offer(self.lock, bool(chosen), "Keep the selected runs: a locked run cannot be deleted", "Select a run")
        offer(self.unlock, locked, "Remove the locks of the selected runs", "Select a locked run")
        self.lock.setVisible(not chosen or not all(row.lock for row in chosen))
        self.unlock.setVisible(locked)
        reason = "Stop the run first" if running else "Select a run"
        offer(self.erase, bool(chosen) and not running, "Delete the selected runs permanently", reason)
        reason = "Unlock the locked runs first" if locked else reason
        deleting = bool(chosen) and not running and not binned and not locked
        offer(self.delete, deleting, "Put the selected runs into the bin", reason)
        offer(self.restore, binned, "Take the selected runs out of the bin", "Select a run in the bin")
        self.restore.setVisible(binned)
        self.delete.setVisible(not binned)

    def _make(self, text: str, keys: str = "") -> QAction:
        context = Qt.ShortcutContext.WidgetWithChildrenShortcut
        return QAction(text, self, shortcut=QKeySequence(keys), shortcutContext=context)
