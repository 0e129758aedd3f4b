"""Second page: the parameters of each test, drawn from the suites' declarations, and its command."""

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QScrollArea, QTabBar, QWidget

from app.plans.command_lines import read_command
from suites.command_line import UnreadWord, command_text
from suites.parameters import Parameter
from widgets.parts.boxes import column_in, in_row, scrolled
from widgets.parts.controls import line_edit, push_button
from widgets.parts.help_topics import set_help
from widgets.parts.names import host_label
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, set_icon, text_font
from widgets.wizard.command_field import CommandField
from widgets.wizard.draft import PLACE_AT, DraftStep, PlanDraft
from widgets.wizard.parameter_row import RESET_KEYS, ParameterRow, help_text
from widgets.wizard.wizard_step import WizardStep, clear

MAIN = 6
"""Parameters shown first, of a suite that does not say which."""


class ParametersStep(WizardStep):
    """A tab for each step of the plan with a row for each parameter."""

    title = "Parameters"

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__(draft)
        self._drawn: list[DraftStep] = []
        self._shown: DraftStep | None = None
        self._suite_id = ""
        self._help_of = ""
        self._before: tuple[DraftStep, DraftStep] | None = None  # a step, and its copy before its command was edited
        self.rows: list[ParameterRow] = []
        self.tabs = QTabBar(expanding=False, elideMode=Qt.TextElideMode.ElideMiddle)
        self.tabs.setAccessibleName("Steps of the plan")
        self.tabs.currentChanged.connect(self._show_step)
        self.column.addWidget(self.tabs)
        self.column.addLayout(self._build_head())
        self._inner = QWidget()
        self._inner.setObjectName("page")
        self._list = column_in(self._inner, 0)
        self._area: QScrollArea = scrolled(self._inner)
        self.column.addWidget(self._area, 1)
        self.help = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self.column.addWidget(self.help)
        self.command = CommandField()
        self.command.began.connect(self._remember)
        self.command.edited.connect(self._read_command)
        self.command.reverted.connect(self._restore)
        self.command.alternative_requested.connect(self._use_alternative)
        self.command.unread_changed.connect(self._keep_unread)
        self.column.addWidget(self.command)
        find = QShortcut(QKeySequence.StandardKey.Find, self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self._find)

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
            wrong = len(step.problems())
            self.tabs.setTabText(index, f"{step.name.replace('&', '&&')}{f'  ({wrong} invalid)' if wrong else ''}")
        self._show_step()

    def problem(self) -> str:
        """Return the first problem of any step."""
        return next((problem for step in self.draft.steps if (problem := step.problem())), self.draft.naming_problem())

    def focus_first(self) -> None:
        """Focus the first field."""
        if self.rows:
            self.rows[0].editor.field.setFocus(Qt.FocusReason.TabFocusReason)

    def _build_head(self) -> QHBoxLayout:
        self.name_field = line_edit("Name of the step", maximumWidth=200, minimumWidth=112, maxLength=100)
        set_icon(self.name_field.addAction(QIcon(), QLineEdit.ActionPosition.LeadingPosition), "edit")
        set_tool_tip(self.name_field, "Name of the step")
        self.name_field.textEdited.connect(self._rename)
        self.filter = line_edit(
            "Filter parameters",
            lambda _text: self._arrange(),
            placeholderText="Filter (Ctrl+F)",
            clearButtonEnabled=True,
            maximumWidth=200,
            minimumWidth=96,
        )
        self.all = push_button("All", checkable=True)
        self.all.toggled.connect(lambda _shown: self._arrange())
        self.tuned_button = push_button("Use tuned values", self._use_tuned)
        self.defaults_button = push_button("Use tool defaults", self._use_defaults)
        row = in_row((self.filter, 1), self.all, None, (self.name_field, 1), spacing=SPACE[1])
        for button in (self.tuned_button, self.defaults_button):
            row.addWidget(button)
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

    def _show_step(self, _index: int = 0) -> None:
        index = self.tabs.currentIndex()
        step = self.draft.steps[index] if 0 <= index < len(self.draft.steps) else None
        parameters = _in_order(step)
        if step is not self._shown or [row.parameter.name for row in self.rows] != [each.name for each in parameters]:
            self._draw_rows(step)
        if step is None:
            return
        if self.name_field.text() != step.name:
            self.name_field.setText(step.name)
            self.name_field.setCursorPosition(0)
        self.tuned_button.setEnabled(bool(step.form.tuned))
        for row in self.rows:
            row.show_form(step.form_of(row.parameter.name))
        self._show_help()
        if not step.form.problems():  # else the last valid command stays
            self.command.show_command(command_text(step.suite, step.form.values(), self.draft.context(step)))

    def _draw_rows(self, step: DraftStep | None) -> None:
        before, self._shown = self._shown, step
        if step is not before:
            self.command.restore(() if step is None else step.unread)
        for row in self.rows:
            row.blockSignals(True)  # a field that is left writes its value out, which is that of the other step
        self._suite_id = "" if step is None else step.suite.id
        clear(self._list)
        self.rows = [ParameterRow(parameter) for parameter in _in_order(step)]
        set_help(self, f"suite-{self._suite_id}" if step else "")
        for row in self.rows:
            title = step.form.parameter(row.parameter.name.partition(PLACE_AT)[0]).title if step else ""
            set_help(row, f"suite-{self._suite_id}#{title}")
            row.edited.connect(self._edit)
            row.focused.connect(self._explain)
            row.step_requested.connect(self._step_row)
            self._list.addWidget(row)
        self._list.addStretch(1)
        self.all.setText(f"All {len(self.rows)}")
        self.all.setVisible(len(self.rows) > MAIN)
        fields = (row.editor.field for row in self.rows)
        for former, latter in pairwise([self.defaults_button, *fields, self.command.copy_button, self.command.edit]):
            QWidget.setTabOrder(former, latter)  # rows are made anew: Tab would reach them last
        self._help_of = ""
        self._arrange()

    def _arrange(self) -> None:
        """Show the main rows, all rows, or those that the filter matches."""
        words = self.filter.text().casefold().split()
        step = self._shown
        main = () if step is None else (*_main(step), *step.own_places())
        for row in self.rows:
            is_main = row.parameter.name.partition(PLACE_AT)[0] in main
            wanted = row.matches(words) if words else self.all.isChecked() or is_main
            row.setVisible(wanted)

    def _find(self) -> None:
        self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.selectAll()

    def _step_row(self, step: int) -> None:
        """Focus the visible row after the one that has the focus, or before it."""
        rows = [row for row in self.rows if row.isVisibleTo(self._inner)]
        at = rows.index(self.sender()) if self.sender() in rows else 0  # type: ignore[arg-type]
        if 0 <= at + step < len(rows):
            rows[at + step].editor.field.setFocus(Qt.FocusReason.TabFocusReason)

    def _explain(self, name: str) -> None:
        self._help_of = name
        self._area.ensureWidgetVisible(self.row(name), 0, SPACE[1])
        self._show_help()

    def _show_help(self) -> None:
        """Show the help of the row that has the focus; before that, what the suite is for."""
        row = next((row for row in self.rows if row.parameter.name == self._help_of), None)
        if row is None:
            host = host_label(self.draft.hosts[0]) if self.draft.hosts else ""
            tuned = f" Tuned for {host}." if host else ""
            summary = "" if self._shown is None else self._shown.suite.summary
            text = f"{summary}{tuned} {RESET_KEYS} resets a value."
        else:
            text = help_text(row.parameter, row.why)
        self.help.setText(text)

    def _edit(self, name: str, text: str) -> None:
        if self._shown is not None:
            self._shown.form_of(name).set_text(name, text)
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

    # The command line

    def _remember(self) -> None:
        self._before = None if self._shown is None else (self._shown, _copy(self._shown))

    def _restore(self) -> None:
        """Set the values of the step from before its command was edited."""
        if self._before is None or self._before[0] is not self._shown:
            return
        step, before = self._before
        step.suite, step.name, step.peer, step.form = before.suite, before.name, before.peer, before.form
        self._before = None
        self.draft.retune()
        self.changed.emit()

    def _read_command(self, text: str, pasted: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        step = self._shown
        if step is None:
            return
        reading = read_command(text, step.suite, step.form.values(), self.draft.context(step), any_program=pasted)
        changed = ""
        if not reading.parsed.is_refused:
            if reading.suite is not step.suite:
                changed = f"Test changed from “{step.suite.title}” to “{reading.suite.title}”. Esc reverts."
            self.draft.use_command(step, reading.suite, reading.parsed.values, whole=pasted)
        self.command.show_unread(
            reading.parsed.unread, "" if reading.complete is None else reading.complete.suite.title, changed
        )
        self.changed.emit()

    def _keep_unread(self, unread: tuple[UnreadWord, ...]) -> None:
        if self._shown is not None and self._shown.unread != unread:
            self._shown.unread = unread
            self.changed.emit()

    def _use_alternative(self, text: str) -> None:
        """Run the whole line by the suite that reads all of its words."""
        step = self._shown
        complete = step and read_command(text, step.suite, step.form.values(), self.draft.context(step)).complete
        if step and complete:
            self.draft.use_command(step, complete.suite, complete.parsed.values)
            self.command.revert()
            self.changed.emit()


def _copy(step: DraftStep) -> DraftStep:
    """Return a copy of `step` with a form of its own."""
    form = step.form
    return replace(step, form=deepcopy(form, {id(form.parameters): form.parameters, id(form.tuned): form.tuned}))


def _main(step: DraftStep) -> tuple[str, ...]:
    """Return the parameters shown first; of several hosts also the first that may differ, such as the directory."""
    names = tuple(known.name for known in step.suite.parameters)
    differ = dict.fromkeys(each.name.partition(PLACE_AT)[0] for each in step.places.parameters)
    return tuple(dict.fromkeys((*(step.suite.main_parameters or names[:MAIN]), *list(differ)[:1])))


def _in_order(step: DraftStep | None) -> list[Parameter]:
    """Return the parameters of the suite of `step`, those that matter most first."""
    if step is None:
        return []
    main = _main(step)
    rest = [known.name for known in step.suite.parameters if known.name not in main]
    rows: list[Parameter] = []
    for name in (*main, *rest):
        rows.append(step.form.parameter(name))
        rows += [each for each in step.places.parameters if each.name.startswith(f"{name}{PLACE_AT}")]
    return rows
