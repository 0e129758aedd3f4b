"""Dialog that imports hosts from a file of other tools: a preview of what is added, changed and skipped."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QWidget

from app.fleet.inventory_import import ImportAction, ImportedHost, ImportOptions, ImportPreview
from app.fleet.inventory_sources.sources import COMMANDS, Source, read_inventory
from app.hosts.hosts import ssh_address
from app.services import Workstation
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import ask_for_file, button_row, dialog_column, fit
from widgets.parts.names import MOST_NAME
from widgets.parts.notice import Notice
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, icon

SIZE = (940, 560)

SETTLED = 250
"""Milliseconds after the last change of a text until the file is read again."""

_MARKS: Mapping[ImportAction, str] = MappingProxyType({ImportAction.SKIPPED: "warning", ImportAction.ADDED: "good"})

COLUMNS: tuple[TableColumn[ImportedHost], ...] = (
    TableColumn("Host", lambda one: one.entry.name, bold=True, width=90, whole=True, most=MOST_NAME),
    TableColumn(
        "Action", lambda one: one.action.value,
        mark=lambda one: icon(_MARKS[one.action]) if one.action in _MARKS else None,
    ),
    TableColumn("Address", lambda one: ssh_address(one.entry), tone="muted"),
    TableColumn("Type", lambda one: one.attributes.instance_type),
    TableColumn("Zone", lambda one: one.attributes.zone, hide_order=2),
    TableColumn("Groups", lambda one: " ".join(one.attributes.groups), hide_order=1),
    TableColumn("Note", lambda one: one.note, stretch=True, least=140),
)  # fmt: skip


class ImportInventoryDialog(QDialog):
    """A file, options, and the hosts in it; nothing is stored before Import."""

    def __init__(self, workstation: Workstation, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._file: Path | None = None
        self._job: BackgroundJob | None = None
        self.preview = ImportPreview(())
        """What an import of the chosen file changes."""
        self.setWindowTitle("Import inventory")
        fit(self, SIZE)
        self.table = Table("Hosts to import", TableModel(COLUMNS))
        self.source = QComboBox()
        self.source.setAccessibleName("Source")
        self.source.addItem("Recognised by its content", None)
        for source, command in COMMANDS.items():
            self.source.addItem(command, source)
        self.group = line_edit("Group", self._edited, tip="Adds all hosts to this group", placeholderText="none")
        self.user = line_edit(
            "User", self._edited, tip="Account on hosts for which the file states none", placeholderText="of ssh"
        )
        self._settle = QTimer(self, singleShot=True, interval=SETTLED)
        self.private = QCheckBox("Prefer private addresses")
        self.replaces = QCheckBox("Replace saved hosts")
        self.notice = Notice()
        self.file_button = push_button("Choose a file…", self._ask_file, autoDefault=False)
        self.import_button = push_button("Import", self._store, primary=True, default=True)
        self.cancel_button = push_button("Cancel", self.reject)
        self._arrange()
        self._connect()
        self._show(self.preview)

    def read(self, file: Path) -> None:
        """Show what an import of a file changes."""
        self._file = file
        self._read_again()

    def reject(self) -> None:
        """Close without storing; do not wait for a file that is read."""
        self._stop()
        super().reject()

    def _ask_file(self) -> None:
        ask_for_file(self, "Import inventory", self.read, ["JSON or CSV (*.json *.csv)", "All files (*)"])

    def _edited(self, _text: str) -> None:
        """Read the file again once a text is settled: on leaving the field, a click on Import would be lost."""
        if self._file is not None:
            self._stop()
            self.import_button.setEnabled(False)
            self._settle.start()

    def _read_again(self) -> None:
        self._settle.stop()
        if self._file is None:
            return
        file, source, private = self._file, self.source.currentData(), self.private.isChecked()
        options = ImportOptions(
            self.group.text().strip(), self.user.text().strip() or None, replaces=self.replaces.isChecked()
        )

        def work() -> ImportPreview:
            found = read_inventory(file, None if source is None else Source(source), private=private)[1]
            return self._workstation.preview_import(found, options)

        self._stop()
        self.notice.hide()
        self._show(ImportPreview(()))
        job = self._job = BackgroundJob(work, self)
        job.start(
            lambda preview: self._show(preview) if job is self._job else None,
            lambda error: self.notice.show_error(error) if job is self._job else None,
        )

    def _store(self) -> None:
        preview, workstation = self.preview, self._workstation
        self.import_button.setEnabled(False)
        BackgroundJob(lambda: workstation.store_import(preview), self).start(
            lambda _none: self.accept(), self.notice.show_error
        )

    def _show(self, preview: ImportPreview) -> None:
        self.preview = preview
        self.table.show_rows(preview.hosts)
        count = len(preview.writes)
        self.import_button.setText(f"Import {count_text(count, 'host')}" if count else "Import")
        self.import_button.setEnabled(bool(count))
        if preview.notes:
            self.notice.show_message("info", "\n".join(preview.notes))

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _connect(self) -> None:
        self.source.currentIndexChanged.connect(lambda _index: self._read_again())
        for box in (self.private, self.replaces):
            box.toggled.connect(lambda _checked: self._read_again())
        self._settle.timeout.connect(self._read_again)

    def _arrange(self) -> None:
        explanation = (
            "The output of ansible-inventory, aws, gcloud, az or terraform, or a CSV table with a header row. "
            "Passwords are not stored."
        )
        source, group, user = (Text(name, wrap=False) for name in ("Source", "Group", "User"))
        file = in_row(self.file_button, source, (self.source, 1), spacing=SPACE[1])
        options = in_row(group, self.group, user, self.user, self.private, self.replaces, spacing=SPACE[1])
        buttons = button_row(None, self.import_button, self.cancel_button)
        column = dialog_column(self, "Import inventory")
        fill(column, Text(explanation, Tone.MUTED), file, options, (self.table, 1), self.notice, buttons)
