"""Export from the window: both files, where the user wants them, and a word where that cannot be."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.services import Workstation
from app.sharing.preview import RedactionPreview
from tests.messages import messages
from tests.widgets.library_runs import Made, record
from widgets import export_dialog, jobs
from widgets.export_dialog import ExportDialog, safe_name

MESSAGES = messages("widgets", "test_export_dialog")


@pytest.fixture
def run_id(workstation: Workstation) -> str:
    """Return a run that is stored."""
    record(workstation, Made("20260101-000000-0000", samples=2))
    return workstation.runs()[0].id


def _shown(qtbot: QtBot, workstation: Workstation, run_id: str, place: Path) -> ExportDialog:
    dialog = ExportDialog(workstation, [run_id], "short")
    qtbot.addWidget(dialog)
    dialog.path.setText(str(place))
    dialog.show()
    return dialog


def _export(qtbot: QtBot, dialog: ExportDialog) -> None:
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not jobs.running())


def test_both_files_are_written_and_named(qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path) -> None:
    dialog = _shown(qtbot, workstation, run_id, tmp_path / "reports" / "short")
    _export(qtbot, dialog)
    written = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert written == ["short-samples.csv", "short.csv", "short.png"]
    assert all(name in dialog.outcome.text() for name in written)
    assert dialog.open_button.isVisible()
    dialog.csv_box.setChecked(False)
    qtbot.waitUntil(lambda: dialog.message.label.text() == MESSAGES["short_png_will_be_replaced"])


@pytest.mark.slow
@pytest.mark.parametrize("redact", [True, False])
def test_an_html_report_is_redacted_unless_the_user_wants_the_names(
    qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path, *, redact: bool
) -> None:
    dialog = _shown(qtbot, workstation, run_id, tmp_path / "report")
    assert not dialog.redact_box.isEnabled()
    dialog.csv_box.setChecked(False)
    dialog.png_box.setChecked(False)
    dialog.html_box.setChecked(True)
    assert dialog.redact_box.isEnabled()
    assert dialog.redact_box.isChecked()
    dialog.redact_box.setChecked(redact)
    _export(qtbot, dialog)
    assert [path.name for path in tmp_path.glob("report*")] == ["report.html"]
    text = (tmp_path / "report.html").read_text()
    assert ("web-1" in text) is not redact
    assert ("host-A" in text) is redact
    assert [run.id for run in workstation.runs_to_import(tmp_path / "report.html")] == [run_id]


def test_no_edit_looks_at_a_file_on_the_windows_thread(
    qtbot: QtBot, workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short.png").touch()
    threads, opened = [], threading.Event()

    def exists(path: Path) -> bool:
        threads.append(threading.current_thread())
        assert opened.wait(10)
        return path.exists()

    monkeypatch.setattr(export_dialog, "exists", exists)
    dialog = _shown(qtbot, workstation, "none", tmp_path / "short")  # a slow folder: typing goes on
    for letter in "er":
        qtbot.keyClick(dialog.path, letter)
    qtbot.keyClick(dialog.path, Qt.Key.Key_Backspace)
    qtbot.keyClick(dialog.path, Qt.Key.Key_Backspace)
    assert dialog.message.isHidden()
    opened.set()
    qtbot.waitUntil(lambda: not jobs.running())
    assert dialog.message.label.text() == MESSAGES["short_png_will_be_replaced"]
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("there", [True, False])
def test_an_export_waits_for_what_it_would_replace(
    qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    opened = threading.Event()
    if there:
        (tmp_path / "short.png").write_text("kept")

    def exists(path: Path) -> bool:
        assert opened.wait(10)
        return path.exists()

    monkeypatch.setattr(export_dialog, "exists", exists)
    dialog = _shown(qtbot, workstation, run_id, tmp_path / "short")
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    opened.set()
    if there:
        qtbot.waitUntil(lambda: dialog.message.label.text() == MESSAGES["short_png_will_be_replaced"])
        qtbot.waitUntil(lambda: not jobs.running())
        assert (tmp_path / "short.png").read_text() == "kept"
        _export(qtbot, dialog)
    qtbot.waitUntil(dialog.open_button.isVisible)
    assert (tmp_path / "short.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_ticked_or_named_cannot_be_exported(
    qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path
) -> None:
    dialog = _shown(qtbot, workstation, run_id, tmp_path / "short")
    dialog.csv_box.setChecked(False)
    dialog.png_box.setChecked(False)
    assert not dialog.export_button.isEnabled()
    dialog.csv_box.setChecked(True)
    assert dialog.export_button.isEnabled()
    dialog.path.setText("  ")
    assert not dialog.export_button.isEnabled()


@pytest.mark.parametrize("typed", ["~nosuchuser/short", "s" * 300])
def test_a_path_that_cannot_be_looked_up_can_be_typed(qtbot: QtBot, workstation: Workstation, typed: str) -> None:
    dialog = _shown(qtbot, workstation, "none", Path(typed))
    assert dialog.path.text() == typed
    assert dialog.export_button.isEnabled()


def test_a_place_that_cannot_be_written_to_is_said(
    qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    dialog = _shown(qtbot, workstation, run_id, tmp_path / "file" / "short")
    _export(qtbot, dialog)
    assert "cannot be created" in dialog.outcome.text()
    assert dialog.export_button.isEnabled()


@pytest.mark.parametrize(
    ("name", "safe"),
    [("quick benchmark", "quick-benchmark"), ("../../etc/passwd", "etc-passwd"), ("$(rm)", "rm"), ("", "benchwright")],
)
def test_a_name_becomes_a_harmless_file_name(name: str, safe: str) -> None:
    assert safe_name(name).replace("--", "-") == safe


def test_the_preview_shows_what_is_replaced_and_what_stays(
    qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = _shown(qtbot, workstation, run_id, tmp_path / "report")
    assert not dialog.preview_button.isEnabled()
    assert not dialog.preview.isVisible()
    dialog.markdown_box.setChecked(True)
    threads, read = [], workstation.redaction_preview

    def reading(runs: Sequence[str]) -> RedactionPreview:
        threads.append(threading.current_thread())
        return read(runs)

    monkeypatch.setattr(workstation, "redaction_preview", reading)
    qtbot.mouseClick(dialog.preview_button, Qt.MouseButton.LeftButton)
    assert dialog.preview.isVisible()
    assert not dialog.preview_button.isEnabled()
    qtbot.waitUntil(lambda: "web-1 -> host-A" in dialog.preview.toPlainText())
    assert "step: disk random read" in dialog.preview.toPlainText()
    assert threading.main_thread() not in threads
    assert dialog.preview_button.isEnabled()
    dialog.redact_box.setChecked(False)
    assert not dialog.preview.isVisible()
    assert not dialog.preview_button.isEnabled()


@pytest.mark.quick(1)
@pytest.mark.parametrize("redact", [True, False])
def test_the_reports_of_two_runs_compare_them(
    qtbot: QtBot, workstation: Workstation, run_id: str, tmp_path: Path, *, redact: bool
) -> None:
    other = Made("20260102-000000-0000", iops=(300e3, 301e3, 299e3), samples=2)
    record(workstation, other)
    dialog = ExportDialog(workstation, [run_id, other.run_id], "both")
    qtbot.addWidget(dialog)
    dialog.path.setText(str(tmp_path / "both"))
    dialog.show()
    for box in (dialog.csv_box, dialog.png_box):
        box.setChecked(False)
    for box in (dialog.html_box, dialog.markdown_box):
        box.setChecked(True)
    dialog.redact_box.setChecked(redact)
    _export(qtbot, dialog)
    for name in ("both.html", "both.md"):
        text = (tmp_path / name).read_text()
        assert "Comparison of 2 runs" in text
        assert ("web-1" in text) is not redact
