"""Open and save plan files and job files, and list the recent plans."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.plans.job_files import FIO_JOB, with_fio_jobs
from app.plans.plan import LOCAL, Plan
from app.plans.plan_names import NEW_PLAN
from app.plans.presets import default_plan
from app.plans.recent import MOST_RECENT, RecentPlan, read_saved, recent_of, recent_plans, with_saved
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets import settings
from widgets.jobs import BackgroundJob
from widgets.parts.dialogs import opened
from widgets.parts.paths import exists

RECENT = "recent_plans"
"""Setting with the saved plans."""


class PlanFiles(QObject):
    """Opens and saves plans in the background; signals report the result."""

    opened = Signal(object)  # a Plan
    job_opened = Signal(object)  # a Plan whose one step runs a job file
    saved = Signal(object)  # the Path
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, window: QWidget, hosts: Sequence[str] = ()) -> None:
        """`hosts` are those of a plan file that names none."""
        super().__init__(window)
        self._hosts = hosts
        self._workstation = workstation
        self._window = window
        self._to_save: tuple[Plan, Plan | None] | None = None
        self._kept: list[tuple[RecentPlan, Plan]] = []
        self._opening: BackgroundJob | None = None

    def ask_open(self) -> None:
        """Ask for a plan file and read it."""
        dialog = self._dialog("Open plan", QFileDialog.AcceptMode.AcceptOpen)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._open_chosen)
        opened(dialog)

    def ask_save(self, plan: Plan, basis: Plan | None) -> None:
        """Ask for a path and write `plan` there; `basis` is the plan it was made from."""
        self._to_save = plan, basis
        dialog = self._dialog("Save plan", QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(f"{plan.name.replace('/', '-')}.toml")
        dialog.fileSelected.connect(self._save_chosen)
        opened(dialog)

    def open_from(self, path: Path) -> None:
        """Read the plan at `path`."""
        workstation, hosts = self._workstation, self._hosts

        def load() -> Plan:
            if exists(path) and not path.is_file():  # reading a FIFO without a writer would block forever
                raise BenchwrightError(f"{path} is not a regular file.", "Choose the TOML file of a plan.")
            return workstation.load_plan(path, usable_goals=False, hosts=hosts)

        self._open(load)

    def open_job_file(self, path: Path, hosts: Sequence[str]) -> None:
        """Read the fio job file at `path` as a plan on `hosts`."""

        def load() -> Plan:
            plan = default_plan(hosts or [LOCAL], [FIO_JOB], NEW_PLAN)
            return with_fio_jobs(plan, [path])

        BackgroundJob(load).start(self.job_opened, self.failed)

    def keep(self, plan: Plan) -> None:
        """Keep an unsaved plan among the recent ones, the last one first."""
        others = [each for each in self._kept if each[1] != plan]
        self._kept = [(recent_of(plan), plan), *others][:MOST_RECENT]

    def recent(self) -> tuple[RecentPlan, ...]:
        """Return the plans that were run, saved or kept lately; called in the background."""
        kept = [recent for recent, _ in self._kept]
        saved = read_saved(settings.text(RECENT), exists)
        return recent_plans(self._workstation.runs(), [*kept, *saved])

    def open_recent(self, plan: RecentPlan) -> None:
        """Read a recent plan."""
        if plan.path:
            self.open_from(Path(plan.path))
        elif plan.run:
            workstation = self._workstation
            self._open(lambda: workstation.plan_to_repeat(plan.run))
        else:
            self._opening = None
            for kept in [kept for recent, kept in self._kept if recent is plan]:
                self.opened.emit(kept)

    def _open(self, load: Callable[[], Plan]) -> None:
        """Read a plan; of several that are read at once, the last one that was chosen is opened."""
        job = self._opening = BackgroundJob(load, self)
        job.start(
            lambda plan: self.opened.emit(plan) if job is self._opening else None,
            lambda error: self.failed.emit(error) if job is self._opening else None,
        )

    def save_to(self, plan: Plan, path: Path, basis: Plan | None) -> None:
        """Write `plan`, made from `basis`, to `path`."""
        workstation = self._workstation

        def save() -> Path:
            workstation.save_plan(plan, path)
            workstation.consents.remember_made(plan, basis)
            settings.put(RECENT, with_saved(settings.text(RECENT), recent_of(plan, path)))
            return path

        BackgroundJob(save).start(self.saved, self.failed)

    def _dialog(self, title: str, mode: QFileDialog.AcceptMode) -> QFileDialog:
        dialog = QFileDialog(self._window, title, acceptMode=mode)
        dialog.setNameFilters(["Plans (*.toml)", "All files (*)"])
        dialog.setDefaultSuffix("toml")
        return dialog

    def _open_chosen(self, path: str) -> None:
        self.open_from(Path(path))

    def _save_chosen(self, path: str) -> None:
        if self._to_save is not None:
            plan, basis = self._to_save
            self.save_to(plan, Path(path), basis)
