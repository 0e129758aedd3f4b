"""Outputs of tools that ran elsewhere: dropped, pasted and opened, judged, and imported."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QClipboard, QGuiApplication
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from suites.verdict import Trust
from tests.suites.captured_outputs import DATA
from tests.widgets.heartbeat import beating
from tests.widgets.test_dropped_files import drop
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage
from widgets.page import PageName

pytestmark = pytest.mark.usefixtures("idle")
Keep = Callable[[QWidget], QWidget]

CPU = DATA / "sysbench/1.0.20/cpu_default.stdout"
CACHED = DATA / "sysbench/1.0.20/fileio_rndrd.stdout"


@pytest.fixture
def window(keep: Keep, qtbot: QtBot, workstation: Workstation) -> MainWindow:
    made = MainWindow(workstation)
    keep(made)
    made.show()
    qtbot.waitUntil(lambda: not jobs.running())
    return made


def judge_page(window: MainWindow) -> JudgePage:
    page = window.pages.existing(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    return page


def trusts(page: JudgePage) -> list[Trust | None]:
    return [row.trust for row in page.table.content.rows]


def test_dropped_files_are_judged_each(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("It was fast.\n")
    drop(qtbot, window, CPU, CACHED, prose)
    page = judge_page(window)
    assert trusts(page) == [Trust.UNVERIFIED, Trust.UNDECIDED, None]
    assert [row.value for row in page.table.content.rows] == ["5125/s", "281k IOPS", ""]
    page.table.selectRow(1)
    assert "cache-unknown" in {issue.first.id for issue in page.issues.issues}
    assert page.verdict.words.text().lower().startswith(Trust.UNDECIDED)
    assert "281" in page.figures.as_text()
    assert "Threads started!" in page.text.toPlainText()
    page.table.selectRow(2)
    assert not page.figures.isVisible()


@pytest.mark.usefixtures("large_text")
def test_large_text_cuts_prose_and_hides_no_figure_and_no_file(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1280, 800)
    drop(qtbot, window, CPU, CACHED)
    table = judge_page(window).table
    names = [column.name for column in table.content.columns]
    assert not [name for name in ("Verdict", "Value", "Metric", "File") if table.isColumnHidden(names.index(name))]
    for name in ("Verdict", "Value"):
        cells = [table.content.at(row, name) for row in (0, 1)]
        needed = max(table.sizeHintForIndex(cell).width() for cell in cells)
        assert table.columnWidth(cells[0].column()) >= needed
    assert table.horizontalHeader().length() <= table.viewport().width()
    assert "line 1: " in table.content.at(1, "File").data(Qt.ItemDataRole.ToolTipRole)


def test_the_verdict_is_stated_once_and_as_in_the_library(qtbot: QtBot, window: MainWindow) -> None:
    drop(qtbot, window, CPU, CACHED)
    page = judge_page(window)
    assert page.table.content.at(0, "Verdict").data() == Trust.UNVERIFIED
    page.table.selectRow(1)
    assert page.verdict.words.text() == "Cannot tell"
    assert page.verdict.summary.text().startswith("I/Os per second, read 281k IOPS.")


def test_a_folder_is_judged(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(CPU.read_text())
    drop(qtbot, window, tmp_path)
    assert trusts(judge_page(window)) == [Trust.UNVERIFIED] * 3


def test_text_is_pasted_and_imported_as_a_run(qtbot: QtBot, window: MainWindow, workstation: Workstation) -> None:
    page = window.show_page(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    QGuiApplication.clipboard().setText("\n".join(f"> {line}" for line in CPU.read_text().splitlines()))
    page.paste()
    qtbot.waitUntil(lambda: not jobs.running())
    assert trusts(page) == [Trust.UNVERIFIED]
    page.import_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    (run,) = workstation.runs()
    assert (run.headline, run.trust) == ("5125/s", Trust.UNVERIFIED)


def test_an_empty_clipboard_changes_nothing(qtbot: QtBot, window: MainWindow) -> None:
    page = window.show_page(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    page.judge([CPU])
    qtbot.waitUntil(lambda: not jobs.running())
    QGuiApplication.clipboard().setText("  \n")
    page.paste()
    assert trusts(page) == [Trust.UNVERIFIED]
    QGuiApplication.clipboard().clear(QClipboard.Mode.Clipboard)
    page.paste()
    assert trusts(page) == [Trust.UNVERIFIED]


def test_without_a_result_nothing_can_be_imported(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("It was fast.\n")
    drop(qtbot, window, prose)
    page = judge_page(window)
    assert isinstance(page.import_button, QPushButton)
    assert not page.import_button.isEnabled()


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    + " 2  0      0 1 1 1    0    0  0 0  882 2861 60 5 5  0  30\n"
    * 12
)


def test_telemetry_of_the_host_is_given_and_removed(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    page = window.show_page(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    telemetry = tmp_path / "vmstat.txt"
    telemetry.write_text(VMSTAT)
    page.judge([CPU])
    qtbot.waitUntil(lambda: not jobs.running())
    page.give_host_data([telemetry])
    qtbot.waitUntil(lambda: not jobs.running())
    page.table.selectRow(0)
    assert "cpu-stolen" in {issue.first.id for issue in page.issues.issues}
    assert page.interval.isVisible()
    assert "11 reports" in page.host_words.text()  # the first is since the start of the host
    assert "For all" not in page.host_words.text()
    page.judge([CPU, CACHED])
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.host_words.text().startswith("For all 2 results")
    page.remove_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    assert trusts(page) == [Trust.UNVERIFIED, Trust.UNDECIDED]
    assert not page.remove_button.isVisible()


def test_a_file_without_host_data_is_refused_and_the_results_stay(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    page = window.show_page(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    prose = tmp_path / f"{'long name ' * 12}.txt"
    prose.write_text("It was fast.\n")
    page.judge([CPU])
    qtbot.waitUntil(lambda: not jobs.running())
    assert "For all" not in page.host_words.text()
    page.give_host_data([prose])
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.notice.isVisible()
    assert trusts(page) == [Trust.UNVERIFIED]


def test_an_output_that_was_not_read_has_the_reason(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    cut = tmp_path / "cut.txt"
    cut.write_text("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 2\n")
    drop(qtbot, window, cut)
    page = judge_page(window)
    assert trusts(page) == [Trust.UNDECIDED]
    assert page.table.content.rows[0].reason.startswith("Not read: ")
    assert page.issues.isHidden()  # “No issues” would contradict it


@pytest.mark.slow
def test_the_window_answers_while_a_folder_is_read_and_the_selection_stays(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    folder, page = tmp_path / "outputs", window.show_page(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    folder.mkdir()
    for number in range(250):
        (folder / f"{number:03}.txt").write_text(CPU.read_text().replace("5125.12", f"{5200 + number}.12"))
    with beating(window):
        page.judge([folder])
        qtbot.waitUntil(lambda: len(page.table.content.rows) > 20)
        page.table.selectRow(7)
        qtbot.waitUntil(lambda: not jobs.running())
    assert len(page.table.content.rows) == 250
    assert page.table.currentIndex().row() == 7


def test_an_import_counts_each_file_also_when_it_is_cancelled(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    for number in range(30):  # more than a drop took before
        (folder / f"{number:02}.txt").write_text(CPU.read_text().replace("5125.12", f"{5200 + number}.12"))
    (folder / "30.txt").write_text("It was fast.")
    drop(qtbot, window, *folder.iterdir())
    page = judge_page(window)
    assert len(page.table.content.rows) == 31
    page.import_button.click()
    qtbot.waitUntil(lambda: len(workstation.runs()) > 1)
    page.cancel_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    runs = len(workstation.runs())
    assert 1 < runs < 30
    assert page.summary.text().startswith(f"Imported {runs} runs; ")
    assert "stopped before" in page.summary.text()
    page.import_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    assert len(workstation.runs()) == 30
    assert page.summary.text() == f"Imported {30 - runs} runs; {runs} files imported before; no result in 1 file"
