"""Open and save plan files; merge findings that differ only in the host."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.plans.plan import Plan
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.vocab import Finding
from widgets.jobs import BackgroundJob
from widgets.parts.dialogs import opened
from widgets.parts.names import host_label
from widgets.parts.paths import exists
from widgets.wizard.messages import listed


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return `findings`, with those that differ only in the host merged into one that lists the hosts.

    Findings with an installation are not merged: consent is given per host.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        key = finding if finding.install else replace(finding, host=None)
        groups.setdefault(repr(key), []).append(finding)
    return tuple(_merge(group) for group in groups.values())


def _merge(group: list[Finding]) -> Finding:
    hosts = [finding.host for finding in group if finding.host]
    if len(group) == 1:
        return group[0]
    return replace(group[0], host=listed(map(host_label, hosts)))


class PlanFiles(QObject):
    """Opens and saves plans in the background; signals report the result."""

    opened = Signal(object)  # a Plan
    saved = Signal(object)  # the Path
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, window: QWidget) -> None:
        super().__init__(window)
        self._workstation = workstation
        self._window = window
        self._to_save: tuple[Plan, Plan | None] | None = None

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
        workstation = self._workstation

        def load() -> Plan:
            if exists(path) and not path.is_file():  # reading a FIFO without a writer would block forever
                raise BenchwrightError(f"{path} is not a regular file.", "Choose the TOML file of a plan.")
            return workstation.load_plan(path, usable_goals=False)

        BackgroundJob(load).start(self.opened, self.failed)

    def save_to(self, plan: Plan, path: Path, basis: Plan | None) -> None:
        """Write `plan`, made from `basis`, to `path`."""
        workstation = self._workstation

        def save() -> Path:
            workstation.save_plan(plan, path)
            workstation.consents.remember_made(plan, basis)
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
