"""Compare page: runs against a baseline, with intervals, verdicts and plots."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QMenu,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QTabWidget,
    QWidget,
)

from app.comparison.comparison import NOTHING_COMPARED, Comparison, ComparisonRow
from app.comparison.criteria import ComparisonCriteria
from app.comparison.family import DESCRIPTIVE
from app.margins import Margin
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.compare.compare_rows import (
    Compared,
    CompareLine,
    Grouping,
    folded,
    lines_of,
    read_runs,
    remaining,
    rows_for_text,
)
from widgets.compare.compare_table import CompareTable
from widgets.compare.conditions_line import ConditionsLine, VerdictLine
from widgets.compare.curves import read_curves
from widgets.compare.explanation_panel import ExplanationPane
from widgets.compare.margin_field import MarginField
from widgets.compare.messages import status_text
from widgets.compare.pickers import BaselinePicker, RunPicker
from widgets.compare.rank_pane import RankPane
from widgets.compare.run_chips import RunChips
from widgets.compare.sample_size_pane import SampleSizePane
from widgets.jobs import BackgroundJob
from widgets.page import PAGE_MARGINS, Page, PageName, page_title
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.dialogs import opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.flow_layout import flowing
from widgets.parts.layouts import remember_splitter
from widgets.parts.notice import Notice
from widgets.parts.text import set_tool_tip, sheet_text
from widgets.plots.profile_pane import ProfilePane
from widgets.plots.studies import StudyTabs
from widgets.theme import SPACE, set_icon

if TYPE_CHECKING:
    from widgets.compare.row_plots import RowPlots

_ORIGIN_FROM = 1200
"""Width in pixels from which the origin of the margin is shown."""

_INCLUDE, _WITHDRAW = "Include in the verdicts", "Leave out of the verdicts"

_ALL_METRICS = "Show all metrics"

_CHOOSE = "Select runs in the library"

_READING = "Reading the runs…"

_PATIENCE = 150
"""Delay before *Reading the runs…* is shown, in ms."""

PLOTS_LEAST = 0.6
"""Least share of the page's height that the plots with their tabs get by default, but for MIN_VISIBLE_ROWS."""


