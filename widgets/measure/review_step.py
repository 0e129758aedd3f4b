"""Last step: the frozen plan, its exact commands and what it takes, before anything runs."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFormLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.plans.plan import Plan
from app.plans.plan_changes import remarks_text
from app.plans.totals import Totals, totals
from app.runs.root_commands import RootCommand
from app.services import StepPreview
from suites.base import Estimate
from widgets.measure.command_view import CommandView
from widgets.measure.draft import PlanDraft
from widgets.measure.repetition_form import RepetitionForm
from widgets.measure.shell_lines import shell_script
from widgets.measure.step_view import StepView, scrolled
from widgets.measure.tuning_form import TuningForm
from widgets.measure.words import UNKNOWN, duration, size
from widgets.parts.flow_layout import flowing
from widgets.parts.icons import set_icon
from widgets.parts.names import host_title, host_words
from widgets.parts.notice import FieldMessage
from widgets.parts.text import Text, Tone, set_tool_tip, tool_tip, visible
from widgets.theme import SPACE, TextSize, text_font

HEADS = ("Step", "Host", "One trial", "Written", "Space", "Network")
COLUMN_WIDTH = 72
"""The least pixels of a column; below it the table scrolls sideways."""

MAXIMUM_ROWS = 10
"""Rows of the table that are shown without scrolling it."""


_TABLE_STYLE = """
QTableView::item { padding: 0 8px; border: none; }
QTableView::item:selected { background: palette(highlight); color: palette(highlighted-text); }
"""


class _RowDelegate(QStyledItemDelegate):
    """Draws a row as one: the cell the keyboard is in looks like its neighbours."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Leave out the focus of the single cell; the frame of the table shows it."""
        super().initStyleOption(option, index)
        option.state &= ~QStyle.StateFlag.State_HasFocus


