"""Investigations page: questions, each with its entries in order, notes and a conclusion."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QCheckBox, QSplitter, QStackedLayout, QWidget

from app.investigation import (
    CONCLUSION,
    NAME,
    QUESTION,
    EntryKind,
    Investigation,
    UnreadableInvestigation,
    text_entry,
)
from app.investigation_results import EntryResult
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.export_dialog import REPORT_FILES, REPORT_FORMATS, safe_name
from widgets.investigations.entry_table import EntryTable
from widgets.investigations.saved_text import SavedText
from widgets.investigations.text_storage import SLOWEST, TextKey, TextStorage, left_texts
from widgets.jobs import BackgroundJob
from widgets.library.run_dialogs import TextQuestion
from widgets.page import PAGE_MARGINS, Page, PageName, page_title
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import push_button
from widgets.parts.dialogs import ask_for_file, opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.layouts import remember_splitter
from widgets.parts.notice import Notice
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE
from widgets.undo import UndoBar, UndoStack

LIST: tuple[TableColumn[Investigation], ...] = (
    TableColumn("Investigation", lambda one: one.name, stretch=True, least=220, key=lambda one: one.name),
    TableColumn(
        "Entries", lambda one: str(len(one.entries)), align=RIGHT, key=lambda one: len(one.entries), hide_order=2
    ),
    TableColumn("Changed", lambda one: one.changed[:10], key=lambda one: one.changed, tone="muted", hide_order=1),
)

MIN_ENTRIES = 4
"""Minimum number of visible entries."""

Change = Callable[[Investigation], Investigation]


class InvestigationPage(Page):
    """List of investigations; beside it the chosen one. Texts store themselves, other changes can be undone."""

    show_run_requested = Signal(str)
    compare_requested = Signal(list)
    library_requested = Signal()

    def __init__(self, workstation: Workstation, asker: Asker, undo: UndoStack | None = None) -> None:
        super().__init__(workstation, asker)
        self._undo = undo or UndoStack(self)
        self.addAction(self._undo.action)
        self._found: Sequence[Investigation] = ()
        self._last_read: Sequence[Investigation] | None = None
        self._shown: Investigation | None = None
        self._entry = ""  # the id of that whose note is shown
        self._unreadable: Sequence[UnreadableInvestigation] = ()
        self._left: Sequence[Path] = ()
        self._wanted = ""
        self._results: dict[str, EntryResult] = {}
        self._reading: BackgroundJob | None = None
        self._listing: BackgroundJob | None = None
        self.storage = TextStorage(workstation, self._field, self)
        self.list: Table[Investigation] = Table("Investigations", TableModel(LIST), identity=lambda one: one.id)
        self.entries = EntryTable()
        self.question = SavedText("Question", "What is to be answered?", 2)
        self.note = SavedText("Note", "A note on the selected entry", 4)
        self.conclusion = SavedText("Conclusion", "What do the figures show?", 4)
        self.notice = Notice()
        self.note_title = Text("Note", Tone.MUTED, wrap=False)
        self.new_button = push_button("New…", lambda _checked: self.ask_new())
        self.rename_button = push_button("Rename…", lambda _checked: self._ask_rename())
        self.delete_button = push_button("Delete", lambda _checked: self._delete(), tip="The runs stay")
        self.text_button = push_button("Add text", lambda _checked: self._add_text(), tip="Add a paragraph of text")
        self.runs_button = push_button(
            "Add runs…",
            lambda _checked: self.library_requested.emit(),
            tip="Select runs in the library, then Ctrl+I",
        )
        self.up_button = push_button("Up", lambda _checked: self.entries.move_current(-1), tip="Move up (Alt+Up)")
        self.down_button = push_button(
            "Down", lambda _checked: self.entries.move_current(1), tip="Move down (Alt+Down)"
        )
        self.remove_button = push_button(
            "Remove", lambda _checked: self._remove(), tip="Remove the entry; its run stays"
        )
        self.report_button = push_button(
            "Report…", lambda _checked: self.export(), tip="Write the report as HTML, Markdown or PDF (Ctrl+E)"
        )
        self.redact_box = QCheckBox("Replace names, addresses, ids and paths")
        self.redact_box.setChecked(True)
        self._arrange()
        self._connect()
        self.begin_at(self.list)

    # Reading

    def activated(self) -> None:
        """Read the investigations and all results again."""
        self.notice.hide()
        self._unreadable = self._left = ()
        self._results.clear()
        self.follow()

    def follow(self) -> None:
        """Read the investigations, which may have changed, and the results of the shown one."""
        workstation = self.workstation
        job = self._listing = BackgroundJob(
            lambda: (workstation.investigations(), workstation.unreadable_investigations(), left_texts()), self
        )
        job.returned.connect(lambda found: self._show_list(*found) if job is self._listing else None)
        job.start(failed=self._fail)

    def show_investigation(self, number: str) -> None:
        """Show the investigation with an id."""
        self._wanted = number
        self.follow()

    def flush(self) -> Sequence[BackgroundJob]:
        """Store what was typed, also what could not be stored before; return what is being stored."""
        for field in (self.question, self.note, self.conclusion):
            field.save()
        return self.storage.retry()

    def _show_list(
        self, found: Sequence[Investigation], unreadable: Sequence[UnreadableInvestigation], left: Sequence[Path]
    ) -> None:
        self._listing = None
        self._found = found
        if left and left != self._left:
            self.notice.show_message(
                "warning",
                f"Texts that could not be stored when Benchwright was ended are in {left[0]}",
                "Copy what you need from the file, then delete it.",
            )
        self._left = left
        self._show_unreadable(unreadable)
        self._stack.setCurrentIndex(1 if found or unreadable or left else 0)
        self.list.show_rows(found)
        if self._wanted or (found and self.list.current() is None):
            self.list.select(self._wanted or found[0].id)
            self._wanted = ""
        self.status.emit(count_text(len(found), "investigation"))
        self._show_current()
        self._read_results(everything=found == self._last_read)  # else a run has changed, or its verdict
        self._last_read = found

    def _show_unreadable(self, unreadable: Sequence[UnreadableInvestigation]) -> None:
        """Name the investigations that the list lacks, once."""
        if unreadable and unreadable != self._unreadable:
            first = unreadable[0]
            more = f" {count_text(len(unreadable) - 1, 'other')} cannot be read either." if len(unreadable) > 1 else ""
            remedy = f"The others are listed. Delete it with: benchwright investigation delete {first.id}"
            self.notice.show_message("warning", f"{first.text}{more}", remedy)
        self._unreadable = unreadable

    def _show_current(self) -> None:
        """Show the current investigation; texts that are not stored yet stay."""
        current = self.list.current()
        other = (current and current.id) != (self._shown and self._shown.id)
        if other:
            self.flush()
        self._shown = current
        self._body.setEnabled(current is not None)
        number = "" if current is None else current.id
        for field, where in ((self.question, QUESTION), (self.conclusion, CONCLUSION)):
            stored = "" if current is None else current.text(where)
            self.storage.show(field, (number, where), stored, other=other)
        if other:
            self._results.clear()
        self._show_entries()
        if other:
            self._read_results()

    def _show_entries(self) -> None:
        entries = () if self._shown is None else self._shown.entries
        self.entries.show_entries(entries, self._results)
        if self.entries.current() is None and entries:
            self.entries.selectRow(0)
        self._show_entry()

    def _show_entry(self) -> None:
        """Show the note of the current entry."""
        row = self.entries.current()
        number = "" if row is None else row.entry.id
        other = number != self._entry
        if other:
            self.note.save()
        self._entry = number
        key = ("" if self._shown is None else self._shown.id, number)
        self.storage.show(self.note, key, "" if row is None else row.entry.note, other=other)
        self.note.setEnabled(row is not None)
        what = "Text" if row is not None and row.entry.kind is EntryKind.TEXT else "Note"
        self.note_title.setText(f"{what} of entry {row.number}" if row is not None else "Note")
        last = 0 if self._shown is None else len(self._shown.entries)
        self.up_button.setEnabled(row is not None and row.number > 1)
        self.down_button.setEnabled(row is not None and row.number < last)
        self.remove_button.setEnabled(row is not None)

    def _read_results(self, *, everything: bool = False) -> None:
        """Read the results of the entries that are not known, or all; those shown stay until then."""
        own = () if self._shown is None else self._shown.entries
        entries = [one for one in own if everything or one.id not in self._results]
        if self._reading is not None:
            self._reading.cancel()
        if not entries:
            return
        job = self._reading = BackgroundJob(lambda: self.workstation.entry_results(entries), self)
        job.yielded.connect(lambda found: self._take_result(found) if job is self._reading else None)
        job.start(failed=self._fail)

    def _take_result(self, found: EntryResult) -> None:
        self._results[found.entry.id] = found
        self._show_entries()

    # Changing

    def ask_new(self) -> None:
        """Ask for a name and begin an investigation."""
        dialog = TextQuestion("New investigation", "A question with runs, notes and a conclusion.", "Name", self)
        dialog.accepted.connect(lambda: self._begin(dialog.text()))
        opened(dialog)

    def _begin(self, name: str) -> None:
        workstation = self.workstation
        self._undo.do(
            lambda: workstation.begin_investigation(name),
            lambda made: workstation.delete_investigation(made.id),
            f"New investigation “{name}”",
            lambda _text: self.follow(),
            self._fail,
        )

    def _ask_rename(self) -> None:
        if (shown := self._shown) is not None:
            dialog = TextQuestion("Rename investigation", "", "Name", self)
            dialog.field.setText(shown.name)
            dialog.accepted.connect(lambda: self._rename(dialog.text()))
            opened(dialog)

    def _rename(self, name: str) -> None:
        def back(now: Investigation, before: Investigation) -> Investigation:
            return now.written(NAME, before.name)

        self._change(lambda one: one.written(NAME, name), back, f"Renamed to “{name}”")

    def _delete(self) -> None:
        if (shown := self._shown) is not None:
            workstation = self.workstation
            self.flush()
            self._undo.do(
                lambda: workstation.delete_investigation(shown.id), workstation.restore_investigation,
                f"Deleted the investigation “{shown.name}”", lambda _text: self.follow(), self._fail,
            )  # fmt: skip

    def _add_text(self) -> None:
        row, made = self.entries.current(), text_entry("")
        at = None if row is None else row.number

        def back(now: Investigation, _before: Investigation) -> Investigation:
            return now.without([made.id])

        self._change(lambda one: one.added([made], at), back, "Added a text", made.id)

    def _remove(self) -> None:
        if (row := self.entries.current()) is not None:
            self.note.save()
            number, at = row.entry.id, row.number - 1

            def restored(now: Investigation, before: Investigation) -> Investigation:
                return now.added([before.entry(number)], at)

            self._change(lambda one: one.without([number]), restored, f"Removed entry {row.number}")

    def _move(self, number: str, to: int) -> None:
        def back(now: Investigation, before: Investigation) -> Investigation:
            return now.moved(number, before.position(number))

        self._change(lambda one: one.moved(number, to), back, f"Moved to position {to + 1}", number)

    def _change(
        self,
        change: Change,
        back: Callable[[Investigation, Investigation], Investigation],
        text: str,
        chosen: str = "",
    ) -> None:
        """Change the shown investigation; `back` undoes it from what is stored then and what was before."""
        if (shown := self._shown) is None:
            return
        store = self.workstation.change_investigation

        def undo(made: tuple[Investigation, Investigation]) -> object:
            return store(shown.id, lambda now: back(now, made[0]))

        def work() -> tuple[Investigation, Investigation]:
            return store(shown.id, change)

        def report(_text: str) -> None:
            self._reread(shown.id, chosen)

        self._undo.do(work, undo, text, report, self._fail)

    def _reread(self, number: str, chosen: str = "") -> None:
        BackgroundJob(lambda: self.workstation.investigation(number), self).start(
            lambda found: self._take_changed(found, chosen), self._fail
        )

    def _take_changed(self, found: Investigation, chosen: str = "") -> None:
        """Show a changed investigation in the list and, if it is the current one, beside it."""
        if self._listing is not None:
            self.follow()  # what is being read may be from before the change
        self._found = [found if one.id == found.id else one for one in self._found]
        self.list.show_rows(self._found)
        if self._shown is not None and self._shown.id == found.id:
            self._shown = found
            self._show_current()
            if chosen:
                self.entries.select(chosen)
            self._read_results()

    def _save(self, where: str, text: str, base: str) -> None:
        """Store a text that was typed."""
        if (shown := self._shown) is not None and where:
            names = {QUESTION: "Question", CONCLUSION: "Conclusion"}
            title = f"{names.get(where) or self.note_title.text()} of “{shown.name}”"
            self.storage.store((shown.id, where), title, text, base)

    def _field(self, key: TextKey) -> SavedText | None:
        """Return the field that shows the text of an investigation and a place, if one does."""
        number, where = key
        if self._shown is None or self._shown.id != number:
            return None
        return {QUESTION: self.question, CONCLUSION: self.conclusion, self._entry: self.note}.get(where)

    def _fail(self, error: BenchwrightError) -> None:
        if not self.report_damage(error):
            self.notice.show_error(error)
            self.notice.show()

    # Opening and writing

    def _open(self) -> None:
        """Show the run of the current entry in the library, or compare its runs."""
        row = self.entries.current()
        if row is None or (row.result is not None and row.result.deleted):
            return
        if row.entry.kind is EntryKind.RUN:
            self.show_run_requested.emit(row.entry.runs[0])
        elif row.entry.kind is EntryKind.COMPARISON:
            self.compare_requested.emit(list(row.entry.selectors))

    def export(self) -> bool:
        """Ask for a file and write the report; return False if no investigation is shown."""
        if (shown := self._shown) is None:
            return False
        name = f"{safe_name(shown.name)}.html"
        ask_for_file(self, "Write the report", self.write, REPORT_FILES, save_as=name)
        return True

    def write(self, path: Path) -> None:
        """Write the report to a file, whose ending is its format."""
        if (shown := self._shown) is None:
            return
        kind = REPORT_FORMATS.get(path.suffix.lower(), "html")
        waiting, redacted = self.flush(), self.redact_box.isChecked()

        def work() -> list[Path]:
            for job in waiting:  # what was typed is in it
                job.wait(SLOWEST)
            return self.workstation.export_investigation_as(shown.id, [(kind, path)], redacted=redacted)

        self.report_button.setEnabled(False)
        self.status.emit("Writing the report…")
        BackgroundJob(work, self).start(
            lambda written: self.status.emit(f"Wrote {written[0]}"), self._fail,
            finished=lambda: self.report_button.setEnabled(True),
        )  # fmt: skip

    # Building

    def _connect(self) -> None:
        self.storage.stored.connect(self._take_changed)
        self.storage.refused.connect(self._fail)
        self.list.moved.connect(self._show_current)
        self.entries.moved.connect(self._show_entry)
        self.entries.activated.connect(lambda _index: self._open())
        self.entries.move_requested.connect(self._move)
        self.question.save_requested.connect(lambda text, base: self._save(QUESTION, text, base))
        self.conclusion.save_requested.connect(lambda text, base: self._save(CONCLUSION, text, base))
        self.note.save_requested.connect(lambda text, base: self._save(self._entry, text, base))
        for keys, act in (
            ("Alt+Up", lambda: self.entries.move_current(-1)),
            ("Alt+Down", lambda: self.entries.move_current(1)),
            ("Del", self._remove),
        ):
            context = Qt.ShortcutContext.WidgetShortcut
            action = QAction(self.entries, shortcut=QKeySequence(keys), shortcutContext=context)
            action.triggered.connect(act)
            self.entries.addAction(action)

    def _arrange(self) -> None:
        empty = EmptyState(
            "No investigations yet",
            "An investigation answers a question from runs: comparisons, notes, a conclusion, and a report of all.",
            "New…",
            self.ask_new,
            icon="search",
        )
        left, self._body = QWidget(), QWidget()
        head = self.entries.horizontalHeader().sizeHint().height()
        self.entries.setMinimumHeight(head + MIN_ENTRIES * self.entries.verticalHeader().defaultSectionSize())
        top = in_row(self.new_button, self.rename_button, self.delete_button, None, spacing=SPACE[1])
        fill(column_in(left, SPACE[1]), top, (self.list, 1))
        below = QWidget()
        fill(
            column_in(below, SPACE[1]), self.note_title, self.note, Text("Conclusion", Tone.MUTED, wrap=False),
            self.conclusion, in_row(self.report_button, self.redact_box, None, spacing=SPACE[2]),
        )  # fmt: skip
        buttons = in_row(
            self.text_button, self.runs_button, None, self.up_button, self.down_button, self.remove_button,
            spacing=SPACE[1],
        )  # fmt: skip
        fill(
            column_in(self._body, SPACE[1]), Text("Question", Tone.MUTED, wrap=False), self.question, (self.entries, 1),
            buttons, below,
        )  # fmt: skip
        both = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False, handleWidth=SPACE[2])
        both.addWidget(left)
        both.addWidget(self._body)
        both.setStretchFactor(1, 1)
        both.setSizes([300, 700])
        remember_splitter(both, "investigations")
        page = QWidget()
        fill(
            column_in(page, SPACE[1], PAGE_MARGINS), page_title(PageName.INVESTIGATIONS), self.notice, (both, 1),
            UndoBar(self._undo),
        )  # fmt: skip
        self.notice.hide()
        self._stack = QStackedLayout(self)
        for part in (empty, page):
            self._stack.addWidget(part)
