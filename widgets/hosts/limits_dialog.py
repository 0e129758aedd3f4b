"""Dialog of the limits that the user's cloud CLI states of a host: lists, adds and removes them."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QAbstractItemView, QDialog, QWidget

from app.services import Workstation
from suites.facts import CloudLimit
from suites.quantities import quantity
from suites.units import Unit
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import ask_for_file, button_row, dialog_column, fit
from widgets.parts.names import host_label
from widgets.parts.notice import Notice
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE

SIZE = (720, 420)

COLUMNS: tuple[TableColumn[CloudLimit], ...] = (
    TableColumn("Limit", lambda one: one.name, stretch=True),
    TableColumn("Value", lambda one: quantity(one.value, Unit(one.unit)), align=RIGHT),
    TableColumn("Disk", lambda one: one.disk),
)


class LimitsDialog(QDialog):
    """The stated limits of one host."""

    def __init__(self, workstation: Workstation, host: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._stored, self._host = workstation.cloud_limits, host
        self.setWindowTitle("Cloud limits")
        fit(self, SIZE)
        several = QAbstractItemView.SelectionMode.ExtendedSelection
        self.table = Table("Cloud limits", TableModel(COLUMNS), identity=lambda one: one, selection=several)
        self.device = line_edit("Disk", tip="The disk that is the volume in the file", placeholderText="such as sdb")
        self.kind = line_edit(
            "Instance type", tip="Chooses one of several in the file", placeholderText="such as m5.large"
        )
        self.notice = Notice()
        self.add_button = push_button("Add from a file…", self._ask_file, autoDefault=False)
        self.remove_button = push_button("Remove", self._remove, tip="Remove the selected limits", autoDefault=False)
        self.close_button = push_button("Close", self.reject, default=True)
        self._arrange()
        self._run(lambda: self._stored.of(host))

    def add(self, file: Path) -> None:
        """Store the limits in the JSON of a cloud CLI."""
        device, kind = self.device.text().strip(), self.kind.text().strip()
        self._run(lambda: self._stored.add(self._host, file, device, kind))

    def _ask_file(self) -> None:
        ask_for_file(self, "Add limits", self.add, ["JSON of a cloud CLI (*.json)", "All files (*)"])

    def _remove(self) -> None:
        chosen, stored, host = self.table.chosen(), self._stored, self._host

        def work() -> tuple[CloudLimit, ...]:
            stored.remove(host, chosen)
            return stored.of(host)

        self._run(work)

    def _run(self, work: Callable[[], tuple[CloudLimit, ...]]) -> None:
        self.notice.hide()
        BackgroundJob(work, self).start(self._show, self.notice.show_error)

    def _show(self, limits: tuple[CloudLimit, ...]) -> None:
        known = set(self.table.content.shown)
        self.table.show_rows(limits)
        if known and (new := next((one for one in limits if one not in known), None)) is not None:
            self.table.select(new)
        self.remove_button.setEnabled(bool(limits))
        if not limits:
            self.notice.show_message("info", "No limits stored.", "Verdicts name how far a stored limit was used.")

    def _arrange(self) -> None:
        explanation = (
            "From the JSON of aws ec2 describe-instance-types or describe-volumes, gcloud compute disks describe, az "
            "vm list-skus or az disk show. EBS volumes are found by their serial number, others need the disk."
        )
        device, kind = Text("Disk", wrap=False), Text("Instance type", wrap=False)
        fields = in_row(device, self.device, kind, self.kind, self.add_button, spacing=SPACE[1])
        buttons = button_row(None, self.remove_button, self.close_button)
        column = dialog_column(self, f"Limits of {host_label(self._host)}")
        fill(column, Text(explanation, Tone.MUTED), (self.table, 1), self.notice, fields, buttons)
