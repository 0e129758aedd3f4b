"""Plans as files: asks where, reads and writes in the background."""

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.plans.plan import Plan
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job


class PlanFiles(QObject):
    """Opens and saves plans; nothing waits for it, the signals tell what became of it."""

    opened = Signal(object)  # a Plan
    saved = Signal(object)  # the Path
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, window: QWidget) -> None:
        super().__init__(window)
        self._workstation = workstation
        self._window = window
        self._to_save: tuple[Plan, Plan | None] | None = None

    def ask_open(self) -> None:
        """Ask for a plan's file and read it."""
        dialog = self._dialog("Open plan", QFileDialog.AcceptMode.AcceptOpen)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._open_chosen)
        dialog.open()

    def ask_save(self, plan: Plan, basis: Plan | None) -> None:
        """Ask for a place and write `plan` there; `basis` is what it was made of."""
        self._to_save = plan, basis
        dialog = self._dialog("Save plan", QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(f"{plan.name.replace('/', '-')}.toml")
        dialog.fileSelected.connect(self._save_chosen)
        dialog.open()

    def open_from(self, path: Path) -> None:
        """Read the plan at `path`."""
        workstation = self._workstation

        def load() -> Plan:
            if path.exists() and not path.is_file():  # a pipe that nobody writes to would never be read to its end
                raise BenchwrightError(f"{path} is no file.", "Choose the TOML file of a plan.")
            return workstation.load_plan(path)

        job = Job(load)
        job.returned.connect(self.opened)
        job.failed.connect(self.failed)
        job.start()

    def save_to(self, plan: Plan, path: Path, basis: Plan | None) -> None:
        """Write `plan`, which was made of `basis`, to `path`."""
        workstation = self._workstation

        def save() -> Path:
            workstation.save_plan(plan, path)
            workstation.consents.made_here(plan, basis)
            return path

        job = Job(save)
        job.returned.connect(self.saved)
        job.failed.connect(self.failed)
        job.start()

    def _dialog(self, title: str, mode: QFileDialog.AcceptMode) -> QFileDialog:
        dialog = QFileDialog(self._window, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(mode)
        dialog.setNameFilters(["Plans (*.toml)", "All files (*)"])
        dialog.setDefaultSuffix("toml")
        return dialog

    def _open_chosen(self, path: str) -> None:
        self.open_from(Path(path))

    def _save_chosen(self, path: str) -> None:
        if self._to_save is not None:
            plan, basis = self._to_save
            self.save_to(plan, Path(path), basis)
