"""Dialog that maps the columns of a table: role, name, unit and direction of each, checked with every row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QCompleter, QDialog, QWidget

from app.outputs.files import Source, table_in
from app.outputs.table_draft import (
    DATE_FORMATS,
    MEASURED,
    UNITS,
    ColumnDraft,
    DraftCheck,
    MappingDraft,
    as_metric,
    check_draft,
    first_cells,
    is_numeric,
    known_draft,
    proposed_draft,
)
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text, first_upper, listed
from suites.read_only.csv_table import TableContent
from suites.read_only.table_mapping import Decimal, Role, TableMapping
from suites.vocab import Better
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import button_row, dialog_column, fit
from widgets.parts.notice import FieldMessage, Notice
from widgets.parts.table import Table
from widgets.parts.table_model import LEFT, RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, icon

SIZE = (1060, 660)

FIRST_ROWS, MOST_ERRORS, MOST_COLUMNS = 5, 50, 40
"""Rows at the top of the preview, rows with errors below them, and columns of it."""

NAMED = 4
"""Incomplete columns that are named."""

LONGEST_CELL = 40
"""Characters of a cell in the preview."""

ROLES = {
    MEASURED: "Metric",
    Role.HOST: "Host",
    Role.DATE: "Date",
    Role.TEST: "Test",
    Role.CONFIGURATION: "Configuration",
    Role.METRIC: "Metric names",
    Role.VALUE: "Values",
    Role.UNIT: "Units",
    Role.IGNORED: "Ignored",
}
"""The roles to choose from, as they are shown."""

IN_ROWS = (MEASURED, Role.IGNORED)
"""The roles of a name in a column of metrics."""

ISO = "ISO 8601"

EXPLANATION = (
    "Give each column a role, and check what the header proposes. The mapping is remembered for tables with these "
    "columns."
)


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column of the table, or a name in its column of metrics, with what was chosen for it."""

    name: str
    in_rows: bool
    first: str
    draft: ColumnDraft
    problem: str

    @property
    def key(self) -> tuple[bool, str]:
        """What identifies it."""
        return self.in_rows, self.name


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row of the table by its line, and why it cannot be read."""

    line: int
    cells: Sequence[str]
    error: str


def _name(row: ColumnRow) -> str:
    return f"{row.name} (in rows)" if row.in_rows else row.name


def _role(row: ColumnRow) -> str:
    return ROLES.get(row.draft.role, "Not chosen")


def _problem(row: ColumnRow) -> str:
    return row.problem if row.draft.role else ""


def _mark(row: ColumnRow) -> QIcon | None:
    return icon("error" if row.draft.role else "warning") if row.problem else None


def _if_measured(text: Callable[[ColumnDraft], str]) -> Callable[[ColumnRow], str]:
    return lambda row: text(row.draft) if row.draft.role == MEASURED else ""


def _metric_or_form(row: ColumnRow) -> str:
    return (row.draft.form or ISO) if row.draft.role == Role.DATE else row.draft.metric_name()


COLUMNS: tuple[TableColumn[ColumnRow], ...] = (
    TableColumn("Column", _name, mark=_mark, bold=True, width=170),
    TableColumn("First values", lambda row: row.first, tone="muted", hide_order=1, width=170),
    TableColumn("Role", _role, tone=lambda row: "" if row.draft.role else "warning", width=120),
    TableColumn("Name", _metric_or_form, width=130),
    TableColumn("Unit", _if_measured(lambda draft: draft.unit), width=70),
    TableColumn("Better", _if_measured(lambda draft: first_upper(draft.better)), width=70),
    TableColumn("Problem", _problem, stretch=True, least=150, tone="error"),
)


PREVIEW: tuple[TableColumn[PreviewRow], ...] = (
    TableColumn(
        "Line",
        lambda row: str(row.line),
        align=RIGHT,
        tone="muted",
        mark=lambda row: icon("error") if row.error else None,
    ),
    TableColumn("Problem", lambda row: row.error, tone="error", needed=lambda rows: any(row.error for row in rows)),
)
"""The columns of the preview before those of the table."""


class MappingDialog(QDialog):
    """The columns of a table, what was chosen for the selected ones, and a preview of the rows.

    The table is read, and each change checked with all of its rows, in the background.
    """

    mapped = Signal(object)
    """A mapping was saved: the TableMapping."""

    forgotten = Signal()
    """The known mapping was deleted; the dialog stays open, so that it can be saved again."""

    def __init__(
        self,
        workstation: Workstation,
        source: Source,
        name: str,
        known: TableMapping | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Map the table in `source`, a file called `name`: begin with the `known` mapping, or else with proposals."""
        super().__init__(parent)
        self._workstation = workstation
        self._content: TableContent | None = None
        self._cells: Mapping[int, Sequence[str]] = {}  # of each row, by its line
        self._draft = MappingDraft({})
        self._checked: DraftCheck | None = None
        self._job: BackgroundJob | None = None
        self._filling = False
        self.setWindowTitle("Map columns")
        large = self.fontMetrics().averageCharWidth() / 6
        fit(self, (round(SIZE[0] * large), round(SIZE[1] * large)))
        several = QAbstractItemView.SelectionMode.ExtendedSelection
        self.columns = Table("Columns", TableModel(COLUMNS), identity=lambda row: row.key, selection=several)
        self.preview = Table("Rows", TableModel(PREVIEW), selection=QAbstractItemView.SelectionMode.NoSelection)
        self.role, self.unit, self.better, self.form = QComboBox(), QComboBox(), QComboBox(), QComboBox()
        self.metric_name = line_edit("Name of the metric", tip="Letters, digits and _, such as latency_p99")
        self.decimal = QComboBox()
        named = name.rpartition(".")[0] or name
        self.name = line_edit("Name of the mapping", text=known.name if known else named, maxLength=60)
        self.outcome, self.notice = FieldMessage(), Notice()
        self.ignore_button = push_button(
            "Ignore the others", self._ignore, tip="Ignore all columns without a role", autoDefault=False
        )
        self.save_button = push_button("Save and judge", self._save, primary=True, default=True, enabled=False)
        self.close_button = push_button("Cancel", self.reject, autoDefault=False)
        self.forget_button = push_button("Forget mapping", lambda _checked: self._forget(), autoDefault=False)
        self.forget_button.setVisible(known is not None)
        self._known = "" if known is None else known.name
        self._fill_choices()
        self._arrange(name)
        self._connect()
        self._show_editor()

        def read() -> tuple[TableContent, dict[int, Sequence[str]], MappingDraft]:
            content = table_in(source)
            same = known is not None and known.header == frozenset(content.header)
            return content, dict(content.rows), known_draft(known) if known and same else proposed_draft(content)

        BackgroundJob(read, self).start(self._take, self._fail)

    def _take(self, read: tuple[TableContent, dict[int, Sequence[str]], MappingDraft]) -> None:
        self._content, self._cells, self._draft = read
        self.decimal.setCurrentIndex(self.decimal.findData(str(self._draft.decimal or "")))
        self._show_columns()
        self._show_preview()
        self.columns.selectRow(0)
        self._check()

    def _fail(self, error: BenchwrightError) -> None:
        self.save_button.setEnabled(False)
        self.notice.show_error(error)

    def _set(self, **changes: str) -> None:
        """Change the drafts of the selected columns."""
        if self._filling:
            return
        for row in self.columns.chosen():
            draft = replace(row.draft, **changes)
            draft = as_metric(row.name, draft) if "role" in changes else draft
            self._draft = self._draft.having(row.name, draft, in_rows=row.in_rows)
        self._show_columns()
        self._show_editor()
        self._check()

    def _ignore(self) -> None:
        """Ignore the columns without a role."""
        self._draft = self._draft.ignoring_rest()
        self._show_columns()
        self._show_editor()
        self._check()

    def _set_decimal(self) -> None:
        chosen = self.decimal.currentData()
        self._draft = replace(self._draft, decimal=Decimal(chosen) if chosen else None)
        self._check()

    def _check(self) -> None:
        """Check the draft with all rows in the background; one check at a time, the last draft last."""
        content, draft = self._content, self._draft
        self.save_button.setEnabled(False)
        if content is None or self._job is not None:
            return
        self._checked = None
        job = self._job = BackgroundJob(lambda: check_draft(content, draft), self)
        job.returned.connect(lambda found: self._take_check(draft, found))
        job.failed.connect(lambda error: self._take_check(draft, DraftCheck(draft, {}, str(error))))
        job.start(finished=self._end_check)

    def _take_check(self, of: MappingDraft, found: DraftCheck) -> None:
        if of is self._draft:
            self._draft, self._checked = found.draft, found

    def _end_check(self) -> None:
        self._job = None
        if self._checked is None:
            self._check()
            return
        self._show_columns()
        self._show_editor()
        self._show_preview()
        self._show_outcome(self._checked)

    def _save(self) -> None:
        if self._checked is None or not self._checked.usable:
            return
        mapping, kept = self._draft.mapping(self.name.text()), self._workstation.saved_mappings
        self.save_button.setEnabled(False)
        self.notice.hide()
        BackgroundJob(lambda: kept.keep(mapping), self).start(self._end, self._fail_to_save)

    def _fail_to_save(self, error: BenchwrightError) -> None:
        self.notice.show_error(error)
        self.save_button.setEnabled(True)

    def _forget(self) -> None:
        """Delete the known mapping."""
        kept, name = self._workstation.saved_mappings, self._known
        self.forget_button.setEnabled(False)
        BackgroundJob(lambda: kept.forget(name), self).start(
            lambda _none: self._take_forgotten(), self.notice.show_error
        )

    def _take_forgotten(self) -> None:
        self.notice.show_message("info", f"The mapping “{self._known}” is forgotten.", "Save it to remember it again.")
        self.close_button.setText("Close")
        self.forgotten.emit()

    def _end(self, mapping: TableMapping) -> None:
        self.mapped.emit(mapping)
        self.accept()

    def _show_columns(self) -> None:
        both = ((False, self._draft.columns), (True, self._draft.names))
        self.columns.show_rows(
            ColumnRow(name, in_rows, "" if in_rows else self._first(name), draft, draft.problem())
            for in_rows, drafts in both
            for name, draft in drafts.items()
        )
        self.ignore_button.setEnabled(any(not one.role for one in self._draft.columns.values()))

    def _first(self, name: str) -> str:
        """Return the first values of a column."""
        return "" if self._content is None else ", ".join(first_cells(self._content, name)[:3])[:120]

    def _show_editor(self) -> None:
        """Show what was chosen for the first selected column in the fields that its role has."""
        rows = self.columns.chosen()
        draft = rows[0].draft if rows else ColumnDraft()
        self._filling = True
        for part in (self.role, *self._metric_parts, *self._date_parts):
            part.setEnabled(bool(rows))
        self._offer_roles(IN_ROWS if any(row.in_rows for row in rows) else tuple(ROLES))
        self.role.setCurrentIndex(max(0, self.role.findData(draft.role)))
        self.better.setCurrentIndex(max(0, self.better.findData(draft.better)))
        if self.metric_name.text() != draft.name:
            self.metric_name.setText(draft.name)
        for field, text in ((self.unit, draft.unit), (self.form, draft.form or ISO)):
            if field.currentText().strip() != text.strip():
                field.setEditText(text)
        self.metric_name.setEnabled(len(rows) == 1)
        for part in self._metric_parts:
            part.setVisible(draft.role == MEASURED)
        for part in self._date_parts:
            part.setVisible(draft.role == Role.DATE)
        self._filling = False

    def _offer_roles(self, roles: Sequence[str]) -> None:
        if self.role.count() == 1 + len(roles):
            return
        self.role.clear()
        self.role.addItem("Not chosen", "")
        for role in roles:
            self.role.addItem(ROLES[role], str(role))

    def _show_preview(self) -> None:
        """Show the first rows of the table, and those that cannot be read."""
        if (content := self._content) is None:
            return
        errors = {} if self._checked is None else self._checked.errors
        lines = dict.fromkeys((*(line for line, _ in content.rows[:FIRST_ROWS]), *islice(errors, MOST_ERRORS)))
        rows = [PreviewRow(line, self._cells[line], errors.get(line, "")) for line in lines]
        names = content.header[:MOST_COLUMNS]
        each = (_cell_column(at, name, right=is_numeric(content, name)) for at, name in enumerate(names))
        more = len(content.header) - len(names)
        title = count_text(more, "more column") if more else ""
        rest: TableColumn[PreviewRow] = TableColumn(title, lambda _row: "", stretch=True)
        self.preview.show_rows(rows, (*PREVIEW, *each, rest))

    def _show_outcome(self, found: DraftCheck) -> None:
        """Show what would be read, or what keeps the table from being read."""
        rows = 0 if self._content is None else len(self._content.rows)
        self.save_button.setEnabled(found.usable)
        if found.problems:
            missing = count_text(len(found.problems), "column is", "columns are")
            self.outcome.show_message("warning", f"{missing} not complete yet: {listed(list(found.problems), NAMED)}.")
        elif found.problem:
            self.outcome.show_message("error", found.problem)
        elif found.errors:
            wrong = f"{len(found.errors):,} of {count_text(rows, 'row')} cannot be read, so none is."
            self.outcome.show_message("error", f"{wrong} Change or ignore the column, or correct the file.")
        else:
            undated = all(one.role != Role.DATE for one in found.draft.columns.values())
            begins = " Without a date, a run begins at its import." if undated else ""
            text = f"{count_text(found.runs, 'run')} with {count_text(found.trials, 'trial')}.{begins}"
            self.outcome.show_message("good", text)

    def _fill_choices(self) -> None:
        self.better.addItem("Not chosen", "")
        for better in Better:
            self.better.addItem(first_upper(better.value), better.value)
        self.unit.addItems(list(UNITS))
        self.form.addItems([ISO, *DATE_FORMATS])
        for field in (self.unit, self.form):
            field.setEditable(True)
            field.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            if (completer := field.completer()) is not None:
                completer.setCaseSensitivity(Qt.CaseSensitivity.CaseSensitive)  # mb/s is no MB/s
                completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)  # changes no text by itself
        self.decimal.addItem("Not stated", "")
        self.decimal.addItem("Point (1.5)", str(Decimal.POINT))
        self.decimal.addItem("Comma (1,5)", str(Decimal.COMMA))
        named = ((self.role, "Role"), (self.unit, "Unit"), (self.better, "Better"), (self.form, "Format of the dates"))
        for field, title in (*named, (self.decimal, "Decimal separator")):
            field.setAccessibleName(title)

    def _connect(self) -> None:
        self.columns.moved.connect(self._show_editor)
        self.role.activated.connect(lambda _index: self._set(role=self.role.currentData()))
        self.better.activated.connect(lambda _index: self._set(better=self.better.currentData()))
        self.metric_name.textEdited.connect(lambda text: self._set(name=text))
        self.unit.editTextChanged.connect(lambda text: self._set(unit=text))
        self.form.editTextChanged.connect(lambda text: self._set(form="" if text.strip() == ISO else text))
        self.decimal.activated.connect(lambda _index: self._set_decimal())

    def _arrange(self, name: str) -> None:
        label = [Text(title, Tone.MUTED, wrap=False) for title in ("Role", "Name", "Unit", "Better", "Dates as")]
        self._metric_parts: list[QWidget] = [label[1], self.metric_name, label[2], self.unit, label[3], self.better]
        self._date_parts: list[QWidget] = [label[4], self.form]
        editor = in_row(
            label[0], self.role, *self._metric_parts, *self._date_parts, None, self.ignore_button, spacing=SPACE[1]
        )
        below = in_row(
            Text("Decimal separator", Tone.MUTED, wrap=False), self.decimal,
            Text("Remember as", Tone.MUTED, wrap=False), (self.name, 1), spacing=SPACE[1],
        )  # fmt: skip
        rows = dialog_column(self, f"Columns of {name}")
        fill(rows, Text(EXPLANATION, Tone.MUTED), (self.columns, 3), editor, (self.preview, 2))
        buttons = button_row(self.forget_button, None, self.save_button, self.close_button)
        fill(rows, self.outcome, self.notice, below, buttons)


def _cell_column(number: int, name: str, *, right: bool) -> TableColumn[PreviewRow]:
    """Return the column of the preview with the cells of a column of the table."""

    def text(row: PreviewRow) -> str:
        return row.cells[number][:LONGEST_CELL] if number < len(row.cells) else ""

    return TableColumn(name[:LONGEST_CELL], text, align=RIGHT if right else LEFT)
