"""Library page: a table of all runs with filter, groups and columns, and a preview of the selected ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedLayout, QWidget

from app.comparison.selectors import parts_side_by_side
from app.library_rows import LibraryRow, LibraryRows
from app.plans.plan import LOCAL
from app.questions import Asker
from app.records import RunSummary
from app.run_filter import FilterError, parse_filter
from app.run_matching import Selection, matcher, metric_names
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets import settings
from widgets.jobs import BackgroundJob
from widgets.library.column_menu import ColumnMenu
from widgets.library.compare_preview import ComparePreview
from widgets.library.filter_bar import FilterBar
from widgets.library.library_bar import Unreadable
from widgets.library.recall_bar import RecallBar
from widgets.library.run_actions import RunActions
from widgets.library.run_commands import RunCommands
from widgets.library.run_preview import RunPreview
from widgets.library.run_reader import LibraryRead, VerdictReader, read_library
from widgets.library.run_rows import Trends, baseline_first, summary_of
from widgets.library.run_table import RunTable
from widgets.page import PAGE_MARGINS, Page
from widgets.parts.boxes import column_in, fill
from widgets.parts.dialogs import ask_for_file
from widgets.parts.empty_state import EmptyState
from widgets.parts.help_topics import set_help
from widgets.parts.layouts import remember_splitter
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE
from widgets.undo import UndoBar, UndoStack

BESIDE = 1500
"""Width of the page in pixels from which the preview is beside the table."""

MIN_VISIBLE_ROWS = 4
"""Minimum number of visible runs."""

_LAYOUT = "library/layout"


class LibraryPage(Page):
    """Table of runs, and a preview of the current run or a comparison of several. Reads in the background."""

    compare_requested = Signal(list)  # run ids, baseline first
    again_requested = Signal(object)  # a Plan to run at once
    repeat_requested = Signal(object)  # a Plan to edit
    investigate_requested = Signal(list)  # run ids, baseline first
    export_requested = Signal(list, str)  # run ids, base name of the files
    library_export_requested = Signal(list, Path)  # run ids, a new file
    measure_requested = Signal()
    quick_requested = Signal(str)  # the name of a host

    def __init__(self, workstation: Workstation, asker: Asker, undo: UndoStack | None = None) -> None:
        super().__init__(workstation, asker)
        undo = undo or UndoStack(self)
        self.addAction(undo.action)
        self._reading: BackgroundJob | None = None
        self._completing: BackgroundJob | None = None
        self._packing: BackgroundJob | None = None
        self._wanted: str | None = None
        self._unread = self._stale = False  # the list could not be read; it was read while a cell was edited
        self.library = LibraryRows()
        self._summary = summary_of(())
        self._metrics: dict[str, Mapping[str, tuple[float, ...]]] = {}
        self._verdicts = VerdictReader(workstation, self)
        self._verdicts.computed.connect(self._show_verdict)
        self.actions_of_runs = RunActions(self)
        # A new parent sends a change of the style to all that a widget contains: the outer ones get theirs first.
        self._body = QWidget(self)
        self._splitter = QSplitter(Qt.Orientation.Vertical, self._body, childrenCollapsible=False, handleWidth=SPACE[2])
        self._list = QWidget(self._splitter)
        self.filter_bar = FilterBar()
        self.search = self.filter_bar.search
        self.table = RunTable()
        self.columns = ColumnMenu(self.table)
        self.preview = RunPreview(self.actions_of_runs, workstation, self._splitter)
        self.panel = self.preview.panel
        self.drawer = self.issues = self.panel.drawer
        self.issues.help_requested.connect(self.help_requested)
        self.commands = RunCommands(workstation, self.actions_of_runs, self._chosen, self, undo)
        self.undo_bar = UndoBar(undo)
        self.notice = Notice()
        self.recall_bar = RecallBar()
        set_help(self.recall_bar, "verdicts")
        self.empty = self._build_empty()
        self.unreadable = Unreadable(self.salvage_requested, self.other_library_requested)
        self._arrange()
        self._connect()
        self._restore_layout()
        self.begin_at(self.table)

    @property
    def comparison(self) -> ComparePreview:
        """The comparison of several selected runs."""
        return self.preview.comparison

    def activated(self) -> None:
        """Read the library again."""
        self.refresh()

    def refresh(self) -> None:
        """Read the list of runs; close the message about what failed before."""
        self.notice.hide()
        self.follow()

    def follow(self) -> None:
        """Read the list of runs, which has changed; keep the current run, the selection and the place in the table."""
        workstation, metrics = self.workstation, tuple(self._metrics)
        job = self._reading = BackgroundJob(lambda: read_library(workstation, metrics), self)
        job.yielded.connect(lambda found: self._take(found) if job is self._reading else None)
        job.failed.connect(self._fail_reading)
        job.start()

    def show_run(self, run_id: str) -> None:
        """Clear the filter and select a run."""
        self._wanted = run_id
        self.filter_bar.clear()
        self.refresh()

    def show_trials(self, run_id: str, step: str, host: str) -> None:
        """Select a run and show the plots of a step on a host."""
        self.show_run(run_id)
        self.panel.show_trials((step, host))

    def export(self) -> bool:
        """Request the export of the selected runs; return False if there are none."""
        chosen = self._chosen()
        if not chosen:
            return False
        more = f"-and-{len(chosen) - 1}-more" if len(chosen) > 1 else ""
        ids = baseline_first(chosen)
        self.export_requested.emit(ids, ids[0] + more)
        return True

    def export_library(self) -> None:
        """Ask for a new file and write the selected runs to it as a library, or report that there are none."""
        if not self.actions_of_runs.export_library.isEnabled():
            self.status.emit(self.actions_of_runs.export_library.toolTip())
            return
        runs = [row.id for row in self._chosen()]
        ask_for_file(
            self,
            "Export runs as a library file",
            lambda path: self.library_export_requested.emit(runs, path),
            ["Libraries (*.sqlite3)"],
            save_as="runs.sqlite3",
        )

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop computing verdicts while hidden: they would take CPU from a test on this computer."""
        super().hideEvent(event)
        self._verdicts.stop()
        self._store_layout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the preview beside or below the table."""
        super().resizeEvent(event)
        way = Qt.Orientation.Horizontal if self.width() >= BESIDE else Qt.Orientation.Vertical
        if way is not self._splitter.orientation():
            self._splitter.setOrientation(way)
            self._share_room()

    def _share_room(self) -> None:
        """Share the room as the user has; else the table gets half of the height, or what its runs need."""
        across = self._splitter.orientation() is Qt.Orientation.Horizontal
        if not remember_splitter(self._splitter, "library"):
            height = sum(self._splitter.sizes())
            rows = len(self.library.rows) * self.table.verticalHeader().defaultSectionSize()
            rows += self.table.horizontalHeader().sizeHint().height() + SPACE[1]
            down = min(rows, height // 2) if height else 1
            self._splitter.setSizes([620, 380] if across else [down, max(height, 2) - down])

    # The list

    def _chosen(self) -> list[LibraryRow]:
        """Return the selected runs, else the current one."""
        current = self.table.run
        return self.table.runs() or ([current] if current is not None else [])

    def _take(self, found: LibraryRead | Trends) -> None:
        if self.table.editing:
            self._stale = True  # new rows would end the edit: they are read again after it
        elif isinstance(found, LibraryRead):
            self._show_read(found)
        else:
            self.table.show_trends(found)

    def _refresh_stale(self) -> None:
        """Read what came while a cell was edited."""
        if self._stale:
            self._stale = False
            self.follow()

    def _show_read(self, found: LibraryRead) -> None:
        self.actions_of_runs.newer = found.newer
        first = not self.table.content.rows
        self.library, self._summary = found.library, found.summary
        self._metrics = dict(found.metrics)
        if self._unread:
            self._unread = False
            self.notice.hide()
        self.filter_bar.show_library(self.library)
        self.recall_bar.show_groups(found.recalls)
        self.commands.tags = found.summary.tags
        self._stack.setCurrentWidget(self._body if self.library.rows else self.empty)
        if first:
            self._share_room()
        columns = self.columns.listed(self.library, self._values_of)
        self.table.show_lines(self.library.rows, columns, self._selection(), found.summary.needed)
        self._show_count()
        self._read_metrics(self.columns.metrics())
        if self._wanted is not None:
            self._show_wanted(self._wanted)
        elif first and self.table.lines.matched:
            self.table.select(self.table.lines.matched[0].id)
        self.table.settle()
        if self.isVisible():
            self._verdicts.read(found.summary.unjudged)
        if self.library.missing and found.newer is None:
            self._complete()
        elif found.newer is None and self._packing is None:  # once: runs recorded from now on are packed at their end
            self._packing = BackgroundJob(self.workstation.pack_samples, self)
            self._packing.start(yielded=self._show_packed, failed=self._fail)

    def _complete(self) -> None:
        """Write the summaries that an older version did not; the list is usable meanwhile."""
        if self._completing is None:
            self._completing = BackgroundJob(self.workstation.complete_summaries, self)
            self._completing.start(yielded=self._show_progress, failed=self._fail, finished=self.refresh)

    def _show_progress(self, progress: tuple[int, int]) -> None:
        self.status.emit(f"Reading the runs of an older version: {progress[0]} of {progress[1]}")

    def _show_packed(self, progress: tuple[int, int]) -> None:
        self.status.emit(f"Packing samples of an older version: {progress[0]} of {count_text(progress[1], 'run')}")

    def _show_verdict(self, run: RunSummary) -> None:
        """Add the computed verdict to the run's line, which may have changed since."""
        for row in self.library.rows:
            if row.id == run.id and not row.summary.trust:
                summary = replace(row.summary, trust=run.trust, limited_by=run.limited_by)
                self.table.content.replace_row(row, replace(row, summary=summary))
                rows = tuple(one for one in self.table.lines.rows if isinstance(one, LibraryRow))
                self.library = replace(self.library, rows=rows)

    def _show_wanted(self, run_id: str) -> None:
        self._wanted = None
        if self.table.row_of(run_id) < 0:
            self.notice.show_message("warning", f"Run {run_id} is not in the library.")
            return
        self.table.select(run_id)
        self.table.scrollTo(self.table.currentIndex())

    # The filter

    def _selection(self) -> Selection | None:
        """Return what selects the rows that match; None, with a message, if the filter cannot be read."""
        try:
            wanted = self.filter_bar.filter
            self._read_metrics(metric_names(wanted, self.library))
            return matcher(wanted, self.library, self._values_of, datetime.now(UTC))
        except FilterError as error:
            if self.library.rows:
                self.filter_bar.show_error(error)
            return None

    def _apply(self) -> None:
        if (select := self._selection()) is not None:
            self.table.keep(select)
        self._show_count()

    def _values_of(self, name: str) -> Mapping[str, tuple[float, ...]]:
        """Return the values of a metric, none before they are read."""
        return self._metrics.get(name, {})

    def _read_metrics(self, names: Iterable[str]) -> None:
        """Read the values of metrics that are not read, then show them."""
        missing = [name for name in names if name not in self._metrics]
        if not missing:
            return
        workstation = self.workstation
        self._metrics |= {name: {} for name in missing}

        def take(found: Mapping[str, Mapping[str, tuple[float, ...]]]) -> None:
            self._metrics |= found
            self.table.set_columns(self.columns.listed(self.library, self._values_of))
            self._apply()

        BackgroundJob(lambda: {name: workstation.metric_values(name) for name in missing}, self).start(take, self._fail)

    def _show_count(self) -> None:
        matched, rows = len(self.table.lines.matched), self.library.rows
        wanted = self.filter_bar.shown
        in_bin = any(term.name == "bin" for term in wanted.terms)
        total = self._summary.binned if in_bin else len(rows) - self._summary.binned
        runs = count_text(total, "run")
        self.status.emit(runs if matched == total else f"{matched} of {runs}")
        nothing = "The bin is empty." if in_bin and not total else f"No run matches “{wanted}”."
        self._unmatched.setText(f"{nothing} Press Esc to show all.")
        self._unmatched.setVisible(bool(rows) and not matched)
        self._show_current()

    # The preview

    def _show_current(self) -> None:
        chosen = self._chosen()
        self.actions_of_runs.show_chosen(chosen)
        self.preview.show_chosen(chosen, shown=self.actions_of_runs.preview.isChecked() or self._alone)

    @property
    def _alone(self) -> bool:
        """Whether the preview fills the page."""
        return self._list.isHidden()

    def _toggle_list(self) -> None:
        """Hide the list so that the run fills the page, or show it again."""
        if self.table.run is None:
            return
        alone = not self._alone
        self._list.setVisible(not alone)
        self.filter_bar.setVisible(not alone)
        self.panel.set_alone(alone=alone)
        self.actions_of_runs.open.setText("Show the list" if alone else "Show alone")
        self._show_current()
        self.preview.open_current()
        (self.panel.tabs if alone else self.table).setFocus()

    def _toggle_preview(self) -> None:
        self._show_current()
        self.preview.open_current()
        self._store_layout()

    # Actions

    def _compare(self) -> None:
        chosen = self._chosen()
        if len(chosen) > 1:
            self.compare_requested.emit(baseline_first(chosen))
        elif chosen and (parts := parts_side_by_side(chosen[0].summary)):
            self.compare_requested.emit(list(parts))

    def _select_sessions(self) -> None:
        if chosen := self._chosen():
            workstation, run_id = self.workstation, chosen[0].id
            BackgroundJob(lambda: workstation.sessions_of(run_id), self).start(self._show_sessions, self._fail)

    def _show_sessions(self, runs: Sequence[str]) -> None:
        """Select the sessions of a plan, all of them shown."""
        self.filter_bar.clear()
        self.table.select(*runs)
        self.status.emit(f"{count_text(len(runs), 'session')} of the same plan")

    def _show_sample_size(self) -> None:
        """Bring the sample size of the selected runs to the front, or report what it needs."""
        if self.preview.isHidden():
            self.actions_of_runs.preview.trigger()
        self.preview.bring_sample_size()

    def _show_like(self) -> None:
        """Filter by the tests and the parameters of the current run."""
        if chosen := self._chosen():
            self.filter_bar.set_filter(parse_filter(f"like:{chosen[0].id}"))

    def _dismiss_recalls(self, runs: Sequence[str]) -> None:
        """Store that the user has seen what later checks changed in runs."""
        workstation = self.workstation
        BackgroundJob(lambda: workstation.dismiss_recalls(runs), self).start(failed=self._fail)

    def _show_change(self, text: str) -> None:
        self.refresh()
        self.status.emit(text)

    def _fail_reading(self, error: BenchwrightError) -> None:
        self._unread = True
        self._fail(error)

    def _fail(self, error: BenchwrightError) -> None:
        if not self.report_damage(error):
            self.notice.show_error(error)
        self.unreadable.show_error(error)
        self._stack.setCurrentWidget(self._body if self.table.content.rows else self.unreadable)
        self._show_current()

    # Building

    def _connect(self) -> None:
        actions = self.actions_of_runs
        self.addActions(list(actions.all()))
        self.table.addActions(list(actions.all()))
        actions.open.triggered.connect(self._toggle_list)
        actions.preview.triggered.connect(self._toggle_preview)
        actions.compare.triggered.connect(self._compare)
        actions.like.triggered.connect(self._show_like)
        actions.differences.triggered.connect(lambda: self.columns.show_differences(self._chosen()))
        actions.sessions.triggered.connect(self._select_sessions)
        actions.rename.triggered.connect(self.table.edit_cell)
        actions.export.triggered.connect(self.export)
        actions.investigate.triggered.connect(
            lambda: self.investigate_requested.emit(baseline_first(self._chosen())) if self._chosen() else None
        )
        actions.export_library.triggered.connect(self.export_library)
        actions.sample_size.triggered.connect(self._show_sample_size)
        self.preview.plan_chosen.connect(self.repeat_requested)
        self.commands.changed.connect(self._show_change)
        self.commands.failed.connect(self._fail)
        self.commands.again_requested.connect(self.again_requested)
        self.commands.repeat_requested.connect(self.repeat_requested)
        self.recall_bar.filter_chosen.connect(self.filter_bar.set_filter)
        self.recall_bar.dismissed.connect(self._dismiss_recalls)
        self.filter_bar.changed.connect(self._apply)
        self.filter_bar.grouping_changed.connect(self.table.group)
        self.filter_bar.save_requested.connect(self.commands.save_search)
        self.filter_bar.delete_requested.connect(self.commands.delete_search)
        self.columns.metrics_requested.connect(self._read_metrics)
        self.table.lines.edited.connect(self.commands.edit)
        self.table.edit_ended.connect(self._refresh_stale)
        self.table.moved.connect(self._show_current)
        self.table.rested.connect(self.preview.open_current)
        self.table.activated.connect(self._toggle_list)
        self.preview.read.connect(self._show_verdict)
        self.preview.failed.connect(self._fail)
        self.preview.status.connect(self.status)
        self.panel.history.run_chosen.connect(self.show_run)
        for keys, slot in (
            (QKeySequence.StandardKey.Find, self.search.setFocus),
            ("F5", self.refresh),
            ("Esc", self._reset_view),
        ):
            context = Qt.ShortcutContext.WidgetWithChildrenShortcut
            action = QAction(self, shortcut=QKeySequence(keys), shortcutContext=context)
            action.triggered.connect(slot)
            self.addAction(action)

    def _reset_view(self) -> None:
        """Show the list again; if it is visible, clear the filter."""
        if self._alone:
            self._toggle_list()
        else:
            self.filter_bar.clear()
            self.table.setFocus()

    def _build_empty(self) -> EmptyState:
        empty = EmptyState(
            "No runs yet",
            "The library stores every run: plan, commands, host facts, results and raw output. Pin a run as baseline, "
            "compare several, export or repeat one.",
            "Quick benchmark of this computer",
            lambda: self.quick_requested.emit(LOCAL),
            icon="library",
        )
        empty.add_action("New test", self.measure_requested.emit)
        return empty

    def _arrange(self) -> None:
        self._unmatched = Text(tone=Tone.MUTED)
        self._unmatched.hide()
        self.table.setMinimumHeight(
            self.table.verticalHeader().defaultSectionSize() * (MIN_VISIBLE_ROWS + 1) + SPACE[1]
        )
        fill(column_in(self._list, SPACE[1]), self._unmatched, (self.table, 1))
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        rows = column_in(self._body, SPACE[1], PAGE_MARGINS)
        fill(rows, self.filter_bar, self.notice, self.recall_bar, (self._splitter, 1), self.undo_bar)
        self._stack = QStackedLayout(self)
        for widget in (self._body, self.empty, self.unreadable):
            self._stack.addWidget(widget)

    def _restore_layout(self) -> None:
        """Restore grouping, preview and splitter of the last session; tables remember theirs."""
        self._share_room()
        with suppress(ValueError, TypeError, AttributeError):
            stored = json.loads(settings.text(_LAYOUT) or "{}")
            self.actions_of_runs.preview.setChecked(stored.get("preview", True) is True)
            self.filter_bar.set_grouping(str(stored.get("group", "")))

    def _store_layout(self) -> None:
        layout = {"preview": self.actions_of_runs.preview.isChecked(), "group": self.filter_bar.grouping}
        settings.put(_LAYOUT, json.dumps(layout))