class ComparePage(Page):
    """Table of metrics against the baseline; below it in tabs plots, explanation and studies."""

    show_run_requested = Signal(str)
    trials_requested = Signal(str, str, str)  # a run's id, step and host
    plan_chosen = Signal(object)  # a Plan
    library_requested = Signal()
    investigate_requested = Signal(list)  # the selectors of the sides, baseline first
    export_requested = Signal(list, str, object)  # run ids, baseline first; file name; ComparisonCriteria

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self._ids: list[str] = []
        self._overruled = ""
        self._tested: frozenset[str] = frozenset()
        self._compared: Compared | None = None
        self._job: BackgroundJob | None = None
        self._moved = False
        self._drawn: tuple[Compared, ComparisonRow | None] | None = None
        # A new parent sends a change of the style to all that a widget contains: the outer ones get theirs first.
        self._body = QWidget(self)
        self._content = QWidget(self._body)
        self._splitter = QSplitter(Qt.Orientation.Vertical, self._content, childrenCollapsible=False)
        self._below = QWidget(self._splitter)
        self.chips = RunChips()
        self.table = CompareTable()
        self.plots: RowPlots | None = None
        self.explanation = ExplanationPane()
        self.verdict = VerdictLine()
        self.conditions = ConditionsLine()
        self.tabs = QTabWidget(self._below, documentMode=True)
        self.tabs.setAccessibleName("Details of the comparison")
        self.tabs.addTab(self.explanation, "Explanation")
        self.sample_size, self.rank = SampleSizePane(workstation), RankPane(workstation)
        self.studies = StudyTabs(self.tabs, workstation, self.sample_size, self.rank, ProfilePane(workstation))
        self.notice = Notice()
        self.margin = MarginField()
        self.everything = QAction(_ALL_METRICS, self, checkable=True)
        self.by_effect = QAction("Largest effect first", self, checkable=True)
        self.grouping = QActionGroup(self)
        self.include_action = QAction(_INCLUDE, self.table, shortcut=QKeySequence("Ctrl+I"), enabled=False)
        self.include_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.table.addAction(self.include_action)
        self._arrange()
        self._connect()
        self.begin_at(self.table)

    @property
    def compared(self) -> Compared | None:
        """The comparison that is shown, or None."""
        return self._compared

    def compare(self, run_ids: Sequence[str]) -> None:
        """Compare runs; the first is the baseline."""
        if not set(self._ids) & set(run_ids):
            self._tested = frozenset()
        self._ids = list(dict.fromkeys(run_ids))
        self._overruled = ""  # an override holds for the runs it was given for
        self._stack.setCurrentWidget(self._body)
        self._waiting.start()
        chosen, criteria = tuple(self._ids), self._criteria()
        self._read(lambda: read_runs(self.workstation, chosen, criteria), self._show)

    def activated(self) -> None:
        """Focus the table, and follow the library."""
        self.table.setFocus()
        self.follow()

    def follow(self) -> None:
        """Read the runs again, which may have another name or be deleted; show them if they are not the same."""
        before, ids, workstation = self._compared, tuple(self._ids), self.workstation
        if before is None:
            return
        criteria = self._criteria()

        def work() -> tuple[Compared | None, list[str]]:
            left = list(ids)
            try:
                found = read_runs(workstation, left, criteria)
            except BenchwrightError:
                left = remaining(workstation, ids)
                if len(left) < 2:
                    raise
                found = read_runs(workstation, left, criteria)
            return (None if found.comparison == before.comparison else found), left

        self._read(work, self._show_followed)

    def _show_followed(self, found: object) -> None:
        compared, left = cast("tuple[Compared | None, list[str]]", found)
        gone, baseline = [run for run in self._ids if run not in left], self._ids[0]
        self._ids = left
        self._waiting.stop()
        if compared is not None:
            self._show(compared)
        elif self.notice.text() == _READING:
            self.notice.hide()
        if gone:
            others = f" The baseline is {left[0]} now." if baseline in gone else ""
            self.notice.show_message("warning", f"No longer in the library: {', '.join(gone)}.{others}")

    def export(self) -> bool:
        """Request the export of the comparison; return False if there is none."""
        if self._compared is None:
            return False
        # Not self._ids[0]: for a part of a run that contains the step names.
        name = f"comparison-{self._compared.comparison.runs[0].id}"
        self.export_requested.emit(list(self._ids), name, self._criteria())
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the origin of the margin in a narrow page."""
        super().resizeEvent(event)
        self.margin.origin.setVisible(self.width() >= _ORIGIN_FROM)

    # Reading

    def _criteria(self) -> ComparisonCriteria:
        return ComparisonCriteria(self.margin.margins(), self._overruled, self._tested)

    def _read(self, work: Callable[[], object], show: Callable[[object], None]) -> None:
        """Run `work` in the background; results of a job that a newer one replaced are dropped."""
        job = self._job = BackgroundJob(work, self)
        job.returned.connect(lambda found: show(found) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def _recompare(self) -> None:
        """Compare again with a new margin, an override or other tested metrics; samples are not read again."""
        if self._compared is None:
            return
        chosen, criteria = tuple(self._ids), self._criteria()
        self._read(lambda: self.workstation.compare(chosen, criteria), self._show_recompared)

    def _keep_margin(self, metric: str, share: float | None) -> None:
        """Store or forget the user's margin of a metric, and compare again."""
        saved = self.workstation.saved_margins
        self._read(
            lambda: saved.forget(metric) if share is None else saved.keep(metric, share),
            lambda _done: self._recompare(),
        )

    def _overrule(self, reason: str) -> None:
        self._overruled = reason
        self._recompare()

    def _include(self) -> None:
        """Include the selected metric in the verdicts, or withdraw it."""
        line = self.table.current()
        if line is not None and line.row is not None:
            self._tested ^= {line.row.metric.name}
            self._recompare()

    def _show_inclusion(self, row: ComparisonRow | None) -> None:
        """Offer to include the metric of `row` in the verdicts if it is descriptive, or to withdraw it."""
        included = row is not None and row.metric.name in self._tested
        offered = row is not None and any(against.ground == DESCRIPTIVE for against in row.against)
        self.include_action.setText(_WITHDRAW if included else _INCLUDE)
        self.include_action.setEnabled(included or offered)
        self.explanation.include_button.setText(self.include_action.text())
        self.explanation.include_button.setVisible(self.include_action.isEnabled())

    def _show_recompared(self, comparison: object) -> None:
        if self._compared is not None and isinstance(comparison, Comparison):
            self._show(replace(self._compared, comparison=comparison))

    def _show(self, compared: object) -> None:
        if not isinstance(compared, Compared):
            return
        self._waiting.stop()
        self.notice.hide()
        self.back_button.hide()
        self._compared = compared
        self.chips.show_runs(compared.comparison.runs)
        for before, after in itertools.pairwise([self.rows_button, *self.chips.chips, self.table]):
            QWidget.setTabOrder(before, after)  # Tab order follows the layout
        hidden = folded(compared)
        self.everything.setText(f"{_ALL_METRICS} ({hidden} more)" if hidden else _ALL_METRICS)
        self.everything.setEnabled(hidden > 0)
        self._content.show()
        for part in (self.margin, self.rows_button, self._splitter):  # without rows, those of the last comparison
            part.setVisible(bool(compared.comparison.rows))
        self.studies.show_runs(self._ids, compared.missing)
        self._show_lines()
        if not compared.comparison.rows:
            self.explanation.show_nothing()
            self.notice.show_message("info", NOTHING_COMPARED)
        self.status.emit(status_text(compared.comparison))

    def _show_lines(self) -> None:
        if self._compared is not None:
            lines = lines_of(
                self._compared,
                everything=self.everything.isChecked(),
                grouping=Grouping(self.grouping.checkedAction().data()),
                by_effect=self.by_effect.isChecked(),
            )
            total = len(self._compared.comparison.rows)
            shown = total if self.everything.isChecked() else total - folded(self._compared)
            self.rows_button.setText(f"{shown} of {count_text(total, 'metric')}")
            self.table.show_lines(lines, self._compared.comparison.margin)
            self._share_height()

    def _explain(self, line: CompareLine) -> None:
        if self._compared is None:
            return
        self.explanation.show_line(self._compared, line)
        self.verdict.show_line(self._compared, line)
        self.conditions.show_compared(self._compared, line)
        self._show_inclusion(line.row)
        self._show_margin(self._compared.comparison, line)
        shown = (self._compared, line.row)
        if shown != self._drawn:
            self._drawn = shown
            self._ready_plots().show_line(self._compared, line)

    def _show_margin(self, comparison: Comparison, line: CompareLine) -> None:
        row = line.row
        if row is not None:
            against = line.against or row.against[0]
            shown = Margin(comparison.margin_of(row, against), against.origin)
            self.margin.show_margin(row.metric, shown, comparison.margins)

    def _ready_plots(self) -> "RowPlots":
        """Return the plots, created on first use: importing pyqtgraph would delay the page."""
        if self.plots is None:
            from widgets.compare.row_plots import RowPlots

            self.plots = RowPlots()
            self.plots.distribution.wanted.connect(self._read_distribution)
            self.plots.overlay.wanted.connect(self._read_curves)
            self.tabs.insertTab(0, self.plots, "Plots")
            self.tabs.setCurrentIndex(0)
        return self.plots

    def _read_distribution(self, row: ComparisonRow) -> None:
        """Read the distribution of a row's samples and requests, which are too many to keep in memory."""
        if self.plots is None:
            return
        pane, ids, workstation = self.plots.distribution, tuple(self._ids), self.workstation
        BackgroundJob(lambda: workstation.analyses.of_row(ids, row), self).start(
            lambda found: pane.show_distribution(row, found), lambda error: pane.show_failure(row, error)
        )

    def _read_curves(self, row: ComparisonRow) -> None:
        """Read the samples of a row's trials."""
        if self.plots is None or self._compared is None:
            return
        overlay, compared, workstation = self.plots.overlay, self._compared, self.workstation
        BackgroundJob(lambda: read_curves(workstation, compared, row), self).start(
            lambda found: overlay.show_curves(row, found), lambda error: overlay.show_failure(row, error)
        )

    def _share_height(self) -> None:
        """Give the plots their least share, and the table of what is left as much as it needs."""
        if self._moved:
            return
        whole = sum(self._splitter.sizes())
        below = round(self.height() * PLOTS_LEAST) + self._lines.sizeHint().height() + SPACE[0]
        table = min(self.table.whole_height(), max(self.table.minimumHeight(), whole - below))
        self._splitter.setSizes([table, whole - table])

    def _keep_heights(self) -> None:
        """Keep the heights from now on: the user moved the splitter."""
        self._moved = True

    def _fail(self, error: BenchwrightError) -> None:
        self._waiting.stop()
        self._compared = None
        self._content.hide()
        self.explanation.show_nothing()
        self.notice.show_error(error)
        self.back_button.show()

    # Changing what is compared

    def _use_as_baseline(self, number: int) -> None:
        chosen = self._ids[number]
        self.compare([chosen, *(run for run in self._ids if run != chosen)])

    def _show_run(self, number: int) -> None:
        if self._compared is not None:
            self.show_run_requested.emit(self._compared.comparison.runs[number].id.partition(",")[0])

    def _show_trials(self) -> None:
        """Show the trials of the current cell: the run, step and host that it is of."""
        line = self.table.current()
        if self._compared is not None and line is not None and line.row is not None:
            side = line.side
            step, host = (line.row.step, line.row.host) if side is None else (side.step, side.host)
            run = self._compared.comparison.runs[line.number].id.partition(",")[0]
            self.trials_requested.emit(run, step, host)

    def _remove(self, number: int) -> None:
        self.compare([run for index, run in enumerate(self._ids) if index != number])

    def _join(self, number: int) -> None:
        """Group a run with the side before it, or split a group."""
        parts = self._ids[number].split(",")
        if len(parts) > 1:
            self.compare([*self._ids[:number], *parts, *self._ids[number + 1 :]])
        elif number:
            whole = f"{self._ids[number - 1]},{self._ids[number]}"
            self.compare([*self._ids[: number - 1], whole, *self._ids[number + 1 :]])

    def _ask_for_runs(self) -> None:
        taken = [run for word in self._ids for run in word.split(",")]
        picker = RunPicker(self.workstation, taken, self)
        picker.accepted.connect(lambda: self.compare([*self._ids, *picker.chosen()]) if picker.chosen() else None)
        opened(picker)

    def _ask_for_baseline(self) -> None:
        picker = BaselinePicker(self.workstation, self)
        picker.accepted.connect(lambda: self.compare([picker.chosen(), *self._ids]) if picker.chosen() else None)
        opened(picker)

    # Copying

    def copy_text(self) -> None:
        """Copy the whole comparison as tab-separated text."""
        if self._compared is not None:
            QGuiApplication.clipboard().setText(sheet_text(rows_for_text(self._compared)))
            self.status.emit("Copied as text")

    def copy_picture(self) -> None:
        """Copy the table as a picture."""
        from widgets.compare.compare_table import table_picture

        if self._compared is not None:
            picture = table_picture(self._compared, everything=self.everything.isChecked())
            QGuiApplication.clipboard().setPixmap(picture)
            self.status.emit("Copied as image")

    # Building

    def _connect(self) -> None:
        self.chips.baseline_requested.connect(self._use_as_baseline)
        self.chips.remove_requested.connect(self._remove)
        self.chips.show_requested.connect(self._show_run)
        self.back_button.clicked.connect(lambda _checked: self.library_requested.emit())
        self.chips.join_requested.connect(self._join)
        self.explanation.gate.overrule_requested.connect(self._overrule)
        self.explanation.gate.restore_requested.connect(lambda: self._overrule(""))
        self.table.chosen_line.connect(self._explain)
        self.table.copy_requested.connect(self.copy_text)
        self.include_action.triggered.connect(self._include)
        self.explanation.include_button.clicked.connect(self._include)
        self.explanation.size_button.clicked.connect(lambda: self.tabs.setCurrentWidget(self.sample_size))
        self.sample_size.plan_chosen.connect(self.plan_chosen)
        self.everything.toggled.connect(self._show_lines)
        self.by_effect.toggled.connect(self._show_lines)
        self.by_effect.toggled.connect(lambda: self.table.scrollTo(self.table.currentIndex()))
        self.grouping.triggered.connect(self._show_lines)
        self.conditions.differences_requested.connect(lambda: self.tabs.setCurrentWidget(self.explanation))
        self.table.activated.connect(self._show_trials)
        self.margin.changed.connect(self._recompare)
        self.margin.keep_requested.connect(self._keep_margin)
        self._waiting = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._waiting.timeout.connect(lambda: self.notice.show_message("info", _READING))

    def _build_copy(self) -> QPushButton:
        button = QPushButton("Copy")
        set_icon(button, "copy", "text")
        menu = QMenu(button)
        menu.addAction("Copy as text", QKeySequence(QKeySequence.StandardKey.Copy), self.copy_text)
        menu.addAction("Copy as image", QKeySequence("Ctrl+Shift+C"), self.copy_picture)
        for action in menu.actions():
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)  # the plots use the same keys
            self.table.addAction(action)
        button.setMenu(menu)
        return button

    def _build_head(self) -> QWidget:
        self.add_button = push_button("Add runs…", self._ask_for_runs)
        self.baseline_button = QPushButton("Add baseline…")
        set_tool_tip(self.baseline_button, "Compare with a pinned baseline or a published table")
        self.baseline_button.clicked.connect(self._ask_for_baseline)
        self.copy_button = self._build_copy()
        self.export_button = push_button("Export…", self.export, tip="Export the runs as CSV, image or HTML (Ctrl+E)")
        self.investigate_button = push_button(
            "Investigate…", lambda _checked: self.investigate_requested.emit(list(self._ids)),
            tip="Add this comparison to an investigation",
        )  # fmt: skip
        buttons = (
            self.add_button, self.baseline_button, self.copy_button, self.investigate_button, self.export_button
        )  # fmt: skip
        return flowing(page_title(PageName.COMPARE), *buttons, self.margin, self._build_rows(), spacing=SPACE[1])

    def _build_rows(self) -> QPushButton:
        """Build the button with the metrics that the table shows, their groups and their order."""
        self.rows_button = QPushButton("Metrics")
        set_tool_tip(self.rows_button, "Metrics, groups and order of the rows")
        menu = QMenu(self.rows_button)
        menu.addActions([self.everything, self.by_effect])
        menu.addSeparator()
        for grouping in Grouping:
            action = self.grouping.addAction(f"Group by {grouping.value}")
            action.setCheckable(True)
            action.setChecked(grouping is Grouping.STEP)
            action.setData(grouping.value)
        menu.addActions(self.grouping.actions())
        self.rows_button.setMenu(menu)
        return self.rows_button

    def _arrange(self) -> None:
        self._splitter.setHandleWidth(SPACE[2])
        self._lines = in_row((self.verdict, 1), (self.conditions, 1), spacing=SPACE[2])
        fill(column_in(self._below, SPACE[0]), self._lines, (self.tabs, 1))
        self._splitter.addWidget(self.table)
        self._splitter.addWidget(self._below)
        self._moved = remember_splitter(self._splitter, "compare")
        self._splitter.splitterMoved.connect(self._keep_heights)
        content = column_in(self._content, SPACE[1])
        fill(content, self._build_head(), self.chips.area, (self._splitter, 1))
        content.addStretch(0)
        self._content.hide()
        rows = column_in(self._body, SPACE[1], PAGE_MARGINS)
        self.back_button = push_button(_CHOOSE, visible=False)
        fill(rows, self.notice, (self.back_button, 0, Qt.AlignmentFlag.AlignLeft), (self._content, 1))
        rows.addStretch(0)
        self.empty = EmptyState(
            "No runs to compare",
            "Compare runs with a baseline: the ratio of each metric with its 95 % interval and a verdict, or why the "
            "runs are not comparable.",
            _CHOOSE,
            self.library_requested.emit,
            icon="compare",
        )
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._body)
