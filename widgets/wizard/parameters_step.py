"""Third step: the parameters of each test, drawn from the suites' declarations."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QTabBar, QWidget

from widgets.parts.boxes import column_in, in_row, scrolled
from widgets.parts.controls import line_edit, push_button
from widgets.parts.names import host_label
from widgets.parts.text import set_tool_tip
from widgets.theme import SPACE, set_icon
from widgets.wizard.command_view import CommandView
from widgets.wizard.draft import DraftStep, PlanDraft
from widgets.wizard.parameter_row import ParameterRow
from widgets.wizard.wizard_step import WizardStep, clear


class ParametersStep(WizardStep):
    """A tab for each step of the plan with a row for each parameter."""

    title = "Parameters"
    step_selected = Signal()

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__(draft, "Parameters", "")
        self._drawn: list[DraftStep] = []
        self._shown: DraftStep | None = None
        self.rows: list[ParameterRow] = []
        self.tabs = QTabBar(expanding=False, elideMode=Qt.TextElideMode.ElideMiddle)
        self.tabs.setAccessibleName("Steps of the plan")
        self.tabs.currentChanged.connect(self._select)
        self.column.addWidget(self.tabs)
        self.column.addLayout(self._build_head())
        self._inner = QWidget()
        self._inner.setObjectName("page")
        self._list = column_in(self._inner, 0)
        self.column.addWidget(scrolled(self._inner), 1)
        self.command = CommandView("Exact command", lines=3)
        self.column.addWidget(self.command)

    def current(self) -> DraftStep | None:
        """Return the current step."""
        return self._shown

    def row(self, name: str) -> ParameterRow:
        """Return the row of the parameter `name`."""
        return next(row for row in self.rows if row.parameter.name == name)

    def refresh(self) -> None:
        """Show a tab for each step and the values of the current one."""
        if self._drawn != self.draft.steps:
            self._redraw_tabs()
        for index, step in enumerate(self.draft.steps):
            wrong = len(step.form.problems())
            self.tabs.setTabText(index, f"{step.name.replace('&', '&&')}{f'  ({wrong} invalid)' if wrong else ''}")
        self._show_step()

    def problem(self) -> str:
        """Return the first problem of any step."""
        return next((problem for step in self.draft.steps if (problem := step.problem())), self.draft.naming_problem())

    def focus_first(self) -> None:
        """Focus the first field."""
        if self.rows:
            self.rows[0].editor.setFocus(Qt.FocusReason.TabFocusReason)

    def _build_head(self) -> QHBoxLayout:
        self.name_field = line_edit("Name of the step", maximumWidth=240, minimumWidth=128, maxLength=100)
        set_icon(self.name_field.addAction(QIcon(), QLineEdit.ActionPosition.LeadingPosition), "edit")
        set_tool_tip(self.name_field, "Name of the step")
        self.name_field.textEdited.connect(self._rename)
        self.tuned_button = push_button("Use tuned values", self._use_tuned)
        self.defaults_button = push_button("Use tool defaults", self._use_defaults)
        row = in_row((self.name_field, 1), self.tuned_button, self.defaults_button, spacing=SPACE[1])
        row.insertStretch(1, 0)  # what the name does not need
        return row

    def _redraw_tabs(self) -> None:
        self._drawn = list(self.draft.steps)
        self.tabs.blockSignals(True)
        while self.tabs.count() > len(self._drawn):
            self.tabs.removeTab(self.tabs.count() - 1)
        while self.tabs.count() < len(self._drawn):
            self.tabs.addTab("")
        if self._shown in self._drawn:
            self.tabs.setCurrentIndex(self._drawn.index(self._shown))
        self.tabs.blockSignals(False)

    def _select(self, _index: int) -> None:
        self._show_step()
        self.step_selected.emit()

    def _show_step(self) -> None:
        index = self.tabs.currentIndex()
        step = self.draft.steps[index] if 0 <= index < len(self.draft.steps) else None
        if step is not self._shown:
            self._shown = step
            self._draw_rows(step)
        if step is None:
            return
        host = host_label(self.draft.hosts[0]) if self.draft.hosts else ""
        self.explanation.setText(f"{step.suite.summary} Tuned for {host}." if host else "")
        if self.name_field.text() != step.name:
            self.name_field.setText(step.name)
            self.name_field.setCursorPosition(0)
        self.tuned_button.setEnabled(bool(step.form.tuned))
        for row in self.rows:
            row.show_form(step.form)

    def _draw_rows(self, step: DraftStep | None) -> None:
        clear(self._list)
        self.rows = [ParameterRow(parameter) for parameter in (step.suite.parameters if step is not None else ())]
        for row in self.rows:
            row.edited.connect(self._edit)
            self._list.addWidget(row)
        self._list.addStretch(1)

    def _edit(self, name: str, text: str) -> None:
        if self._shown is not None:
            self._shown.form.set_text(name, text)
            self.changed.emit()

    def _rename(self, name: str) -> None:
        if self._shown is not None:
            self._shown.name = name
            self.changed.emit()

    def _use_tuned(self) -> None:
        if self._shown is not None:
            self._shown.form.use_tuned()
            self.changed.emit()

    def _use_defaults(self) -> None:
        if self._shown is not None:
            self._shown.form.use_defaults()
            self.changed.emit()
