"""Dialog that exports runs as CSV, PNG, HTML and Markdown."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QDialog, QFileDialog, QPlainTextEdit, QWidget

from app.comparison.criteria import DEFAULT_CRITERIA, ComparisonCriteria
from app.export_services import ExportServices
from app.output import make_folder, visible
from app.paths import reports_path
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import button_row, dialog_column, opened
from widgets.parts.notice import FieldMessage, Notice, ProgressNotice
from widgets.parts.paths import exists, typed_path
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, code_font

WIDTH = 560

PREVIEW = 180
"""Least height of the preview in pixels."""

REPORTS = frozenset({".html", ".md"})
"""The endings of reports, which are redacted."""

ENDINGS = (".csv", ".png", ".html", ".md")
"""The ending of each format, in the order of the boxes."""


REPORT_FORMATS = {".html": "html", ".md": "markdown", ".pdf": "pdf"}
REPORT_FILES = ("HTML report (*.html)", "Markdown (*.md)", "PDF (*.pdf)")
"""The formats of reports of several runs by ending, and the choices of a file."""


def safe_name(name: str) -> str:
    """Return `name` as a file name that is safe on every file system and in a shell."""
    safe = "".join(character if character.isalnum() or character in "-_." else "-" for character in name)
    return safe.strip("-.")[:80] or "benchwright"


class ExportDialog(QDialog):
    """Dialog to choose formats and a path. The files are written in the background."""

    def __init__(
        self,
        workstation: Workstation,
        runs: Sequence[str],
        name: str,
        parent: QWidget | None = None,
        *,
        criteria: ComparisonCriteria = DEFAULT_CRITERIA,
    ) -> None:
        """Offer to export `runs`, of which the first is the baseline, to files called `name`.

        Picture and reports compare several runs by `criteria`.
        """
        super().__init__(parent)
        self._criteria = criteria
        self._workstation = workstation
        self._runs = tuple(runs)
        self._job: BackgroundJob | None = None
        self._look: BackgroundJob | None = None
        self._reading: BackgroundJob | None = None
        self._wanted = False
        self._written = Path()
        self.csv_box = QCheckBox("CSV: summary, and a second file with every sample")
        self.png_box = QCheckBox("PNG: report image")
        self.html_box = QCheckBox("HTML: report that Benchwright can import, with all samples and raw output")
        self.markdown_box = QCheckBox("Markdown: report for a ticket or a pull request")
        self.redact_box = QCheckBox("Replace names, addresses, ids and paths in HTML and Markdown, leave out notes")
        self.preview_button = push_button("Preview", self._show_preview, tip="Show what is replaced and what stays")
        self.preview = QPlainTextEdit(readOnly=True)
        self.preview.setAccessibleName("What is replaced and what stays")
        self.preview.setFont(code_font())
        self.preview.setMinimumHeight(PREVIEW)
        self.path = line_edit("Folder and name", self._check, text=str(reports_path() / safe_name(name)))
        self.browse_button = push_button("Browse…", self._browse)
        self.message = FieldMessage()
        self.working = ProgressNotice()
        self.outcome = Notice()
        self.open_button = push_button("Open the folder")
        self.open_button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._written))))
        self.export_button = push_button("Export", self._export, primary=True, default=True)
        self.close_button = push_button("Cancel", self.reject)
        self._arrange()
        self._connect()
        self._check()

    def reject(self) -> None:
        """Close; an export under way is finished in the background."""
        self._job = self._reading = None
        self.working.end()
        super().reject()

    def _arrange(self) -> None:
        self.setWindowTitle("Export")
        many = f"{len(self._runs)} runs" if len(self._runs) > 1 else "1 run"
        path = in_row((self.path, 1), self.browse_button, spacing=SPACE[1])
        buttons = button_row(self.open_button, None, self.export_button, self.close_button)
        rows = dialog_column(self, f"Export {many}", WIDTH)
        fill(rows, self.csv_box, self.png_box, self.html_box, self.markdown_box)
        fill(rows, in_row((self.redact_box, 1), self.preview_button, spacing=SPACE[1]), self.preview)
        fill(rows, Text("Folder and name, without extension", Tone.MUTED), path)
        fill(rows, self.message, self.working, self.outcome, None, buttons)

    def _connect(self) -> None:
        for box in (self.csv_box, self.png_box):
            box.setChecked(True)
            box.toggled.connect(self._check)
        self.redact_box.setChecked(True)
        for box in (self.html_box, self.markdown_box):
            box.toggled.connect(self._show_redaction)
            box.toggled.connect(self._check)
        self.redact_box.toggled.connect(self._show_redaction)
        self._show_redaction()
        self.open_button.hide()
        self.preview.hide()
        self.working.cancel_button.hide()

    def _endings(self) -> list[str]:
        boxes = (self.csv_box, self.png_box, self.html_box, self.markdown_box)
        ticked = zip(boxes, ENDINGS, strict=True)
        return [ending for box, ending in ticked if box.isChecked()]

    def _show_redaction(self) -> None:
        """Enable what concerns the redaction; the preview is hidden where nothing is redacted."""
        shares = self.html_box.isChecked() or self.markdown_box.isChecked()
        self.redact_box.setEnabled(shares)
        self.preview_button.setEnabled(shares and self.redact_box.isChecked() and self._reading is None)
        self.preview.setVisible(self.preview.isVisible() and shares and self.redact_box.isChecked())

    def _show_preview(self) -> None:
        """Show what a redacted report replaces and leaves out, and which texts stay; it is read in the background."""
        job = self._reading = BackgroundJob(lambda: self._workstation.redaction_preview(self._runs).text, self)
        job.returned.connect(lambda text: self._take_preview(job, visible(text)))
        job.failed.connect(lambda error: self._take_preview(job, visible(str(error))))
        self.preview.setPlainText("Reading the runs…")
        self.preview.show()
        self._show_redaction()
        job.start()

    def _take_preview(self, job: BackgroundJob, text: str) -> None:
        if job is self._reading:
            self._reading = None
            self.preview.setPlainText(text)
            self._show_redaction()

    def _check(self) -> None:
        """Enable the button, and look in the background for files that would be replaced: a path may be slow."""
        endings = self._endings()
        text = self.path.text().strip()
        self.export_button.setEnabled(bool(endings and Path(text).name))
        self.outcome.hide()
        self.message.hide()
        job = self._look = BackgroundJob(
            lambda: [path.name for path in targets_of(text, endings) if exists(path)], self
        )
        self._wanted = False
        if self._job is None:
            self.working.end()
        job.start(partial(self._looked, job), lambda _error: self._looked(job, ()))

    def _looked(self, job: BackgroundJob, existing: Sequence[str]) -> None:
        """Warn of files that would be replaced; without any, export if that was requested meanwhile."""
        if job is not self._look:
            return
        wanted, self._look, self._wanted = self._wanted, None, False
        if self._job is None:
            self.working.end()
        self.message.setVisible(bool(existing))
        self.message.show_message("warning", f"{' and '.join(existing)} will be replaced.")
        if wanted and not existing:
            self._export()

    def _browse(self) -> None:
        chooser = QFileDialog(self, "Export to", self.path.text(), acceptMode=QFileDialog.AcceptMode.AcceptSave)
        chooser.setOption(QFileDialog.Option.DontConfirmOverwrite)  # this dialog warns itself, for both files
        chooser.fileSelected.connect(lambda path: self.path.setText(_without_ending(path)))
        opened(chooser)

    def _export(self) -> None:
        if self._look is not None:  # what would be replaced is not known yet
            self._wanted = True
            self.working.begin("Looking for files of that name…")
            return
        targets = targets_of(self.path.text().strip(), self._endings())
        redact = self.redact_box.isChecked()
        job = self._job = BackgroundJob(
            lambda: _write(self._workstation, self._runs, targets, self._criteria, redact=redact), self
        )
        self.message.hide()
        self.outcome.hide()
        self.working.begin("Writing…")
        self.export_button.setEnabled(False)
        job.returned.connect(lambda written: self._done(job, written))
        job.failed.connect(lambda error: self._failed(job, error))
        job.start()

    def _done(self, job: BackgroundJob, written: list[Path]) -> None:
        if self._job is job:
            self._end()
            self._written = written[0].parent
            self.outcome.show_message(
                "good", "Written to " + str(written[0].parent), ", ".join(path.name for path in written)
            )
            self.open_button.show()
            self.open_button.setFocus()
            self.close_button.setText("Close")

    def _failed(self, job: BackgroundJob, error: BenchwrightError) -> None:
        if self._job is job:
            self._end()
            self.outcome.show_error(error)

    def _end(self) -> None:
        self._job = None
        self.working.end()
        self.export_button.setEnabled(True)


def _without_ending(path: str) -> str:
    return next((path.removesuffix(ending) for ending in ENDINGS if path.endswith(ending)), path)


def targets_of(text: str, endings: Sequence[str]) -> list[Path]:
    """Return the files of each of `endings` for the folder and name `text`; none without a name."""
    base = typed_path(text)
    return [base.with_name(base.name + ending) for ending in endings if base.name]


def _write(
    workstation: Workstation,
    runs: Sequence[str],
    targets: Sequence[Path],
    criteria: ComparisonCriteria,
    *,
    redact: bool,
) -> list[Path]:
    """Write `runs` to each of `targets` in the format of its extension, with `redact` the reports without names.

    Return all files written.
    """
    shared = [path for path in targets if redact and path.suffix in REPORTS]
    written: list[Path] = []
    for path in targets:
        make_folder(path.parent, "Choose another folder.")
        if path not in shared:
            written += _write_as(workstation, runs, path, criteria)
    if shared:
        with workstation.redacted(runs, reason=criteria.overruled) as source:
            for path in shared:
                written += _write_as(source.workstation, source.runs, path, source.criteria(criteria), redacted=True)
    return written


def _write_as(
    workstation: ExportServices,
    runs: Sequence[str],
    path: Path,
    criteria: ComparisonCriteria,
    *,
    redacted: bool = False,
) -> list[Path]:
    """Write `runs` in the format of the extension of `path`; return all files written."""
    match path.suffix:
        case ".csv":
            return workstation.export_csv(runs, path)
        case ".html":
            return [workstation.export_html(runs, path, criteria, redacted=redacted)]
        case ".md":
            return [workstation.export_markdown(runs, path, criteria)]
    return [workstation.export_image(runs, path, criteria)]
