"""Writes runs as a CSV for a script and a picture for a ticket, and says where they are."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QDialog, QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.paths import reports_path
from app.services import Workstation
from app.writing import make_folder
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.notice import FieldMessage, Notice, Working
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font

WIDTH = 560


def safe_name(name: str) -> str:
    """Return `name` as a file's name that every file system takes and no shell misreads."""
    kept = "".join(character if character.isalnum() or character in "-_." else "-" for character in name)
    return kept.strip("-.")[:80] or "benchwright"


class ExportDialog(QDialog):
    """Two boxes to tick, one place to write to. The files are written off the window's thread."""

    def __init__(
        self,
        workstation: Workstation,
        runs: Sequence[str],
        name: str,
        parent: QWidget | None = None,
        *,
        margin: float | None = None,
        overruled: str = "",
    ) -> None:
        """Offer to export `runs`, the first of them the baseline; `name` is what the files are called.

        The picture compares several runs by `margin`, the share that does not matter, or by the hosts’ own for None;
        `overruled` is why they are compared although they measured different things.
        """
        super().__init__(parent)
        self._margin, self._overruled = margin, overruled
        self._workstation = workstation
        self._runs = tuple(runs)
        self._job: Job | None = None
        self.csv_box = QCheckBox("CSV: a summary, and every sample in a second file")
        self.png_box = QCheckBox("PNG: a report picture that stands alone")
        self.place = QLineEdit(str(reports_path() / safe_name(name)))
        self.place.setAccessibleName("Folder and name")
        self.browse_button = QPushButton("Browse…")
        self.message = FieldMessage()
        self.working = Working()
        self.outcome = Notice()
        self.open_button = QPushButton("Open the folder")
        self.export_button = QPushButton("Export")
        self.close_button = QPushButton("Cancel")
        self._arrange()
        self._connect()
        self._check()

    def reject(self) -> None:
        """Close; what is being written is finished in the background."""
        self._job = None
        self.working.end()
        super().reject()

    def _arrange(self) -> None:
        self.setWindowTitle("Export")
        self.setMinimumWidth(WIDTH)
        many = f"{len(self._runs)} runs" if len(self._runs) > 1 else "1 run"
        place = QHBoxLayout()
        place.setSpacing(SPACE[1])
        place.addWidget(self.place, 1)
        place.addWidget(self.browse_button)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE[1])
        buttons.addWidget(self.open_button)
        buttons.addStretch(1)
        buttons.addWidget(self.export_button)
        buttons.addWidget(self.close_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text(f"Export {many}", font=text_font(TextSize.HEADING, bold=True)))
        rows.addWidget(self.csv_box)
        rows.addWidget(self.png_box)
        rows.addWidget(Text("Folder and name, without an ending", Tone.MUTED))
        rows.addLayout(place)
        for widget in (self.message, self.working, self.outcome):
            rows.addWidget(widget)
        rows.addStretch(1)
        rows.addLayout(buttons)

    def _connect(self) -> None:
        for box in (self.csv_box, self.png_box):
            box.setChecked(True)
            box.toggled.connect(self._check)
        self.place.textChanged.connect(self._check)
        self.browse_button.clicked.connect(self._browse)
        self.export_button.setProperty("primary", True)
        self.export_button.setDefault(True)
        self.export_button.clicked.connect(self._export)
        self.close_button.clicked.connect(self.reject)
        self.open_button.hide()
        self.open_button.clicked.connect(self._open_folder)
        self.working.cancel_button.hide()

    def _base(self) -> Path:
        return Path(self.place.text().strip()).expanduser()

    def _targets(self) -> list[Path]:
        base = self._base()
        ticked = ((self.csv_box, ".csv"), (self.png_box, ".png"))
        return [base.with_name(base.name + ending) for box, ending in ticked if box.isChecked()]

    def _check(self) -> None:
        named = bool(self.place.text().strip()) and bool(self._base().name)
        targets = self._targets() if named else []
        there = [path.name for path in targets if path.exists()]
        self.export_button.setEnabled(bool(targets))
        self.outcome.hide()
        self.message.setVisible(bool(there))
        self.message.say("warning", f"{' and '.join(there)} will be replaced.")

    def _browse(self) -> None:
        chooser = QFileDialog(self, "Where to write", self.place.text())
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setOption(QFileDialog.Option.DontConfirmOverwrite)  # the dialog says it itself, for both files
        chooser.fileSelected.connect(lambda path: self.place.setText(path.removesuffix(".csv").removesuffix(".png")))
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def _export(self) -> None:
        targets = self._targets()
        job = self._job = Job(
            partial(_write, self._workstation, self._runs, targets, self._margin, self._overruled), self
        )
        self.message.hide()
        self.outcome.hide()
        self.working.begin("Writing…")
        self.export_button.setEnabled(False)
        job.returned.connect(lambda written: self._done(job, written))
        job.failed.connect(lambda error: self._failed(job, error))
        job.start()

    def _done(self, job: Job, written: list[Path]) -> None:
        if self._job is job:
            self._end()
            self.outcome.say("good", "Written to " + str(written[0].parent), ", ".join(path.name for path in written))
            self.open_button.show()
            self.open_button.setFocus()
            self.close_button.setText("Close")

    def _failed(self, job: Job, error: BenchwrightError) -> None:
        if self._job is job:
            self._end()
            self.outcome.say_error(error)

    def _end(self) -> None:
        self._job = None
        self.working.end()
        self.export_button.setEnabled(True)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._base().parent)))


def _write(
    workstation: Workstation, runs: Sequence[str], targets: Sequence[Path], margin: float | None, overruled: str
) -> list[Path]:
    """Write `runs` to every one of `targets`, by their endings; return all files that came of it."""
    written: list[Path] = []
    for path in targets:
        make_folder(path.parent, "Choose another place.")
        if path.suffix == ".csv":
            written += workstation.export_csv(runs, path)
        else:
            written.append(workstation.export_png(runs, path, margin, overruled))
    return written
