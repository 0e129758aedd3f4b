"""Columns of a table mapped in the dialog of the page Judge: proposed, checked as they change, saved and imported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.outputs import files
from app.outputs.found import FoundOutput
from app.outputs.judging import JudgedOutput, judged_output
from app.saved_mappings import MAPPINGS_FILE
from app.services import Workstation
from suites.read_only.table_mapping import Decimal, TableMapping
from suites.verdict import Trust
from tests.widgets.heartbeat import beating
from tests.widgets.test_dropped_files import drop
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage
from widgets.outputs.mapping_dialog import ColumnRow, MappingDialog
from widgets.page import PageName
from widgets.theme import palette

pytestmark = pytest.mark.usefixtures("idle")
Keep = Callable[[QWidget], QWidget]

TABLE = "Host,bs,IOPS,p99 (ms),Note\nweb-1,4k,1000,0.8,\nweb-1,4k,1010,0.9,a\nweb-2,4k,900,inf,b\n"
MAPPING = {"Host": "host", "bs": "config", "IOPS": "IOPS:IOPS:higher", "p99 (ms)": "p99:ms:lower", "Note": "ignore"}


@pytest.fixture
def page(keep: Keep, qtbot: QtBot, workstation: Workstation) -> JudgePage:
    window = MainWindow(workstation)
    keep(window)
    window.show()
    shown = window.show_page(PageName.JUDGE)
    assert isinstance(shown, JudgePage)
    qtbot.waitUntil(lambda: not jobs.running())
    return shown


def file_of(folder: Path, text: str = TABLE, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def remember(workstation: Workstation) -> None:
    """Store a mapping of the columns of TABLE, named disk."""
    columns = {**MAPPING, "p99 (ms)": "ignore"}
    workstation.saved_mappings.keep(TableMapping(frozenset(columns), columns, Decimal.POINT, "disk"))


def dropped(qtbot: QtBot, page: JudgePage, *paths: Path) -> None:
    window = page.window()
    assert isinstance(window, MainWindow)
    drop(qtbot, window, *paths)
    qtbot.waitUntil(lambda: not jobs.running())


def dialogs(page: JudgePage) -> list[MappingDialog]:
    return [one for one in page.findChildren(MappingDialog) if one.isVisible()]


def dialog_of(page: JudgePage) -> MappingDialog:
    (found,) = dialogs(page)
    return found


def choose(
    qtbot: QtBot, dialog: MappingDialog, name: str, combo: QComboBox, title: str, *, in_rows: bool = False
) -> None:
    dialog.columns.select((in_rows, name))
    pick(qtbot, combo, title)


def pick(qtbot: QtBot, combo: QComboBox, title: str) -> None:
    """Open the list of a combo box and click on an entry."""
    combo.showPopup()
    entries = combo.view()
    place = entries.visualRect(entries.model().index(combo.findText(title), 0)).center()
    qtbot.mouseClick(entries.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: not entries.isVisible() and not jobs.running())
    assert combo.currentText() == title


def type_in(qtbot: QtBot, combo: QComboBox, text: str) -> None:
    field = combo.lineEdit()
    assert field is not None
    field.selectAll()
    QTest.keyClicks(field, text)
    qtbot.waitUntil(lambda: not jobs.running())


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not jobs.running())


def column(dialog: MappingDialog, name: str) -> ColumnRow:
    return next(row for row in dialog.columns.content.rows if row.name == name)


def errors(dialog: MappingDialog) -> dict[int, str]:
    return {row.line: row.error for row in dialog.preview.content.rows if row.error}


def test_a_dropped_table_without_a_mapping_is_mapped_judged_and_imported(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    dropped(qtbot, page, file_of(tmp_path, TABLE.replace("inf", "1.1")))
    dialog = dialog_of(page)
    proposed = column(dialog, "p99 (ms)").draft
    assert (proposed.name, proposed.unit, proposed.better) == ("p99", "ms", "lower")
    assert not dialog.save_button.isEnabled()
    choose(qtbot, dialog, "bs", dialog.role, "Configuration")
    click(qtbot, dialog.ignore_button)
    assert workstation.saved_mappings.read() == []  # nothing counts before it is saved
    assert not page.import_button.isEnabled()
    click(qtbot, dialog.save_button)
    (kept,) = workstation.saved_mappings.read()
    assert (kept.name, dict(kept.columns)) == ("results", MAPPING)
    assert dialogs(page) == []
    assert [row.trust for row in page.table.content.rows] == [Trust.UNVERIFIED] * 3
    assert "results" in page.summary.text()
    assert workstation.runs() == []
    click(qtbot, page.import_button)
    assert sorted(run.hosts for run in workstation.runs()) == [("web-1",), ("web-2",)]


@pytest.mark.usefixtures("dressed")
def test_a_column_without_a_role_is_marked_also_while_selected(qtbot: QtBot, page: JudgePage, tmp_path: Path) -> None:
    dropped(qtbot, page, file_of(tmp_path))
    dialog = dialog_of(page)
    assert dialog.outcome.label.text().startswith("2 columns")
    assert "bs and Note" in dialog.outcome.label.text()
    columns = dialog.columns
    columns.select((False, "bs"))
    index = columns.content.at(columns.row_of((False, "bs")), "Role")
    image = columns.viewport().grab(columns.visualRect(index)).toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert {palette().warning, palette().selected} <= colours


def test_a_table_with_a_mapping_names_it_and_its_columns_can_be_changed(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    remember(workstation)
    dropped(qtbot, page, file_of(tmp_path))
    assert dialogs(page) == []
    assert "“disk”" in page.summary.text()
    assert "“disk”" in page.notes.text()
    click(qtbot, page.columns_button)
    dialog = dialog_of(page)
    assert (dialog.name.text(), column(dialog, "bs").draft.role) == ("disk", "config")
    assert dialog.decimal.currentData() == "point"
    choose(qtbot, dialog, "Note", dialog.role, "Test")
    click(qtbot, dialog.save_button)
    (kept,) = workstation.saved_mappings.read()
    assert (kept.name, kept.columns["Note"], kept.decimal) == ("disk", "test", Decimal.POINT)


def test_a_mapping_is_forgotten_and_can_be_saved_again(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    remember(workstation)
    dropped(qtbot, page, file_of(tmp_path))
    click(qtbot, page.columns_button)
    dialog = dialog_of(page)
    assert "“disk”" in page.summary.text()
    click(qtbot, dialog.forget_button)
    assert workstation.saved_mappings.read() == []
    assert "“disk”" not in page.summary.text()
    assert dialogs(page) == [dialog]
    click(qtbot, dialog.save_button)
    assert [one.name for one in workstation.saved_mappings.read()] == ["disk"]
    assert "“disk”" in page.summary.text()


def test_a_table_is_cancelled_between_its_rows(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workstation)
    judged: list[FoundOutput] = []

    def judge_one(found: FoundOutput, *others: Any) -> JudgedOutput:
        judged.append(found)
        page.cancel()
        return judged_output(found, *others)

    monkeypatch.setattr(files, "judged_output", judge_one)
    dropped(qtbot, page, file_of(tmp_path))
    assert (len(judged), page.table.content.rows, page.notice.isVisible()) == (1, (), False)
    monkeypatch.setattr(files, "judged_output", judged_output)
    dropped(qtbot, page, file_of(tmp_path))
    monkeypatch.setattr(files, "judged_output", judge_one)
    click(qtbot, page.import_button)
    assert (len(judged), workstation.runs()) == (2, [])


def test_a_table_whose_columns_changed_meanwhile_is_mapped_anew(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    remember(workstation)
    path = file_of(tmp_path)
    dropped(qtbot, page, path)
    path.write_text("IOPS,y\n1,2\n")
    click(qtbot, page.columns_button)
    assert [row.name for row in dialog_of(page).columns.content.rows] == ["IOPS", "y"]


def test_rows_that_cannot_be_read_are_shown_as_the_columns_change(
    qtbot: QtBot, page: JudgePage, tmp_path: Path
) -> None:
    dropped(qtbot, page, file_of(tmp_path))
    dialog = dialog_of(page)
    click(qtbot, dialog.ignore_button)
    assert errors(dialog).keys() == {4}
    assert not dialog.save_button.isEnabled()
    dialog.columns.select((False, "p99 (ms)"))
    type_in(qtbot, dialog.unit, "parsecs")
    assert dialog.unit.currentText() == "parsecs"
    assert "parsecs" in column(dialog, "p99 (ms)").problem
    choose(qtbot, dialog, "p99 (ms)", dialog.role, "Ignored")
    assert errors(dialog) == {}
    assert dialog.save_button.isEnabled()


def test_a_decimal_comma_is_stated_for_the_whole_table(qtbot: QtBot, page: JudgePage, tmp_path: Path) -> None:
    dropped(qtbot, page, file_of(tmp_path, "IOPS;p99 (ms)\n1.234,5;0,8\n"))
    dialog = dialog_of(page)
    assert errors(dialog).keys() == {2}
    pick(qtbot, dialog.decimal, "Comma (1,5)")
    assert errors(dialog) == {}
    click(qtbot, dialog.save_button)
    assert page.table.content.rows[0].value.startswith("1234")


def test_names_of_metrics_in_rows_are_mapped_each(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    dropped(qtbot, page, file_of(tmp_path, "what,number\nspeed,1.5\np99 (us),800\n"))
    dialog = dialog_of(page)
    choose(qtbot, dialog, "what", dialog.role, "Metric names")
    choose(qtbot, dialog, "number", dialog.role, "Values")
    assert [row.name for row in dialog.columns.content.rows if row.in_rows] == ["speed", "p99 (us)"]
    assert column(dialog, "speed").problem
    assert not column(dialog, "p99 (us)").problem
    choose(qtbot, dialog, "speed", dialog.better, "Higher", in_rows=True)
    type_in(qtbot, dialog.unit, "MB/s")
    click(qtbot, dialog.save_button)
    (kept,) = workstation.saved_mappings.read()
    assert dict(kept.columns) == {
        "what": "metric", "number": "value", "speed": "speed:MB/s:higher", "p99 (us)": "p99:us:lower"
    }  # fmt: skip


def test_a_cancelled_dialog_keeps_nothing_and_opens_again_on_request(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    dropped(qtbot, page, file_of(tmp_path))
    click(qtbot, dialog_of(page).close_button)
    page.give_host_data([])  # judges the table again, and does not ask again
    qtbot.waitUntil(lambda: not jobs.running())
    assert dialogs(page) == []
    assert workstation.saved_mappings.read() == []
    assert page.table.content.rows[0].output is None
    click(qtbot, page.columns_button)
    assert dialog_of(page).columns.content.rows


def test_a_mapping_that_cannot_be_saved_is_not_lost(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    dropped(qtbot, page, file_of(tmp_path, "IOPS,x\n1,2\n"))
    dialog = dialog_of(page)
    click(qtbot, dialog.ignore_button)
    (tmp_path / MAPPINGS_FILE).mkdir()
    click(qtbot, dialog.save_button)
    assert dialog.notice.isVisible()
    assert dialog.isVisible()
    (tmp_path / MAPPINGS_FILE).rmdir()
    click(qtbot, dialog.save_button)
    assert [one.name for one in workstation.saved_mappings.read()] == ["results"]


def test_the_next_table_is_asked_for_once_the_first_is_mapped(
    qtbot: QtBot, page: JudgePage, workstation: Workstation, tmp_path: Path
) -> None:
    files = [file_of(tmp_path, f"IOPS,{name}\n1,2\n", f"{name}.csv") for name in ("x", "y")]
    dropped(qtbot, page, *files, file_of(tmp_path, "IOPS,x\n3,4\n", "z.csv"))
    for name in ("x", "y"):
        dialog = dialog_of(page)
        assert dialog.name.text() == name
        click(qtbot, dialog.ignore_button)
        click(qtbot, dialog.save_button)
    assert dialogs(page) == []
    assert [row.trust for row in page.table.content.rows] == [Trust.UNVERIFIED] * 3
    assert {one.name for one in workstation.saved_mappings.read()} == {"x", "y"}


def test_a_table_that_no_mapping_can_read_says_why_without_a_question(
    qtbot: QtBot, page: JudgePage, tmp_path: Path
) -> None:
    dropped(qtbot, page, file_of(tmp_path, "x,x\n1,2\n"))
    assert dialogs(page) == []
    assert "“x”" in page.table.content.rows[0].reason
    assert not page.columns_button.isVisible()


def test_a_table_that_is_gone_is_reported(qtbot: QtBot, page: JudgePage, tmp_path: Path) -> None:
    path = file_of(tmp_path)
    dropped(qtbot, page, path)
    click(qtbot, dialog_of(page).close_button)
    path.unlink()
    click(qtbot, page.columns_button)
    dialog = dialog_of(page)
    assert dialog.notice.isVisible()
    assert not dialog.save_button.isEnabled()


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(200, 200), (3, 20_000)])
def test_the_window_answers_while_a_large_table_is_mapped(
    qtbot: QtBot, page: JudgePage, tmp_path: Path, columns: int, rows: int
) -> None:
    header = ",".join(["IOPS", *(f"c{number}" for number in range(1, columns))])
    row = ",".join(["1000"] * columns)
    path = file_of(tmp_path, f"{header}\n" + f"{row}\n" * rows)
    with beating(page):
        dropped(qtbot, page, path)
        dialog = dialog_of(page)
        choose(qtbot, dialog, "c1", dialog.role, "Test")
        click(qtbot, dialog.ignore_button)
    assert dialog.save_button.isEnabled()