class ReviewStep(StepView):
    """Name and question, repetition, a row for each host and step, the totals, and the commands of the chosen row."""

    title = "Review"
    save_requested = Signal()
    row_selected = Signal()

    def __init__(self, draft: PlanDraft, parent: QWidget | None = None) -> None:
        super().__init__(draft, "What will run?", "", parent)
        self._plan: Plan | None = None
        self._previews: tuple[StepPreview, ...] = ()
        inner = QWidget()
        inner.setObjectName("page")
        self._list = QVBoxLayout(inner)
        self._list.setContentsMargins(0, SPACE[1], 0, 0)
        self._list.setSpacing(SPACE[2])
        self._list.addLayout(self._build_names())
        self.repetition = RepetitionForm(draft)
        self.repetition.changed.connect(self.changed)
        self._list.addWidget(self.repetition)
        self.table = self._build_table()
        self._list.addWidget(self.table)
        self.changed_values = Text(tone=Tone.MUTED)
        self.changed_values.setAccessibleName("Changed by findings, and acknowledged")
        self._list.addWidget(self.changed_values)
        self.totals = Text(font=text_font(TextSize.BODY, bold=True))
        self._list.addWidget(self.totals)
        self.command = CommandView("Exact command", lines=5)
        self._list.addWidget(self.command)
        self.tuning = TuningForm(draft)
        self.tuning.changed.connect(self.changed)
        self._list.addWidget(self.tuning)
        self._list.addWidget(self._build_buttons())
        self._list.addStretch(1)
        self.column.addWidget(scrolled(inner), 1)

    def refresh(self) -> None:
        """Show the draft's name, question and repetition."""
        self.name_field.setPlaceholderText(self.draft.suggested_name())
        texts = (self.draft.name, self.draft.question, self.draft.goals)
        for field, text in zip((self.name_field, self.question_field, self.goal_field), texts, strict=True):
            if field.text() != text:
                field.setText(text)
                field.setCursorPosition(0)  # a long one is read from its beginning
        wrong_goal = self.draft.goal_problem()
        self.goal_message.setVisible(bool(wrong_goal))
        if wrong_goal:
            self.goal_message.say("error", wrong_goal)
        self.repetition.refresh()
        self.tuning.refresh()
        wrong = bool(self.problem())
        self.save_button.setEnabled(self._plan is not None and not wrong)

    def show_previews(
        self, plan: Plan | None, previews: Sequence[StepPreview], as_root: Sequence[RootCommand] = ()
    ) -> None:
        """Show what `plan` would run, and what of it as root; without a plan, nothing."""
        self._plan, self._previews = plan, tuple(previews)
        self.tuning.show_commands(as_root)
        self._show_remarks(plan)
        self._fill_table()
        self._show_totals()
        self._show_command()
        self.script_button.setEnabled(bool(previews))
        self.refresh()

    def problem(self) -> str:
        """Say which value of the goal, the repetition or the changes is not accepted."""
        if self.draft.goal_problem():
            return "The goal is not accepted."
        if self.draft.repetition.problems() or self.draft.repetition_problem():
            return "Repetition has a value that is not accepted."
        wrong = self.draft.tuning.problems() or self.draft.tuning_problem()
        return "What is changed on the hosts has a value that is not accepted." if wrong else ""

    def focus_first(self) -> None:
        """Put the keyboard on the table."""
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _build_names(self) -> QFormLayout:
        self.name_field, self.question_field, self.goal_field = QLineEdit(), QLineEdit(), QLineEdit()
        self.goal_message = FieldMessage()
        self.goal_field.setPlaceholderText("What has to be reached, if anything: iops >= 20000")
        self.goal_field.textEdited.connect(self._aim)
        self.question_field.setPlaceholderText("What do you want to know?")
        self.name_field.textEdited.connect(self._rename)
        self.question_field.textEdited.connect(self._ask)
        form = QFormLayout()
        form.setHorizontalSpacing(SPACE[2])
        form.setVerticalSpacing(SPACE[1])
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        fields = (self.name_field, self.question_field, self.goal_field)
        for words, field in zip(("Plan", "Question", "Goal"), fields, strict=True):
            field.setMaxLength(500)
            field.setAccessibleName(words)
            label = Text(words, Tone.MUTED, wrap=False)
            label.setMinimumHeight(field.sizeHint().height())
            form.addRow(label, field)
        form.addRow("", self.goal_message)
        return form

    def _build_table(self) -> QTableWidget:
        table = QTableWidget(0, len(HEADS))
        table.setAccessibleName("What runs where")
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setShowGrid(False)
        table.setTabKeyNavigation(False)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.setItemDelegate(_RowDelegate(table))
        table.setStyleSheet(_TABLE_STYLE)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(26)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(COLUMN_WIDTH)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        for column, head in enumerate(HEADS):
            side = Qt.AlignmentFlag.AlignLeft if column < 2 else Qt.AlignmentFlag.AlignRight
            item = QTableWidgetItem(head)
            item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            table.setHorizontalHeaderItem(column, item)
            if column < 2:
                header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        table.currentCellChanged.connect(self._select)
        return table

    def _build_buttons(self) -> QWidget:
        self.script_button = QPushButton("Copy all as shell script")
        set_icon(self.script_button, "copy")
        self.script_button.clicked.connect(self._copy_script)
        self.save_button = QPushButton("Save plan…")
        set_icon(self.save_button, "save")
        self.save_button.clicked.connect(self.save_requested)
        self.job_file_button = QPushButton("Copy as job file")
        set_icon(self.job_file_button, "copy")
        set_tool_tip(self.job_file_button, "The selected step as a file that its tool reads")
        self.job_file_button.clicked.connect(self._copy_job_file)
        return flowing(self.script_button, self.job_file_button, self.save_button, spacing=SPACE[1])

    def _fill_table(self) -> None:
        chosen = max(0, self.table.currentRow())
        self.table.blockSignals(True)
        self.table.setRowCount(len(self._previews))
        for row, preview in enumerate(self._previews):
            estimate = preview.estimate
            cells = (
                preview.step, host_title(preview.host), duration(estimate.duration),
                _written(estimate), size(estimate.space), size(estimate.network),
            )  # fmt: skip
            for column, words in enumerate(cells):
                self.table.setItem(row, column, _cell(words, figure=column > 1))
        if self._previews:
            self.table.setCurrentCell(min(chosen, len(self._previews) - 1), 0)
        self.table.blockSignals(False)
        self._hide_empty_columns()
        rows = min(MAXIMUM_ROWS, max(1, len(self._previews)))
        height = self.table.verticalHeader().defaultSectionSize() * rows
        self.table.setFixedHeight(height + self.table.horizontalHeader().sizeHint().height() + 4)

    def _hide_empty_columns(self) -> None:
        """Leave out what is the same in every row: the only host, and volumes that no step has."""
        estimates = [preview.estimate for preview in self._previews]
        self.table.setColumnHidden(1, len({preview.host for preview in self._previews}) < 2)
        self.table.setColumnHidden(3, all(each.written == each.prepared == 0 for each in estimates))
        self.table.setColumnHidden(4, all(each.space == 0 for each in estimates))
        self.table.setColumnHidden(5, all(each.network == 0 for each in estimates))

    def _show_totals(self) -> None:
        if self._plan is None or not self._previews:
            self.totals.setText("")
            self.explanation.setText("")
            return
        sums = totals(self._plan, self._previews)
        time = _total(duration(sums.duration), is_open="duration" in sums.open, nothing=not sums.duration)
        if sums.longest is not None and "duration" not in sums.open:
            time = f"{time} to {duration(sums.longest)}"
        written = UNKNOWN if "written" in sums.open else _total(size(sums.written), is_open=sums.grows, nothing=False)
        network = _total(size(sums.network), is_open="network" in sums.open or sums.grows, nothing=not sums.network)
        self.explanation.setText(f"{_trials(sums)} on {_hosts(self._plan)}, one at a time.")
        parts = [
            f"Total: {time}",
            f"written: {written}" if sums.written or "written" in sums.open else "",
            f"space: {size(sums.space)}" if sums.space else "",
            f"network: {network}" if sums.network or "network" in sums.open else "",
        ]
        self.totals.setText("  ·  ".join(part for part in parts if part))

    def _show_remarks(self, plan: Plan | None) -> None:
        """Show what remedies changed, and which findings are acknowledged; nothing where there is none."""
        lines = [] if plan is None else remarks_text(plan)
        self.changed_values.setText("\n".join(lines))
        self.changed_values.setVisible(bool(lines))

    def _show_command(self) -> None:
        row = self.table.currentRow()
        preview = self._previews[row] if 0 <= row < len(self._previews) else None
        self.command.set_text(preview.text if preview is not None else "")
        self.job_file_button.setVisible(preview is not None and preview.job_file is not None)
        if preview is not None:
            self.command.set_caption(f"Exact command: {preview.step} on {host_words(preview.host)}")

    def _select(self) -> None:
        self._show_command()
        self.row_selected.emit()

    def selected(self) -> StepPreview | None:
        """Return the row that is selected."""
        row = self.table.currentRow()
        return self._previews[row] if 0 <= row < len(self._previews) else None

    def _rename(self, name: str) -> None:
        self.draft.name = name
        self.changed.emit()

    def _ask(self, question: str) -> None:
        self.draft.question = question
        self.changed.emit()

    def _aim(self, goals: str) -> None:
        self.draft.goals = goals
        self.changed.emit()

    def _copy_job_file(self) -> None:
        preview = self.selected()
        if preview is not None and preview.job_file is not None:
            QGuiApplication.clipboard().setText(preview.job_file)

    def _copy_script(self) -> None:
        if self._plan is not None:
            QGuiApplication.clipboard().setText(shell_script(self._plan, self._previews))


def _trials(sums: Totals) -> str:
    if not sums.grows:
        return f"{sums.trials} trials"
    if sums.most is not None:
        return f"{sums.trials} to {sums.most} trials"
    return f"At least {sums.trials} trial{'' if sums.trials == 1 else 's'}"


def _hosts(plan: Plan) -> str:
    return host_words(plan.hosts[0]) if len(plan.hosts) == 1 else f"{len(plan.hosts)} hosts"


def _total(known: str, *, is_open: bool, nothing: bool) -> str:
    if is_open:
        return UNKNOWN if nothing else f"at least {known}"
    return known


def _cell(words: str, *, figure: bool) -> QTableWidgetItem:
    item = QTableWidgetItem(visible(words))
    item.setToolTip(tool_tip(words))
    if figure:
        item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return item


def _written(estimate: Estimate) -> str:
    """Return what is written: once before the first trial, and by each."""
    if not estimate.prepared:
        return size(estimate.written)
    each = f" + {size(estimate.written)}" if estimate.written != 0 else ""
    return f"{size(estimate.prepared)}{each}"
